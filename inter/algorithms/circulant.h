/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The circulant exchange: log2 p rounds rounded up and exactly p-1 blocks, for any p. Member r calls block r+i its
 * R[i]; ranges of blocks wrap around, so nothing is ever rotated. Round k has the skip s(k+1), where s(0) = p and
 * s(k+1) is half of s(k), rounded up:
 *
 *   p = 7:  s = 7 4 2 1     reduce-scatter, r sends   R[4..6] to r+4    R[2..3] to r+2    R[1] to r+1
 *                           and adds what it gets to  R[0..2]           R[0..1]           R[0]
 *   What r sends as R[s+i] is block r+s+i, which r+s calls R[i]. The all-gather does the same backwards.
 *
 * Each phase costs ceil(log2 p) alpha + S (p-1)/p beta. Source: J. L. Traeff, "Optimal, non-pipelined
 * reduce-scatter and allreduce algorithms", arXiv 2410.14234.
 */
#pragma once

#include "inter/algorithms/tree.h"

/* s(k) */
static inline int hx_circulant_skip(int p, int k)
{
    while (k-- > 0)
        p = (p + 1) / 2;
    return p;
}

/* The sum of R[0], which is block r, ends in result (out, or scratch row 0). Partial sums of R[i] stand in scratch row
 * i, what is received in the rows after. */
static inline void hx_circulant_reduce_scatter(struct hx_builder *b, struct hx_ref result)
{
    int rounds = hx_tree_rounds(b->p, 2), received_row = hx_circulant_skip(b->p, 1);

    if (hx_alone(b))
        return;
    for (int k = 0; k < rounds; k++) {
        int s = hx_circulant_skip(b->p, k + 1), n = hx_circulant_skip(b->p, k) - s;
        struct hx_ref sum = hx_row(0, b->me, n), received = hx_row(received_row, b->me, n);

        hx_send_to(b, k, b->me + s, k == 0 ? hx_at(b->in, b->me + s, n) : hx_row(s, b->me + s, n));
        hx_recv_from(b, k, b->me - s, received);
        hx_join_all(b);
        hx_reduce_row(b, k == rounds - 1 ? result : sum, received, k == 0 ? hx_at(b->in, b->me, n) : sum);
        if (k == 0 && s > n && s > 1) /* p is odd: round 0 adds nothing to R[s-1]; round 1 reads it in scratch, as the others */
            hx_copy(b, hx_row(n, b->me + n, 1), hx_at(b->in, b->me + n, 1));
    }
}

/* R[0] stands in out, all others come. */
static inline void hx_circulant_allgather(struct hx_builder *b, int first_round)
{
    int rounds = hx_tree_rounds(b->p, 2);

    for (int k = rounds - 1; k >= 0; k--) {
        int s = hx_circulant_skip(b->p, k + 1), n = hx_circulant_skip(b->p, k) - s;
        int round = first_round + rounds - 1 - k;

        hx_send_to(b, round, b->me - s, hx_at(b->out, b->me, n));
        hx_recv_from(b, round, b->me + s, hx_at(b->out, b->me + s, n));
        hx_join_all(b);
    }
}

static inline struct hx_counts hx_circulant_counts(struct hx_group g)
{
    double phases = hx_coll_phases(g.coll), rounds = phases * hx_tree_rounds(g.p, 2), others = g.p - 1;

    return (struct hx_counts){.rounds = rounds, .messages = rounds, .vectors = phases * others / g.p, .reads = 2 * others / g.p,
                              .all_reads = 2 * others};
}

/* The exchange after a binomial scatter, or before a binomial gather. */
static inline struct hx_counts hx_circulant_tree_counts(struct hx_group g)
{
    double log = hx_tree_rounds(g.p, 2), others = g.p - 1;

    return (struct hx_counts){.rounds = 2 * log, .messages = 2 * log, .vectors = 2 * others / g.p, .all_messages = others + g.p * log,
                              .all_vectors = others + hx_tree_passes(g.p, 2) / g.p, .reads = 2 * others / g.p, .all_reads = 2 * others};
}
