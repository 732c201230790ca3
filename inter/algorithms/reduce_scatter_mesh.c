/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mesh reduce-scatter: everybody sends block q to member q, in one round; member q folds what it got in rank order.
 *
 * Cost: alpha + S (p-1)/p beta, p-1 messages per member. Any p, any operation (rank order is kept).
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_mesh_reduce(b, 0, 0);
}

const struct hx_algorithm hx_reduce_scatter_mesh = {
    .name = "mesh", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = hx_mesh_counts, .needs = HX_CARRIES_CODES,
    .about = "least bytes in 1 round, p-1 messages at a time", .source = "Neuron mesh"};
