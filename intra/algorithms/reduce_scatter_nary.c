/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary reduce-scatter in shared memory: everybody puts the blocks of the other members into its slot and raises a flag.
 * The owner of a block reads it in all p slots in one pass and writes the sum straight to its output.
 *
 *   slot[r] = in, but for block r;  publish FILLED
 *   owners:  await all;  out[r] = block r of slot[0] op ... op slot[p-1];  publish READ
 *
 * Cost: alpha + (3 - 1/p) S beta of memory traffic per member. Any p, any operation; fold in rank order. Block j
 * belongs to member j and may be empty: then j waits for no member, and no member waits for j.
 */
#include "intra/algorithms/owners.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    int me = b->me;

    hx_owners_await_lag(b, READ); /* the slot held the slice one window before: its readers are done */
    hx_copy(b, hx_at(HX_SLOT, me + 1, b->p - 1), hx_at(b->in, me + 1, b->p - 1));
    hx_publish(b, FILLED);
    if (hx_owns(b, me)) {
        hx_await_all(b, FILLED);
        hx_reduce_slots(b, hx_at(b->out, me, 1), b->in);
        hx_publish_read(b, READ);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .work = {{g.p, 1, 0}, {g.owners, 0, (double)g.p / g.owners}}, .own = 1.0 / g.owners,
                              .read_in_parts = 1.0 / g.p};
}

const struct hx_algorithm hx_reduce_scatter_nary = {
    .name = "nary", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY | HX_FOLDS_AT_ONCE,
    .about = "1 hop, each owner adds up its block of all slots", .source = "n-ary reduce-scatter"};
