/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which block when: the schedule of a broadcast of m blocks in m - 1 + q rounds, q = ceil(log2 p), the fewest that
 * there can be, for any p. In round i number r sends one block to r + s(k) and receives one from r - s(k), k = i mod q;
 * the skips are those of circulant.h, counted from the smallest: s(0) = 1, s(k) is half of s(k+1), rounded up, s(q) =
 * p.
 *
 * After q rounds the schedule repeats, q blocks further on. So each number has q block numbers to receive, and it sends
 * the blocks that its receivers expect. It receives its base block first of all, in the round where its own path from the
 * root ends, and one block of each of the q - 1 rounds before: that is, numbers -1 .. -q, one of them replaced by the
 * base block.
 *
 *   p = 9, q = 4, s = 1 2 3 5       r         0   1   2   3   4   5   6   7   8
 *                                   base      -   0   1   2   0   3   0   1   2
 *                                   receives -2   0  -4  -3  -2  -4  -1  -4  -3     k = 0    from r-1
 *                                            -3  -2   1  -4  -3  -2  -2  -1  -4         1         r-2
 *                                            -1  -3  -2   2   0  -3  -3  -2  -1         2         r-3
 *                                            -4  -1  -1  -1  -1   3   0   1   2         3         r-5
 *
 * How: a path is a sum of different skips. For round k take the path, the largest skips first, that ends between the
 * places r - s(k+1) and r - s(k) and below the one of the round before; its last skip is the block, and is not used
 * again. That takes O(log p) steps in all; what is sent is looked up at the receivers, O(log^2 p).
 *
 * Source: J. L. Traeff, "Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast,
 * reduction and all-reduction", arXiv 2407.18004.
 */
#pragma once

#include "inter/algorithms/circulant.h"

#define HX_CIRCULANT_ROUNDS 31

struct hx_circulant_search {
    int rounds, skips[HX_CIRCULANT_ROUNDS + 2];
    uint64_t left;                             /* skips whose blocks no round has taken yet, a bit each */
    int found, block[HX_CIRCULANT_ROUNDS + 1]; /* rounds done, and their blocks */
};

static inline void hx_circulant_search_open(struct hx_circulant_search *s, int p)
{
    s->rounds = hx_tree_rounds(p, 2);
    for (int k = 0; k <= s->rounds; k++)
        s->skips[k] = hx_circulant_skip(p, s->rounds - k);
}

/* The first block that number r receives: of the last skip on the path of largest skips from 0. The root: q. */
static inline int hx_circulant_base(const struct hx_circulant_search *s, int r)
{
    for (int k = s->rounds - 1; k >= 0 && r > 0; k--)
        if ((r -= s->skips[k] <= r ? s->skips[k] : 0) == 0)
            return k;
    return s->rounds;
}

/* Go on from a path that ends at `at`, with skip e or smaller ones, as long as rounds find theirs there. */
static inline void hx_circulant_search_from(struct hx_circulant_search *s, int r, int at, int e, int below)
{
    for (; e >= 0; e--) {
        int end = at + s->skips[e];
        if (!(s->left >> e & 1) || end > r - s->skips[s->found] || end >= below)
            continue;
        if (end <= r - s->skips[s->found + 1])
            hx_circulant_search_from(s, r, end, e, below);
        if (at > r - s->skips[s->found + 1])
            return;
        below = end;
        s->block[s->found++] = e;
        s->left &= ~(UINT64_C(1) << e);
    }
}

/* The blocks that number r receives in rounds 0 .. q-1 of any phase, minus q where that is the phase before. */
static inline void hx_circulant_receives(struct hx_circulant_search *s, int r, int blocks[HX_CIRCULANT_ROUNDS])
{
    int base = hx_circulant_base(s, r), p = s->skips[s->rounds];

    s->left = ((UINT64_C(2) << s->rounds) - 1) & ~(UINT64_C(1) << base);
    s->found = 0;
    s->skips[s->rounds + 1] = 2 * p; /* no path is so long */
    hx_circulant_search_from(s, p + r, 0, s->rounds, 2 * p);
    for (int k = 0; k < s->rounds; k++)
        blocks[k] = s->block[k] == s->rounds ? base : s->block[k] - s->rounds;
}

struct hx_circulant_schedule {
    int rounds, skips[HX_CIRCULANT_ROUNDS]; /* q of them */
    int receives[HX_CIRCULANT_ROUNDS], sends[HX_CIRCULANT_ROUNDS];
};

static inline struct hx_circulant_schedule hx_circulant_schedule_of(int p, int r)
{
    struct hx_circulant_search search = {0};
    struct hx_circulant_schedule schedule = {0};
    int theirs[HX_CIRCULANT_ROUNDS];

    hx_circulant_search_open(&search, p);
    schedule.rounds = search.rounds;
    hx_circulant_receives(&search, r, schedule.receives);
    for (int k = 0; k < search.rounds; k++) {
        schedule.skips[k] = search.skips[k];
        hx_circulant_receives(&search, (r + search.skips[k]) % p, theirs);
        schedule.sends[k] = theirs[k];
    }
    return schedule;
}

/* ---- m blocks: round i of m - 1 + q */

/* Rounds are counted so that the last ends a phase. Block numbers below 0 are not there, those beyond stand for the
 * last. */
static inline int hx_circulant_block(const struct hx_circulant_schedule *s, const int *blocks, int m, int i)
{
    int q = s->rounds, before = (q - (m - 1) % q) % q, block = blocks[(i + before) % q] + (i + before) / q * q - before;
    return block < m ? block : m - 1;
}

static inline int hx_circulant_step(const struct hx_circulant_schedule *s, int m, int i)
{
    int q = s->rounds;
    return s->skips[(i + (q - (m - 1) % q) % q) % q];
}

/* A slice has the blocks of four phases. More blocks would fill the rounds better, but messages would be shorter. */
static inline int hx_circulant_blocks(int p)
{
    return p > 1 ? 4 * hx_tree_rounds(p, 2) : 1;
}

/* The root sends, or receives, in every round. */
static inline struct hx_counts hx_circulant_blocks_counts(struct hx_group g)
{
    double blocks = hx_circulant_blocks(g.p), rounds = blocks - 1 + hx_tree_rounds(g.p, 2), others = g.p - 1;

    return (struct hx_counts){.rounds = rounds, .messages = rounds, .vectors = rounds / blocks, .all_messages = others * blocks,
                              .all_vectors = others, .reads = 2 * rounds / blocks, .all_reads = 2 * others};
}
