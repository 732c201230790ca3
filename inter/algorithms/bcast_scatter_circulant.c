/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter + circulant all-gather broadcast: the root scatters p blocks down a binomial tree (tree.h), then everybody
 * gathers them in ceil(log2 p) rounds (circulant.h). About the least bytes in few rounds, whatever p is.
 *
 * Cost: 2 ceil(log2 p) alpha + 2 S (p-1)/p beta. Any p, any root. For medium and large vectors.
 * Source: van de Geijn, JPDC 22 (1994), with the all-gather of J. L. Traeff, arXiv 2410.14234.
 */
#include "inter/algorithms/algorithms.h"
#include "inter/algorithms/circulant.h"
#include "inter/algorithms/tree.h"

void hx_bcast_scatter_circulant(struct hx_builder *b)
{
    hx_split(b, b->p);
    hx_tree_scatter(b);
    hx_circulant_allgather(b, hx_tree_rounds(b->p, 2));
}
