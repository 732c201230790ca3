/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of alltoall_pairwise.c; blocks are as long as the counts say. */
#include "inter/algorithms/algorithms.h"

const struct hx_algorithm hx_alltoallv_pairwise = {
    .name = "pairwise", .coll = HX_COLL_ALLTOALLV, .build = hx_alltoall_pairwise_build,
    .counts = hx_alltoall_pairwise_counts,
    .about = "p-1 rounds, one exchange at a time: large blocks", .source = "The Illustrated Collectives"};
