/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial reduction in rank order: runs of members join by twos, and one member of each run has its sum: the root
 * if it is in the run, else the lowest. The other run's sum comes to it from the left or the right, and is folded
 * there.
 *
 *   p = 8, root 5:  round 0   1 -> 0, 3 -> 2, 4 -> 5, 7 -> 6        round 1   2 -> 0, 6 -> 5        round 2   0 -> 5
 *                   runs      0 1   2 3   4 5   6 7                           0 1 2 3   4 5 6 7               0 ... 7
 *
 * Cost: ceil(log2 p) (alpha + S beta). Any p, any root, any operation.
 * Source: "The Illustrated Collectives", reduce, tree; Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#include "inter/algorithms/tree.h"

/* The member that has the sum of the run of d members from low on. */
static int keeper(const struct hx_builder *b, int low, int d)
{
    return b->root >= low && b->root - low < d ? b->root : low;
}

static void build(struct hx_builder *b)
{
    struct hx_ref partial = hx_at(b->in, 0, 1), sum = b->me == b->root ? hx_at(b->out, 0, 1) : hx_row(1, 0, 1);

    hx_split(b, 1);
    hx_alone(b);
    for (int d = 1, round = 0; d < b->p; d *= 2, round++) {
        int low = b->me - b->me % (2 * d), high = low + d, is_high = b->me >= high;
        int other = is_high ? keeper(b, low, d) : keeper(b, high, d);
        if (high >= b->p)
            continue;
        if (keeper(b, low, 2 * d) != b->me) {
            hx_send_to(b, round, other, partial);
            return;
        }
        hx_join_one(b, hx_recv_from(b, round, other, hx_row(0, 0, 1)));
        hx_reduce_rows(b, sum, 0, 2, partial.space, is_high);
        partial = sum;
    }
}

const struct hx_algorithm hx_reduce_binomial = {
    .name = "binomial", .coll = HX_COLL_REDUCE, .build = build, .needs = HX_CARRIES_CODES, .counts = hx_binomial_counts,
    .about = "log2 p rounds of whole vectors: small vectors", .source = "The Illustrated Collectives"};
