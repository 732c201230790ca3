/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial broadcast: in each round everybody who has the vector sends it to one more (tree.h has the picture).
 *
 *   p = 8:  round 0   0 -> 4        round 1   0 -> 2, 4 -> 6        round 2   0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
 *
 * Cost: ceil(log2 p) (alpha + S beta). Any p. For small vectors.
 * Source: "The Illustrated Collectives", broadcast, tree; Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_bcast(b, 2, 0);
}

const struct hx_algorithm hx_bcast_binomial = {
    .name = "binomial", .coll = HX_COLL_BCAST, .build = build, .counts = hx_binomial_counts,
    .about = "log2 p rounds of whole vectors: small vectors", .source = "The Illustrated Collectives"};
