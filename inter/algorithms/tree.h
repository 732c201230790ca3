/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees for rooted collectives, as peer arithmetic. Members are numbered from the root on: the root is number 0,
 * member root + v is number v. In the k-nomial tree a number's parent is the number with its lowest digit to the base
 * k that is not 0 set to 0 (k = 2: the binomial tree):
 *
 *   k = 2, p = 8:   0 -> 4 2 1     4 -> 6 5     2 -> 3     6 -> 7
 *   k = 4, p = 16:  0 -> 4 8 12, 1 2 3          4 -> 5 6 7         8 -> 9 10 11 ...
 *
 * The digit's weight is the number's span: its subtree holds the numbers v .. v + span - 1, a run. Each level of
 * weights, from the highest down, is one round of a broadcast or scatter; a reduction or gather goes back up.
 */
#pragma once

#include "runtime/plan/plan.h"

static inline int hx_tree_number(const struct hx_builder *b)
{
    return (b->me - b->root + b->p) % b->p;
}

/* How many rounds there are: the least n with k^n >= p. */
static inline int hx_tree_rounds(int p, int k)
{
    int rounds = 0;
    for (int64_t span = 1; span < p; span *= k)
        rounds++;
    return rounds;
}

/* The weight of the lowest digit of number v that is not 0; of the root, the least power of k that is at least p. */
static inline int hx_tree_span(int v, int p, int k)
{
    int span = 1;
    while (v ? v / span % k == 0 : span < p)
        span *= k;
    return span;
}

static inline int hx_tree_parent(int v, int span, int k)
{
    return v - v / span % k * span;
}

/* How many numbers there are in the subtree of v. */
static inline int hx_tree_size(int v, int span, int p)
{
    return span < p - v ? span : p - v;
}

/* How many children the root has. */
static inline int hx_tree_children(int p, int k)
{
    int children = 0;
    for (int d = 1; d < p; d *= k)
        for (int child = d; child < k * d && child < p; child += d)
            children++;
    return children;
}

/* The digit whose weight is d. A reduction or gather meets it in round `level`, a broadcast or scatter this far from
 * its last. */
static inline int hx_tree_level(int d, int k)
{
    return hx_tree_rounds(d, k);
}

static inline int hx_tree_round_down(int d, int p, int k)
{
    return hx_tree_rounds(p, k) - 1 - hx_tree_level(d, k);
}

/* Broadcast: receive from the parent, then send to the children, those with the largest subtrees first. */
static inline void hx_tree_bcast(struct hx_builder *b, int k, int first_round)
{
    int p = b->p, v = hx_tree_number(b), span = hx_tree_span(v, p, k);
    struct hx_ref all = hx_at(b->out, 0, 1);

    if (v > 0)
        hx_join_one(b, hx_recv_from(b, first_round + hx_tree_round_down(span, p, k), b->root + hx_tree_parent(v, span, k), all));
    for (int d = span / k; d >= 1; d /= k)
        for (int child = v + d; child < v + k * d && child < p; child += d)
            hx_send_to(b, first_round + hx_tree_round_down(d, p, k), b->root + child, all);
}

/* Binomial scatter ("recursive halving"): a member hands each child the blocks of the child's subtree.
 * Block j belongs to member j. Ends with everything joined. */
static inline void hx_tree_scatter(struct hx_builder *b)
{
    int p = b->p, v = hx_tree_number(b), span = hx_tree_span(v, p, 2);

    if (v > 0)
        hx_join_one(b, hx_recv_from(b, hx_tree_round_down(span, p, 2), b->root + hx_tree_parent(v, span, 2),
                           hx_at(b->out, b->me, hx_tree_size(v, span, p))));
    for (int d = span / 2; d >= 1; d /= 2)
        if (v + d < p)
            hx_send_to(b, hx_tree_round_down(d, p, 2), b->me + d, hx_at(b->out, b->me + d, hx_tree_size(v + d, d, p)));
    hx_join_all(b);
}

/* Reduction: receive from the children, those with the smallest subtrees first, add them to what is here, send to the
 * parent. Sums of all but the root stand in the row behind those received. Folds in the order of numbers. */
static inline void hx_tree_reduce(struct hx_builder *b, int k)
{
    int p = b->p, v = hx_tree_number(b), span = hx_tree_span(v, p, k);
    struct hx_ref sum = v > 0 ? hx_row((k < p ? k : p) - 1, 0, 1) : hx_at(b->out, 0, 1), partial = hx_at(b->in, 0, 1);

    if (hx_alone(b))
        return;
    for (int d = 1; d < span && v + d < p; d *= k) {
        int n = 0;
        for (int child = v + d; child < v + k * d && child < p; child += d)
            hx_recv_from(b, hx_tree_level(d, k), b->root + child, hx_row(n++, 0, 1));
        hx_join_all(b);
        hx_reduce_rows(b, sum, 0, n + 1, partial.space, 0);
        partial = sum;
    }
    if (v > 0)
        hx_send_to(b, hx_tree_level(span, k), b->root + hx_tree_parent(v, span, k), partial);
}

/* Binomial gather: receive from each child the blocks of its subtree, send those of the own subtree to the parent. The
 * block of number v + i goes to row i, and the own one must stand in row 0 (the root: in out); a member without
 * children sends it from where it stands. Block j belongs to member j. */
static inline void hx_tree_gather(struct hx_builder *b, int first_round, struct hx_ref own)
{
    int p = b->p, v = hx_tree_number(b), span = hx_tree_span(v, p, 2), size = hx_tree_size(v, span, p);

    for (int d = 1; d < span && v + d < p; d *= 2) {
        int n = hx_tree_size(v + d, d, p);
        hx_recv_from(b, first_round + hx_tree_level(d, 2), b->me + d,
                v > 0 ? hx_row(d, b->me + d, n) : hx_at(b->out, b->me + d, n));
    }
    hx_join_all(b);
    if (v > 0)
        hx_send_to(b, first_round + hx_tree_level(span, 2), b->root + hx_tree_parent(v, span, 2),
                size == 1 ? own : hx_row(0, b->me, size));
}

/* ---- counts of p members along such a tree; k = p is the flat one */

/* Numbers below p have so many digits to the base k that are not 0: each block of a gather or scatter passes as many edges as its number
 * has of them. */
static inline double hx_tree_passes(int p, int k)
{
    double passes = 0;

    for (int64_t d = 1; d < p; d *= k)
        passes += (double)(p / (k * d) * (k - 1) * d + (p % (k * d) > d ? p % (k * d) - d : 0));
    return passes;
}

/* A broadcast, or a reduction, in which members add up what their children of a level sent and their own at once. Everybody but the root
 * gets, or gives, the vector once. */
static inline struct hx_counts hx_tree_counts(int p, int k)
{
    double others = p - 1, children = hx_tree_children(p, k), reads = others;

    for (int64_t d = 1; d < p; d *= k)
        reads += (double)((p - d + k * d - 1) / (k * d));
    return (struct hx_counts){.rounds = hx_tree_rounds(p, k), .messages = children, .vectors = children, .all_messages = others,
                              .all_vectors = others, .reads = children + hx_tree_rounds(p, k), .all_reads = reads, .one_way = 1};
}

/* A gather or scatter: all blocks but the root's own pass its link once. */
static inline struct hx_counts hx_tree_blocks_counts(int p, int k)
{
    return (struct hx_counts){.rounds = hx_tree_rounds(p, k), .messages = hx_tree_children(p, k), .vectors = (double)(p - 1) / p,
                              .all_messages = p - 1, .all_vectors = hx_tree_passes(p, k) / p, .one_way = 1};
}

static inline struct hx_counts hx_flat_counts(struct hx_group g)
{
    return hx_coll_has_blocks(g.coll) ? hx_tree_blocks_counts(g.p, g.p) : hx_tree_counts(g.p, g.p);
}

static inline struct hx_counts hx_binomial_counts(struct hx_group g)
{
    return hx_coll_has_blocks(g.coll) ? hx_tree_blocks_counts(g.p, 2) : hx_tree_counts(g.p, 2);
}

static inline struct hx_counts hx_knomial_counts(struct hx_group g)
{
    return hx_tree_counts(g.p, g.radix);
}
