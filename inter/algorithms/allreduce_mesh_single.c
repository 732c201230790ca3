/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-step mesh all-reduce: everybody sends its whole vector to everybody, and everybody adds up all of them.
 *
 *   round 0:  r sends in to q, for q = r+1, r+2, ...   then out = in of members 0, 1, ..., p-1 in this order
 *
 * Cost: alpha + S (p-1) beta: the one with the fewest hops, while (p-1) S is below about alpha / beta. Any p, any
 * operation; all members fold in the same order, so their results are equal bit by bit.
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_mesh_reduce(b, 0, 1);
}

static struct hx_counts counts(struct hx_group g)
{
    double p = g.p;

    return (struct hx_counts){.rounds = 1, .messages = p - 1, .vectors = p - 1, .reads = p, .all_reads = p * p};
}

const struct hx_algorithm hx_allreduce_mesh_single = {
    .name = "mesh_single", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .about = "1 round, everybody's whole vector to everybody: small vectors", .source = "Neuron single-step mesh"};
