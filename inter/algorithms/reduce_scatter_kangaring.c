/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * KangaRing reduce-scatter: the all-gather's duplication the other way round (kangaring.h has the picture). One of each
 * pair of members that share a cache is on the ring; it adds its mate's part and its own to the sum that comes from the
 * pair before, in one pass over the three, and passes it on.
 *
 *   p = 8, round i:  mate -> r  its part of block r-2i-2        r-2 -> r  the sum of that block so far (not in round 0)
 *
 * Cost: ceil(p/2) alpha + S (p-1)/p beta. Any p. The operation must be commutative: block j is folded from the pair
 * after j's on.
 */
#include "inter/algorithms/kangaring.h"

static void build(struct hx_builder *b)
{
    hx_kangaring_reduce_scatter(b);
}

const struct hx_algorithm hx_reduce_scatter_kangaring = {
    .name = "kangaring", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = hx_kangaring_counts,
    .needs = HX_NEEDS_COMMUTATIVE | HX_PASSES_RING,
    .about = "a ring of pairs that share a cache: ceil(p/2) rounds, half of the bytes stay in the pair",
    .source = "Neuron KangaRing"};
