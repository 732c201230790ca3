/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy reduce-scatter inside a node: the owner of a block reads it in everybody's input where it stands, and adds it up.
 *
 *   offer READY
 *   owners:  for q = r+1, r+2, ...:  await READY of q;  row = block r of in of q         then publish READ
 *   await READ of all owners
 *   owners:  out[r] = block r of all, own from in
 *
 * The sum comes last, so that out may stand in in, at another block, and READ is not kept waiting.
 *
 * Cost: 2 alpha + (p-1) system calls; each member fetches S (p-1)/p and adds up S, from its own cache. For large vectors.
 * Any p, any operation; fold in rank order. Block j belongs to member j and may be empty: then no member waits for j.
 */
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    int me = b->me;

    hx_offer(b, READY);
    if (hx_owns(b, me)) {
        hx_fetch_rows(b, READY, me);
        hx_publish(b, READ);
    }
    hx_owners_await(b, READ);
    if (hx_owns(b, me))
        hx_reduce_rows(b, hx_at(b->out, me, 1), 0, b->p, b->in, me);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.folds_own = 1, .hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = (double)(g.p - 1) / g.owners,
                              .work = {{g.p, 0, (double)g.p / g.owners}}, .read_in_parts = 1.0 / g.p};
}

const struct hx_algorithm hx_reduce_scatter_single_copy = {
    .name = "single_copy", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, each owner adds up its block of all inputs where they stand: large vectors",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
