/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast down two binary trees, half of the vector each, slice by slice (double_tree.h has the picture). The root
 * sends one half to the top of each tree of all others; these are numbered from the root on.
 *
 * Cost for m slices: (m + floor(log2(p - 2)) + 2) (alpha + S/m beta): as much bandwidth as a chain, with the latency of
 * a tree. Any p, any root. For large vectors and many members.
 */
#include "inter/algorithms/double_tree.h"
#include "inter/algorithms/tree.h"

static void build(struct hx_builder *b)
{
    int v = hx_tree_number(b), n = b->p - 1;
    struct hx_double_tree_role role = hx_double_tree_role_of(b->root, v, n);

    hx_split(b, 2);
    if (v > 0) {
        hx_double_tree_bcast(b, &role, 1, 0);
    } else if (n > 0) {
        hx_send_to(b, 0, b->root + hx_double_tree_top(n), hx_at(b->out, 0, 1));
        hx_send_to(b, 1, b->root + 1, hx_at(b->out, 1, 1));
    }
}

const struct hx_algorithm hx_bcast_double_tree = {
    .name = "double_tree", .coll = HX_COLL_BCAST, .build = build, .counts = hx_double_tree_counts,
    .about = "down two trees, half of the vector each, in slices: large vectors, many members",
    .source = "Sanders, Speck, Traeff 2009"};
