/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which a ring passes the nodes: a closed tour. All messages of a round travel at the same time, so the slowest link
 * of the tour decides. The best tour has the fastest slowest link, then the smallest sum. This is arithmetic on a measured matrix:
 * cost[a * n + b] is the time between the nodes a and b, equal in both directions; INFINITY: no connection.
 *
 *   cost    0  1  2  3         rank order 0 1 2 3 (0): 1 9 1 1     best 0 1 3 2 (0): 1 1 1 1
 *     0        1  1  1
 *     1           9  1         Tours start at node 0, in the direction of its lower neighbour.
 *     2              1
 */
#pragma once

#include <stddef.h>

struct hx_link { /* between two nodes, as measured */
    double latency_us, gb_s; /* gb_s 0: no connection */
};

#define HX_RING_EXACT_NODES 12
#define HX_RING_MESSAGE_BYTES (1 << 20) /* links are compared by the time of such a message */

/* The time by which links are compared, in microseconds. */
double hx_link_us(struct hx_link link);

struct hx_ring_length {
    double worst, sum; /* of the links of a tour */
};

struct hx_ring_length hx_ring_length(const double *cost, int n, const int *order);

/* The best tour for up to HX_RING_EXACT_NODES nodes, by dynamic programming over subsets. Among equal tours, the lowest numbers
 * come first, so equal links give rank order. -1: no memory. */
int hx_ring_order_exact(const double *cost, int n, int *order);

/* A good tour for many nodes: nearest neighbours from several starts, each improved by 2-opt and or-opt moves. -1: no memory. */
int hx_ring_order_search(const double *cost, int n, int *order);

/* The exact tour, or the search for many nodes. Rank order is kept unless the tour improves its slowest link by more than this
 * fraction, or its sum if the slowest links are equal. -1: no memory. */
int hx_ring_order_solve(const double *cost, int n, double margin, int *order);

/* "0,2,1,3": each of n nodes once. -1 with a message in error, which does not repeat the text. */
int hx_ring_order_parse(const char *text, int n, int *order, char *error, size_t error_bytes);

/* Back to text; returns as snprintf. */
int hx_ring_order_format(const int *order, int n, char *text, size_t capacity_bytes);

/* Disjoint pairs: the partner of node i of n in this round; i itself: none. In hx_pair_rounds(n) rounds every pair of nodes meets
 * once. */
int hx_pair_partner(int i, int round, int n);
static inline int hx_pair_rounds(int n) { return n % 2 ? n : n - 1; }
