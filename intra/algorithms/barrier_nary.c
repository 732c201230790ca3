/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary barrier in shared memory: everybody raises its flag and looks at all flags. And its two halves, the first and
 * the last stage of a barrier between nodes: members tell their root, which afterwards tells them.
 *
 *   publish HERE;  await HERE of all
 *
 * Cost: alpha, and p flags to read for everybody. Any p. For few members.
 */
#include "intra/algorithms/algorithms.h"

enum { HERE };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_publish(b, HERE);
    hx_await_all(b, HERE);
}

void hx_barrier_arrive(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me == b->root)
        hx_await_all(b, HERE);
    else
        hx_publish(b, HERE);
}

void hx_barrier_release(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me == b->root)
        hx_publish(b, HERE);
    else
        hx_await(b, HERE, b->root);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1};
}

const struct hx_algorithm hx_barrier_nary = {
    .name = "nary", .coll = HX_COLL_BARRIER, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, everybody looks at all flags: few members", .source = "shared-memory flag exchange"};
