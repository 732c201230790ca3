/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive halving and doubling all-reduce (Rabenseifner): members exchange half of the vector with one half the
 * group away, each keeping and adding up another half; then a quarter with one a quarter away, and so on; then all of
 * it backwards, to gather the sums.
 *
 *   g = 4:   halving    0<->2 1<->3 (1/2)    0<->1 2<->3 (1/4)     number a then holds the sum of block a
 *            doubling   0<->1 2<->3 (1/4)    0<->2 1<->3 (1/2)
 *
 * "bine" is the same among nearer partners (halving.h).
 *
 * Cost: 2 log2 p alpha + 2 S (p-1)/p beta. If p is not a power of two, the members that fold and those that serve take
 * 2 alpha + S beta more. The operation must be commutative. Source: Rabenseifner, ICCS 2004.
 */
#include "inter/algorithms/halving.h"

static void halve(struct hx_builder *b, const struct hx_halving *h, int *round, enum hx_space partial)
{
    for (int k = hx_halving_rounds(h) - 1; k >= 0; k--) {
        int other = hx_halving_other(h, k), d = 1 << k;
        int kept = hx_halving_window(h, h->number, k), sent = hx_halving_window(h, other, k);

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
    for (int k = 0; k < hx_halving_rounds(h); k++) {
        int other = hx_halving_other(h, k), d = 1 << k;

        hx_send_to(b, *round, hx_halving_member(h, other), hx_at(b->out, hx_halving_window(h, h->number, k), d));
        hx_recv_from(b, *round, hx_halving_member(h, other), hx_at(b->out, hx_halving_window(h, other, k), d));
        hx_join_all(b);
        ++*round;
    }
}

static void build(struct hx_builder *b, enum hx_halving_pattern pattern)
{
    struct hx_halving h = hx_halving_of(b, pattern);
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

static void build_rdh(struct hx_builder *b)
{
    build(b, HX_HALVING_RDH);
}

static void build_bine(struct hx_builder *b)
{
    build(b, HX_HALVING_BINE);
}

const struct hx_algorithm hx_allreduce_rdh = {
    .name = "rdh", .coll = HX_COLL_ALLREDUCE, .build = build_rdh, .counts = hx_halving_counts, .needs = HX_NEEDS_COMMUTATIVE,
    .about = "recursive halving, then doubling: 2 log2 p rounds, best where p is a power of two",
    .source = "Rabenseifner 2004"};

const struct hx_algorithm hx_allreduce_bine = {
    .name = "bine", .coll = HX_COLL_ALLREDUCE, .build = build_bine, .counts = hx_halving_counts, .needs = HX_NEEDS_COMMUTATIVE,
    .about = "as rdh, among nearer partners: fewer bytes between racks",
    .source = "De Sensi et al., arXiv 2508.17311"};
