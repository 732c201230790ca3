/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipelined chain exclusive scan: the sum passes from neighbour to neighbour, slice by slice. The sum that a member
 * receives is its result. It adds its part and passes the new sum on. While it sends slice k on, slice k+1 comes in. The
 * plan cuts the slices: this is the program of one slice.
 *
 *   0 -> 1 -> 2 -> ... -> p-1
 *
 * Cost for m slices: (p-2+m) (alpha + S/m beta). Any p, any operation. For large vectors and few members.
 */
#include "inter/algorithms/ring.h"

static void build(struct hx_builder *b)
{
    struct hx_ref in = hx_at(b->in, 0, 1), out = hx_at(b->out, 0, 1), sum = in;
    int last = b->me == b->p - 1;

    hx_split(b, 1);
    if (b->me > 0)
        hx_join_one(b, hx_recv_from(b, b->me - 1, b->me - 1, last ? out : hx_row(0, 0, 1)));
    if (b->me > 0 && !last) {
        sum = hx_row(1, 0, 1);
        hx_reduce_row(b, sum, hx_row(0, 0, 1), in);
        hx_copy(b, out, hx_row(0, 0, 1));
    }
    if (!last)
        hx_send_to(b, b->me, b->me + 1, sum);
}

const struct hx_algorithm hx_exscan_chain = {
    .name = "chain", .coll = HX_COLL_EXSCAN, .build = build, .counts = hx_chain_counts,
    .about = "each member adds its part to a slice and passes it on: large vectors, few members", .source = "Open MPI"};
