/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composition: a candidate (which algorithm at which level, how many lanes) becomes a rank's plan.
 *
 *   all-reduce      intra reduce-scatter  ->  inter all-reduce on every lane     ->  intra all-gather
 *   reduce-scatter  intra reduce-scatter  ->  inter reduce-scatter on every lane ->  intra scatter    (fewer lanes than members)
 *   all-gather      intra gather (fewer lanes than members)  ->  inter all-gather on every lane  ->  intra all-gather
 *                   one lane, by Bruck's exchange: the locality-aware one (inter/algorithms/allgather_kbruck.c)
 *   broadcast       root's node: scatter over the lanes  ->  inter broadcast of every lane  ->  intra all-gather
 *                   one lane: inter broadcast  ->  intra broadcast
 *   reduce          intra reduce-scatter  ->  inter reduction of every lane  ->  root's node: gather from the lanes
 *                   one lane: intra reduction  ->  inter reduction
 *   gather          intra gather (fewer lanes than members)  ->  inter gather on every lane  ->  root's node: gather from the lanes
 *                   the blocks of the root's own node go straight to the root
 *   scatter         root's node: scatter over the lanes  ->  inter scatter on every lane  ->  intra scatter (fewer lanes than members)
 *   all-to-all      intra all-to-all: a carrier takes the blocks to its lane's ranks, on all nodes  ->  inter all-to-all on every
 *                   lane  ->  intra scatter (fewer lanes than members)
 *   with counts     intra all-to-all of these  ->  short blocks as above, on as many lanes as the fullest node has ranks  ->  long ones
 *                   from rank to rank
 *   neighbourhood   as with counts, where each stage has only the edges of a graph (neighbors.c)
 *   barrier         every node's ranks tell its leader  ->  inter barrier of the leaders  ->  leaders tell their ranks
 *   scan            intra scan  ->  inter exclusive scan of the nodes' sums, on their last ranks  ->  intra apply: put that before
 *   exclusive scan  likewise; a node's last rank adds its own part to its result, to have the node's sum
 *                   both need nodes that hold runs of ranks
 *   flat            one algorithm over all ranks; a ring on several channels (flat.c)
 *   nary_levels     on one node, or as an intra reduce-scatter or all-gather: a stage per level inside the node (levels.c)
 *
 * Order: an operation that is not commutative wants the ranks' contributions folded in rank order. Algorithms that need no commutative
 * operation fold in the order of their members; so compositions of them do where nodes hold runs of ranks, as 0 1 2 | 3 4 | 5 6, and
 * elsewhere flat ones do whose members are the ranks in order.
 *
 * Lanes: on node i with n ranks, local rank floor(l n / lanes) carries lane l, and lane l covers the local ranks from there up to
 * floor((l + 1) n / lanes). So any node size goes with any number of lanes: with fewer ranks than lanes a rank carries several. If
 * there is a root, its node counts local ranks from the root on, so that the root carries lane 0 itself.
 */
#pragma once

#include "runtime/plan/plan.h"

struct hx_candidate {
    enum hx_coll coll;
    int root;                         /* a rank; 0 where the collective has none */
    int lanes;                        /* 0: flat */
    int channels;                     /* flat: rings side by side, "flat(ring) x4"; 0 and 1: one */
    int ordered;                      /* its result must fold what the ranks contribute in their order; flat, they stand in it */
    int exact;                        /* the operation is exact: all plans give the same result */
    const struct hx_algorithm *flat;  /* flat: the one algorithm */
    const struct hx_algorithm *first; /* intra, of hx_candidate_first; NULL where that is none */
    const struct hx_algorithm *inter;
    const struct hx_algorithm *last;  /* intra, of hx_candidate_last */
    const struct hx_wire *wire;       /* messages between nodes are codes in this format; NULL: as they are */
    double wire_part;                 /* then: bytes of codes, in parts of those of the vector */
    struct hx_graph *graph;           /* of an all-to-all with counts: only along its edges, see neighbors.c; NULL: between all ranks */
};

/* The collective whose intra algorithms serve as the first or last stage of a composition with so many lanes. HX_COLL_COUNT:
 * the stage is fixed or missing. */
enum hx_coll hx_candidate_first(enum hx_coll coll, int lanes);
enum hx_coll hx_candidate_last(enum hx_coll coll, int lanes);

/* The collective whose inter algorithms serve between the nodes. */
enum hx_coll hx_candidate_between(enum hx_coll coll);

/* Can it be composed of levels on this shape? If not, though there are two levels, a flat plan serves. */
int hx_candidate_composes(enum hx_coll coll, const struct hx_shape *shape);

/* Can it travel on several lanes? */
int hx_candidate_takes_lanes(enum hx_coll coll);

/* Flat: the stages that run side by side. */
static inline int hx_candidate_channels(const struct hx_candidate *candidate)
{
    return candidate->channels > 1 ? candidate->channels : 1;
}

/* The algorithm that sends between nodes, and how many members it has. */
static inline const struct hx_algorithm *hx_candidate_sender(const struct hx_candidate *candidate, const struct hx_shape *shape, int *members)
{
    *members = candidate->lanes ? shape->nnodes : shape->nranks;
    return candidate->lanes ? candidate->inter : candidate->flat;
}

/* The node of each member of that algorithm; of several channels those of the first. Returns the member that is the root, 0 where there is none. */
int hx_candidate_member_nodes(const struct hx_candidate *candidate, const struct hx_shape *shape, int *nodes);

/* On how many channels can an algorithm run flat on this shape? Each has a ring of its own between any two ranks of a node. */
int hx_algorithm_most_channels(const struct hx_algorithm *flat, const struct hx_shape *shape);

#define HX_CANDIDATE_NAME_BYTES 64

void hx_candidate_name(const struct hx_candidate *candidate, char name[HX_CANDIDATE_NAME_BYTES]);
/* Give a family in a plan's name its usual radix: tables of older versions name none. */
void hx_candidate_name_renew(char name[HX_CANDIDATE_NAME_BYTES]);
/* Is a plan's name made of words that there are? Possibly no shape has such a candidate. */
int hx_candidate_name_is_known(const char *name);

/* Does any part of it need that? */
int hx_candidate_needs(const struct hx_candidate *candidate, enum hx_needs needs);

/* Does it fold what the ranks contribute in their order? */
int hx_candidate_keeps_order(const struct hx_candidate *candidate, const struct hx_shape *shape);

/* Do the results of two candidates for a call have the same bits, whatever is reduced? For different plans that reduce this is known only of
 * those on one node that fold all contributions at once. */
int hx_candidates_fold_alike(const struct hx_candidate *a, const struct hx_candidate *b, const struct hx_shape *shape);

/* Why no rank can fetch in the last stage of a composition: of an all-gather each rank may place the blocks elsewhere in its out, and
 * only that rank knows where; of a scatter carriers have the blocks in WORK. NULL: ranks can. */
const char *hx_candidate_unreadable(enum hx_coll coll);

/* No, if it would fetch where no rank can. With one lane there is nothing to share out among the ranks of a node, as a broadcast or
 * reduction by levels would. */
int hx_candidate_part_serves(enum hx_coll coll, const struct hx_algorithm *part);

/* May this candidate serve this shape at all? */
int hx_candidate_fits(const struct hx_candidate *candidate, const struct hx_shape *shape);

/* Find the one of this name. Only some numbers of lanes are worth a look at a size; with any_lanes it may be one with others. Returns its
 * index, or that of one that is alike but for the lanes; -1: there is none. */
int hx_candidate_find(const struct hx_candidate *candidates, int n, const char *name, const struct hx_shape *shape, int any_lanes,
                      struct hx_candidate *found);

/* The plan of rank. NULL after an error. */
struct hx_plan *hx_compose(const struct hx_shape *shape, int rank, const struct hx_candidate *candidate);
