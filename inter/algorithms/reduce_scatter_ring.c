/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring reduce-scatter: block j starts at member j+1 and collects one member's part per hop, until it is complete at
 * member j.
 *
 *   round i: member r sends block r-1-i to r+1, receives block r-2-i from r-1 and adds its own part
 *
 * Cost: (p-1) alpha + S (p-1)/p beta. Any p. The operation must be commutative.
 * Source: the first half of the ring all-reduce (allreduce_ring.c), one block earlier, so that member r ends with
 * block r.
 */
#include "inter/algorithms/ring.h"

static void build(struct hx_builder *b)
{
    hx_ring_reduce_scatter(b, b->me - 1);
}

const struct hx_algorithm hx_reduce_scatter_ring = {
    .name = "ring", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = hx_ring_counts,
    .needs = HX_NEEDS_COMMUTATIVE | HX_PASSES_RING | HX_TAKES_CHANNELS | HX_CARRIES_CODES,
    .about = "least bytes, neighbours only: p-1 rounds", .source = "baidu-allreduce"};
