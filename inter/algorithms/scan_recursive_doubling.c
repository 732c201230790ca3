/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan by recursive doubling: in round k everybody hands the sum that it has, of the 2^k members up to itself, to the
 * member 2^k above, which puts it on the left of its own.
 *
 *   p = 5:  round 0   r -> r+1        round 1   r -> r+2        round 2   r -> r+4
 *           sums of   r-1..r          r-3..r                    r-7..r, that is 0..r
 *
 * Cost: ceil(log2 p) (alpha + S beta). Any p, any operation. For small vectors.
 * Source: Hillis, Steele, "Data parallel algorithms", CACM 29 (1986).
 */
#include "inter/algorithms/prefix.h"

static void build(struct hx_builder *b)
{
    struct hx_ref out = hx_at(b->out, 0, 1), partial = hx_at(b->in, 0, 1);

    hx_split(b, 1);
    for (int k = 0; 1 << k < b->p; k++)
        if (hx_prefix_round(b, k, 1 << k, 0, partial, 0)) {
            hx_reduce_row(b, out, hx_row(0, 0, 1), partial);
            partial = out;
        }
    if (b->me == 0)
        hx_copy(b, out, partial);
}

static struct hx_counts counts(struct hx_group g)
{
    double rounds = 0, all = 0;

    for (int skip = 1; skip < g.p; skip *= 2, rounds++)
        all += g.p - skip;
    return (struct hx_counts){.rounds = rounds, .messages = rounds, .vectors = rounds, .all_messages = all, .all_vectors = all,
                              .reads = 2 * rounds, .all_reads = 2 * all, .one_way = g.p <= 3};
}

const struct hx_algorithm hx_scan_recursive_doubling = {
    .name = "recursive_doubling", .coll = HX_COLL_SCAN, .build = build, .counts = counts,
    .about = "ceil(log2 p) rounds of whole vectors: small vectors", .source = "Hillis, Steele 1986"};
