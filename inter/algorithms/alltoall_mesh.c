/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mesh all-to-all ("direct spread", "linear"): everybody sends everybody its block at once. Targets are staggered, r+1,
 * r+2, ..., so that no member is everybody's first.
 *
 *   r sends block r>r+1 and receives r-1>r,  sends r>r+2 and receives r-2>r,  ...
 *
 * At most 32 exchanges are under way at once, so queues stay short and messages take little memory. The next exchange
 * starts when the oldest is done.
 *
 * Cost: alpha + S (p-1)/p beta, p-1 messages per member. Any p.
 * Source: Open MPI's and MPICH's "linear" all-to-all; the mesh of Neuron's collectives.
 */
#include "inter/algorithms/mesh.h"

static void build(struct hx_builder *b)
{
    hx_limit(b, HX_MESH_WINDOW);
    for (int i = 1; i < b->p; i++) {
        hx_recv_from(b, 0, b->me - i, hx_pair(b, b->out, b->me - i, b->me, 1));
        hx_send_to(b, 0, b->me + i, hx_pair(b, b->in, b->me, b->me + i, 1));
        if (i == 1) /* while the first are under way */
            hx_copy(b, hx_pair(b, b->out, b->me, b->me, 1), hx_pair(b, b->in, b->me, b->me, 1));
    }
    hx_alone(b);
}

const struct hx_algorithm hx_alltoall_mesh = {
    .name = "mesh", .coll = HX_COLL_ALLTOALL, .build = build, .counts = hx_mesh_counts,
    .about = "1 round, everybody to everybody, 32 exchanges under way", .source = "Open MPI, MPICH"};

const struct hx_algorithm hx_alltoallv_mesh = {
    .name = "mesh", .coll = HX_COLL_ALLTOALLV, .build = build, .counts = hx_mesh_counts,
    .about = "1 round, everybody to everybody, 32 exchanges under way", .source = "Open MPI, MPICH"};
