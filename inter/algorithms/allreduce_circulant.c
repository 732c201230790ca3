/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant all-reduce: a reduce-scatter and an all-gather in ceil(log2 p) rounds each, with the least bytes,
 * whatever p is (circulant.h has the picture).
 *
 * Cost: 2 ceil(log2 p) alpha + 2 S (p-1)/p beta. Any p. The operation must be commutative.
 */
#include "inter/algorithms/circulant.h"

static void build(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_circulant_reduce_scatter(b, hx_at(b->out, b->me, 1));
    hx_circulant_allgather(b, hx_tree_rounds(b->p, 2));
}

const struct hx_algorithm hx_allreduce_circulant = {
    .name = "circulant", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = hx_circulant_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "least bytes in 2 ceil(log2 p) rounds for any p", .source = "Traeff, arXiv 2410.14234"};
