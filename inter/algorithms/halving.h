/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peer arithmetic of recursive halving and doubling, for any p. A group of the largest power of two g <= p members
 * exchanges; each of the p-g excess members, the even ones of the first 2(p-g), folds into its odd neighbour before
 * and is served by it afterwards:
 *
 *   p = 6, g = 4:   member   0 -> 1   2 -> 3   4   5         folded: 0 and 2
 *                   number      0        1     2   3         within the group
 *
 * Numbers ascend with members, so what a run of numbers stands for is a run of members. In round k of doubling two numbers
 * exchange what their windows of 2^k numbers stand for; both then have both windows. Halving does the same backwards. Two
 * patterns, of partners and windows:
 *
 *             partner of a in round k                                 window of 2^k numbers
 *   rdh       a ^ 2^k: 1, 2, 4, 8, ... away                           the aligned one that holds a
 *   bine      1, 1, 3, 5, 11, 21, ... away: up and down in turn       wraps around; begins 2 + 8 + 32 + ... below an even
 *             from an even number, down and up from an odd one        number, 1 + 4 + 16 + ... below an odd one (terms < 2^k)
 *
 * Data of bine travels a third less far, so fewer bytes cross the links between racks.
 * Sources: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005); bine: De Sensi et al., arXiv 2508.17311.
 */
#pragma once

#include "runtime/plan/plan.h"

enum hx_halving_pattern { HX_HALVING_RDH, HX_HALVING_BINE };

struct hx_halving {
    enum hx_halving_pattern pattern;
    int group;   /* members that exchange: a power of two */
    int excess;  /* members that fold */
    int number;  /* of this member in the group; of the neighbour that serves it, if it is folded */
    int folded;  /* this member is one of the excess */
    int partner; /* the other one of a folded pair, -1: none */
};

static inline struct hx_halving hx_halving_of(const struct hx_builder *b, enum hx_halving_pattern pattern)
{
    struct hx_halving h = {.pattern = pattern, .group = 1, .partner = -1};

    while (2 * h.group <= b->p)
        h.group *= 2;
    h.excess = b->p - h.group;
    if (b->me < 2 * h.excess) {
        h.folded = b->me % 2 == 0;
        h.partner = b->me ^ 1;
        h.number = b->me / 2;
    } else {
        h.number = b->me - h.excess;
    }
    return h;
}

/* The member with this number in the group. */
static inline int hx_halving_member(const struct hx_halving *h, int number)
{
    return number < h->excess ? 2 * number + 1 : number + h->excess;
}

/* The number it exchanges with in round k of doubling. */
static inline int hx_halving_other(const struct hx_halving *h, int k)
{
    int d = 1 << k, away = (k % 2 ? 1 - 2 * d : 1 + 2 * d) / 3; /* the sum of (-2)^i for i up to k */

    if (h->pattern == HX_HALVING_RDH)
        return h->number ^ d;
    return (h->number + (h->number % 2 ? -away : away)) & (h->group - 1);
}

/* The first number of this number's window of 2^k. */
static inline int hx_halving_window(const struct hx_halving *h, int number, int k)
{
    unsigned even_digits = 0x55555555;
    int d = 1 << k, below = (int)((number % 2 ? even_digits : ~even_digits) & (unsigned)(d - 1));

    if (h->pattern == HX_HALVING_RDH)
        return number & ~(d - 1);
    return (number - below) & (h->group - 1);
}

/* The first block of this number, if block j belongs to member j. A number that serves a folded member has two blocks. */
static inline int hx_halving_block(const struct hx_halving *h, int number)
{
    return number + (number < h->excess ? number : h->excess);
}

/* How many blocks the n numbers from first on have. They wrap around. */
static inline int hx_halving_nblocks(const struct hx_halving *h, int first, int n)
{
    int end = first + n, wraps = end > h->group;

    return hx_halving_block(h, wraps ? end - h->group : end) - hx_halving_block(h, first) + (wraps ? h->group + h->excess : 0);
}

static inline int hx_halving_rounds(const struct hx_halving *h)
{
    return __builtin_ctz((unsigned)h->group);
}

static inline int hx_floor_log2(int p)
{
    return 31 - __builtin_clz((unsigned)p);
}

/* Halving, doubling or both. Excess members hand in a vector first and are served at the end: the busiest is taken to do both. */
static inline struct hx_counts hx_halving_counts(struct hx_group g)
{
    int group = 1 << hx_floor_log2(g.p), excess = g.p - group, all = g.coll == HX_COLL_ALLREDUCE, folds = excess > 0;
    double phases = hx_coll_phases(g.coll), rounds = phases * hx_floor_log2(g.p), others = g.p - 1, reads = folds ? 2 : 2 * others / g.p;

    for (int d = group / 2; d >= 1 && folds; d /= 2) /* sums of a half, a quarter, ...; of blocks, those of the first numbers are the most */
        reads += all ? 2.0 * d / group : 2.0 * (d + (d < excess ? d : excess)) / g.p;
    return (struct hx_counts){
        .rounds = rounds + 2 * folds, .messages = rounds + 2 * folds, .vectors = phases * others / g.p + folds,
        .all_messages = group * rounds + 2 * excess,
        .all_vectors = phases * others + (g.coll == HX_COLL_REDUCE_SCATTER ? (double)excess / g.p : 0), .reads = reads, .all_reads = 2 * others};
}
