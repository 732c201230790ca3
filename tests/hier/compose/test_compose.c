/* SPDX-License-Identifier: BSD-3-Clause */
/* Composition over random shapes: lanes cover every local rank once, stages hold every block once, and what must be
 * equal on all ranks is. */
#include "hier/planner.h"
#include "runtime/plan/check.h"
#include "runtime/plan/lane.h"
#include "runtime/plan/print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t seed = 12345;

static int draw(int low, int high) /* both included */
{
    seed = seed * 1664525u + 1013904223u;
    return low + (int)((seed >> 8) % (uint32_t)(high - low + 1));
}

static void mix(int *items, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = draw(0, i), t = items[i];
        items[i] = items[j];
        items[j] = t;
    }
}

/* Levels that divide nodes in any way, or in runs, and some nodes not. */
static void levels_draw(struct hx_shape *shape)
{
    int depth = draw(1, HX_SHAPE_LEVELS), ids[54 * HX_SHAPE_LEVELS], undivided = draw(0, 2 * shape->nnodes), runs = draw(0, 1);

    for (int i = 0; i < shape->nranks * depth; i++)
        ids[i] = runs ? shape->local_of[i / depth] / (4 >> i % depth) : draw(0, 2);
    for (int r = 0; r < shape->nranks; r++)
        if (shape->node_of[r] == undivided)
            ids[r * depth + draw(0, depth - 1)] = -1;
    assert_int_equal(hx_shape_set_levels(shape, ids, depth), 0);
}

/* Up to 6 nodes of up to 9 ranks, in any placement order, which rings pass in any order, with any levels inside. */
static struct hx_shape *shape_draw_of(int least, int most)
{
    int nodes = draw(least, most), n = 0, node[54], ring[6] = {0, 1, 2, 3, 4, 5};

    for (int i = 0; i < nodes; i++)
        for (int k = draw(1, 9); k > 0; k--)
            node[n++] = i;
    mix(node, draw(0, 1) ? n : draw(0, n)); /* some of the first, or all */
    struct hx_shape *shape = hx_shape_from_nodes(node, n);
    assert_non_null(shape);
    mix(ring, nodes);
    if (draw(0, 1))
        assert_int_equal(hx_shape_set_ring(shape, ring), 0);
    if (draw(0, 1))
        levels_draw(shape);
    return shape;
}

static struct hx_shape *shape_draw(void)
{
    return shape_draw_of(2, 6);
}

static const struct hx_algorithm *find(enum hx_coll coll, unsigned scope, const char *name)
{
    const struct hx_algorithm *a = hx_algorithm_find(coll, scope, name);

    assert_non_null(a);
    return a;
}

static struct hx_candidate candidate_of(enum hx_coll coll, int lanes)
{
    struct hx_candidate c = {.coll = coll, .lanes = lanes};
    enum hx_coll first = hx_candidate_first(coll, lanes), last = hx_candidate_last(coll, lanes);

    c.inter = find(hx_candidate_between(coll), HX_SCOPE_INTER,
                   hx_coll_is_rooted(coll)   ? "binomial"
                   : coll == HX_COLL_BARRIER ? "dissemination"
                   : hx_coll_is_scan(coll)   ? "recursive_doubling"
                   : hx_coll_has_pairs(coll) ? "pairwise"
                                             : "ring");
    if (first != HX_COLL_COUNT)
        c.first = find(first, HX_SCOPE_INTRA, "nary");
    if (last != HX_COLL_COUNT)
        c.last = find(last, HX_SCOPE_INTRA, "nary");
    return c;
}

/* ---- lanes ---- */

static void lanes_cover_local_ranks(void **state)
{
    (void)state;
    for (int n = 1; n <= 40; n++)
        for (int lanes = 1; lanes <= 50; lanes++) {
            assert_int_equal(hx_lane_carrier(0, lanes, n), 0);
            assert_int_equal(hx_lane_carrier(lanes, lanes, n), n);
            for (int lane = 0; lane < lanes; lane++) {
                int from = hx_lane_carrier(lane, lanes, n), to = hx_lane_carrier(lane + 1, lanes, n);
                assert_in_range(from, 0, n - 1);
                assert_true(from <= to); /* so the lanes' ranges together are 0 .. n-1, each once */
                if (lanes > n)
                    continue;
                assert_true(from < to); /* each carrier covers at least itself */
                for (int local = from; local < to; local++)
                    assert_int_equal(hx_lane_carried(local, lanes, n), local == from ? lane : -1);
            }
        }
}

/* ---- blocks ---- */

static void lists_hold_once(const struct hx_stage *stage, uint32_t nblocks, int *held)
{
    uint32_t total = stage->list_start[stage->split ? (uint32_t)stage->n : stage->nblocks];

    memset(held, 0, nblocks * sizeof(*held));
    assert_int_equal(stage->list_start[0], 0);
    for (uint32_t i = 0; i < total; i++) {
        assert_in_range(stage->list[i], 0, nblocks - 1);
        assert_int_equal(held[stage->list[i]]++, 0);
    }
}

/* The plan blocks of an all-to-all's stage, counted by where they come from and go to. */
static void pairs_count(const struct hx_plan *plan, const struct hx_stage *stage, int *held)
{
    for (uint32_t b = 0; b < stage->nblocks; b++)
        for (uint64_t i = 0; i < hx_layout_items(stage, b); i++) {
            uint64_t x = hx_layout_item(plan, stage, b, i);
            assert_in_range(x, 0, plan->nblocks - 1);
            held[x]++;
        }
}

/* Inside a node an all-to-all's first stage holds all that its ranks send, the last all that they get. */
static void pairs_intra_check(const struct hx_shape *shape, const struct hx_plan *plan, const struct hx_stage *stage)
{
    int node = shape->node_of[plan->rank], *held = calloc(plan->nblocks, sizeof(*held));

    pairs_count(plan, stage, held);
    for (int x = 0; x < plan->p * plan->p; x++)
        assert_int_equal(held[x], shape->node_of[stage->level == 0 || stage->share ? x / plan->p : x % plan->p] == node);
    free(held);
}

/* Row i and column i of a lane are of node i; all lanes of a node together carry every pair once. */
static void pairs_lane_check(const struct hx_shape *shape, const struct hx_plan *plan, const struct hx_stage *stage, int *carried)
{
    for (uint32_t b = 0; b < stage->nblocks; b++)
        for (uint64_t i = 0; i < hx_layout_items(stage, b); i++) {
            uint64_t x = hx_layout_item(plan, stage, b, i);
            assert_int_equal(shape->node_of[x / (uint64_t)plan->p], b / (uint32_t)shape->nnodes);
            assert_int_equal(shape->node_of[x % (uint64_t)plan->p], b % (uint32_t)shape->nnodes);
        }
    pairs_count(plan, stage, carried);
}

/* The blocks of a root's own node stay there. */
static int passes(const struct hx_shape *shape, const struct hx_plan *plan, uint32_t x)
{
    return !(hx_coll_is_rooted(plan->coll) && hx_coll_has_blocks(plan->coll) && shape->node_of[x] == shape->node_of[plan->root]);
}

/* With several lanes a root's node has a stage more: between the root and its carriers. */
static int is_of_carriers(const struct hx_plan *plan, const struct hx_stage *stage)
{
    return plan->nlanes > 1 && !stage->holder &&
           ((plan->coll == HX_COLL_GATHER && stage->level == 2) || (plan->coll == HX_COLL_SCATTER && stage->level == 0));
}

/* What a first or last stage inside a node must hold: all plan blocks, or the node's own, or of a gather or scatter those of other nodes. */
static void intra_check(const struct hx_shape *shape, const struct hx_plan *plan, const struct hx_stage *stage)
{
    int node = shape->node_of[plan->rank], *held;
    int own = stage->holder || ((plan->coll == HX_COLL_GATHER || plan->coll == HX_COLL_SCATTER) && !is_of_carriers(plan, stage));

    assert_int_equal(stage->n, hx_shape_node_size(shape, node));
    assert_int_equal(stage->me, shape->local_of[plan->rank]);
    for (int i = 0; i < stage->n; i++)
        assert_int_equal(stage->members[i], hx_shape_member(shape, node, i));
    if (hx_coll_has_pairs(plan->coll)) {
        pairs_intra_check(shape, plan, stage);
        return;
    }
    held = calloc(plan->nblocks, sizeof(*held));
    lists_hold_once(stage, plan->nblocks, held);
    for (uint32_t x = 0; x < plan->nblocks; x++)
        assert_int_equal(held[x], own ? shape->node_of[x] == node : passes(shape, plan, x));
    for (int i = 0; own && i < stage->n; i++) {
        assert_int_equal(stage->list_start[i + 1], i + 1); /* block i is local rank i's own */
        assert_int_equal(stage->list[i], stage->members[i]);
        assert_true(!stage->holder || stage->holder[i] <= i);
    }
    free(held);
}

/* Count the plan blocks of a lane for this rank, as carrier: carried[x] over the ranks of each node must end at 1. */
static void lane_check(const struct hx_shape *shape, const struct hx_plan *plan, const struct hx_stage *stage,
                       int *carried)
{
    int ring = !strcmp(stage->algorithm, "ring");

    assert_int_equal(stage->n, shape->nnodes);
    assert_int_equal(stage->members[stage->me], plan->rank);
    for (int i = 0; i < stage->n; i++)
        assert_int_equal(shape->node_of[stage->members[i]], ring ? hx_shape_ring_node(shape, i) : i);
    if (hx_coll_is_rooted(plan->coll))
        assert_int_equal(stage->root, shape->node_of[plan->root]);
    if (hx_coll_has_pairs(plan->coll)) {
        pairs_lane_check(shape, plan, stage, carried);
        return;
    }
    if (!hx_coll_has_blocks(plan->coll)) {
        if (plan->coll == HX_COLL_ALLREDUCE)
            assert_true(stage->split);
        carried[stage->list[0]]++;
        return;
    }
    for (uint32_t b = 0; b < stage->nblocks; b++)
        for (uint32_t i = stage->list_start[b]; i < stage->list_start[b + 1]; i++) {
            assert_int_equal(shape->node_of[stage->list[i]], shape->node_of[stage->members[b]]); /* block b is member b's node's */
            carried[stage->list[i]]++;
        }
}

static void composition_check(const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    for (int node = 0; node < shape->nnodes; node++) {
        size_t n = (size_t)shape->nranks, most = hx_coll_has_pairs(candidate->coll) ? n * n : n + (size_t)candidate->lanes;
        int *carried = calloc(most, sizeof(*carried));
        struct hx_plan *plan = NULL;
        for (int local = 0; local < hx_shape_node_size(shape, node); local++) {
            hx_plan_release(plan);
            plan = hx_compose(shape, hx_shape_member(shape, node, local), candidate);
            assert_non_null(plan);
            for (int s = 0; s < plan->nstages; s++) {
                if (plan->stages[s].scope == HX_SCOPE_INTRA)
                    intra_check(shape, plan, &plan->stages[s]);
                else if (plan->stages[s].share != HX_SHARE_LONG)
                    lane_check(shape, plan, &plan->stages[s], carried);
            }
        }
        for (uint64_t x = 0; x < plan->nblocks; x++) /* on every node each lane, and each rank's block, has one carrier */
            assert_int_equal(carried[x], passes(shape, plan, (uint32_t)x));
        hx_plan_release(plan);
        free(carried);
    }
}

/* A scan has one block, so what counts is who takes part: in the node all, between nodes the last of each. */
static void scan_check(const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    for (int rank = 0; rank < shape->nranks && hx_shape_is_in_order(shape); rank++) {
        struct hx_plan *plan = hx_compose(shape, rank, candidate);
        int node = shape->node_of[rank], last = hx_shape_node_size(shape, node) - 1, lanes = 0;
        assert_non_null(plan);
        for (int s = 0; s < plan->nstages; s++) {
            const struct hx_stage *stage = &plan->stages[s];
            assert_int_equal(stage->members[stage->me], rank);
            for (int i = 0; i < stage->n; i++)
                assert_int_equal(shape->node_of[stage->members[i]], stage->scope == HX_SCOPE_INTER ? i : node);
            for (int i = 0; i < stage->n && stage->scope == HX_SCOPE_INTER; i++)
                assert_int_equal(shape->local_of[stage->members[i]], hx_shape_node_size(shape, i) - 1);
            lanes += stage->scope == HX_SCOPE_INTER;
        }
        assert_int_equal(lanes, shape->local_of[rank] == last);
        hx_plan_release(plan);
    }
}

static void stages_hold_every_block_once(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct hx_shape *shape = shape_draw();
        for (int coll = 0; coll < HX_COLL_COUNT && shape->max_local > 1; coll++) {
            int most = hx_candidate_takes_lanes((enum hx_coll)coll) ? shape->max_local : 1;
            int least = hx_coll_has_pair_counts((enum hx_coll)coll) ? most : 1; /* a rank's lanes bring nothing for others */
            struct hx_candidate c = candidate_of((enum hx_coll)coll, draw(least, most));
            c.root = hx_coll_is_rooted(c.coll) ? draw(0, shape->nranks - 1) : 0;
            assert_int_equal(hx_candidate_fits(&c, shape), !hx_coll_is_scan(c.coll) || hx_shape_is_in_order(shape));
            if (hx_coll_is_scan(c.coll))
                scan_check(shape, &c);
            else
                composition_check(shape, &c);
        }
        hx_shape_free(shape);
    }
}

/* ---- channels of a flat ring ---- */

/* How often this rank sends to another node, on all channels. Each crosses every node boundary once, and holds the blocks
 * that no other does. */
static int crossings_check(const struct hx_shape *shape, const struct hx_plan *plan, int *held)
{
    int mine = 0;

    for (int s = 0; s < plan->nstages; s++) {
        const struct hx_stage *stage = &plan->stages[s];
        int crossings = 0, n = stage->n;
        assert_int_equal(stage->members[stage->me], plan->rank);
        for (int i = 0; i < n; i++)
            crossings += shape->node_of[stage->members[i]] != shape->node_of[stage->members[(i + 1) % n]];
        assert_int_equal(crossings, shape->nnodes);
        mine += shape->node_of[plan->rank] != shape->node_of[stage->members[(stage->me + 1) % n]];
        for (uint32_t i = 0; i < (stage->split ? 1 : stage->list_start[n]); i++)
            held[stage->list ? stage->list[i] : i]++;
    }
    return mine;
}

static void channels_cross_on_ranks_of_their_own(void **state)
{
    static const enum hx_coll colls[] = {HX_COLL_ALLREDUCE, HX_COLL_REDUCE_SCATTER, HX_COLL_ALLGATHER};

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct hx_shape *shape = shape_draw();
        struct hx_candidate c = {.coll = colls[i % 3]};
        c.flat = find(c.coll, HX_SCOPE_FLAT, "ring");
        int most = hx_algorithm_most_channels(c.flat, shape), held[64];
        c.channels = draw(1, most);
        assert_int_equal(hx_candidate_fits(&c, shape), 1);
        for (int rank = 0; rank < shape->nranks; rank++) {
            struct hx_plan *plan = hx_compose(shape, rank, &c);
            int n = hx_shape_node_size(shape, shape->node_of[rank]);
            assert_non_null(plan);
            assert_int_equal(plan->nstages, c.channels);
            assert_in_range(hx_coarse_window(plan) * (unsigned)c.channels, 1, HX_PAIR_RINGS);
            memset(held, 0, sizeof(held));
            assert_in_range(crossings_check(shape, plan, held), c.channels / n, (c.channels + n - 1) / n);
            for (uint64_t x = 0; x < plan->nblocks; x++)
                assert_int_equal(held[x], 1);
            hx_plan_release(plan);
        }
        c.channels = most + 1;
        assert_int_equal(hx_candidate_fits(&c, shape), 0);
        hx_shape_free(shape);
    }
}

/* ---- all ranks choose alike ---- */

struct decision {
    struct hx_candidate candidate;
    struct hx_choice choice;
};

/* ---- all-to-all with counts: who carries others' blocks learns how long they are */

/* Without a step of rank's first stage. */
static void step_leave_out(struct hx_plan *plan, enum hx_opcode op, enum hx_space dst)
{
    struct hx_stage *stage = &plan->stages[0];
    uint32_t i = 0;

    while (i < stage->nsteps && !(stage->steps[i].op == op && (op != HX_OP_COPY || stage->steps[i].dst == dst)))
        i++;
    assert_in_range(i, 0, stage->nsteps - 1);
    memmove(stage->steps + i, stage->steps + i + 1, (--stage->nsteps - i) * sizeof(*stage->steps));
}

static void lengths_are_learnt(void **state)
{
    static const char *const shapes[] = {"2,2", "3,1,2", "3,1,2:cyclic", "4,4,3", "1,5"};
    static const char *const faults[] = {NULL, "no LEARN step has set the lengths", "never written", "call 0"};
    char error[HX_TOPO_ERROR_BYTES], report[2048];

    (void)state;
    for (int i = 0; i < 5 * 4; i++) {
        struct hx_shape *shape = hx_shape_parse(shapes[i / 4], error);
        struct hx_candidate c = candidate_of(HX_COLL_ALLTOALLV, shape->max_local);
        struct hx_plan **plans = calloc((size_t)shape->nranks, sizeof(*plans));
        struct hx_check_call call = {.plans = plans, .window_fine = 4, .window_coarse = 3};
        int last = shape->nranks - 1; /* it shares its node */
        for (int r = 0; r <= last; r++)
            assert_non_null(plans[r] = hx_compose(shape, r, &c));
        hx_check_sizes(plans, shape->nranks, 4, 3, 0, &call.sizes);
        call.sizes.limit /= 2; /* some are long */
        struct hx_pair_counts *pair_counts = hx_check_pair_counts_new(shape->nranks, NULL, call.sizes.count);
        assert_non_null(call.pair_counts = pair_counts);
        if (i % 4 == 1)
            step_leave_out(plans[last], HX_OP_LEARN, HX_NOWHERE);
        else if (i % 4 == 2)
            step_leave_out(plans[last], HX_OP_COPY, HX_HEARD);
        else if (i % 4 == 3)
            ((size_t *)(uintptr_t)pair_counts[last].received)[0]++;
        hx_status_t status = hx_check(shape, &call, 1, report, sizeof(report));
        if (i % 4 == 0 ? status != HX_SUCCESS : !strstr(report, faults[i % 4]))
            fail_msg("%s, fault %d: %s", shapes[i / 4], i % 4, report);
        hx_check_pair_counts_free(pair_counts);
        for (int r = 0; r <= last; r++)
            hx_plan_release(plans[r]);
        free(plans);
        hx_shape_free(shape);
    }
}

/* hx_job holds rank 0's facts on every rank; only the rank itself differs. */
static struct decision decide(const struct hx_env *env, const struct hx_shape *shape, int rank,
                              const struct hx_job *job, enum hx_coll coll, int root, enum hx_folding folding, uint64_t count, uint32_t elem_bytes)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    struct hx_planner planner;
    struct decision d = {0};
    const char *fallback;
    double bytes;
    int n, best;

    assert_int_equal(hx_planner_init(&planner, env, shape, rank, job, NULL), HX_SUCCESS);
    bytes = hx_planner_vector_bytes(&planner, coll, count, elem_bytes);
    n = hx_planner_candidates(&planner, coll, root, folding, bytes, candidates, &fallback);
    best = hx_planner_best(&planner, candidates, n, bytes);
    assert_in_range(best, 0, n - 1);
    for (int i = 0; i < n; i++) {
        assert_true(folding != HX_FOLDS_IN_ORDER || hx_candidate_keeps_order(&candidates[i], shape));
        assert_true(folding == HX_FOLDS_EXACTLY || !hx_candidate_needs(&candidates[i], HX_NEEDS_EXACT));
    }
    d.candidate = candidates[best];
    struct hx_plan *plan = hx_compose(shape, rank, &d.candidate);
    assert_non_null(plan);
    assert_int_equal(hx_planner_slices(&planner, &d.candidate, plan, count, elem_bytes, 0, &d.choice), HX_SUCCESS);
    struct hx_sizes sizes = {.count = count, .elem_bytes = elem_bytes, .fine_slices = d.choice.fine_slices,
                             .coarse_slices = d.choice.coarse_slices, .limit = d.choice.limit};
    size_t live = hx_planner_live_slots(plan, &sizes, d.choice.window_fine, d.choice.window_coarse);
    d.choice.turns = hx_planner_turns(&planner, coll, d.choice.slot_bytes);
    assert_true(d.choice.turns == 1 || d.choice.turns * d.choice.slot_bytes <= planner.bank_bytes);
    if (live > planner.bank_bytes)
        fail_msg("%s of %llu elements on %d ranks, %d nodes: rank %d has no room for its slots", plan->name,
                 (unsigned long long)count, shape->nranks, shape->nnodes, rank);
    hx_plan_release(plan);
    hx_planner_release(&planner);
    return d;
}

/* What is forced for the whole job may be no choice on a communicator's nodes: there it is not forced. */
static void groups_have_other_choices(void **state)
{
    static const struct {
        const char *shape, *setting, *name;
        enum hx_coll coll;
        int falls_back;
    } cases[] = {{"8", "HX_INTER_SCAN", "exclusive_dissemination", HX_COLL_SCAN, 0},
                 {"4x1", "HX_INTER_SCAN", "exclusive_dissemination", HX_COLL_SCAN, 1},
                 {"2x4", "HX_INTER_SCAN", "exclusive_dissemination", HX_COLL_SCAN, 0},
                 {"4x1", "HX_ALLREDUCE", "last_arriver", HX_COLL_ALLREDUCE, 1}};
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        char error[HX_TOPO_ERROR_BYTES];
        struct hx_shape *shape = hx_shape_parse(cases[i / 2].shape, error);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 8, .nranks = 16};
        struct hx_planner planner;
        struct hx_env env;
        const char *fallback;
        setenv(cases[i / 2].setting, cases[i / 2].name, 1);
        assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
        unsetenv(cases[i / 2].setting);
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        assert_true(hx_planner_candidates(&planner, cases[i / 2].coll, 0, i % 2 ? HX_FOLDS_EXACTLY : HX_FOLDS_ALIKE, 4096, candidates, &fallback) > 0);
        assert_int_equal(fallback != NULL, cases[i / 2].falls_back);
        job.nranks = shape->nranks;
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), i / 2 == 2 ? HX_SUCCESS : HX_ERR_ENV);
        hx_env_release(&env);
        hx_shape_free(shape);
    }
}

/* The radices of a family that are candidates, as text. */
static void radices_of(const char *shape_text, const char *setting, enum hx_coll coll, char *text, size_t capacity)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse(shape_text, error);
    struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 8, .nranks = shape->nranks};
    struct hx_planner planner;
    struct hx_env env;
    const char *fallback;
    size_t length = 0;

    setenv("HX_INTER_ALLREDUCE", setting, 1);
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    unsetenv("HX_INTER_ALLREDUCE");
    assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
    int n = hx_planner_candidates(&planner, coll, 0, HX_FOLDS_ALIKE, 8, candidates, &fallback), last = 0;
    assert_null(fallback);
    text[0] = 0;
    for (int i = 0; i < n; i++) {
        const struct hx_algorithm *a = candidates[i].lanes ? candidates[i].inter : candidates[i].flat;
        if (a->radix != last && a->radix)
            length += (size_t)snprintf(text + length, capacity - length, "%d ", a->radix);
        last = a->radix;
    }
    hx_env_release(&env);
    hx_shape_free(shape);
}

/* A family's radices are looked at that save a round. The usual one is always there, and one that the setting names. */
static void radices_save_rounds(void **state)
{
    static const struct {
        const char *shape, *setting, *radices;
        enum hx_coll coll;
    } cases[] = {{"2x1", "kradix", "2 ", HX_COLL_ALLREDUCE},         {"5x1", "kradix", "2 3 ", HX_COLL_ALLREDUCE},
                 {"9x1", "kradix", "2 3 ", HX_COLL_ALLREDUCE},       {"64x1", "kradix", "2 3 4 8 64 ", HX_COLL_ALLREDUCE},
                 {"1024x1", "kradix", "2 3 4 6 12 32 ", HX_COLL_ALLREDUCE}, {"1024x2", "kradix", "2 3 4 6 12 32 ", HX_COLL_ALLREDUCE},
                 {"9x1", "kradix6", "6 ", HX_COLL_ALLREDUCE},        {"4x2", "kradix64", "64 ", HX_COLL_ALLREDUCE},
                 {"3x1", "kradix", "2 3 4 ", HX_COLL_BCAST},         {"9x1", "ring", "2 3 ", HX_COLL_BARRIER}};
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        radices_of(cases[i].shape, cases[i].setting, cases[i].coll, text, sizeof(text));
        assert_string_equal(text, cases[i].radices);
    }
}

/* A family's name says which collective's rows it has, and the usual radix, alike in all collectives: tables rely on it. */
static void families_are_named_alike(void **state)
{
    (void)state;
    for (int i = 0; hx_algorithms[i]; i++)
        for (int j = 0; hx_algorithms[j]; j++)
            if (hx_algorithms[i]->family && hx_algorithms[j]->family && !strcmp(hx_algorithms[i]->family, hx_algorithms[j]->family))
                assert_int_equal(hx_algorithms[i]->usual, hx_algorithms[j]->usual);
            else if (hx_algorithms[i]->family)
                assert_string_not_equal(hx_algorithms[i]->family, hx_algorithms[j]->name);
    assert_string_equal(hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTER, "knomial")->name, "knomial4");
    assert_string_equal(hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTER, "knomial64")->name, "knomial64");
    assert_null(hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTER, "knomial7"));
}

/* A communicator's ranks share cores as far as it has those that do. */
static void groups_share_fewer_cores(void **state)
{
    static const struct {
        const char *shape, *nodes;
        double ranks_per_cpu;
    } cases[] = {{"4x8", NULL, 2}, {"4x4", NULL, 1}, {"4x2", NULL, 1}, {"2x6", NULL, 1.5}, /* of 4 x 8, which are 2 per core */
                 {"4x4", "4", 1}, {"4x8", "4", 2}, {"2x8", "4", 1}};                      /* all on one machine */

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[HX_TOPO_ERROR_BYTES];
        struct hx_shape *shape = hx_shape_parse(cases[i].shape, error);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 4, .ranks_per_cpu = 2, .nranks = 32, .max_local = 8};
        struct hx_planner planner;
        struct hx_env env;
        if (cases[i].nodes)
            setenv("HX_NODES", cases[i].nodes, 1);
        assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
        unsetenv("HX_NODES");
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        assert_true(planner.cost.oversubscription == cases[i].ranks_per_cpu);
        hx_planner_release(&planner);
        hx_env_release(&env);
        hx_shape_free(shape);
    }
}

/* Of so many nodes that match ids would repeat, with ranks that are not on one. */
static void rings_are_not_too_long(void **state)
{
    static const struct {
        const char *shape, *name;
        int there;
    } cases[] = {{"1025x1", "flat(ring)", 1}, {"1026x1", "flat(ring)", 0}, {"2x600", "flat(ring)", 0}, {"1100", "flat(ring)", 1},
                 {"1025x2", "hier(nary,ring,nary) x1", 1}, {"1026x2", "hier(nary,ring,nary) x1", 0}, {"1026x1", "flat(rdh)", 1}};
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback;
    struct hx_env env;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[HX_TOPO_ERROR_BYTES], name[HX_CANDIDATE_NAME_BYTES];
        struct hx_shape *shape = hx_shape_parse(cases[i].shape, error);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 8};
        struct hx_planner planner;
        int there = 0;
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        int n = hx_planner_candidates(&planner, HX_COLL_ALLREDUCE, 0, HX_FOLDS_ALIKE, 64 << 20, candidates, &fallback);
        for (int k = 0; k < n; k++) {
            hx_candidate_name(&candidates[k], name);
            there |= !strcmp(name, cases[i].name);
        }
        if (there != cases[i].there)
            fail_msg("%s on %s is %s", cases[i].name, cases[i].shape, there ? "a choice" : "no choice");
        hx_planner_release(&planner);
        hx_shape_free(shape);
    }
    hx_env_release(&env);
}

/* Any values, each known or not. */
static void constants_draw(struct hx_constants *constants)
{
    *constants = (struct hx_constants){.source = HX_CONSTANTS_MEASURED, .hash = 1};
    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++)
        *(int32_t *)((char *)constants + row->offset) = draw(0, 5) ? 1 << draw(2, 16) : 0;
}

static int candidates_differ(const struct hx_candidate *a, const struct hx_candidate *b)
{
    return a->lanes != b->lanes || a->channels != b->channels || a->flat != b->flat || a->first != b->first || a->inter != b->inter ||
           a->last != b->last;
}

/* Whatever is measured, results have the bits that they have without: of what rounds, on several nodes, the plan stays; on one node it stays,
 * or both plans fold all at once. How a vector is cut depends on no constant. */
static void measured_constants_keep_the_bits(void **state)
{
    int moves = 0, exact = 0, rounds = 0; /* choices that the constants change */
    struct hx_env env;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (int i = 0; i < 1500; i++) {
        struct hx_shape *shape = shape_draw_of(1, draw(0, 1) ? 1 : 4);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = draw(1, 9), .ranks_per_cpu = draw(0, 20) / 10.0, .single_copy = 1}, measured = job;
        enum hx_coll coll = (enum hx_coll)draw(0, HX_COLL_COUNT - 1);
        enum hx_folding folding = (enum hx_folding)draw(0, 2);
        uint64_t count = (uint64_t)draw(0, 1000) << draw(0, 12);
        int root = hx_coll_is_rooted(coll) ? draw(0, shape->nranks - 1) : 0;
        constants_draw(&measured.constants);
        const struct decision built_in = decide(&env, shape, 0, &job, coll, root, folding, count, 4);
        const struct decision other = decide(&env, shape, 0, &measured, coll, root, folding, count, 4);
        const int differ = candidates_differ(&built_in.candidate, &other.candidate);
        if (!differ)
            assert_memory_equal(&built_in, &other, sizeof(other));
        if (differ && hx_coll_reduces(coll) && folding != HX_FOLDS_EXACTLY) {
            assert_int_equal(shape->nnodes, 1);
            assert_true(built_in.candidate.flat->needs & other.candidate.flat->needs & HX_FOLDS_AT_ONCE);
            rounds++;
        } else if (differ) {
            exact += hx_coll_reduces(coll);
            moves += !hx_coll_reduces(coll);
        }
        hx_shape_free(shape);
    }
    if (moves < 20 || exact < 20 || rounds < 20)
        fail_msg("constants change too few choices: %d that move data, %d exact, %d that round", moves, exact, rounds);
    hx_env_release(&env);
}

static void all_ranks_choose_alike(void **state)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 16};
    struct hx_env env;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (int i = 0; i < 400; i++) {
        struct hx_shape *shape = shape_draw();
        struct hx_job job = {.llc_bytes = (uint64_t)draw(1, 64) << 20, .cpus_per_node = draw(1, 16), .ranks_per_cpu = draw(0, 40) / 10.0, .single_copy = 1};
        if (draw(0, 1))
            constants_draw(&job.constants);
        enum hx_coll coll = (enum hx_coll)draw(0, HX_COLL_COUNT - 1);
        uint64_t count = (uint64_t)draw(0, 1000) << draw(0, 16);
        uint32_t elem_bytes = sizes[draw(0, 4)];
        int root = hx_coll_is_rooted(coll) ? draw(0, shape->nranks - 1) : 0;
        enum hx_folding folding = (enum hx_folding)draw(0, 2);
        env.lanes = draw(0, 3) ? 0 : draw(1, 12);
        env.turns = draw(0, 3) ? 0 : draw(1, 64);
        env.slice = draw(0, 3) ? 0 : draw(1, 1 << 20);
        struct decision first = decide(&env, shape, 0, &job, coll, root, folding, count, elem_bytes);
        for (int rank = 1; rank < shape->nranks; rank++) {
            struct decision other = decide(&env, shape, rank, &job, coll, root, folding, count, elem_bytes);
            if (memcmp(&first, &other, sizeof(first)))
                fail_msg("%s of %llu x %u bytes on %d ranks, %d nodes, %llu MiB: rank 0 cuts %llu/%llu slices, rank "
                         "%d %llu/%llu",
                         hx_coll_name(coll), (unsigned long long)count, elem_bytes, shape->nranks, shape->nnodes,
                         (unsigned long long)job.llc_bytes >> 20, (unsigned long long)first.choice.fine_slices,
                         (unsigned long long)first.choice.coarse_slices, rank,
                         (unsigned long long)other.choice.fine_slices,
                         (unsigned long long)other.choice.coarse_slices);
        }
        hx_shape_free(shape);
    }
    hx_env_release(&env);
}

/* All that goes by levels, on levels of any kind, on any number of lanes: proved. */
static void levels_are_proved(void **state)
{
    static const enum hx_coll colls[] = {HX_COLL_ALLREDUCE, HX_COLL_REDUCE_SCATTER, HX_COLL_ALLGATHER, HX_COLL_BCAST, HX_COLL_REDUCE};
    int proved[2] = {0, 0}, in_order = 0;
    char report[2048], name[HX_CANDIDATE_NAME_BYTES];

    (void)state;
    for (int i = 0; i < 600; i++) {
        struct hx_shape *shape = shape_draw_of(1, 4);
        enum hx_coll coll = colls[draw(0, shape->nnodes == 1 || shape->max_local > 1 ? 4 : 2)];
        int lanes = shape->nnodes > 1 ? draw(coll == HX_COLL_BCAST || coll == HX_COLL_REDUCE ? 2 : 1, shape->max_local) : 0;
        struct hx_candidate c = candidate_of(coll, lanes);
        struct hx_plan **plans = calloc((size_t)shape->nranks, sizeof(*plans));
        struct hx_check_call call = {.plans = plans, .window_fine = 4, .window_coarse = 3, .in_place = coll == HX_COLL_BCAST};
        if (c.first)
            c.first = find(hx_candidate_first(coll, lanes), HX_SCOPE_INTRA, "nary_levels");
        if (c.last)
            c.last = find(hx_candidate_last(coll, lanes), HX_SCOPE_INTRA, "nary_levels");
        if (!lanes)
            c = (struct hx_candidate){.coll = coll, .flat = find(coll, HX_SCOPE_INTRA, "nary_levels")};
        c.root = hx_coll_is_rooted(coll) ? draw(0, shape->nranks - 1) : 0;
        assert_int_equal(hx_candidate_fits(&c, shape), shape->nlevels > 0 && (lanes ? shape->max_local > 1 : 1));
        call.rank_order = hx_coll_reduces(coll) && hx_candidate_keeps_order(&c, shape);
        for (int r = 0; r < shape->nranks; r++)
            assert_non_null(plans[r] = hx_compose(shape, r, &c));
        hx_check_sizes(plans, shape->nranks, 4, 3, draw(0, 1), &call.sizes);
        hx_candidate_name(&c, name);
        if (hx_check(shape, &call, 1, report, sizeof(report)) != HX_SUCCESS)
            fail_msg("%s, root %d, %d ranks on %d nodes of %d levels: %s", name, c.root, shape->nranks, shape->nnodes, shape->nlevels, report);
        proved[lanes > 0] += shape->nlevels > 0;
        in_order += shape->nlevels > 0 && call.rank_order;
        for (int r = 0; r < shape->nranks; r++)
            hx_plan_release(plans[r]);
        free(plans);
        hx_shape_free(shape);
    }
    assert_true(proved[0] > 30 && proved[1] > 100 && in_order > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_cover_local_ranks),
        cmocka_unit_test(levels_are_proved),
        cmocka_unit_test(stages_hold_every_block_once), cmocka_unit_test(lengths_are_learnt),
        cmocka_unit_test(channels_cross_on_ranks_of_their_own),
        cmocka_unit_test(radices_save_rounds), cmocka_unit_test(families_are_named_alike),
        cmocka_unit_test(rings_are_not_too_long), cmocka_unit_test(groups_share_fewer_cores),
        cmocka_unit_test(all_ranks_choose_alike), cmocka_unit_test(measured_constants_keep_the_bits), cmocka_unit_test(groups_have_other_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
