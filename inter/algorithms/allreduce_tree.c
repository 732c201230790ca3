/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tree all-reduce: a binomial reduction to member 0, then a binomial broadcast from it (tree.h has the picture).
 *
 *   p = 8:  rounds 0 1 2   1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6     2 -> 0, 6 -> 4     4 -> 0
 *           rounds 3 4 5   0 -> 4     0 -> 2, 4 -> 6     0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
 *
 * Cost: 2 ceil(log2 p) (alpha + S beta). Any p. The fewest messages, 2(p-1) in all; recursive doubling needs half the
 * rounds. Folds in the order of members.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_reduce(b, 2);
    hx_join_all(b); /* in and out may be the same memory: what is sent must be gone before the result comes */
    hx_tree_bcast(b, 2, hx_tree_rounds(b->p, 2));
}

static struct hx_counts counts(struct hx_group g)
{
    double log = hx_tree_rounds(g.p, 2), others = g.p - 1;

    return (struct hx_counts){.rounds = 2 * log, .messages = log, .vectors = log, .all_messages = 2 * others, .all_vectors = 2 * others,
                              .reads = 2 * log, .all_reads = 2 * others};
}

const struct hx_algorithm hx_allreduce_tree = {
    .name = "tree", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .about = "up and down a binomial tree: 2 ceil(log2 p) rounds of whole vectors, the fewest messages",
    .source = "The Illustrated Collectives"};
