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

/* ---- remote writes */

#define MESSAGES 8

/* The receiver posts all of them at once, when the sender listens. */
static void case_invited(struct world *w)
{
    uint8_t *memory = mmap(NULL, MESSAGES * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const size_t before = w->net->edges[!w->me]->control_sent[HX_CONTROL_INVITE];
    struct hx_segment at[MESSAGES];
    struct hx_net_op op[MESSAGES];
    size_t invitations;

    check(memory != MAP_FAILED && w->net->write_bytes > 0);
    hx_region_add(w->net, memory, MESSAGES * MB, HX_MEMORY_PROGRAM);
    for (int i = 0; i < MESSAGES; i++)
        at[i] = (struct hx_segment){memory + i * MB, MB};
    if (w->me == 1)
        meet(w, &w->meet->departed, ++w->departures);
    for (int i = 0; i < MESSAGES; i++) {
        memset(at[i].base, w->me == 0 ? i + 1 : 0, MB);
        post(w, &op[i], w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, (uint64_t)i + 1, &at[i], 1);
    }
    if (w->me == 0)
        meet(w, &w->meet->departed, ++w->departures);
    for (int i = 0; i < MESSAGES; i++) {
        check(finish(w, &op[i]) == 1);
        for (size_t k = 0; k < MB; k++)
            check(memory[(size_t)i * MB + k] == i + 1);
    }
    invitations = w->net->edges[!w->me]->control_sent[HX_CONTROL_INVITE] - before;
    if (w->me == 1)
        printf("%d messages of 1 MiB, %zu chunks each: %zu invitations, Hierax copies %zu bytes\n", MESSAGES, MB / w->net->chunk_bytes, invitations,
               bounced(w));
    fflush(stdout);
    check(bounced(w) == 0);
    check(w->me == 0 || invitations == MESSAGES);
}

/* The sum of what the ranks have counted. */
static size_t counted(const char *name, const char *what)
{
    char wanted[32], line[64], found[32];
    size_t all = 0, n;
    FILE *file = fopen(name, "r");

    assert_non_null(file);
    snprintf(wanted, sizeof(wanted), "%s", what);
    while (fgets(line, sizeof(line), file))
        all += sscanf(line, "%31s %*s %zu", found, &n) == 2 && strcmp(found, wanted) == 0 ? n : 0;
    fclose(file);
    return all;
}

static void test_invited(void **state)
{
    char name[64];
    size_t injected[2], unexpected;

    (void)state;
    snprintf(name, sizeof(name), "/tmp/efa_copies.%d", (int)getpid());
    setenv("EFA_COUNT", name, 1);
    for (int large = 0; large < 2; large++) { /* 32 bytes are too few for an invitation. EFA has 4096 or more */
        setenv("EFA_INJECT", large ? "4096" : "32", 1);
        assert_int_equal(job_run("efa", WRITTEN, 0, 2, case_invited), 0);
        injected[large] = counted(name, "injected");
        unexpected = counted(name, "unexpected");
        printf("the device: %zu sends and writes, %zu of them injected, %zu unexpected messages, libfabric copies %zu bytes of them\n",
               counted(name, "sends"), injected[large], unexpected, counted(name, "copied"));
        fflush(stdout);
        remove(name);
        assert_in_range(unexpected, 0, MESSAGES - HX_INVITE_RECVS);
    }
    unsetenv("EFA_INJECT");
    unsetenv("EFA_COUNT");
    assert_int_equal(injected[0], 0);
    assert_int_equal(injected[1], MESSAGES);
}

/* A message in memory of several registrations, of more chunks than the device has receives: it needs several invitations, which arrive in any
 * order. */
static void case_blocks(struct world *w)
{
    enum { BYTES = 5 * MB };
    uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *right = fill(BYTES, 1);
    const struct hx_segment at = {memory, BYTES};
    struct hx_net_op op;

    check(memory != MAP_FAILED && w->net->write_bytes > 0);
    hx_region_add(w->net, memory, BYTES, HX_MEMORY_PROGRAM);
    if (w->me == 0)
        memcpy(memory, right, BYTES);
    post(w, &op, w->me == 0 ? HX_NET_SEND : HX_NET_RECV, !w->me, 1, &at, 1);
    check(finish(w, &op) == 1 && memcmp(memory, right, BYTES) == 0 && bounced(w) == 0);
    free(right);
    if (w->me == 1) {
        const uint64_t invitations = w->net->edges[0]->control_sent[HX_CONTROL_INVITE];
        printf("%zu chunks: %llu invitations\n", BYTES / w->net->chunk_bytes, (unsigned long long)invitations);
        fflush(stdout);
        check(w->net->recvs_in_flight == 0 && invitations > 2 && invitations < BYTES / w->net->chunk_bytes / 2);
    }
}

static void test_blocks(void **state)
{
    (void)state;
    setenv("EFA_WORST", "reorder", 1);
    setenv("EFA_SEED", "1", 0);
    for (int nics = 1; nics <= 2; nics++) {
        setenv("EFA_NICS", nics == 1 ? "1" : "2", 1);
        assert_int_equal(job_run("efa", WRITTEN, 2048, 2, case_blocks), 0);
    }
    unsetenv("EFA_NICS");
    unsetenv("EFA_WORST");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_long_chunks), cmocka_unit_test(test_stripes),
                                       cmocka_unit_test(test_invited), cmocka_unit_test(test_blocks)};
    const char *top = getenv("top_builddir");
    char path[512];

    snprintf(path, sizeof(path), "%s/tests/efa_provider/.libs", top ? top : ".");
    setenv("FI_PROVIDER_PATH", path, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
