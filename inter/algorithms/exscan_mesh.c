/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusive scan in one round: everybody sends its vector to all higher members, and folds what came from the lower
 * ones in one pass, in rank order.
 *
 *   round 0:  r sends in to r+1, ..., p-1;    out = in of members 0, 1, ..., r-1
 *
 * Cost: alpha + (p-1) S beta on the links of the first and the last member. Any p, any operation. For few members and
 * small vectors. Source: the mesh of all-reduce (allreduce_mesh_single.c), the half of it that a scan needs.
 */
#include "inter/algorithms/prefix.h"

static void build(struct hx_builder *b)
{
    struct hx_ref out = hx_at(b->out, 0, 1);

    hx_prefix_mesh(b);
    if (b->me == 1)
        hx_copy(b, out, hx_row(0, 0, 1));
    else if (b->me > 1)
        hx_reduce_rows(b, out, 0, b->me, HX_NOWHERE, 0);
}

const struct hx_algorithm hx_exscan_mesh = {
    .name = "mesh", .coll = HX_COLL_EXSCAN, .build = build, .counts = hx_prefix_mesh_counts,
    .about = "1 round, everybody sends to all higher ones: few members, small vectors", .source = "Neuron single-step mesh"};
