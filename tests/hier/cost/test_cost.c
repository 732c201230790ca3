/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model against what is known: the table of the catalogue (when which algorithm wins), and the plans
 * themselves. */
#include "hier/planner.h"
#include "runtime/plan/layout.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIB 1024.0
#define MIB (1024.0 * 1024)

static const char *const columns[] = {"mesh_single", "mesh", "recursive_doubling", "circulant", "ring"};

/* Microseconds of an all-reduce over N nodes; 18 us, 12.5 GB/s, 0.3 us per extra message. */
static const struct {
    int nodes;
    double bytes, us[5];
} rows[] = {
    {8, 8 * KIB, {25, 41, 56, 109, 253}},
    {8, 64 * KIB, {57, 49, 70, 117, 261}},
    {32, 8 * KIB, {48, 56, 93, 181, 1117}},
    {32, 1 * MIB, {2628, 217, 509, 343, 1279}},
    {32, 16 * MIB, {41635, 2655, 6801, 2780, 3716}},
};

static const struct hx_algorithm *find(enum hx_coll coll, const char *name)
{
    const struct hx_algorithm *a = hx_algorithm_find(coll, HX_SCOPE_INTER, name);

    assert_non_null(a);
    return a;
}

static struct hx_shape *single_ranks(int nodes)
{
    char text[32], error[HX_TOPO_ERROR_BYTES];

    snprintf(text, sizeof(text), "%dx1", nodes);
    struct hx_shape *shape = hx_shape_parse(text, error);
    assert_non_null(shape);
    return shape;
}

static void the_table_comes_out(void **state)
{
    struct hx_cost_params params;

    (void)state;
    hx_cost_defaults(&params, 1);
    params.net_alpha_us = 18;
    params.net_gb_s = params.stream_gb_s = 12.5;
    params.message_us = 0.3;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct hx_shape *shape = single_ranks(rows[r].nodes);
        int least = 0, best = 0;
        double cost[5];
        for (int c = 0; c < 5; c++) {
            struct hx_candidate candidate = {.coll = HX_COLL_ALLREDUCE, .flat = find(HX_COLL_ALLREDUCE, columns[c])};
            cost[c] = hx_cost_of(&params, shape, &candidate, rows[r].bytes).total_us;
            if (fabs(cost[c] - rows[r].us[c]) > 0.1 * rows[r].us[c])
                fail_msg("%s, %d nodes, %.0f bytes: %.1f us, the table says %.0f", columns[c], rows[r].nodes,
                         rows[r].bytes, cost[c], rows[r].us[c]);
            least = rows[r].us[c] < rows[r].us[least] ? c : least;
            best = cost[c] < cost[best] ? c : best;
        }
        assert_int_equal(best, least);
        hx_shape_free(shape);
    }
}

/* 8 bytes on 1,024 nodes: two rounds of 31 messages instead of ten of one. */
static void a_radix_saves_rounds(void **state)
{
    struct hx_shape *shape = single_ranks(1024);
    struct hx_candidate candidate = {.coll = HX_COLL_ALLREDUCE};
    struct hx_cost_params params;

    (void)state;
    hx_cost_defaults(&params, 1);
    params.net_alpha_us = 17.7;
    params.message_us = 0.3;
    candidate.flat = find(HX_COLL_ALLREDUCE, "recursive_doubling");
    assert_in_range(hx_cost_of(&params, shape, &candidate, 8).total_us, 177, 178);
    candidate.flat = find(HX_COLL_ALLREDUCE, "kradix32");
    assert_in_range(hx_cost_of(&params, shape, &candidate, 8).total_us, 53, 54);
    hx_shape_free(shape);
}

/* Cores that copy what goes between nodes pay for sums besides, devices do not. Two members: both send a vector in all, but one adds up a
 * whole one. */
static void copying_cores_pay_for_sums(void **state)
{
    struct hx_shape *pair = single_ranks(2);
    struct hx_candidate whole = {.coll = HX_COLL_ALLREDUCE, .flat = find(HX_COLL_ALLREDUCE, "mesh_single")}, halves = whole;

    (void)state;
    halves.flat = find(HX_COLL_ALLREDUCE, "mesh");
    for (int copies = 0; copies < 2; copies++) {
        struct hx_cost_params params;
        hx_cost_defaults(&params, 1);
        params.core_gb_s = 3;
        params.copies = copies;
        double more = hx_cost_of(&params, pair, &whole, 16 * MIB).inter_us - hx_cost_of(&params, pair, &halves, 16 * MIB).inter_us;
        double sums = 16 * MIB / params.reduce_gb_s * 1e-3; /* of two vectors, of two halves */
        assert_true(fabs(more - (copies * sums - params.net_alpha_us)) < 1e-6 * sums);
    }
    hx_shape_free(pair);
}

/* Where one rank cannot drive its node's link, a flat ring gains from channels, until the link is full; where it can, it
 * does not. */
static void channels_fill_the_link(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("4x8", error);
    struct hx_candidate c = {.coll = HX_COLL_ALLREDUCE, .flat = find(HX_COLL_ALLREDUCE, "ring")};
    struct hx_cost_params params;
    double us[9];

    (void)state;
    assert_non_null(shape);
    hx_cost_defaults(&params, 1);
    for (int full = 1; full <= 8; full *= 2) {
        params.stream_gb_s = params.net_gb_s / full;
        for (c.channels = 1; c.channels <= 8; c.channels *= 2)
            us[c.channels] = hx_cost_of(&params, shape, &c, 64e6).inter_us;
        for (c.channels = 2; c.channels <= 8; c.channels *= 2)
            assert_int_equal(us[c.channels] < us[c.channels / 2], c.channels <= full);
    }
    hx_shape_free(shape);
}

/* Where cores copy what goes between nodes, a broadcast gains from lanes as long as there are cores for them; where there are not, the fewest
 * bytes and messages of all members together count, not the busiest one's. */
static void cores_that_copy_are_shared(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *pairs = hx_shape_parse("2x2", error), *single = single_ranks(4);
    struct hx_candidate lane = {.coll = HX_COLL_BCAST, .lanes = 1, .inter = find(HX_COLL_BCAST, "flat")}, lanes = lane;
    struct hx_candidate chain = {.coll = HX_COLL_BCAST, .flat = find(HX_COLL_BCAST, "chain")}, tree = chain;

    (void)state;
    assert_non_null(pairs);
    lanes.lanes = 2;
    lanes.first = hx_algorithm_find(HX_COLL_SCATTER, HX_SCOPE_INTRA, "nary");
    tree.flat = find(HX_COLL_BCAST, "binomial");
    for (int crowded = 0; crowded < 2; crowded++) {
        struct hx_cost_params params;
        hx_cost_defaults(&params, crowded ? 2 : 1);
        params.net_alpha_us = 25;
        params.net_gb_s = 2.5;
        params.stream_gb_s = 1.5;
        params.core_gb_s = crowded ? 1 : 3;
        params.message_us = 13;
        assert_int_equal(hx_cost_of(&params, pairs, &lanes, 4 * MIB).inter_us < hx_cost_of(&params, pairs, &lane, 4 * MIB).inter_us, !crowded);
        assert_int_equal(hx_cost_of(&params, single, &chain, 4 * MIB).total_us < hx_cost_of(&params, single, &tree, 4 * MIB).total_us,
                         !crowded);
    }
    hx_shape_free(single);
    hx_shape_free(pairs);
}

/* A chain is cut so that waiting for slices to pass, and the CPU's part in passing them on, cost least together; no message between
 * other algorithms' members is shorter than the least, nor a chain's where nobody waits. */
static void chains_are_cut_best(void **state)
{
    const struct hx_algorithm *chain = find(HX_COLL_SCAN, "chain"), *ring = find(HX_COLL_ALLGATHER, "ring");
    struct hx_cost_params params;

    (void)state;
    hx_cost_defaults(&params, 1);
    for (int p = 2; p <= 64; p *= 2) {
        for (double bytes = 64 * KIB; bytes <= 16 * MIB; bytes *= 4) {
            double slices = hx_cost_slices(&params, chain, p, bytes), coarsest = bytes / params.least_message, us[3];
            for (int k = 0; k < 3; k++) {
                double m = slices * (0.9 + 0.1 * k);
                us[k] = (p - 2) * bytes / m / params.stream_gb_s * 1e-3 + 2 * m * params.message_us;
            }
            assert_true(us[1] <= us[2] && (us[1] <= us[0] || slices == coarsest));
            assert_true(p > 2 || slices == coarsest);
            assert_true(hx_cost_slices(&params, ring, p, bytes) == coarsest);
        }
    }
}

/* On one node, an all-to-all whose buffers a core's own cache cannot hold fetches, until they fill its part of the last level. */
static void all_to_alls_fetch_between_caches(void **state)
{
    static const struct {
        const char *shape;
        double mib, cache_mib;
        int fetches;
    } cases[] = {{"2", 0.25, 24, 0}, {"2", 2, 24, 1}, {"2", 16, 24, 0}, {"2", 2, 4, 0}, {"2,2", 2, 24, 0}};
    char error[HX_TOPO_ERROR_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hx_shape *shape = hx_shape_parse(cases[i].shape, error);
        const char *const names[] = {"nary", "single_copy"};
        struct hx_cost_params params;
        double us[2];
        assert_non_null(shape);
        hx_cost_defaults(&params, 1);
        params.core_cache_bytes = cases[i].cache_mib * 1048576;
        for (int k = 0; k < 2; k++) {
            struct hx_candidate c = {.coll = HX_COLL_ALLTOALL, .flat = hx_algorithm_find(HX_COLL_ALLTOALL, HX_SCOPE_INTRA, names[k])};
            if (shape->nnodes > 1)
                c = (struct hx_candidate){.coll = HX_COLL_ALLTOALL, .lanes = 2, .first = c.flat, .inter = find(HX_COLL_ALLTOALL, "mesh")};
            us[k] = hx_cost_of(&params, shape, &c, cases[i].mib * 1048576).intra_us;
        }
        assert_int_equal(us[1] < us[0], cases[i].fetches);
        hx_shape_free(shape);
    }
}

/* So do a gather and a scatter from lanes, unless the copies inside the root's node cost more: on nodes with fewer cores than ranks. */
static void lanes_fill_the_roots_link(void **state)
{
    static const enum hx_coll colls[] = {HX_COLL_GATHER, HX_COLL_SCATTER};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("4x4", error);
    struct hx_cost_params params;

    (void)state;
    assert_non_null(shape);
    for (int i = 0; i < 12; i++) {
        struct hx_candidate one = {.coll = colls[i % 2], .lanes = 1, .inter = find(colls[i % 2], "flat")}, all = one;
        int full = i / 2 % 2 ? 4 : 1, crowded = i / 4 == 1, short_vector = i / 4 == 2;
        const struct hx_algorithm **part = one.coll == HX_COLL_GATHER ? &one.first : &one.last;
        double bytes = short_vector ? 64 : 64e6;
        *part = hx_algorithm_find(one.coll, HX_SCOPE_INTRA, "nary");
        all.lanes = 4;
        assert_true(hx_candidate_fits(&one, shape));
        assert_true(hx_candidate_fits(&all, shape));
        hx_cost_defaults(&params, crowded ? 32 : 1);
        params.stream_gb_s = params.net_gb_s / full;
        assert_int_equal(hx_cost_of(&params, shape, &all, bytes).total_us < hx_cost_of(&params, shape, &one, bytes).total_us,
                         full == 4 && !crowded && !short_vector);
    }
    hx_shape_free(shape);
}

/* Microseconds of the cheapest candidate. */
static double best_us(const struct hx_planner *planner, enum hx_coll coll, double bytes)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback;
    int n = hx_planner_candidates(planner, coll, 0, HX_FOLDS_ALIKE, bytes, candidates, &fallback);

    return hx_cost_of(&planner->cost, planner->shape, &candidates[hx_planner_best(planner, candidates, n, bytes)], bytes).total_us;
}

#define NEARLY 1.25 /* among 1,024 nodes there are better trees than meshes */

/* On large nodes too a reduction takes hardly longer than those that could stand in for it. */
static void large_nodes_keep_guidelines(void **state)
{
    static const char *const shapes[] = {"8x96", "64x96", "1024x96"};
    static const double sizes[] = {64 * KIB, MIB, 16 * MIB};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_env env;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (int i = 0; i < 9; i++) {
        struct hx_shape *shape = hx_shape_parse(shapes[i / 3], error);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 96};
        struct hx_planner planner;
        double bytes = sizes[i % 3];
        assert_non_null(shape);
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        double reduce = best_us(&planner, HX_COLL_REDUCE, bytes);
        double allreduce = best_us(&planner, HX_COLL_ALLREDUCE, bytes), bcast = best_us(&planner, HX_COLL_BCAST, bytes);
        double reduce_scatter = best_us(&planner, HX_COLL_REDUCE_SCATTER, bytes), scatter = best_us(&planner, HX_COLL_SCATTER, bytes);
        if (allreduce > NEARLY * (reduce + bcast) || reduce_scatter > NEARLY * (reduce + scatter))
            fail_msg("%s, %.0f bytes: allreduce %.0f us, reduce_scatter %.0f; reduce %.0f, bcast %.0f, scatter %.0f", shapes[i / 3],
                     bytes, allreduce, reduce_scatter, reduce, bcast, scatter);
        hx_planner_release(&planner);
        hx_shape_free(shape);
    }
    hx_env_release(&env);
}

/* In a job of this shape on 2 cores a node the model chooses what has `part` in its name. */
static void choice_check(const char *shape_text, double ranks_per_cpu, const struct hx_net_profile *net, enum hx_coll coll, double bytes,
                         const char *part)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = 2, .ranks_per_cpu = ranks_per_cpu};
    char error[HX_TOPO_ERROR_BYTES], name[HX_CANDIDATE_NAME_BYTES];
    struct hx_shape *shape = hx_shape_parse(shape_text, error);
    struct hx_planner planner;
    struct hx_env env;
    const char *fallback;
    int n;

    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, net), HX_SUCCESS);
    n = hx_planner_candidates(&planner, coll, 0, HX_FOLDS_ALIKE, bytes, candidates, &fallback);
    hx_candidate_name(&candidates[hx_planner_best(&planner, candidates, n, bytes)], name);
    if (!strstr(name, part))
        fail_msg("%s, %s, %.0f bytes: %s is chosen, not %s", shape_text, hx_coll_name(coll), bytes, name, part);
    hx_planner_release(&planner);
    hx_env_release(&env);
    hx_shape_free(shape);
}

/* 4 ranks on 2 cores, as measured at 16 KiB to 16 MiB: a root that sums alone keeps one core busy, not its share of both. */
static void a_root_sums_on_one_core(void **state)
{
    (void)state;
    for (double bytes = 16 * KIB; bytes <= 16 * MIB; bytes *= 4)
        choice_check("4", 2, NULL, HX_COLL_REDUCE, bytes, "flat(nary)");
}

/* Where 8 ranks share 2 cores, a second lane saves no work, as measured at 1 MiB: a rank without a lane leaves its core to one that has. */
static void lanes_that_share_cores_save_nothing(void **state)
{
    const struct hx_net_profile tcp = {
        .provider = "net", .alpha_us = 13, .gb_s = 2.5, .stream_gb_s = 2.5, .core_gb_s = 3, .message_us = 13};

    (void)state;
    for (int crowded = 0; crowded < 2; crowded++) {
        choice_check("4x2", crowded ? 4 : 1, &tcp, HX_COLL_ALLGATHER, MIB, crowded ? " x1" : " x2");
        choice_check("4x2", crowded ? 4 : 1, &tcp, HX_COLL_REDUCE_SCATTER, MIB, crowded ? " x1" : " x2");
    }
}

static int domain_at(const struct hx_shape *shape, int level, const struct hx_stage *stage, uint32_t member)
{
    return hx_shape_domain(shape, level, stage->members[member]);
}

/* Bytes that a step reads from slots of members of other domains than its rank's. */
static double far_bytes(const struct hx_shape *shape, int level, const struct hx_layout *layout, const struct hx_step *step)
{
    const struct hx_stage *stage = layout->stage;
    double bytes = (double)hx_layout_bytes(layout, step->block, step->nblocks, 0), far = 0;
    uint32_t first = step->op == HX_OP_REDUCE ? 0 : step->peer, n = step->op == HX_OP_REDUCE ? step->n : 1;

    for (uint32_t m = first; step->src == HX_SLOT && m < first + n; m++)
        far += domain_at(shape, level, stage, m) != domain_at(shape, level, stage, (uint32_t)stage->me) ? bytes : 0;
    return far;
}

/* What the model takes the busiest domain to read of others is what its plans read; alike: the part that all members of a domain read, of
 * which only each innermost one's first reader has it from afar. */
static void far_is_what_plans_read(void **state)
{
    static const struct {
        const char *name;
        enum hx_coll coll;
        double alike;
    } cases[] = {{"nary", HX_COLL_ALLREDUCE, 1}, {"nary_sliced", HX_COLL_ALLREDUCE, 0.5}, {"nary_levels", HX_COLL_ALLREDUCE, 0},
                 {"nary", HX_COLL_REDUCE_SCATTER, 0}, {"nary_levels", HX_COLL_REDUCE_SCATTER, 0}, {"nary", HX_COLL_ALLGATHER, 1},
                 {"nary_levels", HX_COLL_ALLGATHER, 0}, {"nary", HX_COLL_BCAST, 1}, {"nary_levels", HX_COLL_BCAST, 0},
                 {"nary", HX_COLL_REDUCE, 0}, {"nary_sliced", HX_COLL_REDUCE, 0}, {"nary_levels", HX_COLL_REDUCE, 0}};
    static const char *const shapes[] = {"4/2", "12/3", "12/2/3", "24/2/3/2", "6"};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_cost_params params;

    (void)state;
    hx_cost_defaults(&params, 1);
    params.far_gb_s = 1e-3; /* a byte takes a microsecond */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) * 5; i++) {
        struct hx_shape *shape = hx_shape_parse(shapes[i % 5], error);
        const struct hx_algorithm *a = hx_algorithm_find(cases[i / 5].coll, HX_SCOPE_INTRA, cases[i / 5].name);
        struct hx_candidate candidate = {.coll = a->coll, .flat = a};
        uint64_t bytes = 24 * 24 * 64;
        struct hx_sizes sizes = {.count = hx_coll_has_blocks(a->coll) ? bytes / (uint64_t)shape->nranks : bytes, .elem_bytes = 1,
                                 .fine_slices = 1, .coarse_slices = 1};
        double most[HX_SHAPE_LEVELS] = {0}, read[24] = {0}, sum = 0;
        for (int level = 0; level < shape->nlevels; level++) {
            memset(read, 0, sizeof(read));
            for (int rank = 0; rank < shape->nranks; rank++) {
                struct hx_plan *plan = hx_compose(shape, rank, &candidate);
                for (int s = 0; s < plan->nstages; s++) {
                    struct hx_layout layout;
                    hx_layout_init(&layout, plan, &plan->stages[s], &sizes);
                    for (uint32_t k = 0; k < plan->stages[s].nsteps; k++)
                        read[hx_shape_domain(shape, level, rank)] += far_bytes(shape, level, &layout, &plan->stages[s].steps[k]);
                }
                hx_plan_release(plan);
            }
            for (int d = 0; d < 24; d++)
                most[level] = fmax(most[level], read[d]);
            double readers = (double)shape->nranks / shape->most_domains[shape->nlevels - 1], alike = cases[i / 5].alike;
            sum += most[level] * (1 - alike + alike / readers);
        }
        double model = hx_cost_far_us(&params, shape, a, shape->nranks, (double)bytes);
        if (!(shape->nlevels == 0 && a->needs & HX_NEEDS_LEVELS) && fabs(model - sum) > 1e-6 * sum)
            fail_msg("%s %s on %s: %.0f bytes read, the model says %.0f", hx_coll_name(a->coll), a->name, shapes[i % 5], sum, model);
        hx_shape_free(shape);
    }
}

/* Others whose flags a rank awaits, in one call on one node: those of the slice one window before come for nothing. */
static unsigned flags_awaited(const struct hx_shape *shape, const struct hx_candidate *candidate, int rank)
{
    struct hx_plan *plan = hx_compose(shape, rank, candidate);
    unsigned flags = 0;

    assert_non_null(plan);
    for (int s = 0; s < plan->nstages; s++)
        for (uint32_t k = 0; k < plan->stages[s].nsteps; k++) {
            const struct hx_step *step = &plan->stages[s].steps[k];
            uint32_t me = (uint32_t)plan->stages[s].me;
            if ((step->op == HX_OP_AWAIT && !step->own) || step->op == HX_OP_ELECT)
                flags += step->n - (me >= step->peer && me < step->peer + step->n);
        }
    hx_plan_release(plan);
    return flags;
}

/* On a node of many ranks nobody awaits more flags than are charged, and not many fewer. */
static void flags_are_what_plans_await(void **state)
{
    static const char *const shapes[] = {"4", "96", "96/2/6"};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_cost_params params;
    const struct hx_algorithm *a;

    (void)state;
    hx_cost_defaults(&params, 1);
    params.intra_alpha_us = 1e6; /* nothing else counts */
    assert_true(hx_cost_hand_over(&params, 96) > 2 * hx_cost_hand_over(&params, 1));
    for (int i = 0; i < 3 * HX_COLL_COUNT; i++) {
        struct hx_shape *shape = hx_shape_parse(shapes[i % 3], error);
        int idx = 0;
        while ((a = hx_algorithm_next((enum hx_coll)(i / 3), HX_SCOPE_INTRA, &idx))) {
            struct hx_candidate candidate = {.coll = a->coll, .flat = a};
            unsigned most = 0;
            if (!(a->needs & (HX_NEEDS_SHARED_MEMORY | HX_NEEDS_LEVELS)) || (a->needs & HX_NEEDS_LEVELS && !shape->nlevels))
                continue;
            for (int rank = 0; rank < shape->nranks; rank++) {
                unsigned flags = flags_awaited(shape, &candidate, rank);
                most = flags > most ? flags : most;
            }
            double alphas = hx_cost_of(&params, shape, &candidate, 8).total_us / params.intra_alpha_us;
            double few = hx_cost_hand_over(&params, most) / params.intra_alpha_us;
            if (alphas < few - 0.1 || alphas > few + 8)
                fail_msg("%s %s on %s: a rank awaits %u flags, at least %.1f alphas, and the model says %.1f", hx_coll_name(a->coll), a->name,
                         shapes[i % 3], most, few, alphas);
        }
        hx_shape_free(shape);
    }
}

/* On one node of 8 the busiest member fetches, and sums, what .counts say. They charge more where readers get in each other's way, less
 * where sums overlap hand-overs, and for an exclusive scan as for a scan. */
static void shared_work_is_what_plans_do(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("8", error);
    const struct hx_algorithm *a;

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++) {
        struct hx_candidate candidate = {.coll = a->coll, .flat = a};
        struct hx_sizes sizes = {.count = hx_coll_has_blocks(a->coll) ? 8 : 64, .elem_bytes = 1, .fine_slices = 1, .coarse_slices = 1};
        double calls = 0, fetched = 0, reduced = 0;
        if (!(a->needs & HX_NEEDS_SHARED_MEMORY) || !a->counts)
            continue;
        for (int rank = 0; rank < 8; rank++) {
            struct hx_plan *plan = hx_compose(shape, rank, &candidate);
            double mine[3] = {0};
            struct hx_layout layout;
            hx_layout_init(&layout, plan, &plan->stages[0], &sizes);
            for (uint32_t k = 0; k < plan->stages[0].nsteps; k++) {
                const struct hx_step *step = &plan->stages[0].steps[k];
                double vectors = (double)hx_layout_bytes(&layout, step->block, step->nblocks, 0) / 64;
                mine[0] += step->op == HX_OP_FETCH;
                mine[1] += step->op == HX_OP_FETCH ? vectors : 0;
                mine[2] += step->op == HX_OP_REDUCE ? step->n * vectors : 0;
            }
            calls = fmax(calls, mine[0]);
            fetched = fmax(fetched, mine[1]);
            reduced = fmax(reduced, mine[2]);
            hx_plan_release(plan);
        }
        struct hx_counts said = a->counts((struct hx_group){.coll = a->coll, .p = 8, .owners = 8});
        double sums = said.work[0].reduced + said.work[1].reduced;
        if ((said.calls != calls && a->coll != HX_COLL_BCAST) || fabs(said.fetched - fetched) > 1e-9 || sums < 0.94 * reduced || sums > 1.15 * reduced)
            fail_msg("%s %s: %.0f calls, %.3f vectors fetched, %.3f read by sums; .counts say %.0f, %.3f, %.3f", hx_coll_name(a->coll), a->name,
                     calls, fetched, reduced, said.calls, said.fetched, sums);
    }
    hx_shape_free(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_is_what_plans_read),
        cmocka_unit_test(flags_are_what_plans_await),
        cmocka_unit_test(shared_work_is_what_plans_do),
        cmocka_unit_test(the_table_comes_out),
        cmocka_unit_test(a_radix_saves_rounds), cmocka_unit_test(copying_cores_pay_for_sums),
        cmocka_unit_test(channels_fill_the_link),
        cmocka_unit_test(cores_that_copy_are_shared),
        cmocka_unit_test(chains_are_cut_best),
        cmocka_unit_test(all_to_alls_fetch_between_caches),
        cmocka_unit_test(lanes_fill_the_roots_link),
        cmocka_unit_test(a_root_sums_on_one_core),
        cmocka_unit_test(lanes_that_share_cores_save_nothing),
        cmocka_unit_test(large_nodes_keep_guidelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
