/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mesh all-reduce: member j owns block j. Everybody sends every owner its block at once; owners add up and send the
 * sums to everybody at once. Two hops whatever p is, as long as the receivers bear p-1 messages at a time.
 *
 *   round 0:  r sends block q of in to q, for q = r+1, r+2, ...   then out[r] = in[r] of members 0, 1, ..., p-1
 *   round 1:  r sends out[r] to q, for q = r+1, r+2, ...
 *
 * Cost: 2 alpha + 2 S (p-1)/p beta, and 2(p-1) messages per member. Any p, any operation (rank order is kept).
 * Source: Neuron's "mesh"; direct reduce-scatter and all-gather.
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_mesh_reduce(b, 0, 0);
    hx_mesh_allgather(b, 1);
}

const struct hx_algorithm hx_allreduce_mesh = {
    .name = "mesh", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = hx_mesh_counts, .needs = HX_CARRIES_CODES,
    .about = "least bytes in 2 rounds, p-1 messages at a time", .source = "Neuron mesh"};
