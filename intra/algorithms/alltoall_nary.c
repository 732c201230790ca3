/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary all-to-all in shared memory: everybody puts its blocks for the others into its slot and says so; everybody
 * copies the block meant for it from each slot.
 *
 *   slot[r] = row r of in, but for block r>r;  publish FILLED
 *   for q = r+1, r+2, ...:  await FILLED of q;  out[q>r] = block q>r of slot[q]         then publish READ
 *
 * Cost: alpha + (4 - 2/p) S beta of memory traffic per member. Any p. A member that has nothing to get waits
 * for no other.
 */
#include "intra/algorithms/owners.h"

enum { FILLED, READ };

/* Blocks of my row, into my slot. */
static void row_fill(struct hx_builder *b, int first, int n)
{
    if (n > 0)
        hx_copy(b, hx_pair(b, HX_SLOT, b->me, first, n), hx_pair(b, b->in, b->me, first, n));
}

static void build(struct hx_builder *b)
{
    int me = b->me, takes = hx_owns(b, me);

    hx_owners_await_lag(b, READ); /* the slot held the slice one window before: its readers are done */
    row_fill(b, 0, me);
    row_fill(b, me + 1, b->p - me - 1);
    hx_publish(b, FILLED);
    hx_copy(b, hx_pair(b, b->out, me, me, 1), hx_pair(b, b->in, me, me, 1));
    for (int q = me + 1; q < me + b->p && takes; q++)
        hx_take(b, FILLED, hx_pair(b, b->out, q, me, 1), q);
    if (takes)
        hx_publish_read(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .work = {{g.p, 1, 0}, {g.owners, (double)g.p / g.owners, 0}}, .own = 2.0 / g.owners};
}

const struct hx_algorithm hx_alltoall_nary = {
    .name = "nary", .coll = HX_COLL_ALLTOALL, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, everybody copies its block from each slot", .source = "shared-memory flag exchange"};
