/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of levels inside a node: for any algorithm, reads of a domain's ranks from other domains; and the stages of an
 * algorithm by levels (hier/compose/levels.c). Domains are taken to be equally large.
 *
 * Per domain of m of n ranks, d domains, vectors of S bytes that are read from other domains, per phase (all-reduce: two):
 *   n-ary: m (d - 1) / d     to reduce, each member reads its block of all
 *          c (d - 1) / d     to gather, each reads the same: of the c innermost domains in it, which share a cache, one does
 *   by the last arriver: n - m, if it is of this domain, and c
 *   by levels: (s - 1) / s   of the s domains in the one around, each block once; and its part of what crosses that one
 *   ring: 1                  others, by messages: what members send, by the part of members outside
 * Reads that every algorithm needs, as in gather, scatter and all-to-all, are not counted.
 */
#include "hier/cost/cost.h"

/* Domains in each of the level around. */
static double parts_of(const struct hx_shape *shape, int level)
{
    return (double)shape->most_domains[level] / (level ? shape->most_domains[level - 1] : 1);
}

/* The vectors of an algorithm by levels: see above. */
static double vectors_by_levels(const struct hx_shape *shape, enum hx_coll coll, int level)
{
    double d = shape->most_domains[level], vectors = 0;

    for (int k = 0; k <= level; k++)
        vectors += hx_coll_phases(coll) * (1 - 1 / parts_of(shape, k)) * shape->most_domains[k] / d;
    if (coll == HX_COLL_BCAST) /* scattered first */
        vectors += 1 / d;
    if (coll == HX_COLL_REDUCE) /* gathered at the end */
        vectors += 1 - 1 / d;
    return vectors;
}

/* Vectors that one of d domains reads of others. */
static double vectors_read(const struct hx_shape *shape, const struct hx_algorithm *algorithm, int level, double n)
{
    double d = shape->most_domains[level], m = n / d, far = n - m; /* members elsewhere */
    double caches = shape->most_domains[shape->nlevels - 1] / d;   /* c */
    enum hx_coll coll = algorithm->coll;
    struct hx_counts c;

    if (algorithm->needs & HX_NEEDS_LEVELS)
        return vectors_by_levels(shape, coll, level);
    if (algorithm->needs & HX_NEEDS_SHARED_MEMORY) {
        c = algorithm->counts((struct hx_group){.coll = coll, .p = (int)n, .owners = (int)n});
        return caches * (c.read_by_all * far + c.read_from_one) + c.read_by_one * far + m * c.read_in_parts * far;
    }
    if (hx_coll_has_pairs(coll) || hx_coll_is_scan(coll) || hx_coll_gets(coll) == HX_HOLDS_NOTHING ||
        (hx_coll_is_rooted(coll) && hx_coll_has_blocks(coll)))
        return 0;
    hx_cost_counts(algorithm, (int)n, &c);
    return c.neighbours ? c.vectors : c.vectors * m * far / (n - 1);
}

double hx_cost_far_us(const struct hx_cost_params *p, const struct hx_shape *shape, const struct hx_algorithm *algorithm, int n, double bytes)
{
    double us = 0;

    for (int level = 0; level < shape->nlevels && n > 1; level++)
        us += vectors_read(shape, algorithm, level, n) * bytes / p->far_gb_s * 1e-3;
    return us;
}

/* How many of a group's members have charge of blocks that `owners` of the node share. */
static double in_charge(double members, double owners)
{
    double n = members < owners ? members : owners;
    return n < 1 ? 1 : n;
}

/* The stages of a phase, the innermost one first. Reduce-scatter: a member in charge of a block puts the other members' blocks
 * in its slot, then reads and folds its own block of all. All-gather: it puts its own block and reads the others. Reads of far
 * memory are not included. */
static double phase_us(const struct hx_cost_params *p, const struct hx_shape *shape, int reduces, double n, double owners, double bytes)
{
    double members = n / shape->most_domains[shape->nlevels - 1], inner = bytes / in_charge(members, owners), us = 0;
    double copied = reduces ? bytes : bytes + inner, folded = reduces ? members * inner : 0, meet = members;

    for (int level = shape->nlevels; level >= 0; level--) {
        us += hx_cost_hand_over(p, meet - 1) + (copied / p->intra_gb_s + folded / p->reduce_gb_s) * 1e-3 * p->oversubscription;
        if (level == 0)
            break;
        double parts = parts_of(shape, level - 1);
        members *= parts;
        meet = parts;
        double share = bytes / in_charge(members, owners);
        copied = reduces ? inner * (1 - 1 / parts) + (parts - 1) * share : inner + share;
        folded = reduces ? parts * share : 0;
        inner = share;
    }
    return us;
}

double hx_cost_levels_us(const struct hx_cost_params *p, const struct hx_shape *shape, enum hx_coll coll, int n, int owners, double bytes)
{
    int reduces = hx_coll_reduces(coll), gathers = hx_coll_gets(coll) == HX_HOLDS_ALL;
    double root = hx_cost_hand_over(p, reduces ? n - 1 : 1) + (1 + 1.0 / n) * bytes / p->intra_gb_s * 1e-3 * p->oversubscription;

    return (reduces ? phase_us(p, shape, 1, n, owners, bytes) : 0) + (gathers ? phase_us(p, shape, 0, n, owners, bytes) : 0) +
           (hx_coll_is_rooted(coll) ? root : 0); /* all parts to or from it */
}
