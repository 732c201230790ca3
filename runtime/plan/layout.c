/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout: block arithmetic. Every cut of n elements into m parts puts part i at floor(i n / m). */
#include "runtime/plan/graph.h"
#include "runtime/plan/items.h"
#include "runtime/plan/layout.h"

#define HX_ROW_ALIGN 64u
#define SLOT_LINES_WORTH 8u /* lines of data per block: with fewer, blocks share lines, so that many tiny ones fit a rank's slots */

static size_t align_up(size_t bytes)
{
    return (bytes + HX_ROW_ALIGN - 1) & ~(size_t)(HX_ROW_ALIGN - 1);
}

static struct hx_extent block_of(const struct hx_layout *layout, uint64_t x)
{
    struct hx_extent e = hx_layout_extent(layout->plan, &layout->sizes, x);
    enum hx_share share = layout->stage->share;

    if ((share == HX_SHARE_SHORT && e.length > layout->sizes.limit) || (share == HX_SHARE_LONG && e.length <= layout->sizes.limit))
        e.length = 0;
    return e;
}

/* All plan blocks are of one length. */
static int blocks_are_alike(const struct hx_layout *layout)
{
    return layout->plan->partition == HX_PARTITION_PER_RANK && !layout->sizes.starts && !layout->sizes.pair_counts;
}

uint64_t hx_layout_items(const struct hx_stage *stage, uint32_t block)
{
    return hx_items_count(hx_items_of(stage, hx_stage_columns(stage), block));
}

uint64_t hx_layout_item(const struct hx_plan *plan, const struct hx_stage *stage, uint32_t block, uint64_t i)
{
    return hx_items_at(plan, stage, hx_items_of(stage, hx_stage_columns(stage), block), i);
}

uint32_t hx_layout_block(const struct hx_stage *stage, uint32_t first, uint32_t i)
{
    uint32_t columns = stage->nblocks, end = stage->nblocks;

    if (hx_is_picked(stage, first))
        return stage->picks[first - stage->nblocks + i].block;
    if (stage->nrows) { /* the end of its row */
        columns = hx_stage_columns(stage);
        end = (first / columns + 1) * columns;
    }
    return first + i < end ? first + i : first + i - columns;
}

/* The longest that n plan blocks one after the other can be in one slice. */
static uint64_t piece_max(const struct hx_layout *layout, uint64_t n)
{
    return hx_ceil_div(n * hx_ceil_div(layout->room, layout->coarse), layout->per_coarse);
}

/* Room for the rounding of a block that starts on a line: to the next line, and with several slices of one element. */
static size_t line_rounding(const struct hx_layout *layout)
{
    size_t aligned = layout->sizes.elem_bytes & -layout->sizes.elem_bytes;
    return align_up(layout->sizes.elem_bytes + HX_ROW_ALIGN - (aligned < HX_ROW_ALIGN ? aligned : HX_ROW_ALIGN));
}

/* The start of LIST block (row, column) in SLOT. It follows all the items before it in its row, and room for each block's
 * rounding. column may be one more than there are: the end. */
static size_t slot_start(const struct hx_layout *layout, uint32_t row, uint32_t column)
{
    uint64_t items = layout->stage->listed ? hx_list_start(layout->stage, row * layout->columns + column) - hx_list_start(layout->stage, row * layout->columns)
                                           : (uint64_t)hx_list_start(layout->stage, column) * hx_row_length(layout->stage, row);
    uint64_t blocks = items < column ? items : column; /* blocks without items need none */
    uint64_t elements = piece_max(layout, items);

    if (!layout->slot_lines)
        return (elements + (layout->nslices > 1 ? blocks : 0)) * layout->sizes.elem_bytes;
    return align_up(elements * layout->sizes.elem_bytes) + blocks * line_rounding(layout);
}

/* So many elements as codes of the stage. The checker's elements are cells of one byte, and each code is one too. */
static size_t code_bytes(const struct hx_layout *layout, uint64_t elements)
{
    return layout->sizes.elem_bytes == 1 ? elements : hx_wire_bytes(layout->stage->wire, elements);
}

void hx_layout_init(struct hx_layout *layout, const struct hx_plan *plan, const struct hx_stage *stage,
                    const struct hx_sizes *sizes)
{
    uint32_t longest = 1, row = hx_longest_row(stage);

    *layout = (struct hx_layout){.plan = plan, .stage = stage, .sizes = *sizes, .columns = hx_stage_columns(stage)};
    layout->nslices = stage->coarse ? sizes->coarse_slices : sizes->fine_slices;
    layout->coarse = sizes->coarse_slices;
    layout->room = stage->share == HX_SHARE_SHORT ? sizes->limit : hx_plan_block_max(plan, sizes->count);
    if (stage->share == HX_SHARE_COUNTS) { /* the same matrix of other blocks */
        layout->sizes.count = layout->room = sizeof(size_t);
        layout->sizes.elem_bytes = 1;
        layout->sizes.pair_counts = NULL;
        layout->nslices = layout->coarse = 1;
    }
    layout->per_coarse = layout->nslices / layout->coarse;
    if (stage->split) {
        size_t part_bytes = hx_ceil_div(piece_max(layout, 1), stage->nblocks) * layout->sizes.elem_bytes;
        layout->row_bytes = align_up(part_bytes);
        layout->slot_lines = part_bytes >= SLOT_LINES_WORTH * HX_ROW_ALIGN;
        layout->slot_stride = layout->slot_lines ? layout->row_bytes : part_bytes;
        if (sizes->for_smaller)
            layout->slot_stride = align_up(part_bytes + layout->sizes.elem_bytes) + HX_ROW_ALIGN;
        layout->slot_bytes = stage->uses_slot ? align_up(stage->nblocks * layout->slot_stride) : 0;
    } else {
        for (uint32_t b = 0; stage->list_start && b < (stage->listed ? stage->nblocks : layout->columns); b++) {
            uint32_t length = stage->list_start[b + 1] - stage->list_start[b];
            longest = length > longest ? length : longest;
        }
        layout->row_bytes = align_up(piece_max(layout, (uint64_t)longest * hx_row_length(stage, row)) * layout->sizes.elem_bytes);
        layout->slot_lines =
            sizes->for_smaller ||
            piece_max(layout, (uint64_t)hx_list_start(stage, layout->columns) * hx_row_length(stage, row)) *
                layout->sizes.elem_bytes >=
            layout->columns * (uint64_t)(SLOT_LINES_WORTH * HX_ROW_ALIGN);
        if (stage->share == HX_SHARE_COUNTS || stage->share == HX_SHARE_SHORT)
            layout->slot_lines = 0; /* written once a call: so a smaller node's slots are no longer than the fullest's */
        if (layout->nslices == 1 && layout->room * layout->sizes.elem_bytes % HX_ROW_ALIGN == 0)
            layout->slot_lines = 0; /* they do anyway, and without gaps a range is one span */
        layout->slot_bytes = stage->uses_slot ? align_up(stage->listed ? piece_max(layout, plan->graph->most) * layout->sizes.elem_bytes
                                                                       : slot_start(layout, row, layout->columns)) : 0;
    }
    layout->scratch_bytes = stage->scratch_rows * layout->row_bytes;
    if (stage->wire) {
        layout->code_row_bytes = align_up(code_bytes(layout, layout->row_bytes / layout->sizes.elem_bytes));
        layout->scratch_bytes += stage->code_rows * layout->code_row_bytes;
    }
}

/* Element position of extent e of plan block x in a space that holds whole plan blocks. */
static uint64_t home(const struct hx_layout *layout, enum hx_space space, uint64_t x, struct hx_extent e)
{
    const struct hx_plan *plan = layout->plan;

    if (layout->sizes.pair_counts && space == HX_IN && layout->sizes.pair_counts->sent_at)
        return layout->sizes.pair_counts->sent_at[hx_plan_sent_place(plan, x)] + e.start - block_of(layout, x).start;
    if (layout->sizes.pair_counts && space == HX_OUT)
        return layout->sizes.pair_counts->received_at[hx_plan_received_place(plan, x)] + e.start - block_of(layout, x).start;
    if (layout->sizes.places && space == hx_placed_space(plan))
        return layout->sizes.places[x] + e.start - block_of(layout, x).start;
    if (space == HX_IN || space == HX_COUNTS)
        return e.start - (plan->in_block ? block_of(layout, plan->in_block).start : 0);
    if (space == HX_OUT && plan->out_stride == 1 && !plan->graph)
        return e.start - (plan->out_block ? block_of(layout, plan->out_block).start : 0);
    if (space == HX_WORK && layout->sizes.starts)
        return e.start - block_of(layout, plan->work[0].columns[0]).start;
    e.start -= block_of(layout, x).start;
    if (space == HX_OUT)
        return (plan->graph ? plan->graph->in_place[x] : (x - plan->out_block) / plan->out_stride) * layout->sizes.count + e.start;
    return (uint64_t)hx_layout_work_place(plan, x) * layout->room + e.start;
}

struct span_list {
    struct hx_span *spans, last;
    int n, capacity;
};

static void span_add(struct span_list *list, size_t offset, size_t bytes)
{
    if (bytes == 0)
        return;
    if (list->n && list->last.offset + list->last.bytes == offset) {
        list->last.bytes += bytes;
    } else {
        list->last = (struct hx_span){offset, bytes};
        list->n++;
    }
    if (list->n <= list->capacity)
        list->spans[list->n - 1] = list->last;
}

/* The coarse piece of plan block x that slice belongs to. */
static struct hx_extent coarse_piece(const struct hx_layout *layout, uint64_t x, uint64_t slice)
{
    return hx_cut(block_of(layout, x), slice / layout->per_coarse, layout->coarse);
}

/* Elements [start, start + length) of the items of LIST block b, one after the other, that slice covers. */
static struct hx_extent list_piece(const struct hx_layout *layout, struct hx_items items, uint64_t slice)
{
    uint64_t n = hx_items_count(items);
    struct hx_extent whole = {0, 0};

    if (n && blocks_are_alike(layout))
        whole.length = n * coarse_piece(layout, hx_items_at(layout->plan, layout->stage, items, 0), slice).length;
    for (uint64_t i = 0; i < n && !blocks_are_alike(layout); i++)
        whole.length += coarse_piece(layout, hx_items_at(layout->plan, layout->stage, items, i), slice).length;
    return hx_cut(whole, slice % layout->per_coarse, layout->per_coarse);
}

static struct hx_extent split_piece(const struct hx_layout *layout, uint64_t slice)
{
    struct hx_extent whole = coarse_piece(layout, hx_list_item(layout->stage, 0), slice);
    return hx_cut(whole, slice % layout->per_coarse, layout->per_coarse);
}

static void split_spans(const struct hx_layout *layout, enum hx_space space, uint32_t b, uint64_t slice, struct span_list *list)
{
    struct hx_extent piece = split_piece(layout, slice), part = hx_cut(piece, b, layout->stage->nblocks);
    /* a block keeps its place in the slot from slice to slice: algorithms reuse slots block by block */
    size_t at = space == HX_SLOT ? b * layout->slot_stride
                                 : home(layout, space, hx_list_item(layout->stage, 0), part) * layout->sizes.elem_bytes;

    span_add(list, at, part.length * layout->sizes.elem_bytes);
}

static void list_spans(const struct hx_layout *layout, enum hx_space space, uint32_t b, uint64_t slice, struct span_list *list)
{
    const struct hx_stage *stage = layout->stage;
    struct hx_items items = hx_items_of(stage, layout->columns, b);
    struct hx_extent piece = list_piece(layout, items, slice);
    uint64_t size = layout->sizes.elem_bytes;
    uint64_t end = piece.start + piece.length, at = 0, i = 0; /* at: elements of the items before i */

    if (space == HX_SLOT) {
        span_add(list, slot_start(layout, stage->nrows ? b / layout->columns : 0, stage->nrows ? b % layout->columns : b),
                 piece.length * size);
        return;
    }
    if (piece.length && blocks_are_alike(layout)) { /* go to the first item at once */
        uint64_t length = coarse_piece(layout, hx_items_at(layout->plan, stage, items, 0), slice).length;
        i = piece.start / length;
        at = i * length;
    }
    for (; at < end; i++) {
        uint64_t x = hx_items_at(layout->plan, stage, items, i);
        struct hx_extent item = coarse_piece(layout, x, slice);
        uint64_t low = at > piece.start ? at : piece.start, high = at + item.length < end ? at + item.length : end;
        if (low < high)
            span_add(list, home(layout, space, x, (struct hx_extent){item.start + low - at, high - low}) * size,
                     (high - low) * size);
        at += item.length;
    }
}

static uint64_t block_elements(const struct hx_layout *layout, uint32_t b, uint64_t slice)
{
    if (layout->stage->split)
        return hx_cut(split_piece(layout, slice), b, layout->stage->nblocks).length;
    return list_piece(layout, hx_items_of(layout->stage, layout->columns, b), slice).length;
}

int hx_layout_spans(const struct hx_layout *layout, enum hx_space space, uint32_t block, uint32_t nblocks, uint32_t row,
                    uint64_t slice, struct hx_span *spans, int capacity)
{
    struct span_list list = {.spans = spans, .capacity = capacity};
    const struct hx_stage *stage = layout->stage;
    const struct hx_pick *picks = hx_is_picked(stage, block) ? stage->picks + (block - stage->nblocks) : NULL;

    if (space == HX_CODES) { /* one after the other, whatever blocks they are of */
        span_add(&list, stage->scratch_rows * layout->row_bytes + row * layout->code_row_bytes,
                 code_bytes(layout, hx_layout_bytes(layout, block, nblocks, slice) / layout->sizes.elem_bytes));
        return list.n;
    }
    for (uint32_t i = 0; i < nblocks; i++) {
        uint32_t b = hx_layout_block(stage, block, i);
        if (space == HX_SCRATCH)
            span_add(&list, (picks ? picks[i].row : row + i) * layout->row_bytes,
                     block_elements(layout, b, slice) * layout->sizes.elem_bytes);
        else if (layout->stage->split)
            split_spans(layout, space, b, slice, &list);
        else
            list_spans(layout, space, b, slice, &list);
    }
    return list.n;
}

int hx_layout_spans_of(const struct hx_layout *layout, int rank, enum hx_space space, uint32_t block, uint32_t nblocks, uint64_t slice,
                       struct hx_span *spans, int capacity)
{
    struct hx_plan plan = *layout->plan;
    struct hx_layout theirs = *layout;

    plan.in_block = hx_coll_in_block(plan.coll, plan.p, rank);
    theirs.plan = &plan;
    return hx_layout_spans(&theirs, space, block, nblocks, 0, slice, spans, capacity);
}

size_t hx_layout_bytes(const struct hx_layout *layout, uint32_t block, uint32_t nblocks, uint64_t slice)
{
    uint64_t elements = 0;

    for (uint32_t i = 0; i < nblocks; i++)
        elements += block_elements(layout, hx_layout_block(layout->stage, block, i), slice);
    return elements * layout->sizes.elem_bytes;
}

size_t hx_layout_moved(const struct hx_layout *layout, const struct hx_step *step, uint64_t slice)
{
    size_t bytes = hx_layout_bytes(layout, step->block, step->nblocks, slice);
    int codes = step->op == HX_OP_SEND ? step->src == HX_CODES : step->op == HX_OP_RECV && step->dst == HX_CODES;

    return codes ? code_bytes(layout, bytes / layout->sizes.elem_bytes) : bytes;
}

struct hx_span hx_layout_slot_span(const struct hx_layout *layout)
{
    uint32_t first = hx_longest_row(layout->stage) * layout->columns;
    struct hx_span span = {0, 0};

    if (hx_layout_spans(layout, HX_SLOT, first, layout->columns, 0, 0, &span, 1) != 1)
        span.bytes = 0;
    return span;
}

int hx_layout_max_spans(const struct hx_stage *stage)
{
    uint32_t columns = hx_stage_columns(stage), all, most = 0, column = 0;

    if (stage->split)
        return (int)stage->nblocks + 1;
    if (stage->listed)
        return (int)hx_row_items(stage, hx_longest_row(stage)) + 1;
    all = hx_list_start(stage, columns);
    for (uint32_t j = 0; stage->nrows && j < columns; j++)
        if (hx_list_start(stage, j + 1) - hx_list_start(stage, j) > column)
            column = hx_list_start(stage, j + 1) - hx_list_start(stage, j);
    for (uint32_t i = 0; stage->nrows && i < stage->nsteps; i++) {
        uint32_t items = stage->steps[i].nblocks * column; /* of a row */
        if (!hx_is_picked(stage, stage->steps[i].block) && items > all)
            items = all;
        most = items > most ? items : most;
    }
    return (int)((stage->nrows ? most * hx_row_length(stage, hx_longest_row(stage)) : all) + 1);
}
