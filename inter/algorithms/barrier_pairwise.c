/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairwise barrier: everybody exchanges with everybody else, one after the other.
 *
 *   round i:  r -> r+1+i, and hears from r-1-i
 *
 * Cost: (p-1) alpha. Any p. To learn from: the others are faster.
 * Source: "The Illustrated Collectives", barrier.
 */
#include "inter/algorithms/algorithms.h"

void hx_barrier_pairwise(struct hx_builder *b)
{
    hx_split(b, 1);
    for (int i = 0; i < b->p - 1; i++) {
        hx_send(b, i, b->me + 1 + i, hx_at(b->in, 0, 1));
        hx_recv(b, i, b->me - 1 - i, hx_row(0, 0, 1));
        hx_join_all(b);
    }
}
