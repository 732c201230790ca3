/* SPDX-License-Identifier: BSD-3-Clause */
/* WORK: the plan blocks of two areas, one after the other, each column by column. */
#include "runtime/plan/layout.h"

static uint64_t area_blocks(const struct hx_area *area)
{
    return (area->nrows ? area->nrows : 1) * (uint64_t)area->ncolumns;
}

uint64_t hx_layout_work_blocks(const struct hx_plan *plan)
{
    return area_blocks(&plan->work[0]) + area_blocks(&plan->work[1]);
}

/* The place of x in n ascending numbers, or of the first beyond it. */
static uint32_t place_of(const uint32_t *numbers, uint32_t n, uint64_t x)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (numbers[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many plan blocks stand in an area before x; -1: x is not in it. */
static int64_t area_place(const struct hx_plan *plan, const struct hx_area *area, uint64_t x)
{
    uint64_t row = area->nrows ? x / (uint64_t)plan->p : 0, column = area->nrows ? x % (uint64_t)plan->p : x;
    uint32_t i = place_of(area->rows, area->nrows, row), j = place_of(area->columns, area->ncolumns, column);

    if (j == area->ncolumns || area->columns[j] != column || (area->nrows && (i == area->nrows || area->rows[i] != row)))
        return -1;
    return area->nrows ? (int64_t)j * area->nrows + i : j;
}

int64_t hx_layout_work_place(const struct hx_plan *plan, uint64_t x)
{
    int64_t place = area_place(plan, &plan->work[0], x);

    if (place < 0 && (place = area_place(plan, &plan->work[1], x)) >= 0)
        place += (int64_t)area_blocks(&plan->work[0]);
    return place;
}
