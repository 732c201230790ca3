/* SPDX-License-Identifier: BSD-3-Clause */
/* The planner: choice, the cache of plans, and its explanation. */
#include "hier/planner.h"
#include "inter/algorithms/algorithms.h"
#include "runtime/plan/check.h"
#include "runtime/base/error.h"
#include "topo/ring_order.h"
#include <stdio.h>
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
    return a->coll == b->coll && a->root == b->root && a->lanes == b->lanes && a->channels == b->channels && a->ordered == b->ordered && a->flat == b->flat &&
           a->first == b->first && a->inter == b->inter && a->last == b->last;
}

static hx_status_t plan_check(const struct hx_planner *planner, const struct hx_candidate *candidate);

/* The plan of a candidate, from the cache or new. The caller gets a reference. */
static hx_status_t plan_get(struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan **out)
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
        return HX_ERR_NOMEM; /* the composer has told */
    while (planner->nplans &&
           (planner->nplans == PLAN_CACHE_COUNT || planner->plan_bytes + hx_plan_bytes(plan) > PLAN_CACHE_BYTES))
        plan_evict(planner);
    planner->built++;
    planner->plans[planner->nplans++] = (struct hx_cached_plan){plan, *candidate, ++planner->uses};
    planner->plan_bytes += hx_plan_bytes(plan);
    hx_plan_retain(*out = plan);
    return HX_SUCCESS;
}

/* ---- HX_CHECK and HX_EXPLAIN -------------------------------------------------------------------------------------- */

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

/* What a table's entry was measured with, if that was something else. */
static const char *measured_with(const struct hx_planner *planner, const struct hx_table_entry *tuned, struct hx_traits traits)
{
    struct hx_table_entry key;

    hx_table_key(&key, tuned->coll, traits, planner->shape, planner->provider);
    return key.numbers == tuned->numbers ? key.shared_alloc == tuned->shared_alloc ? "" : " (in other memory)"
           : key.shared_alloc == tuned->shared_alloc ? " (of floats)" : " (of floats, in other memory)";
}

static void explain(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, int best, struct hx_traits traits, double bytes,
                    const char *fallback, const struct hx_table_entry *tuned, const struct hx_choice *choice)
{
    char name[HX_CANDIDATE_NAME_BYTES];
    int members;
    double least = hx_cost_of(&planner->cost, planner->shape, &candidates[best], bytes).total_us;

    hx_candidate_name(&candidates[best], name);
    fprintf(stderr, "hierax plan: %s of %.0f bytes: %s, predicted %.1f us; %llu slices", hx_coll_name(candidates[best].coll), bytes,
            name, least, (unsigned long long)choice->fine_slices);
    if (planner->shape->nnodes > 1)
        fprintf(stderr, " (%llu between nodes)", (unsigned long long)choice->coarse_slices);
    fprintf(stderr, ", plan of %zu bytes\n", hx_plan_bytes(choice->plan));
    if (planner->cost.shared_alloc)
        fprintf(stderr, "hierax plan:   for buffers of hx_alloc\n");
    if (planner->shape->ring && hx_candidate_sender(&candidates[best], planner->shape, &members)->needs & HX_PASSES_RING) {
        char order[256];
        hx_ring_order_format(planner->shape->ring, planner->shape->nnodes, order, sizeof(order));
        fprintf(stderr, "hierax plan:   the ring passes the nodes in the order %s\n", order);
    }
    if (tuned && !strcmp(tuned->plan, name))
        fprintf(stderr, "hierax plan:   from the table: measured%s %.1f us, and %.1f us with "
                        "%s\n", measured_with(planner, tuned, traits), tuned->us,
                tuned->default_us, tuned->default_plan);
    else if (tuned)
        fprintf(stderr, "hierax plan:   the table says %s, which this job cannot use\n", tuned->plan);
    if (fallback)
        fprintf(stderr, "hierax plan:   %s (fallback %llu of this job)\n", fallback, (unsigned long long)planner->fallbacks);
    for (int i = 0; i < n; i++) {
        struct hx_cost cost = hx_cost_of(&planner->cost, planner->shape, &candidates[i], bytes);
        hx_candidate_name(&candidates[i], name);
        if (i != best)
            fprintf(stderr, "hierax plan:   not %-40s %10.1f us (%.1f x): intra %.1f, inter %.1f in %.0f rounds\n", name, cost.total_us,
                    cost.total_us / least, cost.intra_us, cost.inter_us, cost.rounds);
    }
}

/* ---- the table of operations -------------------------------------------------------------------------------------- */

void hx_planner_release(struct hx_planner *planner)
{
    while (planner->nplans)
        plan_evict(planner);
    free(planner->plans);
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

/* The tuned plan, or else the cheapest, for whose slots there is room; of long elements there may be none for one that needs them. */
static hx_status_t choose_among(struct hx_planner *planner, struct hx_candidate *candidates, int *n, int *best, struct hx_traits traits,
                                uint64_t count, uint32_t elem_bytes, const struct hx_table_entry **tuned, struct hx_choice *choice)
{
    enum hx_coll coll = candidates[0].coll;
    double bytes = hx_planner_vector_bytes(planner, coll, count, elem_bytes);

    *tuned = hx_planner_tuned(planner, coll, traits, bytes, candidates, *n, best);
    for (; *n > 0; *best = -1) {
        hx_status_t status;
        uint64_t slice_bytes = *best >= 0 ? (*tuned)->slice_bytes : 0;
        if (*best < 0)
            *best = hx_planner_best(planner, candidates, *n, bytes);
        if ((status = plan_get(planner, &candidates[*best], &choice->plan)) != HX_SUCCESS)
            return status;
        status = hx_planner_slices(planner, &candidates[*best], choice->plan, count, elem_bytes, slice_bytes, choice);
        if (status == HX_SUCCESS && choice->slot_bytes <= planner->bank_bytes) {
            choice->turns = hx_planner_turns(planner, choice->slot_bytes);
            return HX_SUCCESS;
        }
        hx_plan_release(choice->plan);
        if (status != HX_SUCCESS)
            return status;
        candidates[*best] = candidates[--*n];
    }
    return hx_fail(HX_ERR_ENV, "no plan for %s of %u-byte elements fits this shape, a rank's slots of %zu bytes and the HX_* settings",
                   hx_coll_name(coll), elem_bytes, planner->bank_bytes);
}

static hx_status_t planner_choose(struct hx_planner *planner, enum hx_coll coll, int root, struct hx_traits traits,
                                  uint64_t count, uint32_t elem_bytes, struct hx_choice *choice)
{
    double bytes = hx_planner_vector_bytes(planner, coll, count, elem_bytes);
    struct hx_candidate *candidates = malloc(HX_MAX_CANDIDATES * sizeof(*candidates));
    const struct hx_table_entry *tuned = NULL;
    const char *fallback;
    hx_status_t status;
    int n, best, untabled = 0;

    if (!candidates)
        return hx_fail(HX_ERR_NOMEM, "no memory for candidates");
    planner->cost.shared_alloc = traits.shared_alloc;
    n = hx_planner_candidates(planner, coll, root, traits.folding, bytes, candidates, &fallback);
    candidates[0].coll = coll; /* also where there are none */
    status = choose_among(planner, candidates, &n, &best, traits, count, elem_bytes, &tuned, choice);
    planner->chosen++;
    if (status == HX_SUCCESS && tuned) {
        char name[HX_CANDIDATE_NAME_BYTES];
        hx_candidate_name(&candidates[best], name);
        untabled = strcmp(name, tuned->plan) != 0;
        planner->by_table += !untabled;
        untabled = untabled && !hx_forced_setting(planner, name); /* a setting counts more */
    }
    planner->fallbacks += fallback || untabled;
    if (status == HX_SUCCESS && planner->explain && planner->rank == 0)
        explain(planner, candidates, n, best, traits, bytes, fallback, tuned, choice);
    free(candidates);
    return status;
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
        status = hx_stage_build(stage, exchange->name, exchange->build);
    }
    if (status == HX_SUCCESS)
        status = hx_plan_seal(*plan);
    if (status != HX_SUCCESS)
        hx_plan_release(*plan);
    return status;
}

const struct hx_planner_ops hx_planner_hier = {
    .open = planner_open, .choose = planner_choose, .among = planner_among, .tuning_read = hx_tuning_read,
    .tuning_use = hx_tuning_use, .count = planner_count, .close = planner_close};
