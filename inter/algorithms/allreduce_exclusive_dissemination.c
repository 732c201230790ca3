/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-reduce by exclusive dissemination: member r keeps E, the sum of the w members after it, without its own part x. In
 * each round w doubles, because r receives the E of member r+w. If w must grow by one more, r receives x + E of member
 * r+w+1 instead. The digits of p-1, highest first, decide which: w is the number that they form so far.
 *
 *   p = 7:  p-1 is 110    digit 1   r+1 -> r  x           E is r+1           w = 1
 *                         digit 1   r+2 -> r  x + E             r+1 .. r+3       3
 *                         digit 0   r+4 -> r  E                 r+1 .. r+6       6    and out is x + E
 *
 * Cost: ceil(log2 p) (alpha + S beta) for any p: no member folds if p is not a power of two. Each member begins its sum
 * with another one, so operation and type must be exact: else members would round differently.
 * Source: as the exclusive scan by doubling without the own part (exscan_exclusive_dissemination.c), around the ring of
 * members: Bruck, Ho, "Efficient global combine operations in multi-port message-passing systems", PPL 3 (1993).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    struct hx_ref in = hx_at(b->in, 0, 1), sum = hx_row(0, 0, 1), came = hx_row(1, 0, 1), with_own = hx_row(2, 0, 1);
    int others = b->p - 1, w = 1, digit, round = 1;

    hx_split(b, 1);
    if (hx_alone(b))
        return;
    hx_send_to(b, 0, b->me - 1, in);
    hx_recv_from(b, 0, b->me + 1, sum);
    hx_join_all(b);
    for (int k = 30 - __builtin_clz((unsigned)others); k >= 0; k--, w = 2 * w + digit) {
        digit = others >> k & 1;
        if (digit)
            hx_reduce_row(b, with_own, sum, in);
        hx_send_to(b, round, b->me - w - digit, digit ? with_own : sum);
        hx_recv_from(b, round++, b->me + w + digit, came);
        hx_join_all(b);
        if (k > 0)
            hx_reduce_row(b, sum, came, sum);
    }
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, w > 1 ? 3 : 2, b->in, 0); /* with what came last */
}

static struct hx_counts counts(struct hx_group g)
{
    double log = hx_tree_rounds(g.p, 2), reads = g.p > 2 ? 3 : 2; /* of the last sum */

    for (int k = 30 - __builtin_clz((unsigned)g.p - 1); k >= 0; k--) /* a sum to send if the digit is 1; one to keep if k > 0 */
        reads += 2 * ((g.p - 1) >> k & 1) + 2 * (k > 0);
    return (struct hx_counts){.rounds = log, .messages = log, .vectors = log, .reads = reads, .all_reads = g.p * reads};
}

const struct hx_algorithm hx_allreduce_exclusive_dissemination = {
    .name = "exclusive_dissemination", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .needs = HX_NEEDS_COMMUTATIVE | HX_NEEDS_EXACT,
    .about = "ceil(log2 p) rounds of whole vectors for any p: small vectors of integers", .source = "Bruck, Ho 1993"};
