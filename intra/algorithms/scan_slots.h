/* SPDX-License-Identifier: BSD-3-Clause */
/* Scans in shared memory: a member's slot is read by the higher ones only. */
#pragma once

#include "runtime/plan/plan.h"

enum { HX_LOWER_FILLED, HX_LOWER_READ };

/* Put in into the slot, for the higher members. The last member has none, and does nothing. */
static inline void hx_lower_publish(struct hx_builder *b)
{
    int higher = b->p - 1 - b->me;

    if (higher == 0)
        return;
    /* the slot held the slice one window before: they have read that */
    hx_await_lag(b, HX_LOWER_READ, b->me + 1, higher);
    hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->in, 0, 1));
    hx_publish(b, HX_LOWER_FILLED);
}

/* The counts of the last member, which reads most. */
static inline struct hx_counts hx_scan_slots_counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .work = {{g.p, 1, g.p}}};
}
