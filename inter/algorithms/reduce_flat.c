/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat reduction: everybody sends its vector to the root, which adds them up in one pass.
 *
 *   round 0:  r sends to root;    out = in of members 0, 1, ..., p-1 in this order
 *
 * Cost: alpha + (p-1) S beta on the root's link. Any p, any operation. For few members and small vectors.
 */
#include "inter/algorithms/tree.h"
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me != b->root) {
        hx_send_to(b, 0, b->root, hx_at(b->in, 0, 1));
        return;
    }
    for (int i = 1; i < b->p; i++) {
        int from = (b->me + i) % b->p;
        hx_recv_from(b, 0, from, hx_row(hx_mesh_row(b, from), 0, 1));
    }
    hx_join_all(b);
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, b->p, b->in, b->me);
}

const struct hx_algorithm hx_reduce_flat = {
    .name = "flat", .coll = HX_COLL_REDUCE, .build = build, .needs = HX_CARRIES_CODES, .counts = hx_flat_counts,
    .about = "1 round, everybody sends to the root: few members, small vectors", .source = "The Illustrated Collectives"};
