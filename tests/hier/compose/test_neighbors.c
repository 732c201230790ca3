/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of neighbourhood collectives: graphs of all kinds on shapes of all kinds, proved by the checker. And how many messages cross between
 * nodes. */
#include "hier/compose/algorithm_list.h"
#include "hier/compose/compose.h"
#include "inter/algorithms/algorithms.h"
#include "runtime/plan/check.h"
#include "runtime/plan/graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 12, MOST = 8 * RANKS };

/* Lists of all ranks that match. Of a source, an edge later in its list is later in the other's too. */
struct lists {
    int p, ntargets[RANKS], nsources[RANKS], targets[RANKS][MOST], sources[RANKS][MOST];
};

static void edge_add(struct lists *l, int from, int to)
{
    l->targets[from][l->ntargets[from]++] = to;
    l->sources[to][l->nsources[to]++] = from;
}

enum kind { RING, TORUS, STAR, DRAWN, NONE, KINDS };

static void lists_draw(struct lists *l, int p, enum kind kind)
{
    *l = (struct lists){.p = p};
    for (int r = 0; r < p; r++)
        switch (kind) {
        case RING: edge_add(l, r, (r + 1) % p); break; /* one way; of one rank, with itself */
        case TORUS: /* of two by p / 2: two edges to the same rank */
            for (int i = 0; i < 2; i++)
                edge_add(l, r, r % 2 ? r - 1 : r + 1 < p ? r + 1 : r);
            edge_add(l, r, (r + 2) % p);
            break;
        case STAR:
            edge_add(l, 0, r);
            edge_add(l, r, 0);
            break;
        case DRAWN:
            for (int i = 0; r % 3 && i < 5; i++) /* every third sends nothing */
                edge_add(l, r, (7 * r + 3 * i * i + i) % p);
            break;
        default: break;
        }
    for (int r = 0; r < p; r++) /* the order of sources is free, but for those of the same rank */
        for (int i = 0; i + 1 < l->nsources[r]; i += 2)
            if (l->sources[r][i] != l->sources[r][i + 1]) {
                int swap = l->sources[r][i];
                l->sources[r][i] = l->sources[r][i + 1];
                l->sources[r][i + 1] = swap;
            }
}

static hx_status_t graph_of(const struct lists *l, struct hx_graph **graph)
{
    int targets[RANKS * MOST], sources[RANKS * MOST], nt = 0, ns = 0;

    for (int r = 0; r < l->p; r++) {
        memcpy(targets + nt, l->targets[r], (size_t)l->ntargets[r] * sizeof(int));
        memcpy(sources + ns, l->sources[r], (size_t)l->nsources[r] * sizeof(int));
        nt += l->ntargets[r];
        ns += l->nsources[r];
    }
    return hx_graph_new("test", l->p, l->ntargets, targets, l->nsources, sources, graph);
}

static void ends_are_matched(void **state)
{
    struct lists l;
    struct hx_graph *graph = NULL;

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        lists_draw(&l, 7, (enum kind)kind);
        assert_int_equal(graph_of(&l, &graph), HX_SUCCESS);
        for (int r = 0; r < 7; r++)
            for (int j = 0; j < l.nsources[r]; j++) {
                const int from = l.sources[r][j];
                const uint32_t e = graph->in[graph->in_start[r] + (uint32_t)j];
                int here = 0, there = 0;
                assert_int_equal(graph->from[e], from);
                assert_int_equal(graph->to[e], r);
                assert_int_equal(graph->in_place[e], j);
                assert_int_equal(l.targets[from][e - graph->start[from]], r);
                for (int i = 0; i < j; i++)
                    here += l.sources[r][i] == from;
                for (uint32_t i = graph->start[from]; i < e; i++)
                    there += graph->to[i] == (uint32_t)r;
                assert_int_equal(here, there); /* the k-th is the k-th */
            }
        hx_graph_release(graph);
    }
    lists_draw(&l, 7, RING);
    l.sources[3][0] = 5;
    assert_int_equal(graph_of(&l, &graph), HX_ERR_ARG);
    lists_draw(&l, 7, RING);
    l.nsources[3] = 0;
    assert_int_equal(graph_of(&l, &graph), HX_ERR_ARG);
}

static const char *const shapes[] = {"1", "5", "2,2", "3,1,2", "3,1,2:cyclic", "4,4,3", "1,5", "1,1,1,1"};

static struct hx_candidate candidate_of(const struct hx_shape *shape, struct hx_graph *graph, int lanes)
{
    struct hx_candidate c = {.coll = HX_COLL_ALLTOALLV, .graph = graph, .lanes = lanes ? shape->max_local : 0};

    if (lanes)
        c.inter = hx_algorithm_find(HX_COLL_ALLTOALLV, HX_SCOPE_INTER, "mesh");
    else
        c.flat = hx_algorithm_find(HX_COLL_ALLTOALLV, HX_SCOPE_FLAT, "mesh");
    return c;
}

static struct hx_plan **plans_of(const struct hx_shape *shape, const struct hx_candidate *candidate)
{
    struct hx_plan **plans = calloc((size_t)shape->nranks, sizeof(*plans));

    for (int r = 0; r < shape->nranks; r++)
        assert_non_null(plans[r] = hx_compose(shape, r, candidate));
    return plans;
}

static void plans_release(struct hx_plan **plans, int n)
{
    for (int r = 0; r < n; r++)
        hx_plan_release(plans[r]);
    free(plans);
}

/* part: halves of the longest block that are short. */
static hx_status_t check(const struct hx_shape *shape, struct hx_plan **plans, const struct hx_graph *graph, int part, int ragged, char report[2048])
{
    struct hx_check_call calls[2] = {{.plans = plans, .window_fine = 4, .window_coarse = 3}};
    struct hx_pair_counts *pair_counts = NULL;
    hx_status_t status;

    hx_check_sizes(plans, shape->nranks, 4, 3, 0, &calls[0].sizes);
    calls[0].sizes.fine_slices = calls[0].sizes.coarse_slices = 1; /* as cut_slices.c does */
    calls[0].sizes.limit = calls[0].sizes.count * (uint64_t)part / 2;
    if (ragged)
        assert_non_null(calls[0].pair_counts = pair_counts = hx_check_pair_counts_new(shape->nranks, graph, calls[0].sizes.count));
    calls[1] = calls[0];
    status = hx_check(shape, calls, 2, report, 2048);
    hx_check_pair_counts_free(pair_counts);
    return status;
}

static void plans_are_right(void **state)
{
    char error[HX_TOPO_ERROR_BYTES], report[2048];

    (void)state;
    for (int i = 0; i < 8 * KINDS * 2; i++) {
        struct hx_shape *shape = hx_shape_parse(shapes[i / 2 / KINDS], error);
        struct hx_graph *graph;
        struct lists l;
        lists_draw(&l, shape->nranks, (enum kind)(i / 2 % KINDS));
        assert_int_equal(graph_of(&l, &graph), HX_SUCCESS);
        const struct hx_candidate c = candidate_of(shape, graph, i % 2);
        if (hx_candidate_fits(&c, shape)) {
            struct hx_plan **plans = plans_of(shape, &c);
            for (int part = 0; part < 3; part++)
                for (int ragged = 0; ragged < 2; ragged++)
                    if (check(shape, plans, graph, part, ragged, report) != HX_SUCCESS)
                        fail_msg("%s, graph %d, lanes %d, part %d, ragged %d: %s", shapes[i / 2 / KINDS], i / 2 % KINDS, c.lanes, part, ragged, report);
            plans_release(plans, shape->nranks);
        }
        hx_graph_release(graph);
        hx_shape_free(shape);
    }
}

/* Without any one of its messages a plan is wrong. */
static void faults_are_found(void **state)
{
    char error[HX_TOPO_ERROR_BYTES], report[2048];
    struct hx_shape *shape = hx_shape_parse("3,1,2", error);
    struct hx_graph *graph;
    struct lists l;
    int sends = 0;

    (void)state;
    lists_draw(&l, shape->nranks, TORUS);
    assert_int_equal(graph_of(&l, &graph), HX_SUCCESS);
    const struct hx_candidate c = candidate_of(shape, graph, 1);
    struct hx_plan **plans = plans_of(shape, &c);
    for (int s = 0; s < plans[0]->nstages; s++)
        for (uint32_t i = 0; i < plans[0]->stages[s].nsteps; i++) {
            struct hx_stage *stage = &plans[0]->stages[s];
            const struct hx_step kept = stage->steps[i];
            if (kept.op != HX_OP_SEND)
                continue;
            stage->steps[i].tag++; /* of another round: no rank waits for it */
            assert_int_not_equal(check(shape, plans, graph, stage->share == HX_SHARE_SHORT ? 2 : 0, 0, report), HX_SUCCESS);
            stage->steps[i] = kept;
            sends++;
        }
    assert_in_range(sends, 2, 100);
    plans_release(plans, shape->nranks);
    hx_graph_release(graph);
    hx_shape_free(shape);
}

/* All of the short data between two nodes of 4 ranks, each with edges to all of the other node, crosses in 4 messages each way, not 16; and
 * where no edge joins two nodes, nothing crosses. */
static void messages_are_few(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("4,4,4", error);
    struct hx_graph *graph;
    struct lists l = {.p = 12};
    int between = 0, direct = 0, elsewhere = 0;

    (void)state;
    for (int r = 0; r < 4; r++)
        for (int q = 4; q < 8; q++) {
            edge_add(&l, r, q);
            edge_add(&l, q, r);
        }
    assert_int_equal(graph_of(&l, &graph), HX_SUCCESS);
    const struct hx_candidate c = candidate_of(shape, graph, 1);
    struct hx_plan **plans = plans_of(shape, &c);
    for (int r = 0; r < 12; r++)
        for (int s = 0; s < plans[r]->nstages; s++)
            for (uint32_t i = 0; i < plans[r]->stages[s].nsteps; i++) {
                const struct hx_stage *stage = &plans[r]->stages[s];
                if (stage->steps[i].op != HX_OP_SEND)
                    continue;
                if (shape->node_of[r] == 2 || shape->node_of[stage->members[stage->steps[i].peer]] == 2)
                    elsewhere++;
                else if (stage->share == HX_SHARE_SHORT)
                    between++;
                else
                    direct++;
            }
    assert_int_equal(between, 8);
    assert_int_equal(direct, 32); /* of long data only: a message of no bytes is none */
    assert_int_equal(elsewhere, 0);
    plans_release(plans, 12);
    hx_graph_release(graph);
    hx_shape_free(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_matched), cmocka_unit_test(plans_are_right), cmocka_unit_test(faults_are_found),
        cmocka_unit_test(messages_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
