/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary single-copy reduction inside a node: the root reads everybody's input where it stands, and adds all up. It moves no sum between
 * members, where reduce_single_copy hands all but one block of it to the root: for few members.
 *
 *   others:  offer READY;  await READ of root
 *   root:    for q = r+1, r+2, ...:  await READY of q;  row = in of q         publish READ;  out = sum of all, own from in
 *
 * Cost: 2 alpha + (p-1) system calls; the root fetches S (p-1) and adds up p S, from its own cache. Any p, any operation (rank order).
 */
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me != b->root) {
        hx_offer(b, READY);
        hx_await(b, READ, b->root);
        return;
    }
    hx_fetch_rows(b, READY, 0);
    hx_publish(b, READ);
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, b->p, b->in, b->me);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.folds_own = 1, .hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = g.p - 1, .work = {{1, 0, g.p}}, .read_by_one = 1};
}

const struct hx_algorithm hx_reduce_single_copy_nary = {
    .name = "single_copy_nary", .coll = HX_COLL_REDUCE, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, the root adds up all inputs where they stand: few members",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
