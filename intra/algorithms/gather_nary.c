/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather in shared memory: the block of member j goes to its holder, the root, or where a composition has several
 * lanes the one that carries j's lane (the first stage of an all-gather with fewer lanes than members).
 *
 *   member j, no holder of itself:   slot[j] = in[j];  publish FILLED
 *   holder of j:                     await FILLED of j;  out[j] = slot[j];  after the last: publish READ
 *
 * Cost: alpha + 2 S/n beta of memory traffic for each block, at its member and at its holder. Any n. A block may
 * be empty: then its member takes no part.
 */
#include "intra/algorithms/owners.h"

enum { FILLED, READ };

static void build(struct hx_builder *b)
{
    int me = b->me, holds = 0;

    if (hx_holder(b, me) == me) {
        hx_copy(b, hx_at(b->out, me, 1), hx_at(b->in, me, 1));
    } else if (hx_owns(b, me)) {
        hx_await_lag(b, READ, hx_holder(b, me), 1); /* it has read the slice that stood here one window before */
        hx_copy(b, hx_at(HX_SLOT, me, 1), hx_at(b->in, me, 1));
        hx_publish(b, FILLED);
    }
    for (int j = 0; j < b->p; j++) {
        if (hx_holder(b, j) != me || j == me || !hx_owns(b, j))
            continue;
        holds = 1;
        hx_take(b, FILLED, hx_at(b->out, j, 1), j);
    }
    if (holds)
        hx_publish_read(b, READ);
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.hops = 1, .flags = g.p - 1, .work = {{g.p - 1, 1.0 / g.p, 0}, {1, 1, 0}}, .overlaps = 1, .own = 1.0 / g.p};
}

const struct hx_algorithm hx_gather_nary = {
    .name = "nary", .coll = HX_COLL_GATHER, .build = build, .counts = counts, .needs = HX_NEEDS_SHARED_MEMORY,
    .about = "1 hop, the root copies from everybody's slot", .source = "shared-memory flag exchange"};
