/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant all-gather: ceil(log2 p) rounds and exactly p-1 blocks, whatever p is (circulant.h has the picture).
 *
 * Cost: ceil(log2 p) alpha + S (p-1)/p beta. Any p.
 * Source: J. L. Traeff, arXiv 2410.14234.
 */
#include "inter/algorithms/algorithms.h"
#include "inter/algorithms/circulant.h"

void hx_allgather_circulant(struct hx_builder *b)
{
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    hx_circulant_allgather(b, 0);
}
