/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat broadcast: the root sends the vector to everybody.
 *
 *   round 0:  root sends to root+1, root+2, ..., root+p-1
 *
 * Cost: alpha + (p-1) S beta on the root's link. Any p. For few members and small vectors.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me != b->root) {
        hx_recv_from(b, 0, b->root, hx_at(b->out, 0, 1));
        return;
    }
    for (int i = 1; i < b->p; i++)
        hx_send_to(b, 0, b->root + i, hx_at(b->out, 0, 1));
}

const struct hx_algorithm hx_bcast_flat = {
    .name = "flat", .coll = HX_COLL_BCAST, .build = build, .counts = hx_flat_counts,
    .about = "1 round, the root sends to everybody: few members, small vectors", .source = "The Illustrated Collectives"};
