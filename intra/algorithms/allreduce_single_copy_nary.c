/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary single-copy all-reduce inside a node: everybody reads all inputs where they stand, and adds all up. No member reads what another
 * has just written, and allreduce_single_copy takes one hop more: for few members.
 *
 *   offer READY
 *   for q = r+1, r+2, ...:  await READY of q;  row = in of q         publish READ;  await READ of all
 *   out = sum of all, own from in
 *
 * The sum comes last, so that out may be in.
 * Cost: 2 alpha + (p-1) system calls; each member fetches S (p-1) and adds up p S, from its own cache. Any p, any operation; all fold in
 * rank order, so results are equal bit by bit.
 */
#include "intra/algorithms/single_copy.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_offer(b, READY);
    hx_fetch_rows(b, READY, 0);
    hx_publish(b, READ);
    hx_await_all(b, READ);
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, b->p, b->in, b->me);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.folds_own = 1, .hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = g.p - 1, .work = {{g.p, 0, g.p}}, .read_by_all = 1};
}

const struct hx_algorithm hx_allreduce_single_copy_nary = {
    .name = "single_copy_nary", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY | HX_FOLDS_AT_ONCE,
    .about = "2 hops, everybody adds up all inputs where they stand: few members",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
