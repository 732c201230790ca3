/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-reduce up and down two binary trees, half of the vector each, slice by slice (double_tree.h has the picture).
 * Here all members stand in the trees, and the halves of the sum are complete at their tops.
 *
 * Cost for m slices, of which enough are under way: 2 (m + floor(log2(p - 1)) + 1) (alpha + S/m beta). Any p, any
 * operation: folds in the order of members.
 * Source: Sanders, Speck, Traeff, Parallel Computing 35 (2009).
 */
#include "inter/algorithms/algorithms.h"
#include "inter/algorithms/double_tree.h"

void hx_allreduce_double_tree(struct hx_builder *b)
{
    struct hx_double_tree_role role = hx_double_tree_role_of(-1, b->me + 1, b->p);

    hx_split(b, 2);
    if (b->p == 1) {
        hx_copy(b, hx_at(b->out, 0, 2), hx_at(b->in, 0, 2));
        return;
    }
    hx_double_tree_reduce(b, &role, 0);
    hx_join_all(b); /* in and out may be the same memory: what is sent must be gone before the result comes */
    /* on the way up and down nobody meets the tops from outside */
    hx_double_tree_bcast(b, &role, 0, hx_double_tree_rounds(b->p) - 2);
}
