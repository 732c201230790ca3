/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peer arithmetic of recursive halving and doubling, for any p. A group of the largest power of two g <= p members
 * exchanges; each of the p-g excess members, the even ones of the first 2(p-g), folds into its odd neighbour before
 * and is served by it afterwards:
 *
 *   p = 6, g = 4:   member   0 -> 1   2 -> 3   4   5         folded: 0 and 2
 *                   number      0        1     2   3         within the group
 *
 * Numbers ascend with members, so what a run of numbers stands for is a run of members. At distance d, number a
 * exchanges with a ^ d; before, both know about the same 2d numbers (halving), or each about its own d (doubling).
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#pragma once

#include "runtime/plan/plan.h"

struct hx_halving {
    int group;   /* members that exchange: a power of two */
    int excess;  /* members that fold */
    int number;  /* of this member in the group; of the neighbour that serves it, if it is folded */
    int folded;  /* this member is one of the excess */
    int partner; /* the other one of a folded pair, -1: none */
};

static inline struct hx_halving hx_halving_of(const struct hx_builder *b)
{
    struct hx_halving h = {.group = 1, .partner = -1};

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

/* The first block of this number, if block j belongs to member j. A number that serves a folded member has two blocks. */
static inline int hx_halving_block(const struct hx_halving *h, int number)
{
    return number + (number < h->excess ? number : h->excess);
}

/* The first of the aligned run of d numbers that holds number. */
static inline int hx_halving_base(int number, int d)
{
    return number & ~(d - 1);
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
