/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive doubling all-gather: members exchange what they have with one 1, 2, 4, ... away, so that everybody has 2,
 * 4, 8, ... members' blocks. Block j belongs to member j; a number that serves a folded member brings both their
 * blocks (halving.h).
 *
 *   g = 4:   0<->1 2<->3 (a quarter of the blocks)    0<->2 1<->3 (half)
 *
 * "bine" is the same among nearer partners (halving.h).
 *
 * Cost: log2 p alpha + S (p-1)/p beta. If p is not a power of two, the members that fold and those that serve take
 * 2 alpha + S beta more.
 */
#include "inter/algorithms/halving.h"

static void build(struct hx_builder *b, enum hx_halving_pattern pattern)
{
    struct hx_halving h = hx_halving_of(b, pattern);
    int round = h.excess ? 1 : 0;

    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    if (h.folded) {
        hx_send_to(b, 0, h.partner, hx_at(b->out, b->me, 1));
        hx_recv_from(b, hx_halving_rounds(&h) + 1, h.partner, hx_at(b->out, b->me + 1, b->p - 1)); /* all but its own */
        return;
    }
    if (h.partner >= 0)
        hx_join_one(b, hx_recv_from(b, 0, h.partner, hx_at(b->out, h.partner, 1)));
    for (int k = 0; k < hx_halving_rounds(&h); k++) {
        int other = hx_halving_other(&h, k), d = 1 << k;
        int have = hx_halving_window(&h, h.number, k), want = hx_halving_window(&h, other, k);

        hx_send_to(b, round, hx_halving_member(&h, other), hx_at(b->out, hx_halving_block(&h, have), hx_halving_nblocks(&h, have, d)));
        hx_recv_from(b, round, hx_halving_member(&h, other), hx_at(b->out, hx_halving_block(&h, want), hx_halving_nblocks(&h, want, d)));
        hx_join_all(b);
        round++;
    }
    if (h.partner >= 0)
        hx_send_to(b, round, h.partner, hx_at(b->out, b->me, b->p - 1));
}

static void build_rdh(struct hx_builder *b)
{
    build(b, HX_HALVING_RDH);
}

static void build_bine(struct hx_builder *b)
{
    build(b, HX_HALVING_BINE);
}

const struct hx_algorithm hx_allgather_rdh = {
    .name = "rdh", .coll = HX_COLL_ALLGATHER, .build = build_rdh, .counts = hx_halving_counts,
    .about = "recursive doubling: log2 p rounds, best where p is a power of two",
    .source = "Thakur, Rabenseifner, Gropp 2005"};

const struct hx_algorithm hx_allgather_bine = {
    .name = "bine", .coll = HX_COLL_ALLGATHER, .build = build_bine, .counts = hx_halving_counts,
    .about = "as rdh, among nearer partners: fewer bytes between racks",
    .source = "De Sensi et al., arXiv 2508.17311"};
