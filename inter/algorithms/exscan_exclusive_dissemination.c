/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusive scan by dissemination ("123-doubling"): what a member passes on, from the third round on, is its result so
 * far, without its own part. So the sum to send and the sum to keep are the same, and one addition per round is enough.
 *
 *   p = 13:  round 0   r -> r+1, in            out is  r-1
 *            round 1   r -> r+2, out op in             r-3..r-1      (the only sum with the own part)
 *            round 2   r -> r+3, out                   r-6..r-1
 *            round 3   r -> r+6, out                   r-12..r-1     and so on, with twice the skip
 *
 * Member 0 has nothing to pass on after round 1. Cost: q (alpha + S beta), where q is the least number with
 * 3 2^(q-2) >= p-1: ceil(log2(p-1) + log2(4/3)), for p = 3 and more. Any p, any operation. For small vectors.
 * Source: J. L. Traeff, "Communication Round and Computation Efficient Exclusive Prefix-Sums Algorithms", arXiv
 * 2507.04785.
 */
#include "inter/algorithms/prefix.h"

static void build(struct hx_builder *b)
{
    struct hx_ref in = hx_at(b->in, 0, 1), out = hx_at(b->out, 0, 1);
    struct hx_ref left = hx_row(0, 0, 1), right = hx_row(1, 0, 1), sum = hx_row(2, 0, 1);
    int came, round = 2;

    hx_split(b, 1);
    came = hx_prefix_round(b, 0, 1, 0, in, 1);
    if (came && b->me + 2 < b->p)
        hx_reduce_row(b, sum, right, in);
    if (hx_prefix_round(b, 1, 2, 0, came ? sum : in, 0))
        hx_reduce_rows(b, out, 0, 2, HX_NOWHERE, 0);
    else if (came)
        hx_copy(b, out, right);
    for (int skip = 3; skip + 1 < b->p; skip *= 2)
        if (hx_prefix_round(b, round++, skip, 1, out, 0))
            hx_reduce_row(b, out, left, out);
}

static struct hx_counts counts(struct hx_group g)
{
    double rounds = 0, all = 0, sums = 0;
    int p = g.p, lowest = 0;

    for (int q = 0, skip = 1; q < 2 ? q < p - 1 : skip + 1 < p; q++, rounds++) { /* 3 2^(q-2) members' values are here after q */
        lowest = skip + (q >= 2); /* from round 2 on member 0 sends nothing: no member is below it */
        all += p - lowest;
        sums += p - lowest - (q == 0 ? 2 : 0); /* in round 0 only the members that send the sum on add to it */
        skip = q == 0 ? 2 : q == 1 ? 3 : 2 * skip;
    }
    return (struct hx_counts){
        .rounds = rounds, .messages = rounds, .vectors = rounds, .all_messages = all, .all_vectors = all, .one_way = p <= 3,
        .reads = 2 * (rounds - (lowest + 3 > p)), /* a member that adds up in the last round may not do so in the first */
        .all_reads = sums > 0 ? 2 * sums : 0};
}

const struct hx_algorithm hx_exscan_exclusive_dissemination = {
    .name = "exclusive_dissemination", .coll = HX_COLL_EXSCAN, .build = build, .counts = counts,
    .about = "123-doubling: ceil(log2(p-1) + log2(4/3)) rounds of whole vectors, one sum each: small vectors",
    .source = "Traeff, arXiv 2507.04785"};
