/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's all-to-all: few rounds, whose messages carry many blocks. The block from r to r+i travels i members on, in
 * one hop for each digit of i that is not 0, lowest first. A round is a digit's place; in it everybody sends one
 * message for each value of the digit, with all blocks it holds whose distance has that value there.
 *
 *   p = 8, radix 2:  round 0   distances 1 3 5 7 to r+1    round 1   2 3 6 7 to r+2    round 2   4 5 6 7 to r+4
 *
 * After the digits below weight w the block that stands at r for distance i is that from r - (i mod w) to r - (i mod w)
 * + i. Blocks wait in scratch, those of distance i in rows i and p + i in turn: one is sent while the next is received.
 *
 * Cost: ceil(log_k p) alpha + about S (k-1)/k log_k p beta. Any p. For small blocks. "bruck" has base 2, "kbruck"
 * any: 4 takes half the rounds, with three messages in each.
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8 (1997).
 */
#include "inter/algorithms/tree.h"

/* Digits of i that are not 0. */
static int hops_of(int i, int radix)
{
    int hops = 0;
    for (; i > 0; i /= radix)
        hops += i % radix != 0;
    return hops;
}

struct exchange { /* blocks whose distance has this digit at this weight */
    int radix, weight, digit;
};

static int holds(const struct exchange *e, int distance)
{
    return distance / e->weight % e->radix == e->digit;
}

/* The row of a distance after so many hops. */
static int row_of(const struct hx_builder *b, int distance, int hops)
{
    return distance + (hops % 2 ? b->p : 0);
}

/* Note the exchange's blocks, as they stand before the hop or after it. */
static struct hx_ref blocks_pick(struct hx_builder *b, const struct exchange *e, int after)
{
    int first = 0, n = 0;

    for (int i = 1; i < b->p; i++) {
        if (!holds(e, i))
            continue;
        int moved = i % e->weight + (after ? e->digit * e->weight : 0), from = b->me - moved;
        int pick = hx_pick(b, from, from + i, row_of(b, i, hops_of(i % e->weight, e->radix) + after));
        first = n++ ? first : pick;
    }
    return hx_picked(b, HX_SCRATCH, first, n);
}

static void bruck(struct hx_builder *b, int radix)
{
    struct exchange e = {.radix = radix};
    int round = 0, first = 0;

    hx_copy(b, hx_pair(b, b->out, b->me, b->me, 1), hx_pair(b, b->in, b->me, b->me, 1));
    if (b->p == 1)
        return;
    struct hx_ref others = hx_pair(b, b->in, b->me, b->me + 1, b->p - 1);
    hx_copy(b, hx_row(1, (int)others.block, b->p - 1), others);
    hx_limit(b, radix - 1);
    for (e.weight = 1; e.weight < b->p; e.weight *= radix, round++) {
        for (e.digit = 1; e.digit < radix && e.digit * e.weight < b->p; e.digit++) {
            hx_recv_from(b, round, b->me - e.digit * e.weight, blocks_pick(b, &e, 1));
            hx_send_to(b, round, b->me + e.digit * e.weight, blocks_pick(b, &e, 0));
        }
        hx_join_all(b);
    }
    for (int i = 1; i < b->p; i++) {
        int pick = hx_pick(b, b->me - i, b->me, row_of(b, i, hops_of(i, radix)));
        first = i == 1 ? pick : first;
    }
    hx_copy(b, hx_picked(b, b->out, first, b->p - 1), hx_picked(b, HX_SCRATCH, first, b->p - 1));
}

/* A message for each digit of a place that distances below p have; each block passes once for each of its digits. */
static struct hx_counts bruck_counts(int p, int radix)
{
    return (struct hx_counts){.rounds = hx_tree_rounds(p, radix), .messages = hx_tree_children(p, radix),
                              .vectors = hx_tree_passes(p, radix) / p};
}

static void build_2(struct hx_builder *b)
{
    bruck(b, 2);
}

static struct hx_counts counts_2(struct hx_group g)
{
    return bruck_counts(g.p, 2);
}

const struct hx_algorithm hx_alltoall_bruck = {
    .name = "bruck", .coll = HX_COLL_ALLTOALL, .build = build_2, .counts = counts_2,
    .about = "ceil(log2 p) rounds of half the blocks: small blocks", .source = "Bruck et al. 1997"};

static void build(struct hx_builder *b)
{
    bruck(b, b->radix);
}

static struct hx_counts counts(struct hx_group g)
{
    return bruck_counts(g.p, g.radix);
}

#define ROW(k) \
    {HX_RADIX_NAMED("kbruck", k, 4), .coll = HX_COLL_ALLTOALL, .build = build, .counts = counts, \
     .about = "ceil(log" #k " p) rounds of up to " #k " - 1 messages, each of 1/" #k " of the blocks: small blocks", \
     .source = "Bruck et al. 1997"}

const struct hx_algorithm hx_alltoall_kbruck[] = {HX_RADICES(ROW)};
