/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seed systems, row by row: each algorithm that they name is registered under the name here, may serve inside a
 * node as well as between nodes, and costs exactly what they say for p = 8; and the ring's program is baidu's, step by
 * step.
 *
 * Their cost model has one port: a member exchanges one message at a time. So a round costs as many messages and bytes
 * as its busiest member sends, or receives where that is more; a collective costs the sum over its rounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/plan/layout.h"
#include "tests/runtime/plan/plans.h"

#define P 8
#define LOG_P 3
#define ROUNDS_MAX 32
#define SHARE UINT64_C(1024) /* bytes of the vector per member */

/* eighths: of S, on the busiest link; -1: the barrier, which has none. */
static const struct row {
    const char *system, *what;
    enum hx_coll coll;
    const char *name;
    int rounds, eighths;
} rows[] = {
    {"The Illustrated Collectives", "barrier", HX_COLL_BARRIER, "pairwise", P - 1, -1},
    {"The Illustrated Collectives", "broadcast, flat", HX_COLL_BCAST, "flat", P - 1, (P - 1) * P},
    {"The Illustrated Collectives", "broadcast, tree", HX_COLL_BCAST, "binomial", LOG_P, LOG_P * P},
    {"The Illustrated Collectives", "scatter", HX_COLL_SCATTER, "flat", P - 1, P - 1},
    {"The Illustrated Collectives", "gather", HX_COLL_GATHER, "flat", P - 1, P - 1},
    {"The Illustrated Collectives", "reduce, flat", HX_COLL_REDUCE, "flat", P - 1, (P - 1) * P},
    {"The Illustrated Collectives", "reduce, tree", HX_COLL_REDUCE, "binomial", LOG_P, LOG_P * P},
    {"The Illustrated Collectives", "all-gather, ring", HX_COLL_ALLGATHER, "ring", P - 1, P - 1},
    {"The Illustrated Collectives", "reduce-scatter, ring", HX_COLL_REDUCE_SCATTER, "ring", P - 1, P - 1},
    {"The Illustrated Collectives", "all-reduce, ring", HX_COLL_ALLREDUCE, "ring", 2 * (P - 1), 2 * (P - 1)},
    {"The Illustrated Collectives", "all-reduce, tree", HX_COLL_ALLREDUCE, "tree", 2 * LOG_P, 2 * LOG_P * P},
    {"The Illustrated Collectives", "all-to-all", HX_COLL_ALLTOALL, "pairwise", P - 1, P - 1},

    {"baidu-allreduce", "ring", HX_COLL_ALLREDUCE, "ring", 2 * (P - 1), 2 * (P - 1)},

    {"lecture", "broadcast", HX_COLL_BCAST, "binomial", LOG_P, LOG_P * P},
    {"lecture", "reduce", HX_COLL_REDUCE, "binomial", LOG_P, LOG_P * P},
    {"lecture", "scatter by halving", HX_COLL_SCATTER, "binomial", LOG_P, P - 1},
    {"lecture", "gather by halving", HX_COLL_GATHER, "binomial", LOG_P, P - 1},
    {"lecture", "bucket all-gather", HX_COLL_ALLGATHER, "ring", P - 1, P - 1},
    {"lecture", "scatter and bucket", HX_COLL_BCAST, "scatter_ring", LOG_P + P - 1, 2 * (P - 1)},

    {"Neuron", "ring", HX_COLL_ALLREDUCE, "ring", 2 * (P - 1), 2 * (P - 1)},
    {"Neuron", "KangaRing", HX_COLL_ALLGATHER, "kangaring", P - 1, P - 1},
    {"Neuron", "mesh", HX_COLL_ALLREDUCE, "mesh", 2 * (P - 1), 2 * (P - 1)},
    {"Neuron", "mesh", HX_COLL_REDUCE_SCATTER, "mesh", P - 1, P - 1},
    {"Neuron", "mesh", HX_COLL_ALLGATHER, "mesh", P - 1, P - 1},
    {"Neuron", "single-step mesh", HX_COLL_ALLREDUCE, "mesh_single", P - 1, (P - 1) * P},
    {"Neuron", "halving, doubling", HX_COLL_ALLREDUCE, "rdh", 2 * LOG_P, 2 * (P - 1)},
    {"Neuron", "halving", HX_COLL_REDUCE_SCATTER, "rdh", LOG_P, P - 1},
    {"Neuron", "doubling", HX_COLL_ALLGATHER, "rdh", LOG_P, P - 1},
};

struct round { /* the busiest member's */
    uint64_t messages, bytes;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* One member's part in every round. */
static void member_add(const struct hx_plan *plan, struct round rounds[ROUNDS_MAX])
{
    struct hx_sizes sizes = {.count = hx_coll_has_blocks(plan->coll) ? SHARE : SHARE * P,
                             .elem_bytes = 1,
                             .fine_slices = 1,
                             .coarse_slices = 1};
    struct round mine[2][ROUNDS_MAX] = {{{0, 0}}}; /* sent, received */
    const struct hx_stage *stage = &plan->stages[0];
    struct hx_layout layout;

    hx_layout_init(&layout, plan, stage, &sizes);
    for (uint32_t i = 0; i < stage->nsteps; i++) {
        const struct hx_step *step = &stage->steps[i];
        if (step->op != HX_OP_SEND && step->op != HX_OP_RECV)
            continue;
        assert_true(step->tag < ROUNDS_MAX);
        struct round *round = &mine[step->op == HX_OP_RECV][step->tag];
        round->messages++;
        round->bytes += hx_layout_bytes(&layout, step->block, step->nblocks, 0);
    }
    for (int k = 0; k < ROUNDS_MAX; k++) {
        rounds[k].messages = larger(rounds[k].messages, larger(mine[0][k].messages, mine[1][k].messages));
        rounds[k].bytes = larger(rounds[k].bytes, larger(mine[0][k].bytes, mine[1][k].bytes));
    }
}

static void test_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        const struct hx_algorithm *a = algorithm_named(row->name, row->coll);
        struct round rounds[ROUNDS_MAX] = {{0, 0}}, sum = {0, 0};
        if (!a || a->needs & HX_NEEDS_SHARED_MEMORY)
            fail_msg("%s, %s: no algorithm %s that serves inside a node and between nodes", row->system, row->what,
                     row->name);
        for (int r = 0; r < P; r++) {
            struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, P, 0, r);
            assert_non_null(plan);
            member_add(plan, rounds);
            hx_plan_release(plan);
        }
        for (int k = 0; k < ROUNDS_MAX; k++) {
            sum.messages += rounds[k].messages;
            sum.bytes += rounds[k].bytes;
        }
        if (sum.messages != (uint64_t)row->rounds ||
            (row->eighths >= 0 && sum.bytes != (uint64_t)row->eighths * SHARE))
            fail_msg("%s, %s: %llu rounds and %llu/8 S on the busiest link; they say %d and %d/8", row->system,
                     row->what, (unsigned long long)sum.messages, (unsigned long long)(sum.bytes / SHARE), row->rounds,
                     row->eighths);
    }
}

/* ---- baidu's ring */

struct program { /* steps still to come */
    const struct hx_step *at, *end;
};

static const struct hx_step *take(struct program *program, enum hx_opcode op)
{
    assert_true(program->at < program->end);
    assert_int_equal(program->at->op, op);
    return program->at++;
}

static void exchange_take(struct program *program, int p, int j, int round, int sends, int receives)
{
    const struct hx_step *send = take(program, HX_OP_SEND), *recv = take(program, HX_OP_RECV);
    const struct hx_step *join = take(program, HX_OP_JOIN);

    assert_int_equal(send->tag, round);
    assert_int_equal(recv->tag, round);
    assert_int_equal(send->peer, (j + 1) % p);
    assert_int_equal(recv->peer, (j - 1 + p) % p);
    assert_int_equal(send->block, (sends + p) % p);
    assert_int_equal(recv->block, (receives + p) % p);
    assert_int_equal(send->nblocks, 1);
    assert_int_equal(recv->nblocks, 1);
    assert_int_equal(join->handle, send->handle);
    assert_int_equal(join->n, 2);
}

/* The steps of this algorithm on every rank of 2 to 17. */
static void each_rank_check(const char *name, enum hx_coll coll, void (*check)(struct program program, int p, int rank))
{
    const struct hx_algorithm *a = algorithm_named(name, coll);

    for (int p = 2; p <= 17; p++)
        for (int rank = 0; rank < p; rank++) {
            struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, p, 0, rank);
            const struct hx_stage *stage = &plan->stages[0];
            check((struct program){stage->steps, stage->steps + stage->nsteps}, p, rank);
            hx_plan_release(plan);
        }
}

/* In round i of the first half rank j sends chunk j-i, receives chunk j-i-1 and adds its own part to it, which is what
 * it sends in the next round; in round i of the second half it sends chunk j+1-i, complete, and receives chunk j-i. */
static void ring_check(struct program program, int p, int j)
{
    for (int i = 0; i < p - 1; i++) {
        const struct hx_step *send = program.at;
        exchange_take(&program, p, j, i, j - i, j - i - 1 + p);
        const struct hx_step *recv = send + 1, *reduce = take(&program, HX_OP_REDUCE);
        assert_int_equal(send->src, i == 0 ? HX_IN : HX_SCRATCH);
        assert_int_equal(recv->dst, HX_SCRATCH);
        assert_int_equal(reduce->block, recv->block);
        assert_int_equal(reduce->row, recv->row);
        assert_int_equal(reduce->own, HX_IN);
        assert_int_equal(reduce->dst, i == p - 2 ? HX_OUT : HX_SCRATCH);
        if (i < p - 2) /* what has just been added up goes on */
            assert_int_equal(program.at->row, reduce->dst_row);
    }
    for (int i = 0; i < p - 1; i++) {
        const struct hx_step *send = program.at;
        exchange_take(&program, p, j, p - 1 + i, j + 1 - i, j - i);
        assert_int_equal(send->src, HX_OUT);
        assert_int_equal((send + 1)->dst, HX_OUT);
    }
    assert_ptr_equal(program.at, program.end);
}

static void test_the_ring_is_baidus(void **state)
{
    (void)state;
    each_rank_check("ring", HX_COLL_ALLREDUCE, ring_check);
}

/* ---- the pairs of the all-to-all: XOR where p is a power of two, else linear order */
static void pairs_check(struct program program, int p, int r)
{
    int is_power = (p & (p - 1)) == 0, sent = 0, received = 0;

    for (const struct hx_step *step = program.at; step < program.end; step++)
        if (step->op == HX_OP_SEND) {
            sent++;
            assert_int_equal(step->tag, sent - 1);
            assert_int_equal(step->peer, is_power ? r ^ sent : (r + sent) % p);
        } else if (step->op == HX_OP_RECV) {
            received++;
            assert_int_equal(step->tag, received - 1);
            assert_int_equal(step->peer, is_power ? r ^ received : (r - received + p) % p);
        }
    assert_int_equal(sent, p - 1);
    assert_int_equal(received, p - 1);
}

static void test_the_pairs_of_the_alltoall(void **state)
{
    (void)state;
    each_rank_check("pairwise", HX_COLL_ALLTOALL, pairs_check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_the_ring_is_baidus),
        cmocka_unit_test(test_the_pairs_of_the_alltoall),
    };

    return cmocka_run_group_tests_name("seed", tests, NULL, NULL);
}
