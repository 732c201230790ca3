/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy scatter inside a node: each member reads its block of the root's input where it stands.
 *
 *   root:      offer READY;  out[r] = in[r];  await READ of all
 *   member j:  await READY of root;  out[j] = block j of in of root;  publish READ
 *
 * Cost: 2 alpha + a system call; each member copies S/p, all at the same time. For large blocks. Any p.
 */
#include "runtime/plan/plan.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    int me = b->me;

    if (me != b->root) {
        hx_fetch(b, READY, hx_at(b->out, me, 1), b->in, b->root);
        hx_publish(b, READ);
        return;
    }
    hx_offer(b, READY);
    hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    hx_await_all(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .calls = 1, .fetched = 1.0 / g.p};
}

const struct hx_algorithm hx_scatter_single_copy = {
    .name = "single_copy", .coll = HX_COLL_SCATTER, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY,
    .about = "2 hops, everybody reads its block of the root's input where it stands: large blocks",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
