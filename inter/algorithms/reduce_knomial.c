/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * k-nomial reduction: in each round groups of k send their sums to one of them, which adds them up in one pass; here
 * k = 4 (tree.h has the picture). Half the rounds of the binomial tree, three messages in each.
 *
 * Cost: ceil(log_k p) (alpha + (k-1) S beta). Any p. The operation must be commutative.
 * Source: the k-nomial tree of MPICH and UCX.
 */
#include "inter/algorithms/algorithms.h"
#include "inter/algorithms/tree.h"

void hx_reduce_knomial(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_reduce(b, HX_KNOMIAL_RADIX);
}
