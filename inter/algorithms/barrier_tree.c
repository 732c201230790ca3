/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tree barrier: the news that all of a subtree are there goes up a binomial tree to member 0; then it tells everybody
 * down the same tree (tree.h has the picture). The fewest messages: 2(p-1) in all.
 *
 * Cost: 2 ceil(log2 p) alpha. Any p.
 * Source: the combining tree of Mellor-Crummey and Scott, ACM TOCS 9 (1991).
 */
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int p = b->p, v = hx_tree_number(b), span = hx_tree_span(v, p, 2), parent = b->root + hx_tree_parent(v, span, 2);
    int up = hx_tree_level(span, 2), down = hx_tree_rounds(p, 2);

    hx_split(b, 1);
    for (int d = 1; d < span && v + d < p; d *= 2)
        hx_join_one(b, hx_recv_from(b, hx_tree_level(d, 2), b->me + d, hx_row(0, 0, 1)));
    if (v > 0) {
        hx_send_to(b, up, parent, hx_at(b->in, 0, 1));
        hx_recv_from(b, down + hx_tree_round_down(span, p, 2), parent, hx_row(0, 0, 1));
        hx_join_all(b);
    }
    for (int d = span / 2; d >= 1; d /= 2)
        if (v + d < p)
            hx_send_to(b, down + hx_tree_round_down(d, p, 2), b->me + d, hx_at(b->in, 0, 1));
}

static struct hx_counts counts(struct hx_group g)
{
    double log = hx_tree_rounds(g.p, 2);

    return (struct hx_counts){.rounds = 2 * log, .messages = log, .all_messages = 2 * (g.p - 1)};
}

const struct hx_algorithm hx_barrier_tree = {
    .name = "tree", .coll = HX_COLL_BARRIER, .build = build, .counts = counts,
    .about = "up and down a binomial tree: 2 ceil(log2 p) rounds, the fewest messages",
    .source = "Mellor-Crummey, Scott 1991"};
