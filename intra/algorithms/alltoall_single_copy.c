/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy all-to-all inside a node: everybody reads the block meant for it in each member's input, where it stands.
 *
 *   offer READY;  out[r>r] = in[r>r]
 *   for q = r+1, r+2, ...:  await READY of q;  out[q>r] = block q>r of in of q           then publish READ
 *   await READ of all that have something to get
 *
 * Cost: 2 alpha + (p-1) system calls; each member copies S, where slots take (2 - 1/p) S. For large blocks. Any p. A
 * member that has nothing to get waits for no other, and no other member waits for it.
 */
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    int me = b->me, takes = hx_owns(b, me);

    hx_offer(b, READY);
    hx_copy(b, hx_pair(b, b->out, me, me, 1), hx_pair(b, b->in, me, me, 1));
    for (int q = me + 1; q < me + b->p && takes; q++)
        hx_fetch(b, READY, hx_pair(b, b->out, q, me, 1), b->in, q);
    if (takes)
        hx_publish(b, READ);
    hx_owners_await(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = (double)(g.p - 1) / g.owners,
                              .work = {{g.p, 1.0 / g.owners, 0}}, .own = 1.0 / g.owners};
}

const struct hx_algorithm hx_alltoall_single_copy = {
    .name = "single_copy", .coll = HX_COLL_ALLTOALL, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY,
    .about = "2 hops, everybody reads its block of each input where it stands: large blocks",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
