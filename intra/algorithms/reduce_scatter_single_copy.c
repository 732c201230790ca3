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
 * Any p, any operation; fold in rank order. Block j belongs to member j and may be empty: then nobody waits for j.
 * Source: see allreduce_single_copy.c.
 */
#include "intra/algorithms/algorithms.h"
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

void hx_reduce_scatter_single_copy(struct hx_builder *b)
{
    int me = b->me;

    if (b->p == 1) {
        hx_copy(b, hx_at(b->out, 0, 1), hx_at(b->in, 0, 1));
        return;
    }
    hx_offer(b, READY);
    if (hx_owns(b, me)) {
        hx_fetch_rows(b, READY);
        hx_publish(b, READ);
    }
    hx_owners_await(b, READ);
    if (hx_owns(b, me))
        hx_reduce_rows(b, hx_at(b->out, me, 1), 0, b->p, b->in, me);
}
