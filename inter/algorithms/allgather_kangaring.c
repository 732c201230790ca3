/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * KangaRing all-gather: one of each pair of members that share a cache is on the ring; it duplicates each arriving
 * block to its mate and to the next pair (kangaring.h has the picture).
 *
 *   p = 8, round i:  r -> r+2  block r-2i        r -> mate  block r-2i        ceil(p/2) rounds, the last one to mates only
 *
 * Cost: ceil(p/2) alpha + S (p-1)/p beta. Any p. Block j belongs to member j and may be empty.
 */
#include "inter/algorithms/kangaring.h"

static void build(struct hx_builder *b)
{
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    hx_kangaring_allgather(b, 0);
}

const struct hx_algorithm hx_allgather_kangaring = {
    .name = "kangaring", .coll = HX_COLL_ALLGATHER, .build = build, .counts = hx_kangaring_counts, .needs = HX_PASSES_RING,
    .about = "a ring of pairs that share a cache: ceil(p/2) rounds, half of the bytes stay in the pair",
    .source = "Neuron KangaRing"};
