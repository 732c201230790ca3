/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * k-nomial broadcast: in each round everybody who has the vector sends it to k-1 more at once (tree.h has the picture).
 * With k = 4 it takes half the rounds of the binomial tree, with three messages in each.
 *
 * Cost: ceil(log_k p) (alpha + (k-1) S beta). Any p. For small vectors where alpha is large beside a further message.
 * Source: the k-nomial tree of MPICH and UCX; "k ports" in Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19 (2007).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    hx_tree_bcast(b, b->radix, 0);
}

#define ROW(k) \
    {HX_RADIX_NAMED("knomial", k, 4), .coll = HX_COLL_BCAST, .build = build, .counts = hx_knomial_counts, \
     .about = "log" #k " p rounds of up to " #k " - 1 whole vectors at once: small vectors", .source = "MPICH, UCX"}

const struct hx_algorithm hx_bcast_knomial[] = {HX_RADICES(ROW)};
