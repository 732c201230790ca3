/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-step mesh all-reduce: everybody sends its whole vector to everybody, and everybody adds up all of them.
 *
 *   round 0:  r sends in to q, for q = r+1, r+2, ...   then out = in of members 0, 1, ..., p-1 in this order
 *
 * Cost: alpha + S (p-1) beta: the one with the fewest hops, while (p-1) S is below about alpha / beta. Any p, any
 * operation; all members fold in the same order, so their results are equal bit by bit.
 * Source: Neuron's "single-step mesh".
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (hx_alone(b))
        return;
    for (int i = 1; i < b->p; i++) {
        int to = (b->me + i) % b->p, from = (b->me - i + b->p) % b->p;
        hx_send(b, 0, to, hx_at(b->in, 0, 1));
        hx_recv(b, 0, from, hx_row(hx_mesh_row(b, from), 0, 1));
    }
    hx_join_all(b);
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, b->p, b->in, b->me);
}

static struct hx_counts counts(struct hx_group g)
{
    double p = g.p;

    return (struct hx_counts){.rounds = 1, .messages = p - 1, .vectors = p - 1, .reads = p, .all_reads = p * p};
}

const struct hx_algorithm hx_allreduce_mesh_single = {
    .name = "mesh_single", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .about = "1 round, everybody's whole vector to everybody: small vectors", .source = "Neuron single-step mesh"};
