/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many bytes of a message are copied, if the program's memory is not registered? libfabric copies each arriving message of up to
 * 64 KiB into its receive, so Hierax copies none of it again. The sender copies it once, so that the device reads registered memory.
 */
#include "tests/inter/fabric/job.h"

static const size_t sizes[] = {1000, 8192, 65536, MB};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

static size_t bounced(const struct world *w)
{
    struct hx_net_counters c;

    ops->counters(w->net, &c);
    return c.bounced_bytes;
}

/* Returns the bytes that this rank has copied. */
static size_t copied(struct world *w, size_t bytes, uint64_t match)
{
    uint8_t *buffer = w->me == 0 ? fill(bytes, match) : calloc(1, bytes);
    const size_t before = bounced(w);
    struct hx_segment at = {buffer, bytes};
    struct hx_net_op op;

    post(w, &op, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, match, &at, 1);
    check(finish(w, &op) == 1 && holds(buffer, bytes, match));
    free(buffer);
    return bounced(w) - before;
}

static void case_copies(struct world *w)
{
    for (size_t i = 0; i < SIZES; i++) {
        const size_t n = copied(w, sizes[i], i + 1), chunk = sizes[i] < w->net->chunk_bytes ? sizes[i] : w->net->chunk_bytes;
        const int libfabric_copies = w->me == 1 && chunk <= 65536;
        printf("%s %7zu bytes in chunks of %zu: Hierax copies %zu%s\n", w->me == 0 ? "sends" : "receives", sizes[i], chunk, n,
               libfabric_copies ? ", libfabric all" : "");
        fflush(stdout);
        check(n == (libfabric_copies ? 0 : sizes[i]));
    }
}

/* Two devices: a message shorter than 128 KiB uses one of them, so it has the fewest chunks. Longer ones use both. */
static void case_stripes(struct world *w)
{
    static const size_t lengths[][3] = {{40000, 1, 1}, {65536, 1, 1}, {100000, 2, 1}, {131072, 2, 2}, {MB, 16, 2}}; /* bytes, chunks, paths */
    const struct hx_edge *edge = w->net->edges[!w->me];

    check(edge->npaths == 2);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        const uint64_t before[] = {edge->paths[0].posted, edge->paths[1].posted};
        struct hx_net_counters from, to;

        ops->counters(w->net, &from);
        copied(w, lengths[i][0], i + 1);
        ops->counters(w->net, &to);
        check(w->me == 1 || to.chunks_sent - from.chunks_sent == lengths[i][1]);
        check(w->me == 1 || (size_t)(edge->paths[0].posted > before[0]) + (edge->paths[1].posted > before[1]) == lengths[i][2]);
    }
}

static void test_stripes(void **state)
{
    (void)state;
    setenv("EFA_NICS", "2", 1);
    assert_int_equal(job_run("efa", PLAIN, 0, 2, case_stripes), 0);
    unsetenv("EFA_NICS");
}

static void test_copies(void **state)
{
    (void)state;
    assert_int_equal(job_run("efa", PLAIN, 0, 2, case_copies), 0);
}

/* Longer ones need a registration: a device may read them out of the sender's memory. */
static void test_long_chunks(void **state)
{
    (void)state;
    assert_int_equal(job_run("efa", PLAIN, 4 * 65536, 2, case_copies), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_long_chunks), cmocka_unit_test(test_stripes)};
    const char *top = getenv("top_builddir");
    char path[512];

    snprintf(path, sizeof(path), "%s/tests/efa_provider/.libs", top ? top : ".");
    setenv("FI_PROVIDER_PATH", path, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
