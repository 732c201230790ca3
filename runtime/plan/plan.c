/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans as objects: made, sealed, shared by reference count, released. */
#include "runtime/plan/plan.h"
#include "runtime/base/error.h"
#include "runtime/base/reduce.h"
#include "runtime/plan/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hx_plan *hx_plan_new(enum hx_coll coll, int p, int rank, int max_stages)
{
    struct hx_plan *plan = calloc(1, sizeof(*plan));

    if (!plan || !(plan->stages = calloc((size_t)max_stages, sizeof(*plan->stages)))) {
        free(plan);
        hx_fail(HX_ERR_NOMEM, "no memory for a plan of %d stages", max_stages);
        return NULL;
    }
    plan->coll = coll;
    plan->p = p;
    plan->rank = rank;
    plan->out_stride = 1;
    plan->references = 1;
    return plan;
}

struct hx_stage *hx_plan_add_stage(struct hx_plan *plan, int level, enum hx_scope scope, const int *members, int n, int me)
{
    struct hx_stage *stage = &plan->stages[plan->nstages];

    stage->members = malloc((size_t)n * sizeof(int));
    if (!stage->members) {
        hx_fail(HX_ERR_NOMEM, "no memory for a stage of %d members", n);
        return NULL;
    }
    memcpy(stage->members, members, (size_t)n * sizeof(int));
    stage->n = n;
    stage->me = me;
    stage->level = level;
    stage->scope = scope;
    stage->nblocks = (uint32_t)n;
    plan->nstages++;
    return stage;
}

hx_status_t hx_plan_seal(struct hx_plan *plan)
{
    plan->nflags = 0;
    plan->nlevels = 0;
    for (int s = 0; s < plan->nstages; s++) {
        struct hx_stage *stage = &plan->stages[s];
        stage->first_flag = plan->nflags;
        plan->nflags += stage->nflags;
        stage->after = -1;
        for (int t = 0; t < plan->nstages; t++)
            if (plan->stages[t].level < stage->level && plan->stages[t].level > stage->after)
                stage->after = plan->stages[t].level;
        if (stage->level >= plan->nlevels)
            plan->nlevels = stage->level + 1;
        if (stage->nsteps) {
            struct hx_step *exact = realloc(stage->steps, stage->nsteps * sizeof(*exact));
            stage->steps = exact ? exact : stage->steps;
        }
    }
    return HX_SUCCESS;
}

void hx_plan_retain(struct hx_plan *plan)
{
    plan->references++;
}

void hx_plan_release(struct hx_plan *plan)
{
    if (!plan || --plan->references > 0)
        return;
    for (int s = 0; s < plan->nstages; s++) {
        free(plan->stages[s].members);
        free(plan->stages[s].list_start);
        free(plan->stages[s].list);
        free(plan->stages[s].row_start);
        free(plan->stages[s].rows);
        free(plan->stages[s].picks);
        free(plan->stages[s].partners);
        free(plan->stages[s].holder);
        free(plan->stages[s].domain_start);
        free(plan->stages[s].charge_start);
        free(plan->stages[s].steps);
    }
    free(plan->stages);
    for (int i = 0; i < 2; i++) {
        free(plan->work[i].rows);
        free(plan->work[i].columns);
    }
    hx_graph_release(plan->graph);
    free(plan);
}

uint32_t hx_plan_shared(const struct hx_plan *plan, int stage, uint32_t member)
{
    uint32_t shared = plan->stages[stage].scope == HX_SCOPE_FLAT ? (uint32_t)plan->nlanes : 0; /* after lanes, whichever they are */

    for (const struct hx_stage *at = &plan->stages[stage], *before = plan->stages; before < at; before++)
        shared += before->scope == HX_SCOPE_FLAT || (before->scope == HX_SCOPE_INTER && at->scope == HX_SCOPE_INTER &&
                                                     before->members[member] == at->members[member]);
    return shared;
}

size_t hx_plan_bytes(const struct hx_plan *plan)
{
    size_t bytes = sizeof(*plan);

    for (int i = 0; i < 2; i++)
        bytes += (plan->work[i].nrows + plan->work[i].ncolumns) * sizeof(uint32_t);
    for (int s = 0; s < plan->nstages; s++) {
        const struct hx_stage *stage = &plan->stages[s];
        uint32_t columns = stage->split ? (uint32_t)stage->n : stage->listed ? stage->nblocks : hx_stage_columns(stage); /* that the lists name */
        bytes += sizeof(*stage) + (size_t)stage->n * sizeof(int) + stage->nsteps * sizeof(struct hx_step);
        bytes += stage->holder ? (size_t)stage->n * sizeof(int) : 0;
        bytes += stage->domain_start ? ((size_t)stage->ndomains + 1) * sizeof(int) : 0;
        bytes += stage->charge_start ? ((size_t)stage->n + 1) * sizeof(int) : 0;
        if (stage->list_start)
            bytes += (columns + 1 + stage->list_start[columns]) * sizeof(uint32_t);
        if (stage->row_start)
            bytes += (stage->nrows + 1 + (stage->rows ? stage->row_start[stage->nrows] : 0)) * sizeof(uint32_t);
        bytes += stage->partners ? 2 * stage->nblocks * sizeof(uint32_t) : 0;
        bytes += stage->npicks * sizeof(struct hx_pick);
    }
    return bytes;
}

struct hx_traits hx_traits_of(hx_dtype_t dtype)
{
    if (hx_dtype_is_exact(dtype))
        return (struct hx_traits){.folding = HX_FOLDS_EXACTLY, .numbers = HX_NUMBERS_INTEGER};
    return (struct hx_traits){.folding = HX_FOLDS_ALIKE, .numbers = hx_dtype_is(dtype, HX_CLASS_HALF) ? HX_NUMBERS_HALF : HX_NUMBERS_FLOAT};
}
