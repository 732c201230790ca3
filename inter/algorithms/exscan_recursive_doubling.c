/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusive scan by recursive doubling: everybody keeps two sums of the parts that have reached it, one with and one
 * without its own part. In round k the first goes to the member 2^k above, which puts it on the left of both of its own.
 *
 *   p = 5:  round 0   r -> r+1        round 1   r -> r+2        round 2   r -> r+4
 *           out is    r-1             r-3..r-1                  r-7..r-1, that is 0..r-1
 *
 * Cost: ceil(log2 p) (alpha + S beta), two additions per round. Any p, any operation. For small vectors.
 * Source: Hillis, Steele, CACM 29 (1986); MPICH's exscan.
 */
#include "inter/algorithms/prefix.h"

static void build(struct hx_builder *b)
{
    struct hx_ref out = hx_at(b->out, 0, 1), partial = hx_at(b->in, 0, 1);
    struct hx_ref came = hx_row(0, 0, 1), with_own = hx_row(1, 0, 1);
    int heard = 0;

    hx_split(b, 1);
    for (int k = 0; 1 << k < b->p; k++) {
        if (!hx_prefix_round(b, k, 1 << k, 0, partial, 0))
            continue;
        if (b->me + (2 << k) < b->p) { /* it is sent once more */
            hx_reduce_row(b, with_own, came, partial);
            partial = with_own;
        }
        if (heard++)
            hx_reduce_row(b, out, came, out);
        else
            hx_copy(b, out, came);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    int p = g.p;
    double rounds = 0, all = 0, sums = 0, most = 2 * (p > 2);

    for (int skip = 1; skip < p; skip *= 2, rounds++) {
        all += p - skip;
        sums += (skip > 1 ? p - skip : 0) + (p > 3 * skip ? p - 3 * skip : 0);
    }
    if (p > 3) /* a sum to keep and one to send, but in the first round and the last ones */
        most = 4 * (rounds - 2) + 2 * (4.0 * p > 3 * (double)(UINT64_C(1) << (int)rounds));
    return (struct hx_counts){.rounds = rounds, .messages = rounds, .vectors = rounds, .all_messages = all, .all_vectors = all,
                              .reads = most, .all_reads = 2 * sums, .one_way = p <= 3};
}

const struct hx_algorithm hx_exscan_recursive_doubling = {
    .name = "recursive_doubling", .coll = HX_COLL_EXSCAN, .build = build, .counts = counts,
    .about = "ceil(log2 p) rounds of whole vectors, two sums each: small vectors", .source = "Hillis, Steele 1986"};
