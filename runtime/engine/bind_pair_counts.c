/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic: each call of an all-to-all with counts sends and receives other lengths. So each call computes again the places that
 * bind has computed for its only slice. It places a rank's own blocks when the call begins, and blocks of other ranks when it has
 * learnt their lengths.
 */
#include "runtime/engine/engine.h"
#include "runtime/plan/graph.h"

/* With pair_counts a step of blocks that pass through no other rank moves one, from IN or to OUT: note which. */
hx_status_t hx_bind_pair(const struct hx_bound *bound, const struct hx_bound_stage *bs, struct hx_bound_step *step)
{
    const struct hx_step *plan_step = step->plan_step;
    uint64_t x;

    if (!hx_coll_has_pair_counts(bound->key.coll) || plan_step->nblocks == 0 || bs->stage->share == HX_SHARE_SHORT ||
        bs->stage->share == HX_SHARE_COUNTS)
        return HX_SUCCESS;
    if (plan_step->nblocks > 1 || (plan_step->src && plan_step->src != HX_IN) || (plan_step->dst && plan_step->dst != HX_OUT))
        return hx_fail(HX_ERR_INTERNAL, "plan %s of %s moves more than a pair's block at once", bound->plan->name,
                       hx_coll_name(bound->plan->coll));
    x = hx_layout_item(bound->plan, bs->stage, plan_step->block, 0);
    step->sent = hx_plan_sent_place(bound->plan, x);
    step->received = hx_plan_received_place(bound->plan, x);
    return HX_SUCCESS;
}

/* One block of a pair. */
static void pair_place(const struct hx_bound *bound, struct hx_bound_step *step)
{
    const struct hx_pair_counts *pair_counts = &bound->pair_counts;
    size_t elements = step->sent >= 0 ? pair_counts->sent[step->sent] : pair_counts->received[step->received];
    size_t scale;

    if (step->instance->stage->stage->share == HX_SHARE_LONG && elements <= bound->sizes.limit)
        elements = 0;
    scale = elements ? bound->elem_bytes : 0; /* of nothing there may be no buffer */
    step->elements = elements;
    step->bytes = elements * scale;
    step->contiguous = 1;
    step->src.offset = step->sent >= 0 ? pair_counts->sent_at[step->sent] * scale : 0;
    step->dst.offset = step->received >= 0 ? pair_counts->received_at[step->received] * scale : 0;
}

/* The steps that move short blocks, or the others. */
static void steps_place(const struct hx_node *node, struct hx_bound *bound, int of_short)
{
    for (struct hx_bound_step *step = bound->steps; step < bound->steps_end; step++) {
        struct hx_instance *instance = step->instance;
        enum hx_share share = instance->stage->stage->share;
        if (step->plan_step->nblocks == 0 || share == HX_SHARE_COUNTS || (share == HX_SHARE_SHORT) != of_short)
            continue;
        if (of_short) /* blocks of several pairs, wherever they stand */
            hx_bind_step(node, instance->stage, step->plan_step, 0, step);
        else
            pair_place(bound, step);
        step->instance = instance;
    }
}

void hx_bound_set_pair_counts(struct hx_engine *engine, struct hx_bound *bound, const struct hx_pair_counts *pair_counts)
{
    bound->pair_counts = *pair_counts;
    for (int s = 0; s < bound->nstages; s++) {
        if (bound->stages[s].stage->share != HX_SHARE_COUNTS)
            bound->stages[s].layout.sizes.pair_counts = &bound->pair_counts;
        bound->stages[s].layout.sizes.heard = NULL;
    }
    steps_place(&engine->node, bound, 0);
    if (bound->plan->nlanes && !bound->heard) /* nothing to learn: alone on its node */
        steps_place(&engine->node, bound, 1);
}

hx_status_t hx_bound_learn(struct hx_run *run)
{
    struct hx_bound *bound = run->bound;
    const struct hx_plan *plan = bound->plan;
    const struct hx_pair_counts *pair_counts = &bound->pair_counts;

    for (uint32_t i = 0; i < plan->out_nblocks; i++) {
        const uint64_t x = hx_plan_out_block(plan, i);
        const int64_t place = hx_layout_work_place(plan, x);
        if (place >= 0 && bound->heard[place] != pair_counts->received[i])
            return hx_fail(HX_ERR_ARG, "%s: rcounts[%u] is %zu on rank %d, but rank %u sends %zu elements", run->name, i,
                           pair_counts->received[i], plan->rank, plan->graph ? plan->graph->from[x] : i, bound->heard[place]);
    }
    for (int s = 0; s < bound->nstages; s++)
        bound->stages[s].layout.sizes.heard = bound->heard;
    steps_place(&run->engine->node, bound, 1);
    return HX_SUCCESS;
}
