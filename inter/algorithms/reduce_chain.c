/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipelined chain reduction: the sum passes from neighbour to neighbour, slice by slice, and each adds its part; while
 * a member sends slice k on, slice k+1 comes in. The slices are the plan's: here stands the program of one of them.
 *
 *   root+p-1 -> ... -> root+2 -> root+1 -> root
 *
 * Cost for m slices: (p-2+m) (alpha + S/m beta). Any p, any root. The operation must be commutative. For large vectors
 * and few members.
 */
#include "inter/algorithms/ring.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int v = hx_tree_number(b), last = b->p - 1;
    struct hx_ref own = hx_at(b->in, 0, 1), sum = v > 0 ? hx_row(1, 0, 1) : hx_at(b->out, 0, 1);

    hx_split(b, 1);
    if (v < last) {
        hx_join_one(b, hx_recv_from(b, last - 1 - v, b->me + 1, hx_row(0, 0, 1)));
        hx_reduce_rows(b, sum, 0, 2, b->in, 0);
    } else if (v == 0) {
        hx_copy(b, sum, own);
    }
    if (v > 0)
        hx_send_to(b, last - v, b->me - 1, v < last ? sum : own);
}

const struct hx_algorithm hx_reduce_chain = {
    .name = "chain", .coll = HX_COLL_REDUCE, .build = build, .counts = hx_chain_counts,
    .needs = HX_NEEDS_COMMUTATIVE | HX_PASSES_RING | HX_CARRIES_CODES,
    .about = "each member adds its part to a slice and passes it on: large vectors, few members", .source = "Open MPI"};
