/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sliced n-ary reduction in shared memory: member r adds up block r of all members in one pass over their slots and
 * leaves the sum in its own slot, from where the root takes it. The adding is shared by all.
 *
 *   slot[r] = in, but for block r;  publish FILLED;  await all
 *   slot[r] block r (the root: out) = block r of slot[0] op ... op slot[p-1], own from in;  publish SUMMED
 *   root:  for q = r+1, r+2, ...:  await SUMMED of q;  out[q] = block q of slot[q]         then publish READ
 *
 * Cost: 2 alpha + (3 - 1/p) S beta of memory traffic per member, and 2 S (p-1)/p beta more at the root. For medium and
 * large vectors. Any p, any operation (rank order).
 */
#include "runtime/plan/plan.h"

enum { FILLED, SUMMED, READ };

static void build(struct hx_builder *b)
{
    int me = b->me;

    hx_split(b, b->p);
    /* the slot held the slice one window before: the root has taken all sums, so all were made */
    hx_await_lag(b, READ, b->root, 1);
    hx_copy(b, hx_at(HX_SLOT, me + 1, b->p - 1), hx_at(b->in, me + 1, b->p - 1));
    hx_publish(b, FILLED);
    hx_await_all(b, FILLED);
    hx_reduce_slots(b, hx_at(me == b->root ? b->out : HX_SLOT, me, 1), b->in);
    hx_publish(b, SUMMED);
    if (me != b->root)
        return;
    for (int q = me + 1; q < me + b->p; q++)
        hx_take(b, SUMMED, hx_at(b->out, q, 1), q);
    hx_publish_read(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .work = {{g.p, 0.95 * 2, 0.95 * 1}}, /* 0.95: measured */
                              .read_in_parts = 1.0 / g.p, .read_by_one = 1.0 / g.p};
}

const struct hx_algorithm hx_reduce_nary_sliced = {
    .name = "nary_sliced", .coll = HX_COLL_REDUCE, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, each member adds up one block of all slots: medium and large vectors",
    .source = "n-ary reduce-scatter and gather"};
