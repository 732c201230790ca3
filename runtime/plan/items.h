/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan blocks that a stage block is made of: those of its list, or of a matrix, whose rows and columns are lists of
 * ranks, those from a rank of its row to one of its column. Private to layout.c.
 */
#pragma once

#include "runtime/plan/plan.h"

static inline uint32_t hx_list_start(const struct hx_stage *stage, uint32_t b)
{
    return stage->list_start ? stage->list_start[b] : b;
}

static inline uint32_t hx_list_item(const struct hx_stage *stage, uint32_t i)
{
    return stage->list ? stage->list[i] : i;
}

static inline uint32_t hx_row_start(const struct hx_stage *stage, uint32_t row)
{
    return stage->row_start ? stage->row_start[row] : row;
}

static inline uint32_t hx_row_length(const struct hx_stage *stage, uint32_t row)
{
    return stage->nrows && !stage->listed ? hx_row_start(stage, row + 1) - hx_row_start(stage, row) : 1;
}

/* The items of a row of a matrix, or what is in proportion to them. */
static inline uint32_t hx_row_items(const struct hx_stage *stage, uint32_t row)
{
    uint32_t columns = hx_stage_columns(stage);

    return stage->listed ? stage->list_start[(row + 1) * columns] - stage->list_start[row * columns] : hx_row_length(stage, row);
}

static inline uint32_t hx_longest_row(const struct hx_stage *stage)
{
    uint32_t longest = 0;

    for (uint32_t row = 1; row < stage->nrows; row++)
        longest = hx_row_items(stage, row) > hx_row_items(stage, longest) ? row : longest;
    return longest;
}

struct hx_items { /* of a stage block: those of nrows ranks from list item `row` on to ranks from `column` on */
    uint32_t row, nrows, column, ncolumns;
};

static inline struct hx_items hx_items_of(const struct hx_stage *stage, uint32_t columns, uint32_t b)
{
    const int ranks = stage->nrows && !stage->listed; /* its rows and columns are of ranks */
    uint32_t row = ranks ? b / columns : 0, column = ranks ? b % columns : b;
    uint32_t first = hx_list_start(stage, column), end = hx_list_start(stage, column + 1);

    if (!ranks)
        return (struct hx_items){0, 1, first, end - first};
    return (struct hx_items){hx_row_start(stage, row), hx_row_length(stage, row), first, end - first};
}

static inline uint64_t hx_items_count(struct hx_items items)
{
    return (uint64_t)items.nrows * items.ncolumns;
}

/* Number i of them: destination by destination. */
static inline uint64_t hx_items_at(const struct hx_plan *plan, const struct hx_stage *stage, struct hx_items items,
                                   uint64_t i)
{
    uint32_t row;

    if (!stage->nrows || stage->listed)
        return hx_list_item(stage, items.column + (uint32_t)i);
    row = items.row + (uint32_t)(i % items.nrows);
    return (uint64_t)(stage->rows ? stage->rows[row] : row) * (uint64_t)plan->p +
           hx_list_item(stage, items.column + (uint32_t)(i / items.nrows));
}

/* Does a range that begins with this block name picks? */
static inline int hx_is_picked(const struct hx_stage *stage, uint32_t first)
{
    return first >= stage->nblocks;
}
