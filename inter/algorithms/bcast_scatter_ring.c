/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter + ring all-gather broadcast: the root scatters p blocks down a binomial tree, then they travel round the ring
 * until everybody has all. Every member sends about the least that is possible, to one neighbour.
 *
 *   p = 4, root 0:   0 -> 2: blocks 2 3      0 -> 1: block 1, 2 -> 3: block 3      then the ring:
 *   round i:         member r sends block r-i to r+1
 *
 * A member already has the blocks of its whole subtree. It stops receiving in the ring once only those would come.
 *
 * Cost: (ceil(log2 p) + p-1) alpha + 2 S (p-1)/p beta. Any p, any root. For large vectors.
 * Source: van de Geijn, JPDC 22 (1994); Barnett, Littlefield, Payne, van de Geijn, "bucket" all-gather; Thakur,
 * Rabenseifner, Gropp, IJHPCA 19 (2005).
 */
#include "inter/algorithms/tree.h"

/* The last round of the ring, counted from 1, that brings number v a block it has not. */
static int ring_rounds(int v, int p)
{
    return p - hx_tree_size(v, hx_tree_span(v, p, 2), p);
}

static void build(struct hx_builder *b)
{
    int p = b->p, v = hx_tree_number(b), first = hx_tree_rounds(p, 2);
    int mine = ring_rounds(v, p), next = ring_rounds((v + 1) % p, p);

    hx_split(b, p);
    hx_tree_scatter(b);
    for (int i = 0; i < mine || i < next; i++) {
        if (i < next)
            hx_send_to(b, first + i, b->me + 1, hx_at(b->out, b->me - i, 1));
        if (i < mine)
            hx_recv_from(b, first + i, b->me - 1, hx_at(b->out, b->me - i - 1, 1));
        hx_join_all(b);
    }
}

static struct hx_counts counts(struct hx_group g)
{
    double p = g.p, log = hx_tree_rounds(g.p, 2), others = p - 1;

    return (struct hx_counts){
        .rounds = log + others, .messages = log + others, .vectors = 2 * others / p, .one_way = 1, .all_vectors = others,
        .all_messages = others + p * others - hx_tree_passes(g.p, 2)}; /* no member receives a block that it has passed on */
}

const struct hx_algorithm hx_bcast_scatter_ring = {
    .name = "scatter_ring", .coll = HX_COLL_BCAST, .build = build, .counts = counts, .needs = HX_PASSES_RING,
    .about = "twice the least bytes, log2 p + p-1 rounds: large vectors", .source = "van de Geijn 1994"};
