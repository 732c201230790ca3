/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan blocks in the vector, and in the spaces that hold whole ones: IN, OUT and WORK. */
#include "runtime/plan/graph.h"
#include "runtime/plan/layout.h"
#include <stdlib.h>

static uint64_t area_blocks(const struct hx_area *area)
{
    return (area->nrows ? area->nrows : 1) * (uint64_t)area->ncolumns;
}

uint64_t hx_layout_work_blocks(const struct hx_plan *plan)
{
    return area_blocks(&plan->work[0]) + area_blocks(&plan->work[1]);
}

static int by_number(const void *x, const void *in)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint32_t *)in;

    return (a > b) - (a < b);
}

/* The place of x in n ascending numbers, or -1. */
static int64_t place_of(const uint32_t *numbers, uint32_t n, uint64_t x)
{
    const uint32_t *found = n ? bsearch(&x, numbers, n, sizeof(*numbers), by_number) : NULL;

    return found ? found - numbers : -1;
}

/* How many plan blocks stand in an area before x; -1: x is not in it. */
static int64_t area_place(const struct hx_plan *plan, const struct hx_area *area, uint64_t x)
{
    int64_t row, column;

    if (!area->nrows)
        return place_of(area->columns, area->ncolumns, x);
    row = place_of(area->rows, area->nrows, x / (uint64_t)plan->p);
    column = place_of(area->columns, area->ncolumns, x % (uint64_t)plan->p);
    return row < 0 || column < 0 ? -1 : column * area->nrows + row;
}

/* WORK holds the blocks of two areas, one after the other, each column by column. */
int64_t hx_layout_work_place(const struct hx_plan *plan, uint64_t x)
{
    int64_t place = area_place(plan, &plan->work[0], x);

    if (place < 0 && (place = area_place(plan, &plan->work[1], x)) >= 0)
        place += (int64_t)area_blocks(&plan->work[0]);
    return place;
}

/* Elements of a block of the matrix; none if this rank does not know its length. */
static uint64_t pair_counts_length(const struct hx_plan *plan, const struct hx_sizes *sizes, uint64_t x)
{
    int64_t place;

    if ((place = hx_plan_sent_place(plan, x)) >= 0)
        return sizes->pair_counts->sent[place];
    if ((place = hx_plan_received_place(plan, x)) >= 0)
        return sizes->pair_counts->received[place];
    place = sizes->heard ? hx_layout_work_place(plan, x) : -1;
    return place < 0 ? 0 : sizes->heard[place];
}

struct hx_extent hx_layout_extent(const struct hx_plan *plan, const struct hx_sizes *sizes, uint64_t x)
{
    if (plan->partition != HX_PARTITION_PER_RANK)
        return hx_cut((struct hx_extent){0, sizes->count}, x, plan->nblocks);
    if (sizes->starts)
        return (struct hx_extent){sizes->starts[x], sizes->starts[x + 1] - sizes->starts[x]};
    return (struct hx_extent){x * sizes->count, sizes->pair_counts ? pair_counts_length(plan, sizes, x) : sizes->count};
}

uint64_t hx_layout_in_place(const struct hx_plan *plan, const struct hx_sizes *sizes, uint32_t i)
{
    if (sizes->pair_counts)
        return sizes->pair_counts->sent_at[i];
    if (sizes->places && hx_placed_space(plan) == HX_IN)
        return sizes->places[plan->in_block + i];
    return hx_layout_extent(plan, sizes, plan->in_block + i).start - hx_layout_extent(plan, sizes, plan->in_block).start;
}

uint64_t hx_layout_out_place(const struct hx_plan *plan, const struct hx_sizes *sizes, uint32_t i)
{
    if (sizes->pair_counts)
        return sizes->pair_counts->received_at[i];
    if (sizes->places && hx_placed_space(plan) == HX_OUT)
        return sizes->places[plan->out_block + i];
    if (plan->out_stride > 1 || plan->graph)
        return i * sizes->count;
    return hx_layout_extent(plan, sizes, plan->out_block + i).start - hx_layout_extent(plan, sizes, plan->out_block).start;
}

int hx_layout_awaits_all(const struct hx_plan *plan, const struct hx_sizes *sizes)
{
    for (uint64_t x = 0; sizes->starts && x < plan->nblocks; x++)
        if (hx_layout_extent(plan, sizes, x).length == 0)
            return 0;
    return plan->awaits_all;
}

/* In WORK, where with pair counts only short ones stand. */
static uint64_t work_block_max(const struct hx_plan *plan, const struct hx_sizes *sizes)
{
    return hx_coll_has_pair_counts(plan->coll) ? sizes->limit : hx_plan_block_max(plan, sizes->count);
}

static uint64_t places_end(const struct hx_plan *plan, const struct hx_sizes *sizes)
{
    uint64_t end = 0;

    for (uint64_t x = 0; x < plan->nblocks; x++) {
        uint64_t length = hx_layout_extent(plan, sizes, x).length;
        end = length && sizes->places[x] + length > end ? sizes->places[x] + length : end;
    }
    return end;
}

/* Beyond the last that this rank sends from IN, or receives in OUT. */
static uint64_t pair_counts_end(const struct hx_pair_counts *pair_counts, enum hx_space space)
{
    const size_t *lengths = space == HX_IN ? pair_counts->sent : pair_counts->received;
    const size_t *at = space == HX_IN ? pair_counts->sent_at : pair_counts->received_at;
    uint64_t end = 0;

    for (int r = 0; r < (space == HX_IN ? pair_counts->nsent : pair_counts->nreceived); r++)
        end = lengths[r] && at[r] + lengths[r] > end ? at[r] + lengths[r] : end;
    return end;
}

size_t hx_layout_space_bytes(const struct hx_plan *plan, const struct hx_sizes *sizes, enum hx_space space)
{
    uint64_t first = space == HX_IN ? plan->in_block : plan->out_block;
    uint32_t n = space == HX_IN ? plan->in_nblocks : plan->out_nblocks;

    if (space == HX_COUNTS)
        return (size_t)plan->in_nblocks * sizeof(size_t);
    if (space == HX_HEARD)
        return hx_layout_work_blocks(plan) * sizeof(size_t);
    if (space == HX_WORK && !sizes->starts)
        return hx_layout_work_blocks(plan) * work_block_max(plan, sizes) * sizes->elem_bytes;
    if (space == HX_WORK) {
        const struct hx_area *work = &plan->work[0];
        first = work->ncolumns ? work->columns[0] : 0;
        n = work->ncolumns ? work->columns[work->ncolumns - 1] + 1 - (uint32_t)first : 0;
    }
    if (n == 0)
        return 0;
    if (sizes->pair_counts)
        return pair_counts_end(sizes->pair_counts, space) * sizes->elem_bytes;
    if (plan->graph) /* all of one length */
        return n * sizes->count * sizes->elem_bytes;
    if (sizes->places && space == hx_placed_space(plan))
        return places_end(plan, sizes) * sizes->elem_bytes;
    struct hx_extent low = hx_layout_extent(plan, sizes, first), high = hx_layout_extent(plan, sizes, first + n - 1);
    return (high.start + high.length - low.start) * sizes->elem_bytes;
}
