/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * k-nomial reduction: in each round groups of k send their sums to one of them, which adds them up in one pass (tree.h
 * has the picture). With k = 4 it takes half the rounds of the binomial tree, with three messages in each.
 *
 * Cost: ceil(log_k p) (alpha + (k-1) S beta). Any p. The operation must be commutative.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_reduce(b, b->radix);
}

#define ROW(k) \
    {HX_RADIX_NAMED("knomial", k, 4), .coll = HX_COLL_REDUCE, .build = build, .counts = hx_knomial_counts, \
     .needs = HX_NEEDS_COMMUTATIVE | HX_CARRIES_CODES, .about = "log" #k " p rounds of up to " #k " - 1 whole vectors at once: small vectors", \
     .source = "MPICH, UCX"}

const struct hx_algorithm hx_reduce_knomial[] = {HX_RADICES(ROW)};
