/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of numbers under construction: the blocks or rows of one stage. A failure is sticky. Private to compose*.c. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

struct hx_lists { /* under construction: of one stage */
    uint32_t *start, *items;
    uint32_t n, nitems, capacity;
    int failed;
};

static inline void hx_lists_open(struct hx_lists *l, int nblocks)
{
    *l = (struct hx_lists){.start = calloc((size_t)nblocks + 1, sizeof(uint32_t))};
    l->failed = !l->start;
}

static inline void hx_lists_item(struct hx_lists *l, int item)
{
    if (l->nitems == l->capacity) {
        uint32_t capacity = l->capacity ? 2 * l->capacity : 16, *items = realloc(l->items, capacity * sizeof(*items));
        if (!items) {
            l->failed = 1;
            return;
        }
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->nitems++] = (uint32_t)item;
}

static inline void hx_lists_block_end(struct hx_lists *l)
{
    if (!l->failed)
        l->start[++l->n] = l->nitems;
}
