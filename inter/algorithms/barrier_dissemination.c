/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination barrier to the base k: in each round a member that knows of c members, those from itself backwards, sends
 * to the k-1 members c, 2c, ... further on, and receives from as many before. Then it knows that k c members have arrived.
 * After ceil(log_k p) rounds it knows it of all; the last round has only as many messages as that takes.
 *
 *   k = 2, p = 5:   round 0   r -> r+1              round 1   r -> r+2          round 2   r -> r+4
 *   k = 3, p = 7:   round 0   r -> r+1, r+2         round 1   r -> r+3, r+6
 *
 * Cost: ceil(log_k p) alpha, k-1 messages at a time. Any p.
 * Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988); to the base k: Hoefler,
 * Mehlan, Mietke, Rehm, "Fast barrier synchronization for InfiniBand", IPDPS 2006.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    for (int c = 1, round = 0; c < b->p; c *= b->radix, round++) {
        for (int i = 1; i < b->radix && i * c < b->p; i++) {
            hx_send_to(b, round, b->me + i * c, hx_at(b->in, 0, 1));
            hx_recv_from(b, round, b->me - i * c, hx_row(i - 1, 0, 1));
        }
        hx_join_all(b);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.rounds = hx_tree_rounds(g.p, g.radix), .messages = hx_tree_children(g.p, g.radix)};
}

#define ROW(k) \
    {HX_RADIX_NAMED("dissemination", k, 2), .coll = HX_COLL_BARRIER, .build = build, .counts = counts, \
     .about = "ceil(log" #k " p) rounds of up to " #k " - 1 messages", .source = "Hensgen, Finkel, Manber 1988; Hoefler et al. 2006"}

const struct hx_algorithm hx_barrier_dissemination[] = {HX_RADICES(ROW)};
