/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The book: what the busiest of p members has to do by each algorithm that sends messages, as the heads of the algorithms' files derive
 * it. tests/hier/test_cost.c counts the same in the plans.
 */
#include "cost.h"
#include "inter/bruck.h"
#include "inter/circulant_schedule.h"
#include "inter/double_tree.h"
#include "inter/tree.h"
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

/* Gather and scatter: all blocks but the root's own pass its link once. */
static int blocks_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    if (strcmp(name, "flat") && strcmp(name, "binomial"))
        return -1;
    *rounds = name[0] == 'f' ? p > 1 : ceil_log2(p);
    *messages = name[0] == 'f' ? p - 1 : ceil_log2(p);
    *vectors = (double)(p - 1) / p;
    return 0;
}

/* The book of trees: broadcasts, and reductions, which are the same backwards. */
static int tree_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    double log = ceil_log2(p), others = p - 1;

    if (!strcmp(name, "flat")) {
        *rounds = p > 1;
        *messages = *vectors = others;
    } else if (!strcmp(name, "binomial")) {
        *rounds = *messages = *vectors = log;
    } else if (!strcmp(name, "knomial")) {
        *rounds = hx_tree_rounds(p, HX_KNOMIAL_RADIX);
        *messages = *vectors = hx_tree_children(p, HX_KNOMIAL_RADIX);
    } else if (!strcmp(name, "scatter_ring")) {
        *rounds = *messages = log + others;
        *vectors = 2 * others / p;
    } else if (!strcmp(name, "scatter_circulant") || !strcmp(name, "scatter_gather")) {
        *rounds = *messages = 2 * log;
        *vectors = 2 * others / p;
    } else if (!strcmp(name, "chain")) {
        *rounds = others;
        *messages = *vectors = 1;
    } else if (!strcmp(name, "circulant")) { /* the root sends in every round */
        *rounds = *messages = p > 1 ? hx_circulant_blocks(p) - 1 + log : 0;
        *vectors = *rounds / hx_circulant_blocks(p);
    } else if (!strcmp(name, "double_tree")) { /* two halves */
        *rounds = p > 1 ? hx_double_tree_rounds(p - 1) : 0;
        *messages = 2;
        *vectors = 1;
    } else {
        return -1;
    }
    return 0;
}

static int barrier_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    if (!strcmp(name, "dissemination") || !strcmp(name, "tree")) {
        *messages = ceil_log2(p);
        *rounds = name[0] == 't' ? 2 * *messages : *messages;
    } else if (!strcmp(name, "mesh") || !strcmp(name, "pairwise")) {
        *messages = p - 1;
        *rounds = name[0] == 'p' ? p - 1 : p > 1;
    } else {
        return -1;
    }
    *vectors = *messages; /* tokens */
    return 0;
}

/* Scans and exclusive scans: whole vectors upwards. */
static int scan_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    int q = p > 2 ? 2 : p - 1; /* of 123-doubling: 3 2^(q-2) members are heard of after q rounds */

    if (!strcmp(name, "mesh")) {
        *rounds = p > 1;
        *messages = *vectors = p - 1;
    } else if (!strcmp(name, "chain")) {
        *rounds = p - 1;
        *messages = *vectors = p > 1;
    } else if (!strcmp(name, "recursive_doubling")) {
        *rounds = *messages = *vectors = ceil_log2(p);
    } else if (!strcmp(name, "exclusive_dissemination")) {
        for (int skip = 3; skip + 1 < p; skip *= 2)
            q++;
        *rounds = *messages = *vectors = q;
    } else {
        return -1;
    }
    return 0;
}

static int alltoall_book(const char *name, int p, double *rounds, double *messages, double *vectors)
{
    int bruck = !strcmp(name, "bruck"), in_rounds, in_messages;
    long blocks;

    if (bruck || !strcmp(name, "kbruck")) {
        hx_bruck_count(p, bruck ? 2 : HX_KBRUCK_RADIX, &in_rounds, &in_messages, &blocks);
        *rounds = in_rounds;
        *messages = in_messages;
        *vectors = (double)blocks / p;
    } else if (!strcmp(name, "mesh") || !strcmp(name, "pairwise")) {
        *rounds = name[0] == 'p' ? p - 1 : p > 1;
        *messages = p - 1;
        *vectors = (double)(p - 1) / p;
    } else {
        return -1;
    }
    return 0;
}

/* All-reduces, of two phases, reduce-scatters and all-gathers, of one. */
static int phases_book(const struct hx_algorithm *algorithm, int p, double *rounds, double *messages, double *vectors)
{
    const char *name = algorithm->name;
    double phases = algorithm->coll == HX_COLL_ALLREDUCE ? 2 : 1, others = p - 1, log = ceil_log2(p);
    int folds = (p & (p - 1)) != 0; /* p is no power of two */

    *vectors = phases * others / p;
    if (!strcmp(name, "ring")) {
        *rounds = *messages = phases * others;
    } else if (!strcmp(name, "mesh")) {
        *rounds = phases;
        *messages = phases * others;
    } else if (!strcmp(name, "kbruck")) { /* messages as of the tree to that base */
        *rounds = hx_tree_rounds(p, HX_KBRUCK_RADIX);
        *messages = hx_tree_children(p, HX_KBRUCK_RADIX);
    } else if (!strcmp(name, "kangaring")) { /* of an odd number of blocks one ring has one more */
        *rounds = phases * (p - p / 2);
        double more = algorithm->coll != HX_COLL_REDUCE_SCATTER && p > 1 ? p % 2 : 0;
        *messages = phases * others + more;
        *vectors += more / p;
    } else if (!strcmp(name, "mesh_single")) {
        *rounds = 1;
        *messages = *vectors = others;
    } else if (!strcmp(name, "circulant")) {
        *rounds = *messages = phases * log;
    } else if (!strcmp(name, "exclusive_dissemination")) {
        *rounds = *messages = *vectors = log;
    } else if (!strcmp(name, "recursive_doubling")) {
        *rounds = *messages = *vectors = floor_log2(p) + 2 * folds;
    } else if (!strcmp(name, "rdh")) {
        *rounds = *messages = phases * floor_log2(p) + 2 * folds; /* who folds hands in a vector first and is served at the end */
        *vectors += folds;
    } else if (!strcmp(name, "double_tree")) { /* of four halves; among two or three members nobody has so many */
        *rounds = p > 1 ? 2 * (hx_double_tree_rounds(p) - 1) : 0;
        *messages = p > 4 ? 4 : p;
        *vectors = *messages / 2;
    } else if (!strcmp(name, "tree")) {
        *rounds = 2 * log;
        *messages = *vectors = log;
    } else {
        return -1;
    }
    return 0;
}

int hx_cost_book(const struct hx_algorithm *algorithm, int p, double *rounds, double *messages, double *vectors)
{
    const char *name = algorithm->name;

    if (hx_coll_is_rooted(algorithm->coll) && hx_coll_has_blocks(algorithm->coll))
        return blocks_book(name, p, rounds, messages, vectors);
    if (hx_coll_is_rooted(algorithm->coll))
        return tree_book(name, p, rounds, messages, vectors);
    if (algorithm->coll == HX_COLL_BARRIER)
        return barrier_book(name, p, rounds, messages, vectors);
    if (hx_coll_is_scan(algorithm->coll))
        return scan_book(name, p, rounds, messages, vectors);
    if (hx_coll_has_pairs(algorithm->coll))
        return alltoall_book(name, p, rounds, messages, vectors);
    return phases_book(algorithm, p, rounds, messages, vectors);
}
