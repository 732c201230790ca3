/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * KangaRing all-reduce: a KangaRing reduce-scatter, then a KangaRing all-gather of the sums (kangaring.h has the
 * picture).
 *
 * Cost: 2 ceil(p/2) alpha + 2 S (p-1)/p beta: half the rounds of the ring, and only half of what each member sends
 * leaves its pair. Any p. The operation must be commutative.
 */
#include "inter/algorithms/kangaring.h"

static void build(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_kangaring_reduce_scatter(b);
    hx_kangaring_allgather(b, hx_kangaring_pairs(b));
}

const struct hx_algorithm hx_allreduce_kangaring = {
    .name = "kangaring", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = hx_kangaring_counts,
    .needs = HX_NEEDS_COMMUTATIVE | HX_PASSES_RING,
    .about = "a ring of pairs that share a cache: 2 ceil(p/2) rounds, half of the bytes stay in the pair",
    .source = "Neuron KangaRing"};
