/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker: passes every algorithm for p = 1..64, in place or not, one call after another; passes stages that are
 * composed; and catches every kind of broken plan, naming rank and step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/runtime/plan/plans.h"
#include "runtime/plan/check.h"
#include "runtime/base/log.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MAX_P 9 /* the plain build goes all the way */
#else
#define MAX_P 64
#endif
#define AT_MOST(p) (MAX_P < (p) ? MAX_P : (p))

static struct hx_check_call call_of(const struct hx_algorithm *a, struct hx_plan **plans, int p, int window, int sparse)
{
    struct hx_check_call call = {
        .plans = plans, .window_fine = window, .window_coarse = 1, .rank_order = !(a->needs & HX_NEEDS_COMMUTATIVE),
        .exact = (a->needs & HX_NEEDS_EXACT) != 0};
    call.in_place = a->coll == HX_COLL_BCAST;
    call.barrier = a->coll == HX_COLL_BARRIER;
    hx_check_sizes(plans, p, window, 1, sparse, &call.sizes);
    return call;
}

static void assert_passes(const struct hx_shape *shape, const struct hx_check_call *calls, int ncalls, const char *what)
{
    char report[2048];

    if (hx_check(shape, calls, ncalls, report, sizeof report) != HX_SUCCESS)
        fail_msg("%s, %d ranks: %s", what, shape->nranks, report);
}

/* Every root of a small group; of a larger one the first, one of every seven, and the last. p where there is none. */
static int root_next(const struct hx_algorithm *a, int p, int root)
{
    if (!hx_coll_is_rooted(a->coll))
        return p;
    return p <= 9 || root == p - 1 ? root + 1 : root + 7 < p ? root + 7 : p - 1;
}

/* A radix far above p gives the plan that one a little above p gives. */
static int is_repetition(const struct hx_algorithm *a, int p)
{
    return a->radix > 2 * p;
}

/* Others are called with one side put aside (runtime/start/init.c). */
static int takes_place(enum hx_coll coll)
{
    return coll != HX_COLL_SCATTER && !hx_coll_has_pairs(coll);
}

static void test_all_algorithms(void **state)
{
    const struct hx_algorithm *a;

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++)
        for (int p = 1; p <= (a->needs & HX_NEEDS_LEVELS ? AT_MOST(17) : MAX_P); p += p < 36 ? 1 : 7) /* all of them: coll_plan verify */
            for (int root = is_repetition(a, p) ? p : 0; root < p; root = root_next(a, p, root)) {
                struct hx_plan **plans = plans_of(a, p, root);
                struct hx_shape *shape = shape_of(scope_of(a), p);
                struct hx_check_call calls[2] = {call_of(a, plans, p, 2, 0), call_of(a, plans, p, 2, p % 2)};
                calls[p % 3 == 0].in_place |= takes_place(a->coll);
                assert_passes(shape, calls, 2, a->name);
                plans_release(plans, p);
                hx_shape_free(shape);
            }
}

/* Windows of one slice, and fewer elements than blocks. */
static void test_corners(void **state)
{
    const struct hx_algorithm *a;

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++)
        for (int p = 1; p <= AT_MOST(17); p++) {
            if (is_repetition(a, p))
                continue;
            struct hx_plan **plans = plans_of(a, p, hx_coll_is_rooted(a->coll) ? p / 2 : 0);
            struct hx_shape *shape = shape_of(scope_of(a), p);
            for (int variant = 0; variant < 8; variant++) {
                struct hx_check_call call = call_of(a, plans, p, 1 + variant % 2, variant / 2 % 2);
                call.in_place |= variant / 4 && takes_place(a->coll);
                call.barrier = variant / 2 % 2 == 0 && a->coll != HX_COLL_REDUCE_SCATTER && !hx_coll_is_rooted(a->coll) &&
                               !hx_coll_is_scan(a->coll);
                assert_passes(shape, &call, 1, a->name);
                call.sizes.count = 0;
                call.barrier = 0;
                assert_passes(shape, &call, 1, a->name);
            }
            plans_release(plans, p);
            hx_shape_free(shape);
        }
}

/* Any two, one after the other and again: slots are used again by the third call. */
static void test_pairs(void **state)
{
    const struct hx_algorithm *a, *b;

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++)
        for (int j = 0; (b = hx_algorithms[j]); j++)
            for (int p = 2; p <= 5 && scope_of(a) == scope_of(b) && hx_algorithm_is_usual(a) && hx_algorithm_is_usual(b); p++) {
                struct hx_plan **first = plans_of(a, p, hx_coll_is_rooted(a->coll) ? p - 1 : 0);
                struct hx_plan **second = plans_of(b, p, hx_coll_is_rooted(b->coll) ? 1 : 0);
                struct hx_shape *shape = shape_of(scope_of(a), p);
                struct hx_check_call calls[4] = {call_of(a, first, p, 2, 0), call_of(b, second, p, 2, 0),
                                                 call_of(b, second, p, 2, 1), call_of(a, first, p, 2, 0)};
                assert_passes(shape, calls, 4, a->name);
                calls[0].turns = calls[1].turns = calls[3].turns = 4; /* and where calls divide their banks otherwise */
                assert_passes(shape, calls, 4, a->name);
                plans_release(first, p);
                plans_release(second, p);
                hx_shape_free(shape);
            }
}

/* Ranks that run ahead: a bank of several parts, and one call more than there are parts. Then calls of one part and of
 * several by turns. */
static void test_turns(void **state)
{
    const struct hx_algorithm *a;

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++)
        for (int p = 2; p <= 5 && hx_algorithm_is_usual(a); p++) {
            struct hx_plan **plans = plans_of(a, p, hx_coll_is_rooted(a->coll) ? p - 1 : 0);
            struct hx_shape *shape = shape_of(scope_of(a), p);
            struct hx_check_call calls[2 * HX_CHECK_TURNS_MAX + 1];
            for (int turns = 2; turns <= HX_CHECK_TURNS_MAX; turns *= 2)
                for (int mixed = 0; mixed < 2; mixed++) {
                    for (int c = 0; c <= 2 * turns; c++) {
                        calls[c] = call_of(a, plans, p, 1, 0);
                        calls[c].turns = mixed && c % 5 == 2 ? 1 : turns;
                    }
                    assert_passes(shape, calls, 2 * turns + 1, a->name);
                }
            plans_release(plans, p);
            hx_shape_free(shape);
        }
}

/* Each rank sends and receives what it likes, some nothing. */
static void test_pair_counts(void **state)
{
    const struct hx_algorithm *a;
    int idx = 0;

    (void)state;
    while ((a = hx_algorithm_next(HX_COLL_ALLTOALLV, HX_SCOPE_INTER, &idx)))
        for (int p = 1; p <= AT_MOST(40); p++)
            for (int intra = 0; intra < 2; intra++) {
                enum hx_scope scope = intra ? HX_SCOPE_INTRA : HX_SCOPE_INTER;
                struct hx_plan **plans = plans_of_row(a, scope, p, 0);
                struct hx_shape *shape = shape_of(scope, p);
                struct hx_check_call call = call_of(a, plans, p, 2, p % 2), calls[3] = {call, call, call};
                struct hx_pair_counts *pair_counts = hx_check_pair_counts_new(p, NULL, call.sizes.count);
                char report[2048];
                assert_non_null(pair_counts);
                calls[0].pair_counts = calls[2].pair_counts = pair_counts;
                assert_passes(shape, calls, 3, a->name);
                ((size_t *)(uintptr_t)pair_counts[p - 1].received)[0]++; /* of what member 0 sends */
                if (p > 1 && hx_check(shape, calls, 1, report, sizeof report) == HX_SUCCESS)
                    fail_msg("%s, %d ranks: nobody saw that a receive is too long", a->name, p);
                hx_check_pair_counts_free(pair_counts);
                plans_release(plans, p);
                hx_shape_free(shape);
            }
}

/* ---- composed: reduce-scatter in the node, all-reduce of each lane between nodes, all-gather in the node */

static int carrier(const struct hx_shape *shape, int node, int lane, int lanes)
{
    return lane * hx_shape_node_size(shape, node) / lanes;
}

static void node_stage(struct hx_plan *plan, const struct hx_shape *shape, int level, const char *name,
                       enum hx_coll coll, enum hx_space in, enum hx_space out)
{
    int node = shape->node_of[plan->rank], n = hx_shape_node_size(shape, node), lanes = plan->nlanes, count = 0;
    struct hx_stage *stage = hx_plan_add_stage(plan, level, HX_SCOPE_INTRA, &shape->members[shape->node_start[node]], n,
                                               shape->local_of[plan->rank]);

    stage->in = in;
    stage->out = out;
    stage->list_start = calloc((size_t)n + 1, sizeof(uint32_t));
    stage->list = calloc((size_t)lanes, sizeof(uint32_t));
    for (int j = 0; j < n; j++) {
        for (int lane = 0; lane < lanes; lane++)
            if (carrier(shape, node, lane, lanes) == j)
                stage->list[count++] = (uint32_t)lane;
        stage->list_start[j + 1] = (uint32_t)count;
    }
    assert_int_equal(hx_stage_run(stage, algorithm_named(name, coll)), HX_SUCCESS);
}

static void lane_stage(struct hx_plan *plan, const struct hx_shape *shape, int lane, const char *name)
{
    int *members = calloc((size_t)shape->nnodes, sizeof(int)), node = shape->node_of[plan->rank];
    struct hx_stage *stage;

    for (int i = 0; i < shape->nnodes; i++)
        members[i] = hx_shape_member(shape, i, carrier(shape, i, lane, plan->nlanes));
    stage = hx_plan_add_stage(plan, 1, HX_SCOPE_INTER, members, shape->nnodes, node);
    stage->in = stage->out = HX_WORK;
    stage->coarse = 1;
    stage->list = calloc(1, sizeof(uint32_t));
    stage->list[0] = (uint32_t)lane;
    assert_int_equal(hx_stage_run(stage, algorithm_named(name, HX_COLL_ALLREDUCE)), HX_SUCCESS);
    free(members);
}

static struct hx_plan *hier_plan(const struct hx_shape *shape, int rank, int lanes, const char *inter)
{
    struct hx_plan *plan = hx_plan_new(HX_COLL_ALLREDUCE, shape->nranks, rank, 2 + lanes);

    plan->nblocks = plan->in_nblocks = plan->out_nblocks = (uint32_t)lanes;
    plan->nlanes = lanes;
    plan->work[0].columns = calloc((size_t)lanes, sizeof(uint32_t));
    for (int lane = 0; lane < lanes; lane++)
        if (carrier(shape, shape->node_of[rank], lane, lanes) == shape->local_of[rank])
            plan->work[0].columns[plan->work[0].ncolumns++] = (uint32_t)lane;
    node_stage(plan, shape, 0, "nary", HX_COLL_REDUCE_SCATTER, HX_IN, HX_WORK);
    for (uint32_t i = 0; i < plan->work[0].ncolumns; i++)
        lane_stage(plan, shape, (int)plan->work[0].columns[i], inter);
    node_stage(plan, shape, 2, "nary", HX_COLL_ALLGATHER, HX_WORK, HX_OUT);
    assert_int_equal(hx_plan_seal(plan), HX_SUCCESS);
    return plan;
}

static void test_composed(void **state)
{
    static const char *const shapes[] = {"1",     "2",         "2,2", "4,4",          "3,1,2",
                                         "4,4,3", "1,1,1,1,1", "8,7", "4,4,3:cyclic", "6,1,1"};
    char error[HX_TOPO_ERROR_BYTES];
    const struct hx_algorithm *a;

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int idx = 0; (a = hx_algorithm_next(HX_COLL_ALLREDUCE, HX_SCOPE_INTER, &idx));)
            for (int lanes = 1; lanes <= 5; lanes += 1 + (lanes == 3)) {
                struct hx_shape *shape = hx_shape_parse(shapes[i], error);
                struct hx_plan **plans = calloc((size_t)shape->nranks, sizeof(*plans));
                for (int r = 0; r < shape->nranks; r++)
                    plans[r] = hier_plan(shape, r, lanes, a->name);
                for (int variant = 0; variant < 4; variant++) {
                    struct hx_check_call calls[3] = {
                        {.plans = plans, .window_fine = 1 + variant % 2, .window_coarse = 2,
                         .exact = (a->needs & HX_NEEDS_EXACT) != 0}};
                    hx_check_sizes(plans, shape->nranks, calls[0].window_fine, 2, variant / 2, &calls[0].sizes);
                    assert_true(lanes * 2 < (int)calls[0].sizes.count || variant / 2);
                    calls[1] = calls[2] = calls[0];
                    calls[1].in_place = 1;
                    assert_passes(shape, calls, 3, shapes[i]);
                }
                plans_release(plans, shape->nranks);
                hx_shape_free(shape);
            }
}

/* ---- broken plans */

/* The which-th step with this opcode. */
static struct hx_step *step_of(struct hx_plan *plan, enum hx_opcode op, int which)
{
    for (uint32_t i = 0; i < plan->stages[0].nsteps; i++)
        if (plan->stages[0].steps[i].op == op && which-- == 0)
            return &plan->stages[0].steps[i];
    fail_msg("no such step");
    return NULL;
}

static void step_remove(struct hx_plan *plan, struct hx_step *step)
{
    struct hx_stage *stage = &plan->stages[0];
    struct hx_step *end = stage->steps + --stage->nsteps;

    memmove(step, step + 1, (size_t)(end - step) * sizeof(*step));
}

static void swap_block(struct hx_plan *plan)
{
    step_of(plan, HX_OP_RECV, 1)->block ^= 1;
}

static void swap_picks(struct hx_plan *plan) /* sends two blocks the wrong way round */
{
    struct hx_stage *stage = &plan->stages[0];
    struct hx_pick *pick = stage->picks + (step_of(plan, HX_OP_SEND, 0)->block - stage->nblocks), kept = pick[0];

    pick[0] = pick[1];
    pick[1] = kept;
}

static void swap_copy(struct hx_plan *plan) /* copies the right block out of the slot of the wrong member */
{
    step_of(plan, HX_OP_COPY, 2)->peer = 0;
}

static void drop_join(struct hx_plan *plan)
{
    step_remove(plan, step_of(plan, HX_OP_JOIN, 0));
}

static void drop_last_join(struct hx_plan *plan)
{
    step_remove(plan, step_of(plan, HX_OP_JOIN, 5));
}

static void change_round(struct hx_plan *plan)
{
    step_of(plan, HX_OP_SEND, 1)->tag = 77;
}

static void repeat_match(struct hx_plan *plan)
{
    step_of(plan, HX_OP_SEND, 1)->peer = step_of(plan, HX_OP_SEND, 0)->peer;
}

static void receive_other_block(struct hx_plan *plan)
{
    step_of(plan, HX_OP_RECV, 0)->block ^= 1;
}

static void send_other_block(struct hx_plan *plan) /* the first of the ring */
{
    step_of(plan, HX_OP_SEND, 2)->block ^= 1;
}

static void receive_fewer_blocks(struct hx_plan *plan)
{
    step_of(plan, HX_OP_RECV, 0)->nblocks = 1;
}

static void await_without_lag(struct hx_plan *plan) /* a flag that is published for a later window only */
{
    step_of(plan, HX_OP_AWAIT, 0)->own = 0;
}

static void send_foreign_block(struct hx_plan *plan) /* IN holds this rank's own block only */
{
    struct hx_step *step = step_of(plan, HX_OP_SEND, 0);
    step->src = HX_IN;
    step->block = 2;
}

static void receive_beyond_scratch(struct hx_plan *plan)
{
    step_of(plan, HX_OP_RECV, 0)->row = 99;
}

static void receive_two_blocks(struct hx_plan *plan)
{
    step_of(plan, HX_OP_RECV, 0)->nblocks = 2;
}

static void count_own_twice(struct hx_plan *plan)
{
    step_of(plan, HX_OP_REDUCE, 0)->tag = 0;
}

static void leave_out_last(struct hx_plan *plan)
{
    step_of(plan, HX_OP_REDUCE, 0)->n--;
}

static void take_one_more(struct hx_plan *plan)
{
    step_of(plan, HX_OP_REDUCE, 0)->n++;
}

static void await_fewer(struct hx_plan *plan)
{
    step_of(plan, HX_OP_AWAIT, 1)->n = 2;
}

static void drop_await_lag(struct hx_plan *plan)
{
    assert_int_equal(step_of(plan, HX_OP_AWAIT, 0)->own, 1);
    step_remove(plan, step_of(plan, HX_OP_AWAIT, 0));
}

static void await_no_others(struct hx_plan *plan)
{
    step_of(plan, HX_OP_AWAIT, 0)->n = 0;
}

static void release_early(struct hx_plan *plan) /* tells its last child before it has heard from the others */
{
    struct hx_stage *stage = &plan->stages[0];
    struct hx_step *first = &stage->steps[0], last = stage->steps[stage->nsteps - 2];

    assert_int_equal(last.op, HX_OP_SEND);
    memmove(first + 1, first, (stage->nsteps - 2) * sizeof(last));
    *first = last;
}

static void drop_publish(struct hx_plan *plan)
{
    step_remove(plan, step_of(plan, HX_OP_PUBLISH, 0));
}

static void publish_early(struct hx_plan *plan)
{
    struct hx_step *publish = step_of(plan, HX_OP_PUBLISH, 0), *copy = publish - 1, kept = *publish;

    assert_int_equal(copy->op, HX_OP_COPY);
    *publish = *copy;
    *copy = kept;
}

static void fold_in_own_order(struct hx_plan *plan)
{
    step_of(plan, HX_OP_REDUCE, 0)->tag = 0;
}

static void send_before_sum(struct hx_plan *plan) /* sends its input where the sum belongs */
{
    step_of(plan, HX_OP_SEND, 3)->src = HX_IN;
}

static void drop_last_await(struct hx_plan *plan) /* ends while others may still fetch */
{
    struct hx_stage *stage = &plan->stages[0];

    while (stage->steps[stage->nsteps - 1].op != HX_OP_AWAIT)
        stage->nsteps--;
    stage->nsteps--;
}

static void offer_nothing(struct hx_plan *plan)
{
    plan->stages[0].offers = 0;
}

static void fetch_from_other(struct hx_plan *plan) /* whose flag it has not seen */
{
    struct hx_step *step = step_of(plan, HX_OP_FETCH, 0);

    step->peer = (step->peer + 1) % 4;
}

static void elect_all(struct hx_plan *plan) /* who is not elected goes on all the same */
{
    step_of(plan, HX_OP_ELECT, 0)->handle = 0;
}

static void elect_early(struct hx_plan *plan) /* before its vector is in its slot */
{
    struct hx_step *elect = step_of(plan, HX_OP_ELECT, 0), *copy = elect - 1, kept = *elect;

    assert_int_equal(copy->op, HX_OP_COPY);
    *elect = *copy;
    *copy = kept;
}

static void publish_for_other(struct hx_plan *plan)
{
    step_of(plan, HX_OP_PUBLISH, 0)->handle = 1;
}

static void sum_in_own_slot(struct hx_plan *plan)
{
    step_of(plan, HX_OP_REDUCE, 0)->peer = (uint32_t)plan->stages[0].me;
}

static void drop_first_await(struct hx_plan *plan)
{
    step_remove(plan, step_of(plan, HX_OP_AWAIT, 0));
}

static const struct fault {
    const char *algorithm;
    enum hx_coll coll;
    void (*break_it)(struct hx_plan *);
    int victim;                     /* the rank whose plan is broken */
    const char *rank, *step, *what; /* must be in the report */
} faults[] = {
    {"ring", HX_COLL_ALLGATHER, swap_block, 2, "rank 2", "recv out[1] from 1, round 1", "race: this write of its destination"},
    {"nary_sliced", HX_COLL_ALLREDUCE, swap_copy, 2, "rank 2", "step 7: copy out[3] <- slot of 0", "race"},
    {"ring", HX_COLL_ALLREDUCE, drop_join, 2, "rank 2", "reduce scratch 0[1] <- 1 from scratch 0",
     "under way until its join"},
    {"ring", HX_COLL_ALLREDUCE, drop_last_join, 2, "rank 2, stage 0 (ring), slice 0, end", "transfer 10", "not joined"},
    {"rdh", HX_COLL_REDUCE_SCATTER, change_round, 2, "rank 2", "join transfer 2..3", "deadlock"},
    {"mesh", HX_COLL_ALLGATHER, repeat_match, 2, "rank 2", "send out[2] to 3, round 0", "the same match id as"},
    {"circulant", HX_COLL_ALLGATHER, send_foreign_block, 0, "rank 0", "step 1: send in[2]", "out of bounds"},
    {"mesh", HX_COLL_REDUCE_SCATTER, receive_beyond_scratch, 2, "rank 2", "recv scratch 99[2]", "out of bounds"},
    {"ring", HX_COLL_ALLGATHER, receive_two_blocks, 2, "rank 2", "recv out[1..2] from 1, round 0",
     "race: this write of its destination"},
    {"nary", HX_COLL_ALLREDUCE, count_own_twice, 2, "rank 2", "own in as 0", "rank 2 to element 0 is counted twice"},
    {"mesh", HX_COLL_ALLREDUCE, leave_out_last, 2, "rank 0, end", "out", "rank 3 is missing"},
    {"nary", HX_COLL_REDUCE_SCATTER, await_fewer, 2, "rank 2", "reduce out[2] <- slots of 0..3", "never written"},
    {"nary", HX_COLL_ALLREDUCE, drop_await_lag, 2, "rank 2", "step 0: copy slot[0] <- in[0]", "race: this write"},
    {"nary", HX_COLL_REDUCE_SCATTER, drop_await_lag, 2, "rank 2", "copy slot[3..1] <- in[3..1]", "race: this write"},
    {"nary", HX_COLL_ALLGATHER, drop_await_lag, 2, "rank 2", "step 0: copy slot[2] <- in[2]", "race: this write"},
    {"single_copy", HX_COLL_ALLGATHER, drop_last_await, 2, "rank 2", "end", "race"},
    {"single_copy", HX_COLL_REDUCE, drop_last_await, 2, "rank 2", "end", "race"},
    {"single_copy", HX_COLL_SCATTER, drop_last_await, 1, "rank 1", "end", "race"},
    {"single_copy_nary", HX_COLL_REDUCE, drop_last_await, 2, "rank 2", "end", "race"},
    {"single_copy_nary", HX_COLL_ALLREDUCE, fetch_from_other, 2, "rank 2", "fetch scratch 2[0] <- in of 0", "race: this read"},
    {"single_copy", HX_COLL_ALLREDUCE, offer_nothing, 2, "fetch scratch", "in of 2", "rank 2 offers nothing"},
    {"single_copy", HX_COLL_ALLTOALL, fetch_from_other, 2, "rank 2", "fetch out", "out of bounds"},
    {"single_copy", HX_COLL_ALLREDUCE, fetch_from_other, 2, "rank 2", "fetch scratch 2[2] <- in of 0", "race: this read"},
    {"nary", HX_COLL_ALLGATHER, drop_publish, 2, "rank 0", "await flag 0 of 2", "deadlock"},
    {"nary", HX_COLL_ALLREDUCE, publish_early, 2, "rank 2", "slot[0] <- in[0]", "race"},
    {"last_arriver", HX_COLL_ALLREDUCE, elect_all, 2, "rank 2", "reduce slot[0] <- slots of 0..3, into that of 0", "race"},
    {"last_arriver", HX_COLL_ALLREDUCE, elect_early, 2, "rank 2", "copy slot[0] <- in[0]", "race"},
    {"last_arriver", HX_COLL_ALLREDUCE, publish_for_other, 2, "rank 2", "await flag 1 of 0", "deadlock"},
    {"last_arriver", HX_COLL_ALLREDUCE, sum_in_own_slot, 2, "end: element", "contributions of 4", "is missing"},
    {"last_arriver", HX_COLL_ALLREDUCE, drop_first_await, 2, "rank 2", "copy out[0] <- slot of 0", "race"},
    {"last_arriver", HX_COLL_ALLREDUCE, drop_await_lag, 0, "rank 0", "step 0: copy slot[0] <- in[0]", "race: this write"},
    {"mesh_single", HX_COLL_ALLREDUCE, fold_in_own_order, 2, "end", "element 0 of out", "not equal bit by bit"},
    {"mesh", HX_COLL_ALLREDUCE, send_before_sum, 2, "end", "element", "contributions of 4"},
    {"ring", HX_COLL_REDUCE_SCATTER, receive_other_block, 2, "rank 2", "recv scratch 0[1] from 1, round 0",
     "is received"},
    {"rdh", HX_COLL_REDUCE_SCATTER, receive_fewer_blocks, 2, "rank 2", "recv scratch 4[2] from 0, round 0",
     "its partner has"},
    {"nary", HX_COLL_ALLREDUCE, await_without_lag, 2, "rank 2", "await flag 1 of 0..3", "deadlock"},
    {"nary", HX_COLL_BCAST, drop_await_lag, 1, "rank 1", "step 0: copy slot[0] <- out[0]", "race: this write"},
    {"nary", HX_COLL_BCAST, publish_early, 1, "rank 1", "copy slot[0] <- out[0]", "race"},
    {"binomial", HX_COLL_BCAST, drop_join, 3, "rank 3", "send out[0] to 0, round 1", "under way until its join"},
    {"binomial", HX_COLL_BCAST, change_round, 1, "rank 2", "join transfer 0", "deadlock"},
    {"nary", HX_COLL_REDUCE, drop_await_lag, 2, "rank 2", "step 0: copy slot[0] <- in[0]", "race: this write"},
    {"nary_sliced", HX_COLL_REDUCE, drop_await_lag, 2, "rank 2", "copy slot[3..1] <- in[3..1]", "race: this write"},
    {"binomial", HX_COLL_REDUCE, drop_join, 2, "rank 2", "reduce scratch", "under way until its join"},
    {"flat", HX_COLL_REDUCE, leave_out_last, 1, "rank 1, end", "out", "rank 3 is missing"},
    {"flat", HX_COLL_REDUCE, fold_in_own_order, 1, "rank 1, end", "out", "not folded in rank order"},
    {"nary", HX_COLL_GATHER, drop_await_lag, 2, "rank 2", "step 0: copy slot[2] <- in[2]", "race: this write"},
    {"nary", HX_COLL_SCATTER, drop_await_lag, 1, "rank 1", "copy slot[0] <- in[0]", "race: this write"},
    {"binomial", HX_COLL_GATHER, drop_join, 3, "rank 3", "send scratch 0", "under way until its join"},
    {"binomial", HX_COLL_SCATTER, receive_fewer_blocks, 3, "rank 3", "recv scratch 0[3]", "its partner has"},
    {"flat", HX_COLL_GATHER, swap_block, 1, "rank 1", "race: this write", "recv"},
    {"nary", HX_COLL_SCAN, drop_await_lag, 1, "rank 1", "step 0: copy slot[0] <- in[0]", "race: this write"},
    {"nary", HX_COLL_SCAN, await_no_others, 3, "rank 3", "reduce out[0] <- slots of 0..3", "race: this read"},
    {"recursive_doubling", HX_COLL_SCAN, fold_in_own_order, 1, "rank 1, end", "out", "not folded in rank order"},
    {"chain", HX_COLL_SCAN, count_own_twice, 2, "rank 2, end", "out", "not folded in rank order"},
    {"nary", HX_COLL_EXSCAN, leave_out_last, 3, "rank 3, end", "contributions of 3", "rank 2 is missing"},
    {"nary", HX_COLL_EXSCAN, take_one_more, 2, "rank 2, end", "contributions of 2", "rank 2 is too many"},
    {"exclusive_dissemination", HX_COLL_EXSCAN, drop_join, 1, "rank 1", "reduce scratch 2", "under way until its join"},
    {"nary", HX_COLL_ALLTOALL, drop_await_lag, 2, "rank 2", "copy slot[2>0..1] <- in[2>0..1]", "race: this write"},
    {"nary", HX_COLL_ALLTOALL, drop_publish, 2, "rank 0", "await flag 0 of 2", "deadlock"},
    {"mesh", HX_COLL_ALLTOALL, swap_block, 2, "rank 2", "recv out[", "element"},
    {"pairwise", HX_COLL_ALLTOALL, change_round, 2, "rank 2", "join transfer 0..1", "deadlock"},
    {"bruck", HX_COLL_ALLTOALL, drop_join, 2, "rank 2", "step 4: recv scratch", "handle 0 is used twice"},
    {"kbruck", HX_COLL_ALLTOALL, drop_join, 2, "rank 2", "copy out [", "under way until its join"},
    {"bruck", HX_COLL_ALLTOALL, swap_picks, 2, "rank 2", "scratch", "element"},
    {"dissemination", HX_COLL_BARRIER, change_round, 2, "rank 2", "join transfer 2..3", "deadlock"},
    {"tree", HX_COLL_BARRIER, release_early, 0, "rank 1, end", "rank 2", "may not have entered the call"},
    {"nary", HX_COLL_BARRIER, await_no_others, 2, "rank 2, end", "rank 0", "may not have entered the call"},
    {"flag_tree", HX_COLL_BARRIER, await_no_others, 0, "end", "rank", "may not have entered the call"},
    {"scatter_ring", HX_COLL_BCAST, send_other_block, 1, "rank 1", "send out[0] to 2, round 2", "its partner has"},
};

/* Break one rank of 4. */
static void test_faults(void **state)
{
    int p = 4;

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *f = &faults[i];
        const struct hx_algorithm *a = algorithm_named(f->algorithm, f->coll);
        struct hx_plan **plans = plans_of(a, p, hx_coll_is_rooted(f->coll));
        struct hx_shape *shape = shape_of(scope_of(a), p);
        struct hx_check_call call = call_of(a, plans, p, 2, 0);
        char report[2048] = "";

        call.rank_order = hx_coll_is_rooted(f->coll) && !(a->needs & HX_NEEDS_COMMUTATIVE);
        assert_passes(shape, &call, 1, f->algorithm);
        f->break_it(plans[f->victim]);
        if (hx_check(shape, &call, 1, report, sizeof report) != HX_ERR_INTERNAL)
            fail_msg("fault %zu (%s) was not found", i, f->what);
        if (!strstr(report, f->rank) || !strstr(report, f->step) || !strstr(report, f->what))
            fail_msg("fault %zu: expected \"%s\", \"%s\", \"%s\" in: %s", i, f->rank, f->step, f->what, report);
        plans_release(plans, p);
        hx_shape_free(shape);
    }
}

/* ---- what is right in two buffers and wrong in one, or without demands */

static void build_out_too_early(struct hx_builder *b) /* all-reduce: writes its block while others are yet to be sent */
{
    hx_split(b, 2);
    hx_recv_from(b, 0, 1 - b->me, hx_row(0, b->me, 1));
    hx_join_all(b);
}

static void build_exchange(struct hx_builder *b) /* all-reduce of two: reduces before its input is sent */
{
    hx_split(b, 1);
    hx_send_to(b, 0, 1 - b->me, hx_at(b->in, 0, 1));
    hx_join_one(b, hx_recv_from(b, 0, 1 - b->me, hx_row(0, 0, 1)));
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, 2, b->in, b->me);
}

static void build_exchange_unordered(struct hx_builder *b) /* received op own, on both sides */
{
    hx_split(b, 1);
    hx_send_to(b, 0, 1 - b->me, hx_at(b->in, 0, 1));
    hx_recv_from(b, 0, 1 - b->me, hx_row(0, 0, 1));
    hx_join_all(b);
    hx_reduce_row(b, hx_at(b->out, 0, 1), hx_row(0, 0, 1), hx_at(b->in, 0, 1));
}

static hx_status_t check_two(void (*build)(struct hx_builder *), int in_place, int rank_order, char *report,
                             size_t capacity)
{
    struct hx_plan **plans = plans_of_build(HX_COLL_ALLREDUCE, "test", HX_SCOPE_INTER, 2, 0, build);
    struct hx_shape *shape = shape_of(HX_SCOPE_INTER, 2);
    struct hx_check_call call = {
        .plans = plans, .window_fine = 2, .window_coarse = 1, .in_place = in_place, .rank_order = rank_order};
    hx_status_t status;

    hx_check_sizes(plans, 2, 2, 1, 0, &call.sizes);
    status = hx_check(shape, &call, 1, report, capacity);
    plans_release(plans, 2);
    hx_shape_free(shape);
    return status;
}

/* Whoever folds in another order than others is found, unless the operation is said to be exact. */
static void test_exact(void **state)
{
    const struct hx_algorithm *a = algorithm_named("exclusive_dissemination", HX_COLL_ALLREDUCE);
    struct hx_plan **plans = plans_of(a, 3, 0);
    struct hx_shape *shape = shape_of(HX_SCOPE_INTER, 3);
    struct hx_check_call call = call_of(a, plans, 3, 2, 0);
    char report[2048];

    (void)state;
    assert_passes(shape, &call, 1, a->name);
    call.exact = 0;
    assert_int_equal(hx_check(shape, &call, 1, report, sizeof report), HX_ERR_INTERNAL);
    assert_non_null(strstr(report, "not equal bit by bit"));
    plans_release(plans, 3);
    hx_shape_free(shape);
}

static void test_in_place_and_order(void **state)
{
    char report[2048];

    (void)state;
    assert_int_equal(check_two(build_exchange, 0, 1, report, sizeof report), HX_SUCCESS);
    assert_int_equal(check_two(build_exchange, 1, 1, report, sizeof report), HX_ERR_INTERNAL);
    assert_non_null(strstr(report, "under way until its join"));
    assert_int_equal(check_two(build_exchange_unordered, 0, 0, report, sizeof report), HX_ERR_INTERNAL);
    assert_non_null(strstr(report, "not equal bit by bit"));
    assert_int_equal(check_two(build_out_too_early, 0, 0, report, sizeof report), HX_ERR_INTERNAL);
    assert_non_null(strstr(report, "deadlock"));
    assert_non_null(strstr(report, "receive from rank 1"));
}

/* An all-gather of nothing but one rank's block: the others' ends do not wait for it. */
static void test_barrier_is_demanded(void **state)
{
    const struct hx_algorithm *a = algorithm_named("nary", HX_COLL_REDUCE_SCATTER);
    struct hx_plan **plans = plans_of(a, 3, 0);
    struct hx_shape *shape = shape_of(HX_SCOPE_INTRA, 3);
    struct hx_check_call call = call_of(a, plans, 3, 2, 0);
    char report[2048];

    (void)state;
    call.barrier = 1;
    assert_passes(shape, &call, 1, "barrier"); /* every owner awaits all */
    for (int r = 0; r < 3; r++)
        step_of(plans[r], HX_OP_AWAIT, 1)->n = 0;
    call.sizes.count = 0;                                  /* no data, so nothing else is wrong */
    call.sizes.fine_slices = call.sizes.coarse_slices = 1; /* nor does a later slice wait for the readers of this one */
    assert_int_equal(hx_check(shape, &call, 1, report, sizeof report), HX_ERR_INTERNAL);
    assert_non_null(strstr(report, "may not have entered the call"));
    plans_release(plans, 3);
    hx_shape_free(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_algorithms),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_turns), cmocka_unit_test(test_pair_counts),
        cmocka_unit_test(test_composed),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_in_place_and_order),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_barrier_is_demanded),
    };

    hx_log_threshold = HX_LOG_ERROR;
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
