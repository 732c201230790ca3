/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-gather by Bruck's exchange to the base k: who has the blocks of c members from itself on gets those of the k-1
 * runs of c members behind, all in one round, and then has k c. Member r calls block r+i its R[i]; ranges of blocks
 * wrap around, so nothing is ever rotated.
 *
 *   k = 4, p = 10:  round 0   R[1] from r+1, R[2] from r+2, R[3] from r+3        round 1   R[4..7] from r+4, R[8..9] from r+8
 *
 * Cost: ceil(log_k p) alpha + S (p-1)/p beta, k-1 messages at a time. Any p. For small blocks. To the base 2 it is the
 * circulant exchange (circulant.h) with powers of two for skips.
 *
 * Locality: hier(gather,kbruck,nary) x1 is the locality-aware all-gather: only one rank of a node sends to others, the
 * node's blocks in one piece, in ceil(log_k N) rounds; nothing comes to a node twice. (Its source has k-1 ranks of each
 * node send the messages of a round, and gathers within the node after each one; here one rank sends them at once.)
 * Source: Bruck et al., IEEE TPDS 8 (1997); Bienz, Gautam, Kharel, "A locality-aware Bruck allgather", EuroMPI 2022.
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    for (int c = 1, round = 0; c < b->p; c *= b->radix, round++) {
        for (int first = c; first < b->radix * c && first < b->p; first += c) {
            int n = c < b->p - first ? c : b->p - first;
            hx_send_to(b, round, b->me - first, hx_at(b->out, b->me, n));
            hx_recv_from(b, round, b->me + first, hx_at(b->out, b->me + first, n));
        }
        hx_join_all(b);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    return (struct hx_counts){.rounds = hx_tree_rounds(g.p, g.radix), .messages = hx_tree_children(g.p, g.radix),
                              .vectors = (double)(g.p - 1) / g.p};
}

#define ROW(k) \
    {HX_RADIX_NAMED("kbruck", k, 4), .coll = HX_COLL_ALLGATHER, .build = build, .counts = counts, \
     .about = "ceil(log" #k " p) rounds of up to " #k " - 1 messages, for any p: small blocks", \
     .source = "Bruck et al. 1997; Bienz, Gautam, Kharel 2022"}

const struct hx_algorithm hx_allgather_kbruck[] = {HX_RADICES(ROW)};
