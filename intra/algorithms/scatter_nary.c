/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter in shared memory: the block of member j stands at its holder, the root, or where a composition has several
 * lanes the one that carried j's lane (the last stage of a reduce-scatter with fewer lanes than members).
 *
 *   holder of j:   slot[holder] block j = in[j], for all its j;  publish FILLED
 *   member j:      await FILLED of its holder;  out[j] = block j of slot[holder];  publish READ
 *
 * Cost: alpha + 2 S/n beta of memory traffic for each block, at its holder and at its member. Any n. A block may
 * be empty: then its member takes no part.
 */
#include "intra/algorithms/owners.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    int me = b->me, hands_out = 0;

    for (int j = 0; j < b->p; j++) {
        if (hx_holder(b, j) == me && j != me && hx_owns(b, j)) {
            hx_await_lag(b, READ, j, 1); /* j has read the slice that stood here one window before */
            hx_copy(b, hx_at(HX_SLOT, j, 1), hx_at(b->in, j, 1));
            hands_out = 1;
        }
    }
    if (hands_out)
        hx_publish(b, FILLED);
    if (hx_holder(b, me) == me) {
        hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    } else if (hx_owns(b, me)) {
        hx_take(b, FILLED, hx_at(b->out, me, 1), hx_holder(b, me));
        hx_publish_read(b, READ);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = 1, .work = {{1, 1, 0}, {g.p - 1, 1.0 / g.p, 0}}, .overlaps = 1, .own = 1.0 / g.p};
}

const struct hx_algorithm hx_scatter_nary = {
    .name = "nary", .coll = HX_COLL_SCATTER, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, everybody copies its block from the root's slot", .source = "shared-memory flag exchange"};
