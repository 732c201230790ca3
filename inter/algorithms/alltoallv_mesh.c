/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of alltoall_mesh.c; blocks are as long as the counts say. */
#include "inter/algorithms/algorithms.h"
#include "inter/algorithms/mesh.h"

const struct hx_algorithm hx_alltoallv_mesh = {
    .name = "mesh", .coll = HX_COLL_ALLTOALLV, .build = hx_alltoall_mesh_build, .counts = hx_mesh_counts,
    .about = "1 round, everybody to everybody, 32 exchanges under way", .source = "Open MPI, MPICH"};
