/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairwise barrier: everybody exchanges with everybody else, one after the other.
 *
 *   round i:  r -> r+1+i,  r <- r-1-i
 *
 * Cost: (p-1) alpha. Any p. To learn from: the others are faster.
 */
#include "runtime/plan/plan.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    for (int i = 0; i < b->p - 1; i++) {
        hx_send_to(b, i, b->me + 1 + i, hx_at(b->in, 0, 1));
        hx_recv_from(b, i, b->me - 1 - i, hx_row(0, 0, 1));
        hx_join_all(b);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.rounds = g.p - 1, .messages = g.p - 1};
}

const struct hx_algorithm hx_barrier_pairwise = {
    .name = "pairwise", .coll = HX_COLL_BARRIER, .build = build, .counts = counts,
    .about = "p-1 rounds, one exchange at a time", .source = "The Illustrated Collectives"};
