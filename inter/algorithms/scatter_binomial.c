/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial scatter ("recursive halving"): in each round each member that has blocks hands half of them on (tree.h has the
 * picture).
 *
 *   p = 8:  round 0   0 -> 4: four blocks     round 1   0 -> 2, 4 -> 6: two     round 2   0 -> 1, 2 -> 3, ...: one
 *
 * A member that hands blocks on keeps what it received in scratch, block v + i in row i.
 * Cost: ceil(log2 p) alpha + S (p-1)/p beta. Any p, any root. For small blocks.
 * Source: the minimum-spanning-tree scatter of Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19 (2007); the first half
 * of the broadcast in Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int p = b->p, v = hx_tree_number(b), span = hx_tree_span(v, p, 2), size = hx_tree_size(v, span, p);
    struct hx_ref out = hx_at(b->out, b->me, 1);

    if (v > 0)
        hx_join_one(b, hx_recv_from(b, hx_tree_round_down(span, p, 2), b->root + hx_tree_parent(v, span, 2),
                           size == 1 ? out : hx_row(0, b->me, size)));
    for (int d = span / 2; d >= 1; d /= 2) {
        int n = hx_tree_size(v + d, d, p);
        if (v + d < p)
            hx_send_to(b, hx_tree_round_down(d, p, 2), b->me + d,
                    v > 0 ? hx_row(d, b->me + d, n) : hx_at(b->in, b->me + d, n));
    }
    if (v == 0)
        hx_copy(b, out, hx_at(b->in, b->me, 1));
    else if (size > 1)
        hx_copy(b, out, hx_row(0, b->me, 1));
}

const struct hx_algorithm hx_scatter_binomial = {
    .name = "binomial", .coll = HX_COLL_SCATTER, .build = build, .counts = hx_binomial_counts,
    .about = "recursive halving: ceil(log2 p) rounds, runs of blocks: small blocks",
    .source = "Thakur, Rabenseifner, Gropp 2005"};
