/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reorder: hx_comm_reorder of the world communicator, of a duplicate and of a part of the ranks. Sums are right before and after. If one rank
 * has requests, or makes another call, all ranks get the error.
 * reorder FILE: times an all-reduce, and rank 0 says "before". Once FILE exists, it times the call again, reorders, and times it once more.
 * Rank 0 prints the three medians in microseconds.
 */
#include "runtime/hierax.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 1 << 18, TRIES = 5 };

static hx_comm_t *comm;
static int n, me;
static float in[COUNT], out[COUNT];

static void check(hx_status_t status, hx_comm_t *of, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "reorder: rank %d: %s: %s\n", me, what, hx_error_detail(of));
    exit(1);
}

static void want(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "reorder: rank %d: %s; detail: %s\n", me, what, hx_error_detail(comm));
    exit(1);
}

/* Small whole numbers, which are exact in any order. */
static void sum_check(hx_comm_t *of, const char *when)
{
    const int size = hx_size(of);

    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(i % 100);
    check(hx_allreduce(in, out, COUNT, HX_FLOAT32, HX_SUM, of), of, when);
    for (int i = 0; i < COUNT; i++)
        want(out[i] == (float)(i % 100 * size), when);
}

static void reorder_of_each_kind(void)
{
    hx_comm_t *made;

    sum_check(comm, "a sum before");
    check(hx_comm_reorder(comm), comm, "hx_comm_reorder");
    sum_check(comm, "a sum after");
    check(hx_comm_reorder(comm), comm, "hx_comm_reorder again");
    sum_check(comm, "a sum after the second time");
    check(hx_comm_dup(comm, &made), comm, "hx_comm_dup");
    sum_check(made, "a sum in a duplicate");
    check(hx_comm_reorder(made), made, "hx_comm_reorder of a duplicate");
    sum_check(made, "a sum in a duplicate after");
    check(hx_comm_free(made), comm, "hx_comm_free");
    check(hx_comm_split(comm, me == n - 1, -me, &made), comm, "hx_comm_split"); /* the others in reverse; the last rank is alone */
    check(hx_comm_reorder(made), made, "hx_comm_reorder of a part");
    sum_check(made, "a sum in a part");
    check(hx_comm_free(made), comm, "hx_comm_free");
}

/* A request of one rank hinders all; a rank that calls something else breaks the communicator. */
static void refused(void)
{
    hx_request_t *request = NULL;
    hx_comm_t *other;
    hx_status_t status;

    check(hx_comm_dup(comm, &other), comm, "hx_comm_dup");
    check(hx_allreduce_init(in, out, 1, HX_FLOAT32, HX_SUM, other, &request), other, "hx_allreduce_init");
    if (me != 1)
        check(hx_request_free(request), other, "hx_request_free");
    status = hx_comm_reorder(other);
    want(status == HX_ERR_STATE && strstr(hx_error_detail(other), "rank 1 has requests"), "hx_comm_reorder with a request");
    if (me == 1)
        check(hx_request_free(request), other, "hx_request_free");
    check(hx_comm_reorder(other), other, "hx_comm_reorder once the request is free");
    sum_check(other, "a sum afterwards");
    status = me == 0 ? hx_allreduce((int[]){1, 2}, (int[2]){0}, 2, HX_INT32, HX_MAX, other) : hx_comm_reorder(other);
    want(status == HX_ERR_MISMATCH, "hx_comm_reorder against an all-reduce");
    hx_comm_free(other);
    want(hx_comm_reorder(NULL) == HX_ERR_ARG, "hx_comm_reorder of NULL");
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_us(void)
{
    double us[TRIES];

    for (int i = 0; i < TRIES; i++) {
        struct timespec from, to;
        check(hx_barrier(comm), comm, "hx_barrier");
        clock_gettime(CLOCK_MONOTONIC, &from);
        check(hx_allreduce(in, out, COUNT, HX_FLOAT32, HX_SUM, comm), comm, "hx_allreduce");
        clock_gettime(CLOCK_MONOTONIC, &to);
        us[i] = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3;
    }
    qsort(us, TRIES, sizeof(*us), compare);
    return us[TRIES / 2];
}

static void timed(const char *file)
{
    double us[3];
    int there = 0;

    us[0] = median_us();
    if (me == 0)
        fprintf(stderr, "before\n");
    for (int tries = 0; !there && tries < 600; tries++) {
        usleep(me == 0 ? 50000 : 0);
        there = access(file, F_OK) == 0;
        check(hx_bcast(&there, 1, HX_INT32, 0, comm), comm, "hx_bcast");
    }
    us[1] = median_us();
    check(hx_comm_reorder(comm), comm, "hx_comm_reorder");
    us[2] = median_us();
    if (me == 0)
        printf("%.0f %.0f %.0f\n", us[0], us[1], us[2]);
}

int main(int argc, char **argv)
{
    if (hx_init(&comm) != HX_SUCCESS)
        return 1;
    me = hx_rank(comm);
    n = hx_size(comm);
    if (argc > 1) {
        timed(argv[1]);
    } else {
        reorder_of_each_kind();
        refused();
    }
    return hx_finalize() != HX_SUCCESS;
}
