/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast level by level: the root scatters a block to every member of the node, then an all-gather goes outwards in. This is a stage of
 * that (allgather_levels.c); hier/compose/levels.c puts the scatter before them.
 */
#include "intra/algorithms/algorithms.h"

const struct hx_algorithm hx_bcast_levels = {
    .name = "nary_levels", .coll = HX_COLL_BCAST, .build = hx_allgather_levels_build,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "1 hop, and 1 per level: scatter and all-gather outwards in", .source = "hierarchical n-ary all-gather"};
