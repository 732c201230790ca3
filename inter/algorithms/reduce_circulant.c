/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant pipelined reduction: the broadcast's schedule backwards (circulant_schedule.h). In a broadcast a member
 * receives a block and later passes it on. Here it receives the parts of a block, adds each to its own, and sends the sum
 * back at last.
 *
 * Cost: (m - 1 + q) (alpha + S/m beta), in each slice; m = 4 q, q = ceil(log2 p). Any p, any root. The operation must
 * be commutative. For large vectors.
 */
#include "inter/algorithms/circulant_schedule.h"
#include "inter/algorithms/tree.h"

/* Sums stand in the row of their block's number, at the root in out; what comes, in the row behind. */
static void add(struct hx_builder *b, int block, int m, uint64_t *begun)
{
    struct hx_ref sum = b->me == b->root ? hx_at(b->out, block, 1) : hx_row(block, block, 1);
    int is_first = !(begun[block / 64] >> block % 64 & 1);

    hx_reduce_row(b, sum, hx_row(m, block, 1), is_first ? hx_at(b->in, block, 1) : sum);
    begun[block / 64] |= UINT64_C(1) << block % 64;
}

static void build(struct hx_builder *b)
{
    struct hx_circulant_schedule s = hx_circulant_schedule_of(b->p, hx_tree_number(b));
    int m = hx_circulant_blocks(b->p), rounds = m - 1 + s.rounds, v = hx_tree_number(b);
    uint64_t begun[4 * HX_CIRCULANT_ROUNDS / 64 + 1] = {0};

    hx_split(b, m);
    if (hx_alone(b))
        return;
    for (int i = rounds - 1; b->p > 1 && i >= 0; i--) {
        int skip = hx_circulant_step(&s, m, i), round = rounds - 1 - i;
        int comes = hx_circulant_block(&s, s.sends, m, i), goes = hx_circulant_block(&s, s.receives, m, i);
        int adds = comes >= 0 && (v + skip) % b->p != 0;
        if (goes >= 0 && v != 0)
            hx_send_to(b, round, b->me - skip,
                    begun[goes / 64] >> goes % 64 & 1 ? hx_row(goes, goes, 1) : hx_at(b->in, goes, 1));
        if (adds)
            hx_recv_from(b, round, b->me + skip, hx_row(m, comes, 1));
        hx_join_all(b);
        if (adds)
            add(b, comes, m, begun);
    }
}

const struct hx_algorithm hx_reduce_circulant = {
    .name = "circulant", .coll = HX_COLL_REDUCE, .build = build, .counts = hx_circulant_blocks_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "m blocks in m-1 + ceil(log2 p) rounds for any p, m = 4 ceil(log2 p): large vectors",
    .source = "Traeff, arXiv 2407.18004"};
