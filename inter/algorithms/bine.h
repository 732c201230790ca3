/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peer arithmetic of Bine trees: binomial trees over negabinary numbers, whose digits weigh 1, -2, 4, -8, ... A number
 * whose m lowest digits are alike, all 0 or all 1, is m-fold. Flipping these digits leads to its partner in round s - m of
 * s. Partners are 1, 1, 3, 5, 11, 21, ... numbers apart, up or down, where those of a binomial tree are 1, 2, 4, 8, 16,
 * 32, ... apart. So data travels a third less far, and fewer bytes cross the links between racks.
 *
 *   s = 3:   number  0   1   2   3   4   5   6   7      round 0   0 -> 3
 *            digits 000 001 110 111 100 101 010 011     round 1   0 -> 7, 3 -> 4
 *                                                       round 2   0 -> 1, 3 -> 2, 4 -> 5, 7 -> 6
 *
 * Members are numbered from the root on. If p is not a power of two, each of the first excess members with an odd place
 * is a leaf of the one before, and has no number: as halving.h has it, but for the root, which has number 0.
 * Source: De Sensi et al., "Bine trees: enhancing collective operations by optimizing communication locality", arXiv
 * 2508.17311; the leaves as in Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#pragma once

#include "inter/algorithms/tree.h"

#define HX_BINE_ODD_DIGITS 0xaaaaaaaau /* those of negative weight */

struct hx_bine {
    int rounds;   /* of the numbers; one more if there are leaves */
    int excess;   /* members that are leaves without a number */
    int is_leaf;  /* this one is, of the number below */
    int number;
    int has_leaf;
    int folds;    /* of this number: rounds - folds is the round in which it meets its parent; the root: all */
};

static inline unsigned hx_bine_digits(const struct hx_bine *t, int number)
{
    return (((unsigned)number + HX_BINE_ODD_DIGITS) ^ HX_BINE_ODD_DIGITS) & ((1u << t->rounds) - 1);
}

static inline struct hx_bine hx_bine_of(const struct hx_builder *b)
{
    struct hx_bine t = {.rounds = 31 - __builtin_clz((unsigned)b->p)};
    int place = hx_tree_number(b);

    t.excess = b->p - (1 << t.rounds);
    t.is_leaf = place < 2 * t.excess && place % 2;
    t.has_leaf = place < 2 * t.excess && !t.is_leaf;
    t.number = place < 2 * t.excess ? place / 2 : place - t.excess;
    unsigned digits = hx_bine_digits(&t, t.number);
    for (t.folds = 1; t.folds < t.rounds && (digits >> t.folds & 1) == (digits & 1);)
        t.folds++;
    if (t.number == 0)
        t.folds = t.rounds;
    return t;
}

static inline int hx_bine_is_root(const struct hx_bine *t)
{
    return t->number == 0 && !t->is_leaf;
}

/* The member with this number. */
static inline int hx_bine_member(const struct hx_builder *b, const struct hx_bine *t, int number)
{
    return b->root + (number < t->excess ? 2 * number : number + t->excess);
}

/* The member whose m lowest digits are the other way round. */
static inline int hx_bine_partner(const struct hx_builder *b, const struct hx_bine *t, int m)
{
    unsigned flipped = hx_bine_digits(t, t->number) ^ ((1u << m) - 1);
    return hx_bine_member(b, t, (int)(((flipped ^ HX_BINE_ODD_DIGITS) - HX_BINE_ODD_DIGITS) & ((1u << t->rounds) - 1)));
}

/* The largest m whose partner is a child. */
static inline int hx_bine_children(const struct hx_bine *t)
{
    return hx_bine_is_root(t) ? t->rounds : t->folds - 1;
}
