/* SPDX-License-Identifier: BSD-3-Clause */
/* One-stage plans of any algorithm, for tests: p members on one node (intra) or on p nodes. */
#pragma once

#include "hier/compose/compose.h"
#include "hier/compose/algorithm_list.h"
#include "runtime/plan/plan.h"
#include <stdio.h>
#include <stdlib.h>

/* The plan of one rank: one stage of all p ranks, from IN to OUT. root: 0 where there is none. */
static inline struct hx_plan *plan_of_row(const struct hx_algorithm *a, enum hx_scope scope, int p, int root, int rank)
{
    enum hx_coll coll = a->coll;
    struct hx_plan *plan = hx_plan_new(coll, p, rank, 1);
    int *members = malloc((size_t)p * sizeof(int));
    struct hx_stage *stage;
    hx_status_t status;

    snprintf(plan->name, sizeof plan->name, "%s", a->name);
    for (int i = 0; i < p; i++)
        members[i] = i;
    plan->root = root;
    plan->partition = hx_coll_has_blocks(coll) ? HX_PARTITION_PER_RANK : HX_PARTITION_EVEN;
    plan->nblocks = hx_coll_has_blocks(coll) ? (uint32_t)p : 1;
    plan->nlanes = 1;
    plan->in_nblocks = plan->out_nblocks = plan->nblocks;
    if (coll == HX_COLL_ALLGATHER || coll == HX_COLL_GATHER) {
        plan->in_block = (uint32_t)rank;
        plan->in_nblocks = 1;
    }
    if (coll == HX_COLL_REDUCE_SCATTER || coll == HX_COLL_SCATTER) {
        plan->out_block = (uint32_t)rank;
        plan->out_nblocks = 1;
    }
    if ((coll == HX_COLL_BCAST || coll == HX_COLL_SCATTER) && rank != root)
        plan->in_nblocks = 0;
    if (((coll == HX_COLL_REDUCE || coll == HX_COLL_GATHER) && rank != root) || coll == HX_COLL_BARRIER ||
        (coll == HX_COLL_EXSCAN && rank == 0))
        plan->out_nblocks = 0;
    stage = hx_plan_add_stage(plan, 0, scope, members, p, rank);
    if (hx_coll_has_pairs(coll)) {
        plan->nblocks = (uint64_t)p * (uint64_t)p;
        plan->in_block = (uint64_t)rank * (uint64_t)p;
        plan->out_block = (uint64_t)rank;
        plan->out_stride = stage->nrows = (uint32_t)p;
        stage->nblocks = (uint32_t)(p * p);
    }
    stage->root = root;
    stage->in = coll == HX_COLL_BCAST ? HX_OUT : HX_IN;
    stage->out = HX_OUT;
    status = hx_stage_run(stage, a);
    free(members);
    if (status != HX_SUCCESS || hx_plan_seal(plan) != HX_SUCCESS) {
        hx_plan_release(plan);
        return NULL;
    }
    return plan;
}

static inline struct hx_plan *plan_of_build(enum hx_coll coll, const char *name, enum hx_scope scope, int p, int rank,
                                            void (*build)(struct hx_builder *))
{
    return plan_of_row(&(struct hx_algorithm){.name = name, .coll = coll, .build = build}, scope, p, 0, rank);
}

static inline struct hx_plan **plans_of_row(const struct hx_algorithm *a, enum hx_scope scope, int p, int root)
{
    struct hx_plan **plans = calloc((size_t)p, sizeof(*plans));

    for (int r = 0; r < p; r++)
        plans[r] = plan_of_row(a, scope, p, root, r);
    return plans;
}

static inline struct hx_plan **plans_of_build(enum hx_coll coll, const char *name, enum hx_scope scope, int p, int root,
                                              void (*build)(struct hx_builder *))
{
    return plans_of_row(&(struct hx_algorithm){.name = name, .coll = coll, .build = build}, scope, p, root);
}

static inline enum hx_scope scope_of(const struct hx_algorithm *a)
{
    return a->needs & HX_NEEDS_SHARED_MEMORY ? HX_SCOPE_INTRA : HX_SCOPE_INTER;
}

/* One that goes by levels is several stages: on a node of two domains. */
static inline struct hx_plan *plan_of(const struct hx_algorithm *a, int p, int root, int rank)
{
    char text[32], error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape;
    struct hx_plan *plan;

    if (!(a->needs & HX_NEEDS_LEVELS))
        return plan_of_row(a, scope_of(a), p, root, rank);
    snprintf(text, sizeof text, p > 2 ? "%d/2" : "%d", p);
    shape = hx_shape_parse(text, error);
    plan = hx_compose(shape, rank, &(struct hx_candidate){.coll = a->coll, .root = root, .flat = a});
    hx_shape_free(shape);
    return plan;
}

static inline struct hx_plan **plans_of(const struct hx_algorithm *a, int p, int root)
{
    struct hx_plan **plans = calloc((size_t)p, sizeof(*plans));

    for (int r = 0; r < p; r++)
        plans[r] = plan_of(a, p, root, r);
    return plans;
}

static inline void plans_release(struct hx_plan **plans, int p)
{
    for (int r = 0; r < p; r++)
        hx_plan_release(plans[r]);
    free(plans);
}

/* One node of p ranks, or p nodes of one. */
static inline struct hx_shape *shape_of(enum hx_scope scope, int p)
{
    int *node = calloc((size_t)p, sizeof(int));
    struct hx_shape *shape;

    for (int r = 0; r < p; r++)
        node[r] = scope == HX_SCOPE_INTRA ? 0 : r;
    shape = hx_shape_from_nodes(node, p);
    free(node);
    return shape;
}

static inline const struct hx_algorithm *algorithm_named(const char *name, enum hx_coll coll)
{
    return hx_algorithm_find(coll, HX_SCOPE_INTRA, name); /* where all serve */
}
