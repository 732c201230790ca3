/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job whose calls are started in groups. usage: groups CASE
 *
 * drawn SEED  groups of drawn calls have the results of the single calls
 * hundred     100 all-reduces of 8 bytes as one group, in a job without other calls between nodes but those of start and end
 * none        the same without the all-reduces
 * wrong       what a group refuses; a group goes on after a wrong argument
 * unlike      rank 1 has the same calls in another order of lengths, on one communicator, and fewer calls on another
 * time        microseconds of 100 all-reduces, one after the other and as a group
 */
#include "runtime/base/clock.h"
#include <hierax.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 40, MOST = 60, RANKS = 8, ROUNDS = 25, KINDS = 11 };

static hx_comm_t *world;
static int rank, size;

#define CHECK(right) check(!!(right), #right, __LINE__)

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "groups: rank %d, line %d: not %s; %s\n", rank, line, what, hx_error_detail(world));
    exit(1);
}

/* ---- drawn ------------------------------------------------------------------------------------------------------- */

static unsigned seed;

static unsigned draw(unsigned n) /* the same on all ranks */
{
    return ((seed = seed * 1103515245u + 12345u) >> 16) % n;
}

struct call {
    unsigned kind, in_place;
    size_t count;
    hx_op_t op;
    int root;
};

typedef int64_t vector[RANKS * MOST];

/* In place where that has one meaning on all ranks. */
static hx_status_t make(const struct call *c, const int64_t *in, int64_t *out)
{
    const void *from = c->in_place ? HX_IN_PLACE : in;

    switch (c->kind) {
    case 0: return hx_allreduce(from, out, c->count, HX_INT64, c->op, world);
    case 1: return hx_bcast(out, c->count, HX_INT64, c->root, world);
    case 2: return hx_reduce(c->in_place && rank == c->root ? HX_IN_PLACE : in, out, c->count, HX_INT64, c->op, c->root, world);
    case 3: return hx_allgather(from, out, c->count, HX_INT64, world);
    case 4: return hx_gather(c->in_place && rank == c->root ? HX_IN_PLACE : in, out, c->count, HX_INT64, c->root, world);
    case 5: return hx_scatter(in, c->in_place && rank == c->root ? HX_IN_PLACE : out, c->count, HX_INT64, c->root, world);
    case 6: return hx_reduce_scatter_block(from, out, c->count, HX_INT64, c->op, world);
    case 7: return hx_alltoall(from, out, c->count, HX_INT64, world);
    case 8: return hx_scan(from, out, c->count, HX_INT64, c->op, world);
    case 9: return hx_exscan(from, out, c->count, HX_INT64, c->op, world);
    default: return hx_barrier(world);
    }
}

static void told(hx_status_t status, void *ctx)
{
    *(int *)ctx += status == HX_SUCCESS;
}

static void end(unsigned how)
{
    hx_request_t *request;
    int times = 0, done = 0;

    if (how == 0) {
        CHECK(hx_group_end(world, NULL) == HX_SUCCESS);
        return;
    }
    CHECK(hx_group_end(world, &request) == HX_SUCCESS && request);
    if (how == 1)
        CHECK(hx_request_notify(request, told, &times) == HX_SUCCESS);
    while (how == 2 && !done)
        CHECK(hx_test(request, &done) == HX_SUCCESS);
    if (how != 2)
        CHECK(hx_wait(request) == HX_SUCCESS && times == (how == 1));
}

static void round_run(void)
{
    static vector in[CALLS], single[CALLS], grouped[CALLS];
    const unsigned n = draw(CALLS + 1), few = 1 + draw(KINDS);
    struct call calls[CALLS];

    for (unsigned i = 0; i < n; i++) {
        calls[i] = (struct call){draw(KINDS) % few, draw(2), draw(MOST + 1), draw(2) ? HX_SUM : HX_MAX, (int)draw((unsigned)size)};
        for (int k = 0; k < RANKS * MOST; k++) {
            in[i][k] = (int64_t)rank * 1000 + k * (int64_t)(i + 1);
            single[i][k] = grouped[i][k] = -in[i][k];
        }
        CHECK(make(&calls[i], in[i], single[i]) == HX_SUCCESS);
    }
    CHECK(hx_group_begin(world) == HX_SUCCESS);
    for (unsigned i = 0; i < n; i++)
        CHECK(make(&calls[i], in[i], grouped[i]) == HX_SUCCESS);
    end(draw(4));
    for (unsigned i = 0; i < n; i++) {
        if (calls[i].kind == 6 && calls[i].in_place) /* behind its result, the vector is undefined */
            memcpy(single[i] + calls[i].count, grouped[i] + calls[i].count, sizeof(single[i]) - calls[i].count * sizeof(int64_t));
        if (memcmp(single[i], grouped[i], sizeof(single[i])) != 0)
            fprintf(stderr, "groups: call %u of %u: kind %u, in place %u, %zu elements, root %d\n", i, n, calls[i].kind, calls[i].in_place,
                    calls[i].count, calls[i].root);
        CHECK(memcmp(single[i], grouped[i], sizeof(single[i])) == 0);
    }
}

/* ---- hundred, time ------------------------------------------------------------------------------------------------ */

static void hundred(int groups)
{
    double in[100], out[100] = {0};

    for (int i = 0; i < 100; i++)
        in[i] = 0.1 * i + rank;
    if (groups)
        CHECK(hx_group_begin(world) == HX_SUCCESS);
    for (int i = 0; i < 100; i++)
        CHECK(hx_allreduce(&in[i], &out[i], 1, HX_FLOAT64, HX_SUM, world) == HX_SUCCESS);
    if (groups)
        CHECK(hx_group_end(world, NULL) == HX_SUCCESS);
    for (int i = 0; i < 100; i++)
        CHECK(out[i] > size * 0.1 * i - 1e-6 && out[i] < size * 0.1 * i + size * (size - 1) / 2.0 + 1e-6);
}

static void time_of(int groups)
{
    double best = 1e9;

    for (int i = 0; i < 2000; i++) {
        CHECK(hx_barrier(world) == HX_SUCCESS);
        double since = hx_now_s();
        hundred(groups);
        since = hx_now_s() - since;
        best = since < best ? since : best;
    }
    if (rank == 0)
        printf("%s: %.1f us at best\n", groups ? "as a group" : "one after the other", best * 1e6);
}

/* ---- wrong, unlike ------------------------------------------------------------------------------------------------- */

static int has(const hx_comm_t *comm, const char *text)
{
    return strstr(hx_error_detail(comm), text) != NULL;
}

static void wrong(void)
{
    hx_request_t *request, *prepared;
    hx_comm_t *copy, *other;
    int64_t one = 1, sum = 0, third = 0;
    void *memory;

    CHECK(hx_comm_dup(world, &copy) == HX_SUCCESS);
    CHECK(hx_group_begin(NULL) == HX_ERR_ARG && hx_group_end(NULL, NULL) == HX_ERR_ARG);
    CHECK(hx_group_end(copy, NULL) == HX_ERR_STATE && has(copy, "call hx_group_begin first"));
    CHECK(hx_barrier_init(copy, &prepared) == HX_SUCCESS && hx_group_begin(copy) == HX_SUCCESS);
    CHECK(hx_group_begin(copy) == HX_ERR_STATE && has(copy, "has a group open"));
    CHECK(hx_ibarrier(copy, &request) == HX_ERR_STATE && !request && has(copy, "without the i"));
    CHECK(hx_start(prepared) == HX_ERR_STATE && hx_comm_dup(copy, &other) == HX_ERR_STATE && hx_alloc(copy, 1, &memory) == HX_ERR_STATE);
    CHECK(hx_comm_split_node(copy, &other) == HX_ERR_STATE && hx_comm_free(copy) == HX_ERR_STATE && hx_finalize() == HX_ERR_STATE);
    CHECK(hx_allreduce(NULL, &sum, 1, HX_INT64, HX_SUM, copy) == HX_ERR_ARG && has(copy, "in is NULL"));
    CHECK(hx_allreduce(&one, &sum, 1, HX_INT64, HX_SUM, copy) == HX_SUCCESS && sum == 0);
    CHECK(hx_allreduce(&one, &third, 1, HX_INT64, HX_SUM, copy) == HX_SUCCESS && hx_barrier(copy) == HX_SUCCESS);
    CHECK(hx_barrier(world) == HX_SUCCESS && hx_group_end(copy, NULL) == HX_SUCCESS && sum == size && third == size);
    CHECK(hx_start(prepared) == HX_SUCCESS && hx_wait(prepared) == HX_SUCCESS && hx_request_free(prepared) == HX_SUCCESS);
    CHECK(hx_group_begin(copy) == HX_SUCCESS && hx_group_end(copy, NULL) == HX_SUCCESS); /* empty */
    CHECK(hx_group_begin(copy) == HX_SUCCESS && hx_group_end(copy, &request) == HX_SUCCESS && hx_wait(request) == HX_SUCCESS);
    CHECK(hx_comm_free(copy) == HX_SUCCESS);
}

static void unlike(void)
{
    int64_t in[64] = {0}, out[64] = {0};
    hx_comm_t *copy;

    for (int fewer = 0; fewer < 2; fewer++) {
        hx_status_t status;
        CHECK(hx_comm_dup(world, &copy) == HX_SUCCESS && hx_group_begin(copy) == HX_SUCCESS);
        CHECK(hx_allreduce(in, out, rank == 1 ? 24 : 8, HX_INT64, HX_SUM, copy) == HX_SUCCESS);
        if (rank != 1 || !fewer)
            CHECK(hx_allreduce(in + 32, out + 32, rank == 1 ? 8 : 24, HX_INT64, HX_SUM, copy) == HX_SUCCESS);
        status = hx_group_end(copy, NULL);
        if (status != HX_ERR_MISMATCH)
            fprintf(stderr, "groups: rank %d: %s: %s\n", rank, hx_strerror(status), hx_error_detail(copy));
        CHECK(status == HX_ERR_MISMATCH);
        CHECK(hx_group_begin(copy) == HX_ERR_MISMATCH && hx_comm_free(copy) == HX_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";

    if (hx_init(&world) != HX_SUCCESS)
        return 1;
    rank = hx_rank(world);
    size = hx_size(world);
    CHECK(size <= RANKS);
    if (!strcmp(which, "drawn") && argc == 3) {
        seed = (unsigned)atoi(argv[2]);
        for (int i = 0; i < ROUNDS; i++)
            round_run();
    } else if (!strcmp(which, "hundred")) {
        hundred(1);
    } else if (!strcmp(which, "wrong")) {
        wrong();
    } else if (!strcmp(which, "unlike")) {
        unlike();
    } else if (!strcmp(which, "time")) {
        time_of(0);
        time_of(1);
    } else if (strcmp(which, "none") != 0) {
        return 2;
    }
    return hx_finalize() != HX_SUCCESS;
}
