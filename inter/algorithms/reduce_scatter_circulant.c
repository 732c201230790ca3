/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant reduce-scatter: ceil(log2 p) rounds and exactly p-1 blocks, whatever p is (circulant.h has the picture).
 *
 * Cost: ceil(log2 p) alpha + S (p-1)/p beta. Any p. The operation must be commutative.
 */
#include "inter/algorithms/circulant.h"

static void build(struct hx_builder *b)
{
    hx_circulant_reduce_scatter(b, hx_at(b->out, b->me, 1));
}

const struct hx_algorithm hx_reduce_scatter_circulant = {
    .name = "circulant", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = hx_circulant_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "least bytes in ceil(log2 p) rounds for any p", .source = "Traeff, arXiv 2410.14234"};
