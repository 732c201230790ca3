/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mesh barrier: everybody tells everybody at once.
 *
 * Cost: alpha, p-1 messages per member. Any p. For few members: the least rounds.
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    for (int i = 1; i < b->p; i++) {
        hx_send_to(b, 0, b->me + i, hx_at(b->in, 0, 1));
        hx_recv_from(b, 0, b->me - i, hx_row(i - 1, 0, 1));
    }
}

const struct hx_algorithm hx_barrier_mesh = {
    .name = "mesh", .coll = HX_COLL_BARRIER, .build = build, .counts = hx_mesh_counts,
    .about = "1 round, everybody tells everybody: few members", .source = "Neuron mesh"};
