/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single-copy broadcast inside a node: everybody reads the root's vector where it stands.
 *
 *   root:    offer READY;  await READ of all
 *   others:  await READY of root;  out = out of root;  publish READ
 *
 * Cost: 2 alpha + a system call; each member but the root copies S. For large vectors and few members: many that read one process get in
 * each other's way in the kernel. Any p.
 */
#include "runtime/plan/plan.h"

enum { READY, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me == b->root) {
        hx_offer(b, READY);
        hx_await_all(b, READ);
    } else {
        hx_fetch(b, READY, hx_at(b->out, 0, 1), b->out, b->root);
        hx_publish(b, READ);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    /* many that read one process get in each other's way: as if each made all calls */
    return (struct hx_counts){.hops = 2, .flags = g.p - 1, .calls = g.p - 1, .fetched = 1, .read_from_one = 1};
}

const struct hx_algorithm hx_bcast_single_copy = {
    .name = "single_copy", .coll = HX_COLL_BCAST, .build = build, .counts = counts,
    .needs = HX_NEEDS_SHARED_MEMORY | HX_NEEDS_SINGLE_COPY,
    .about = "2 hops, everybody reads the root's vector where it stands: large vectors, few members",
    .source = "Ma et al. 2011 (KNEM, CMA)"};
