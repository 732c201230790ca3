/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners: the members whose block may hold something. With few lanes most members of a large node own nothing, and no
 * member waits for them. Holder: the member that collects or hands out another member's block. */
#pragma once

#include "runtime/plan/plan.h"

static inline int hx_owns(const struct hx_builder *b, int member)
{
    return !hx_block_is_empty(b, member);
}

static inline int hx_holder(const struct hx_builder *b, int member)
{
    return b->stage->holder ? b->stage->holder[member] : b->root;
}

/* Members [first, first + n) own something, or nothing, all of them; returns which. */
static inline int hx_owners_run(const struct hx_builder *b, int first, int *n)
{
    int owns = hx_owns(b, first);

    for (*n = 1; first + *n < b->p && hx_owns(b, first + *n) == owns; ++*n)
        ;
    return owns;
}

/* Wait until all owners have published flag in the slice one window before. */
static inline void hx_owners_await_lag(struct hx_builder *b, int flag)
{
    for (int first = 0, n; first < b->p; first += n)
        if (hx_owners_run(b, first, &n))
            hx_await_lag(b, flag, first, n);
}

/* Wait until all owners have published flag. */
static inline void hx_owners_await(struct hx_builder *b, int flag)
{
    for (int first = 0, n; first < b->p; first += n)
        if (hx_owners_run(b, first, &n))
            hx_await_run(b, flag, first, n);
}
