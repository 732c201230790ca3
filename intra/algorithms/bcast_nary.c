/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary broadcast in shared memory: the root puts the vector into its slot and says so; everybody copies it from there.
 *
 *   root:    slot[root] = out;  publish FILLED
 *   others:  await FILLED of root;  out = slot[root];  publish READ
 *
 * Cost: alpha + 2 S beta of memory traffic, whatever p is: the copies out run side by side, and while slice k is copied
 * out the root copies slice k+1 in. Any p.
 */
#include "runtime/plan/plan.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me == b->root) {
        hx_await_lag(b, READ, 0, b->p); /* the slot held the slice one window before: all have read that */
        hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->out, 0, 1));
        hx_publish(b, FILLED);
    } else {
        hx_take(b, FILLED, hx_at(b->out, 0, 1), b->root);
        hx_publish_read(b, READ);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = 1, .work = {{1, 1, 0}, {g.p, 1, 0}}, .overlaps = 1, .read_from_one = 1};
}

const struct hx_algorithm hx_bcast_nary = {
    .name = "nary", .coll = HX_COLL_BCAST, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, everybody copies from the root's slot", .source = "shared-memory flag exchange"};
