/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the single-copy algorithms. */
#pragma once

#include "intra/algorithms/owners.h"

/* Fetch this block of every other member's in, once its flag is up, into rows of SCRATCH in the order of members. Everybody begins
 * with the member after itself, so that no two read from the same one at a time. hx_reduce_rows then folds the rows. */
static inline void hx_fetch_rows(struct hx_builder *b, int flag, int block)
{
    for (int i = 1; i < b->p; i++) {
        int q = (b->me + i) % b->p;
        hx_fetch(b, flag, hx_row(q - (q > b->me), block, 1), b->in, q);
    }
}
