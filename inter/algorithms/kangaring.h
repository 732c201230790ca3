/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The KangaRing: members come in pairs that share a cache (2i and 2i+1: neighbours, which launchers put on neighbouring
 * cores). Only one of each pair is on the ring; like a kangaroo it carries its mate along, handing on what arrives both
 * to its mate and to the next pair. There are two tracks, and roles alternate: on track 0 the even members are on
 * the ring, on track 1 the odd ones. A block travels on the track of its owner, so no member hands its own to its mate first.
 *
 *   p = 8, track 0:   0 --> 2 --> 4 --> 6 --> (0)        track 1:   1 --> 3 --> 5 --> 7 --> (1)
 *                       |     |     |     |                             |     |     |     |
 *                       1     3     5     7                             0     2     4     6
 *
 * A reduction runs the pictures' edges the other way: mates hand in their parts, and the member on the ring adds both
 * to the sum that comes round. The last of an odd number of members has no mate, and is on both rings.
 *
 * Each phase costs ceil(p/2) alpha + S (p-1)/p beta: half the rounds of the ring, and only half of what each member
 * sends leaves its pair. Shared by all-gather, reduce-scatter and all-reduce. Source: Neuron's intra-node all-gather;
 * reductions run it backwards.
 */
#pragma once

#include "runtime/plan/plan.h"

enum { HX_KANGARING_CAME, HX_KANGARING_MATES, HX_KANGARING_SUM, HX_KANGARING_ROWS }; /* scratch rows of a track */

static inline int hx_kangaring_pairs(const struct hx_builder *b)
{
    return (b->p + 1) / 2;
}

/* The member of a pair (any number, around the ring) that is on the ring of a track. */
static inline int hx_kangaring_rider(const struct hx_builder *b, int track, int pair)
{
    int pairs = hx_kangaring_pairs(b), member = 2 * ((pair % pairs + pairs) % pairs) + track;
    return member < b->p ? member : b->p - 1;
}

/* The block that a pair gives to a track, which is its owner's number, or -1: a member without a mate gives to
 * track 0 only. */
static inline int hx_kangaring_block(const struct hx_builder *b, int track, int pair)
{
    int rider = hx_kangaring_rider(b, track, pair);
    return rider % 2 == track ? rider : -1;
}

static inline int hx_kangaring_mate(const struct hx_builder *b)
{
    return (b->me ^ 1) < b->p ? b->me ^ 1 : -1;
}

static inline int hx_kangaring_rides(const struct hx_builder *b, int track)
{
    return hx_kangaring_rider(b, track, b->me / 2) == b->me;
}

/* In round i a pair hands on the block of the pair i before it, which came in the round before. */
static inline void hx_kangaring_allgather_round(struct hx_builder *b, int track, int round, int i)
{
    int pair = b->me / 2, mate = hx_kangaring_mate(b), last = i == hx_kangaring_pairs(b) - 1;
    int here = hx_kangaring_block(b, track, pair - i), coming = hx_kangaring_block(b, track, pair - i - 1);

    if (!hx_kangaring_rides(b, track)) {
        if (here >= 0)
            hx_recv_from(b, round, mate, hx_at(b->out, here, 1));
        return;
    }
    if (here >= 0 && !last)
        hx_send_to(b, round, hx_kangaring_rider(b, track, pair + 1), hx_at(b->out, here, 1));
    if (here >= 0 && mate >= 0)
        hx_send_to(b, round, mate, hx_at(b->out, here, 1));
    if (coming >= 0 && !last)
        hx_recv_from(b, round, hx_kangaring_rider(b, track, pair - 1), hx_at(b->out, coming, 1));
}

/* This member's block stands in out, all others come. */
static inline void hx_kangaring_allgather(struct hx_builder *b, int first_round)
{
    for (int i = 0; b->p > 1 && i < hx_kangaring_pairs(b); i++) {
        for (int track = 0; track < 2; track++)
            hx_kangaring_allgather_round(b, track, first_round + i, i);
        hx_join_all(b);
    }
}

/* In round i a pair adds its parts to the sum for the pair i+1 before it, and passes on the one before. */
static inline void hx_kangaring_exchange(struct hx_builder *b, int track, int i)
{
    int pair = b->me / 2, mate = hx_kangaring_mate(b), row = HX_KANGARING_ROWS * track;
    int done = hx_kangaring_block(b, track, pair - i), block = hx_kangaring_block(b, track, pair - i - 1);

    if (!hx_kangaring_rides(b, track)) {
        if (block >= 0)
            hx_send_to(b, i, mate, hx_at(b->in, block, 1));
        return;
    }
    if (done >= 0 && i > 0)
        hx_send_to(b, i, hx_kangaring_rider(b, track, pair + 1),
                mate < 0 && i == 1 ? hx_at(b->in, done, 1) : hx_row(row + HX_KANGARING_SUM, done, 1));
    if (block >= 0 && i > 0)
        hx_recv_from(b, i, hx_kangaring_rider(b, track, pair - 1), hx_row(row + HX_KANGARING_CAME, block, 1));
    if (block >= 0 && mate >= 0)
        hx_recv_from(b, i, mate, hx_row(row + HX_KANGARING_MATES, block, 1));
}

static inline void hx_kangaring_add(struct hx_builder *b, int track, int i)
{
    int block = hx_kangaring_block(b, track, b->me / 2 - i - 1), row = HX_KANGARING_ROWS * track;
    int came = i > 0, mates = hx_kangaring_mate(b) >= 0, last = i == hx_kangaring_pairs(b) - 1;

    if (block >= 0 && came + mates && hx_kangaring_rides(b, track))
        hx_reduce_rows(b, last ? hx_at(b->out, block, 1) : hx_row(row + HX_KANGARING_SUM, block, 1),
                       row + (came ? HX_KANGARING_CAME : HX_KANGARING_MATES), 1 + came + mates, b->in, came);
}

/* The sum of this member's block ends in out. A sum starts at the pair after that of its owner, and ends with the
 * owner. */
static inline void hx_kangaring_reduce_scatter(struct hx_builder *b)
{
    if (hx_alone(b))
        return;
    for (int i = 0; i < hx_kangaring_pairs(b); i++) {
        for (int track = 0; track < 2; track++)
            hx_kangaring_exchange(b, track, i);
        hx_join_all(b);
        for (int track = 0; track < 2; track++)
            hx_kangaring_add(b, track, i);
    }
}

/* If the number of members is odd, the last is on both rings, and one ring has a block more than the other. */
static inline struct hx_counts hx_kangaring_counts(struct hx_group g)
{
    int odd = g.p % 2, pairs = (g.p + 1) / 2, gathers = g.coll != HX_COLL_REDUCE_SCATTER;
    double phases = hx_coll_phases(g.coll), blocks = phases * (g.p - 1), more = gathers ? odd : 0;
    double reads = 3.0 * pairs - 1, alone = 4.0 * pairs - 6; /* a member of a pair adds both parts to a sum, one without a mate its own */

    return (struct hx_counts){.rounds = phases * pairs, .messages = blocks + more, .vectors = blocks / g.p + more / g.p,
                              .all_messages = g.p * blocks, .all_vectors = blocks,
                              .reads = (odd && alone > reads ? alone : reads) / g.p,
                              .all_reads = odd ? reads - 1 - 2.0 / g.p : reads};
}
