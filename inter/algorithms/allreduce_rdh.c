/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive halving and doubling all-reduce (Rabenseifner): members exchange half of the vector with one half the
 * group away, each keeping and adding up another half; then a quarter with one a quarter away, and so on; then all of
 * it backwards, to gather the sums.
 *
 *   g = 4:   halving    0<->2 1<->3 (1/2)    0<->1 2<->3 (1/4)     number a then holds the sum of block a
 *            doubling   0<->1 2<->3 (1/4)    0<->2 1<->3 (1/2)
 *
 * Cost: 2 log2 p alpha + 2 S (p-1)/p beta. If p is not a power of two, the members that fold and those that serve take
 * 2 alpha + S beta more. The operation must be commutative. Source: Rabenseifner, ICCS 2004.
 */
#include "inter/algorithms/halving.h"

static void halve(struct hx_builder *b, const struct hx_halving *h, int *round, enum hx_space partial)
{
    for (int d = h->group / 2; d >= 1; d /= 2) {
        int other = h->number ^ d, kept = hx_halving_base(h->number, d), sent = hx_halving_base(other, d);

        hx_send_to(b, *round, hx_halving_member(h, other), hx_at(partial, sent, d));
        hx_recv_from(b, *round, hx_halving_member(h, other), hx_row(0, kept, d));
        hx_join_all(b);
        hx_reduce_row(b, hx_at(b->out, kept, d), hx_row(0, kept, d), hx_at(partial, kept, d));
        partial = b->out;
        ++*round;
    }
}

static void double_up(struct hx_builder *b, const struct hx_halving *h, int *round)
{
    for (int d = 1; d < h->group; d *= 2) {
        int other = h->number ^ d;

        hx_send_to(b, *round, hx_halving_member(h, other), hx_at(b->out, hx_halving_base(h->number, d), d));
        hx_recv_from(b, *round, hx_halving_member(h, other), hx_at(b->out, hx_halving_base(other, d), d));
        hx_join_all(b);
        ++*round;
    }
}

static void build(struct hx_builder *b)
{
    struct hx_halving h = hx_halving_of(b);
    enum hx_space partial = b->in;
    int round = h.excess ? 1 : 0, all = h.group;

    hx_split(b, h.group);
    if (hx_alone(b))
        return;
    if (h.folded) {
        hx_join_one(b, hx_send_to(b, 0, h.partner, hx_at(b->in, 0, all)));
        hx_recv_from(b, 2 * hx_halving_rounds(&h) + 1, h.partner, hx_at(b->out, 0, all));
        return;
    }
    if (h.partner >= 0) {
        hx_join_one(b, hx_recv_from(b, 0, h.partner, hx_row(0, 0, all)));
        hx_reduce_row(b, hx_at(b->out, 0, all), hx_row(0, 0, all), hx_at(b->in, 0, all));
        partial = b->out;
    }
    halve(b, &h, &round, partial);
    double_up(b, &h, &round);
    if (h.partner >= 0)
        hx_send_to(b, round, h.partner, hx_at(b->out, 0, all));
}

const struct hx_algorithm hx_allreduce_rdh = {
    .name = "rdh", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = hx_halving_counts, .needs = HX_NEEDS_COMMUTATIVE,
    .about = "recursive halving, then doubling: 2 log2 p rounds, best where p is a power of two",
    .source = "Rabenseifner 2004"};
