/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairwise all-to-all: in each round everybody sends one block and receives one. If p is a power of two, both are
 * exchanged with the same member. Otherwise it sends to one member and receives from another.
 *
 *   round i, p = 2^k:  r <-> r xor i          else:  r -> r+i,  r <- r-i           i = 1 .. p-1
 *
 * Cost: (p-1) alpha + S (p-1)/p beta. Any p. One message at a time in each direction: for large blocks, because many at
 * once would congest a receiver.
 * Source: "The Illustrated Collectives", all-to-all; Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#include "runtime/plan/plan.h"

static void build(struct hx_builder *b)
{
    int exchanges = (b->p & (b->p - 1)) == 0;

    hx_limit(b, 1);
    hx_copy(b, hx_pair(b, b->out, b->me, b->me, 1), hx_pair(b, b->in, b->me, b->me, 1));
    for (int i = 1; i < b->p; i++) {
        int to = exchanges ? b->me ^ i : b->me + i, from = exchanges ? to : b->me - i;

        hx_recv_from(b, i - 1, from, hx_pair(b, b->out, from, b->me, 1));
        hx_send_to(b, i - 1, to, hx_pair(b, b->in, b->me, to, 1));
        hx_join_all(b);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.rounds = g.p - 1, .messages = g.p - 1, .vectors = (double)(g.p - 1) / g.p};
}

const struct hx_algorithm hx_alltoall_pairwise = {
    .name = "pairwise", .coll = HX_COLL_ALLTOALL, .build = build, .counts = counts,
    .about = "p-1 rounds, one exchange at a time: large blocks", .source = "The Illustrated Collectives"};

const struct hx_algorithm hx_alltoallv_pairwise = {
    .name = "pairwise", .coll = HX_COLL_ALLTOALLV, .build = build, .counts = counts,
    .about = "p-1 rounds, one exchange at a time: large blocks", .source = "The Illustrated Collectives"};
