/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Last-arriver combining in shared memory: everybody puts its vector into its slot and raises its flag. The member that finds all
 * flags raised adds up all slots into that of member 0, and publishes a flag for member 0. Then everybody copies the sum. One
 * member adds for all, and those that arrive before it wait once.
 *
 *   slot[r] = in;  elect: the last adds slot[0] = slot[0] op slot[1] op ... op slot[p-1], publishes SUMMED of 0
 *   await SUMMED of 0;  out = slot[0]
 *
 * Cost: 2 alpha + (p + 3) S beta of memory traffic for the last, 4 S beta for the others. For more ranks than cores: ranks that
 * take turns on a core copy one after the other anyway. In the n-ary algorithm each of them would read all p slots; in the sliced
 * one they would take turns once more. Any p, any operation; folds in rank order, whichever member does it.
 * Source: the centralized barrier, whose last arriver releases the others (Mellor-Crummey and Scott, ACM TOCS 9, 1991), with the sum in it.
 */
#include "runtime/plan/plan.h"

enum { FILLED, SUMMED, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (hx_alone(b))
        return;
    if (b->me == 0)
        hx_await_lag(b, READ, 0, b->p); /* its slot held the sum of one window before: all have read that */
    hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->in, 0, 1));
    hx_elect(b, FILLED);
    hx_reduce_slots_into(b, 0, 0, 1);
    hx_publish_for(b, SUMMED, 0);
    hx_elected_end(b);
    hx_take(b, SUMMED, hx_at(b->out, 0, 1), 0);
    hx_publish_read(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .elects = 1, .work = {{g.p, 2, 0}, {1, 0, g.p}}, .read_by_one = 1,
                              .read_from_one = 1};
}

const struct hx_algorithm hx_allreduce_last_arriver = {
    .name = "last_arriver", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, the last to come adds up all slots: more ranks than cores",
    .source = "Mellor-Crummey, Scott 1991 (centralized barrier)"};
