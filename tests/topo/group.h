/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of some ranks of another one, as a communicator makes it. */
#pragma once

#include <stdlib.h>

#include "topo/shape.h"

/* Rank ranks[i] of whole becomes rank i. */
static inline struct hx_shape *group_of(const struct hx_shape *whole, const int *ranks, int n)
{
    int *node_of = malloc((size_t)n * sizeof *node_of);
    for (int i = 0; i < n; i++)
        node_of[i] = whole->node_of[ranks[i]];
    struct hx_shape *group = hx_shape_from_nodes(node_of, n);
    free(node_of);
    int *ids = malloc(((size_t)n * (size_t)whole->nlevels + 1) * sizeof *ids); /* domains, as hx_shape_set_levels wants them */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < whole->nlevels; k++)
            ids[i * whole->nlevels + k] = hx_shape_domain(whole, k, ranks[i]);
    int status = hx_shape_set_levels(group, ids, whole->nlevels);
    free(ids);
    return status == 0 ? group : NULL;
}
