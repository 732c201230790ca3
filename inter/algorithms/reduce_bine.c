/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction up a Bine tree (bine.h has the picture): as the binomial tree, over partners that are nearer. The members of a
 * subtree do not follow each other, so the operation must be commutative.
 *
 * Cost: ceil(log2 p) (alpha + S beta). Any p. For small vectors.
 */
#include "inter/algorithms/bine.h"

/* sum = partial op what comes. */
static struct hx_ref add(struct hx_builder *b, int round, int member, struct hx_ref partial, struct hx_ref sum)
{
    hx_join_one(b, hx_recv_from(b, round, member, hx_row(0, 0, 1)));
    hx_reduce_rows(b, sum, 0, 2, partial.space, 0);
    return sum;
}

static void build(struct hx_builder *b)
{
    struct hx_bine t = hx_bine_of(b);
    struct hx_ref partial = hx_at(b->in, 0, 1), sum = hx_bine_is_root(&t) ? hx_at(b->out, 0, 1) : hx_row(1, 0, 1);

    hx_split(b, 1);
    if (hx_alone(b))
        return;
    if (t.is_leaf) {
        hx_send_to(b, 0, hx_bine_member(b, &t, t.number), partial);
        return;
    }
    if (t.has_leaf)
        partial = add(b, 0, b->me + 1, partial, sum);
    for (int m = 1; m <= hx_bine_children(&t); m++)
        partial = add(b, m - (t.excess == 0), hx_bine_partner(b, &t, m), partial, sum);
    if (!hx_bine_is_root(&t))
        hx_send_to(b, t.folds - (t.excess == 0), hx_bine_partner(b, &t, t.folds), partial);
}

const struct hx_algorithm hx_reduce_bine = {
    .name = "bine", .coll = HX_COLL_REDUCE, .build = build, .counts = hx_binomial_counts, .needs = HX_NEEDS_COMMUTATIVE | HX_CARRIES_CODES,
    .about = "log2 p rounds of whole vectors between nearer partners: small vectors", .source = "arXiv 2508.17311"};
