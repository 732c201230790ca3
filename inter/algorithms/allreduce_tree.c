/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tree all-reduce: a binomial reduction to member 0, then a binomial broadcast from it (tree.h has the picture).
 *
 *   p = 8:  rounds 0 1 2   1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6     2 -> 0, 6 -> 4     4 -> 0
 *           rounds 3 4 5   0 -> 4     0 -> 2, 4 -> 6     0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
 *
 * Cost: 2 ceil(log2 p) (alpha + S beta). Any p. The fewest messages, 2(p-1) in all; recursive doubling needs half the
 * rounds. Folds in the order of members.
 * Source: "The Illustrated Collectives", all-reduce, tree.
 */
#include "inter/algorithms/algorithms.h"
#include "inter/algorithms/tree.h"

void hx_allreduce_tree(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_reduce(b, 2);
    hx_join_all(b); /* in and out may be the same memory: what is sent must be gone before the result comes */
    hx_tree_bcast(b, 2, hx_tree_rounds(b->p, 2));
}
