/* SPDX-License-Identifier: BSD-3-Clause */
/* Bind's last part: the steps of a plan get offsets and addresses, each for one slice. If a stage has only one slice, all its
 * steps get them at once (hx_bind_steps). Otherwise each step gets them when it is issued. */
#include "runtime/base/stream.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/shm_write.h"
#include "runtime/plan/items.h"
#include <stdlib.h>

/* The start of the place-th slice of a window, after the base of its space. SLOT: the slice in the node's first row. */
static size_t slice_offset(const struct hx_node *node, const struct hx_bound_stage *bs, enum hx_space space,
                           size_t place)
{
    const unsigned char *slot;

    if (space == HX_SCRATCH || space == HX_CODES)
        return bs->scratch_offset + place * bs->layout.scratch_bytes;
    if (space != HX_SLOT)
        return 0;
    if (bs->tiny_slot)
        slot = node->controls[0].flags[bs->stage->first_flag * node->shared->calls_kept].payload;
    else
        slot = hx_node_bank(node, 0, 0) + bs->slot_offset + place * bs->layout.slot_bytes;
    return (size_t)(slot - (const unsigned char *)node->base);
}

/* How many spans an operand has, and the first; what is fetched is another's. */
static int step_spans(const struct hx_bound_stage *bs, const struct hx_step *step, enum hx_space space, int is_src, uint32_t row,
                      uint64_t slice, struct hx_span *first)
{
    if (step->op == HX_OP_FETCH && is_src)
        return hx_layout_spans_of(&bs->layout, bs->stage->members[step->peer], space, step->block, step->nblocks, slice, first, 1);
    return hx_layout_spans(&bs->layout, space, step->block, step->nblocks, row, slice, first, 1);
}

void hx_bind_step(const struct hx_node *node, const struct hx_bound_stage *bs, const struct hx_step *step,
                  uint64_t slice, struct hx_bound_step *out)
{
    int reduces = step->op == HX_OP_REDUCE;
    uint32_t dst_row = hx_step_dst_row(step);
    /* by operand; slots: whose, from the first of the segment on (those that a REDUCE reads begin there, its own is never in one) */
    struct hx_operand *operands[3] = {&out->dst, &out->src, &out->own};
    const uint8_t spaces[3] = {step->dst, step->src, reduces ? step->own : HX_NOWHERE};
    const uint32_t rows[3] = {dst_row, step->row, dst_row};
    const size_t slots[3] = {bs->slot_offsets[reduces ? step->peer : bs->me], reduces ? 0 : bs->slot_offsets[step->peer], 0};
    struct hx_span spans[3] = {{0, 0}};
    size_t place = slice % bs->window;

    *out = (struct hx_bound_step){.op = (enum hx_opcode)step->op, .contiguous = !(bs->reduces_by_spans && reduces), .peer = step->peer,
                                  .n = step->n, .tag = step->tag, .handle = step->handle, .plan_step = step};
    if (step->nblocks == 0) { /* no data: a flag; or JOIN and LEARN, which do not read these fields */
        const struct hx_control *first = &node->controls[0];
        out->flag_offset = (size_t)((const char *)&first->flags[(bs->stage->first_flag + step->tag) * node->shared->calls_kept].epoch - (const char *)first);
        out->lags = step->own;
        out->self = step->n == 1 ? UINT32_MAX : bs->me;
        return;
    }
    out->bytes = hx_layout_moved(&bs->layout, step, slice);
    out->elements = out->bytes / bs->layout.sizes.elem_bytes;
    for (int i = 0; i < 3; i++)
        if (spaces[i] != HX_NOWHERE)
            out->contiguous &= step_spans(bs, step, (enum hx_space)spaces[i], i == 1, rows[i], slice, &spans[i]) <= 1;
    for (int i = 0; i < 3; i++) {
        operands[i]->space = (enum hx_space)(spaces[i] == HX_SLOT && bs->tiny_slot ? HX_TINY_SLOT
                                             : spaces[i] == HX_CODES               ? HX_SCRATCH /* behind its rows */
                                                                                   : spaces[i]);
        operands[i]->offset = slice_offset(node, bs, (enum hx_space)spaces[i], place) + (spaces[i] == HX_SLOT ? slots[i] : 0) +
                              (out->contiguous ? spans[i].offset : 0);
    }
}

/* ---- an only slice --------------------------------------------------------------------------------------------- */

/* Does it serve only the slice one window later? */
static int lags(const struct hx_step *step)
{
    return (step->op == HX_OP_AWAIT || step->op == HX_OP_PUBLISH) && step->own;
}

static hx_status_t sources_bind(const struct hx_node *node, const struct hx_bound *bound, const struct hx_bound_stage *bs,
                                struct hx_bound_step *step)
{
    const uint32_t turns = node->shared->calls_kept;

    if (!step->contiguous || step->op != HX_OP_REDUCE || (step->src.space != HX_SLOT && step->src.space != HX_TINY_SLOT))
        return HX_SUCCESS;
    if (!(step->sources = malloc(turns * step->n * sizeof(*step->sources))))
        return hx_fail(HX_ERR_NOMEM, "no memory for the %u sources of a reduce", step->n);
    for (uint32_t i = 0; i < turns * step->n; i++) {
        uint32_t turn = i / step->n;
        size_t at = step->src.space == HX_SLOT ? hx_bank_turn(node, bound, turn) : turn * sizeof(struct hx_flag);
        step->sources[i] = (unsigned char *)node->base + step->src.offset + at + bs->slot_offsets[i % step->n];
    }
    return HX_SUCCESS;
}

/* The bound steps of a plan step of an only slice, at most two: a COPY whose range wraps around is two of one span each, so that no spans
 * have to be found. Returns how many. */
static int step_bind(const struct hx_node *node, const struct hx_bound *bound, const struct hx_bound_stage *bs, const struct hx_step *step,
                     struct hx_bound_step out[2])
{
    struct hx_bound_step whole;
    struct hx_step half = *step;
    uint32_t columns, at, first;

    hx_bind_step(node, bs, step, 0, out);
    if (step->op != HX_OP_COPY || out->contiguous || hx_coll_has_pair_counts(bound->key.coll) || hx_is_picked(bs->stage, step->block))
        return 1;
    columns = hx_stage_columns(bs->stage);
    at = step->block % columns;
    first = columns - at;
    if (step->nblocks <= first)
        return 1;
    whole = *out;
    for (int i = 0; i < 2; i++) {
        half.nblocks = i ? step->nblocks - first : first;
        half.block = i ? step->block - at : step->block;
        half.row = i ? step->row + first : step->row;
        hx_bind_step(node, bs, &half, 0, &out[i]);
        out[i].plan_step = step;
    }
    if (out[0].contiguous && out[1].contiguous)
        return 2;
    out[0] = whole;
    return 1;
}

/* Which AWAITs fetch what the next step reads: see shm_write.h. */
static void touches_bind(const struct hx_bound_stage *bs)
{
    for (struct hx_bound_step *step = bs->steps; step + 1 < bs->steps + bs->nsteps; step++) {
        const struct hx_bound_step *reads = step + 1;
        size_t lines = (reads->bytes + HX_LINE - 1) / HX_LINE;
        if (step->op == HX_OP_AWAIT && (reads->op == HX_OP_COPY || reads->op == HX_OP_REDUCE) && reads->src.space == HX_SLOT &&
            reads->contiguous && lines <= HX_TOUCH_LINES)
            step->touches = (uint32_t)lines;
    }
}

hx_status_t hx_bind_steps(const struct hx_node *node, struct hx_bound *bound)
{
    hx_status_t status = HX_SUCCESS;
    size_t most = 1;

    for (int s = 0; s < bound->nstages; s++)
        most += 2 * bound->stages[s].nsteps;
    if (!(bound->steps = bound->steps_end = malloc(most * sizeof(*bound->steps))))
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu steps", most);
    for (struct hx_bound_stage *bs = bound->stages; bs < bound->stages + bound->nstages; bs++) {
        if (bs->layout.nslices > 1)
            continue;
        bs->steps = bound->steps_end;
        for (uint32_t i = 0; status == HX_SUCCESS && i < bs->stage->nsteps; i++) {
            struct hx_bound_step *step = bound->steps_end;
            if (lags(&bs->stage->steps[i]))
                continue;
            bound->steps_end += step_bind(node, bound, bs, &bs->stage->steps[i], step);
            for (struct hx_bound_step *part = step; part < bound->steps_end; part++) {
                part->instance = bs->instances;
                hx_bind_stream(bs, i, part);
            }
            status = hx_bind_pair(bound, bs, step);
            status = status == HX_SUCCESS ? sources_bind(node, bound, bs, step) : status;
        }
        bs->nsteps = (uint32_t)(bound->steps_end - bs->steps);
        touches_bind(bs);
    }
    return status;
}

/* ---- steps that write around the caches: see stream.h */

/* Do the buffers of this node's ranks fill its caches, so that results have left them before a rank reads them? HX_STREAM gives
 * the bytes of a rank's result from which they do. A virtual machine reports its host's whole last-level cache: it gets only a
 * part of it. */
static int fills_caches(const struct hx_engine *engine, const struct hx_bound *bound)
{
    const struct hx_shape *shape = engine->members->shape;
    const struct hx_job *job = &engine->process->job;
    double n = hx_shape_node_size(shape, shape->node_of[engine->members->rank]);
    double in = (double)hx_layout_space_bytes(bound->plan, &bound->sizes, HX_IN);
    double out = (double)hx_layout_space_bytes(bound->plan, &bound->sizes, HX_OUT);
    double part = job->cpus_per_node * HX_CACHE_PER_CORE_BYTES;

    if (engine->process->env->stream > 0)
        return out >= (double)engine->process->env->stream;
    if (hx_coll_gives(bound->key.coll) == HX_HOLDS_ROOT) /* its input may be its output */
        in = 0;
    if (hx_coll_gets(bound->key.coll) == HX_HOLDS_ROOT)
        out /= n;
    return job->llc_bytes > 0 && n * (in + out) >= ((double)job->llc_bytes < part ? (double)job->llc_bytes : part);
}

/* No, if lengths are not known yet. No, if the call reads results again before it ends: to divide them, or because they are not
 * in the caller's buffer. */
static int may_stream(const struct hx_call_key *key)
{
    return !hx_coll_has_pair_counts(key->coll) && key->op != HX_AVG && key->coll != HX_COLL_REDUCE_SCATTER;
}

static int reads_out(const struct hx_step *step)
{
    return step->nblocks && ((step->src == HX_OUT && step->op != HX_OP_FETCH) || (step->op == HX_OP_REDUCE && step->own == HX_OUT));
}

void hx_bind_streams(const struct hx_engine *engine, struct hx_bound *bound)
{
    if (!may_stream(&bound->key) || !fills_caches(engine, bound))
        return;
    for (int s = bound->nstages - 1; s >= 0; s--) { /* after the last step that reads OUT, what is written there is for the caller alone */
        struct hx_bound_stage *bs = &bound->stages[s];
        for (; bs->streams_from > 0; bs->streams_from--)
            if (reads_out(&bs->stage->steps[bs->streams_from - 1]))
                return;
    }
}
