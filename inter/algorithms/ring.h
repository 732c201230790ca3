/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring: member r sends to r+1 and receives from r-1, one block per round. Two phases of p-1 rounds, shared by
 * all-reduce, reduce-scatter and all-gather; each costs (p-1) alpha + S (p-1)/p beta.
 */
#pragma once

#include "runtime/plan/plan.h"

/* Empty blocks, for example those of other channels, take no steps. */
static inline void hx_ring_round(struct hx_builder *b, int round, struct hx_ref sent, struct hx_ref received)
{
    if (!hx_block_is_empty(b, (int)sent.block))
        hx_send_to(b, round, b->me + 1, sent);
    if (!hx_block_is_empty(b, (int)received.block))
        hx_recv_from(b, round, b->me - 1, received);
    hx_join_all(b);
}

/* Round i passes on the partial sum of block first-i and adds this member's part to that of block first-i-1.
 * Afterwards the sum of block first+1 stands in out; before, partial sums stand in two scratch rows in turn: one is
 * sent while the other is received. */
static inline void hx_ring_reduce_scatter(struct hx_builder *b, int first)
{
    struct hx_ref partial = hx_at(b->in, first, 1);

    if (hx_alone(b))
        return;
    for (int i = 0; i < b->p - 1; i++) {
        int block = first - i - 1, last = i == b->p - 2;
        struct hx_ref row = hx_row(i % 2, block, 1);

        hx_ring_round(b, i, partial, row);
        if (!hx_block_is_empty(b, block))
            hx_reduce_row(b, last ? hx_at(b->out, block, 1) : row, row, hx_at(b->in, block, 1));
        partial = row;
    }
}

/* Round i passes on block first-i of out, which came in the round before, and receives block first-i-1. */
static inline void hx_ring_allgather(struct hx_builder *b, int first_round, int first)
{
    if (!hx_block_is_empty(b, first))
        hx_settle(b, hx_at(b->out, first, 1));
    for (int i = 0; i < b->p - 1; i++)
        hx_ring_round(b, first_round + i, hx_at(b->out, first - i, 1), hx_at(b->out, first - i - 1, 1));
}

static inline struct hx_counts hx_ring_counts(struct hx_group g)
{
    double blocks = hx_coll_phases(g.coll) * (g.p - 1);

    return (struct hx_counts){.rounds = blocks, .messages = blocks, .vectors = blocks / g.p, .reads = 2.0 * (g.p - 1) / g.p,
                              .all_reads = 2 * (g.p - 1), .neighbours = 1};
}

/* A chain, the ring without its last link, passes whole vectors on in slices. In an exclusive scan the last member adds nothing. */
static inline struct hx_counts hx_chain_counts(struct hx_group g)
{
    double others = g.p - 1, sums = others - (g.coll == HX_COLL_EXSCAN);

    return (struct hx_counts){.rounds = others, .messages = 1, .vectors = 1, .all_messages = others, .all_vectors = others,
                              .reads = sums > 0 ? 2 : 0, .all_reads = 2 * sums, .neighbours = 1, .pipelined = 1};
}
