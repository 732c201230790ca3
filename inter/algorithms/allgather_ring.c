/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring all-gather ("bucket"): each round, every member passes on to its right neighbour the block that it received
 * last.
 *
 *   round i: member r sends block r-i to r+1 and receives block r-i-1 from r-1
 *
 * Cost: (p-1) alpha + S (p-1)/p beta. Any p.
 */
#include "inter/algorithms/ring.h"

static void build(struct hx_builder *b)
{
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    hx_ring_allgather(b, 0, b->me);
}

const struct hx_algorithm hx_allgather_ring = {
    .name = "ring", .coll = HX_COLL_ALLGATHER, .build = build, .counts = hx_ring_counts,
    .needs = HX_PASSES_RING | HX_TAKES_CHANNELS,
    .about = "least bytes, neighbours only: p-1 rounds", .source = "baidu-allreduce"};
