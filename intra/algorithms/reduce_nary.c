/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-ary reduction in shared memory: everybody but the root puts its vector into its slot and says so; the root reads
 * all slots in one pass and writes the sum straight to its output. For small vectors: the root does all of the adding.
 *
 *   others:  slot[r] = in;  publish FILLED
 *   root:    await all;  out = slot[0] op slot[1] op ... op slot[p-1], own from in;  publish READ
 *
 * Cost: alpha + (p + 1) S beta of memory traffic at the root. Any p, any operation (rank order).
 * Source: the flag exchange of shared-memory reductions (Open MPI xhc, MPICH release_gather), without a tree.
 */
#include "intra/algorithms/algorithms.h"

enum { FILLED, READ };

void hx_reduce_nary(struct hx_builder *b)
{
    hx_split(b, 1);
    if (b->p == 1) {
        hx_copy(b, hx_at(b->out, 0, 1), hx_at(b->in, 0, 1));
    } else if (b->me != b->root) {
        hx_await_lag(b, READ, b->root, 1); /* the slot held the slice one window before: it has been read */
        hx_copy(b, hx_at(HX_SLOT, 0, 1), hx_at(b->in, 0, 1));
        hx_publish(b, FILLED);
    } else {
        hx_await_all(b, FILLED);
        hx_reduce_slots(b, hx_at(b->out, 0, 1), b->in);
        hx_publish_read(b, READ);
    }
}
