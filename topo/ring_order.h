/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which order a ring should pass the nodes: a closed tour. All messages of a round travel at once, so the slowest
 * link of the tour sets the pace: its time is made least first, then the sum of the times. Pure arithmetic on a matrix
 * that somebody has measured; cost[a * n + b] is the time between the nodes a and b, alike both ways, INFINITY where
 * nothing gets through.
 *
 *   cost    0  1  2  3         rank order 0 1 2 3 (0): 1 9 1 1     best 0 2 3 1 (0): 1 1 1 1, or which end one begins at:
 *     0        1  1  1                                                  0 1 3 2, as tours are written here: from node 0 on,
 *     1           9  1                                                  and of two ends the lower neighbour first
 *     2              1
 */
#ifndef HX_TOPO_RING_ORDER_H
#define HX_TOPO_RING_ORDER_H
#include <stddef.h>

struct hx_link { /* between two nodes, as measured */
    double latency_us, gb_s; /* gb_s 0: nothing gets through */
};

#define HX_RING_EXACT_NODES 12
#define HX_RING_MESSAGE_BYTES (1 << 20) /* links are compared by the time of a message of this length */

/* The time by which links are compared, in microseconds. */
double hx_link_us(struct hx_link link);

struct hx_ring_length {
    double worst, sum; /* of the links of a tour */
};

struct hx_ring_length hx_ring_length(const double *cost, int n, const int *order);

/* The best tour for up to HX_RING_EXACT_NODES nodes, by dynamic programming over subsets; among equals the lowest
 * numbers first, so equal links give rank order. -1 without memory. */
int hx_ring_order_exact(const double *cost, int n, int *order);

/* A good tour for many: nearest neighbours from several starts, each improved by 2-opt and or-opt moves. -1 without
 * memory. */
int hx_ring_order_search(const double *cost, int n, int *order);

/* The one or the other; but rank order stays unless its slowest link, or where that is as good its sum, is longer by
 * more than this part. -1 without memory. */
int hx_ring_order_solve(const double *cost, int n, double margin, int *order);

/* "0,2,1,3": each of n nodes once. -1 with what is wrong in error, which does not repeat the text. */
int hx_ring_order_parse(const char *text, int n, int *order, char *error, size_t error_bytes);

/* Back to text; returns as snprintf. */
int hx_ring_order_format(const int *order, int n, char *text, size_t capacity_bytes);

/* Disjoint pairs: whom of n nodes node i meets in this round, itself if nobody. In hx_pair_rounds(n) rounds everybody
 * meets everybody once. */
int hx_pair_partner(int i, int round, int n);
static inline int hx_pair_rounds(int n) { return n % 2 ? n : n - 1; }

#endif
