/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial gather: in each round half of those who are left hand all blocks they have to another one (tree.h has the
 * picture).
 *
 *   p = 8:  round 0   1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6: a block     round 1   2 -> 0, 6 -> 4: two     round 2   4 -> 0: four
 *
 * Cost: ceil(log2 p) alpha + S (p-1)/p beta. Any p, any root. For small blocks.
 * Source: the minimum-spanning-tree gather of Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19 (2007).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int v = hx_tree_number(b), leaf = hx_tree_size(v, hx_tree_span(v, b->p, 2), b->p) == 1;
    struct hx_ref own = hx_at(b->in, b->me, 1);

    if (v == 0)
        hx_copy(b, hx_at(b->out, b->me, 1), own);
    else if (!leaf)
        hx_copy(b, hx_row(0, b->me, 1), own);
    hx_tree_gather(b, 0, own);
}

const struct hx_algorithm hx_gather_binomial = {
    .name = "binomial", .coll = HX_COLL_GATHER, .build = build, .counts = hx_binomial_counts,
    .about = "recursive halving backwards: ceil(log2 p) rounds, runs of blocks: small blocks",
    .source = "Thakur, Rabenseifner, Gropp 2005"};
