/* SPDX-License-Identifier: BSD-3-Clause */
/* Rivals of plans (HX_ADAPT): over all collectives and rows, both fold in the order of ranks and round as often; and when there is none. */
#include "hier/planner.h"
#include "runtime/plan/check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct hx_traits floats = {.folding = HX_FOLDS_ALIKE, .numbers = HX_NUMBERS_FLOAT};

struct fixture {
    struct hx_env env;
    struct hx_shape *shape;
    struct hx_planner *planner;
};

static struct fixture fixture_of(const char *shape, const char *const *settings, int single_copy)
{
    struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 8, .ranks_per_cpu = 1, .single_copy = single_copy};
    char error[HX_TOPO_ERROR_BYTES];
    struct fixture f = {.shape = hx_shape_parse(shape, error)};

    assert_non_null(f.shape);
    assert_int_equal(hx_env_load(&f.env, settings), HX_SUCCESS);
    assert_int_equal(hx_planner_hier.open(&f.env, f.shape, 0, &job, NULL, &f.planner), HX_SUCCESS);
    return f;
}

static void fixture_free(struct fixture f)
{
    hx_planner_hier.close(f.planner);
    hx_shape_free(f.shape);
    hx_env_release(&f.env);
}

/* How many roundings a candidate's results take at most, all folded in the order of ranks. */
static int roundings_of(const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    struct hx_plan *plans[8];
    int roundings = 0;
    struct hx_check_call call = {.plans = plans, .window_fine = 1, .window_coarse = 1, .in_place = candidate->coll == HX_COLL_BCAST,
                                 .rank_order = hx_coll_reduces(candidate->coll), .roundings = &roundings};
    char report[512] = "";

    for (int r = 0; r < shape->nranks; r++)
        assert_non_null(plans[r] = hx_compose(shape, r, candidate));
    hx_check_sizes(plans, shape->nranks, 1, 1, 0, &call.sizes);
    if (hx_check(shape, &call, 1, report, sizeof(report)) != HX_SUCCESS)
        fail_msg("%s: %s", plans[0]->name, report);
    for (int r = 0; r < shape->nranks; r++)
        hx_plan_release(plans[r]);
    return roundings;
}

/* Every pair of rows that are rivals. */
static void test_rivals_fold_alike(void **state)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *const shapes[] = {"2", "3", "5", "8"};
    int pairs = 0, reductions = 0;

    (void)state;
    for (int s = 0; s < 4; s++) {
        struct fixture f = fixture_of(shapes[s], NULL, 1);
        for (int coll = 0; coll < HX_COLL_COUNT; coll++) {
            const char *fallback;
            int n = hx_planner_candidates(f.planner, (enum hx_coll)coll, 0, HX_FOLDS_ALIKE, 65536, candidates, &fallback);
            for (int i = 0; i < n; i++)
                for (int k = i + 1; k < n; k++) {
                    if (!hx_candidates_are_rivals(&candidates[i], &candidates[k]))
                        continue;
                    assert_true(hx_candidates_are_rivals(&candidates[k], &candidates[i]));
                    assert_int_equal(roundings_of(f.shape, &candidates[i]), roundings_of(f.shape, &candidates[k]));
                    assert_int_equal(roundings_of(f.shape, &candidates[i]), hx_coll_reduces((enum hx_coll)coll));
                    pairs++;
                    reductions += hx_coll_reduces((enum hx_coll)coll);
                }
        }
        fixture_free(f);
    }
    assert_true(pairs - reductions >= 4 * 5 && reductions >= 4 * 3);
}

/* Does a rank read another one's memory, or is it read? */
static int is_single_copy(const struct hx_plan *plan)
{
    int reads = plan->stages[0].offers;

    for (uint32_t i = 0; i < plan->stages[0].nsteps; i++)
        reads |= plan->stages[0].steps[i].op == HX_OP_FETCH;
    return reads;
}

/* 1: the call has a rival, and just one of the two reads other ranks' memory. */
static int has_rival(struct fixture f, enum hx_coll coll, struct hx_traits traits, uint64_t bytes, int *several)
{
    struct hx_choice choice = {0}, rival = {0}, again = {0};
    int has, same[4];

    assert_int_equal(hx_planner_hier.choose(f.planner, coll, 0, traits, bytes, 1, &choice), HX_SUCCESS);
    assert_int_equal(hx_planner_hier.rival(f.planner, choice.plan, traits, bytes, 1, 0, &rival), HX_SUCCESS);
    has = rival.plan != NULL;
    if (has) {
        assert_int_not_equal(is_single_copy(choice.plan), is_single_copy(rival.plan));
        assert_int_equal(choice.plan->coll, rival.plan->coll);
        for (uint32_t number = 0; number < 4; number++) {
            assert_int_equal(hx_planner_hier.rival(f.planner, choice.plan, traits, bytes, 1, number, &again), HX_SUCCESS);
            assert_int_not_equal(is_single_copy(choice.plan), is_single_copy(again.plan));
            same[number] = !strcmp(again.plan->name, rival.plan->name);
            hx_plan_release(again.plan);
        }
        assert_true(same[0] && (same[1] ? same[2] && same[3] : same[2] || same[3])); /* of one to three rivals, in turn */
        *several += !same[1];
        hx_plan_release(rival.plan);
    }
    hx_plan_release(choice.plan);
    return has;
}

static void test_who_has_one(void **state)
{
    static const char *const forced[] = {"HX_INTRA_BCAST=nary", "HX_INTRA_ALLREDUCE=single_copy", NULL};
    const struct hx_traits ordered = {.folding = HX_FOLDS_IN_ORDER, .numbers = HX_NUMBERS_OWN}, whole = {.folding = HX_FOLDS_EXACTLY, .numbers = HX_NUMBERS_INTEGER};
    struct fixture one = fixture_of("2", NULL, 1), two = fixture_of("2x2", NULL, 1), refused = fixture_of("2", NULL, 0),
                   set = fixture_of("2", forced, 1);
    int found = 0, several = 0;

    (void)state;
    for (int coll = 0; coll < HX_COLL_COUNT; coll++) {
        found += has_rival(one, (enum hx_coll)coll, floats, 65536, &several);
        found += has_rival(one, (enum hx_coll)coll, ordered, 65536, &several) * hx_coll_reduces((enum hx_coll)coll);
        found += has_rival(one, (enum hx_coll)coll, whole, 65536, &several) * hx_coll_reduces((enum hx_coll)coll);
        assert_false(has_rival(one, (enum hx_coll)coll, floats, 512, &several)); /* no vector so short */
        assert_false(has_rival(two, (enum hx_coll)coll, floats, 65536, &several));
        assert_false(has_rival(refused, (enum hx_coll)coll, floats, 65536, &several));
    }
    assert_true(found >= 8 + 2 * 3);
    assert_true(several >= 2); /* reductions have two rows by single copy */
    assert_false(has_rival(one, HX_COLL_SCAN, floats, 65536, &several)); /* it has no row by single copy */
    assert_false(has_rival(set, HX_COLL_BCAST, floats, 65536, &several));
    assert_false(has_rival(set, HX_COLL_ALLREDUCE, floats, 65536, &several));
    assert_true(has_rival(set, HX_COLL_ALLGATHER, floats, 65536, &several));
    fixture_free(one);
    fixture_free(two);
    fixture_free(refused);
    fixture_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rivals_fold_alike), cmocka_unit_test(test_who_has_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
