/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's all-to-all: few rounds, whose messages carry many blocks. The block from r to r+i travels i members on, in
 * one hop for each digit of i that is not 0, lowest first. A round is a digit's place; in it everybody sends one
 * message for each value of the digit, with all blocks it holds whose distance has that value there.
 *
 *   p = 8, radix 2:  round 0   distances 1 3 5 7 to r+1    round 1   2 3 6 7 to r+2    round 2   4 5 6 7 to r+4
 *
 * Cost: ceil(log_k p) alpha + about S (k-1)/k log_k p beta, here for k = 2. Any p. For small blocks.
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8 (1997).
 */
#include "inter/algorithms/bruck.h"

static void build(struct hx_builder *b)
{
    hx_bruck_alltoall(b, 2);
}

static struct hx_counts counts(struct hx_group g)
{
    return hx_bruck_counts(g.p, 2);
}

const struct hx_algorithm hx_alltoall_bruck = {
    .name = "bruck", .coll = HX_COLL_ALLTOALL, .build = build, .counts = counts,
    .about = "ceil(log2 p) rounds of half the blocks: small blocks", .source = "Bruck et al. 1997"};
