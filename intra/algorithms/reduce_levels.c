/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction level by level: a reduce-scatter inwards out, then the root gathers the sums. This is a stage of the first
 * (reduce_scatter_levels.c); hier/compose/levels.c puts the gather after them.
 */
#include "intra/algorithms/algorithms.h"

const struct hx_algorithm hx_reduce_levels = {
    .name = "nary_levels", .coll = HX_COLL_REDUCE, .build = hx_reduce_scatter_levels_build,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS,
    .about = "1 hop per level, and 1: reduce-scatter inwards out and gather", .source = "hierarchical n-ary reduce-scatter"};
