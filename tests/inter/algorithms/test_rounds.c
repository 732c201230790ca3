/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms that send messages say of themselves (.counts, the formulas of their files' heads) is what their plans do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hier/cost/cost.h"
#include "runtime/plan/print.h"
#include "tests/runtime/plan/plans.h"

#define MAX_P 70
#define SHARE UINT64_C(232792560) /* bytes, divided by 1 .. 20: parts of more are even enough */

static struct hx_sizes sizes_of(enum hx_coll coll, int p)
{
    return (struct hx_sizes){
        .count = hx_coll_has_blocks(coll) ? SHARE : SHARE * (uint64_t)p, .elem_bytes = 1, .fine_slices = 1, .coarse_slices = 1};
}

/* Bytes that the reductions of a plan read. */
static double reads_of(const struct hx_plan *plan, const struct hx_sizes *sizes)
{
    const struct hx_stage *stage = &plan->stages[0];
    struct hx_layout layout;
    double bytes = 0;

    hx_layout_init(&layout, plan, stage, sizes);
    for (uint32_t i = 0; i < stage->nsteps; i++)
        if (stage->steps[i].op == HX_OP_REDUCE)
            bytes += stage->steps[i].n * (double)hx_layout_bytes(&layout, stage->steps[i].block, stage->steps[i].nblocks, 0);
    return bytes;
}

/* What p members do by their plans. ways: what the busiest member sends and receives, in multiples of the larger one. */
static struct hx_counts measure(const struct hx_algorithm *a, int p, double *ways)
{
    struct hx_shape *shape = shape_of(HX_SCOPE_INTER, p);
    struct hx_sizes sizes = sizes_of(a->coll, p);
    double vector = (double)SHARE * p, most = 0;
    struct hx_counts c = {0};

    for (int r = 0; r < p; r++) {
        struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, p, 0, r);
        struct hx_plan_stats stats;
        assert_non_null(plan);
        hx_plan_count(plan, shape, &sizes, &stats);
        assert_int_equal(stats.inter_messages, stats.messages);
        double sent = (double)stats.bytes_sent / vector, received = (double)stats.bytes_received / vector, reads = reads_of(plan, &sizes) / vector;
        int rooted = hx_coll_is_rooted(a->coll); /* a reduction's root receives most; else who receives most is who folds others in */
        c.rounds = fmax(c.rounds, stats.last_round);
        c.messages = fmax(c.messages, (double)(rooted && stats.receives > stats.messages ? stats.receives : stats.messages));
        c.vectors = fmax(c.vectors, rooted ? fmax(sent, received) : sent);
        c.reads = fmax(c.reads, reads);
        c.all_messages += (double)stats.messages;
        c.all_vectors += sent;
        c.all_reads += reads;
        most = fmax(most, sent + received);
        hx_plan_release(plan);
    }
    *ways = most / c.vectors;
    hx_shape_free(shape);
    return c;
}

static void assert_alike(const struct hx_algorithm *a, int p, const char *what, double said, double done, double unlike)
{
    if (fabs(said - done) > unlike + 1e-6 * fmax(done, 1))
        fail_msg("%s %s, %d members: %s %.4f by .counts, %.4f in plans", hx_coll_name(a->coll), a->name, p, what, said, done);
}

/* Exactly; but where excess members fold in, nobody does all that the busiest is charged for. */
static void test_counts(void **state)
{
    const struct hx_algorithm *a;
    struct hx_counts said;

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++)
        for (int p = 2; p <= MAX_P && hx_cost_counts(a, p, &said) == 0; p++) {
            double ways;
            struct hx_counts done = measure(a, p, &ways);
            int folds = (p & (p - 1)) && (!strcmp(a->name, "rdh") || (!strcmp(a->name, "bine") && !hx_coll_is_rooted(a->coll)) ||
                                          (!strcmp(a->name, "recursive_doubling") && !hx_coll_is_scan(a->coll)));
            assert_alike(a, p, "rounds", said.rounds, done.rounds, 0);
            assert_alike(a, p, "messages", said.messages, done.messages, 2 * folds);
            assert_alike(a, p, "vectors", said.vectors, done.vectors, folds);
            assert_alike(a, p, "messages of all", said.all_messages, done.all_messages, 0);
            assert_alike(a, p, "vectors of all", said.all_vectors, done.all_vectors, 0);
            assert_alike(a, p, "vectors read by sums", said.reads, done.reads, 0);
            assert_alike(a, p, "vectors read by all sums", said.all_reads, done.all_reads, 0);
            if (!folds && (ways > (said.one_way ? 1.34 : 2.68) || ways < (said.one_way ? 0.6 : 1.2)))
                fail_msg("%s %s, %d members: the busiest moves %.4f times what it sends, one_way %d", hx_coll_name(a->coll), a->name, p, ways,
                         said.one_way);
        }
}

/* The locality-aware Bruck all-gather: of 16 nodes of 4, one rank of each sends to other nodes, in 2 rounds of 3 messages, and no
 * block comes to a node twice. Bruck's exchange among all ranks sends all of its messages, but those of the first hops, from every
 * rank. */
static void test_locality(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("16x4", error);
    struct hx_candidate near = {.coll = HX_COLL_ALLGATHER, .lanes = 1, .inter = algorithm_named("kbruck", HX_COLL_ALLGATHER),
                                .last = algorithm_named("nary", HX_COLL_ALLGATHER)};
    struct hx_candidate flat = {.coll = HX_COLL_ALLGATHER, .flat = near.inter};
    struct hx_sizes sizes = sizes_of(HX_COLL_ALLGATHER, shape->nranks);

    (void)state;
    assert_int_equal(hx_candidate_fits(&near, shape), 1);
    for (int r = 0; r < shape->nranks; r++) {
        struct hx_plan *plans[] = {hx_compose(shape, r, &near), hx_compose(shape, r, &flat)};
        struct hx_plan_stats stats;
        assert_non_null(plans[0]);
        assert_non_null(plans[1]);
        hx_plan_count(plans[0], shape, &sizes, &stats);
        assert_int_equal(stats.inter_messages, r % 4 == 0 ? 6 : 0);
        assert_int_equal(stats.inter_bytes_sent, r % 4 == 0 ? 15 * 4 * SHARE : 0);
        hx_plan_count(plans[1], shape, &sizes, &stats);
        assert_in_range(stats.inter_messages, 6, 9);
        hx_plan_release(plans[0]);
        hx_plan_release(plans[1]);
    }
    hx_shape_free(shape);
}

/* The which-th step of an opcode. */
static const struct hx_step *step_of(const struct hx_plan *plan, enum hx_opcode op, int which)
{
    for (uint32_t i = 0; i < plan->stages[0].nsteps; i++)
        if (plan->stages[0].steps[i].op == op && which-- == 0)
            return &plan->stages[0].steps[i];
    fail_msg("the plan has too few steps");
    return NULL;
}

/* The mesh's targets are staggered: r+1, r+2, ... */
static void test_order_of_the_mesh(void **state)
{
    static const char *const names[] = {"mesh", "mesh_single"};

    (void)state;
    for (int n = 0; n < 2; n++)
        for (int r = 0; r < 7; r++) {
            const struct hx_algorithm *a = algorithm_named(names[n], HX_COLL_ALLREDUCE);
            struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, 7, 0, r);
            for (int i = 1; i < 7; i++) {
                assert_int_equal(step_of(plan, HX_OP_SEND, i - 1)->peer, (r + i) % 7);
                assert_int_equal(step_of(plan, HX_OP_RECV, i - 1)->peer, (r - i + 7) % 7);
            }
            hx_plan_release(plan);
        }
}

/* All-to-all: of many members no more than 32 exchanges are under way, and the plan stays small. */
static void test_window_of_the_mesh(void **state)
{
    const struct hx_algorithm *a = algorithm_named("mesh", HX_COLL_ALLTOALL);
    struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, 1024, 0, 5);
    const struct hx_stage *stage = &plan->stages[0];
    uint32_t started = 0, under_way = 0;

    (void)state;
    for (uint32_t i = 0; i < stage->nsteps; i++) {
        if (stage->steps[i].op == HX_OP_JOIN)
            under_way -= stage->steps[i].n;
        else if (stage->steps[i].op != HX_OP_COPY)
            started++, under_way++;
        assert_in_range(under_way, 0, 64);
    }
    assert_int_equal(started, 2 * 1023);
    assert_int_equal(under_way, 0);
    assert_int_equal(stage->ntransfers, 64);
    assert_in_range(hx_plan_bytes(plan), 0, 128 * 1024);
    hx_plan_release(plan);
}

/* Places between sender and receiver, of all messages. */
static int distance_of(const char *name, enum hx_coll coll, int p)
{
    const struct hx_algorithm *a = algorithm_named(name, coll);
    int sum = 0;

    for (int r = 0; r < p; r++) {
        struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, p, 0, r);
        for (uint32_t i = 0; i < plan->stages[0].nsteps; i++) {
            int apart = abs((int)plan->stages[0].steps[i].peer - r);
            if (plan->stages[0].steps[i].op == HX_OP_SEND)
                sum += apart < p - apart ? apart : p - apart;
        }
        hx_plan_release(plan);
    }
    return sum;
}

/* Bine trees: partners are 1, 1, 3, 5, 11, 21 places apart, where those of binomial trees are 1, 2, 4, 8, 16, 32. */
static void test_distance_of_bine(void **state)
{
    (void)state;
    for (int s = 3; s <= 6; s++) {
        static const int apart[] = {1, 1, 3, 5, 11, 21};
        int wanted = 0;
        for (int m = 1; m <= s; m++)
            wanted += apart[m - 1] << (s - m);
        assert_int_equal(distance_of("bine", HX_COLL_BCAST, 1 << s), wanted);
        assert_int_equal(distance_of("bine", HX_COLL_REDUCE, 1 << s), wanted);
        assert_int_equal(distance_of("binomial", HX_COLL_BCAST, 1 << s), s << (s - 1));
        /* each member sends to one partner in each round */
        wanted = 0;
        for (int k = 0; k < s; k++)
            wanted += apart[k] << s;
        assert_int_equal(distance_of("bine", HX_COLL_ALLGATHER, 1 << s), wanted);
        assert_int_equal(distance_of("bine", HX_COLL_REDUCE_SCATTER, 1 << s), wanted);
        assert_int_equal(distance_of("bine", HX_COLL_ALLREDUCE, 1 << s), 2 * wanted);
        assert_int_equal(distance_of("rdh", HX_COLL_ALLGATHER, 1 << s), ((1 << s) - 1) << s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_locality), cmocka_unit_test(test_order_of_the_mesh),
                                       cmocka_unit_test(test_window_of_the_mesh), cmocka_unit_test(test_distance_of_bine)};

    return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
