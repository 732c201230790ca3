/* SPDX-License-Identifier: BSD-3-Clause */
/* The planner: the cache of plans, their proof by HX_CHECK, and the operations that the engine asks for. choice.c chooses a plan. */
#include "hier/planner.h"
#include "inter/algorithms/algorithms.h"
#include "runtime/plan/check.h"
#include "runtime/base/error.h"
#include <stdlib.h>
#include <string.h>

#define PLAN_CACHE_COUNT 64
#define PLAN_CACHE_BYTES ((size_t)64 << 20)

/* ---- the cache of plans ------------------------------------------------------------------------------------------- */

static void plan_evict(struct hx_planner *planner)
{
    int oldest = 0;

    for (int i = 1; i < planner->nplans; i++)
        if (planner->plans[i].used < planner->plans[oldest].used)
            oldest = i;
    planner->plan_bytes -= hx_plan_bytes(planner->plans[oldest].plan);
    hx_plan_release(planner->plans[oldest].plan);
    planner->plans[oldest] = planner->plans[--planner->nplans];
}

static int candidates_equal(const struct hx_candidate *a, const struct hx_candidate *b)
{
    return a->coll == b->coll && a->root == b->root && a->lanes == b->lanes && a->channels == b->channels && a->ordered == b->ordered && a->flat == b->flat && a->wire == b->wire && a->graph == b->graph &&
           a->first == b->first && a->inter == b->inter && a->last == b->last;
}

static hx_status_t plan_check(const struct hx_planner *planner, const struct hx_candidate *candidate);

hx_status_t hx_planner_plan(struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan **out)
{
    hx_status_t status = HX_SUCCESS;
    struct hx_plan *plan;

    for (int i = 0; i < planner->nplans; i++) {
        if (candidates_equal(&planner->plans[i].candidate, candidate)) {
            planner->plans[i].used = ++planner->uses;
            hx_plan_retain(*out = planner->plans[i].plan);
            return HX_SUCCESS;
        }
    }
    if (planner->check)
        status = plan_check(planner, candidate);
    if (status != HX_SUCCESS)
        return status;
    if (!(plan = hx_compose(planner->shape, planner->rank, candidate)))
        return HX_ERR_NOMEM; /* the composer has reported it */
    while (planner->nplans &&
           (planner->nplans == PLAN_CACHE_COUNT || planner->plan_bytes + hx_plan_bytes(plan) > PLAN_CACHE_BYTES))
        plan_evict(planner);
    planner->built++;
    planner->plans[planner->nplans++] = (struct hx_cached_plan){plan, *candidate, ++planner->uses};
    planner->plan_bytes += hx_plan_bytes(plan);
    hx_plan_retain(*out = plan);
    return HX_SUCCESS;
}

/* ---- HX_CHECK ------------------------------------------------------------------------------------------------------ */

/* HX_CHECK=1: prove the plan on behalf of all ranks before its first use. */
static hx_status_t plan_check(const struct hx_planner *planner, const struct hx_candidate *candidate)
{
    int p = planner->shape->nranks;
    struct hx_plan **plans = calloc((size_t)p, sizeof(*plans));
    hx_status_t status = plans ? HX_SUCCESS : hx_fail(HX_ERR_NOMEM, "no memory to check a plan of %d ranks", p);
    char report[512] = "";

    for (int r = 0; status == HX_SUCCESS && r < p; r++)
        if (!(plans[r] = hx_compose(planner->shape, r, candidate)))
            status = HX_ERR_NOMEM;
    if (status == HX_SUCCESS) {
        /* more slices under way wait for less */
        struct hx_check_call call = {.plans = plans, .window_fine = HX_FINE_WINDOW, .window_coarse = (int)hx_coarse_window(plans[0]),
                                     .in_place = candidate->coll == HX_COLL_BCAST, .rank_order = candidate->ordered,
                                     .exact = hx_candidate_needs(candidate, HX_NEEDS_EXACT)};
        hx_check_sizes(plans, p, call.window_fine, call.window_coarse, 0, &call.sizes);
        for (int longs = 0; status == HX_SUCCESS && longs <= hx_coll_has_pair_counts(candidate->coll); longs++) {
            if (longs)
                call.sizes.limit = 0; /* now no block is short */
            if (hx_check(planner->shape, &call, 1, report, sizeof(report)) != HX_SUCCESS)
                status = hx_fail(HX_ERR_INTERNAL, "HX_CHECK: %s", report);
        }
    }
    for (int r = 0; plans && r < p; r++)
        hx_plan_release(plans[r]);
    free(plans);
    return status;
}

/* ---- the table of operations -------------------------------------------------------------------------------------- */

void hx_planner_release(struct hx_planner *planner)
{
    while (planner->nplans)
        plan_evict(planner);
    free(planner->plans);
    hx_uplinks_free(planner->uplinks);
}

static void planner_close(struct hx_planner *planner)
{
    hx_planner_release(planner);
    free(planner);
}

static hx_status_t planner_open(const struct hx_env *env, const struct hx_shape *shape, int rank, const struct hx_job *job,
                                const struct hx_net_profile *net, struct hx_planner **out)
{
    struct hx_planner *planner = calloc(1, sizeof(*planner));
    hx_status_t status;

    if (!planner)
        return hx_fail(HX_ERR_NOMEM, "no memory for the planner");
    status = hx_planner_init(planner, env, shape, rank, job, net);
    planner->plans = calloc(PLAN_CACHE_COUNT, sizeof(*planner->plans));
    if (status == HX_SUCCESS && !planner->plans)
        status = hx_fail(HX_ERR_NOMEM, "no memory for the planner's cache");
    if (status != HX_SUCCESS) {
        planner_close(planner);
        return status;
    }
    *out = planner;
    return HX_SUCCESS;
}

static void planner_quiet(struct hx_planner *planner, int quiet)
{
    planner->quiet = quiet;
}

static void planner_count(const struct hx_planner *planner, struct hx_counters *counters)
{
    counters->plans_chosen += planner->chosen;
    counters->plans_by_table += planner->by_table;
    counters->plans_built += planner->built;
    counters->fallbacks += planner->fallbacks;
}

static hx_status_t planner_among(const struct hx_shape *shape, int rank, const int *members, int n, int me, struct hx_plan **plan)
{
    const struct hx_algorithm *exchange = &hx_allreduce_recursive_doubling;
    struct hx_stage *stage;
    hx_status_t status;

    if (!(*plan = hx_plan_new(HX_COLL_ALLREDUCE, shape->nranks, rank, 1)))
        return hx_fail(HX_ERR_NOMEM, "no memory for a plan of %d ranks", n);
    stage = hx_plan_add_stage(*plan, 0, HX_SCOPE_FLAT, members, n, me);
    (*plan)->nblocks = (*plan)->in_nblocks = (*plan)->out_nblocks = 1;
    status = HX_ERR_NOMEM;
    if (stage) {
        stage->in = HX_IN;
        stage->out = HX_OUT;
        status = hx_stage_run(stage, exchange);
    }
    if (status == HX_SUCCESS)
        status = hx_plan_seal(*plan);
    if (status != HX_SUCCESS)
        hx_plan_release(*plan);
    return status;
}

const struct hx_planner_ops hx_planner_hier = {
    .open = planner_open, .choose = hx_planner_choose, .rival = hx_planner_rival, .predict = hx_planner_predict, .among = planner_among,
    .tuning_read = hx_tuning_read,    .tuning_use = hx_tuning_use, .quiet = planner_quiet, .count = planner_count, .close = planner_close};
