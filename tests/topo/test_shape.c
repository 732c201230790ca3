/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes: parsing, placement, numbering, groups, text round trip, bad texts, and the time for 100,000 ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "group.h"
#include "topo/shape.h"

/* What every shape must satisfy, whatever it was made from. */
static void assert_consistent(const struct hx_shape *s)
{
    int seen = 0, most = 0, least = s->nranks;
    assert_int_equal(s->node_start[0], 0);
    assert_int_equal(s->node_start[s->nnodes], s->nranks);
    for (int node = 0; node < s->nnodes; node++) {
        int size = hx_shape_node_size(s, node);
        assert_true(size > 0);
        most = size > most ? size : most;
        least = size < least ? size : least;
        for (int local = 0; local < size; local++, seen++) {
            int rank = hx_shape_member(s, node, local);
            assert_in_range(rank, 0, s->nranks - 1);
            assert_int_equal(s->node_of[rank], node);
            assert_int_equal(s->local_of[rank], local);
            if (local)
                assert_true(rank > hx_shape_member(s, node, local - 1));
        }
        if (node) /* numbered by lowest rank */
            assert_true(hx_shape_member(s, node, 0) > hx_shape_member(s, node - 1, 0));
    }
    assert_int_equal(seen, s->nranks);
    assert_int_equal(s->max_local, most);
    assert_int_equal(s->min_local, least);
}

static struct hx_shape *parse(const char *text)
{
    char error[HX_TOPO_ERROR_BYTES] = "";
    struct hx_shape *s = hx_shape_parse(text, error);
    if (!s)
        fail_msg("%s", error);
    assert_consistent(s);
    return s;
}

static void assert_nodes(const struct hx_shape *s, const int *node_of, int nranks)
{
    assert_int_equal(s->nranks, nranks);
    assert_memory_equal(s->node_of, node_of, (size_t)nranks * sizeof *node_of);
}

static void test_placement(void **state)
{
    (void)state;
    struct hx_shape *s = parse("3,1,2");
    assert_nodes(s, (int[]){ 0, 0, 0, 1, 2, 2 }, 6);
    assert_int_equal(s->max_local, 3);
    assert_int_equal(s->min_local, 1);
    struct hx_shape *same = parse("3,1,2:block");
    assert_true(s->hash == same->hash);
    hx_shape_free(same);
    hx_shape_free(s);

    s = parse("3,1,2:cyclic");
    assert_nodes(s, (int[]){ 0, 1, 2, 0, 2, 0 }, 6);
    hx_shape_free(s);

    s = parse("2x2,3:cyclic");
    assert_nodes(s, (int[]){ 0, 1, 2, 0, 1, 2, 2 }, 7);
    hx_shape_free(s);

    s = parse("33x1");
    assert_int_equal(s->nnodes, 33);
    assert_int_equal(s->max_local, 1);
    hx_shape_free(s);

    s = parse("4x96,2x95");
    assert_int_equal(s->nnodes, 6);
    assert_int_equal(s->nranks, 4 * 96 + 2 * 95);
    assert_int_equal(hx_shape_node_size(s, 4), 95);
    hx_shape_free(s);
}

/* Any ids, in any order: numbered by first appearance, so that the ids themselves do not matter. */
static void test_from_nodes(void **state)
{
    (void)state;
    int ids[] = { 7, -2147483647 - 1, 7, 2147483647, 0, -1, 0 }, other[] = { 0, 1, 0, 2, 3, 4, 3 };
    struct hx_shape *s = hx_shape_from_nodes(ids, 7), *t = hx_shape_from_nodes(other, 7);
    assert_non_null(s);
    assert_non_null(t);
    assert_consistent(s);
    assert_nodes(s, other, 7);
    assert_int_equal(s->nnodes, 5);
    assert_true(s->hash == t->hash);
    hx_shape_free(t);
    t = hx_shape_from_nodes((int[]){ 0, 1, 0, 2, 3, 4, 4 }, 7); /* one rank elsewhere */
    assert_true(s->hash != t->hash);
    hx_shape_free(t);
    hx_shape_free(s);
    assert_null(hx_shape_from_nodes(ids, 0));
}

static void test_group(void **state)
{
    (void)state;
    struct hx_shape *s = parse("3,1,2"), *g = group_of(s, (int[]){ 5, 3, 0, 4, 2 }, 5);
    assert_non_null(g);
    assert_consistent(g);
    assert_nodes(g, (int[]){ 0, 1, 2, 0, 2 }, 5); /* node 2 comes first: its rank is the group's lowest */
    hx_shape_free(g);
    hx_shape_free(s);
}

static void test_emulate(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "6", "only 5 ranks; choose 1 to 5 nodes" }, { "0", "0 nodes; choose 1 to 5" }, { "3,1,2", "6 ranks in all, but the job has 5" },
        { "3,1", "4 ranks in all" }, { "2x4", "8 ranks in all" }, { "-1", "expected" }, { "", "expected" }, { "3,,2", "expected" },
        { "3,0,2", "expected" }, { "3,2,", "expected" }, { "99999999999999999999", "only 5 ranks" }, { "three", "expected" },
    };
    static const struct {
        const char *text;
        int node_of[5];
    } good[] = {
        { "1", { 0 } }, { "2", { 0, 0, 0, 1, 1 } }, { "5", { 0, 1, 2, 3, 4 } }, { "3,1,1", { 0, 0, 0, 1, 2 } },
        { "1,2x2", { 0, 1, 1, 2, 2 } }, { "3,2:cyclic", { 0, 1, 0, 1, 0 } }, { "1x5", { 0 } },
    };
    char error[HX_TOPO_ERROR_BYTES];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct hx_shape *s = hx_shape_emulate(good[i].text, 5, error);
        assert_non_null(s);
        assert_nodes(s, good[i].node_of, 5);
        hx_shape_free(s);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(hx_shape_emulate(bad[i][0], 5, error));
        assert_non_null(strstr(error, bad[i][1]));
    }
}

static void test_format(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "1", "1" }, { "3,1,2", "3,1,2" }, { "3,1,2:cyclic", "3,1,2" }, { "96,96,96,96", "4x96" },
        { "2x4,3", "4,4,3" }, { "1x10", "10" }, { "10,10", "2x10" }, { "1,1,1,1,1", "5x1" },
        { "4x96,2x95", "4x96,2x95" }, { "2x4/2,3", "4,4,3" }, { "8,7", "8,7" }, { "33x1", "33x1" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[64], small[4];
        struct hx_shape *s = parse(pairs[i][0]);
        int length = hx_shape_format(s, text, sizeof text);
        assert_string_equal(text, pairs[i][1]);
        assert_int_equal(length, strlen(text));
        assert_int_equal(hx_shape_format(s, small, sizeof small), length); /* returns as snprintf */
        assert_int_equal(strncmp(small, text, strlen(small)), 0);
        assert_int_equal(strlen(small), length < 3 ? length : 3);
        assert_int_equal(hx_shape_format(s, NULL, 0), length);
        hx_shape_free(s);
    }
}

static void test_bad_texts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "0", "3,,2", "4x", "x4", "-1", "+1", "4:diagonal", "4:", ":cyclic", "4,", ",4", " 4", "4 ", "0x4", "4x0",
        "4;4", "2x3x4", "4:block:cyclic", "16777217", "16777216,1", "4097x4096", "99999999999999999999",
        "99999999999x99999999999", "4/", "4/0", "4/5", "4/2/3", "8/2/2/1/1", "4//2", "/2", "4/2x2", "4/-1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char error[HX_TOPO_ERROR_BYTES] = "", quoted[64];
        if (hx_shape_parse(bad[i], error))
            fail_msg("\"%s\" was accepted", bad[i]);
        snprintf(quoted, sizeof quoted, "\"%s\"", bad[i]);
        if (!strstr(error, quoted) || !strstr(error, "expected") || !strstr(error, ":cyclic"))
            fail_msg("\"%s\" is reported as: %s", bad[i], error);
    }
    char error[HX_TOPO_ERROR_BYTES] = "", text[2000] = "";
    assert_null(hx_shape_parse(NULL, error));
    assert_non_null(strstr(error, "expected"));
    memset(text, 'y', sizeof text - 1);
    assert_null(hx_shape_parse(text, error));
    assert_non_null(strstr(error, "expected"));
    assert_null(hx_shape_parse("4097x4096", error));
    assert_non_null(strstr(error, "16777216"));
}

static void assert_level(const struct hx_shape *s, int level, const int *domain_of)
{
    assert_true(level < s->nlevels);
    for (int rank = 0; rank < s->nranks; rank++)
        assert_int_equal(hx_shape_domain(s, level, rank), domain_of[rank]);
}

static void test_levels_text(void **state)
{
    (void)state;
    struct hx_shape *s = parse("7/2/2,3,2/2"), *plain = parse("7,3,2"), *g;
    assert_int_equal(s->nlevels, 2);
    assert_level(s, 0, (int[]){ 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4 });
    assert_level(s, 1, (int[]){ 0, 0, 1, 1, 2, 2, 3, 4, 4, 4, 5, 6 });
    assert_int_equal(s->most_domains[0], 2);
    assert_int_equal(s->most_domains[1], 4);
    assert_true(hx_shape_levels_in_order(s));
    assert_true(s->hash != plain->hash);
    assert_int_equal(plain->nlevels, 0);
    hx_shape_free(plain);
    g = group_of(s, (int[]){ 6, 0, 5, 2, 7, 1 }, 6); /* 7/2/2: 6 5 | 0 2 1, of these 6 and 5, 0 1 and 2 apart */
    assert_non_null(g);
    assert_int_equal(g->nlevels, 2);
    assert_level(g, 0, (int[]){ 0, 1, 0, 1, 2, 1 });
    assert_level(g, 1, (int[]){ 0, 1, 2, 3, 4, 1 });
    assert_false(hx_shape_levels_in_order(g));
    hx_shape_free(g);
    g = group_of(s, (int[]){ 0, 4, 7, 10, 11 }, 5); /* one of each */
    assert_non_null(g);
    assert_int_equal(g->nlevels, 0);
    assert_null(g->domain_of);
    hx_shape_free(g);
    hx_shape_free(s);
    s = parse("2x4/2:cyclic");
    assert_level(s, 0, (int[]){ 0, 2, 0, 2, 1, 3, 1, 3 });
    hx_shape_free(s);
}

/* Places as hwloc tells them: sockets, NUMA nodes, last-level caches; what says nothing more is no level. */
static void test_levels_of_places(void **state)
{
    (void)state;
    struct hx_shape *s = hx_shape_from_nodes((int[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 8);
    assert_non_null(s);
    static const struct {
        const char *about;
        int nlevels, ids[8 * 3], most[3];
    } cases[] = {
        { "one socket, one cache", 0, { 0 }, { 0 } },
        { "two sockets of two caches", 2, { 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 1, 1, 2, 1, 1, 3, 1, 1, 3 }, { 2, 4 } },
        { "each rank a cache of its own", 1, { 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1, 1, 4, 1, 1, 5, 1, 1, 6, 1, 1, 7 }, { 2 } },
        { "no cache known, one rank not bound to a socket", 0,
          { 0, 0, -1, 0, 0, -1, 0, 0, -1, -1, -1, -1, 1, 1, -1, 1, 1, -1, 1, 1, -1, 1, 1, -1 }, { 0 } },
        { "NUMA nodes within a socket's cache", 1,
          { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0 }, { 2 } },
        { "the same cache's number in two NUMA nodes", 1,
          { 0, 0, 7, 0, 0, 7, 0, 0, 7, 0, 0, 7, 0, 1, 7, 0, 1, 7, 0, 1, 7, 0, 1, 7 }, { 2 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(hx_shape_set_levels(s, cases[i].ids, 3), 0);
        if (s->nlevels != cases[i].nlevels)
            fail_msg("%s: %d levels", cases[i].about, s->nlevels);
        for (int k = 0; k < s->nlevels; k++)
            assert_int_equal(s->most_domains[k], cases[i].most[k]);
    }
    assert_int_equal(hx_shape_set_levels(s, NULL, 0), 0);
    assert_int_equal(s->nlevels, 0);
    hx_shape_free(s);
}

/* Quadratic code would take minutes here, not milliseconds; the bound is loose because machines are shared. */
static void test_large(void **state)
{
    (void)state;
    static const char *const large[] = { "1042x96", "1042x96:cyclic", "100000x1", "100000", "521x192/2/12", "99999x1,50000:cyclic" };
    clock_t start = clock();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        char error[HX_TOPO_ERROR_BYTES];
        struct hx_shape *s = hx_shape_parse(large[i], error);
        assert_non_null(s);
        assert_true(s->nranks >= 100000);
        hx_shape_free(s);
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("%.1f ms per shape of 100,000 ranks\n", seconds * 1e3 / (sizeof large / sizeof *large));
    assert_true(seconds < 5);
    hx_shape_free(parse("1042x96:cyclic"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placement), cmocka_unit_test(test_from_nodes), cmocka_unit_test(test_group),
        cmocka_unit_test(test_emulate), cmocka_unit_test(test_format), cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_levels_text), cmocka_unit_test(test_levels_of_places),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
