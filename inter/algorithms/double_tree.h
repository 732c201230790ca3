/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two binary trees over the numbers 1 .. n, each for one half of the vector. A number with children in one tree is a leaf
 * of the other. So no number sends or receives more than one vector in all, and every link carries data both ways. The
 * plan's slices follow each other down (a broadcast) or up (a reduction) the trees.
 *
 *   n = 7:   tree 0         4                tree 1     1               tree 0 is in order: even numbers have children, odd
 *                        /     \                          \             ones are leaves. Tree 1 is the tree of 1 .. n-1
 *                       2       6                          5            one further, so that odd numbers have children;
 *                      / \     / \                       /   \          1, which would be 0, is put on top.
 *                     1   3   5   7                     3     7
 *                                                      / \   /
 *                                                     2   4 6
 *
 * Left is below, right is above: what is folded as left, own, right is folded in the order of numbers in both trees.
 * (The source mirrors or shifts the numbers instead, which saves tree 1 a level and gives up the order.)
 *
 * Each way costs, with m slices, (m - 1 + floor(log2(n - 1)) + 3) (alpha + S/m beta).
 * Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
 * Computing 35 (2009).
 */
#pragma once

#include "runtime/plan/plan.h"

struct hx_double_tree { /* of one number in one tree; 0: none */
    int parent, child[2]; /* the left child, and the right */
};

/* The largest power of two that is at most n: the top of the tree in order over 1 .. n. */
static inline int hx_double_tree_top(int n)
{
    int top = 1;
    while (2 * top <= n)
        top *= 2;
    return top;
}

/* Number v of the tree in order over 1 .. n: its lowest bit tells how far its children are, or would be. */
static inline struct hx_double_tree hx_double_tree_in_order(int v, int n)
{
    int bit = v & -v, down = bit / 2, up = v;
    struct hx_double_tree at = {.child = {bit > 1 ? v - bit / 2 : 0}};

    while (v + down > n)
        down /= 2;
    at.child[1] = down ? v + down : 0;
    if (v == hx_double_tree_top(n))
        return at;
    do {
        bit = up & -up;
        up = (up - bit) | 2 * bit;
    } while (up > n);
    at.parent = up;
    return at;
}

static inline struct hx_double_tree hx_double_tree_of(int tree, int v, int n)
{
    if (tree == 0)
        return hx_double_tree_in_order(v, n);
    if (v == 1)
        return (struct hx_double_tree){.child = {0, n > 1 ? hx_double_tree_top(n - 1) + 1 : 0}};
    struct hx_double_tree at = hx_double_tree_in_order(v - 1, n - 1);
    return (struct hx_double_tree){at.parent + 1, {at.child[0] ? at.child[0] + 1 : 0, at.child[1] ? at.child[1] + 1 : 0}};
}

/* Rounds of a broadcast that begins outside of the trees, with both tops. */
static inline int hx_double_tree_rounds(int n)
{
    return n > 1 ? 31 - __builtin_clz((unsigned)n - 1) + 3 : 2;
}

/* In which round of it v gets what comes down a tree: tree 1 is one round behind. */
static inline int hx_double_tree_round(int tree, int v, int n)
{
    int round = tree;
    while ((v = hx_double_tree_of(tree, v, n).parent))
        round++;
    return round;
}

/* Numbers are members from `zero` + 1 on. */
struct hx_double_tree_role {
    int zero, v, n;
    int has_children[2]; /* in which tree */
};

static inline struct hx_double_tree_role hx_double_tree_role_of(int zero, int v, int n)
{
    return (struct hx_double_tree_role){zero, v, n, {v % 2 == 0, v % 2 && n > 1}};
}

/* Up a tree, whose half of the vector is its block: what the children sent, and this member's part, go to the parent.
 * At the top the sum goes to a root outside, or to out if there is none. */
static inline void hx_double_tree_up(struct hx_builder *b, const struct hx_double_tree_role *role, int tree,
                                     int outside)
{
    int v = role->v, n = role->n, last = hx_double_tree_rounds(n) - 1, came = 0;
    struct hx_double_tree at = hx_double_tree_of(tree, v, n);
    int goes_on = at.parent || outside;
    struct hx_ref sum = goes_on ? hx_row(2, tree, 1) : hx_at(b->out, tree, 1);

    for (int i = 0; i < 2; i++)
        if (at.child[i])
            hx_recv_from(b, last - hx_double_tree_round(tree, at.child[i], n), role->zero + at.child[i], hx_row(came++, tree, 1));
    if (came) {
        hx_join_all(b);
        hx_reduce_rows(b, sum, 0, 1 + came, b->in, at.child[0] != 0);
    }
    if (goes_on)
        hx_send_to(b, last - hx_double_tree_round(tree, v, n), role->zero + at.parent, came ? sum : hx_at(b->in, tree, 1));
}

/* The tree in which this member is a leaf comes first: there it waits for no child. */
static inline void hx_double_tree_reduce(struct hx_builder *b, const struct hx_double_tree_role *role, int outside)
{
    for (int children = 0; children < 2; children++)
        for (int tree = 0; tree < 2; tree++)
            if (role->has_children[tree] == children)
                hx_double_tree_up(b, role, tree, outside);
}

/* Down both trees: from the parent, in out, to the children. The top has it already, unless it comes from outside. */
static inline void hx_double_tree_bcast(struct hx_builder *b, const struct hx_double_tree_role *role, int outside,
                                        int first_round)
{
    int v = role->v, n = role->n, handle[2] = {-1, -1};

    for (int tree = 0; tree < 2; tree++) {
        struct hx_double_tree at = hx_double_tree_of(tree, v, n);
        if (at.parent || outside)
            handle[tree] = hx_recv_from(b, first_round + hx_double_tree_round(tree, v, n), role->zero + at.parent,
                                   hx_at(b->out, tree, 1));
    }
    for (int tree = 0; tree < 2; tree++) {
        struct hx_double_tree at = hx_double_tree_of(tree, v, n);
        if (!role->has_children[tree])
            continue;
        if (handle[tree] >= 0)
            hx_join_one(b, handle[tree]);
        for (int i = 0; i < 2; i++)
            if (at.child[i])
                hx_send_to(b, first_round + hx_double_tree_round(tree, at.child[i], n), role->zero + at.child[i],
                        hx_at(b->out, tree, 1));
    }
}

/* Vectors that the sums of n members in both trees read. */
static inline double hx_double_tree_reads(int n)
{
    return (3.0 * (n - 1) + (n > 1)) / 2;
}

/* From or to a root outside, which has a child in each tree. */
static inline struct hx_counts hx_double_tree_counts(struct hx_group g)
{
    double others = g.p - 1;

    return (struct hx_counts){.rounds = g.p > 1 ? hx_double_tree_rounds(g.p - 1) : 0, .messages = 2, .vectors = 1, .all_messages = 2 * others,
                              .all_vectors = others, .reads = 2, .all_reads = hx_double_tree_reads(g.p - 1) + 2, .pipelined = 1};
}
