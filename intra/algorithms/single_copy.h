/* SPDX-License-Identifier: BSD-3-Clause */
/* What the single-copy algorithms have in common. */
#pragma once

#include "intra/algorithms/owners.h"

/* My block of the others' in, into rows of SCRATCH in their order, each once its flag is up. Everybody begins with the member after
 * itself, so that no two read one at a time. hx_reduce_rows then folds them. */
static inline void hx_fetch_rows(struct hx_builder *b, int flag)
{
    for (int i = 1; i < b->p; i++) {
        int q = (b->me + i) % b->p;
        hx_fetch(b, flag, hx_row(q - (q > b->me), b->me, 1), b->in, q);
    }
}
