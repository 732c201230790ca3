/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's all-to-all to any base (alltoall_bruck.c has the picture): a block that has to go i members on goes there in
 * one hop for each digit of i that is not 0, lowest first.
 *
 * After the digits below weight w the block that stands at r for distance i is that from r - (i mod w) to r - (i mod w)
 * + i. Blocks wait in scratch, those of distance i in rows i and p + i in turn: one is sent while the next is received.
 */
#ifndef HX_INTER_ALGORITHMS_BRUCK_H
#define HX_INTER_ALGORITHMS_BRUCK_H
#include "inter/algorithms/tree.h"

#define HX_KBRUCK_RADIX 4

/* Digits of i that are not 0. */
static inline int hx_bruck_hops(int i, int radix)
{
    int hops = 0;
    for (; i > 0; i /= radix)
        hops += i % radix != 0;
    return hops;
}

struct hx_bruck_exchange { /* blocks whose distance has this digit at this weight */
    int radix, weight, digit;
};

static inline int hx_bruck_holds(const struct hx_bruck_exchange *e, int distance)
{
    return distance / e->weight % e->radix == e->digit;
}

/* The row of a distance after so many hops. */
static inline int hx_bruck_row_of(const struct hx_builder *b, int distance, int hops)
{
    return distance + (hops % 2 ? b->p : 0);
}

/* Note the exchange's blocks, as they stand before the hop or after it. */
static inline struct hx_ref hx_bruck_blocks_pick(struct hx_builder *b, const struct hx_bruck_exchange *e, int after)
{
    int first = 0, n = 0;

    for (int i = 1; i < b->p; i++) {
        if (!hx_bruck_holds(e, i))
            continue;
        int moved = i % e->weight + (after ? e->digit * e->weight : 0), from = b->me - moved;
        int pick = hx_pick(b, from, from + i, hx_bruck_row_of(b, i, hx_bruck_hops(i % e->weight, e->radix) + after));
        first = n++ ? first : pick;
    }
    return hx_picked(b, HX_SCRATCH, first, n);
}

static inline void hx_bruck_alltoall(struct hx_builder *b, int radix)
{
    struct hx_bruck_exchange e = {.radix = radix};
    int round = 0, first = 0;

    hx_copy(b, hx_pair(b, b->out, b->me, b->me, 1), hx_pair(b, b->in, b->me, b->me, 1));
    if (b->p == 1)
        return;
    struct hx_ref others = hx_pair(b, b->in, b->me, b->me + 1, b->p - 1);
    hx_copy(b, hx_row(1, (int)others.block, b->p - 1), others);
    hx_limit(b, radix - 1);
    for (e.weight = 1; e.weight < b->p; e.weight *= radix, round++) {
        for (e.digit = 1; e.digit < radix && e.digit * e.weight < b->p; e.digit++) {
            hx_recv(b, round, b->me - e.digit * e.weight, hx_bruck_blocks_pick(b, &e, 1));
            hx_send(b, round, b->me + e.digit * e.weight, hx_bruck_blocks_pick(b, &e, 0));
        }
        hx_join_all(b);
    }
    for (int i = 1; i < b->p; i++) {
        int pick = hx_pick(b, b->me - i, b->me, hx_bruck_row_of(b, i, hx_bruck_hops(i, radix)));
        first = i == 1 ? pick : first;
    }
    hx_copy(b, hx_picked(b, b->out, first, b->p - 1), hx_picked(b, HX_SCRATCH, first, b->p - 1));
}

/* A message for each digit of a place that distances below p have; each block passes once for each of its digits. */
static inline struct hx_counts hx_bruck_counts(int p, int radix)
{
    return (struct hx_counts){.rounds = hx_tree_rounds(p, radix), .messages = hx_tree_children(p, radix),
                              .vectors = hx_tree_passes(p, radix) / p};
}

#endif
