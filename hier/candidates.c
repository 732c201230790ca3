/* SPDX-License-Identifier: BSD-3-Clause */
/* Candidates: what the tables of algorithms offer for a shape, narrowed by the settings that force a name. */
#include "inter/algorithms.h"
#include "intra/algorithms.h"
#include "planner.h"
#include "runtime/error.h"
#include <stdio.h>
#include <string.h>

static const struct hx_algorithm *const tables[] = {hx_intra_algorithms, hx_inter_algorithms};

const struct hx_algorithm *hx_algorithm_next(enum hx_coll coll, unsigned scope, int *idx)
{
    int i = 0;

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct hx_algorithm *a = tables[t]; a->name; a++)
            if (i++ >= *idx && a->coll == coll && (a->scopes & scope)) {
                *idx = i;
                return a;
            }
    return NULL;
}

static const struct hx_algorithm *find(enum hx_coll coll, unsigned scope, const char *name)
{
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, scope, &idx)))
        if (!strcmp(a->name, name))
            return a;
    return NULL;
}

static unsigned flat_scope(const struct hx_shape *shape)
{
    return shape->nnodes == 1 ? HX_SCOPE_INTRA : shape->max_local == 1 ? HX_SCOPE_INTER : HX_SCOPE_FLAT;
}

static int allowed(const char *forced, const struct hx_algorithm *a)
{
    return !forced || !strcmp(forced, a->name);
}

/* ---- settings ----------------------------------------------------------------------------------------------------- */

static hx_status_t name_check(const char *variable, const char *value, enum hx_coll coll, unsigned scope, const char *also)
{
    char choices[256];
    const struct hx_algorithm *a;
    int idx = 0, n;

    if (!value || find(coll, scope, value) || (also && !strcmp(value, also)))
        return HX_SUCCESS;
    n = snprintf(choices, sizeof(choices), "%s", also ? also : "");
    while ((a = hx_algorithm_next(coll, scope, &idx)) && n < (int)sizeof(choices))
        n += snprintf(choices + n, sizeof(choices) - (size_t)n, "%s%s", n ? ", " : "", a->name);
    return hx_fail(HX_ERR_ENV, "%s=%s: no such algorithm for %s here; choose one of %s", variable, value, hx_coll_name(coll), choices);
}

static hx_status_t forced_check(const struct hx_planner *planner)
{
    const struct hx_forced *ar = &planner->forced[HX_COLL_ALLREDUCE], *rs = &planner->forced[HX_COLL_REDUCE_SCATTER];
    const struct hx_forced *ag = &planner->forced[HX_COLL_ALLGATHER];
    int hier = planner->shape->nnodes > 1 && planner->shape->max_local > 1;
    unsigned flat = flat_scope(planner->shape);
    const struct {
        const char *variable, *value;
        enum hx_coll coll;
        unsigned scope;
        const char *also;
    } checks[] = {
        {"HX_ALLREDUCE", ar->plan, HX_COLL_ALLREDUCE, flat, hier ? "hier" : NULL},
        {"HX_REDUCE_SCATTER", rs->plan, HX_COLL_REDUCE_SCATTER, flat, hier ? "hier" : NULL},
        {"HX_ALLGATHER", ag->plan, HX_COLL_ALLGATHER, flat, hier ? "hier" : NULL},
        {"HX_INTRA_ALLREDUCE", ar->intra, HX_COLL_ALLREDUCE, HX_SCOPE_INTRA, NULL},
        {"HX_INTRA_REDUCE_SCATTER", rs->intra, HX_COLL_REDUCE_SCATTER, HX_SCOPE_INTRA, NULL},
        {"HX_INTRA_ALLGATHER", ag->intra, HX_COLL_ALLGATHER, HX_SCOPE_INTRA, NULL},
        {"HX_INTER_ALLREDUCE", ar->inter, HX_COLL_ALLREDUCE, HX_SCOPE_INTER, NULL},
        {"HX_INTER_REDUCE_SCATTER", rs->inter, HX_COLL_REDUCE_SCATTER, HX_SCOPE_INTER, NULL},
        {"HX_INTER_ALLGATHER", ag->inter, HX_COLL_ALLGATHER, HX_SCOPE_INTER, NULL},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        hx_status_t status = name_check(checks[i].variable, checks[i].value, checks[i].coll, checks[i].scope, checks[i].also);
        if (status != HX_SUCCESS)
            return status;
    }
    return HX_SUCCESS;
}

/* Inside a hierarchy an all-reduce is a reduce-scatter and an all-gather: the name that has both parts, "nary_sliced" being "nary". */
static const char *part_name(const char *intra_allreduce)
{
    if (!intra_allreduce)
        return NULL;
    return find(HX_COLL_REDUCE_SCATTER, HX_SCOPE_INTRA, intra_allreduce) ? intra_allreduce : "nary";
}

hx_status_t hx_planner_init(struct hx_planner *planner, const struct hx_env *env, const struct hx_shape *shape, int rank,
                            const struct hx_job *job, const struct hx_net_profile *net)
{
    struct hx_forced *ar = &planner->forced[HX_COLL_ALLREDUCE], *rs = &planner->forced[HX_COLL_REDUCE_SCATTER];
    struct hx_forced *ag = &planner->forced[HX_COLL_ALLGATHER];
    struct hx_node dimensions = {0};
    int sharing = env->nodes ? shape->nranks : shape->max_local; /* ranks that share rank 0's cores */

    memset(planner, 0, sizeof(*planner));
    planner->shape = shape;
    planner->rank = rank;
    planner->explain = env->explain;
    planner->check = env->check;
    planner->forced_lanes = env->lanes;
    planner->forced_slice = env->slice;
    hx_cost_defaults(&planner->cost, job->cpus_per_node > 0 ? sharing / job->cpus_per_node : 1);
    if (net) {
        planner->cost.net_alpha_us = net->alpha_us;
        planner->cost.net_gb_s = net->gb_s;
        planner->cost.stream_gb_s = net->stream_gb_s;
        planner->cost.message_us = net->message_us;
    }
    hx_node_dimension(&dimensions, shape->max_local, shape->nranks, job->llc_bytes);
    planner->bank_bytes = dimensions.bank_bytes;
    planner->live_bytes = dimensions.live_bytes;
    *ar = (struct hx_forced){.plan = env->allreduce, .intra = env->intra_allreduce, .inter = env->inter_allreduce};
    *rs = (struct hx_forced){.plan = env->reduce_scatter, .intra = env->intra_reduce_scatter, .inter = env->inter_reduce_scatter};
    *ag = (struct hx_forced){.plan = env->allgather, .intra = env->intra_allgather, .inter = env->inter_allgather};
    ar->intra_first = ar->intra ? part_name(ar->intra) : rs->intra;
    ar->intra_last = ar->intra ? part_name(ar->intra) : ag->intra;
    rs->intra_first = rs->intra;
    ag->intra_last = ag->intra;
    return forced_check(planner);
}

/* ---- candidates --------------------------------------------------------------------------------------------------- */

struct candidate_list {
    const struct hx_planner *planner;
    struct hx_candidate *items;
    int n;
};

static void candidate_add(struct candidate_list *list, const struct hx_candidate *candidate)
{
    if (list->n < HX_MAX_CANDIDATES && hx_candidate_fits(candidate, list->planner->shape))
        list->items[list->n++] = *candidate;
}

static void flat_add(struct candidate_list *list, enum hx_coll coll, const struct hx_forced *forced)
{
    const struct hx_shape *shape = list->planner->shape;
    unsigned scope = flat_scope(shape);
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, scope, &idx))) {
        const char *level = scope == HX_SCOPE_INTRA ? forced->intra : scope == HX_SCOPE_INTER ? forced->inter : NULL;
        if (allowed(forced->plan, a) && (forced->plan || allowed(level, a)))
            candidate_add(list, &(struct hx_candidate){.coll = coll, .flat = a});
    }
}

/* The numbers of lanes worth a look: one, and as many as the vector feeds with 64 KiB per node and lane. */
static int lane_choices(const struct hx_planner *planner, double bytes, int lanes[2])
{
    double fed = bytes / (planner->shape->nnodes * 65536.0);
    int many = fed > planner->shape->max_local ? planner->shape->max_local : (int)fed;

    if (planner->forced_lanes > 0) {
        lanes[0] = planner->forced_lanes > planner->shape->max_local ? planner->shape->max_local : (int)planner->forced_lanes;
        return 1;
    }
    lanes[0] = 1;
    lanes[1] = many;
    return many > 1 ? 2 : 1;
}

/* The intra algorithm of a stage: the forced one, else the n-ary one. */
static const struct hx_algorithm *part(enum hx_coll coll, const char *forced)
{
    return find(coll, HX_SCOPE_INTRA, forced ? forced : "nary");
}

static void hier_add(struct candidate_list *list, enum hx_coll coll, const struct hx_forced *forced, double bytes)
{
    struct hx_candidate c = {.coll = coll};
    int lanes[2], nlanes = lane_choices(list->planner, bytes, lanes), idx = 0;

    c.first = coll != HX_COLL_ALLGATHER ? part(HX_COLL_REDUCE_SCATTER, forced->intra_first) : NULL;
    c.last = coll != HX_COLL_REDUCE_SCATTER ? part(HX_COLL_ALLGATHER, forced->intra_last) : NULL;
    while ((c.inter = hx_algorithm_next(coll, HX_SCOPE_INTER, &idx)))
        for (int i = 0; i < nlanes && allowed(forced->inter, c.inter); i++) {
            c.lanes = lanes[i];
            candidate_add(list, &c);
        }
}

int hx_planner_candidates(const struct hx_planner *planner, enum hx_coll coll, double bytes, struct hx_candidate *candidates)
{
    struct candidate_list list = {planner, candidates, 0};
    const struct hx_forced *forced = &planner->forced[coll];
    int levels_forced = forced->intra_first || forced->intra_last || forced->inter || planner->forced_lanes;
    int hier = planner->shape->nnodes > 1 && planner->shape->max_local > 1;

    if (hier && (!forced->plan || !strcmp(forced->plan, "hier")))
        hier_add(&list, coll, forced, bytes);
    if (!hier || (forced->plan ? strcmp(forced->plan, "hier") != 0 : !levels_forced))
        flat_add(&list, coll, forced);
    return list.n;
}

int hx_planner_best(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, double bytes)
{
    double least = 0;
    int best = -1;

    for (int i = 0; i < n; i++) {
        double us = hx_cost_of(&planner->cost, planner->shape, &candidates[i], bytes).total_us;
        if (best < 0 || us < least) {
            best = i;
            least = us;
        }
    }
    return best;
}
