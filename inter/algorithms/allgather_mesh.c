/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mesh all-gather: everybody sends its block to everybody, in one round.
 *
 * Cost: alpha + S (p-1)/p beta, p-1 messages per member. Any p.
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    hx_mesh_allgather(b, 0);
}

const struct hx_algorithm hx_allgather_mesh = {
    .name = "mesh", .coll = HX_COLL_ALLGATHER, .build = build, .counts = hx_mesh_counts,
    .about = "least bytes in 1 round, p-1 messages at a time", .source = "Neuron mesh"};
