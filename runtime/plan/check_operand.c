/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's operands: which cells a step's range of blocks is, in which memory. */
#include "runtime/plan/check_run.h"

struct hx_check_stage *hx_check_near(struct hx_check_step *s, uint32_t member, const char *what)
{
    struct hx_check_stage *theirs = hx_check_peer(s->stage, member);

    if (!hx_check_same_node(theirs->of, s->r))
        hx_check_step_fault(s, "the %s of rank %d is on another node", what, theirs->of->rank);
    return theirs;
}

static struct hx_check_memory *user_memory(struct hx_check_rank *r, enum hx_space space, size_t *base, size_t *bytes)
{
    *base = space == HX_IN ? r->in_base : 0;
    *bytes = hx_layout_space_bytes(r->plan, &r->sizes, space);
    return &r->user[space == HX_OUT && !r->run->calls[r->call].in_place];
}

static struct hx_check_memory *memory_of(struct hx_check_step *s, enum hx_space space, uint32_t member, size_t *base, size_t *bytes)
{
    size_t place = (size_t)(s->instance - s->stage->instances);
    struct hx_check_memory *memory = NULL;

    *base = 0;
    if (space == HX_IN || space == HX_OUT)
        return user_memory(s->r, space, base, bytes);
    if (space == HX_SLOT) {
        const struct hx_check_stage *theirs = hx_check_near(s, member, "slot");
        *bytes = theirs->layout.slot_bytes;
        int turns = hx_check_turns(s->run, s->r->call);
        *base = theirs->slot_offset + place * *bytes +
                (size_t)(s->r->call / 2 % turns) * (HX_CHECK_TURNS_MAX / (size_t)turns) * s->run->part_bytes;
        return &s->run->slots[theirs->of->rank][s->r->call % 2];
    }
    memory = space == HX_WORK      ? &s->r->work
             : space == HX_COUNTS  ? &s->r->counts
             : space == HX_HEARD   ? &s->r->heard
             : space == HX_SCRATCH || space == HX_CODES ? &s->stage->scratch[place]
                                   : NULL;
    if (!memory)
        hx_check_step_fault(s, "an operand in space %d", (int)space);
    *bytes = memory->bytes;
    return memory;
}

/* WORK must hold all plan blocks that the step's range names. */
static void work_check(struct hx_check_step *s)
{
    const struct hx_stage *stage = s->stage->stage;

    for (uint32_t i = 0; i < s->step->nblocks; i++) {
        uint32_t b = hx_layout_block(stage, s->step->block, i);
        uint64_t items = stage->split ? 1 : hx_layout_items(stage, b);
        for (uint64_t item = 0; item < items; item++) {
            uint64_t x = hx_layout_item(s->r->plan, stage, stage->split ? 0 : b, item);
            if (hx_layout_work_place(s->r->plan, x) < 0)
                hx_check_step_fault(s, "work does not hold plan block %llu", (unsigned long long)x);
        }
    }
}

/* The cells of the run's first n spans in a memory that has so many bytes from base on; their number. */
static int spans_cells(struct hx_check_step *s, struct hx_check_memory *memory, size_t base, size_t bytes, int n, uint32_t *cells)
{
    int count = 0, capacity = s->stage->max_spans;

    if (n > capacity)
        hx_check_step_fault(s, "%d spans, hx_layout_max_spans says %d", n, capacity);
    for (int i = 0; i < n; i++) {
        struct hx_span span = s->run->spans[i];
        if (span.offset > bytes || span.bytes > bytes - span.offset)
            hx_check_step_fault(s, "out of bounds: elements %lld to %lld of %s of rank %d, which has %zu",
                                (long long)span.offset, (long long)(span.offset + span.bytes) - 1, memory->name,
                                memory->rank, bytes);
        for (size_t j = 0; j < span.bytes; j++)
            cells[count++] = hx_check_cell_of(&s->run->store, memory, base + span.offset + j);
    }
    return count;
}

int hx_check_operand(struct hx_check_step *s, enum hx_space space, uint32_t member, uint32_t row, uint32_t *cells)
{
    size_t base, bytes;
    struct hx_check_memory *memory = memory_of(s, space, member, &base, &bytes);

    if (space == HX_WORK || space == HX_HEARD)
        work_check(s);
    int n = hx_layout_spans(&s->stage->layout, space, s->step->block, s->step->nblocks, row, s->instance->slice, s->run->spans,
                            s->stage->max_spans);
    return spans_cells(s, memory, base, bytes, n, cells);
}

int hx_check_fetched(struct hx_check_step *s, uint32_t *cells)
{
    enum hx_space space = (enum hx_space)s->step->src;
    struct hx_check_stage *theirs = hx_check_near(s, s->step->peer, "memory");
    struct hx_check_memory *memory;
    size_t base, bytes;
    int n;

    if (space != HX_IN && space != HX_OUT)
        hx_check_step_fault(s, "a fetch from space %d", (int)space);
    if (!theirs->stage->offers)
        hx_check_step_fault(s, "rank %d offers nothing", theirs->of->rank);
    memory = user_memory(theirs->of, space, &base, &bytes);
    n = hx_layout_spans_of(&s->stage->layout, theirs->of->rank, space, s->step->block, s->step->nblocks, s->instance->slice,
                           s->run->spans, s->stage->max_spans);
    return spans_cells(s, memory, base, bytes, n, cells);
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
