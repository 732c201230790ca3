/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive halving reduce-scatter: members exchange the blocks of the other half of the group with one half the
 * group away, then those of the other quarter with one a quarter away, and so on, adding up what they keep. Block j
 * belongs to member j; a number that serves a folded member stands for both their blocks (halving.h).
 *
 *   g = 4:   0<->2 1<->3 (half of the blocks)    0<->1 2<->3 (a quarter)
 *
 * Partial sums stand in scratch, block j in row j; what is received stands in the rows after them.
 * Cost: log2 p alpha + S (p-1)/p beta. If p is not a power of two, the members that fold and those that serve take
 * 2 alpha + S beta more. The operation must be commutative.
 */
#include "inter/algorithms/halving.h"

static struct hx_ref partial_row(int block, int nblocks)
{
    return hx_row(block, block, nblocks);
}

/* The excess member hands its whole input to the one that serves it, and gets its block at the end. */
static void fold_and_wait(struct hx_builder *b, const struct hx_halving *h)
{
    hx_join_one(b, hx_send_to(b, 0, h->partner, hx_at(b->in, 0, b->p)));
    hx_recv_from(b, hx_halving_rounds(h) + 1, h->partner, hx_at(b->out, b->me, 1));
}

static void build(struct hx_builder *b)
{
    struct hx_halving h = hx_halving_of(b);
    int round = h.excess ? 1 : 0, serves = h.partner >= 0 && !h.folded, in_scratch = serves;

    if (hx_alone(b))
        return;
    if (h.folded) {
        fold_and_wait(b, &h);
        return;
    }
    if (serves) {
        hx_join_one(b, hx_recv_from(b, 0, h.partner, partial_row(0, b->p)));
        hx_reduce_row(b, partial_row(0, b->p), partial_row(0, b->p), hx_at(b->in, 0, b->p));
    }
    for (int d = h.group / 2; d >= 1; d /= 2) {
        int other = h.number ^ d, last = d == 1 && !serves;
        int keep = hx_halving_base(h.number, d), kept = hx_halving_block(&h, keep);
        int give = hx_halving_base(other, d), given = hx_halving_block(&h, give);
        int nkept = hx_halving_block(&h, keep + d) - kept, ngiven = hx_halving_block(&h, give + d) - given;
        struct hx_ref received = hx_row(b->p, kept, nkept);

        hx_send_to(b, round, hx_halving_member(&h, other),
                in_scratch ? partial_row(given, ngiven) : hx_at(b->in, given, ngiven));
        hx_recv_from(b, round, hx_halving_member(&h, other), received);
        hx_join_all(b);
        hx_reduce_row(b, last ? hx_at(b->out, kept, 1) : partial_row(kept, nkept), received,
                  in_scratch ? partial_row(kept, nkept) : hx_at(b->in, kept, nkept));
        in_scratch = 1;
        round++;
    }
    if (serves) {
        hx_send_to(b, round, h.partner, partial_row(h.partner, 1));
        hx_copy(b, hx_at(b->out, b->me, 1), partial_row(b->me, 1));
    }
}

const struct hx_algorithm hx_reduce_scatter_rdh = {
    .name = "rdh", .coll = HX_COLL_REDUCE_SCATTER, .build = build, .counts = hx_halving_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "recursive halving: log2 p rounds, best where p is a power of two",
    .source = "Thakur, Rabenseifner, Gropp 2005"};
