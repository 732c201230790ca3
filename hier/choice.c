/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which plan is chosen, and why:
 *   1  candidates.c lists the plans that the settings leave
 *   2  if a table has an entry for this call, its plan is taken (table_choice.c)
 *   3  otherwise the plan for which the cost model predicts the least time (cost/)
 *   4  cut_slices.c cuts the vector; if the slots of the plan do not fit, the next best plan is taken
 * HX_EXPLAIN=1 prints the choice, its reason, and the predicted times of the other candidates: in all, and how much more than the chosen
 * plan's inside nodes and between them.
 */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include "runtime/base/size.h"
#include "topo/ring_order.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The traits that a table's entry was measured with, if they differ from the call's. */
static const char *measured_with(const struct hx_planner *planner, const struct hx_table_entry *tuned, struct hx_traits traits)
{
    struct hx_table_entry key;

    hx_table_key(&key, tuned->coll, traits, planner->shape, planner->provider);
    return key.numbers == tuned->numbers ? key.shared_alloc == tuned->shared_alloc ? "" : " (in other memory)"
           : key.shared_alloc == tuned->shared_alloc ? " (with floats)" : " (with floats, in other memory)";
}

struct loser {
    struct hx_cost cost;
    int candidate;
};

static int losers_compare(const void *a, const void *b)
{
    const double x = ((const struct loser *)a)->cost.total_us, y = ((const struct loser *)b)->cost.total_us;

    return (x > y) - (x < y);
}

/* The other candidates, the fastest first, and where each takes longer than the best one. */
static void losers_explain(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, int best, double bytes)
{
    const struct hx_cost_params params = hx_planner_params(planner);
    const struct hx_cost least = hx_cost_of(&params, planner->shape, &candidates[best], bytes);
    struct loser *losers = malloc((size_t)n * sizeof(*losers));
    char name[HX_CANDIDATE_NAME_BYTES];
    int nlosers = 0;

    for (int i = 0; losers && i < n; i++)
        if (i != best)
            losers[nlosers++] = (struct loser){hx_cost_of(&params, planner->shape, &candidates[i], bytes), i};
    if (nlosers) {
        qsort(losers, (size_t)nlosers, sizeof(*losers), losers_compare);
        fprintf(stderr, "hierax plan:      us ratio  inside between rounds%s  not chosen\n", planner->uplinks ? "    uplink" : "");
    }
    for (int i = 0; i < nlosers; i++) {
        const struct hx_cost *cost = &losers[i].cost;
        hx_candidate_name(&candidates[losers[i].candidate], name);
        char uplink[HX_SIZE_BYTES];
        fprintf(stderr, "hierax plan: %7.1f %5.2f %+7.1f %+7.1f %6.0f", cost->total_us, cost->total_us / least.total_us,
                cost->intra_us - least.intra_us, cost->inter_us - least.inter_us, cost->rounds);
        if (planner->uplinks)
            fprintf(stderr, " %9s", hx_size_format((uint64_t)(cost->uplink_bytes + 0.5), uplink));
        fprintf(stderr, "  %s\n", name);
    }
    free(losers);
}

/* Tell the groups of nodes, and what passes the uplink of one. */
static void uplinks_explain(const struct hx_planner *planner, double bytes)
{
    char groups[HX_SOURCE_BYTES], size[HX_SIZE_BYTES];

    hx_planner_groups(planner, groups);
    fprintf(stderr, "hierax plan:   %s\n", groups);
    fprintf(stderr, "hierax plan:   %s leave or enter the busiest group\n", hx_size_format((uint64_t)(bytes + 0.5), size));
}

/* Tell the format of messages between nodes. */
static void wire_explain(const struct hx_planner *planner, const struct hx_candidate *best, struct hx_traits traits)
{
    if (best->wire)
        fprintf(stderr, "hierax plan:   %s between nodes, with a scale for each %d elements; coll_plan explain states the error\n",
                best->wire->name, best->wire->block);
    else if (hx_coll_reduces(best->coll) && planner->shape->nnodes > 1 && (traits.wire || traits.exact_because))
        fprintf(stderr, "hierax plan:   exact between nodes: %s\n", traits.wire ? hx_planner_exact_because(planner, best->coll) : traits.exact_because);
}

static void explain(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, int best, struct hx_traits traits, double bytes,
                    const char *fallback, const struct hx_table_entry *tuned, const struct hx_choice *choice)
{
    const struct hx_cost_params params = hx_planner_params(planner);
    const struct hx_cost predicted = hx_cost_of(&params, planner->shape, &candidates[best], bytes);
    const enum hx_coll coll = candidates[best].coll;
    char name[HX_CANDIDATE_NAME_BYTES], size[HX_SIZE_BYTES], plan_size[HX_SIZE_BYTES], between[48] = "", source[HX_SOURCE_BYTES];
    int members, sized = hx_coll_gets(coll) != HX_HOLDS_NOTHING;

    hx_candidate_name(&candidates[best], name);
    if (planner->shape->nnodes > 1)
        snprintf(between, sizeof(between), " (%llu between nodes)", (unsigned long long)choice->coarse_slices);
    fprintf(stderr, "hierax plan: %s%s%s: %s\n", hx_coll_name(coll), sized ? " of " : "",
            sized ? hx_size_format((uint64_t)bytes, size) : "", name);
    fprintf(stderr, "hierax plan:   predicted %.1f us; %llu slice%s%s; plan of %s\n", predicted.total_us,
            (unsigned long long)choice->fine_slices, choice->fine_slices == 1 ? "" : "s", between,
            hx_size_format(hx_plan_bytes(choice->plan), plan_size));
    for (int net = 0; net < 2; net++)
        if (hx_planner_uses(planner, net)) {
            hx_planner_source(planner, net, source);
            fprintf(stderr, "hierax plan:   %s\n", source);
        }
    if (planner->uplinks)
        uplinks_explain(planner, predicted.uplink_bytes);
    if (planner->cost.shared_alloc)
        fprintf(stderr, "hierax plan:   for buffers of hx_alloc\n");
    if (planner->shape->ring && hx_candidate_sender(&candidates[best], planner->shape, &members)->needs & HX_PASSES_RING) {
        char order[256];
        hx_ring_order_format(planner->shape->ring, planner->shape->nnodes, order, sizeof(order));
        fprintf(stderr, "hierax plan:   the ring passes the nodes in the order %s\n", order);
    }
    if (tuned && !strcmp(tuned->plan, name))
        fprintf(stderr, "hierax plan:   from the table: measured %.1f us%s; the default %s took %.1f us\n", tuned->us,
                measured_with(planner, tuned, traits), tuned->default_plan, tuned->default_us);
    else if (tuned)
        fprintf(stderr, "hierax plan:   the table says %s, which this job cannot use\n", tuned->plan);
    wire_explain(planner, &candidates[best], traits);
    if (fallback)
        fprintf(stderr, "hierax plan:   %s (fallback %llu of this job)\n", fallback, (unsigned long long)planner->fallbacks);
    losers_explain(planner, candidates, n, best, bytes);
}

hx_status_t hx_planner_make(struct hx_planner *planner, const struct hx_candidate *candidate, uint64_t count, uint32_t elem_bytes,
                            uint64_t slice_bytes, struct hx_choice *choice)
{
    hx_status_t status = hx_planner_plan(planner, candidate, &choice->plan);

    if (status != HX_SUCCESS)
        return status;
    status = hx_planner_slices(planner, candidate, choice->plan, count, elem_bytes, slice_bytes, choice);
    if (status == HX_SUCCESS && choice->slot_bytes <= planner->bank_bytes) {
        choice->turns = hx_planner_turns(planner, candidate->coll, choice->slot_bytes);
        return HX_SUCCESS;
    }
    hx_plan_release(choice->plan);
    choice->plan = NULL;
    return status;
}

/* Tables know no plans with a wire format. Does the model say that one takes less time than the table's plan? */
static int coded_pays(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, int tuned, double bytes)
{
    const struct hx_cost_params params = hx_planner_params(planner);
    const double us = hx_cost_of(&params, planner->shape, &candidates[tuned], bytes).total_us;

    for (int i = 0; i < n; i++)
        if (candidates[i].wire && hx_cost_of(&params, planner->shape, &candidates[i], bytes).total_us < us)
            return 1;
    return 0;
}

/* The tuned plan, or else the cheapest, for whose slots there is room; of long elements there may be none for one that needs them. */
static hx_status_t choose_among(struct hx_planner *planner, struct hx_candidate *candidates, int *n, int *best, struct hx_traits traits,
                                uint64_t count, uint32_t elem_bytes, const struct hx_table_entry **tuned, struct hx_choice *choice)
{
    enum hx_coll coll = candidates[0].coll;
    double bytes = hx_planner_vector_bytes(planner, coll, count, elem_bytes);

    *tuned = hx_planner_tuned(planner, coll, traits, bytes, candidates, *n, best);
    if (*best >= 0 && coded_pays(planner, candidates, *n, *best, bytes))
        *best = -1;
    for (; *n > 0; *best = -1) {
        hx_status_t status;
        uint64_t slice_bytes = *best >= 0 ? (*tuned)->slice_bytes : 0;
        if (*best < 0)
            *best = hx_planner_best(planner, candidates, *n, bytes);
        if (hx_uplinks_lack_memory(planner->uplinks)) /* other ranks may choose otherwise */
            return HX_ERR_NOMEM;
        status = hx_planner_make(planner, &candidates[*best], count, elem_bytes, slice_bytes, choice);
        if (status != HX_SUCCESS || choice->plan)
            return status;
        candidates[*best] = candidates[--*n];
    }
    return hx_fail(HX_ERR_ENV, "no plan for %s of %u-byte elements fits this shape, the slots of a rank (%zu bytes) and the HX_* settings",
                   hx_coll_name(coll), elem_bytes, planner->bank_bytes);
}

hx_status_t hx_planner_choose(struct hx_planner *planner, enum hx_coll coll, int root, struct hx_traits traits,
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
    hx_planner_traits(planner, traits);
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
    if (status == HX_SUCCESS && planner->explain && !planner->quiet && planner->rank == 0)
        explain(planner, candidates, n, best, traits, bytes, fallback, tuned, choice);
    free(candidates);
    return status;
}
