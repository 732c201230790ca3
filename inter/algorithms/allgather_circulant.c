/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant all-gather: ceil(log2 p) rounds and exactly p-1 blocks, whatever p is (circulant.h has the picture).
 *
 * Cost: ceil(log2 p) alpha + S (p-1)/p beta. Any p.
 */
#include "inter/algorithms/circulant.h"

static void build(struct hx_builder *b)
{
    hx_copy(b, hx_at(b->out, b->me, 1), hx_at(b->in, b->me, 1));
    hx_circulant_allgather(b, 0);
}

const struct hx_algorithm hx_allgather_circulant = {
    .name = "circulant", .coll = HX_COLL_ALLGATHER, .build = build, .counts = hx_circulant_counts,
    .about = "least bytes in ceil(log2 p) rounds for any p", .source = "Traeff, arXiv 2410.14234"};
