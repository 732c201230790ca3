/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes the uplinks of groups of nodes: as the cost model counts it, and in the plans of all ranks. */
#include "hier/planner.h"
#include "runtime/plan/layout.h"
#include "topo/node_groups.h"
#include "topo/ring_order.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SHARE UINT64_C(232792560) /* bytes, divided by 1 .. 20: parts of more are even enough */
#define GROUPS_MOST 16
#define ROUNDS_MOST 256

static struct hx_shape *shape_of(const char *text, const char *groups)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse(text, error);

    assert_non_null(shape);
    if (groups)
        assert_int_equal(hx_node_groups_set(shape, groups, error, sizeof(error)), 0);
    return shape;
}

static void planner_of(struct hx_planner *planner, const struct hx_shape *shape)
{
    struct hx_job job = {.llc_bytes = 32 << 20, .ranks_per_cpu = 1};
    struct hx_env env;

    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    assert_int_equal(hx_planner_init(planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
    hx_env_release(&env);
}

/* Bytes in the plans of all ranks: [round][group], [0] leave and [1] enter the group. */
struct passed {
    double bytes[2][ROUNDS_MOST][GROUPS_MOST];
};

static void plans_walk(const struct hx_shape *shape, const struct hx_candidate *candidate, const struct hx_sizes *sizes, struct passed *passed)
{
    memset(passed, 0, sizeof(*passed));
    for (int rank = 0; rank < shape->nranks; rank++) {
        struct hx_plan *plan = hx_compose(shape, rank, candidate);
        assert_non_null(plan);
        for (const struct hx_stage *stage = plan->stages; stage < plan->stages + plan->nstages; stage++) {
            struct hx_layout layout;
            hx_layout_init(&layout, plan, stage, sizes);
            for (const struct hx_step *step = stage->steps; step < stage->steps + stage->nsteps; step++) {
                if (step->op != HX_OP_SEND)
                    continue;
                int from = shape->group_of[shape->node_of[rank]], to = shape->group_of[shape->node_of[stage->members[step->peer]]];
                if (from == to)
                    continue;
                assert_in_range(step->tag, 0, ROUNDS_MOST - 1);
                passed->bytes[0][step->tag][from] += (double)hx_layout_moved(&layout, step, 0);
                passed->bytes[1][step->tag][to] += (double)hx_layout_moved(&layout, step, 0);
            }
        }
        hx_plan_release(plan);
    }
}

static double most_of_all(const struct passed *passed, int ngroups)
{
    double most = 0;

    for (int way = 0; way < 2; way++)
        for (int g = 0; g < ngroups; g++) {
            double sum = 0;
            for (int r = 0; r < ROUNDS_MOST; r++)
                sum += passed->bytes[way][r][g];
            most = fmax(most, sum);
        }
    return most;
}

static void assert_near(const char *shape, const char *groups, const struct hx_candidate *candidate, const char *what, double said, double done)
{
    char name[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(candidate, name);
    if (fabs(said - done) > 1e-5 * fmax(done, 1) + 64)
        fail_msg("%s, %s on %s in groups %s: %s %.1f bytes by the model, %.1f in plans", hx_coll_name(candidate->coll), name, shape, groups, what,
                 said, done);
}

/* Each round, if rounds do not run at the same time. Lanes: the same round of all. */
static void rounds_check(const char *text, const char *groups, const struct hx_shape *shape, const struct hx_candidate *candidate,
                         const struct hx_uplink *uplink, const struct passed *passed, double whole_bytes)
{
    int nodes[GROUPS_MOST] = {0};

    for (int node = 0; node < shape->nnodes; node++)
        nodes[shape->group_of[node]]++;
    for (int r = 0; r < uplink->nrounds; r++) {
        double most = 0;
        for (int g = 0; g < shape->ngroups; g++)
            most = fmax(most, fmax(passed->bytes[0][r][g], passed->bytes[1][r][g]) / nodes[g]);
        assert_near(text, groups, candidate, "of a round", uplink->group[r] * whole_bytes, most);
    }
}

/* The model takes nodes to be equally large, and channels that divide the blocks for one: a block or two more pass then. Only plans count whose
 * messages do not depend on that. */
static int is_exact(const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    return !hx_coll_has_blocks(candidate->coll) || (candidate->lanes ? shape->max_local == shape->min_local : candidate->channels <= 1);
}

static void candidates_check(const char *text, const char *groups, const char *order, int root, enum hx_coll coll)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    static struct passed passed;
    struct hx_shape *shape = shape_of(text, groups);
    struct hx_sizes sizes = {.count = SHARE, .elem_bytes = 1, .fine_slices = 1, .coarse_slices = 1};
    struct hx_planner planner;
    const char *fallback;
    int nodes[GROUPS_MOST];
    char error[256];

    if (order) {
        assert_int_equal(hx_ring_order_parse(order, shape->nnodes, nodes, error, sizeof(error)), 0);
        assert_int_equal(hx_shape_set_ring(shape, nodes), 0);
    }
    planner_of(&planner, shape);
    if (coll == HX_COLL_BARRIER)
        sizes.count = 1;
    double bytes = hx_planner_vector_bytes(&planner, coll, sizes.count, 1);
    int n = hx_planner_candidates(&planner, coll, hx_coll_is_rooted(coll) ? root : 0, HX_FOLDS_EXACTLY, bytes, candidates, &fallback);
    assert_true(n > 0);
    for (const struct hx_candidate *c = candidates; c < candidates + n; c++) {
        if (!is_exact(shape, c))
            continue;
        const struct hx_cost cost = hx_cost_of(&planner.cost, shape, c, bytes);
        const struct hx_uplink *uplink = hx_uplinks_of(&planner.cost, shape, c);
        plans_walk(shape, c, &sizes, &passed);
        assert_near(text, groups, c, "in all", cost.uplink_bytes, most_of_all(&passed, shape->ngroups));
        if (uplink->nrounds > 1)
            rounds_check(text, groups, shape, c, uplink, &passed, c->lanes ? hx_cost_lane_bytes(shape, coll, c->lanes, bytes) * c->lanes : bytes);
    }
    hx_planner_release(&planner);
    hx_shape_free(shape);
}

static void the_count_is_that_of_the_plans(void **state)
{
    static const struct {
        const char *shape, *groups, *order;
        int root;
    } cases[] = {{"8x1", "4", NULL, 0},     {"8x1", "2", NULL, 5},         {"7x1", "3", NULL, 6},       {"10x1", "4,4,2", NULL, 3},
                 {"12x1", "5,7", NULL, 0},  {"6x2", "1,3,2", NULL, 7},     {"4x4", "2", NULL, 9},       {"5x3", "2", NULL, 0},
                 {"3,1,2,4", "2", NULL, 2}, {"2,2,2,2:cyclic", "3", NULL, 6}, {"6x1", "3", "0,3,1,4,2,5", 4}, {"4x2", "2", "0,2,1,3", 3}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int coll = 0; coll < HX_COLL_COUNT; coll++)
            if (!hx_coll_has_pair_counts((enum hx_coll)coll)) /* whose sizes nobody knows */
                candidates_check(cases[i].shape, cases[i].groups, cases[i].order, cases[i].root, (enum hx_coll)coll);
}

static struct hx_candidate flat(enum hx_coll coll, const char *name)
{
    struct hx_candidate c = {.coll = coll, .flat = hx_algorithm_find(coll, HX_SCOPE_INTER, name)};

    assert_non_null(c.flat);
    return c;
}

/* Groups of 4 of 8 nodes: of recursive doubling the last round passes the uplinks, with a vector of each node. */
static void a_round_takes_the_longer_time(void **state)
{
    const struct hx_candidate c = flat(HX_COLL_ALLREDUCE, "recursive_doubling");
    struct hx_shape *shape = shape_of("8x1", "4");
    struct hx_planner planner;

    (void)state;
    planner_of(&planner, shape);
    const struct hx_uplink *u = hx_uplinks_of(&planner.cost, shape, &c);
    assert_int_equal(u->nrounds, 3);
    assert_true(u->group[0] == 0 && u->group[1] == 0 && u->group[2] == 1 && u->most == 4 && u->members == 3);
    assert_true(hx_uplink_ns(u, 30, 10) == 0);   /* a node's link and the uplink take 10 ns each */
    assert_true(hx_uplink_ns(u, 30, 40) == 30);
    assert_true(hx_uplink_ns(NULL, 30, 40) == 0);
    hx_planner_release(&planner);
    hx_shape_free(shape);
}

/* Of too many messages the counts stand for the plans. */
static void large_plans_are_estimated(void **state)
{
    const struct hx_candidate ring = flat(HX_COLL_ALLREDUCE, "ring"), mesh = flat(HX_COLL_ALLGATHER, "mesh");
    struct hx_shape *shape = shape_of("600x1", "30");
    struct hx_planner planner;

    (void)state;
    planner_of(&planner, shape);
    assert_true(fabs(hx_uplinks_of(&planner.cost, shape, &ring)->most - 2 * 599 / 600.0) < 1e-9);
    assert_true(fabs(hx_uplinks_of(&planner.cost, shape, &mesh)->most - 30 * 570 / 600.0) < 1e-9);
    hx_planner_release(&planner);
    hx_shape_free(shape);
}

static const char *chosen(const struct hx_planner *planner, enum hx_coll coll, double bytes, char name[HX_CANDIDATE_NAME_BYTES])
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback;
    int n = hx_planner_candidates(planner, coll, 0, HX_FOLDS_ALIKE, bytes, candidates, &fallback);

    hx_candidate_name(&candidates[hx_planner_best(planner, candidates, n, bytes)], name);
    return name;
}

/* Bine and recursive halving cost the same, until uplinks count; short vectors do not fill them. */
static void uplinks_change_the_choice(void **state)
{
    const struct hx_candidate bine = flat(HX_COLL_ALLREDUCE, "bine"), rdh = flat(HX_COLL_ALLREDUCE, "rdh");
    struct hx_shape *plain = shape_of("128x1", NULL), *grouped = shape_of("128x1", "16");
    struct hx_planner without, with;
    char a[HX_CANDIDATE_NAME_BYTES], b[HX_CANDIDATE_NAME_BYTES];

    (void)state;
    planner_of(&without, plain);
    planner_of(&with, grouped);
    assert_null(without.uplinks);
    const struct hx_cost costs[2][2] = {
        {hx_cost_of(&without.cost, plain, &bine, 1 << 20), hx_cost_of(&without.cost, plain, &rdh, 1 << 20)},
        {hx_cost_of(&with.cost, grouped, &bine, 1 << 20), hx_cost_of(&with.cost, grouped, &rdh, 1 << 20)}};
    assert_true(costs[0][0].total_us == costs[0][1].total_us && costs[0][0].uplink_bytes == 0);
    assert_true(costs[1][0].total_us < costs[1][1].total_us && costs[1][0].uplink_bytes < costs[1][1].uplink_bytes);
    assert_true(costs[1][0].total_us > costs[0][0].total_us);
    assert_string_not_equal(chosen(&without, HX_COLL_ALLREDUCE, 64 << 20, a), chosen(&with, HX_COLL_ALLREDUCE, 64 << 20, b));
    assert_string_equal(chosen(&without, HX_COLL_ALLREDUCE, 8, a), chosen(&with, HX_COLL_ALLREDUCE, 8, b));
    with.cost.uplink_taper = 1e-3; /* uplinks that carry all */
    assert_true(hx_cost_of(&with.cost, grouped, &rdh, 1 << 20).total_us == costs[0][1].total_us);
    hx_planner_release(&without);
    hx_planner_release(&with);
    hx_shape_free(plain);
    hx_shape_free(grouped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_count_is_that_of_the_plans), cmocka_unit_test(a_round_takes_the_longer_time),
                                       cmocka_unit_test(large_plans_are_estimated), cmocka_unit_test(uplinks_change_the_choice)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
