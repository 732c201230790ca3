/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job in which the last one dies, and what that leaves to the others.
 *   written   4 ranks: rank 0 has a receive under way that rank 3, which dies, was to write to memory of hx_alloc, and one from rank 2;
 *             ranks 1 and 2 go on by themselves
 *   left      3 ranks: rank 0 was to receive from rank 2, which dies, by writes to bounce buffers, of which there are few; then from rank 1
 *   seldom MS 2 ranks: rank 0 waits for rank 1, which is dead, by a test each so many milliseconds
 * Each prints "rank R NAME STATUS" for what it names, or "rank 0 after S s STATUS".
 */
#include "runtime/hierax.h"
#include "runtime/base/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT ((size_t)1 << 19)

static hx_comm_t *world;
static int rank, size;

static void must(hx_status_t status, hx_comm_t *comm)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "after_death: rank %d: %s\n", rank, hx_error_detail(comm));
    exit(1);
}

static void told(const char *name, hx_status_t status, hx_comm_t *comm)
{
    printf("rank %d %s %d\n", rank, name, (int)status);
    fflush(stdout);
    if (status != HX_SUCCESS)
        fprintf(stderr, "after_death: rank %d, %s: %s\n", rank, name, hx_error_detail(comm));
}

static hx_comm_t *pair(int a, int b)
{
    hx_comm_t *comm = NULL;

    must(hx_comm_split(world, rank == a || rank == b ? 0 : HX_UNDEFINED, rank, &comm), world);
    return comm;
}

static void the_last_dies(unsigned after_ms)
{
    must(hx_barrier(world), world);
    if (rank != size - 1)
        return;
    usleep(1000 * after_ms);
    _exit(0);
}

static void written(void)
{
    hx_comm_t *to_dead = pair(0, 3), *to_living = pair(0, 2), *others = pair(1, 2);
    void *memory = NULL, *own = calloc(COUNT, 4);
    hx_request_t *dead = NULL, *living = NULL;
    int value = rank;

    must(hx_alloc(world, 4 * COUNT, &memory), world);
    if (to_dead)
        must(hx_bcast(memory, COUNT, HX_FLOAT32, 1, to_dead), to_dead);
    if (to_living)
        must(hx_bcast(own, COUNT, HX_FLOAT32, 1, to_living), to_living);
    the_last_dies(500);
    if (rank == 0) {
        must(hx_ibcast(own, COUNT, HX_FLOAT32, 1, to_living, &living), to_living);
        must(hx_ibcast(memory, COUNT, HX_FLOAT32, 1, to_dead, &dead), to_dead);
        told("dead", hx_wait(dead), to_dead);
    }
    for (int i = 0; i < 8 && others; i++) {
        usleep(rank == 2 ? 500000 : 0);
        hx_status_t status = hx_allreduce(HX_IN_PLACE, &value, 1, HX_INT32, HX_MAX, others);
        if (status != HX_SUCCESS || i == 7)
            told("others", status, others);
        if (status != HX_SUCCESS)
            return;
    }
    if (rank == 2)
        must(hx_ibcast(own, COUNT, HX_FLOAT32, 1, to_living, &living), to_living);
    if (to_living)
        told("living", hx_wait(living), to_living);
}

static void left(void)
{
    hx_comm_t *to_dead = pair(0, 2), *to_living = pair(0, 1);
    void *own = calloc(COUNT, 4);

    if (to_dead)
        must(hx_bcast(own, COUNT, HX_FLOAT32, 1, to_dead), to_dead);
    if (to_living)
        must(hx_bcast(own, COUNT, HX_FLOAT32, 1, to_living), to_living);
    the_last_dies(300);
    if (rank == 0)
        told("dead", hx_bcast(own, COUNT, HX_FLOAT32, 1, to_dead), to_dead);
    told("living", hx_bcast(own, COUNT, HX_FLOAT32, 1, to_living), to_living);
}

static void seldom(unsigned test_ms)
{
    hx_request_t *request;
    int value = 0, done = 0;
    double start;

    the_last_dies(0);
    must(hx_ibcast(&value, 1, HX_INT32, 1, world, &request), world);
    start = hx_now_s();
    while (!done && hx_now_s() < start + 20) {
        usleep(1000 * test_ms);
        hx_status_t status = hx_test(request, &done);
        if (done)
            printf("rank 0 after %ld s %d\n", (long)(hx_now_s() - start), (int)status);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    rank = hx_rank(world);
    size = hx_size(world);
    if (strcmp(what, "written") == 0)
        written();
    else if (strcmp(what, "left") == 0)
        left();
    else
        seldom(argc > 2 ? (unsigned)atoi(argv[2]) : 1200);
    usleep(500000);
    _exit(0); /* an end in order would wait for the dead */
}
