/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * k-nomial reduction: in each round groups of k send their sums to one of them, which adds them up in one pass; here
 * k = 4 (tree.h has the picture). Half the rounds of the binomial tree, three messages in each.
 *
 * Cost: ceil(log_k p) (alpha + (k-1) S beta). Any p. The operation must be commutative.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_reduce(b, HX_KNOMIAL_RADIX);
}

const struct hx_algorithm hx_reduce_knomial = {
    .name = "knomial", .coll = HX_COLL_REDUCE, .build = build, .counts = hx_knomial_counts, .needs = HX_NEEDS_COMMUTATIVE,
    .about = "log4 p rounds of 3 whole vectors at once: small vectors", .source = "MPICH, UCX"};
