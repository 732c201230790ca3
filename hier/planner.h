/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planner: candidates for a collective on a shape, the choice among them, the cut into slices. Everything it depends on is the
 * same on all ranks: the shape, rank 0's settings and facts, the arguments of the call. The tools use it without a job.
 */
#pragma once

#include "hier/compose/algorithm_list.h"
#include "hier/compose/compose.h"
#include "hier/cost/cost.h"
#include "runtime/plan/layout.h"
#include "runtime/ports/ports.h"
#include "hier/table/table.h"

#define HX_MAX_CANDIDATES 512
#define HX_FINE_WINDOW 4      /* slices under way at once, at least, */
#define HX_FINE_WINDOW_MAX 16 /* and at most, where their slots have room */

/* Coarse slices under way at once. Channels of a flat plan share the rings of a node. */
static inline unsigned hx_coarse_window(const struct hx_plan *plan)
{
    unsigned channels = plan->nlanes ? 1 : (unsigned)plan->nstages;
    return channels * HX_COARSE_WINDOW > HX_PAIR_RINGS ? HX_PAIR_RINGS / channels : HX_COARSE_WINDOW;
}

/* Fine slices under way at once, at most. If messages inside the node pass rings, each slice under way has rings of its own.
 * Every member of such a stage sends or receives, so all ranks get the same. */
static inline unsigned hx_fine_window_max(const struct hx_plan *plan)
{
    for (int s = 0; s < plan->nstages; s++)
        if (!plan->stages[s].coarse && plan->stages[s].ntransfers)
            return HX_FINE_WINDOW;
    return HX_FINE_WINDOW_MAX;
}

struct hx_forced { /* algorithm names from the settings, or those that hold for one size; NULL: the choice is free */
    const char *plan, *intra, *inter;
};
extern const char hx_forced_hier[]; /* the name of all composed plans */

struct hx_cached_plan {
    struct hx_plan *plan;
    struct hx_candidate candidate;
    uint64_t used; /* number of its last use */
};

struct hx_planner {
    const struct hx_shape *shape;
    int rank;
    struct hx_cost_params cost;
    struct hx_uplinks *uplinks; /* its own; cost refers to them */
    struct hx_constants constants; /* of rank 0's node: see hx_planner_params */
    struct hx_net_profile net;     /* as measured at start; alpha_us 0: not measured */
    int node_points, net_points; /* that its parameters were fitted to, by the table; 0: defaults */
    const char *node_table, *net_table; /* the table's file, if points are not 0 */
    size_t bank_bytes, live_bytes; /* slots of one rank, on the fullest node: all there are, what stays in the cache */
    int64_t forced_lanes, forced_slice, forced_turns, turns_most; /* turns: parts of a bank */
    struct hx_forced forced[HX_COLL_COUNT];
    int explain, quiet, check, single_copy;
    const struct hx_wire *wire; /* of the call: sums may cross between nodes in this format; NULL: only as they are */
    double wire_part;           /* then: bytes of codes, in parts of those of the vector */
    struct hx_graph *graph;     /* of the call, if it is a neighbourhood collective; else NULL */
    char provider[HX_TABLE_PROVIDER_BYTES]; /* libfabric's name of it; "" on one node */
    const struct hx_table_entry *table;     /* tuned choices, in the caller's memory */
    int table_n;
    uint64_t fallbacks; /* choices of another plan than the levels, the settings or the table would have */
    uint64_t chosen, by_table, built; /* choices of a plan; of these by the table; plans that were not in the cache */
    struct hx_cached_plan *plans; /* NULL: it keeps none */
    int nplans;
    uint64_t uses;
    size_t plan_bytes; /* of all plans in the cache */
};

/* All candidates that fit the shape and the settings, for a vector of `bytes`, and the operation. Returns
 * their number; at least 1 (hx_planner_init has checked the settings). *fallback: NULL, or why they are not what the shape's levels or
 * the settings would have. */
int hx_planner_candidates(const struct hx_planner *planner, enum hx_coll coll, int root, enum hx_folding folding, double bytes,
                          struct hx_candidate *candidates, const char **fallback);

/* The parameters by which plans are compared: those of the table. Without values of the node there, its known constants replace the
 * defaults. The same holds for the network. */
struct hx_cost_params hx_planner_params(const struct hx_planner *planner);

/* predict.c: the source of the parameters of the node (net 0) or of the network (net 1), as all tools print it: "constants of the node:
 * built in". */
void hx_planner_source(const struct hx_planner *planner, int net, char text[HX_SOURCE_BYTES]);
/* The groups of nodes, as all tools print them: "8 groups of nodes (HX_NODE_GROUPS); uplink_taper 4 (default)". Only if planner->uplinks. */
void hx_planner_groups(const struct hx_planner *planner, char text[HX_SOURCE_BYTES]);
/* See predict of struct hx_planner_ops. */
hx_status_t hx_planner_predict(struct hx_planner *planner, const struct hx_plan *plan, struct hx_traits traits, uint64_t count,
                               uint32_t elem_bytes, struct hx_predicted *predicted);
/* Does the shape use the parameters of the node, or of the network? */
int hx_planner_uses(const struct hx_planner *planner, int net);

/* Set what of these traits is the planner's own, before a call of hx_planner_candidates. */
void hx_planner_traits(struct hx_planner *planner, struct hx_traits traits);

/* Why a plan for a call that may use a wire format has none. */
const char *hx_planner_exact_because(const struct hx_planner *planner, enum hx_coll coll);

/* The cheapest of them. Measured constants choose only among the plans that give the same bits as the cheapest one by the other parameters:
 * results do not depend on measurements. */
int hx_planner_best(const struct hx_planner *planner, const struct hx_candidate *candidates, int n, double bytes);

/* forced.c: the settings that force algorithms, NAME[:SIZES],...; check them for this shape, HX_ERR_ENV with a detail; make names of
 * checked ones, for a vector of `bytes`. */
void hx_forced_read(struct hx_planner *planner, const struct hx_env *env);
hx_status_t hx_forced_check(const struct hx_planner *planner);
/* Put the name of a setting that leaves less to choose into text; NULL: there is none. */
const char *hx_forced_setting(const struct hx_planner *planner, char text[64]);
void hx_forced_settle(struct hx_forced forced[HX_COLL_COUNT], double bytes);

/* table_choice.c: before the cost model, use these measured choices where they hold. They stay the caller's. */
void hx_planner_use_table(struct hx_planner *planner, const struct hx_table_entry *entries, int n);
/* The entry for a call, NULL: none; and which of the candidates it names, -1: none, as this Hierax, the shape or the settings have it. It
 * gets the entry's lanes. An entry that was measured with other numbers or memory holds too, where there is none with these and the cost
 * model would not choose what could not be chosen there. */
const struct hx_table_entry *hx_planner_tuned(const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
                                              struct hx_candidate *candidates, int n, int *candidate);
/* The planner's operations, see runtime/ports/ports.h. */
hx_status_t hx_tuning_read(const struct hx_env *env, const char *provider, void **tuning, size_t *bytes);
void hx_tuning_use(struct hx_planner *planner, const void *tuning, size_t bytes);

/* How many parts of the bank calls with such slots use in turn: see struct hx_choice. */
unsigned hx_planner_turns(const struct hx_planner *planner, enum hx_coll coll, size_t slot_bytes);

/* Slices and windows for a candidate, whose plan (of any rank) is given: the same whichever rank it is of. slice_bytes: of the
 * vector; 0: the planner's choice. HX_SLICE overrides it. */
hx_status_t hx_planner_slices(const struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan *plan,
                              uint64_t count, uint32_t elem_bytes, uint64_t slice_bytes, struct hx_choice *choice);

/* Bytes of the whole vector of the collective. */
double hx_planner_vector_bytes(const struct hx_planner *planner, enum hx_coll coll, uint64_t count, uint32_t elem_bytes);

/* Bytes of slots that are live at once on one rank. */
size_t hx_planner_live_slots(const struct hx_plan *plan, const struct hx_sizes *sizes, unsigned window_fine, unsigned window_coarse);

/* The plan of a candidate, from the cache or new. The caller gets a reference. */
hx_status_t hx_planner_plan(struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan **out);
/* choice.c: the plan of a candidate, its slices and turns. If the slots of a rank have no room for it, choice->plan is NULL.
 * slice_bytes: as for hx_planner_slices. */
hx_status_t hx_planner_make(struct hx_planner *planner, const struct hx_candidate *candidate, uint64_t count, uint32_t elem_bytes,
                            uint64_t slice_bytes, struct hx_choice *choice);
/* See choose of struct hx_planner_ops. */
hx_status_t hx_planner_choose(struct hx_planner *planner, enum hx_coll coll, int root, struct hx_traits traits,
                              uint64_t count, uint32_t elem_bytes, struct hx_choice *choice);

/* rival.c: likewise. */
hx_status_t hx_planner_rival(struct hx_planner *planner, const struct hx_plan *chosen, struct hx_traits traits, uint64_t count,
                             uint32_t elem_bytes, uint32_t number, struct hx_choice *rival);
/* Do two candidates differ only in that one of them goes through slots and the other by single copy, with the same result bit by bit? */
int hx_candidates_are_rivals(const struct hx_candidate *a, const struct hx_candidate *b);

hx_status_t hx_planner_init(struct hx_planner *planner, const struct hx_env *env, const struct hx_shape *shape, int rank,
                            const struct hx_job *job, const struct hx_net_profile *net); /* net NULL: EFA's */
void hx_planner_release(struct hx_planner *planner);
