/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring all-reduce: p blocks travel round the ring of members, each collecting one member's part per hop; when every
 * block is complete somewhere, they travel round once more. Every member sends the least that is possible, to one
 * neighbour only.
 *
 *   p = 4, round 0, member r sends block r to r+1:     0 --0--> 1 --1--> 2 --2--> 3 --3--> (0)
 *   round i: sends block r-i, receives and reduces block r-i-1; after p-1 rounds r holds the sum of block r+1
 *   round p-1+i: sends block r+1-i, receives block r-i
 *
 * Cost: 2(p-1) alpha + 2 S (p-1)/p beta. Any p. The operation must be commutative: block j is folded starting at
 * member j.
 * Source: baidu-allreduce (A. Gibiansky, 2017); Patarasuk and Yuan, JPDC 69 (2009).
 */
#include "inter/algorithms/ring.h"

static void build(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_ring_reduce_scatter(b, b->me);
    hx_ring_allgather(b, b->p - 1, b->me + 1);
}

const struct hx_algorithm hx_allreduce_ring = {
    .name = "ring", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = hx_ring_counts,
    .needs = HX_NEEDS_COMMUTATIVE | HX_PASSES_RING | HX_TAKES_CHANNELS | HX_CARRIES_CODES,
    .about = "least bytes, neighbours only: 2(p-1) rounds", .source = "baidu-allreduce"};
