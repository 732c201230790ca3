/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completion queue of a device has an entry for each packet and each write of a peer. While a rank computes, the device goes
 * on: all writes that the rank has invited arrive, and none of their completions is read. None may be lost. The device has
 * 4096 sends, as EFA has, and Hierax takes 2048 of its receives.
 */
#include "tests/inter/fabric/job.h"

#define MESSAGES 80
#define BYTES (16 * HX_CHUNK_LEAST) /* as many chunks as one message has posted at a time */

/* The device works, but no completion is read. */
static void computes_until(struct world *w, int arrived)
{
    while (atomic_load(&w->meet->begun) < arrived)
        fi_cq_read(w->net->rails[0].cq, NULL, 0);
    for (int i = 0; i < 100; i++)
        fi_cq_read(w->net->rails[0].cq, NULL, 0);
}

static void receiver(struct world *w, struct hx_net_op ops_of[MESSAGES], const struct hx_segment at[MESSAGES])
{
    for (int i = 0; i < MESSAGES; i++) {
        post(w, &ops_of[i], HX_NET_RECV, 1, (uint64_t)i + 1, &at[i], 1);
        while (ops_of[i].posted_bytes < BYTES)
            turn(w);
    }
    meet(w, &w->meet->departed, ++w->departures); /* every invitation is sent */
    computes_until(w, 1);
    for (int i = 0; i < MESSAGES; i++)
        check(finish(w, &ops_of[i]) == 1 && holds(at[i].base, BYTES, (uint64_t)i));
}

static void sender(struct world *w, struct hx_net_op ops_of[MESSAGES], const struct hx_segment at[MESSAGES])
{
    meet(w, &w->meet->departed, ++w->departures);
    for (int i = 0; i < MESSAGES; i++)
        post(w, &ops_of[i], HX_NET_SEND, 0, (uint64_t)i + 1, &at[i], 1);
    for (int i = 0; i < MESSAGES; i++)
        check(finish(w, &ops_of[i]) == 1);
    atomic_store(&w->meet->begun, 1);
}

static void case_computing(struct world *w)
{
    static struct hx_net_op ops_of[MESSAGES];
    struct hx_segment at[MESSAGES];

    check(w->net->write_bytes > 0 && w->net->info->tx_attr->size == 4096 && w->net->info->rx_attr->size == 2048);
    for (int i = 0; i < MESSAGES; i++)
        at[i] = (struct hx_segment){w->me == 1 ? fill(BYTES, (uint64_t)i) : calloc(1, BYTES), BYTES};
    (w->me == 0 ? receiver : sender)(w, ops_of, at);
    if (w->me == 1) {
        struct hx_net_counters c;
        ops->counters(w->net, &c);
        check(c.chunks_written == MESSAGES * 16);
    }
    for (int i = 0; i < MESSAGES; i++)
        free(at[i].base);
}

/* A device whose queue has room for packets only gets no writes: case_computing's messages are sent. */
static void case_short_queue(struct world *w)
{
    uint8_t *out = fill(BYTES, 1), *in = calloc(1, BYTES);
    struct hx_segment to = {out, BYTES}, from = {in, BYTES};
    struct hx_net_op send, recv;

    check(w->net->write_bytes == 0);
    post(w, &recv, HX_NET_RECV, !w->me, 1, &from, 1);
    post(w, &send, HX_NET_SEND, !w->me, 1, &to, 1);
    check(finish(w, &recv) == 1 && finish(w, &send) == 1 && holds(in, BYTES, 1));
    free(out);
    free(in);
}

static void test_computing(void **state)
{
    (void)state;
    assert_int_equal(job_run("efa", WRITTEN, HX_CHUNK_LEAST, 2, case_computing), 0);
}

static void test_short_queue(void **state)
{
    (void)state;
    setenv("EFA_QUEUE", "6144", 1);
    assert_int_equal(job_run("efa", WRITTEN, HX_CHUNK_LEAST, 2, case_short_queue), 0);
    unsetenv("EFA_QUEUE");
}

/* The queue's descriptor of libfabric 2.5 and 2.6 stays readable: test_worst.c. A rank that slept on it would never sleep. */
static void case_polls(struct world *w)
{
    check(ops->wait_fd(w->net) == -1 && strstr(ops->describe(w->net), "no wait object"));
}

static void test_polls(void **state)
{
    (void)state;
    setenv("EFA_VERSION", "2.6", 1);
    assert_int_equal(job_run("efa", PLAIN, 0, 2, case_polls), 0);
    unsetenv("EFA_VERSION");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_computing), cmocka_unit_test(test_short_queue), cmocka_unit_test(test_polls)};
    const char *top = getenv("top_builddir");
    char path[512];

    snprintf(path, sizeof(path), "%s/tests/efa_provider/.libs", top ? top : ".");
    setenv("FI_PROVIDER_PATH", path, 1);
    setenv("EFA_SENDS", "4096", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
