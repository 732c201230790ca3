/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination barrier: in round k each member sends to the member 2^k further on and receives from the one 2^k before.
 * Then it knows that 2^(k+1) members have arrived, itself included. After ceil(log2 p) rounds it knows it of all.
 *
 *   p = 5:  round 0   r -> r+1        round 1   r -> r+2        round 2   r -> r+4
 *
 * Cost: ceil(log2 p) alpha. Any p.
 * Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    for (int k = 0; 1 << k < b->p; k++) {
        hx_send_to(b, k, b->me + (1 << k), hx_at(b->in, 0, 1));
        hx_recv_from(b, k, b->me - (1 << k), hx_row(0, 0, 1));
        hx_join_all(b);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    double log = hx_tree_rounds(g.p, 2);

    return (struct hx_counts){.rounds = log, .messages = log};
}

const struct hx_algorithm hx_barrier_dissemination = {
    .name = "dissemination", .coll = HX_COLL_BARRIER, .build = build, .counts = counts,
    .about = "ceil(log2 p) rounds", .source = "Hensgen, Finkel, Manber 1988"};
