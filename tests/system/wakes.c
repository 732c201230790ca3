/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sleeps is woken by what it waits for, also when another thread of its process sleeps in the poll: run as 3 ranks on nodes 2,1.
 *
 * Rank 0 has a barrier of all ranks under way, for which its progress thread, or a thread of its own, sleeps; meanwhile its main
 * thread waits for a broadcast from rank 1, on its node, or from rank 2, on the other. What passes the main thread by takes 100 ms: exit
 * status 2, which a busy machine may cause too.
 */
#include "runtime/base/clock.h"
#include "tools/common/median.h"
#include <hierax.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 9 };
#define LIMIT 0.04 /* seconds */

static hx_comm_t *world, *all;

static void check(hx_status_t status)
{
    if (status != HX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", hx_strerror(status), hx_error_detail(world));
        exit(1);
    }
}

static int by_thread; /* not by the progress thread */

static void *barrier(void *arg)
{
    hx_request_t *request;

    (void)arg;
    if (by_thread) {
        check(hx_barrier(all));
    } else {
        check(hx_ibarrier(all, &request));
        check(hx_wait(request));
    }
    return NULL;
}

/* How long the broadcast from the root, the second of pair, is on its way. */
static double receive(hx_comm_t *pair)
{
    hx_request_t *request = NULL;
    pthread_t thread;
    double sent;

    if (by_thread && pthread_create(&thread, NULL, barrier, NULL))
        exit(1);
    if (!by_thread)
        check(hx_ibarrier(all, &request));
    usleep(20000);
    check(hx_bcast(&sent, 1, HX_FLOAT64, 1, pair));
    sent = hx_now_s() - sent;
    if (by_thread)
        pthread_join(thread, NULL);
    else
        check(hx_wait(request));
    return sent;
}

static void send(hx_comm_t *pair, int round)
{
    double sent;

    usleep(50000 + 7000 * (unsigned)round);
    sent = hx_now_s();
    check(hx_bcast(&sent, 1, HX_FLOAT64, 1, pair));
    usleep(110000); /* nobody may owe its wake-up to the barrier's end */
    barrier(NULL);
}

int main(int argc, char **argv)
{
    double took[ROUNDS] = {0};
    int late = 0, rank;

    by_thread = argc > 1 && argv[1][0] == 't'; /* usage: wakes [thread] */
    check(hx_init(&world));
    check(hx_comm_dup(world, &all));
    rank = hx_rank(world);
    for (int root = 1; root <= 2; root++) {
        hx_comm_t *pair = NULL;
        check(hx_comm_split(world, rank == 0 || rank == root ? 0 : HX_UNDEFINED, rank, &pair));
        for (int i = 0; i < ROUNDS; i++) {
            check(hx_barrier(world));
            if (rank == 0)
                took[i] = receive(pair);
            else if (rank == root)
                send(pair, i);
            else
                barrier(NULL);
        }
        if (pair)
            check(hx_comm_free(pair));
        ascending_sort(took, ROUNDS);
        if (rank == 0)
            printf("from rank %d: %.2f ms, at most %.2f ms\n", root, took[ROUNDS / 2] * 1e3, took[ROUNDS - 1] * 1e3);
        late |= took[ROUNDS / 2] > LIMIT;
    }
    check(hx_comm_free(all));
    check(hx_finalize());
    return late ? 2 : 0;
}
