/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The book: what p members have to do by each algorithm that sends messages, as the heads of the algorithms' files derive it.
 * tests/hier/cost/test_cost.c counts the same in the plans.
 */
#include "hier/cost/cost.h"
#include "inter/algorithms/bruck.h"
#include "inter/algorithms/circulant_schedule.h"
#include "inter/algorithms/double_tree.h"
#include "inter/algorithms/tree.h"
#include <math.h>
#include <string.h>

static double floor_log2(int p)
{
    int k = 0;
    while (p >>= 1)
        k++;
    return k;
}

static double ceil_log2(int p)
{
    return p > 1 ? floor_log2(p - 1) + 1 : 0;
}

/* Of the busiest member; of all together. */
static void whole_vectors(struct hx_book *b, double most, double all)
{
    b->messages = b->vectors = most;
    b->all_messages = b->all_vectors = all;
}

static void sums(struct hx_book *b, double most, double all)
{
    b->reads = most;
    b->all_reads = all;
}

/* Blocks that pass along the edges of a binomial tree: each by as many as its member is deep, which has a bit set for each. */
static double binomial_passes(int p)
{
    double passes = 0;

    for (int64_t bit = 1; bit < p; bit *= 2)
        passes += (double)(p / (2 * bit) * bit + (p % (2 * bit) > bit ? p % (2 * bit) - bit : 0));
    return passes;
}

/* Of a tree in which members add up what their children of a level sent, those and their own at once: all that is read. */
static double tree_reads(int p, int k)
{
    double reads = p - 1;

    for (int64_t d = 1; d < p; d *= k)
        reads += (double)((p - d + k * d - 1) / (k * d));
    return reads;
}

/* Likewise of two trees of half a vector each, over n members. */
static double double_tree_reads(int n)
{
    return (3.0 * (n - 1) + (n > 1)) / 2;
}

/* Gather and scatter: all blocks but the root's own pass its link once. */
static int blocks_book(const char *name, int p, struct hx_book *b)
{
    int flat = !strcmp(name, "flat");

    if (!flat && strcmp(name, "binomial"))
        return -1;
    b->rounds = flat ? p > 1 : ceil_log2(p);
    b->messages = flat ? p - 1 : ceil_log2(p);
    b->vectors = (double)(p - 1) / p;
    b->ways = 1;
    b->all_messages = p - 1;
    b->all_vectors = (flat ? p - 1 : binomial_passes(p)) / p;
    return 0;
}

/* The book of trees: broadcasts, and reductions, which are the same backwards. Everybody but the root gets the vector once. */
static int tree_book(const char *name, int p, struct hx_book *b)
{
    double log = ceil_log2(p), others = p - 1;

    sums(b, 2, 2 * others);
    if (!strcmp(name, "flat")) {
        sums(b, p, p);
        b->rounds = p > 1;
        whole_vectors(b, others, others);
        b->ways = 1;
    } else if (!strcmp(name, "binomial")) {
        b->reads = 2 * log;
        b->rounds = log;
        whole_vectors(b, log, others);
        b->ways = 1;
    } else if (!strcmp(name, "knomial")) {
        sums(b, hx_tree_children(p, HX_KNOMIAL_RADIX) + hx_tree_rounds(p, HX_KNOMIAL_RADIX), tree_reads(p, HX_KNOMIAL_RADIX));
        b->rounds = hx_tree_rounds(p, HX_KNOMIAL_RADIX);
        whole_vectors(b, hx_tree_children(p, HX_KNOMIAL_RADIX), others);
        b->ways = 1;
    } else if (!strcmp(name, "scatter_ring")) {
        b->rounds = b->messages = log + others;
        b->vectors = 2 * others / p;
        b->ways = 1;
        b->all_messages = others + p * others - binomial_passes(p); /* in the ring nobody gets what it has passed on before */
        b->all_vectors = others;
    } else if (!strcmp(name, "scatter_circulant") || !strcmp(name, "scatter_gather")) {
        b->reads = 2 * others / p;
        b->rounds = b->messages = 2 * log;
        b->vectors = 2 * others / p;
        b->all_messages = others + p * log;
        b->all_vectors = others + binomial_passes(p) / p;
    } else if (!strcmp(name, "chain")) {
        b->rounds = others;
        whole_vectors(b, 1, others);
    } else if (!strcmp(name, "circulant")) { /* the root sends in every round */
        int blocks = hx_circulant_blocks(p);
        b->rounds = b->messages = p > 1 ? blocks - 1 + log : 0;
        b->vectors = b->rounds / blocks;
        b->reads = 2 * b->vectors;
        b->all_messages = others * blocks;
        b->all_vectors = others;
    } else if (!strcmp(name, "double_tree")) { /* two halves */
        b->all_reads = double_tree_reads(p - 1) + 2; /* the root has a child in each */
        b->rounds = p > 1 ? hx_double_tree_rounds(p - 1) : 0;
        b->messages = 2;
        b->vectors = 1;
        b->all_messages = 2 * others;
        b->all_vectors = others;
    } else {
        return -1;
    }
    return 0;
}

static int barrier_book(const char *name, int p, struct hx_book *b)
{
    if (!strcmp(name, "dissemination") || !strcmp(name, "tree")) {
        b->messages = ceil_log2(p);
        b->rounds = name[0] == 't' ? 2 * b->messages : b->messages;
        b->all_messages = name[0] == 't' ? 2 * (p - 1) : p * b->messages;
    } else if (!strcmp(name, "mesh") || !strcmp(name, "pairwise")) {
        b->messages = p - 1;
        b->rounds = name[0] == 'p' ? p - 1 : p > 1;
        b->all_messages = p * b->messages;
    } else {
        return -1;
    }
    b->vectors = b->messages; /* tokens */
    b->all_vectors = b->all_messages;
    return 0;
}

/* Scans and exclusive scans: whole vectors upwards, from all members that have one so far above. */
static int scan_book(const char *name, int p, int exclusive, struct hx_book *b)
{
    double rounds = 0, all = 0, reads = 0;

    if (!strcmp(name, "mesh")) {
        sums(b, p > 1 + exclusive ? p - exclusive : 0, (double)p * (p + 1) / 2 - 1 - (exclusive ? p : 0));
        b->rounds = p > 1;
        whole_vectors(b, p - 1, (double)p * (p - 1) / 2);
        b->ways = 1;
    } else if (!strcmp(name, "chain")) {
        sums(b, p > 1 + exclusive ? 2 : 0, 2 * (p - 1 - exclusive));
        b->rounds = p - 1;
        whole_vectors(b, p > 1, p - 1);
    } else if (!strcmp(name, "recursive_doubling")) {
        for (int skip = 1; skip < p; skip *= 2, rounds++) {
            all += p - skip;
            reads += exclusive ? (skip > 1 ? p - skip : 0) + (p > 3 * skip ? p - 3 * skip : 0) : p - skip;
        }
        sums(b, 2 * rounds, 2 * reads);
        if (exclusive) /* for itself and for those above, but in the first rounds and the last */
            b->reads = p > 3 ? 4 * (rounds - 2) + 2 * (4.0 * p > 3 * ldexp(1, (int)rounds)) : 2 * (p > 2);
        b->rounds = rounds;
        whole_vectors(b, rounds, all);
        b->ways = p > 3 ? 2 : 1;
    } else if (!strcmp(name, "exclusive_dissemination")) { /* 123-doubling: 3 2^(q-2) members are heard of after q rounds */
        int lowest = 0;
        for (int q = 0, skip = 1; q < 2 ? q < p - 1 : skip + 1 < p; q++, rounds++) {
            lowest = skip + (q >= 2); /* nobody is below member 0 */
            all += p - lowest;
            reads += p - lowest - (q == 0 ? 2 : 0); /* what comes first is added to by those who send it on */
            skip = q == 0 ? 2 : q == 1 ? 3 : 2 * skip;
        }
        sums(b, 2 * (rounds - (lowest + 3 > p)), 2 * (reads > 0 ? reads : 0)); /* who adds up in the last round need not in the first */
        b->rounds = rounds;
        whole_vectors(b, rounds, all);
        b->ways = p > 3 ? 2 : 1;
    } else {
        return -1;
    }
    return 0;
}

static int alltoall_book(const char *name, int p, struct hx_book *b)
{
    int bruck = !strcmp(name, "bruck"), in_rounds, in_messages;
    long blocks;

    if (bruck || !strcmp(name, "kbruck")) {
        hx_bruck_count(p, bruck ? 2 : HX_KBRUCK_RADIX, &in_rounds, &in_messages, &blocks);
        b->rounds = in_rounds;
        b->messages = in_messages;
        b->vectors = (double)blocks / p;
    } else if (!strcmp(name, "mesh") || !strcmp(name, "pairwise")) {
        b->rounds = name[0] == 'p' ? p - 1 : p > 1;
        b->messages = p - 1;
        b->vectors = (double)(p - 1) / p;
    } else {
        return -1;
    }
    return 0;
}

/* All-reduces, of two phases, reduce-scatters and all-gathers, of one. */
static int phases_book(const struct hx_algorithm *algorithm, int p, struct hx_book *b)
{
    const char *name = algorithm->name;
    double phases = algorithm->coll == HX_COLL_ALLREDUCE ? 2 : 1, others = p - 1, log = ceil_log2(p);
    int folds = (p & (p - 1)) != 0, g = 1 << (int)floor_log2(p), e = p - g; /* no power of two: e members more than g, which is one */

    b->vectors = phases * others / p;
    sums(b, 2 * others / p, 2 * others);
    if (!strcmp(name, "ring")) {
        b->rounds = b->messages = phases * others;
    } else if (!strcmp(name, "mesh")) {
        sums(b, 1, p);
        b->rounds = phases;
        b->messages = phases * others;
    } else if (!strcmp(name, "kbruck")) { /* messages as of the tree to that base */
        b->rounds = hx_tree_rounds(p, HX_KBRUCK_RADIX);
        b->messages = hx_tree_children(p, HX_KBRUCK_RADIX);
    } else if (!strcmp(name, "kangaring")) { /* of an odd number of blocks one ring has one more */
        int pairs = p - p / 2; /* that add both of their parts at once; the one of a member alone, on both rings, adds one */
        if (p % 2)
            sums(b, (4.0 * pairs - 6 > 3.0 * pairs - 1 ? 4.0 * pairs - 6 : 3.0 * pairs - 1) / p, 3.0 * pairs - 2 - 2.0 / p);
        else
            sums(b, (3.0 * pairs - 1) / p, 3.0 * pairs - 1);
        b->rounds = phases * pairs;
        double more = algorithm->coll != HX_COLL_REDUCE_SCATTER && p > 1 ? p % 2 : 0;
        b->messages = phases * others + more;
        b->vectors += more / p;
        b->all_messages = p * phases * others;
        b->all_vectors = phases * others;
    } else if (!strcmp(name, "mesh_single")) {
        sums(b, p, (double)p * p);
        b->rounds = 1;
        b->messages = b->vectors = others;
    } else if (!strcmp(name, "circulant")) {
        b->rounds = b->messages = phases * log;
    } else if (!strcmp(name, "exclusive_dissemination")) {
        double reads = p > 2 ? 3 : 2; /* at last; and for each further digit of p - 1 one sum but for the lowest, one more where it is set */
        for (int rest = p - 1, k = (int)floor_log2(p - 1) - 1; k >= 0; k--)
            reads += 2 * (rest >> k & 1) + 2 * (k > 0);
        sums(b, reads, p * reads);
        b->rounds = b->messages = b->vectors = log;
    } else if (!strcmp(name, "recursive_doubling")) {
        b->rounds = floor_log2(p) + 2 * folds;
        whole_vectors(b, b->rounds, g * floor_log2(p) + 2 * e);
        sums(b, 2 * (floor_log2(p) + folds), 2 * (g * floor_log2(p) + e));
    } else if (!strcmp(name, "rdh")) {
        b->rounds = b->messages = phases * floor_log2(p) + 2 * folds; /* who folds hands in a vector first and is served at the end */
        b->vectors += folds;
        if (folds) { /* a whole vector, then halves; of blocks those of the first members are the most */
            b->reads = 2;
            for (int d = g / 2; d >= 1; d /= 2)
                b->reads += algorithm->coll == HX_COLL_ALLREDUCE ? 2.0 * d / g : 2.0 * (d + (d < e ? d : e)) / p;
        }
        b->all_messages = phases * g * floor_log2(p) + 2 * e;
        b->all_vectors = algorithm->coll == HX_COLL_ALLREDUCE ? 2 * (p - 1)
            : algorithm->coll == HX_COLL_ALLGATHER            ? p - 1
                                                              : p - 1 + (double)e / p;
    } else if (!strcmp(name, "double_tree")) { /* of four halves; among two or three members nobody has so many */
        b->rounds = p > 1 ? 2 * (hx_double_tree_rounds(p) - 1) : 0;
        sums(b, p > 2 ? 1.5 : 1, double_tree_reads(p));
        b->messages = p > 4 ? 4 : p;
        b->vectors = b->messages / 2;
        b->all_messages = 4 * others;
        b->all_vectors = 2 * others;
    } else if (!strcmp(name, "tree")) {
        b->reads = 2 * log;
        b->rounds = 2 * log;
        whole_vectors(b, log, 2 * others);
    } else {
        return -1;
    }
    return 0;
}

static int book_of(const struct hx_algorithm *algorithm, int p, struct hx_book *b)
{
    const char *name = algorithm->name;

    if (hx_coll_is_rooted(algorithm->coll) && hx_coll_has_blocks(algorithm->coll))
        return blocks_book(name, p, b);
    if (hx_coll_is_rooted(algorithm->coll))
        return tree_book(name, p, b);
    if (algorithm->coll == HX_COLL_BARRIER)
        return barrier_book(name, p, b);
    if (hx_coll_is_scan(algorithm->coll))
        return scan_book(name, p, algorithm->coll == HX_COLL_EXSCAN, b);
    if (hx_coll_has_pairs(algorithm->coll))
        return alltoall_book(name, p, b);
    return phases_book(algorithm, p, b);
}

int hx_cost_book(const struct hx_algorithm *algorithm, int p, struct hx_book *book)
{
    *book = (struct hx_book){.ways = 2};
    if (book_of(algorithm, p, book) < 0)
        return -1;
    if (book->all_vectors == 1 && (hx_coll_is_rooted(algorithm->coll) || hx_coll_is_scan(algorithm->coll))) /* from one to the other */
        book->ways = 1;
    if (!hx_coll_reduces(algorithm->coll))
        sums(book, 0, 0);
    if (book->all_messages == 0) { /* all are as busy */
        book->all_messages = p * book->messages;
        book->all_vectors = p * book->vectors;
    }
    return 0;
}
