/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat gather: everybody sends its block to the root.
 *
 *   round 0:  r sends block r to root
 *
 * Cost: alpha + S (p-1)/p beta on the root's link, p-1 messages there. Any p, any root.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    if (b->me != b->root) {
        hx_send_to(b, 0, b->root, hx_at(b->in, b->me, 1));
        return;
    }
    for (int i = 1; i < b->p; i++)
        hx_recv_from(b, 0, b->root + i, hx_at(b->out, b->root + i, 1));
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
}

const struct hx_algorithm hx_gather_flat = {
    .name = "flat", .coll = HX_COLL_GATHER, .build = build, .counts = hx_flat_counts,
    .about = "1 round, everybody sends to the root", .source = "The Illustrated Collectives"};
