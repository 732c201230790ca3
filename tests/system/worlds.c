/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two worlds are open in each process at once. Each process has another rank in the second one. Calls are made in both in turn, and calls
 * of one go on while the process waits in the other. Then the older world is closed, and the newer one goes on. A third one is opened, and
 * hx_finalize closes both. usage: worlds PORT (under coll_run; the second world's store is at that port, the third's at the next)
 */
#include "runtime/start/startup.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 300000, ROUNDS = 200 };

#define CHECK(right) check(!!(right), #right, __LINE__)

static int me;

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "worlds: process %d, line %d: not %s; %s\n", me, line, what, hx_error_detail(NULL));
    exit(1);
}

/* The processes meet in the order of these ranks. */
static hx_comm_t *world_open(int port, int rank, int size)
{
    char root[64], text[2][32];
    const char *settings[] = {root, text[0], text[1], NULL};
    const hx_config_t config = {.settings = settings};
    struct hx_opening opening = {.config = &config, .generation = 1, .node = me % 2};
    hx_comm_t *world = NULL;

    snprintf(root, sizeof(root), "HX_ROOT=127.0.0.1:%d", port);
    snprintf(text[0], sizeof(text[0]), "HX_RANK=%d", rank);
    snprintf(text[1], sizeof(text[1]), "HX_SIZE=%d", size);
    CHECK(hx_world_begin_open(&opening, &world) == HX_SUCCESS);
    CHECK(hx_rank(world) == rank && hx_size(world) == size);
    return world;
}

static void sum(hx_comm_t *comm)
{
    int64_t n = hx_size(comm), mine = hx_rank(comm) + 1, all = 0;

    CHECK(hx_allreduce(&mine, &all, 1, HX_INT64, HX_SUM, comm) == HX_SUCCESS);
    CHECK(all == n * (n + 1) / 2);
}

/* A call of `first` is under way while the process waits in `second`. Odd ranks wait in the other order, so the calls of each world need the
 * progress that the other world's waits make. */
static void crossed(hx_comm_t *first, hx_comm_t *second)
{
    static int64_t vector[2][MANY];
    hx_request_t *requests[2];
    int idx, done = 0;

    for (int i = 0; i < MANY; i++)
        vector[0][i] = vector[1][i] = i;
    CHECK(hx_iallreduce(HX_IN_PLACE, vector[0], MANY, HX_INT64, HX_SUM, first, &requests[0]) == HX_SUCCESS);
    if (me % 2)
        CHECK(hx_wait(requests[0]) == HX_SUCCESS);
    sum(second);
    if (me % 2 == 0)
        CHECK(hx_wait(requests[0]) == HX_SUCCESS);
    CHECK(vector[0][7] == 7 * hx_size(first));
    CHECK(hx_iallreduce(HX_IN_PLACE, vector[0], MANY, HX_INT64, HX_SUM, first, &requests[0]) == HX_SUCCESS);
    CHECK(hx_iallreduce(HX_IN_PLACE, vector[1], MANY, HX_INT64, HX_SUM, second, &requests[1]) == HX_SUCCESS);
    CHECK(hx_waitany(2, requests, &idx) == HX_SUCCESS && (idx == 0 || idx == 1));
    while (!done)
        CHECK(hx_testall(2, requests, &done) == HX_SUCCESS);
    CHECK(vector[0][7] == 7 * hx_size(first) * hx_size(first) && vector[1][7] == 7 * hx_size(second));
}

static void *sums(void *comm)
{
    for (int i = 0; i < ROUNDS; i++)
        sum(comm);
    return NULL;
}

int main(int argc, char **argv)
{
    hx_comm_t *older = NULL, *newer, *third, *copy;
    pthread_t thread;
    int size, port = argc == 2 ? atoi(argv[1]) : 0;

    CHECK(port > 0 && hx_init(&older) == HX_SUCCESS);
    me = hx_rank(older);
    size = hx_size(older);
    CHECK(hx_comm_free(older) == HX_ERR_STATE && strstr(hx_error_detail(older), "hx_finalize"));
    newer = world_open(port, size - 1 - me, size);
    CHECK(hx_comm_dup(older, &copy) == HX_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        sum(older);
        sum(newer);
        sum(copy);
    }
    crossed(older, newer);
    crossed(newer, copy);
    CHECK(pthread_create(&thread, NULL, sums, older) == 0);
    sums(newer);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(hx_comm_free(older) == HX_SUCCESS);
    CHECK(hx_barrier(older) == HX_ERR_STATE && strstr(hx_error_detail(NULL), "not open"));
    sums(newer);
    CHECK(hx_comm_free(newer) == HX_ERR_STATE);
    third = world_open(port + 1, (me + 1) % size, size);
    crossed(newer, third);
    sum(third);
    CHECK(hx_finalize() == HX_SUCCESS);
    CHECK(hx_barrier(third) == HX_ERR_STATE);
    return 0;
}
