/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of nodes in a ring: see ring_order.h. */
#include "topo/ring_order.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME (1 + 1e-9) /* tolerance: sums of the same times in another order */
#define SEARCH_STARTS(n) (1 + 1024 / (n)) /* the search takes a second for 1024 nodes */
#define SEARCH_SWEEPS 100
#define SEGMENT_MAX 3   /* most nodes that an or-opt move moves */

double hx_link_us(struct hx_link link)
{
    return link.gb_s > 0 ? link.latency_us + HX_RING_MESSAGE_BYTES * 1e-3 / link.gb_s : INFINITY;
}

struct hx_ring_length hx_ring_length(const double *cost, int n, const int *order)
{
    struct hx_ring_length length = {0, 0};

    for (int i = 0; i < n && n > 1; i++) {
        double link = cost[(size_t)order[i] * (size_t)n + (size_t)order[(i + 1) % n]];
        length.worst = link > length.worst ? link : length.worst;
        length.sum += link;
    }
    return length;
}

static int is_shorter(struct hx_ring_length a, struct hx_ring_length b)
{
    return a.worst * SAME < b.worst || (a.worst <= b.worst * SAME && a.sum * SAME < b.sum);
}

/* A copy in which links above `most` cost a thousand times as much as all others together, so that sums avoid them. */
static double *cost_within(const double *cost, int n, double most)
{
    size_t links = (size_t)n * (size_t)n;
    double *within = malloc(links * sizeof(*within)), far = 1;

    for (size_t i = 0; within && i < links; i++)
        if (isfinite(cost[i]))
            far += cost[i];
    for (size_t i = 0; within && i < links; i++)
        within[i] = cost[i] <= most * SAME && isfinite(cost[i]) ? cost[i] : 1e3 * far;
    return within;
}

/* ---- exact ------------------------------------------------------------------------------------------------------- */

/* left[S * n + j]: cost of the best way from node j through all nodes of S and back to node 0. S has a bit for each node from 1 on.
 * The cost is the longest link, or the sum of all. */
struct subsets {
    const double *cost;
    int n, by_worst;
    double *left;
};

static double way(const struct subsets *s, int from, int to, unsigned rest)
{
    double link = s->cost[from * s->n + to], left = s->left[rest * (unsigned)s->n + (unsigned)to];

    return !s->by_worst ? link + left : link > left ? link : left;
}

static void subsets_fill(struct subsets *s)
{
    unsigned all = 1u << (s->n - 1);

    for (unsigned set = 0; set < all; set++)
        for (int j = 0; j < s->n; j++) {
            double least = set ? INFINITY : s->cost[j * s->n];
            for (int k = 1; k < s->n; k++)
                if (set >> (k - 1) & 1 && way(s, j, k, set ^ 1u << (k - 1)) < least)
                    least = way(s, j, k, set ^ 1u << (k - 1));
            s->left[set * (unsigned)s->n + (unsigned)j] = least;
        }
}

/* Follow the best ways, always to the lowest node. */
static void subsets_walk(const struct subsets *s, int *order)
{
    unsigned set = (1u << (s->n - 1)) - 1;

    order[0] = 0;
    for (int i = 1, k; i < s->n; i++, set ^= 1u << (k - 1)) {
        double least = s->left[set * (unsigned)s->n + (unsigned)order[i - 1]];
        for (k = 1; !(set >> (k - 1) & 1) || way(s, order[i - 1], k, set ^ 1u << (k - 1)) > least * SAME;)
            k++;
        order[i] = k;
    }
}

int hx_ring_order_exact(const double *cost, int n, int *order)
{
    struct subsets s = {.n = n, .by_worst = 1};
    double *within = cost_within(cost, n, INFINITY), worst;

    s.left = malloc(((size_t)n << (n - 1)) * sizeof(*s.left));
    if (within && s.left) {
        s.cost = within;
        subsets_fill(&s);
        worst = s.left[((1u << (n - 1)) - 1) * (unsigned)n];
        free(within);
        if ((within = cost_within(cost, n, worst))) {
            s = (struct subsets){within, n, 0, s.left};
            subsets_fill(&s);
            subsets_walk(&s, order);
        }
    }
    free(s.left);
    free(within);
    return s.left && within ? 0 : -1;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

struct tour {
    const double *cost;
    int n, *order;
};

static double link_of(const struct tour *t, int i, int j) /* positions */
{
    return t->cost[(size_t)t->order[i % t->n] * (size_t)t->n + (size_t)t->order[j % t->n]];
}

static void reverse(int *order, int from, int to)
{
    for (; from < to; from++, to--) {
        int node = order[from];
        order[from] = order[to];
        order[to] = node;
    }
}

/* 2-opt: reverse the positions i + 1 to j. */
static int try_reverse(struct tour *t, int i, int j)
{
    double before = link_of(t, i, i + 1) + link_of(t, j, j + 1), after = link_of(t, i, j) + link_of(t, i + 1, j + 1);

    if (after * SAME >= before)
        return 0;
    reverse(t->order, i + 1, j);
    return 1;
}

/* Or-opt: move the nodes at positions i + 1 to j between k and k + 1, in the better direction. */
static int try_move(struct tour *t, int i, int j, int k)
{
    double before = link_of(t, i, i + 1) + link_of(t, j, j + 1) + link_of(t, k, k + 1);
    double same = link_of(t, k, i + 1) + link_of(t, j, k + 1), turned = link_of(t, k, j) + link_of(t, i + 1, k + 1);

    if ((link_of(t, i, j + 1) + (same < turned ? same : turned)) * SAME >= before)
        return 0;
    reverse(t->order, i + 1, j); /* reverse both parts, then the whole: this swaps them */
    reverse(t->order, j + 1, k);
    reverse(t->order, i + 1, k);
    if (turned < same)
        reverse(t->order, k - (j - i) + 1, k);
    return 1;
}

static int sweep(struct tour *t)
{
    int moves = 0;

    for (int i = 0; i < t->n - 2; i++)
        for (int j = i + 1; j < t->n; j++) {
            if (i > 0 || j < t->n - 1)
                moves += try_reverse(t, i, j);
            for (int length = 1; length <= SEGMENT_MAX && i + length < j; length++) {
                moves += try_move(t, i, i + length, j);             /* a short way goes up */
                moves += try_move(t, i, j - length, j);             /* a short way comes down */
            }
        }
    return moves;
}

static void improve(struct tour *t, const double *cost)
{
    t->cost = cost;
    for (int i = 0; i < SEARCH_SWEEPS && sweep(t); i++)
        ;
}

/* From start on, always go to the nearest node that is left. */
static void nearest_neighbours(struct tour *t, int start)
{
    for (int i = 0; i < t->n; i++)
        t->order[i] = i;
    t->order[0] = start;
    t->order[start] = 0;
    for (int i = 1; i < t->n - 1; i++) {
        int best = i;
        for (int j = i + 1; j < t->n; j++)
            if (link_of(t, i - 1, j) < link_of(t, i - 1, best))
                best = j;
        int node = t->order[i];
        t->order[i] = t->order[best];
        t->order[best] = node;
    }
}

/* Start at node 0, in the direction of its lower neighbour. */
static void tour_normalise(const struct tour *t, int *order)
{
    int zero = 0, step;

    while (t->order[zero] != 0)
        zero++;
    step = t->order[(zero + 1) % t->n] < t->order[(zero + t->n - 1) % t->n] ? 1 : t->n - 1;
    for (int i = 0; i < t->n; i++, zero = (zero + step) % t->n)
        order[i] = t->order[zero];
}

/* First shorten the longest links, then minimise the sum of links no longer than that. */
static int tour_improve(struct tour *t, const double *cost, const double *steep)
{
    double *within;

    improve(t, steep);
    if (!(within = cost_within(cost, t->n, hx_ring_length(cost, t->n, t->order).worst)))
        return -1;
    improve(t, within);
    free(within);
    return 0;
}

/* Each time to the 16th power, relative to the longest: the longest links dominate the sum. */
static double *cost_steep(const double *within, int n)
{
    size_t links = (size_t)n * (size_t)n;
    double *steep = malloc(links * sizeof(*steep)), most = 0;

    for (size_t i = 0; i < links; i++)
        most = within[i] > most && i % ((size_t)n + 1) ? within[i] : most;
    for (size_t i = 0; steep && i < links; i++) {
        steep[i] = most > 0 ? within[i] / most : 0;
        for (int twice = 0; twice < 4; twice++)
            steep[i] *= steep[i];
    }
    return steep;
}

int hx_ring_order_search(const double *cost, int n, int *order)
{
    struct tour t = {NULL, n, malloc((size_t)n * sizeof(int))};
    double *within = cost_within(cost, n, INFINITY), *steep = within ? cost_steep(within, n) : NULL;
    int status = t.order && steep ? 0 : -1;

    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int start = 0; status == 0 && n > 3 && start < n && start < SEARCH_STARTS(n); start++) {
        t.cost = within;
        nearest_neighbours(&t, start);
        status = tour_improve(&t, within, steep);
        if (status == 0 && is_shorter(hx_ring_length(cost, n, t.order), hx_ring_length(cost, n, order)))
            tour_normalise(&t, order);
    }
    free(t.order);
    free(within);
    free(steep);
    return status;
}

int hx_ring_order_solve(const double *cost, int n, double margin, int *order)
{
    int *found = malloc((size_t)n * sizeof(*found));
    int status = !found            ? -1
        : n <= HX_RING_EXACT_NODES ? hx_ring_order_exact(cost, n, found)
                                   : hx_ring_order_search(cost, n, found);

    for (int i = 0; i < n; i++)
        order[i] = i;
    if (status == 0) {
        struct hx_ring_length by_rank = hx_ring_length(cost, n, order), best = hx_ring_length(cost, n, found);
        if (best.worst * (1 + margin) < by_rank.worst ||
            (best.worst <= by_rank.worst && best.sum * (1 + margin) < by_rank.sum))
            memcpy(order, found, (size_t)n * sizeof(*order));
    }
    free(found);
    return status;
}

/* ---- text, and pairs --------------------------------------------------------------------------------------------- */

int hx_ring_order_parse(const char *text, int n, int *order, char *error, size_t error_bytes)
{
    const char *at = text;

    for (int i = 0; i < n; i++) {
        char *end;
        long node = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        if (node < 0 || *end != (i < n - 1 ? ',' : 0)) {
            snprintf(error, error_bytes, "choose rank, auto, or an order of all %d nodes: list each of 0 to %d once, with commas", n, n - 1);
            return -1;
        }
        int twice = 0;
        for (int j = 0; j < i; j++)
            twice |= order[j] == node;
        if (node >= n || twice) {
            snprintf(error, error_bytes, "node %ld %s; choose rank, auto, or list each of the nodes 0 to %d once", node,
                     twice ? "is named twice" : "does not exist", n - 1);
            return -1;
        }
        order[i] = (int)node;
        at = end + 1;
    }
    return 0;
}

int hx_ring_order_format(const int *order, int n, char *text, size_t capacity)
{
    int length = 0;

    for (int i = 0; i < n; i++) {
        size_t room = (size_t)length < capacity ? capacity - (size_t)length : 0;
        length += snprintf(room ? text + length : NULL, room, "%s%d", i ? "," : "", order[i]);
    }
    return length;
}

/* The round-robin tournament: on a circle of an odd number of nodes, i meets its mirror image about the position of the round. If n
 * is even, the last node is outside the circle and meets the node that is its own mirror image. */
int hx_pair_partner(int i, int round, int n)
{
    int circle = n % 2 ? n : n - 1, partner;

    if (i == circle)
        return round;
    partner = (2 * round - i + circle) % circle;
    return partner != i ? partner : circle < n ? circle : i;
}
