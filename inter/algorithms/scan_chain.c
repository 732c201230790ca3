/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipelined chain scan: the sum passes from neighbour to neighbour, slice by slice; each adds its part, which is its
 * result, and passes that on. While a member sends slice k on, slice k+1 comes in. The slices are the plan's: here
 * stands the program of one of them.
 *
 *   0 -> 1 -> 2 -> ... -> p-1
 *
 * Cost for m slices: (p-2+m) (alpha + S/m beta). Any p, any operation. For large vectors and few members.
 */
#include "inter/algorithms/ring.h"

static void build(struct hx_builder *b)
{
    struct hx_ref in = hx_at(b->in, 0, 1), out = hx_at(b->out, 0, 1);

    hx_split(b, 1);
    if (b->me > 0) {
        hx_join_one(b, hx_recv_from(b, b->me - 1, b->me - 1, hx_row(0, 0, 1)));
        hx_reduce_row(b, out, hx_row(0, 0, 1), in);
    } else {
        hx_copy(b, out, in);
    }
    if (b->me < b->p - 1)
        hx_send_to(b, b->me, b->me + 1, out);
}

const struct hx_algorithm hx_scan_chain = {
    .name = "chain", .coll = HX_COLL_SCAN, .build = build, .counts = hx_chain_counts,
    .about = "each member adds its part to a slice and passes it on: large vectors, few members", .source = "Open MPI"};
