/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of nodes in a ring: against all orders of few nodes, the search against the exact one, ties, links that fail, text, who
 * meets whom, and shapes that keep an order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "group.h"
#include "topo/node_groups.h"
#include "topo/ring_order.h"
#include "topo/shape.h"

#define NODES_MAX 64

static uint32_t seed = 2024;

static double draw(void) /* in 0 .. 1 */
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24);
}

/* Times of 1 to 10; some links ten times slower, where the matrix is to be uneven. */
static void matrix_draw(double *cost, int n, double slow, double dead)
{
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double link = i == j ? 0 : 1 + 9 * draw();
            link *= draw() < slow ? 10 : 1;
            cost[i * n + j] = cost[j * n + i] = i != j && draw() < dead ? INFINITY : link;
        }
}

static void assert_order(const int *order, int n)
{
    char seen[NODES_MAX] = {0};

    for (int i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_int_equal(seen[order[i]]++, 0);
    }
    assert_int_equal(order[0], 0);
    if (n > 2)
        assert_true(order[1] < order[n - 1]);
}

/* ---- all orders ---- */

struct all {
    const double *cost;
    int n, order[8];
    long tours;
    struct hx_ring_length best;
};

static void all_try(struct all *all, int at)
{
    if (at == all->n) {
        struct hx_ring_length length = hx_ring_length(all->cost, all->n, all->order);
        all->tours++;
        if (length.worst < all->best.worst || (length.worst <= all->best.worst && length.sum < all->best.sum))
            all->best = length;
        return;
    }
    for (int i = at; i < all->n; i++) {
        int node = all->order[i];
        all->order[i] = all->order[at];
        all->order[at] = node;
        all_try(all, at + 1);
        all->order[at] = all->order[i];
        all->order[i] = node;
    }
}

static void exact_is_the_best_of_all(void **state)
{
    (void)state;
    for (int n = 1, tours = 1; n <= 8; tours *= n++)
        for (int trial = 0; trial < 40; trial++) {
            double cost[64];
            int order[8];
            struct all all = {.cost = cost, .n = n, .order = {0, 1, 2, 3, 4, 5, 6, 7}, .best = {INFINITY, INFINITY}};
            matrix_draw(cost, n, trial % 3 ? 0.3 : 0, trial % 4 == 3 ? 0.2 : 0);
            all_try(&all, 1);
            assert_int_equal(all.tours, tours);
            assert_int_equal(hx_ring_order_exact(cost, n, order), 0);
            assert_order(order, n);
            struct hx_ring_length found = hx_ring_length(cost, n, order);
            assert_true(found.worst <= all.best.worst);
            if (isfinite(all.best.sum))
                assert_true(found.sum <= all.best.sum * (1 + 1e-9));
        }
}

/* ---- the search ---- */

/* With the slowest link of the best tour in most cases, and then with a sum 3 % longer at most in the mean. */
static void search_is_near_the_best(void **state)
{
    enum { TRIALS = 200, N = HX_RING_EXACT_NODES };
    int as_slow = 0;
    double worst = 0, sum = 0, cost[N * N];

    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        int order[N];
        matrix_draw(cost, N, trial % 2 ? 0.3 : 0, 0);
        assert_int_equal(hx_ring_order_exact(cost, N, order), 0);
        struct hx_ring_length best = hx_ring_length(cost, N, order);
        assert_int_equal(hx_ring_order_search(cost, N, order), 0);
        assert_order(order, N);
        struct hx_ring_length found = hx_ring_length(cost, N, order);
        assert_true(found.worst >= best.worst * (1 - 1e-9));
        worst += found.worst / best.worst / TRIALS;
        if (found.worst <= best.worst * (1 + 1e-9)) {
            assert_true(found.sum >= best.sum * (1 - 1e-9));
            sum += found.sum / best.sum;
            as_slow++;
        }
    }
    sum /= as_slow;
    printf("search against exact, %d nodes: slowest link %.4f x, the same in %d of %d; then sum %.4f x\n", N, worst, as_slow, TRIALS, sum);
    assert_true(worst <= 1.02 && as_slow >= TRIALS * 8 / 10 && sum <= 1.03);
}

/* Racks: 1 within, 10 between two of them: the ring enters and leaves each rack once, however its nodes are numbered. */
static void search_keeps_racks_together(void **state)
{
    enum { N = 48, RACKS = 6 };
    static double cost[N * N];
    int order[N], crossings = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            cost[i * N + j] = i % RACKS == j % RACKS ? 1 : 10;
    assert_int_equal(hx_ring_order_solve(cost, N, 0.1, order), 0);
    assert_order(order, N);
    for (int i = 0; i < N; i++)
        crossings += order[i] % RACKS != order[(i + 1) % N] % RACKS;
    assert_int_equal(crossings, RACKS);
}

/* ---- what stays in rank order ---- */

static void equal_links_keep_rank_order(void **state)
{
    double cost[NODES_MAX * NODES_MAX];
    int order[NODES_MAX];

    (void)state;
    for (int i = 0; i < NODES_MAX * NODES_MAX; i++)
        cost[i] = 0.1;
    for (int n = 1; n <= NODES_MAX; n++) {
        assert_int_equal(hx_ring_order_solve(cost, n, 0, order), 0);
        for (int i = 0; i < n; i++)
            assert_int_equal(order[i], i);
        assert_int_equal(n <= HX_RING_EXACT_NODES ? hx_ring_order_exact(cost, n, order) : hx_ring_order_search(cost, n, order), 0);
        for (int i = 0; i < n; i++)
            assert_int_equal(order[i], i);
    }
    memset(cost, 0, sizeof(cost));
    assert_int_equal(hx_ring_order_solve(cost, 5, 0, order), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(order[i], i);
}

/* Noise below the margin moves nothing, a slow link does. */
static void margin_keeps_rank_order(void **state)
{
    enum { N = 7 };
    double cost[N * N];
    int order[N];

    (void)state;
    for (int trial = 0; trial < 50; trial++) {
        for (int i = 0; i < N; i++)
            for (int j = i; j < N; j++)
                cost[i * N + j] = cost[j * N + i] = 10 + 0.9 * draw();
        assert_int_equal(hx_ring_order_solve(cost, N, 0.1, order), 0);
        for (int i = 0; i < N; i++)
            assert_int_equal(order[i], i);
        cost[2 * N + 3] = cost[3 * N + 2] = 100;
        assert_int_equal(hx_ring_order_solve(cost, N, 0.1, order), 0);
        assert_order(order, N);
        assert_true(hx_ring_length(cost, N, order).worst < 11);
    }
}

/* ---- links that fail ---- */

static void failed_links_are_avoided(void **state)
{
    double cost[NODES_MAX * NODES_MAX];
    int order[NODES_MAX];

    (void)state;
    for (int n = 3; n <= 40; n += n < 14 ? 1 : 13) { /* a ring in reverse jumps alone works */
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                cost[i * n + j] = INFINITY;
        for (int i = 0; i < n; i++) { /* 0 2 4 ... 5 3 1 (0) */
            int a = 2 * i < n ? 2 * i : 2 * (n - i) - 1, k = (i + 1) % n, b = 2 * k < n ? 2 * k : 2 * (n - k) - 1;
            cost[a * n + b] = cost[b * n + a] = 1;
        }
        assert_int_equal(hx_ring_order_solve(cost, n, 0.1, order), 0);
        if (n <= HX_RING_EXACT_NODES)
            assert_true(isfinite(hx_ring_length(cost, n, order).sum));
    }
    for (int n = 2; n <= 20; n += 6) { /* nobody reaches node 1 */
        for (int i = 0; i < n * n; i++)
            cost[i] = i / n == 1 || i % n == 1 ? INFINITY : 1;
        assert_int_equal(hx_ring_order_solve(cost, n, 0, order), 0);
        for (int i = 0; i < n; i++)
            assert_int_equal(order[i], i);
    }
    assert_true(isinf(hx_link_us((struct hx_link){5, 0})));
    assert_true(fabs(hx_link_us((struct hx_link){5, 1.048576}) - 1005) < 1e-6);
}

/* ---- text ---- */

static void orders_are_read(void **state)
{
    static const char *const bad[] = {"", "0,2,1", "0,2,1,3,", "0,2,1,3,4", "0,1,2,4", "0,1,2,2", "0 1 2 3", "-1,0,1,2", "best", "0,1,+2,3",
                                      "0,1,2,99999999999999999999"};
    char text[16], error[256];
    int order[4];

    (void)state;
    assert_int_equal(hx_ring_order_parse("3,0,2,1", 4, order, error, sizeof(error)), 0);
    assert_memory_equal(order, ((int[]){3, 0, 2, 1}), sizeof(order));
    assert_int_equal(hx_ring_order_format(order, 4, text, sizeof(text)), 7);
    assert_string_equal(text, "3,0,2,1");
    assert_int_equal(hx_ring_order_format(order, 4, text, 4), 7);
    assert_string_equal(text, "3,0");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        *error = 0;
        assert_int_equal(hx_ring_order_parse(bad[i], 4, order, error, sizeof(error)), -1);
        assert_non_null(strstr(error, "rank, auto"));
    }
}

/* ---- who meets whom ---- */

static void everybody_meets_everybody_once(void **state)
{
    (void)state;
    for (int n = 1; n <= NODES_MAX; n++) {
        char met[NODES_MAX][NODES_MAX] = {{0}};
        for (int round = 0; round < hx_pair_rounds(n); round++)
            for (int i = 0; i < n; i++) {
                int partner = hx_pair_partner(i, round, n);
                assert_in_range(partner, 0, n - 1);
                assert_int_equal(hx_pair_partner(partner, round, n), i);
                met[i][partner]++;
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                assert_int_equal(met[i][j], i == j ? n % 2 : 1);
    }
}

/* ---- shapes ---- */

static void shapes_keep_an_order(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *whole = hx_shape_parse("3,1,2,2", error), *part;
    int ranks[] = {7, 3, 0, 6, 2}; /* of the nodes 3 1 0 3 0, which are 0 1 2 0 2 here */

    (void)state;
    part = group_of(whole, ranks, 5);
    assert_int_equal(hx_shape_inherit(part, whole, ranks), 0);
    assert_null(part->ring); /* whole has none of its own */
    for (int i = 0; i < 3; i++)
        assert_int_equal(hx_shape_ring_node(part, i), i);
    assert_int_equal(hx_shape_set_ring(whole, (int[]){0, 1, 2, 3}), 0);
    assert_int_equal(hx_shape_set_ring(whole, (int[]){0, 2, 3, 1}), 0);
    assert_int_equal(hx_shape_inherit(part, whole, ranks), 0);
    assert_memory_equal(part->ring, ((int[]){2, 0, 1}), 3 * sizeof(int));
    hx_shape_free(part);
    hx_shape_free(whole);
}

/* ---- groups of nodes */

static void groups_are_read(void **state)
{
    static const struct {
        const char *text;
        int groups[6];
    } good[] = {{"2", {0, 0, 1, 1, 2, 2}}, {"4", {0, 0, 0, 0, 1, 1}}, {"9", {0}}, {"1,2,3", {0, 1, 1, 2, 2, 2}}, {"5,1", {0, 0, 0, 0, 0, 1}}};
    static const char *const bad[] = {"", "0", "-1", "2,", ",6", "2,0,4", "3,2", "3,4", "2 4", "2x3", "rack", "99999999999,1"};
    char error[256];
    int groups[6];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(hx_node_groups_parse(good[i].text, 6, groups, error, sizeof(error)), 0);
        assert_memory_equal(groups, good[i].groups, sizeof(groups));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        *error = 0;
        assert_int_equal(hx_node_groups_parse(bad[i], 6, groups, error, sizeof(error)), -1);
        assert_non_null(strstr(error, "sum"));
    }
}

/* A communicator's nodes keep their groups; if all are in one, it has none. */
static void shapes_keep_groups(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *whole = hx_shape_parse("3,1,2,2", error), *part;
    int across[] = {7, 3, 0, 6, 2}, inside[] = {7, 5}; /* of the nodes 3 1 0 3 0, and 3 2 */

    (void)state;
    assert_int_equal(hx_node_groups_set(whole, "1,1,2", error, sizeof(error)), 0);
    part = group_of(whole, across, 5);
    assert_int_equal(hx_shape_inherit(part, whole, across), 0);
    assert_memory_equal(part->group_of, ((int[]){2, 1, 0}), 3 * sizeof(int));
    assert_int_equal(part->ngroups, 3);
    assert_null(part->ring);
    hx_shape_free(part);
    part = group_of(whole, inside, 2);
    assert_int_equal(hx_shape_inherit(part, whole, inside), 0);
    assert_null(part->group_of);
    hx_shape_free(part);
    assert_int_equal(hx_node_groups_set(whole, "4", error, sizeof(error)), 0);
    assert_null(whole->group_of);
    hx_shape_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_is_the_best_of_all),       cmocka_unit_test(search_is_near_the_best),
        cmocka_unit_test(search_keeps_racks_together),    cmocka_unit_test(equal_links_keep_rank_order),
        cmocka_unit_test(margin_keeps_rank_order),        cmocka_unit_test(failed_links_are_avoided),
        cmocka_unit_test(orders_are_read),                cmocka_unit_test(everybody_meets_everybody_once),
        cmocka_unit_test(shapes_keep_an_order),
        cmocka_unit_test(groups_are_read),                cmocka_unit_test(shapes_keep_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
