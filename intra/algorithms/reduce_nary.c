/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary reduction in shared memory: everybody but the root puts its vector into its slot and says so; the root reads
 * all slots in one pass and writes the sum straight to its output. For small vectors: the root does all of the adding.
 *
 *   others:  slot[r] = in;  publish FILLED
 *   root:    await all;  out = slot[0] op slot[1] op ... op slot[p-1], own from in;  publish READ
 *
 * Cost: alpha + (p + 1) S beta of memory traffic at the root. Any p, any operation (rank order).
 */
#include "runtime/plan/plan.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->me != b->root) {
        hx_await_lag(b, READ, b->root, 1); /* the slot held the slice one window before: it has been read */
        hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->in, 0, 1));
        hx_publish(b, FILLED);
    } else {
        hx_await_all(b, FILLED);
        hx_reduce_slots(b, hx_at(b->out, 0, 1), b->in);
        hx_publish_read(b, READ);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .work = {{g.p - 1, 1, 0}, {1, 0, g.p}}, .runs_ahead = 1, .read_by_one = 1};
}

const struct hx_algorithm hx_reduce_nary = {
    .name = "nary", .coll = HX_COLL_REDUCE, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY | HX_FOLDS_AT_ONCE,
    .about = "1 hop, the root adds up all slots: small vectors", .source = "shared-memory flag exchange"};
