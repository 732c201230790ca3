/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipelined chain broadcast: the vector passes from neighbour to neighbour, slice by slice; while a member sends slice
 * k on, slice k+1 comes in. The slices are the plan's: here stands the program of one of them.
 *
 *   root -> root+1 -> root+2 -> ... -> root+p-1
 *
 * Cost for m slices: (p-2+m) (alpha + S/m beta). Any p, any root. For large vectors and few members.
 * Source: the pipelined chain of Open MPI's tuned broadcast; Johnsson and Ho, IEEE ToC 38 (1989).
 */
#include "inter/algorithms/ring.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int v = hx_tree_number(b);

    hx_split(b, 1);
    if (v > 0)
        hx_join_one(b, hx_recv_from(b, v - 1, b->me - 1, hx_at(b->out, 0, 1)));
    if (v < b->p - 1)
        hx_send_to(b, v, b->me + 1, hx_at(b->out, 0, 1));
}

const struct hx_algorithm hx_bcast_chain = {
    .name = "chain", .coll = HX_COLL_BCAST, .build = build, .counts = hx_chain_counts, .needs = HX_PASSES_RING,
    .about = "each member passes slices on to the next: large vectors, few members", .source = "Johnsson, Ho 1989"};
