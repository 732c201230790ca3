/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout: block arithmetic. Every cut of n elements into m parts puts part i at floor(i n / m). */
#include "layout.h"

#define HX_ROW_ALIGN 64u
#define SLOT_LINES_WORTH 8u /* lines of data per block: with fewer, blocks share lines, so that many tiny ones fit a rank's slots */

static size_t align_up(size_t bytes)
{
    return (bytes + HX_ROW_ALIGN - 1) & ~(size_t)(HX_ROW_ALIGN - 1);
}

struct extent { /* elements */
    uint64_t start, length;
};

static struct extent cut(struct extent whole, uint64_t i, uint64_t m)
{
    if (m == 1)
        return whole;
    uint64_t low = i * whole.length / m, high = (i + 1) * whole.length / m;
    return (struct extent){whole.start + low, high - low};
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static struct extent plan_block(const struct hx_plan *plan, uint64_t count, uint32_t x)
{
    if (plan->partition == HX_PARTITION_PER_RANK)
        return (struct extent){x * count, count};
    return cut((struct extent){0, count}, x, plan->nblocks);
}

static uint64_t plan_block_max(const struct hx_plan *plan, uint64_t count)
{
    return plan->partition == HX_PARTITION_PER_RANK ? count : ceil_div(count, plan->nblocks);
}

static uint32_t list_start(const struct hx_stage *stage, uint32_t b)
{
    return stage->list_start ? stage->list_start[b] : b;
}

static uint32_t list_item(const struct hx_stage *stage, uint32_t i)
{
    return stage->list ? stage->list[i] : i;
}

/* The longest that n plan blocks one after the other can be in one slice. */
static uint64_t piece_max(const struct hx_layout *layout, uint64_t n)
{
    uint64_t block_max = plan_block_max(layout->plan, layout->count);
    return ceil_div(n * ceil_div(block_max, layout->coarse), layout->per_coarse);
}

/* Where LIST block b starts in SLOT: after all the items before it, and room for each block's rounding, a line or an element. */
static size_t slot_start(const struct hx_layout *layout, uint32_t b)
{
    uint32_t items = list_start(layout->stage, b), blocks = items < b ? items : b; /* blocks without items need none */
    uint64_t elements = piece_max(layout, items);

    if (!layout->slot_lines)
        return (elements + blocks) * layout->elem_bytes;
    return align_up(elements * layout->elem_bytes) + blocks * (size_t)HX_ROW_ALIGN;
}

void hx_layout_init(struct hx_layout *layout, const struct hx_plan *plan, const struct hx_stage *stage,
                    const struct hx_sizes *sizes)
{
    uint32_t longest = 1;

    *layout = (struct hx_layout){.plan = plan, .stage = stage, .count = sizes->count, .elem_bytes = sizes->elem_bytes};
    layout->nslices = stage->coarse ? sizes->coarse_slices : sizes->fine_slices;
    layout->coarse = sizes->coarse_slices;
    layout->per_coarse = layout->nslices / layout->coarse;
    if (stage->split) {
        size_t part_bytes = ceil_div(piece_max(layout, 1), stage->nblocks) * sizes->elem_bytes;
        layout->row_bytes = align_up(part_bytes);
        layout->slot_lines = part_bytes >= SLOT_LINES_WORTH * HX_ROW_ALIGN;
        layout->slot_stride = layout->slot_lines ? layout->row_bytes : part_bytes;
        layout->slot_bytes = stage->uses_slot ? align_up(stage->nblocks * layout->slot_stride) : 0;
    } else {
        for (uint32_t b = 0; stage->list_start && b < stage->nblocks; b++) {
            uint32_t length = stage->list_start[b + 1] - stage->list_start[b];
            longest = length > longest ? length : longest;
        }
        layout->row_bytes = align_up(piece_max(layout, longest) * sizes->elem_bytes);
        layout->slot_lines = piece_max(layout, list_start(stage, stage->nblocks)) * sizes->elem_bytes >=
                             stage->nblocks * (uint64_t)(SLOT_LINES_WORTH * HX_ROW_ALIGN);
        layout->slot_bytes = stage->uses_slot ? align_up(slot_start(layout, stage->nblocks)) : 0;
    }
    layout->scratch_bytes = stage->scratch_rows * layout->row_bytes;
}

size_t hx_layout_space_bytes(const struct hx_plan *plan, const struct hx_sizes *sizes, enum hx_space space)
{
    uint32_t first = space == HX_IN ? plan->in_block : plan->out_block;
    uint32_t n = space == HX_IN ? plan->in_nblocks : plan->out_nblocks;

    if (space == HX_WORK)
        return plan->nwork * plan_block_max(plan, sizes->count) * sizes->elem_bytes;
    if (n == 0)
        return 0;
    struct extent low = plan_block(plan, sizes->count, first), high = plan_block(plan, sizes->count, first + n - 1);
    return (high.start + high.length - low.start) * sizes->elem_bytes;
}

static uint32_t work_index(const struct hx_plan *plan, uint32_t x)
{
    uint32_t low = 0, high = plan->nwork;

    while (low < high) { /* work_blocks ascends */
        uint32_t middle = low + (high - low) / 2;
        if (plan->work_blocks[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Element position of extent e of plan block x in a space that holds whole plan blocks. */
static uint64_t home(const struct hx_layout *layout, enum hx_space space, uint32_t x, struct extent e)
{
    const struct hx_plan *plan = layout->plan;

    if (space == HX_IN)
        return e.start - (plan->in_block ? plan_block(plan, layout->count, plan->in_block).start : 0);
    if (space == HX_OUT)
        return e.start - (plan->out_block ? plan_block(plan, layout->count, plan->out_block).start : 0);
    return work_index(plan, x) * plan_block_max(plan, layout->count) + e.start - plan_block(plan, layout->count, x).start;
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
static struct extent coarse_piece(const struct hx_layout *layout, uint32_t x, uint64_t slice)
{
    return cut(plan_block(layout->plan, layout->count, x), slice / layout->per_coarse, layout->coarse);
}

/* Elements [start, start + length) of the items of LIST block b, one after the other, that slice covers. */
static struct extent list_piece(const struct hx_layout *layout, uint32_t b, uint64_t slice)
{
    const struct hx_stage *stage = layout->stage;
    uint32_t first = list_start(stage, b), end = list_start(stage, b + 1);
    struct extent whole = {0, 0};

    if (first < end && layout->plan->partition == HX_PARTITION_PER_RANK) /* all of one length */
        whole.length = (end - first) * coarse_piece(layout, list_item(stage, first), slice).length;
    for (uint32_t i = first; i < end && layout->plan->partition != HX_PARTITION_PER_RANK; i++)
        whole.length += coarse_piece(layout, list_item(stage, i), slice).length;
    return cut(whole, slice % layout->per_coarse, layout->per_coarse);
}

static struct extent split_piece(const struct hx_layout *layout, uint64_t slice)
{
    struct extent whole = coarse_piece(layout, list_item(layout->stage, 0), slice);
    return cut(whole, slice % layout->per_coarse, layout->per_coarse);
}

static void split_spans(const struct hx_layout *layout, enum hx_space space, uint32_t b, uint64_t slice, struct span_list *list)
{
    struct extent piece = split_piece(layout, slice), part = cut(piece, b, layout->stage->nblocks);
    /* a block keeps its place in the slot from slice to slice: algorithms reuse slots block by block */
    size_t at = space == HX_SLOT ? b * layout->slot_stride
                                 : home(layout, space, list_item(layout->stage, 0), part) * layout->elem_bytes;

    span_add(list, at, part.length * layout->elem_bytes);
}

static void list_spans(const struct hx_layout *layout, enum hx_space space, uint32_t b, uint64_t slice, struct span_list *list)
{
    const struct hx_stage *stage = layout->stage;
    struct extent piece = list_piece(layout, b, slice);
    uint32_t i = list_start(stage, b);
    uint64_t end = piece.start + piece.length, at = 0, size = layout->elem_bytes; /* at: elements of the items before i */

    if (space == HX_SLOT) {
        span_add(list, slot_start(layout, b), piece.length * size);
        return;
    }
    if (piece.length && layout->plan->partition == HX_PARTITION_PER_RANK) { /* items of one length: go to the first at once */
        uint64_t length = coarse_piece(layout, list_item(stage, i), slice).length;
        i += (uint32_t)(piece.start / length);
        at = piece.start / length * length;
    }
    for (; at < end; i++) {
        struct extent item = coarse_piece(layout, list_item(stage, i), slice);
        uint64_t low = at > piece.start ? at : piece.start, high = at + item.length < end ? at + item.length : end;
        if (low < high)
            span_add(list, home(layout, space, list_item(stage, i), (struct extent){item.start + low - at, high - low}) * size,
                     (high - low) * size);
        at += item.length;
    }
}

int hx_layout_spans(const struct hx_layout *layout, enum hx_space space, uint32_t block, uint32_t nblocks, uint32_t row,
                    uint64_t slice, struct hx_span *spans, int capacity)
{
    struct span_list list = {.spans = spans, .capacity = capacity};

    for (uint32_t i = 0; i < nblocks; i++) {
        uint32_t b = block + i < layout->stage->nblocks ? block + i : block + i - layout->stage->nblocks;
        if (space == HX_SCRATCH)
            span_add(&list, (row + i) * layout->row_bytes, hx_layout_bytes(layout, b, 1, slice));
        else if (layout->stage->split)
            split_spans(layout, space, b, slice, &list);
        else
            list_spans(layout, space, b, slice, &list);
    }
    return list.n;
}

size_t hx_layout_bytes(const struct hx_layout *layout, uint32_t block, uint32_t nblocks, uint64_t slice)
{
    const struct hx_stage *stage = layout->stage;
    uint64_t elements = 0;

    for (uint32_t i = 0; i < nblocks; i++) {
        uint32_t b = block + i < stage->nblocks ? block + i : block + i - stage->nblocks;
        elements += stage->split ? cut(split_piece(layout, slice), b, stage->nblocks).length : list_piece(layout, b, slice).length;
    }
    return elements * layout->elem_bytes;
}

int hx_layout_max_spans(const struct hx_stage *stage)
{
    return stage->list_start && !stage->split ? (int)stage->list_start[stage->nblocks] + 1 : (int)stage->nblocks + 1;
}
