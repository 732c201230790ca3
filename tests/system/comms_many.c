/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job that makes many communicators.
 * usage: comms_many growth COMMUNICATORS | alive COMMUNICATORS | failures COMMUNICATORS | broken COMMUNICATORS | orders ROUNDS |
 *                   ahead ROUNDS | limit | crossed | freed | left | requests */
#include "runtime/api/comm.h"
#include "runtime/base/clock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static hx_comm_t *world;
static int size, rank;

static void fail(const hx_comm_t *comm, const char *what)
{
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, hx_error_detail(comm));
    exit(1);
}

static void check(hx_status_t status, const hx_comm_t *comm)
{
    if (status != HX_SUCCESS)
        fail(comm, hx_strerror(status));
}

static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof(line), status))
        sscanf(line, "VmRSS: %ld", &kib);
    if (status)
        fclose(status);
    return kib;
}

/* So many turns free as many handles as a debug build keeps the memory of (runtime/base/handle.c): a communicator and a request each. */
#ifdef HX_DEBUG
#define KEPT_TURNS (4096 / 2)
#else
#define KEPT_TURNS 0
#endif

/* Communicators made, used and freed, n times and before those the kept ones: after half of the n memory does not grow. */
static void growth(long n)
{
    long before = 0, after;
    int64_t one = 1, sum;

    check(hx_init(&world), NULL);
    rank = hx_rank(world);
    size = hx_size(world);
    for (long i = -KEPT_TURNS; i < n; i++) {
        hx_request_t *request;
        hx_comm_t *comm;
        check(i % 2 ? hx_comm_dup(world, &comm) : hx_comm_split(world, 0, -rank, &comm), world);
        check(hx_iallreduce(&one, &sum, 1, HX_INT64, HX_SUM, comm, &request), comm);
        check(hx_wait(request), comm);
        if (sum != size || hx_rank(comm) != (i % 2 ? rank : size - 1 - rank))
            fail(comm, "a wrong sum or rank");
        check(hx_comm_free(comm), comm);
        if (i == n / 2)
            before = resident_kib();
    }
    after = resident_kib();
    if (after > before + 1000) {
        fprintf(stderr, "rank %d: grew from %ld to %ld KiB\n", rank, before, after);
        exit(1);
    }
    if (rank == 0)
        printf("%ld communicators, from %ld to %ld KiB\n", n, before, after);
    check(hx_finalize(), NULL);
}

/* ---- drawn calls ---------------------------------------------------------------------------------------------- */

static uint64_t draws = 1; /* the same on all ranks */

static uint32_t draw(uint32_t below)
{
    draws = draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(draws >> 33) % below;
}

/* A drawn call on comm, whose result is compared with what is right. */
static void drawn_call(hx_comm_t *comm)
{
    enum { MOST = 20000 };
    static int32_t in[MOST], out[MOST];
    const int n = hx_size(comm), me = hx_rank(comm);
    uint32_t kind = draw(4), count = 1 + draw(draw(3) ? 20 : MOST / 8), seed = draw(1000);
    int root = (int)draw((uint32_t)n), wrong = 0;

    if (kind > 1)
        count = count > MOST / (uint32_t)n ? MOST / (uint32_t)n : count;
    for (uint32_t i = 0; i < (kind == 3 ? count * (uint32_t)n : count); i++)
        in[i] = (int32_t)(seed + i) * (me + 1);
    memset(out, 0xff, sizeof(out));
    if (kind == 0) {
        check(hx_allreduce(in, out, count, HX_INT32, HX_SUM, comm), comm);
        for (uint32_t i = 0; i < count; i++)
            wrong += out[i] != (int32_t)(seed + i) * n * (n + 1) / 2;
    } else if (kind == 1) {
        check(hx_bcast(in, count, HX_INT32, root, comm), comm);
        for (uint32_t i = 0; i < count; i++)
            wrong += in[i] != (int32_t)(seed + i) * (root + 1);
    } else if (kind == 2) {
        check(hx_allgather(in, out, count, HX_INT32, comm), comm);
        for (uint32_t i = 0; i < count * (uint32_t)n; i++)
            wrong += out[i] != (int32_t)(seed + i % count) * (int32_t)(i / count + 1);
    } else {
        check(hx_alltoall(in, out, count, HX_INT32, comm), comm);
        for (uint32_t i = 0; i < count * (uint32_t)n; i++)
            wrong += out[i] != (int32_t)(seed + i % count + (uint32_t)me * count) * (int32_t)(i / count + 1);
    }
    if (wrong)
        fail(comm, "a drawn call brought something else");
}

/* Make, use and free communicators of drawn ranks, after all that came before. */
static void drawn_comms(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        hx_comm_t *comms[3];
        for (int k = 0; k < 3; k++) {
            int color = draw(3) ? rank * (int)(1 + draw(3)) / size : 0;
            check(hx_comm_split(world, color, draw(2) ? rank : -rank, &comms[k]), world);
        }
        for (int k = 0; k < 30; k++)
            drawn_call(k % 4 ? comms[k % 3] : world);
        for (int k = 0; k < 3; k++)
            check(hx_comm_free(comms[(k + rank) % 3]), NULL);
    }
}

static void start(void)
{
    check(hx_init(&world), NULL);
    rank = hx_rank(world);
    size = hx_size(world);
}

static void end(void)
{
    drawn_comms(10);
    check(hx_finalize(), NULL);
    if (rank == 0)
        puts("no difference");
}

/* ---- many ------------------------------------------------------------------------------------------------------ */

/* Make so many communicators that exist at once. Use each by calls of both kinds, and again when all are there. Each rank frees them in
 * another order. */
static void alive(int n)
{
    hx_comm_t **comms = calloc((size_t)n, sizeof(hx_comm_t *));
    hx_request_t *request;
    int64_t mine[2] = {1, 2}, sum[2];
    long before;

    start();
    before = resident_kib();
    for (int i = 0; comms && i < n; i++) {
        check(i % 2 ? hx_comm_dup(world, &comms[i]) : hx_comm_split(world, 0, -rank, &comms[i]), world);
        check(hx_allreduce(mine, sum, 2, HX_INT64, HX_SUM, comms[i]), comms[i]);
        if (sum[0] != size)
            fail(comms[i], "a wrong sum");
    }
    if (!comms)
        fail(world, "no memory");
    printf("rank %d: %d communicators, %.1f KiB each\n", rank, n, (double)(resident_kib() - before) / n);
    for (int i = 0; i < n; i++) {
        mine[0] = i;
        if (i % 16)
            check(hx_allreduce(mine, sum, 2, HX_INT64, HX_SUM, comms[i]), comms[i]);
        else
            check(hx_iallreduce(mine, sum, 2, HX_INT64, HX_SUM, comms[i], &request), comms[i]);
        if (i % 16 == 0)
            check(hx_wait(request), comms[i]);
        if (sum[0] != (int64_t)i * size)
            fail(comms[i], "a wrong sum among many communicators");
    }
    for (int i = 0; i < n; i++)
        drawn_call(comms[i * (n / 64 + 1) % n]), i += n / 64;
    for (int i = 0; i < n; i++)
        check(hx_comm_free(comms[rank % 2 ? i : n - 1 - i]), NULL);
    free(comms);
    end();
}

/* The ranks make calls that differ, on every communicator. It takes some time until all ranks know. */
static void differ(hx_comm_t **comms, hx_request_t **requests, int n)
{
    static int64_t in[2], out[2];

    for (int i = 0; i < n; i++)
        check(hx_iallreduce(in, out, 2, rank == 0 ? HX_INT64 : HX_UINT64, HX_SUM, comms[i], &requests[i]), comms[i]);
    for (int i = 0; i < n; i++)
        if (hx_wait(requests[i]) != HX_ERR_MISMATCH)
            fail(comms[i], "calls that differ");
}

/* The communicator fails on all ranks when half of them have begun a call: the messages of that call are under way, and nobody receives
 * them. */
static void give_up(hx_comm_t **comms, hx_request_t **requests, int n)
{
    static int64_t in[1000], out[1000];

    for (int i = 0; i < n; i++) {
        in[0] = -1;
        requests[i] = NULL;
        if (rank % 2 == 0)
            check(hx_iallreduce(in, out, i % 2 ? 1000 : 2, HX_INT64, HX_SUM, comms[i], &requests[i]), comms[i]);
    }
    check(hx_barrier(world), world);
    for (int i = 0; i < n; i++) {
        hx_comm_break(comms[i], hx_fail(HX_ERR_TIMEOUT, "given up"));
        if (requests[i] && hx_wait(requests[i]) != HX_ERR_TIMEOUT)
            fail(comms[i], "a call that was given up");
    }
}

/* So many that fail, a hundred at a time; then others are made. */
static void failures(int n, void (*let_fail)(hx_comm_t **, hx_request_t **, int))
{
    enum { BATCH = 100 };
    static hx_comm_t *comms[BATCH];
    static hx_request_t *requests[BATCH];
    const int batch = n < BATCH ? n : BATCH;
    long before = 0;

    start();
    for (int done = 0; done < n; done += batch) {
        for (int i = 0; i < batch; i++)
            check(hx_comm_dup(world, &comms[i]), world);
        let_fail(comms, requests, batch);
        for (int i = 0; i < batch; i++)
            check(hx_comm_free(comms[rank % 2 ? i : batch - 1 - i]), NULL);
        drawn_comms(2);
        if (done == n / 2 / batch * batch)
            before = resident_kib();
    }
    if (resident_kib() > before + 6000) {
        fprintf(stderr, "rank %d: grew from %ld to %ld KiB\n", rank, before, resident_kib());
        exit(1);
    }
    end();
}

/* As many communicators as there can be, and the error after them; then they are freed. */
static void limit(void)
{
    static hx_comm_t *comms[1 << 14];
    int n = 0;

    start();
    while (n < 1 << 14 && hx_comm_dup(world, &comms[n]) == HX_SUCCESS)
        n++;
    if (n != 8190 || !strstr(hx_error_detail(world), "open communicators; free some"))
        fail(world, "the limit of communicators");
    while (n-- > 0)
        check(hx_comm_free(comms[n]), comms[n]);
    end();
}

/* ---- free ------------------------------------------------------------------------------------------------------ */

/* Half of the ranks free A before B, the others B before A, with calls under way on both, and one that is started only then. */
static void orders(int rounds)
{
    enum { COUNT = 30000 };
    static int32_t in[2][COUNT], out[2][COUNT], small[2];

    start();
    for (int i = 0; i < rounds; i++) {
        hx_comm_t *comms[2];
        hx_request_t *requests[2], *again;
        for (int k = 0; k < 2; k++) {
            check(hx_comm_dup(world, &comms[k]), world);
            for (int j = 0; j < COUNT; j++)
                in[k][j] = rank + i + j;
            check(hx_iallreduce(in[k], out[k], i % 2 ? COUNT : 10, HX_INT32, HX_SUM, comms[k], &requests[k]), comms[k]);
        }
        small[0] = rank + i;
        check(hx_allreduce_init(&small[0], &small[1], 1, HX_INT32, HX_SUM, comms[0], &again), comms[0]);
        for (int k = 0; k < 2; k++)
            check(hx_comm_free(comms[(k + rank) % 2]), NULL);
        if (hx_barrier(comms[0]) != HX_ERR_STATE)
            fail(NULL, "a call on a communicator that is freed");
        check(hx_start(again), NULL);
        for (int k = 0; k < 2; k++)
            check(hx_wait(requests[(k + rank / 2) % 2]), NULL);
        check(hx_wait(again), NULL);
        check(hx_request_free(again), NULL);
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < (i % 2 ? COUNT : 10); j++)
                if (out[k][j] != size * (size - 1) / 2 + size * (i + j))
                    fail(world, "a call on a communicator that is freed brought something else");
        if (small[1] != size * (size - 1) / 2 + size * i)
            fail(world, "a call made ready brought something else");
    }
    end();
}

/* The root of broadcasts frees each communicator at once, while the other ranks come late, and creates others with the ranks that are
 * there. */
static void ahead(int rounds)
{
    enum { COUNT = 5000, KEPT = 4 };
    static int32_t buffer[COUNT];

    start();
    for (int i = 0; i < rounds; i++) {
        hx_comm_t *comms[KEPT], *alone;
        const int me[] = {rank};
        for (int k = 0; k < KEPT; k++)
            check(hx_comm_dup(world, &comms[k]), world);
        for (int k = 0; k < KEPT; k++) {
            int count = k % 2 ? COUNT : 3;
            if (rank)
                usleep((useconds_t)(rank * 1000));
            for (int j = 0; j < count; j++)
                buffer[j] = rank ? -1 : i * j + k;
            check(hx_bcast(buffer, (size_t)count, HX_INT32, 0, comms[k]), comms[k]);
            for (int j = 0; j < count; j++)
                if (buffer[j] != i * j + k)
                    fail(comms[k], "a broadcast brought something else");
            check(hx_comm_free(comms[k]), NULL);
            check(hx_comm_group(world, me, 1, &alone), world);
            drawn_call(alone);
            check(hx_comm_free(alone), NULL);
        }
    }
    end();
}

/* Two ranks start long broadcasts on two communicators in opposite orders: neither waits for the other's. */
static void crossed(void)
{
    enum { LONG = 16 << 20, SHORT = 1 << 20 };
    char *first = calloc(1, LONG), *second = calloc(1, SHORT);
    hx_request_t *request;
    hx_comm_t *other;

    check(hx_init(&world), NULL);
    rank = hx_rank(world);
    check(hx_comm_dup(world, &other), world);
    if (!first || !second)
        fail(world, "no memory");
    if (rank == 0) {
        memset(first, 1, LONG);
        memset(second, 2, SHORT);
        check(hx_ibcast(first, LONG, HX_BYTE, 0, other, &request), other);
    }
    check(hx_bcast(second, SHORT, HX_BYTE, 0, world), world);
    if (rank != 0)
        check(hx_ibcast(first, LONG, HX_BYTE, 0, other, &request), other);
    check(hx_wait(request), other);
    if (first[LONG - 1] != 1 || second[SHORT - 1] != 2)
        fail(world, "a broadcast brought something else");
    check(hx_finalize(), NULL);
    free(first);
    free(second);
}

/* Of three ranks 0 fails in a call in which 2 has nothing to do with it, and frees the communicator; 2 waits for it in the next call. */
static void freed(void)
{
    int in[2] = {0}, out[6];
    hx_status_t status;
    hx_comm_t *comm;

    check(hx_init(&world), NULL);
    rank = hx_rank(world);
    check(hx_comm_dup(world, &comm), world);
    check(hx_barrier(comm), comm);
    status = hx_bcast(in, rank == 0 ? 2 : 1, HX_INT32, 1, comm);
    if (rank > 0)
        status = hx_gather(in, out, 1, HX_INT32, 2, comm);
    if ((rank != 1 && status != HX_ERR_MISMATCH) || (rank == 2 && !strstr(hx_error_detail(comm), "rank 0 has failed in this")))
        fail(comm, hx_strerror(status));
    if (rank == 0)
        check(hx_comm_free(comm), NULL);
    check(hx_finalize(), NULL);
}

/* Rank 0 frees a communicator that the others use once more: their error names rank 0. */
static void left(void)
{
    hx_status_t status = HX_ERR_MISMATCH;
    hx_request_t *request;
    hx_comm_t *comms[2];
    int in = 1, out;

    start();
    for (int k = 0; k < 2; k++) {
        check(hx_comm_dup(world, &comms[k]), world);
        check(hx_barrier(comms[k]), comms[k]);
        if (rank == 0) {
            check(hx_comm_free(comms[k]), NULL);
            continue;
        }
        if (k == 0)
            status = hx_allreduce(&in, &out, 1, HX_INT32, HX_SUM, comms[k]);
        else if ((status = hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, comms[k], &request)) == HX_SUCCESS)
            status = hx_wait(request);
        if (status != HX_ERR_MISMATCH || !strstr(hx_error_detail(comms[k]), "freed this communicator"))
            fail(comms[k], hx_strerror(status));
        check(hx_comm_free(comms[k]), NULL);
    }
    end();
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static double cpu_us(void)
{
    return 1e-3 * (double)hx_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct costs { /* us of CPU time, each */
    double start, test, wait;
};

/* n calls in flight, which rank 1 has not started; the last is tested; then all are waited for, the last first. */
static struct costs costs_of(int n)
{
    enum { TESTS = 1000 };
    int32_t *in = calloc((size_t)n, sizeof(*in)), *out = calloc((size_t)n, sizeof(*out)), late = 0;
    hx_request_t **requests = calloc((size_t)n, sizeof(hx_request_t *));
    struct costs costs;
    double begin;
    int done;

    if (!in || !out || !requests)
        fail(world, "no memory");
    for (int i = 0; i < n; i++)
        in[i] = i;
    check(hx_barrier(world), world);
    begin = cpu_us();
    for (int i = 0; i < n && rank == 0; i++)
        check(hx_iallreduce(&in[i], &out[i], 1, HX_INT32, HX_SUM, world, &requests[i]), world);
    costs.start = (cpu_us() - begin) / n;
    begin = cpu_us();
    for (int i = 0; i < TESTS && rank == 0; i++)
        check(hx_test(requests[n - 1 - i % 3], &done), world);
    costs.test = (cpu_us() - begin) / TESTS;
    check(hx_bcast(&late, 1, HX_INT32, 0, world), world);
    for (int i = 0; i < n && rank == 1; i++)
        check(hx_iallreduce(&in[i], &out[i], 1, HX_INT32, HX_SUM, world, &requests[i]), world);
    begin = cpu_us();
    for (int i = n - 1; i >= 0; i--)
        check(hx_wait(requests[i]), world);
    costs.wait = (cpu_us() - begin) / n;
    for (int i = 0; i < n; i++)
        if (out[i] != 2 * i)
            fail(world, "a wrong sum");
    free(in);
    free(out);
    free(requests);
    return costs;
}

static void least(double *a, double b)
{
    *a = b < *a ? b : *a;
}

/* What a request costs does not depend on how many there are: the least of three times, and a wide margin. */
static void requests(void)
{
    struct costs few = costs_of(1000), many = costs_of(100000);

    for (int i = 0; i < 2; i++) {
        struct costs f = costs_of(1000), m = costs_of(100000);
        least(&few.start, f.start), least(&few.test, f.test), least(&few.wait, f.wait);
        least(&many.start, m.start), least(&many.test, m.test), least(&many.wait, m.wait);
    }
    if (rank != 0)
        return;
    printf("us with 1000 requests and with 100000: start %.2f %.2f, test %.2f %.2f, wait %.2f %.2f\n", few.start, many.start, few.test,
           many.test, few.wait, many.wait);
    if (many.start > 8 * few.start || many.test > 8 * few.test || many.wait > 8 * few.wait)
        fail(NULL, "a request costs more when there are many");
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "growth"))
        growth(atol(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "alive"))
        alive(atoi(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "failures"))
        failures(atoi(argv[2]), differ);
    else if (argc == 3 && !strcmp(argv[1], "broken"))
        failures(atoi(argv[2]), give_up);
    else if (argc == 3 && !strcmp(argv[1], "orders"))
        orders(atoi(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "ahead"))
        ahead(atoi(argv[2]));
    else if (argc == 2 && !strcmp(argv[1], "left"))
        left();
    else if (argc == 2 && !strcmp(argv[1], "requests"))
        start(), requests(), end();
    else if (argc == 2 && !strcmp(argv[1], "limit"))
        limit();
    else if (argc == 2 && !strcmp(argv[1], "crossed"))
        crossed();
    else if (argc == 2 && !strcmp(argv[1], "freed"))
        freed();
    else
        return 2;
    return 0;
}
