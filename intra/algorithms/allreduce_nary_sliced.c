/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sliced n-ary all-reduce in shared memory: member r adds up block r of all members in one pass over their slots and
 * puts the sum into its own slot; then everybody copies the sums out. Each element is added once per node, not once
 * per member.
 *
 *   slot[r] = in, but for block r;  publish FILLED;  await all
 *   out[r] = block r of slot[0] op ... op slot[p-1], own from in;   slot[r] block r = out[r];   publish SUMMED
 *   for q = r+1, r+2, ...:  await SUMMED of q;  out[q] = block q of slot[q]
 *
 * Cost: 2 alpha + (5 - 2/p) S beta of memory traffic per member. For medium and large vectors. Any p, any operation
 * (rank order).
 *
 * Why the slot may be rewritten for the slice one window later without asking anybody: that slice starts when this
 * one is done here. By then SUMMED of every q was seen, so q has read its block of this slot. The sum in block r is
 * rewritten only after FILLED of all for the later slice, and q published that after it was done with this slice, its
 * copying included.
 */
#include "runtime/plan/plan.h"

enum { FILLED, SUMMED };

static void build(struct hx_builder *b)
{
    int me = b->me;

    hx_split(b, b->p);
    hx_copy(b, hx_at(HX_SLOT, me + 1, b->p - 1), hx_at(b->in, me + 1, b->p - 1));
    hx_publish(b, FILLED);
    hx_await_all(b, FILLED);
    hx_reduce_slots(b, hx_at(b->out, me, 1), b->in);
    hx_copy(b, hx_at(HX_SLOT, me, 1), hx_at(b->out, me, 1));
    hx_publish(b, SUMMED);
    for (int q = me + 1; q < me + b->p; q++)
        hx_take(b, SUMMED, hx_at(b->out, q, 1), q);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .work = {{g.p, 0.95 * 2, 0.95 * 1}}, /* 0.95: measured */
                              .read_in_parts = 1.0 / g.p, .read_by_all = 1.0 / g.p};
}

const struct hx_algorithm hx_allreduce_nary_sliced = {
    .name = "nary_sliced", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, each member adds up one block of all slots: medium and large vectors",
    .source = "n-ary reduce-scatter and all-gather"};
