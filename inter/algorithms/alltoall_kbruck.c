/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's all-to-all (alltoall_bruck.c) to the base 4: half the rounds, with three messages each.
 *
 * Cost: ceil(log4 p) alpha + about 3/4 S log4 p beta. Any p. For small blocks.
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8 (1997).
 */
#include "inter/algorithms/bruck.h"

static void build(struct hx_builder *b)
{
    hx_bruck_alltoall(b, HX_KBRUCK_RADIX);
}

static struct hx_counts counts(struct hx_group g)
{
    return hx_bruck_counts(g.p, HX_KBRUCK_RADIX);
}

const struct hx_algorithm hx_alltoall_kbruck = {
    .name = "kbruck", .coll = HX_COLL_ALLTOALL, .build = build, .counts = counts,
    .about = "ceil(log4 p) rounds of 3 messages, a quarter of the blocks each: small blocks", .source = "Bruck et al. 1997"};
