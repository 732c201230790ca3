/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings in an order of nodes of their own: between nodes a ring's messages go from each to the next, every rank takes the same
 * order, and rank order is what it is without. */
#include "hier/planner.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES 5
static const int order[NODES] = {3, 0, 4, 1, 2};

static struct hx_shape *shape_of(const char *text, const int *ring)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse(text, error);

    assert_non_null(shape);
    assert_int_equal(shape->nnodes, NODES);
    if (ring)
        assert_int_equal(hx_shape_set_ring(shape, ring), 0);
    return shape;
}

static int next_of(int node)
{
    for (int i = 0; i < NODES; i++)
        if (order[i] == node)
            return order[(i + 1) % NODES];
    return -1;
}

/* Messages of a rank to other nodes than that of its own and the next; *to_next: how many go there. */
static int strays(const struct hx_shape *shape, const struct hx_candidate *candidate, int rank, int *to_next)
{
    struct hx_plan *plan = hx_compose(shape, rank, candidate);
    int n = 0;

    assert_non_null(plan);
    for (int s = 0; s < plan->nstages; s++)
        for (uint32_t i = 0; i < plan->stages[s].nsteps; i++) {
            const struct hx_step *step = &plan->stages[s].steps[i];
            if (step->op != HX_OP_SEND)
                continue;
            int from = shape->node_of[rank], to = shape->node_of[plan->stages[s].members[step->peer]];
            *to_next += to != from && to == next_of(from);
            n += to != from && to != next_of(from);
        }
    hx_plan_release(plan);
    return n;
}

static void messages_go_to_the_next_node(void **state)
{
    static const char *const shapes[] = {"5x1", "3,1,2,4,2", "3,1,2,4,2:cyclic"};
    static const enum hx_coll colls[] = {HX_COLL_ALLREDUCE, HX_COLL_REDUCE_SCATTER, HX_COLL_ALLGATHER};

    (void)state;
    for (int s = 0; s < 3; s++) {
        struct hx_shape *shape = shape_of(shapes[s], order);
        for (int c = 0; c < 3; c++)
            for (int lanes = 0; lanes <= shape->max_local; lanes++) {
                struct hx_candidate candidate = {.coll = colls[c], .lanes = lanes};
                enum hx_coll first = hx_candidate_first(colls[c], lanes), last = hx_candidate_last(colls[c], lanes);
                if (lanes) {
                    candidate.inter = hx_algorithm_find(colls[c], HX_SCOPE_INTER, "ring");
                    candidate.first = first == HX_COLL_COUNT ? NULL : hx_algorithm_find(first, HX_SCOPE_INTRA, "nary");
                    candidate.last = last == HX_COLL_COUNT ? NULL : hx_algorithm_find(last, HX_SCOPE_INTRA, "nary");
                } else {
                    candidate.flat = hx_algorithm_find(colls[c], HX_SCOPE_INTER, "ring");
                    candidate.channels = s ? 2 : 1;
                }
                int to_next = 0;
                if (!hx_candidate_fits(&candidate, shape))
                    continue;
                for (int rank = 0; rank < shape->nranks; rank++)
                    assert_int_equal(strays(shape, &candidate, rank, &to_next), 0);
                assert_true(to_next >= NODES * (NODES - 1));
            }
        hx_shape_free(shape);
    }
}

static void assert_same_plan(const struct hx_plan *a, const struct hx_plan *b)
{
    assert_int_equal(a->nstages, b->nstages);
    for (int s = 0; s < a->nstages; s++) {
        const struct hx_stage *x = &a->stages[s], *y = &b->stages[s];
        assert_int_equal(x->me, y->me);
        assert_int_equal(x->root, y->root);
        assert_int_equal(x->nsteps, y->nsteps);
        assert_memory_equal(x->members, y->members, (size_t)x->n * sizeof(int));
        if (x->nsteps)
            assert_memory_equal(x->steps, y->steps, x->nsteps * sizeof(*x->steps));
    }
}

/* Of all algorithms, flat: only those that pass a ring take the order, and by number it changes none. */
static void others_keep_their_members(void **state)
{
    static const int by_number[NODES] = {0, 1, 2, 3, 4};
    int rings = 0;

    (void)state;
    for (int c = 0; c < HX_COLL_COUNT; c++) {
        struct hx_candidate candidate = {.coll = (enum hx_coll)c};
        int idx = 0;
        while ((candidate.flat = hx_algorithm_next((enum hx_coll)c, HX_SCOPE_FLAT, &idx))) {
            struct hx_shape *plain = shape_of("3,1,2,4,2", NULL), *numbered = shape_of("3,1,2,4,2", by_number),
                            *ordered = shape_of("3,1,2,4,2", order);
            struct hx_plan *a = hx_compose(plain, 4, &candidate), *b = hx_compose(numbered, 4, &candidate),
                           *o = hx_compose(ordered, 4, &candidate);
            assert_true(a && b && o);
            assert_same_plan(a, b);
            if (candidate.flat->needs & HX_PASSES_RING) {
                assert_int_equal(plain->node_of[a->stages[0].members[0]], 0);
                assert_int_equal(plain->node_of[o->stages[0].members[0]], order[0]);
                rings++;
            } else {
                assert_same_plan(a, o);
            }
            if (hx_coll_reduces((enum hx_coll)c) && candidate.flat->needs & HX_PASSES_RING)
                assert_true(candidate.flat->needs & HX_NEEDS_COMMUTATIVE); /* else rank order could be asked of it */
            hx_plan_release(a);
            hx_plan_release(b);
            hx_plan_release(o);
            hx_shape_free(plain);
            hx_shape_free(numbered);
            hx_shape_free(ordered);
        }
    }
    assert_true(rings >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_go_to_the_next_node),
        cmocka_unit_test(others_keep_their_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
