/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy all-gather inside a node: everybody reads the owners' blocks where they stand.
 *
 *   owners:  offer READY;  out[r] = in[r]
 *   for q = r+1, r+2, ...:  await READY of q;  out[q] = block q of in of q               then publish READ
 *   owners:  await READ of all
 *
 * Cost: 2 alpha + (p-1) system calls; each member copies S, where slots take (1 + 1/p) S. For large vectors. Any p. Block j belongs to
 * member j and may be empty: then nobody waits for j.
 * Source: see allreduce_single_copy.c.
 */
#include "intra/algorithms/algorithms.h"
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

void hx_allgather_single_copy(struct hx_builder *b)
{
    int me = b->me, owns = hx_owns(b, me);

    if (b->p > 1 && owns)
        hx_offer(b, READY);
    if (owns)
        hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    for (int i = 1; i < b->p; i++) {
        int q = (me + i) % b->p;
        if (hx_owns(b, q)) {
            hx_await(b, READY, q);
            hx_fetch(b, hx_at(b->out, q, 1), b->in, q);
        }
    }
    if (b->p > 1) {
        hx_publish(b, READ);
        if (owns)
            hx_await_all(b, READ);
    }
}
