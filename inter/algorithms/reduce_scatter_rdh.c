/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive halving reduce-scatter: members exchange the blocks of the other half of the group with one half the
 * group away, then those of the other quarter with one a quarter away, and so on, adding up what they keep. Block j
 * belongs to member j; a number that serves a folded member stands for both their blocks (halving.h).
 *
 *   g = 4:   0<->2 1<->3 (half of the blocks)    0<->1 2<->3 (a quarter)
 *
 * Partial sums stand in scratch, in the order of the window of the whole group; what is received stands in the rows after
 * them. "bine" is the same among nearer partners (halving.h).
 * Cost: log2 p alpha + S (p-1)/p beta. If p is not a power of two, the members that fold and those that serve take
 * 2 alpha + S beta more. The operation must be commutative.
 */
#include "inter/algorithms/halving.h"

/* The blocks of the n numbers from first on: in the input, or their partial sums. */
static struct hx_ref partial(const struct hx_builder *b, const struct hx_halving *h, int in_scratch, int first, int n)
{
    int block = hx_halving_block(h, first), nblocks = hx_halving_nblocks(h, first, n);
    int row_0 = hx_halving_block(h, hx_halving_window(h, h->number, hx_halving_rounds(h)));

    return in_scratch ? hx_row((block - row_0 + b->p) % b->p, block, nblocks) : hx_at(b->in, block, nblocks);
}

/* The excess member hands its whole input to the one that serves it, and gets its block at the end. */
static void fold_and_wait(struct hx_builder *b, const struct hx_halving *h)
{
    int all = hx_halving_window(h, h->number, hx_halving_rounds(h));

    hx_join_one(b, hx_send_to(b, 0, h->partner, partial(b, h, 0, all, h->group)));
    hx_recv_from(b, hx_halving_rounds(h) + 1, h->partner, hx_at(b->out, b->me, 1));
}

static void build(struct hx_builder *b, enum hx_halving_pattern pattern)
{
    struct hx_halving h = hx_halving_of(b, pattern);
    int round = h.excess ? 1 : 0, serves = h.partner >= 0 && !h.folded, in_scratch = serves;
    int all = hx_halving_window(&h, h.number, hx_halving_rounds(&h));

    if (hx_alone(b))
        return;
    if (h.folded) {
        fold_and_wait(b, &h);
        return;
    }
    if (serves) {
        struct hx_ref sums = partial(b, &h, 1, all, h.group);

        hx_join_one(b, hx_recv_from(b, 0, h.partner, sums));
        hx_reduce_row(b, sums, sums, partial(b, &h, 0, all, h.group));
    }
    for (int k = hx_halving_rounds(&h) - 1; k >= 0; k--) {
        int other = hx_halving_other(&h, k), d = 1 << k, last = k == 0 && !serves;
        int keep = hx_halving_window(&h, h.number, k), give = hx_halving_window(&h, other, k);
        struct hx_ref received = hx_row(b->p, hx_halving_block(&h, keep), hx_halving_nblocks(&h, keep, d));

        hx_send_to(b, round, hx_halving_member(&h, other), partial(b, &h, in_scratch, give, d));
        hx_recv_from(b, round, hx_halving_member(&h, other), received);
        hx_join_all(b);
        hx_reduce_row(b, last ? hx_at(b->out, b->me, 1) : partial(b, &h, 1, keep, d), received, partial(b, &h, in_scratch, keep, d));
        in_scratch = 1;
        round++;
    }
    if (serves) {
        struct hx_ref theirs = partial(b, &h, 1, h.number, 1);

        theirs.nblocks = 1;
        hx_send_to(b, round, h.partner, theirs);
        hx_copy(b, hx_at(b->out, b->me, 1), hx_row(theirs.row + 1, b->me, 1));
    }
}

static void build_rdh(struct hx_builder *b)
{
    build(b, HX_HALVING_RDH);
}

static void build_bine(struct hx_builder *b)
{
    build(b, HX_HALVING_BINE);
}

const struct hx_algorithm hx_reduce_scatter_rdh = {
    .name = "rdh", .coll = HX_COLL_REDUCE_SCATTER, .build = build_rdh, .counts = hx_halving_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "recursive halving: log2 p rounds, best where p is a power of two",
    .source = "Thakur, Rabenseifner, Gropp 2005"};

const struct hx_algorithm hx_reduce_scatter_bine = {
    .name = "bine", .coll = HX_COLL_REDUCE_SCATTER, .build = build_bine, .counts = hx_halving_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "as rdh, among nearer partners: fewer bytes between racks",
    .source = "De Sensi et al., arXiv 2508.17311"};
