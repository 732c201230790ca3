/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial reduction: in each round half of those who are left send their sum to another one, which adds it to its own
 * (tree.h has the picture).
 *
 *   p = 8:  round 0   1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6        round 1   2 -> 0, 6 -> 4        round 2   4 -> 0
 *
 * Cost: ceil(log2 p) (alpha + S beta). Any p. The operation must be commutative: numbers are counted from the root.
 * Source: "The Illustrated Collectives", reduce, tree; Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#include "algorithms.h"
#include "tree.h"

void hx_reduce_binomial(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_reduce(b, 2);
}
