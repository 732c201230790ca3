/* SPDX-License-Identifier: BSD-3-Clause */
/* The time that the cost model predicts for a plan, and the sources of its parameters. A table takes precedence over a file and a measurement
 * at start, and these over built-in values. */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hx_planner_uses(const struct hx_planner *planner, int net)
{
    return net ? planner->shape->nnodes > 1 : planner->shape->max_local > 1;
}

static void node_source(const struct hx_planner *planner, char text[HX_SOURCE_BYTES])
{
    const enum hx_constants_source source = (enum hx_constants_source)planner->constants.source;
    int n = snprintf(text, HX_SOURCE_BYTES, "constants of the node: %s", hx_constants_source_names[source]);

    if (source != HX_CONSTANTS_BUILT_IN)
        snprintf(text + n, HX_SOURCE_BYTES - (size_t)n, ", hash %016llx", (unsigned long long)planner->constants.hash);
}

void hx_planner_source(const struct hx_planner *planner, int net, char text[HX_SOURCE_BYTES])
{
    const int points = net ? planner->net_points : planner->node_points;

    if (points)
        snprintf(text, HX_SOURCE_BYTES, "constants of the %s: table %s, fitted to %d points", net ? "network" : "node",
                 net ? planner->net_table : planner->node_table, points);
    else if (net && planner->net.alpha_us > 0)
        snprintf(text, HX_SOURCE_BYTES, "constants of the network: measured at start over provider %s", planner->provider);
    else if (net)
        snprintf(text, HX_SOURCE_BYTES, "constants of the network: defaults for provider %s", planner->provider);
    else
        node_source(planner, text);
}

/* Does this group have a node of the shape? */
static int has_node(const struct hx_shape *shape, int group)
{
    int node = 0;

    while (node < shape->nnodes && shape->group_of[node] != group)
        node++;
    return node < shape->nnodes;
}

void hx_planner_groups(const struct hx_planner *planner, char text[HX_SOURCE_BYTES])
{
    const double taper = hx_planner_params(planner).uplink_taper;
    int n = 0;

    for (int group = 0; group < planner->shape->ngroups; group++)
        n += has_node(planner->shape, group);
    snprintf(text, HX_SOURCE_BYTES, "%d groups of nodes (HX_NODE_GROUPS); uplink_taper %g%s: the links of a group's nodes together carry %g times as much "
             "as its uplink", n, taper, taper == HX_UPLINK_TAPER ? " (default)" : "", taper);
}

/* The source alone, without "constants of the node: ". "": the shape does not use these parameters. */
static void source_copy(const struct hx_planner *planner, int net, char out[HX_SOURCE_BYTES])
{
    char text[HX_SOURCE_BYTES];

    hx_planner_source(planner, net, text);
    snprintf(out, HX_SOURCE_BYTES, "%s", hx_planner_uses(planner, net) ? strchr(text, ':') + 2 : "");
}

hx_status_t hx_planner_predict(struct hx_planner *planner, const struct hx_plan *plan, struct hx_traits traits, uint64_t count,
                               uint32_t elem_bytes, struct hx_predicted *predicted)
{
    const double bytes = hx_planner_vector_bytes(planner, plan->coll, count, elem_bytes);
    struct hx_candidate *candidates = malloc(HX_MAX_CANDIDATES * sizeof(*candidates)), found;
    const struct hx_cost_params params = hx_planner_params(planner);
    const char *fallback;

    if (!candidates)
        return hx_fail(HX_ERR_NOMEM, "no memory for candidates");
    hx_planner_traits(planner, traits);
    /* by its name, because the cache of plans may have dropped it */
    const int n = hx_planner_candidates(planner, plan->coll, plan->root, traits.folding, bytes, candidates, &fallback);
    predicted->us = hx_candidate_find(candidates, n, plan->name, planner->shape, 1, &found) >= 0
                        ? hx_cost_of(&params, planner->shape, &found, bytes).total_us : 0;
    free(candidates);
    source_copy(planner, 0, predicted->node);
    source_copy(planner, 1, predicted->network);
    return HX_SUCCESS;
}
