/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive doubling all-reduce: in round k members at distance 2^k exchange their whole partial sums, so that
 * everybody's sum spans 2, 4, 8, ... members. If p is not a power of two, the excess members fold into a neighbour
 * first and get the result last.
 *
 *   p = 4:   round 1: 0<->1 2<->3     round 2: 0<->2 1<->3
 *
 * Cost: log2 p (alpha + S beta). If p is not a power of two, there are floor(log2 p) + 2 rounds. For small vectors. Any
 * operation: runs of neighbours are folded with the lower one on the left on both sides, so all results are equal bit
 * by bit.
 */
#include "inter/algorithms/halving.h"

/* out = partial op received, the lower member's on the left. */
static void exchange(struct hx_builder *b, int round, int member, enum hx_space partial)
{
    hx_send_to(b, round, member, hx_at(partial, 0, 1));
    hx_recv_from(b, round, member, hx_row(0, 0, 1));
    hx_join_all(b);
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, 2, partial, b->me < member ? 0 : 1);
}

static void build(struct hx_builder *b)
{
    struct hx_halving h = hx_halving_of(b, HX_HALVING_RDH);
    enum hx_space partial = b->in;
    int round = 0;

    hx_split(b, 1);
    if (hx_alone(b))
        return;
    if (h.folded) {
        hx_join_one(b, hx_send_to(b, 0, h.partner, hx_at(b->in, 0, 1)));
        hx_recv_from(b, hx_halving_rounds(&h) + 1, h.partner, hx_at(b->out, 0, 1));
        return;
    }
    if (h.excess)
        round++;
    if (h.partner >= 0) {
        hx_join_one(b, hx_recv_from(b, 0, h.partner, hx_row(0, 0, 1)));
        hx_reduce_row(b, hx_at(b->out, 0, 1), hx_row(0, 0, 1), hx_at(b->in, 0, 1)); /* the partner is the lower one */
        partial = b->out;
    }
    for (int d = 1; d < h.group; d *= 2) {
        exchange(b, round++, hx_halving_member(&h, h.number ^ d), partial);
        partial = b->out;
    }
    if (h.partner >= 0)
        hx_send_to(b, round, h.partner, hx_at(b->out, 0, 1));
}

static struct hx_counts counts(struct hx_group g)
{
    double log = hx_floor_log2(g.p), group = 1 << hx_floor_log2(g.p), excess = g.p - group, folds = excess > 0;

    return (struct hx_counts){
        .rounds = log + 2 * folds, .messages = log + 2 * folds, .vectors = log + 2 * folds, .all_messages = group * log + 2 * excess,
        .all_vectors = group * log + 2 * excess, .reads = 2 * (log + folds), .all_reads = 2 * (group * log + excess)};
}

const struct hx_algorithm hx_allreduce_recursive_doubling = {
    .name = "recursive_doubling", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .about = "log2 p rounds of whole vectors: small vectors", .source = "Thakur, Rabenseifner, Gropp 2005"};
