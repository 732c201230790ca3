/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy gather inside a node: the root reads everybody's block where it stands.
 *
 *   member j:  offer READY;  await READ of root
 *   root:      for j = r+1, r+2, ...:  await READY of j;  out[j] = block j of in of j         then publish READ
 *
 * Cost: 2 alpha + (p-1) system calls; the root copies S, and no other member copies. For large blocks. Any p.
 */
#include "runtime/plan/plan.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    int me = b->me;

    if (me != b->root) {
        hx_offer(b, READY);
        hx_await(b, READ, b->root);
        return;
    }
    hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    for (int j = me + 1; j < me + b->p; j++)
        hx_fetch(b, READY, hx_at(b->out, j, 1), b->in, j);
    hx_publish(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = (double)(g.p - 1) / g.p,
                              .work = {{g.p, 1.0 / g.p, 0}}, .own = 1.0 / g.p};
}

const struct hx_algorithm hx_gather_single_copy = {
    .name = "single_copy", .coll = HX_COLL_GATHER, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY,
    .about = "2 hops, the root reads everybody's block where it stands: large blocks",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
