/* SPDX-License-Identifier: BSD-3-Clause */
/* Candidates: what the tables of algorithms offer for a shape, narrowed by the settings that force a name (forced.c). */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include "runtime/base/memcpy.h"
#include "runtime/plan/graph.h"
#include <stdio.h>
#include <string.h>

#define SLOT_BYTES_OF_COUNT (2 * sizeof(size_t)) /* of an all-to-all with counts, half of it gaps at most */

/* Do the settings leave it, and is it worth a look for so many members? A forced family leaves its radix to the model. */
static int offered(const char *forced, const struct hx_algorithm *a, int members)
{
    if (forced && !strcmp(forced, a->name))
        return 1;
    return (!forced || hx_algorithm_has_name(a, forced)) && hx_algorithm_radix_pays(a, members);
}

/* ---- the planner of a shape ---------------------------------------------------------------------------------------- */

/* The share of this shape's ranks among the job's ranks on a machine's cores. Unless HX_NODES is set, its largest node counts as
 * the job's most crowded one. */
static double part_of_sharers(const struct hx_env *env, const struct hx_shape *shape, const struct hx_job *job)
{
    if (env->nodes && job->nranks)
        return (double)shape->nranks / job->nranks;
    return job->max_local ? (double)shape->max_local / job->max_local : 1;
}

hx_status_t hx_planner_init(struct hx_planner *planner, const struct hx_env *env, const struct hx_shape *shape, int rank,
                            const struct hx_job *job, const struct hx_net_profile *net)
{
    struct hx_shared dimensions = {0};

    memset(planner, 0, sizeof(*planner));
    planner->shape = shape;
    planner->rank = rank;
    planner->explain = env->explain;
    planner->check = env->check;
    planner->single_copy = job->single_copy;
    planner->forced_lanes = env->lanes;
    planner->forced_slice = env->slice;
    planner->constants = job->constants;
    planner->net = job->net;
    hx_cost_defaults(&planner->cost, job->ranks_per_cpu * part_of_sharers(env, shape, job));
    planner->turns_most = hx_calls_kept(planner->cost.oversubscription) / 2; /* each parity of calls has its bank */
    planner->forced_turns = env->turns < planner->turns_most ? env->turns : planner->turns_most;
    if (job->cpus_per_node > 0 && (double)job->llc_bytes / job->cpus_per_node < planner->cost.core_cache_bytes)
        planner->cost.core_cache_bytes = (double)job->llc_bytes / job->cpus_per_node;
    if (hx_memcpy_goes_around()) /* the kernel copies that way too: by slots all-to-alls of 1 MiB took .7 to .9 of the time */
        planner->cost.core_cache_bytes = 0;
    if (net) {
        if (shape->nnodes > 1 && net->provider)
            snprintf(planner->provider, sizeof(planner->provider), "%s", net->provider);
        planner->cost.net_alpha_us = net->alpha_us;
        planner->cost.net_gb_s = net->gb_s;
        planner->cost.stream_gb_s = net->stream_gb_s;
        planner->cost.core_gb_s = net->core_gb_s;
        planner->cost.copies = net->core_gb_s < HX_CORE_SPARED_GB_S;
        planner->cost.message_us = net->message_us;
        hx_cost_cut(&planner->cost);
    }
    if (shape->nnodes > 1 && shape->group_of && !(planner->cost.uplinks = planner->uplinks = hx_uplinks_new()))
        return HX_ERR_NOMEM;
    hx_shared_dimension(&dimensions, job->max_local ? job->max_local : shape->max_local, shape->nranks, job->llc_bytes);
    planner->bank_bytes = dimensions.bank_bytes;
    planner->live_bytes = dimensions.live_bytes;
    hx_forced_read(planner, env);
    /* for the whole job; a communicator may have no such plan, which then is a fallback */
    return job->nranks && job->nranks != shape->nranks ? HX_SUCCESS : hx_forced_check(planner);
}

/* ---- candidates --------------------------------------------------------------------------------------------------- */

struct candidate_list {
    const struct hx_planner *planner;
    enum hx_folding folding;
    int ordered;
    struct hx_candidate *items;
    int n;
    double bytes; /* of the vector */
};

#define LEVELS_WORK_BYTES (16.0 * 1024 * 1024)

/* On the way of a reduce-scatter by levels a rank holds what it has charge of in its innermost domain: of long vectors, more than it may
 * cost in private memory. */
static int holds_too_much(const struct hx_candidate *candidate, const struct hx_shape *shape, double bytes)
{
    return hx_coll_reduces(candidate->coll) && hx_coll_gets(candidate->coll) != HX_HOLDS_ALL && shape->nlevels &&
           hx_candidate_needs(candidate, HX_NEEDS_LEVELS) &&
           bytes * shape->most_domains[shape->nlevels - 1] / shape->max_local > LEVELS_WORK_BYTES;
}

static void candidate_add(struct candidate_list *list, const struct hx_candidate *candidate)
{
    if (list->folding != HX_FOLDS_EXACTLY && hx_candidate_needs(candidate, HX_NEEDS_EXACT))
        return;
    if (!list->planner->single_copy && hx_candidate_needs(candidate, HX_NEEDS_SINGLE_COPY))
        return;
    if (holds_too_much(candidate, list->planner->shape, list->bytes))
        return;
    if (list->n < HX_MAX_CANDIDATES && hx_candidate_fits(candidate, list->planner->shape))
        list->items[list->n++] = *candidate;
    if (list->n > 0) {
        list->items[list->n - 1].exact = list->folding == HX_FOLDS_EXACTLY;
        list->items[list->n - 1].graph = list->planner->graph;
    }
    if (list->planner->wire && !candidate->wire) { /* the same, in fewer bits between nodes */
        struct hx_candidate coded = *candidate;
        coded.wire = list->planner->wire;
        coded.wire_part = list->planner->wire_part;
        candidate_add(list, &coded);
    }
}

/* On one channel, two, twice as many ..., unless the settings say how many. */
static void channels_add(struct candidate_list *list, struct hx_candidate *c)
{
    int most = hx_algorithm_most_channels(c->flat, list->planner->shape), lanes = (int)list->planner->forced_lanes;

    if (lanes)
        c->channels = lanes < most ? lanes : most;
    candidate_add(list, c);
    for (c->channels = 2; !lanes && c->channels <= most; c->channels *= 2)
        candidate_add(list, c);
}

static void flat_add(struct candidate_list *list, enum hx_coll coll, int root, const struct hx_forced *forced)
{
    const struct hx_shape *shape = list->planner->shape;
    unsigned scope = hx_flat_scope(shape);
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, scope, &idx))) {
        const char *level = scope == HX_SCOPE_INTRA ? forced->intra : scope == HX_SCOPE_INTER ? forced->inter : NULL;
        if (offered(forced->plan ? forced->plan : level, a, shape->nranks))
            channels_add(list, &(struct hx_candidate){.coll = coll, .root = root, .ordered = list->ordered, .flat = a});
    }
}

#define LANE_CHOICES 5
#define FED_BYTES 65536.0      /* per node and lane: messages that no cost but their bytes' shows in */
#define FED_LARGE_BYTES 16384.0
#define LARGE_NODE 8           /* ranks: one that reads the slots of so many takes longer than sending shorter messages */
#define SOME_LANES 16          /* of a large node: some 8K feeds no more, but one rank would take longer on its own */
#define MANY_OF_ALL 4.0        /* if the vector feeds a quarter of the ranks, more lanes gain little and send short messages */

static int lanes_add(int lanes[LANE_CHOICES], int n, int wanted)
{
    for (int i = 0; i < n; i++)
        if (lanes[i] == wanted)
            return n;
    lanes[n] = wanted;
    return n + 1;
}

/* The numbers of lanes worth a look: one, and as many as the vector feeds. On large nodes lanes also share out the work inside
 * the nodes, however short their messages become: some lanes, and all. */
static int lane_choices(const struct hx_planner *planner, enum hx_coll coll, double bytes, int lanes[LANE_CHOICES])
{
    static const double feeds[] = {FED_BYTES, FED_LARGE_BYTES};
    int most = planner->shape->max_local < HX_MATCH_STAGES ? planner->shape->max_local : HX_MATCH_STAGES, n = 1;
    int pairs = hx_coll_has_pairs(coll); /* lanes of an all-to-all save a hop inside the node */

    lanes[0] = hx_coll_has_pair_counts(coll) ? planner->shape->max_local : 1;
    if (!hx_candidate_takes_lanes(coll) || hx_coll_has_pair_counts(coll))
        return 1;
    if (planner->forced_lanes > 0) {
        lanes[0] = planner->forced_lanes > most ? most : (int)planner->forced_lanes;
        return 1;
    }
    for (int i = 0; i < (most < LARGE_NODE || (hx_coll_has_blocks(coll) && !hx_coll_reduces(coll)) ? 1 : 2); i++) {
        double fed = bytes / (planner->shape->nnodes * feeds[i]);
        int many = fed > most || pairs ? most : (int)fed;
        if (many > 1)
            n = lanes_add(lanes, n, many);
    }
    if (most >= LARGE_NODE && !hx_coll_is_rooted(coll) && !pairs) {
        n = lanes_add(lanes, n, most < SOME_LANES ? most : SOME_LANES);
        if (bytes / (planner->shape->nnodes * FED_LARGE_BYTES) < most / MANY_OF_ALL)
            n = lanes_add(lanes, n, most);
    }
    return n;
}

#define PLAIN "nary" /* by slots; every collective that is a part of compositions has it */

/* The name that the settings force for a part of coll's compositions, or NULL. A name forced for coll holds for its parts that
 * have such an algorithm; the other parts are plain. */
static const char *part_forced(const struct hx_planner *planner, enum hx_coll coll, enum hx_coll part)
{
    const char *name = planner->forced[coll].intra;

    if (part == HX_COLL_COUNT)
        return NULL;
    if (!name)
        return planner->forced[part].intra;
    return hx_algorithm_find(part, HX_SCOPE_INTRA, name) ? name : PLAIN;
}

/* The intra algorithm of a stage: the forced one, else that of the wanted name, else the plain one. */
static const struct hx_algorithm *part_find(const struct hx_planner *planner, enum hx_coll coll, enum hx_coll part, const char *wanted)
{
    const char *name = part_forced(planner, coll, part);
    const struct hx_algorithm *a;

    if (part == HX_COLL_COUNT)
        return NULL;
    a = hx_algorithm_find(part, HX_SCOPE_INTRA, name ? name : wanted);
    return a && hx_candidate_part_serves(coll, a) ? a : hx_algorithm_find(part, HX_SCOPE_INTRA, PLAIN);
}

/* With one inter algorithm and number of lanes: the first and last stages inside the nodes are plain, then by each other algorithm in shared
 * memory, as far as there are such. The first stage of a scan does all of the work inside the node: each of its algorithms is a candidate. */
static void composition_add(struct candidate_list *list, struct hx_candidate *c)
{
    const enum hx_coll parts[2] = {hx_candidate_first(c->coll, c->lanes), hx_candidate_last(c->coll, c->lanes)};
    const struct hx_algorithm *plain[2], *kind;
    int idx = 0;

    for (int i = 0; i < 2; i++)
        plain[i] = part_find(list->planner, c->coll, parts[i], PLAIN);
    c->first = plain[0];
    c->last = plain[1];
    if (hx_coll_is_scan(c->coll) && !list->planner->forced[c->coll].intra) {
        while ((c->first = hx_algorithm_next(parts[0], HX_SCOPE_INTRA, &idx)))
            candidate_add(list, c);
        return;
    }
    candidate_add(list, c);
    for (int i = 0; i < 2; i++, idx = 0)
        while ((kind = hx_algorithm_next(parts[i], HX_SCOPE_INTRA, &idx))) {
            if (!(kind->needs & HX_NEEDS_SHARED_MEMORY) || (i == 1 && hx_algorithm_find(parts[0], HX_SCOPE_INTRA, kind->name)))
                continue;
            c->first = part_find(list->planner, c->coll, parts[0], kind->name);
            c->last = part_find(list->planner, c->coll, parts[1], kind->name);
            if (c->first != plain[0] || c->last != plain[1])
                candidate_add(list, c);
        }
}

/* Does the algorithm that a setting names need that? */
static int name_needs(const char *name, enum hx_coll coll, enum hx_needs needs)
{
    const struct hx_algorithm *a = name ? hx_algorithm_find(coll, HX_SCOPE_INTRA, name) : NULL;

    return a && a->needs & needs;
}

static void hier_add(struct candidate_list *list, enum hx_coll coll, int root, double bytes)
{
    const struct hx_planner *planner = list->planner;
    struct hx_candidate c = {.coll = coll, .root = root, .ordered = list->ordered};
    int lanes[LANE_CHOICES], nlanes = lane_choices(planner, coll, bytes, lanes), idx = 0;

    if (nlanes > 1 && hx_coll_is_rooted(coll) && name_needs(planner->forced[coll].intra, coll, HX_NEEDS_LEVELS)) { /* one lane has none */
        nlanes--;
        memmove(lanes, lanes + 1, (size_t)nlanes * sizeof(*lanes));
    }
    while ((c.inter = hx_algorithm_next(hx_candidate_between(coll), HX_SCOPE_INTER, &idx))) {
        const int tried = offered(planner->forced[coll].inter, c.inter, planner->shape->nnodes) ? nlanes : 0;
        for (int i = 0; i < tried; i++) {
            c.lanes = lanes[i];
            composition_add(list, &c);
        }
    }
}

/* Do the settings say anything about the levels of a composition? */
static int levels_are_forced(const struct hx_planner *planner, enum hx_coll coll)
{
    if ((planner->forced_lanes && hx_candidate_takes_lanes(coll) && !hx_coll_has_pair_counts(coll)) || planner->forced[coll].inter)
        return 1;
    for (int lanes = 1; lanes <= 2; lanes++)
        if (part_forced(planner, coll, hx_candidate_first(coll, lanes)) ||
            part_forced(planner, coll, hx_candidate_last(coll, lanes)))
            return 1;
    return 0;
}

/* Why nothing can be composed of this shape's levels; NULL where it can, or where there is one level. */
static const char *levels_lack(const struct hx_planner *planner, enum hx_coll coll, int ordered)
{
    const struct hx_shape *shape = planner->shape;

    if (shape->nnodes == 1 || shape->max_local == 1)
        return NULL;
    if (!hx_candidate_composes(coll, shape))
        return "flat, because a composed plan needs consecutive ranks on each node";
    if (hx_coll_has_pair_counts(coll) && SLOT_BYTES_OF_COUNT * (planner->graph ? planner->graph->most : (size_t)shape->nranks) > planner->live_bytes)
        return "flat, because the slots of a rank have no room for the counts of all ranks";
    if (hx_coll_has_pair_counts(coll) && shape->max_local >= HX_MATCH_STAGES)
        return "flat, because a node has more ranks than a plan can have lanes";
    return ordered && !hx_shape_is_in_order(shape)
               ? "flat, because the operation is not commutative: a composed plan then needs consecutive ranks on each node"
               : NULL;
}

static void candidates_list(struct candidate_list *list, enum hx_coll coll, int root, double bytes, int composes)
{
    const struct hx_planner *planner = list->planner;
    int hier = planner->shape->nnodes > 1 && planner->shape->max_local > 1 && composes;
    struct hx_forced forced = planner->forced[coll];
    int wants_hier = forced.plan && !strcmp(forced.plan, hx_forced_hier);

    if (hier && (!forced.plan || wants_hier))
        hier_add(list, coll, root, bytes);
    if (!hier && wants_hier)
        forced.plan = NULL;
    if (!hier || (forced.plan ? !wants_hier : !levels_are_forced(planner, coll)))
        flat_add(list, coll, root, &forced);
}

/* Do the settings want levels in any part of coll's plans? */
static int levels_are_wanted(const struct hx_planner *planner, enum hx_coll coll)
{
    const struct hx_forced *forced = &planner->forced[coll];
    int wanted = name_needs(forced->plan, coll, HX_NEEDS_LEVELS) || name_needs(forced->intra, coll, HX_NEEDS_LEVELS);

    for (int lanes = 1; lanes <= 2; lanes++) {
        enum hx_coll first = hx_candidate_first(coll, lanes), last = hx_candidate_last(coll, lanes);
        wanted |= name_needs(part_forced(planner, coll, first), first, HX_NEEDS_LEVELS) ||
                  name_needs(part_forced(planner, coll, last), last, HX_NEEDS_LEVELS);
    }
    return wanted;
}

/* Why no candidate is as the settings have it. */
static const char *settings_lack(const struct hx_planner *planner, int levels, int ordered, int fits)
{
    if (!fits)
        return "the settings do not apply: this plan does not exist on the nodes of this communicator";
    if (levels && !planner->shape->nlevels)
        return "the settings do not apply: this algorithm needs levels inside a node, and the nodes have none";
    if (levels && ordered)
        return "the settings do not apply: the operation is not commutative, and a domain or node has no consecutive ranks";
    if (levels)
        return "the settings do not apply: for a vector of this length, levels would take too much memory of each rank";
    return ordered ? "the settings do not apply: this algorithm needs a commutative operation"
                   : "the settings do not apply: this algorithm needs an exact operation, and this operation rounds";
}

void hx_planner_traits(struct hx_planner *planner, struct hx_traits traits)
{
    planner->cost.shared_alloc = traits.shared_alloc;
    planner->wire = traits.wire;
    planner->graph = traits.graph;
    if (traits.wire)
        planner->wire_part = (double)hx_wire_bytes(traits.wire, (size_t)traits.wire->block) / (traits.wire->block * (double)traits.wire_elem_bytes);
}

const char *hx_planner_exact_because(const struct hx_planner *planner, enum hx_coll coll)
{
    const struct hx_algorithm *a;
    int idx = 0;

    if (planner->shape->nnodes == 1)
        return "there is one node";
    while ((a = hx_algorithm_next(coll, HX_SCOPE_INTER, &idx)))
        if (a->needs & HX_CARRIES_CODES)
            return "the plans that can use the wire format take longer, or the settings rule them out";
    return "no plan of this collective can use a wire format";
}

/* A scan is in order whatever the operation. */
int hx_planner_candidates(const struct hx_planner *planner, enum hx_coll coll, int root, enum hx_folding folding, double bytes,
                          struct hx_candidate *candidates, const char **fallback)
{
    int ordered = folding == HX_FOLDS_IN_ORDER && hx_coll_reduces(coll) && !hx_coll_is_scan(coll);
    struct hx_planner at_size = *planner, unforced;
    struct candidate_list list = {.planner = &at_size, .folding = folding, .ordered = ordered, .items = candidates, .bytes = bytes}, exact;
    int levels;

    hx_forced_settle(at_size.forced, bytes);
    levels = levels_are_wanted(&at_size, coll);
    *fallback = levels_lack(planner, coll, list.ordered);
    candidates_list(&list, coll, root, bytes, !*fallback);
    if (list.n == 0) {
        exact = list;
        exact.folding = HX_FOLDS_EXACTLY;
        exact.ordered = 0;
        candidates_list(&exact, coll, root, bytes, !*fallback);
        unforced = *planner;
        memset(unforced.forced, 0, sizeof(unforced.forced));
        list.planner = &unforced;
        candidates_list(&list, coll, root, bytes, !*fallback);
        *fallback = settings_lack(planner, levels, ordered, levels || exact.n > 0);
    }
    if (!*fallback && levels && hx_coll_is_rooted(coll) && list.n > 0 && candidates[list.n - 1].lanes == 1)
        *fallback = "the settings do not apply: with one lane, the ranks of a node have nothing to divide by levels";
    if (!*fallback && list.n > 0 && candidates[0].last && name_needs(at_size.forced[coll].intra, coll, HX_NEEDS_SINGLE_COPY))
        *fallback = hx_candidate_unreadable(coll);
    return list.n;
}

struct hx_cost_params hx_planner_params(const struct hx_planner *planner)
{
    struct hx_cost_params params = planner->cost;

    if (planner->node_points == 0)
        hx_cost_constants(&params, &planner->constants);
    if (planner->net_points == 0)
        hx_cost_net(&params, &planner->net);
    return params;
}

/* The cheapest of the candidates whose results have the same bits as those of `like`; -1: of all. */
static int cheapest(const struct hx_planner *planner, const struct hx_cost_params *params, const struct hx_candidate *candidates, int n,
                    double bytes, int like)
{
    double least = 0;
    int best = -1;

    for (int i = 0; i < n; i++) {
        if (like >= 0 && !hx_candidates_fold_alike(&candidates[like], &candidates[i], planner->shape))
            continue;
        double us = hx_cost_of(params, planner->shape, &candidates[i], bytes).total_us;
        if (best < 0 || us < least) {
            best = i;
            least = us;
        }
    }
    return best;
}

static int is_measured(const struct hx_planner *planner)
{
    return planner->constants.source != HX_CONSTANTS_BUILT_IN || planner->net.alpha_us > 0;
}

int hx_planner_best(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, double bytes)
{
    const int best = cheapest(planner, &planner->cost, candidates, n, bytes, -1);
    const struct hx_cost_params params = hx_planner_params(planner);

    return best < 0 || !is_measured(planner) ? best : cheapest(planner, &params, candidates, n, bytes, best);
}
