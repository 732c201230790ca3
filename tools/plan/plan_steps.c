/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_plan steps: plans as JSON, a line each, for programs that follow them: every step of every rank, and which elements it
 * moves. The vector is as short as it can be with all blocks of one length, and travels in one slice. plan_help.c describes the keys.
 */
#include "tools/plan/coll_plan.h"
#include "tools/common/whole_file.h"
#include "tools/common/json.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS_VERSION = 1, SPANS_MAX = 4096 };

static const char *const holds_names[] = {[HX_HOLDS_NOTHING] = "nothing", [HX_HOLDS_ALL] = "all", [HX_HOLDS_OWN] = "own",
                                          [HX_HOLDS_ROOT] = "root",       [HX_HOLDS_PAIRS] = "pairs"};

struct groups { /* stages that meet have the same number on all ranks */
    const struct hx_stage **first;
    int *ordinal;
    int n, capacity;
};

struct where { /* a step that is being written */
    const struct hx_stage *stage;
    const struct hx_layout *layout;
    int group;
};

static void int_append(struct json_object *array, int64_t value)
{
    json_object_array_add(array, json_object_new_int64(value));
}

static struct json_object *array_append(struct json_object *array)
{
    struct json_object *one = json_object_new_array();

    json_object_array_add(array, one);
    return one;
}

/* ---- sizes: the fewest elements with which every block of every stage has as many as the others */

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;

    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

static struct hx_sizes sizes_of(struct hx_plan **plans, int p)
{
    struct hx_sizes sizes = {.count = 1, .elem_bytes = 1, .fine_slices = 1, .coarse_slices = 1};

    for (int rank = 0; rank < p; rank++)
        for (int s = 0; s < plans[rank]->nstages; s++)
            if (plans[rank]->stages[s].split && plans[rank]->coll != HX_COLL_BARRIER)
                sizes.count = common_multiple(sizes.count, plans[rank]->stages[s].nblocks);
    if (plans[0]->partition == HX_PARTITION_EVEN && plans[0]->coll != HX_COLL_BARRIER)
        sizes.count *= plans[0]->nblocks;
    sizes.limit = sizes.count;
    return sizes;
}

/* ---- which stages meet */

static int is_of_group(const struct hx_stage *a, const struct hx_stage *b)
{
    return a->level == b->level && a->coarse == b->coarse && a->n == b->n && !memcmp(a->members, b->members, (size_t)a->n * sizeof(int));
}

static int group_of(struct groups *groups, const struct hx_plan *plan, const struct hx_stage *stage)
{
    int before = 0, i;

    for (const struct hx_stage *s = plan->stages; s < stage; s++)
        before += is_of_group(s, stage);
    for (i = 0; i < groups->n; i++)
        if (groups->ordinal[i] == before && is_of_group(groups->first[i], stage))
            return i;
    if (groups->n == groups->capacity) {
        groups->capacity = groups->capacity ? 2 * groups->capacity : 64;
        groups->first = plan_memory(realloc(groups->first, (size_t)groups->capacity * sizeof(*groups->first)));
        groups->ordinal = plan_memory(realloc(groups->ordinal, (size_t)groups->capacity * sizeof(*groups->ordinal)));
    }
    groups->first[groups->n] = stage;
    groups->ordinal[groups->n] = before;
    return groups->n++;
}

/* ---- steps */

/* [space, rank, first element, how many, ...]: of a member, from a row of SCRATCH on. */
static void operand_add(struct json_object *step, const struct where *w, const struct hx_step *of, unsigned space, uint32_t member,
                        uint32_t row)
{
    static struct hx_span spans[SPANS_MAX];
    const int rank = w->stage->members[member], unit = w->stage->share == HX_SHARE_COUNTS ? (int)sizeof(size_t) : 1;
    struct json_object *j = array_append(step);
    int n;

    if (of->op == HX_OP_FETCH && space == of->src)
        n = hx_layout_spans_of(w->layout, rank, (enum hx_space)space, of->block, of->nblocks, 0, spans, SPANS_MAX);
    else
        n = hx_layout_spans(w->layout, (enum hx_space)space, of->block, of->nblocks, row, 0, spans, SPANS_MAX);
    if (n > SPANS_MAX)
        plan_refuse("a step has %d parts, at most %d can be shown: choose a smaller shape", n, SPANS_MAX);
    json_object_array_add(j, json_object_new_string(hx_space_name(space)));
    int_append(j, rank);
    for (int i = 0; i < n; i++) {
        int_append(j, (int64_t)spans[i].offset / unit);
        int_append(j, (int64_t)spans[i].bytes / unit);
    }
}

/* In the order in which they are folded. */
static void sources_add(struct json_object *j, const struct where *w, const struct hx_step *step)
{
    const uint32_t own = step->own != HX_NOWHERE ? step->tag : UINT32_MAX;
    uint32_t row = step->row;

    for (uint32_t i = 0; i < step->n; i++) {
        if (i == own) {
            operand_add(j, w, step, step->own, (uint32_t)w->stage->me, step->dst_row);
        } else {
            operand_add(j, w, step, step->src, step->src == HX_SLOT ? i : (uint32_t)w->stage->me, row);
            row += step->nblocks;
        }
    }
}

static void transfer_add(struct json_object *j, const struct where *w, const struct hx_step *step)
{
    const int sends = step->op == HX_OP_SEND;

    int_append(j, step->handle);
    int_append(j, step->tag);
    int_append(j, w->stage->members[step->peer]);
    operand_add(j, w, step, sends ? step->src : step->dst, (uint32_t)w->stage->me, step->row);
}

static void awaited_add(struct json_object *j, const struct hx_stage *stage, const struct hx_step *step)
{
    struct json_object *ranks;

    int_append(j, step->tag);
    ranks = array_append(j);
    for (uint32_t k = 0; k < step->n; k++) {
        uint32_t member = (step->peer + k) % (uint32_t)stage->n;
        if (member != (uint32_t)stage->me)
            int_append(ranks, stage->members[member]);
    }
}

static void data_add(struct json_object *j, const struct where *w, const struct hx_step *step)
{
    const uint32_t me = (uint32_t)w->stage->me;

    operand_add(j, w, step, step->dst, step->op == HX_OP_REDUCE && step->dst == HX_SLOT ? step->peer : me, hx_step_dst_row(step));
    if (step->op == HX_OP_REDUCE)
        sources_add(j, w, step);
    else
        operand_add(j, w, step, step->src, step->op == HX_OP_FETCH || step->src == HX_SLOT ? step->peer : me, step->row);
}

/* With one slice there is none that a flag of an earlier one would protect. */
static void step_add(struct json_object *steps, const struct where *w, const struct hx_step *step)
{
    struct json_object *j = array_append(steps);

    json_object_array_add(j, json_object_new_string(hx_opcode_name(step->op)));
    switch ((enum hx_opcode)step->op) {
    case HX_OP_COPY:
    case HX_OP_FETCH:
    case HX_OP_ENCODE:
    case HX_OP_DECODE:
    case HX_OP_REDUCE:
        data_add(j, w, step);
        break;
    case HX_OP_SEND:
    case HX_OP_RECV:
        transfer_add(j, w, step);
        break;
    case HX_OP_JOIN:
        int_append(j, step->handle);
        int_append(j, step->n);
        break;
    case HX_OP_PUBLISH:
        int_append(j, w->stage->members[step->handle]);
        int_append(j, step->tag);
        break;
    case HX_OP_ELECT:
        awaited_add(j, w->stage, step);
        int_append(j, step->handle);
        break;
    case HX_OP_AWAIT:
        awaited_add(j, w->stage, step);
        break;
    case HX_OP_LEARN:
    case HX_OPCODE_COUNT:
        break;
    }
}

static void stage_add(struct json_object *stages, struct groups *groups, const struct hx_plan *plan, const struct hx_stage *stage,
                      const struct hx_sizes *sizes)
{
    static const char *const scopes[] = {"", "intra", "inter", "", "flat"};
    struct json_object *j = json_append_object(stages), *ranks, *steps;
    struct hx_layout layout;

    hx_layout_init(&layout, plan, stage, sizes);
    const struct where w = {stage, &layout, group_of(groups, plan, stage)};
    json_add_int(j, "level", stage->level);
    json_add_int(j, "after", stage->after);
    json_add_int(j, "group", w.group);
    json_add_text(j, "scope", scopes[stage->scope]);
    json_add_text(j, "algorithm", stage->algorithm);
    ranks = json_add_array(j, "ranks");
    for (int i = 0; i < stage->n; i++)
        int_append(ranks, stage->members[i]);
    steps = json_add_array(j, "steps");
    for (uint32_t i = 0; i < stage->nsteps; i++)
        if (!((stage->steps[i].op == HX_OP_AWAIT || stage->steps[i].op == HX_OP_PUBLISH) && stage->steps[i].own))
            step_add(steps, &w, &stage->steps[i]);
}

/* ---- plans */

/* [first element of the vector, how many, ...], in the order in which the rank's buffer holds them. */
static void buffer_add(struct json_object *rank, const char *key, const struct hx_plan *plan, const struct hx_sizes *sizes, uint64_t first,
                       uint32_t n, uint32_t stride)
{
    struct json_object *j = json_add_array(rank, key);

    for (uint32_t i = 0; i < n && plan->coll != HX_COLL_BARRIER; i++) {
        struct hx_extent e = hx_layout_extent(plan, sizes, first + i * (uint64_t)stride);
        int_append(j, (int64_t)e.start);
        int_append(j, (int64_t)e.length);
    }
}

static void rank_add(struct json_object *ranks, struct groups *groups, const struct hx_plan *plan, const struct hx_sizes *sizes)
{
    struct json_object *j = json_append_object(ranks), *stages;

    buffer_add(j, "in", plan, sizes, plan->in_block, plan->in_nblocks, 1);
    buffer_add(j, "out", plan, sizes, plan->out_block, plan->out_nblocks, plan->out_stride);
    stages = json_add_array(j, "stages");
    for (int s = 0; s < plan->nstages; s++)
        stage_add(stages, groups, plan, &plan->stages[s], sizes);
}

static void collective_add(struct json_object *j, enum hx_coll coll, int root)
{
    json_add_text(j, "collective", hx_coll_name(coll));
    json_add_text(j, "gives", holds_names[hx_coll_gives(coll)]);
    json_add_text(j, "gets", holds_names[hx_coll_gets(coll)]);
    json_add_flag(j, "reduces", hx_coll_reduces(coll));
    json_add_flag(j, "prefix", hx_coll_is_scan(coll) != 0);
    json_add_flag(j, "exclusive", hx_coll_is_exclusive(coll) != 0);
    json_add_flag(j, "one_buffer", hx_coll_has_one_buffer(coll));
    json_object_object_add(j, "root", hx_coll_is_rooted(coll) ? json_object_new_int(root) : NULL);
}

static int line_print(const struct hx_shape *shape, const char *shape_text, const struct hx_algorithm *a,
                       const struct hx_candidate *candidate)
{
    struct json_object *j = plan_memory(json_object_new_object()), *nodes, *ranks;
    struct hx_plan **plans = plans_compose(shape, candidate);
    const struct hx_sizes sizes = sizes_of(plans, shape->nranks);
    struct groups groups = {0};
    char name[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(candidate, name);
    json_add_int(j, "hierax_steps", STEPS_VERSION);
    collective_add(j, candidate->coll, candidate->root);
    json_add_text(j, "algorithm", a->name);
    json_add_text(j, "about", a->about);
    json_add_text(j, "source", a->source);
    json_add_text(j, "plan", name);
    json_add_text(j, "shape", shape_text);
    nodes = json_add_array(j, "node_of");
    for (int rank = 0; rank < shape->nranks; rank++)
        int_append(nodes, shape->node_of[rank]);
    ranks = json_add_array(j, "ranks");
    for (int rank = 0; rank < shape->nranks; rank++)
        rank_add(ranks, &groups, plans[rank], &sizes);
    const char *text = json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    standard_output_write(text, strlen(text));
    standard_output_write("\n", 1);
    json_object_put(j);
    plans_release(plans, shape->nranks);
    free(groups.first);
    free(groups.ordinal);
    return 1;
}

/* ---- which plans */

static int is_wanted(const struct plan_options *options, const struct hx_algorithm *a)
{
    for (int i = 0; i < options->nalgorithms; i++)
        if (hx_algorithm_has_name(a, options->algorithms[i]))
            return 1;
    return options->nalgorithms == 0;
}

/* The algorithm alone, as coll_info counts it: over nodes of one rank, or on one node if it needs shared memory. */
static int sizes_print(const struct plan_options *options, const struct hx_algorithm *a)
{
    int printed = 0;

    for (int p = 2; p <= (int)options->max_ranks; p++) {
        struct hx_candidate candidate = {.coll = a->coll, .flat = a};
        char text[32];
        snprintf(text, sizeof(text), a->needs & HX_NEEDS_LEVELS && p > 2 ? "%d/2" : a->needs & HX_NEEDS_SHARED_MEMORY ? "%d" : "%dx1", p);
        struct hx_shape *shape = plan_shape_parse(text);
        candidate.root = hx_coll_is_rooted(a->coll) && options->root < (uint64_t)p ? (int)options->root : 0;
        if (hx_candidate_fits(&candidate, shape) && hx_algorithm_radix_pays(a, p))
            printed += line_print(shape, text, a, &candidate);
        hx_shape_free(shape);
    }
    return printed;
}

/* The fastest plan of the shape that uses the algorithm, if there is one. */
static int shape_print(const struct plan_job *job, const struct hx_algorithm *a)
{
    static struct hx_candidate using[HX_MAX_CANDIDATES];
    int n = 0;

    for (int i = 0; i < job->ncandidates; i++)
        if (plan_has(&job->candidates[i], a->name))
            using[n++] = job->candidates[i];
    return n && line_print(job->shape, job->shape_text, a, &using[hx_planner_best(&job->planner, using, n, job->bytes)]);
}

/* The lines of one collective on this shape, NULL: on the smallest shapes. Their number. */
static int coll_print(const struct plan_options *options, enum hx_coll coll, const char *shape)
{
    struct plan_options every = *options;
    const struct hx_algorithm *a;
    struct plan_job *job;
    int printed = 0;

    every.nalgorithms = 0;
    job = shape ? plan_job_open(&every, shape, coll, options->sizes[0]) : NULL;
    for (int idx = 0; (a = hx_algorithm_next(coll, HX_SCOPE_INTRA | HX_SCOPE_INTER | HX_SCOPE_FLAT, &idx));)
        if (is_wanted(options, a))
            printed += job ? shape_print(job, a) : sizes_print(options, a);
    if (job)
        plan_job_close(job);
    return printed;
}

int plan_steps(const struct plan_options *options)
{
    int printed = 0;

    for (int c = 0; c < options->ncolls; c++) {
        if (options->nshapes == 0)
            printed += coll_print(options, (enum hx_coll)options->colls[c], NULL);
        for (int s = 0; s < options->nshapes; s++)
            printed += coll_print(options, (enum hx_coll)options->colls[c], options->shapes[s]);
    }
    if (printed == 0)
        plan_refuse("no plan of these collectives and shapes uses \"%s\"", options->nalgorithms ? options->algorithms[0] : "any algorithm");
    return 0;
}
