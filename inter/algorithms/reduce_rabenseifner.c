/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter + gather reduction (Rabenseifner): everybody adds up one of p blocks, then the root gathers the sums
 * from a binomial tree. About the least bytes in few rounds, whatever p is.
 *
 *   rounds 0 .. ceil(log2 p) - 1:   circulant reduce-scatter (circulant.h): member r ends with the sum of block r
 *   then as many again:             binomial gather to the root (tree.h)
 *
 * Cost: 2 ceil(log2 p) alpha + 2 S (p-1)/p beta. Any p. The operation must be commutative. For medium and large
 * vectors.
 * Source: Rabenseifner, ICCS 2004, with the reduce-scatter of J. L. Traeff, arXiv 2410.14234.
 */
#include "inter/algorithms/circulant.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_circulant_reduce_scatter(b, b->me == b->root ? hx_at(b->out, b->me, 1) : hx_row(0, b->me, 1));
    hx_tree_gather(b, hx_tree_rounds(b->p, 2), hx_row(0, b->me, 1));
}

const struct hx_algorithm hx_reduce_rabenseifner = {
    .name = "scatter_gather", .coll = HX_COLL_REDUCE, .build = build, .counts = hx_circulant_tree_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "twice the least bytes, 2 ceil(log2 p) rounds: medium and large vectors", .source = "Rabenseifner 2004; Traeff"};
