/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary all-gather in shared memory: the owner of a block puts it into its slot and says so; everybody copies it from
 * there.
 *
 *   owners: slot[r] = in[r];  publish FILLED
 *   for q = r+1, r+2, ...:  await FILLED of q;  out[q] = block q of slot[q]         then publish READ
 *
 * Cost: alpha + (2 + 1/p) S beta of memory traffic per member. Any p. Block j belongs to member j and may be empty: then
 * no member waits for j.
 */
#include "intra/algorithms/owners.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    struct hx_ref mine = hx_at(b->in, b->me, 1);

    if (hx_owns(b, b->me)) {
        hx_await_lag(b, READ, 0, b->p); /* the slot held the slice one window before: all have read that */
        hx_copy(b, hx_at(HX_SLOT, b->me, 1), mine);
        hx_publish(b, FILLED);
        hx_copy(b, hx_at(b->out, b->me, 1), mine);
    }
    for (int q = b->me + 1; q < b->me + b->p; q++)
        if (hx_owns(b, q))
            hx_take(b, FILLED, hx_at(b->out, q, 1), q);
    hx_publish_read(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.owners, .work = {{g.owners, 1.0 / g.owners, 0}, {g.p, 1, 0}}, .own = 1.0 / g.p,
                              .read_by_all = 1.0 / g.p};
}

const struct hx_algorithm hx_allgather_nary = {
    .name = "nary", .coll = HX_COLL_ALLGATHER, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, everybody copies from all owners' slots", .source = "n-ary all-gather"};
