/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's operands: which cells a step's range of blocks is, in which memory. */
#include "runtime/plan/check_run.h"

static struct hx_check_memory *memory_of(struct hx_check_step *s, enum hx_space space, int member, size_t *base,
                                         size_t *bytes)
{
    const struct hx_check_call *call = &s->run->calls[s->call];
    struct hx_check_rank *r = s->r;

    *base = 0;
    switch (space) {
    case HX_IN:
    case HX_OUT:
        *base = space == HX_IN ? r->in_base : r->out_base;
        *bytes = hx_layout_space_bytes(r->plan, &r->sizes, space);
        return &r->user[space == HX_OUT && !call->in_place];
    case HX_WORK:
        *bytes = r->work.bytes;
        return &r->work;
    case HX_COUNTS:
    case HX_HEARD:
        *bytes = (space == HX_COUNTS ? &r->counts : &r->heard)->bytes;
        return space == HX_COUNTS ? &r->counts : &r->heard;
    case HX_SCRATCH:
        *bytes = s->stage->layout.scratch_bytes;
        return &s->stage->scratch[s->instance->slice % s->stage->window];
    case HX_SLOT: {
        int peer = s->stage->stage->members[member];
        const struct hx_check_stage *theirs = &hx_check_rank_at(s->run, s->call, peer)->stages[s->stage->peers[member]];
        *bytes = theirs->layout.slot_bytes;
        *base = theirs->slot_offset + (s->instance->slice % s->stage->window) * *bytes;
        if (s->run->shape->node_of[peer] != s->run->shape->node_of[s->rank])
            hx_check_step_fault(s, "the slot of rank %d is on another node", peer);
        return &s->run->slots[peer][s->call % 2];
    }
    default:
        hx_check_step_fault(s, "an operand in space %d", (int)space);
        return NULL;
    }
}

/* A plan block that the step's range names and WORK does not hold, or -1. */
static int64_t work_missing(const struct hx_check_step *s)
{
    const struct hx_stage *stage = s->stage->stage;

    for (uint32_t i = 0; i < s->step->nblocks; i++) {
        uint32_t b = hx_layout_block(stage, s->step->block, i);
        uint64_t items = stage->split ? 1 : hx_layout_items(stage, b);
        for (uint64_t item = 0; item < items; item++) {
            uint64_t x = hx_layout_item(s->r->plan, stage, stage->split ? 0 : b, item);
            if (hx_layout_work_place(s->r->plan, x) < 0)
                return (int64_t)x;
        }
    }
    return -1;
}

/* The cells of the run's first n spans in a memory that has so many bytes from base on; their number, or -1 after a fault. */
static int spans_cells(struct hx_check_step *s, struct hx_check_memory *memory, size_t base, size_t bytes, int n, uint32_t *cells)
{
    int count = 0, capacity = s->stage->max_spans;

    if (n > capacity) {
        hx_check_step_fault(s, "%d spans, hx_layout_max_spans says %d", n, capacity);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        struct hx_span span = s->run->spans[i];
        if (span.offset > bytes || span.bytes > bytes - span.offset) {
            hx_check_step_fault(s, "out of bounds: elements %lld to %lld of %s of rank %d, which has %zu",
                                (long long)span.offset, (long long)(span.offset + span.bytes) - 1, memory->name,
                                memory->rank, bytes);
            return -1;
        }
        for (size_t j = 0; j < span.bytes; j++)
            cells[count++] = hx_check_cell_of(&s->run->store, memory, base + span.offset + j);
    }
    return count;
}

int hx_check_operand(struct hx_check_step *s, enum hx_space space, int member, uint32_t row, uint32_t *cells)
{
    size_t base, bytes = 0;
    struct hx_check_memory *memory = memory_of(s, space, member, &base, &bytes);

    if (s->run->faulty)
        return -1;
    if ((space == HX_WORK || space == HX_HEARD) && work_missing(s) >= 0) {
        hx_check_step_fault(s, "work does not hold plan block %lld", (long long)work_missing(s));
        return -1;
    }
    int n = hx_layout_spans(&s->stage->layout, space, s->step->block, s->step->nblocks, row, s->instance->slice, s->run->spans,
                            s->stage->max_spans);
    return spans_cells(s, memory, base, bytes, n, cells);
}

int hx_check_fetched(struct hx_check_step *s, uint32_t *cells)
{
    enum hx_space space = (enum hx_space)s->step->src;
    int peer = s->stage->stage->members[s->step->peer], n;
    struct hx_check_rank *theirs = hx_check_rank_at(s->run, s->call, peer);
    struct hx_check_memory *memory = &theirs->user[space == HX_OUT && !s->run->calls[s->call].in_place];

    if (space != HX_IN && space != HX_OUT)
        hx_check_step_fault(s, "a fetch from space %d", (int)space);
    if (s->run->shape->node_of[peer] != s->run->shape->node_of[s->rank])
        hx_check_step_fault(s, "the memory of rank %d is on another node", peer);
    if (!theirs->plan->stages[s->stage->peers[s->step->peer]].offers)
        hx_check_step_fault(s, "rank %d offers nothing", peer);
    if (s->run->faulty)
        return -1;
    n = hx_layout_spans_of(&s->stage->layout, peer, space, s->step->block, s->step->nblocks, s->instance->slice, s->run->spans,
                           s->stage->max_spans);
    return spans_cells(s, memory, space == HX_IN ? theirs->in_base : theirs->out_base,
                       hx_layout_space_bytes(theirs->plan, &theirs->sizes, space), n, cells);
}

int hx_check_elements(struct hx_check_step *s, uint32_t *elements)
{
    int n = hx_layout_spans(&s->stage->whole, HX_IN, s->step->block, s->step->nblocks, 0, s->instance->slice,
                            s->run->spans, s->stage->max_spans),
        count = 0;

    for (int i = 0; i < n; i++)
        for (size_t j = 0; j < s->run->spans[i].bytes; j++)
            elements[count++] = (uint32_t)(s->run->spans[i].offset + j);
    return count;
}
