/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rivals of a plan (HX_ADAPT): for a plan through slots those by single copy, and the other way round. The one or the other is
 * faster, depending on what is in the caches, which only the running program knows. So the engine tries them (runtime/engine/adapt.c).
 * All fold what ranks give in one step, in the order of ranks, so results have the same bits. In shared memory every algorithm does so
 * but those by levels, which fold domain by domain. Algorithms that send messages fold in orders of their own.
 */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include <stdlib.h>

/* A system call that reads less is not faster than a slot: its own time is that of a copy of so many bytes. */
#define LEAST_FETCH_BYTES 16384.0
/* A plan that the model predicts to take so many times as long is not worth a try. The model errs by less. */
#define HOPELESS 8.0
#define MOST_RIVALS 8

static int folds_at_once(const struct hx_candidate *c)
{
    return c->flat && c->flat->needs & HX_NEEDS_SHARED_MEMORY && !(c->flat->needs & HX_NEEDS_LEVELS);
}

int hx_candidates_are_rivals(const struct hx_candidate *a, const struct hx_candidate *b)
{
    return a->coll == b->coll && a->root == b->root && folds_at_once(a) && folds_at_once(b) &&
           (a->flat->needs ^ b->flat->needs) & HX_NEEDS_SINGLE_COPY;
}

/* Bytes that one system call reads in the one of them that is by single copy. */
static double fetch_bytes(const struct hx_planner *planner, const struct hx_candidate *a, const struct hx_candidate *b, double bytes)
{
    const struct hx_algorithm *reads = a->flat->needs & HX_NEEDS_SINGLE_COPY ? a->flat : b->flat;
    struct hx_counts counts = reads->counts((struct hx_group){.coll = a->coll, .p = planner->shape->nranks, .owners = planner->shape->nranks});

    return counts.calls > 0 ? counts.fetched * bytes / counts.calls : 0;
}

/* The rivals of chosen among n candidates that are worth a try, the one with the least predicted time first. Returns how many. */
static int rivals_find(const struct hx_planner *planner, const struct hx_candidate *chosen, const struct hx_candidate *candidates, int n,
                       double bytes, const struct hx_candidate *rivals[MOST_RIVALS])
{
    const double most = HOPELESS * hx_cost_of(&planner->cost, planner->shape, chosen, bytes).total_us;
    double us[MOST_RIVALS];
    int found = 0;

    for (int i = 0; i < n && found < MOST_RIVALS; i++) {
        if (!hx_candidates_are_rivals(chosen, &candidates[i]) || fetch_bytes(planner, chosen, &candidates[i], bytes) < LEAST_FETCH_BYTES)
            continue;
        double predicted = hx_cost_of(&planner->cost, planner->shape, &candidates[i], bytes).total_us;
        if (predicted > most)
            continue;
        int at = found++;
        for (; at > 0 && us[at - 1] > predicted; at--) {
            us[at] = us[at - 1];
            rivals[at] = rivals[at - 1];
        }
        us[at] = predicted;
        rivals[at] = &candidates[i];
    }
    return found;
}

hx_status_t hx_planner_rival(struct hx_planner *planner, const struct hx_plan *chosen, struct hx_traits traits, uint64_t count,
                             uint32_t elem_bytes, uint32_t number, struct hx_choice *rival)
{
    const double bytes = hx_planner_vector_bytes(planner, chosen->coll, count, elem_bytes);
    const struct hx_candidate *rivals[MOST_RIVALS];
    struct hx_candidate *candidates, ours;
    hx_status_t status = HX_SUCCESS;
    const char *fallback;
    int n, found = 0;

    rival->plan = NULL;
    if (planner->shape->nnodes > 1 || !planner->single_copy || bytes < LEAST_FETCH_BYTES)
        return HX_SUCCESS;
    if (!(candidates = malloc(HX_MAX_CANDIDATES * sizeof(*candidates))))
        return hx_fail(HX_ERR_NOMEM, "no memory for candidates");
    hx_planner_traits(planner, traits);
    n = hx_planner_candidates(planner, chosen->coll, chosen->root, traits.folding, bytes, candidates, &fallback);
    /* by its name, not from the cache of plans, which may have forgotten it on some ranks only */
    if (hx_candidate_find(candidates, n, chosen->name, planner->shape, 0, &ours) >= 0)
        found = rivals_find(planner, &ours, candidates, n, bytes, rivals);
    for (int i = 0; i < found && status == HX_SUCCESS && !rival->plan; i++)
        status = hx_planner_make(planner, rivals[(number + (uint32_t)i) % (uint32_t)found], count, elem_bytes, 0, rival);
    free(candidates);
    return status;
}
