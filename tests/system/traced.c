/* SPDX-License-Identifier: BSD-3-Clause */
/* A job to trace: ROUNDS times every kind of call that the trace must tell: blocking ones of several stages and slices, rooted ones (which
 * sometimes begin with a barrier), counts that are spread first, an empty one, non-blocking and persistent ones, and from a second thread on
 * a communicator of its own. Usage: traced ROUNDS [absent RANK | late RANK]: the rank does not make the last call; it sleeps for LATE_MS
 * before each round */
#include "runtime/hierax.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 100000, LATE_MS = 20 };

static hx_comm_t *world, *other;
static int rank, size, rounds;

static void check(hx_status_t status, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "traced: rank %d: %s: %s: %s\n", rank, what, hx_strerror(status), hx_error_detail(world));
    exit(3);
}

static void *thread_main(void *arg)
{
    int one = 1, sum;

    for (int i = 0; i < rounds; i++) {
        check(hx_allreduce(&one, &sum, 1, HX_INT32, HX_SUM, other), "hx_allreduce of the thread");
        if (sum != size)
            exit(4);
    }
    return arg;
}

static void round_make(float *in, float *out)
{
    hx_request_t *request[2];
    size_t *counts = calloc((size_t)size, sizeof(*counts)), *displs = calloc((size_t)size, sizeof(*displs));

    if (!counts || !displs)
        exit(3);
    for (int r = 0; r < size; r++) {
        counts[r] = (size_t)r; /* of rank 0 nothing, which is in the call all the same */
        displs[r] = (size_t)r * (size_t)(r + 1) / 2;
    }
    check(hx_allreduce(in, out, 2, HX_FLOAT32, HX_SUM, world), "hx_allreduce");
    check(hx_allreduce(in, out, LONG, HX_FLOAT32, HX_SUM, world), "hx_allreduce");
    check(hx_bcast(out, 10, HX_FLOAT32, 0, world), "hx_bcast");
    check(hx_gatherv(in, (size_t)rank, out, counts, displs, HX_FLOAT32, 1 % size, world), "hx_gatherv");
    check(hx_allgather(in, out, 0, HX_FLOAT32, world), "hx_allgather");
    check(hx_barrier(world), "hx_barrier");
    check(hx_iallreduce(in, out, 1000, HX_FLOAT32, HX_SUM, world, &request[0]), "hx_iallreduce");
    check(hx_ialltoall(in + LONG / 2, out + LONG / 2, 10, HX_FLOAT32, world, &request[1]), "hx_ialltoall");
    check(hx_waitall(2, request), "hx_waitall");
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    int absent = argc > 3 && !strcmp(argv[2], "absent") ? atoi(argv[3]) : -1;
    int late = argc > 3 && !strcmp(argv[2], "late") ? atoi(argv[3]) : -1;
    float *in = calloc(LONG, sizeof(float)), *out = calloc(LONG, sizeof(float));
    hx_request_t *persistent;
    hx_status_t status;
    pthread_t thread;

    rounds = argc > 1 ? atoi(argv[1]) : 1;
    if (!in || !out)
        return 3;
    if ((status = hx_init(&world)) != HX_SUCCESS) {
        fprintf(stderr, "traced: %s\n", hx_error_detail(NULL));
        return 5;
    }
    rank = hx_rank(world);
    size = hx_size(world);
    check(hx_comm_dup(world, &other), "hx_comm_dup");
    if (pthread_create(&thread, NULL, thread_main, NULL))
        return 3;
    check(hx_allreduce_init(in, out, 100, HX_FLOAT32, HX_MAX, world, &persistent), "hx_allreduce_init");
    for (int i = 0; i < rounds; i++) {
        check(hx_start(persistent), "hx_start");
        check(hx_wait(persistent), "hx_wait");
        if (rank == late)
            nanosleep(&(struct timespec){.tv_nsec = LATE_MS * 1000000}, NULL);
        round_make(in, out);
    }
    check(hx_request_free(persistent), "hx_request_free");
    pthread_join(thread, NULL);
    if (absent >= 0) {
        if (rank == absent)
            sleep(30); /* coll_run ends it before */
        status = hx_allreduce(in, out, LONG, HX_FLOAT32, HX_SUM, world); /* nobody returns from it without him */
        fprintf(stderr, "traced: rank %d: %s\n", rank, hx_strerror(status));
        sleep(3); /* till the others have said it too */
        _exit(6); /* without hx_finalize */
    }
    check(hx_finalize(), "hx_finalize");
    free(in);
    free(out);
    return 0;
}
