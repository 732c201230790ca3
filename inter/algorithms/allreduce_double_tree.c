/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-reduce up and down two binary trees, half of the vector each, slice by slice (double_tree.h has the picture).
 * Here all members stand in the trees, and the halves of the sum are complete at their tops.
 *
 * Cost for m slices, if enough are under way: 2 (m + floor(log2(p - 1)) + 1) (alpha + S/m beta). Any p, any
 * operation: folds in the order of members.
 */
#include "inter/algorithms/double_tree.h"

static void build(struct hx_builder *b)
{
    struct hx_double_tree_role role = hx_double_tree_role_of(-1, b->me + 1, b->p);

    hx_split(b, 2);
    if (hx_alone(b))
        return;
    hx_double_tree_reduce(b, &role, 0);
    hx_join_all(b); /* in and out may be the same memory: what is sent must be gone before the result comes */
    /* no root stands outside the trees, so the round between it and the tops drops out, up and down */
    hx_double_tree_bcast(b, &role, 0, hx_double_tree_rounds(b->p) - 2);
}

static struct hx_counts counts(struct hx_group g)
{
    double halves = g.p > 4 ? 4 : g.p; /* that a member sends at most */

    return (struct hx_counts){
        .rounds = g.p > 1 ? 2 * (hx_double_tree_rounds(g.p) - 1) : 0, .messages = halves, .vectors = halves / 2, .all_messages = 4 * (g.p - 1),
        .all_vectors = 2 * (g.p - 1), .reads = g.p > 2 ? 1.5 : 1, .all_reads = hx_double_tree_reads(g.p), .pipelined = 1};
}

const struct hx_algorithm hx_allreduce_double_tree = {
    .name = "double_tree", .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts,
    .about = "up and down two trees, half of the vector each, in slices: large vectors, many members",
    .source = "Sanders, Speck, Traeff 2009"};
