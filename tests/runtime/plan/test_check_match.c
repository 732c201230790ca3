/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker matches messages as the engine does: between nodes by ids, within one by the order in a ring. Between nodes they must be in one
 * order on both sides too, since the transport may hold a message up by those before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/runtime/plan/plans.h"
#include "runtime/plan/check.h"
#include "runtime/base/log.h"

static void build_halves(struct hx_builder *b) /* all-reduce of two in two messages each way */
{
    hx_split(b, 2);
    for (int half = 0; half < 2; half++) {
        hx_send_to(b, half, 1 - b->me, hx_at(b->in, half, 1));
        hx_recv_from(b, half, 1 - b->me, hx_row(half, half, 1));
    }
    hx_join_all(b);
    hx_reduce_rows(b, hx_at(b->out, 0, 2), 0, 2, b->in, b->me);
}

static hx_status_t check_two(struct hx_plan **plans, enum hx_scope scope, char report[2048])
{
    struct hx_shape *shape = shape_of(scope, 2);
    struct hx_check_call call = {.plans = plans, .window_fine = 2, .window_coarse = 1};
    hx_status_t status;

    hx_check_sizes(plans, 2, 2, 1, 0, &call.sizes);
    status = hx_check(shape, &call, 1, report, 2048);
    hx_shape_free(shape);
    return status;
}

/* Exchange the two sends of a plan, or only their rounds. */
static void swap_sends(struct hx_plan *plan, int rounds_only)
{
    struct hx_step *sends[2], first;
    int n = 0;

    for (uint32_t i = 0; i < plan->stages[0].nsteps && n < 2; i++)
        if (plan->stages[0].steps[i].op == HX_OP_SEND)
            sends[n++] = &plan->stages[0].steps[i];
    assert_int_equal(n, 2);
    first = *sends[0];
    if (rounds_only) {
        sends[0]->tag = sends[1]->tag;
        sends[1]->tag = first.tag;
    } else {
        *sends[0] = *sends[1];
        *sends[1] = first;
    }
}

static void order_counts(void **state)
{
    static const enum hx_scope scopes[] = {HX_SCOPE_INTER, HX_SCOPE_INTRA};
    char report[2048];

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int rounds_only = 0; rounds_only < 2; rounds_only++) {
            struct hx_plan **plans = plans_of_build(HX_COLL_ALLREDUCE, "halves", scopes[i], 2, 0, build_halves);
            assert_int_equal(check_two(plans, scopes[i], report), HX_SUCCESS);
            swap_sends(plans[1], rounds_only);
            assert_int_equal(check_two(plans, scopes[i], report), HX_ERR_INTERNAL);
            assert_non_null(strstr(report, scopes[i] == HX_SCOPE_INTRA ? "its partner in the ring is of round" : "is received as number"));
            plans_release(plans, 2);
        }
}

/* An all-reduce of two ranks on as many lanes, each a stage and a plan block. */
static struct hx_plan *lanes_plan(int rank, int lanes)
{
    struct hx_plan *plan = hx_plan_new(HX_COLL_ALLREDUCE, 2, rank, lanes);
    int members[2] = {0, 1};

    plan->nblocks = plan->in_nblocks = plan->out_nblocks = (uint32_t)lanes;
    plan->nlanes = lanes;
    for (int lane = 0; lane < lanes; lane++) {
        struct hx_stage *stage = hx_plan_add_stage(plan, 0, HX_SCOPE_INTER, members, 2, rank);
        stage->in = HX_IN;
        stage->out = HX_OUT;
        stage->list = calloc(1, sizeof(uint32_t));
        stage->list[0] = (uint32_t)lane;
        assert_int_equal(hx_stage_run(stage, algorithm_named("mesh_single", HX_COLL_ALLREDUCE)),
                         HX_SUCCESS);
    }
    assert_int_equal(hx_plan_seal(plan), HX_SUCCESS);
    return plan;
}

static void lanes_are_told_apart(void **state)
{
    char report[2048];

    (void)state;
    for (int lanes = HX_MATCH_STAGES; lanes <= HX_MATCH_STAGES + 1; lanes++) {
        struct hx_plan *plans[2] = {lanes_plan(0, lanes), lanes_plan(1, lanes)};
        struct hx_shape *shape = shape_of(HX_SCOPE_INTER, 2);
        struct hx_check_call call = {.plans = plans, .window_fine = 1, .window_coarse = 1,
                                     .sizes = {.count = (uint64_t)lanes, .elem_bytes = 1, .fine_slices = 1, .coarse_slices = 1}};
        hx_status_t status = hx_check(shape, &call, 1, report, sizeof report);
        if (lanes == HX_MATCH_STAGES && status != HX_SUCCESS)
            fail_msg("%s", report);
        if (lanes > HX_MATCH_STAGES) {
            assert_int_equal(status, HX_ERR_INTERNAL);
            assert_non_null(strstr(report, "more than 1024 stages use rank"));
        }
        for (int r = 0; r < 2; r++)
            hx_plan_release(plans[r]);
        hx_shape_free(shape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_counts),
        cmocka_unit_test(lanes_are_told_apart),
    };

    hx_log_threshold = HX_LOG_ERROR;
    return cmocka_run_group_tests_name("check match", tests, NULL, NULL);
}
