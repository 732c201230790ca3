/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast down a Bine tree (bine.h has the picture): as the binomial tree, over partners that are nearer.
 *
 * Cost: ceil(log2 p) (alpha + S beta). Any p. For small vectors.
 */
#include "inter/algorithms/bine.h"

static void build(struct hx_builder *b)
{
    struct hx_bine t = hx_bine_of(b);
    struct hx_ref all = hx_at(b->out, 0, 1);

    hx_split(b, 1);
    if (t.is_leaf) {
        hx_recv_from(b, t.rounds, hx_bine_member(b, &t, t.number), all);
        return;
    }
    if (!hx_bine_is_root(&t))
        hx_join_one(b, hx_recv_from(b, t.rounds - t.folds, hx_bine_partner(b, &t, t.folds), all));
    for (int m = hx_bine_children(&t); m >= 1; m--)
        hx_send_to(b, t.rounds - m, hx_bine_partner(b, &t, m), all);
    if (t.has_leaf)
        hx_send_to(b, t.rounds, b->me + 1, all);
}

const struct hx_algorithm hx_bcast_bine = {
    .name = "bine", .coll = HX_COLL_BCAST, .build = build, .counts = hx_binomial_counts,
    .about = "log2 p rounds of whole vectors between nearer partners: small vectors", .source = "arXiv 2508.17311"};
