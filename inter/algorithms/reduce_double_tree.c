/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction up two binary trees, half of the vector each, slice by slice (double_tree.h has the picture): the broadcast
 * backwards. The root gets the sum of all others, who are numbered from it on, from the tops, and adds its own part.
 *
 * Cost for m slices: (m + floor(log2(p - 2)) + 2) (alpha + S/m beta). Any p, any root. The operation must be
 * commutative: numbers are counted from the root. For large vectors and many members.
 */
#include "inter/algorithms/double_tree.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int v = hx_tree_number(b), n = b->p - 1, last = n ? hx_double_tree_rounds(n) - 1 : 0;
    struct hx_double_tree_role role = hx_double_tree_role_of(b->root, v, n);

    hx_split(b, 2);
    if (v > 0) {
        hx_double_tree_reduce(b, &role, 1);
    } else if (n > 0) {
        hx_recv_from(b, last, b->root + hx_double_tree_top(n), hx_row(0, 0, 1));
        hx_recv_from(b, last - 1, b->root + 1, hx_row(1, 1, 1));
        hx_join_all(b);
        for (int tree = 0; tree < 2; tree++)
            hx_reduce_rows(b, hx_at(b->out, tree, 1), tree, 2, b->in, 0);
    } else {
        hx_alone(b);
    }
}

const struct hx_algorithm hx_reduce_double_tree = {
    .name = "double_tree", .coll = HX_COLL_REDUCE, .build = build, .counts = hx_double_tree_counts,
    .needs = HX_NEEDS_COMMUTATIVE,
    .about = "up two trees, half of the vector each, in slices: large vectors, many members",
    .source = "Sanders, Speck, Traeff 2009"};
