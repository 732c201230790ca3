/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job that makes many communicators. usage: comms_many growth COMMUNICATORS | limit | crossed | freed */
#include <hierax.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* So many turns free as many handles as a debug build keeps the memory of (runtime/handle.c): a communicator and a request each. */
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

/* As many communicators as there can be, and the error after them; then they are freed. */
static void limit(void)
{
    static hx_comm_t *comms[1024];
    int n = 0;

    check(hx_init(&world), NULL);
    while (n < 1024 && hx_comm_dup(world, &comms[n]) == HX_SUCCESS)
        n++;
    if (n < 200 || !strstr(hx_error_detail(world), "communicators open already"))
        fail(world, "the limit of communicators");
    while (n-- > 0)
        check(hx_comm_free(comms[n]), comms[n]);
    check(hx_barrier(world), world);
    check(hx_finalize(), NULL);
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

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "growth"))
        growth(atol(argv[2]));
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
