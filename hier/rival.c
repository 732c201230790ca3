/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rival of a plan (HX_ADAPT): for a plan through slots the best one by single copy, and the other way round. The one or the other is
 * faster, depending on what is in the caches, which only the running program knows. So the engine tries both (runtime/engine/adapt.c).
 * Both fold what ranks give in one step, in the order of ranks, so results have the same bits. In shared memory every algorithm does so
 * but those by levels, which fold domain by domain. Algorithms that send messages fold in orders of their own.
 */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include <stdlib.h>

/* A system call that reads less is not faster than a slot: its own time is that of a copy of so many bytes. */
#define LEAST_FETCH_BYTES 16384.0
/* A plan that the model predicts to take so many times as long is not worth a try. The model errs by less. */
#define HOPELESS 8.0

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
    struct hx_counts counts = reads->counts((struct hx_group){a->coll, planner->shape->nranks, planner->shape->nranks});

    return counts.calls > 0 ? counts.fetched * bytes / counts.calls : 0;
}

/* The cheapest rival of chosen among n candidates, -1: none that is worth a try. *us: its predicted time. */
static int rival_find(const struct hx_planner *planner, const struct hx_candidate *chosen, const struct hx_candidate *candidates, int n,
                      double bytes, double *us)
{
    const double most = HOPELESS * hx_cost_of(&planner->cost, planner->shape, chosen, bytes).total_us;
    int best = -1;

    for (int i = 0; i < n; i++) {
        if (!hx_candidates_are_rivals(chosen, &candidates[i]) || fetch_bytes(planner, chosen, &candidates[i], bytes) < LEAST_FETCH_BYTES)
            continue;
        double predicted = hx_cost_of(&planner->cost, planner->shape, &candidates[i], bytes).total_us;
        if (predicted > most || (best >= 0 && predicted >= *us))
            continue;
        best = i;
        *us = predicted;
    }
    return best;
}

hx_status_t hx_planner_rival(struct hx_planner *planner, const struct hx_plan *chosen, struct hx_traits traits, uint64_t count,
                             uint32_t elem_bytes, struct hx_choice *rival)
{
    const double bytes = hx_planner_vector_bytes(planner, chosen->coll, count, elem_bytes);
    struct hx_candidate *candidates, ours;
    hx_status_t status = HX_SUCCESS;
    const char *fallback;
    double us = 0;
    int n, best = -1;

    rival->plan = NULL;
    if (planner->shape->nnodes > 1 || !planner->single_copy || bytes < LEAST_FETCH_BYTES)
        return HX_SUCCESS;
    if (!(candidates = malloc(HX_MAX_CANDIDATES * sizeof(*candidates))))
        return hx_fail(HX_ERR_NOMEM, "no memory for candidates");
    planner->cost.shared_alloc = traits.shared_alloc;
    n = hx_planner_candidates(planner, chosen->coll, chosen->root, traits.folding, bytes, candidates, &fallback);
    /* by its name, not from the cache of plans, which may have forgotten it on some ranks only */
    if (hx_candidate_find(candidates, n, chosen->name, planner->shape, 0, &ours) >= 0)
        best = rival_find(planner, &ours, candidates, n, bytes, &us);
    if (best >= 0)
        status = hx_planner_make(planner, &candidates[best], count, elem_bytes, 0, rival);
    free(candidates);
    return status;
}
