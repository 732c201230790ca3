/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan in one round: everybody sends its vector to all higher members, and folds what came from the lower ones in one
 * pass, in rank order.
 *
 *   round 0:  r sends in to r+1, ..., p-1;    out = in of members 0, 1, ..., r
 *
 * Cost: alpha + (p-1) S beta on the links of the first and the last member. Any p, any operation. For few members and
 * small vectors. Source: the mesh of all-reduce (allreduce_mesh_single.c), the half of it that a scan needs.
 */
#include "inter/algorithms/prefix.h"

static void build(struct hx_builder *b)
{
    struct hx_ref in = hx_at(b->in, 0, 1), out = hx_at(b->out, 0, 1);

    hx_prefix_mesh(b);
    if (b->me == 0)
        hx_copy(b, out, in);
    else
        hx_reduce_rows(b, out, 0, b->me + 1, b->in, b->me);
}

const struct hx_algorithm hx_scan_mesh = {
    .name = "mesh", .coll = HX_COLL_SCAN, .build = build, .counts = hx_prefix_mesh_counts,
    .about = "1 round, everybody sends to all higher ones: few members, small vectors", .source = "Neuron single-step mesh"};
