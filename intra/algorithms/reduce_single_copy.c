/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy reduction inside a node: member r reads block r of everybody's input where it stands, adds it up and leaves the sum in its
 * slot, from where the root takes it. Only sums are staged.
 *
 *   offer READY
 *   for q = r+1, r+2, ...:  await READY of q;  row = block r of in of q
 *   slot[r] block r (the root: out) = block r of all, own from in;  publish SUMMED
 *   root:    for q = r+1, r+2, ...:  await SUMMED of q;  out[q] = block q of slot[q]         then publish TAKEN
 *   others:  await SUMMED of all
 *
 * Cost: 2 alpha + (p-1) system calls; each member fetches S (p-1)/p and adds up S, from its own cache; the root copies S (p-1)/p more.
 * For large vectors. Any p, any operation (rank order).
 */
#include "intra/algorithms/single_copy.h"

enum { READY, SUMMED, TAKEN };

static void build(struct hx_builder *b)
{
    int me = b->me;

    hx_split(b, b->p);
    hx_offer(b, READY);
    hx_await_lag(b, TAKEN, b->root, 1); /* the slot held the sum of the slice one window before */
    hx_fetch_rows(b, READY, me);
    hx_reduce_rows(b, hx_at(me == b->root ? b->out : HX_SLOT, me, 1), 0, b->p, b->in, me);
    hx_publish(b, SUMMED);
    if (me != b->root) {
        hx_await_all(b, SUMMED); /* all have read in */
        return;
    }
    for (int q = me + 1; q < me + b->p; q++)
        hx_take(b, SUMMED, hx_at(b->out, q, 1), q);
    hx_publish_read(b, TAKEN);
}

static struct hx_counts counts(struct hx_group g)
{
    double others = (double)(g.p - 1) / g.p;

    return (struct hx_counts){.folds_own = 1, .hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = others, .work = {{g.p, others, 1}},
                              .read_in_parts = 1.0 / g.p, .read_by_one = 1.0 / g.p};
}

const struct hx_algorithm hx_reduce_single_copy = {
    .name = "single_copy", .coll = HX_COLL_REDUCE, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, each member adds up one block of all inputs where they stand: large vectors",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
