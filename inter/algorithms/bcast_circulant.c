/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant pipelined broadcast: m blocks in m - 1 + q rounds, q = ceil(log2 p), the fewest that there can be. In each
 * round everybody sends one block and receives one, around a ring with another skip in each of q rounds
 * (circulant_schedule.h says which block). Members pass on later what they receive. No member sends to
 * the root, which has all blocks.
 *
 * Cost: (m - 1 + q) (alpha + S/m beta), in each slice; m = 4 q. Any p, any root. For large vectors.
 */
#include "inter/algorithms/circulant_schedule.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    struct hx_circulant_schedule s = hx_circulant_schedule_of(b->p, hx_tree_number(b));
    int m = hx_circulant_blocks(b->p), v = hx_tree_number(b);

    hx_split(b, m);
    for (int i = 0; b->p > 1 && i < m - 1 + s.rounds; i++) {
        int skip = hx_circulant_step(&s, m, i);
        int sent = hx_circulant_block(&s, s.sends, m, i), received = hx_circulant_block(&s, s.receives, m, i);
        if (sent >= 0 && (v + skip) % b->p != 0)
            hx_send_to(b, i, b->me + skip, hx_at(b->out, sent, 1));
        if (received >= 0 && v != 0)
            hx_recv_from(b, i, b->me - skip, hx_at(b->out, received, 1));
        hx_join_all(b);
    }
}

const struct hx_algorithm hx_bcast_circulant = {
    .name = "circulant", .coll = HX_COLL_BCAST, .build = build, .counts = hx_circulant_blocks_counts,
    .about = "m blocks in m-1 + ceil(log2 p) rounds for any p, m = 4 ceil(log2 p): large vectors",
    .source = "Traeff, arXiv 2407.18004"};
