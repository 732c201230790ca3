/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of a stage in SLOT, slice by slice: apart, inside, each with all its bytes; for large and for tiny pieces. */
#include "hier/planner.h"
#include "runtime/plan/layout.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t seed = 999;

static uint32_t draw(uint32_t low, uint32_t high) /* both included */
{
    seed = seed * 1664525u + 1013904223u;
    return low + (seed >> 8) % (high - low + 1);
}

static void slice_check(const struct hx_layout *layout, uint64_t slice)
{
    unsigned char *taken = calloc(layout->slot_bytes + 1, 1);
    size_t align = layout->sizes.elem_bytes & -layout->sizes.elem_bytes; /* as an element may want it */
    struct hx_span spans[8];

    for (uint32_t b = 0; b < layout->stage->nblocks; b++) {
        int n = hx_layout_spans(layout, HX_SLOT, b, 1, 0, slice, spans, 8);
        size_t bytes = 0;
        assert_in_range(n, 0, 1); /* a block stands in one piece */
        for (int i = 0; i < n; i++) {
            assert_true(spans[i].offset % (align < 64 ? align : 64) == 0);
            assert_true(spans[i].offset + spans[i].bytes <= layout->slot_bytes);
            for (size_t at = spans[i].offset; at < spans[i].offset + spans[i].bytes; at++)
                assert_int_equal(taken[at]++, 0);
            bytes += spans[i].bytes;
        }
        assert_int_equal(bytes, hx_layout_bytes(layout, b, 1, slice));
    }
    free(taken);
}

/* A stage whose blocks are lists of 0 to 5 plan blocks, or the parts of one. */
static void layout_check(uint32_t nblocks, const struct hx_sizes *sizes, int per_rank, int ragged, int split, int *with_lines)
{
    struct hx_plan *plan = hx_plan_new(HX_COLL_ALLGATHER, (int)nblocks, 0, 1);
    int *members = calloc(nblocks, sizeof(*members));
    struct hx_stage *stage = hx_plan_add_stage(plan, 0, HX_SCOPE_INTRA, members, (int)nblocks, 0);
    struct hx_layout layout;
    struct hx_sizes own = *sizes;
    uint64_t *starts = NULL;

    stage->list_start = calloc(nblocks + 1, sizeof(uint32_t));
    stage->list = calloc(5 * (size_t)nblocks + 1, sizeof(uint32_t));
    for (uint32_t b = 0; b < nblocks; b++)
        stage->list_start[b + 1] = stage->list_start[b] + draw(0, 5);
    for (uint32_t i = 0; i < stage->list_start[nblocks]; i++)
        stage->list[i] = i;
    plan->nblocks = plan->in_nblocks = plan->out_nblocks = stage->list_start[nblocks] + 1;
    plan->partition = per_rank ? HX_PARTITION_PER_RANK : HX_PARTITION_EVEN;
    if (ragged) { /* up to count elements each */
        starts = calloc((size_t)plan->nblocks + 1, sizeof(*starts));
        for (uint64_t x = 0; x < plan->nblocks; x++)
            starts[x + 1] = starts[x] + draw(0, (uint32_t)sizes->count);
        own.starts = starts;
    }
    stage->uses_slot = 1;
    stage->split = split;
    hx_layout_init(&layout, plan, stage, &own);
    with_lines[!!layout.slot_lines]++;
    for (uint64_t slice = 0; slice < layout.nslices; slice++)
        slice_check(&layout, slice);
    free(starts);
    free(members);
    hx_plan_release(plan);
}

static void blocks_stand_apart(void **state)
{
    static const uint32_t elements[] = {1, 2, 4, 8, 16, 3, 12, 40, 1000}; /* the last ones of the program's own types */
    int with_lines[2][2] = {{0, 0}, {0, 0}};

    (void)state;
    for (int i = 0; i < 3000; i++) {
        uint64_t coarse = draw(1, 4);
        uint32_t bytes = elements[draw(0, 8)];
        struct hx_sizes sizes = {.count = draw(0, 1u << draw(0, bytes > 16 ? 7 : 13)), .elem_bytes = bytes,
                                 .fine_slices = coarse * draw(1, 7), .coarse_slices = coarse};
        int split = (int)draw(0, 1), blocks = (int)draw(0, 2);
        layout_check(draw(1, 24), &sizes, blocks > 0, blocks > 1, split, with_lines[split]);
    }
    for (int split = 0; split < 2; split++) /* all ways were tried */
        assert_in_range(with_lines[split][0], 20, with_lines[split][0] + with_lines[split][1] - 20);
}

/* As long as a call may be, and cut into as many slices as there may be: they follow each other, and are alike but for an element. */
static void slices_of_the_longest_vector(void **state)
{
    const uint64_t count = (UINT64_C(1) << 48) - 1, slices[] = {7, (1 << 22) - 1, 1 << 23};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct hx_sizes sizes = {.count = count, .elem_bytes = 1, .fine_slices = slices[i], .coarse_slices = 1};
        struct hx_plan *plan = hx_plan_new(HX_COLL_BCAST, 2, 0, 1);
        struct hx_stage *stage = hx_plan_add_stage(plan, 0, HX_SCOPE_INTRA, (int[]){0, 1}, 2, 0);
        struct hx_layout layout;
        struct hx_span span;
        size_t end = 0;

        stage->nblocks = plan->nblocks = plan->in_nblocks = plan->out_nblocks = 1;
        stage->uses_slot = 1;
        hx_layout_init(&layout, plan, stage, &sizes);
        for (uint64_t slice = 0; slice < slices[i]; slice++) {
            assert_int_equal(hx_layout_spans(&layout, HX_OUT, 0, 1, 0, slice, &span, 1), 1);
            assert_true(span.offset == end && span.bytes - count / slices[i] <= 1 && span.bytes <= layout.slot_bytes);
            end += span.bytes;
        }
        assert_true(end == count);
        hx_plan_release(plan);
    }
}

/* Bytes that one rank's slots take, as cut by the planner; elements of 4 bytes. *widest: the most slices under way. */
static size_t slots_of(const struct hx_planner *planner, const struct hx_candidate *candidate, struct hx_plan *plan, uint64_t count,
                       unsigned *widest)
{
    struct hx_choice choice;

    assert_non_null(plan);
    assert_int_equal(hx_planner_slices(planner, candidate, plan, count, 4, 0, &choice), HX_SUCCESS);
    struct hx_sizes sizes = {.count = count, .elem_bytes = 4, .fine_slices = choice.fine_slices, .coarse_slices = choice.coarse_slices,
                             .limit = choice.limit};
    if (choice.window_fine > *widest)
        *widest = choice.window_fine;
    return hx_planner_live_slots(plan, &sizes, choice.window_fine, choice.window_coarse);
}

static struct hx_candidate candidates[HX_MAX_CANDIDATES];
static const char *fallback; /* of them: not looked at */

/* Many ranks on a node with a small cache: all slots of a node stay within half of it. (Bind would refuse more than a rank's bank.) */
static void slots_fit_the_bank(void **state)
{
    static const char *const shapes[] = {"64x192", "2x256", "3x171", "2x180,170", "2x300,1", "200", "384", "4x512",
                                         "64x192/2/12", "2x180/2/4,170/3", "200/3"};
    struct hx_env env;
    unsigned widest = 0;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (int coll = 0; coll < HX_COLL_COUNT; coll++) {
            char error[HX_TOPO_ERROR_BYTES];
            struct hx_shape *shape = hx_shape_parse(shapes[i], error);
            struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = shape->max_local, .single_copy = 1};
            uint64_t count = (64 << 20) / (hx_coll_has_blocks((enum hx_coll)coll) ? 4 * (uint64_t)shape->nranks : 4);
            int root = hx_coll_is_rooted((enum hx_coll)coll) ? shape->nranks / 2 : 0;
            struct hx_planner planner;
            assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
            double bytes = hx_planner_vector_bytes(&planner, (enum hx_coll)coll, count, 4);
            int n = hx_planner_candidates(&planner, (enum hx_coll)coll, root, 0, bytes, candidates, &fallback);
            for (int c = 0; c < n; c++) {
                struct hx_plan *plan = hx_compose(shape, root, &candidates[c]);
                size_t slots = slots_of(&planner, &candidates[c], plan, count, &widest);
                if (slots > (size_t)job.llc_bytes / 2 / (size_t)shape->max_local || slots > planner.bank_bytes)
                    fail_msg("%s on %s: %zu bytes of slots, there are %zu", plan->name, shapes[i], slots, planner.live_bytes);
                hx_plan_release(plan);
            }
            hx_planner_release(&planner);
            hx_shape_free(shape);
        }
    hx_env_release(&env);
}

/* What the fullest node cuts, smaller ones find room for too, though their parts are longer and rounded otherwise. */
static void smaller_nodes_have_room(void **state)
{
    static const struct {
        const char *shape;
        uint64_t llc_mib, count, step; /* elements of the whole vector: the first, and from one to the next of 60 */
    } cases[] = {{"16,15", 0, 30 << 10, 64}, {"16,15", 0, 700 << 10, 1111}, {"16,15,14", 64, 1 << 20, 7777},
                 {"96,95", 72, 48000, 50},   {"96,95", 72, 4800000, 1300},  {"9,8,5", 0, 9000, 333}, {"3,2", 64, 1 << 20, 7777}};
    static const enum hx_coll colls[] = {HX_COLL_ALLREDUCE, HX_COLL_REDUCE_SCATTER, HX_COLL_ALLGATHER};
    struct hx_env env;
    unsigned widest = 0;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (size_t i = 0; i < 60 * sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t k = 0; k < sizeof(colls) / sizeof(colls[0]); k++) {
            char error[HX_TOPO_ERROR_BYTES];
            struct hx_shape *shape = hx_shape_parse(cases[i / 60].shape, error);
            struct hx_job job = {.llc_bytes = cases[i / 60].llc_mib << 20, .cpus_per_node = shape->max_local};
            uint64_t count = cases[i / 60].count + i % 60 * cases[i / 60].step;
            int last = shape->nranks - 1, n;
            struct hx_planner planner;

            if (hx_coll_has_blocks(colls[k]))
                count = count / (uint64_t)shape->nranks + 1;
            env.slice = i % 2 ? 64 << 10 : 0;
            assert_int_equal(hx_planner_init(&planner, &env, shape, last, &job, NULL), HX_SUCCESS);
            n = hx_planner_candidates(&planner, colls[k], 0, 0, 4.0 * (double)count, candidates, &fallback);
            for (int c = (int)(i % 3); c < n; c += 3) {
                struct hx_plan *plan = hx_compose(shape, last, &candidates[c]);
                size_t slots = slots_of(&planner, &candidates[c], plan, count, &widest);
                if (slots > planner.bank_bytes)
                    fail_msg("%s of %llu elements on %s: %zu bytes of slots on the last node, there are %zu", plan->name,
                             (unsigned long long)count, cases[i / 60].shape, slots, planner.bank_bytes);
                hx_plan_release(plan);
            }
            hx_planner_release(&planner);
            hx_shape_free(shape);
        }
    assert_int_equal(widest, HX_FINE_WINDOW_MAX);
    hx_env_release(&env);
}

/* The slices, the window and the slots' bytes of a vector of 4 bytes times count, on a node with that cache. slice_bytes 0: the planner's. */
static struct hx_choice slices_choice(const char *shape_text, int64_t llc_bytes, const struct hx_candidate *candidate, uint64_t count,
                                      uint64_t slice_bytes)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse(shape_text, error);
    struct hx_job job = {.llc_bytes = llc_bytes, .cpus_per_node = shape->max_local};
    struct hx_plan *plan = hx_compose(shape, 0, candidate);
    struct hx_planner planner;
    struct hx_choice choice;
    struct hx_env env;

    assert_non_null(plan);
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
    assert_int_equal(hx_planner_slices(&planner, candidate, plan, count, 4, slice_bytes, &choice), HX_SUCCESS);
    assert_true(choice.slot_bytes <= planner.live_bytes);
    hx_planner_release(&planner);
    hx_env_release(&env);
    hx_plan_release(plan);
    hx_shape_free(shape);
    return choice;
}

static struct hx_choice broadcast_choice(const char *shape_text, int64_t llc_bytes, const struct hx_candidate *candidate)
{
    return slices_choice(shape_text, llc_bytes, candidate, 1 << 18, 64 << 10); /* 1 MiB in slices of 64 KiB */
}

/* Slices under way take slots in turn: as many as fit 1 MiB and this rank's part of the cache, but not where each has rings of its own. */
static void windows_are_as_wide_as_there_is_room(void **state)
{
    struct hx_candidate by_slots = {.coll = HX_COLL_BCAST}, by_rings = {.coll = HX_COLL_BCAST, .lanes = 1}, by_single_copy = by_slots;

    (void)state;
    by_slots.flat = hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTRA, "nary");
    by_rings.inter = hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTER, "flat");
    by_rings.last = hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTRA, "binomial");
    by_single_copy.flat = hx_algorithm_find(HX_COLL_BCAST, HX_SCOPE_INTRA, "single_copy");

    struct hx_choice roomy = broadcast_choice("2", 32 << 20, &by_slots), narrow = broadcast_choice("2", 6 << 20, &by_slots),
                     crowded = broadcast_choice("96", 32 << 20, &by_slots), rings = broadcast_choice("2x2", 32 << 20, &by_rings),
                     single_copy = broadcast_choice("2", 32 << 20, &by_single_copy);
    assert_true(roomy.fine_slices == 16 && roomy.window_fine == HX_FINE_WINDOW_MAX && roomy.slot_bytes == 1 << 20);
    assert_true(narrow.fine_slices == 16 && narrow.window_fine == 8);
    assert_int_equal(crowded.window_fine, HX_FINE_WINDOW);
    assert_true(rings.fine_slices >= 16 && rings.window_fine == HX_FINE_WINDOW);
    assert_true(single_copy.fine_slices > HX_FINE_WINDOW && single_copy.window_fine == HX_FINE_WINDOW);
}

/* By single copy a vector of 1 MiB stays whole if it has blocks and is not reduced. */
static void single_copy_cuts_no_blocks(void **state)
{
    (void)state;
    for (int coll = 0; coll < HX_COLL_COUNT; coll++) {
        struct hx_candidate candidate = {.coll = (enum hx_coll)coll};
        int blocks = hx_coll_has_blocks(candidate.coll);
        if (!(candidate.flat = hx_algorithm_find(candidate.coll, HX_SCOPE_INTRA, "single_copy")))
            continue;
        struct hx_choice choice = slices_choice("2", 32 << 20, &candidate, 1 << (blocks ? 17 : 18), 0);
        assert_int_equal(choice.fine_slices == 1, blocks && !hx_coll_reduces(candidate.coll));
    }
}

/* Calls take slots in turn: four times theirs, as far as 1 MiB for each core goes, and not of very short ones. */
static void turns_have_room_on_their_core(void **state)
{
    static const struct {
        int cpus; /* for 8 ranks */
        size_t slot_kib;
        unsigned turns;
    } cases[] = {{8, 8, 1}, {8, 16, 4}, {8, 256, 4}, {8, 300, 2}, {8, 600, 1}, {4, 128, 4}, {4, 256, 2}, {2, 64, 4}, {2, 256, 1}};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("8", error);
    struct hx_env env;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hx_job job = {.llc_bytes = 64 << 20, .cpus_per_node = cases[i].cpus, .ranks_per_cpu = 8.0 / cases[i].cpus};
        struct hx_planner planner;
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        assert_int_equal(hx_planner_turns(&planner, HX_COLL_ALLREDUCE, cases[i].slot_kib << 10), cases[i].turns);
        hx_planner_release(&planner);
    }
    hx_env_release(&env);
    hx_shape_free(shape);
}

/* HX_TURNS: the next lower power of two, as far as the flags go. Any value that the table of settings allows. */
static void turns_are_as_set(void **state)
{
    static const struct {
        const char *set;
        unsigned turns;
        double ranks_per_cpu;
    } cases[] = {{"1", 1, 1}, {"3", 2, 1}, {"8", 8, 1}, {"9", 8, 1}, {"64", 8, 1}, {"9", 8, 2}, {"64", 32, 2}};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("8", error);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hx_env env;
        struct hx_planner planner;
        const struct hx_job job = {.llc_bytes = 64 << 20, .cpus_per_node = 8, .ranks_per_cpu = cases[i].ranks_per_cpu};
        setenv("HX_TURNS", cases[i].set, 1);
        assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        assert_int_equal(hx_planner_turns(&planner, HX_COLL_ALLREDUCE, 1 << 10), cases[i].turns);
        assert_int_equal(hx_planner_turns(&planner, HX_COLL_BCAST, 1 << 10), cases[i].turns);
        hx_planner_release(&planner);
        hx_env_release(&env);
    }
    unsetenv("HX_TURNS");
    hx_shape_free(shape);
}

/* What goes by levels needs private memory on its way: of long vectors too much, and it is no choice. */
static void levels_hold_no_long_vectors(void **state)
{
    static const enum hx_coll colls[] = {HX_COLL_REDUCE, HX_COLL_REDUCE_SCATTER};
    struct hx_env env;

    (void)state;
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (int i = 0; i < 2 * 21; i++) { /* of 1 KiB to 1 GiB */
        char error[HX_TOPO_ERROR_BYTES];
        struct hx_shape *shape = hx_shape_parse("2x24/2/6", error);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = shape->max_local};
        uint64_t count = (UINT64_C(256) << i / 2) / (i % 2 ? (uint64_t)shape->nranks : 1) + 1;
        struct hx_sizes sizes = {.count = count, .elem_bytes = 4, .fine_slices = 1, .coarse_slices = 1};
        struct hx_planner planner;
        int first = colls[i % 2] == HX_COLL_REDUCE ? 6 : 0; /* the shortest reduce goes by one lane, which has no levels */
        int by_levels = 0, n;

        assert_int_equal(hx_planner_init(&planner, &env, shape, 1, &job, NULL), HX_SUCCESS);
        double bytes = hx_planner_vector_bytes(&planner, colls[i % 2], count, 4);
        n = hx_planner_candidates(&planner, colls[i % 2], 0, 0, bytes, candidates, &fallback);
        for (int c = 0; c < n; c++) {
            int levels = hx_candidate_needs(&candidates[c], HX_NEEDS_LEVELS);
            struct hx_plan *plan = levels ? hx_compose(shape, 1, &candidates[c]) : NULL;
            by_levels += plan != NULL;
            assert_true(!plan || hx_layout_space_bytes(plan, &sizes, HX_WORK) <= 33 << 19);
            hx_plan_release(plan);
        }
        assert_true(n > 0 && (by_levels > 0) == (i / 2 >= first && i / 2 < 15));
        hx_planner_release(&planner);
        hx_shape_free(shape);
    }
    hx_env_release(&env);
}

/* However short the slices are forced to be: where a long vector's slots fit without that, they do. */
static void shortest_slices_fit(void **state)
{
    static const char *const shapes[] = {"2x96", "2x384", "8x192", "2x24"};
    struct hx_candidate candidate = {.coll = HX_COLL_ALLREDUCE, .lanes = 1};
    struct hx_env env;
    unsigned widest = 0;

    (void)state;
    candidate.first = hx_algorithm_find(HX_COLL_REDUCE_SCATTER, HX_SCOPE_INTRA, "nary");
    candidate.inter = hx_algorithm_find(HX_COLL_ALLREDUCE, HX_SCOPE_INTER, "mesh");
    candidate.last = hx_algorithm_find(HX_COLL_ALLGATHER, HX_SCOPE_INTRA, "nary");
    assert_int_equal(hx_env_load(&env, NULL), HX_SUCCESS);
    for (int i = 0; i < 4 * 64; i++) {
        char error[HX_TOPO_ERROR_BYTES];
        struct hx_shape *shape = hx_shape_parse(shapes[i % 4], error);
        struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = shape->max_local};
        uint64_t count = (UINT64_C(1) << 32) * (uint64_t)(i / 4 + 1);
        struct hx_planner planner;

        assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
        struct hx_plan *plan = hx_compose(shape, 0, &candidate);
        size_t unforced = slots_of(&planner, &candidate, plan, count, &widest), forced;
        planner.forced_slice = 1;
        forced = slots_of(&planner, &candidate, plan, count, &widest);
        if (unforced <= planner.bank_bytes && forced > planner.bank_bytes)
            fail_msg("%s on %s: %zu bytes of slots, there are %zu", plan->name, shapes[i % 4], forced, planner.bank_bytes);
        hx_plan_release(plan);
        hx_planner_release(&planner);
        hx_shape_free(shape);
    }
    hx_env_release(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_stand_apart),
        cmocka_unit_test(slices_of_the_longest_vector),
        cmocka_unit_test(slots_fit_the_bank),
        cmocka_unit_test(smaller_nodes_have_room),
        cmocka_unit_test(windows_are_as_wide_as_there_is_room),
        cmocka_unit_test(single_copy_cuts_no_blocks),
        cmocka_unit_test(turns_have_room_on_their_core),
        cmocka_unit_test(turns_are_as_set),
        cmocka_unit_test(levels_hold_no_long_vectors),
        cmocka_unit_test(shortest_slices_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
