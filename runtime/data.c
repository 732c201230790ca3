/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of a plan: its COPY and REDUCE steps. A step's operands are named by space and blocks. Where each is one
 * span, bind has written down an offset, and the step is one memcpy or one call of a kernel over all sources. Where
 * blocks are scattered (they wrap around, or are several pieces of the vector), the spans of all operands are walked
 * side by side.
 */
#include "comm.h"
#include <string.h>

static inline unsigned char *slot_of(const struct hx_run *run, const struct hx_bound_stage *bs,
                                     const struct hx_instance *instance, uint32_t member)
{
    return hx_slot_address(run->comm->node, bs, run->parity, member, instance->slice);
}

static inline unsigned char *space_of(const struct hx_run *run, const struct hx_bound_stage *bs,
                                      const struct hx_instance *instance, uint8_t space, uint32_t member)
{
    if (space == HX_SLOT)
        return slot_of(run, bs, instance, member);
    if (space == HX_SCRATCH)
        return run->base[HX_SCRATCH] + bs->scratch_offset +
               (size_t)(instance->slice % bs->window) * bs->layout.scratch_bytes;
    return run->base[space];
}

/* Where a step writes, and where a COPY reads. */
static inline unsigned char *dst_of(const struct hx_run *run, const struct hx_bound_stage *bs,
                                    const struct hx_instance *instance, const struct hx_bound_step *step)
{
    if (step->dst_slot[0])
        return step->dst_slot[run->parity];
    return space_of(run, bs, instance, step->dst, (uint32_t)bs->stage->me) + step->dst_offset;
}

static inline const unsigned char *src_of(const struct hx_run *run, const struct hx_bound_stage *bs,
                                          const struct hx_instance *instance, const struct hx_bound_step *step)
{
    if (step->src_slot[0])
        return step->src_slot[run->parity];
    return space_of(run, bs, instance, step->src, step->peer) + step->src_offset;
}

static inline void bytes_copy(void *dst, const void *src, size_t bytes)
{
    if (bytes == 8)
        memcpy(dst, src, 8);
    else if (dst != src)
        memcpy(dst, src, bytes);
}

/* Base addresses of the n sources of a reduce, own included, src offsets not. Returns own's index, or -1. */
static int sources_collect(const struct hx_run *run, const struct hx_bound_stage *bs,
                           const struct hx_instance *instance, const struct hx_bound_step *step, uint32_t nblocks,
                           const void **sources)
{
    int own = step->own != HX_NOWHERE ? (int)step->tag : -1, row = 0;
    const unsigned char *rows = step->src == HX_SCRATCH ? space_of(run, bs, instance, HX_SCRATCH, 0) : NULL;

    for (int i = 0; i < (int)step->n; i++) {
        if (i == own)
            sources[i] = rows; /* the caller's to set */
        else if (rows)
            sources[i] = rows + (size_t)row++ * nblocks * bs->layout.row_bytes;
        else
            sources[i] = slot_of(run, bs, instance, (uint32_t)i);
    }
    return own;
}

static void reduce_contiguous(struct hx_run *run, const struct hx_bound_stage *bs, const struct hx_instance *instance,
                              const struct hx_bound_step *step)
{
    uint32_t me = (uint32_t)bs->stage->me;
    const void **sources = run->comm->engine.sources;
    int own = step->own != HX_NOWHERE ? (int)step->tag : -1;

    if (step->sources) {
        sources = step->sources + run->parity * step->n;
    } else {
        sources_collect(run, bs, instance, step, step->plan_step->nblocks, sources);
        for (int i = 0; i < (int)step->n; i++)
            sources[i] = (const unsigned char *)sources[i] + step->src_offset;
    }
    if (own >= 0)
        sources[own] = space_of(run, bs, instance, step->own, me) + step->own_offset;
    run->call->kernel(dst_of(run, bs, instance, step), sources, (int)step->n, step->elements);
}

struct walk { /* along the spans of an operand */
    const struct hx_span *spans;
    int n, i;
    size_t within;
};

static size_t walk_at(const struct walk *w)
{
    return w->spans[w->i].offset + w->within;
}

static size_t walk_left(const struct walk *w)
{
    return w->spans[w->i].bytes - w->within;
}

static void walk_advance(struct walk *w, size_t bytes)
{
    w->within += bytes;
    if (w->within == w->spans[w->i].bytes) {
        w->i++;
        w->within = 0;
    }
}

static struct walk walk_start(struct hx_run *run, const struct hx_bound_stage *bs, const struct hx_step *step,
                              uint8_t space, uint32_t row, uint64_t slice, int store)
{
    struct hx_engine *engine = &run->comm->engine;
    struct walk w = {.spans = engine->spans[store]};

    w.n = hx_layout_spans(&bs->layout, (enum hx_space)space, step->block, step->nblocks, row, slice,
                          engine->spans[store], engine->span_capacity);
    return w;
}

/* COPY or REDUCE of a range that is scattered in some operand: piece by piece along the spans of all. */
static void data_scattered(struct hx_run *run, const struct hx_bound_stage *bs, const struct hx_instance *instance,
                           const struct hx_bound_step *step)
{
    const struct hx_step *plan_step = step->plan_step;
    const void **sources = run->comm->engine.sources;
    int reduces = step->op == HX_OP_REDUCE, own = -1;
    uint32_t me = (uint32_t)bs->stage->me;
    unsigned char *dst = space_of(run, bs, instance, step->dst, me);
    const unsigned char *src = reduces ? NULL : space_of(run, bs, instance, step->src, step->peer);
    const unsigned char *mine = reduces && step->own ? space_of(run, bs, instance, step->own, me) : NULL;
    uint32_t dst_row = hx_step_dst_row(plan_step);
    struct walk to = walk_start(run, bs, plan_step, step->dst, dst_row, instance->slice, 0);
    struct walk from = walk_start(run, bs, plan_step, step->src, plan_step->row, instance->slice, 1);
    struct walk with = mine ? walk_start(run, bs, plan_step, step->own, dst_row, instance->slice, 2) : from;

    while (to.i < to.n) {
        size_t bytes = walk_left(&to) < walk_left(&from) ? walk_left(&to) : walk_left(&from);
        if (mine && walk_left(&with) < bytes)
            bytes = walk_left(&with);
        if (reduces) {
            own = sources_collect(run, bs, instance, step, plan_step->nblocks, sources);
            for (int i = 0; i < (int)step->n; i++)
                sources[i] = i == own ? mine + walk_at(&with) : (const unsigned char *)sources[i] + walk_at(&from);
            run->call->kernel(dst + walk_at(&to), sources, (int)step->n, bytes / run->call->elem_bytes);
        } else {
            bytes_copy(dst + walk_at(&to), src + walk_at(&from), bytes);
        }
        walk_advance(&to, bytes);
        walk_advance(&from, bytes);
        if (mine)
            walk_advance(&with, bytes);
    }
}

void hx_data_move(struct hx_run *run, const struct hx_bound_stage *bs, const struct hx_instance *instance,
                  const struct hx_bound_step *step)
{
    if (step->bytes == 0)
        return;
    if (!step->contiguous)
        data_scattered(run, bs, instance, step);
    else if (step->op == HX_OP_REDUCE)
        reduce_contiguous(run, bs, instance, step);
    else
        bytes_copy(dst_of(run, bs, instance, step), src_of(run, bs, instance, step), step->bytes);
}
