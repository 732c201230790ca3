/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter + circulant all-gather broadcast: the root scatters p blocks down a binomial tree (tree.h), then everybody
 * gathers them in ceil(log2 p) rounds (circulant.h). About the least bytes in few rounds, whatever p is.
 *
 * Cost: 2 ceil(log2 p) alpha + 2 S (p-1)/p beta. Any p, any root. For medium and large vectors.
 * Source: van de Geijn, JPDC 22 (1994), with the all-gather of J. L. Traeff, arXiv 2410.14234.
 */
#include "inter/algorithms/circulant.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_tree_scatter(b);
    hx_circulant_allgather(b, hx_tree_rounds(b->p, 2));
}

const struct hx_algorithm hx_bcast_scatter_circulant = {
    .name = "scatter_circulant", .coll = HX_COLL_BCAST, .build = build, .counts = hx_circulant_tree_counts,
    .about = "twice the least bytes, 2 ceil(log2 p) rounds: medium and large vectors", .source = "van de Geijn 1994; Traeff"};
