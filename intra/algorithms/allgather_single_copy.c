/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy all-gather inside a node: everybody reads the owners' blocks where they stand.
 *
 *   owners:  offer READY;  out[r] = in[r]
 *   for q = r+1, r+2, ...:  await READY of q;  out[q] = block q of in of q               then publish READ
 *   owners:  await READ of all
 *
 * Cost: 2 alpha + (p-1) system calls; each member copies S, where slots take (1 + 1/p) S. For large vectors. Any p. Block j belongs to
 * member j and may be empty: then no member waits for j.
 */
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    int me = b->me, owns = hx_owns(b, me);

    if (owns) {
        hx_offer(b, READY);
        hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    }
    for (int q = me + 1; q < me + b->p; q++)
        if (hx_owns(b, q))
            hx_fetch(b, READY, hx_at(b->out, q, 1), b->in, q);
    hx_publish(b, READ);
    if (owns)
        hx_await_all(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    int all_own = g.owners == g.p; /* else the busiest member is one that owns nothing and fetches all */

    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .calls = all_own ? g.p - 1 : g.owners, .fetched = all_own ? (double)(g.p - 1) / g.p : 1,
                              .work = {{g.p, all_own ? 1.0 / g.p : 0, 0}}, .own = all_own ? 1.0 / g.p : 0, .read_by_all = 1.0 / g.p};
}

const struct hx_algorithm hx_allgather_single_copy = {
    .name = "single_copy", .coll = HX_COLL_ALLGATHER, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY,
    .about = "2 hops, everybody reads all owners' blocks where they stand: large vectors",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
