/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of a plan: see plan_rounds.h. A column of the drawing is a round of one level. Messages tell their round
 * themselves. Reads and flags of shared memory stand in the round that is the longest chain of flags that they have
 * waited for. If a stage elects a member, that is the first.
 */
#include "tools/plan/plan_rounds.h"
#include <stdlib.h>
#include <string.h>

struct walk {
    const struct plan_job *job;
    struct plan_rounds *rounds;
    struct hx_plan **plans;
    /* flags waited for by each rank before it publishes each of its own, in this level */
    uint32_t (*published)[HX_MAX_FLAGS];
};

/* How many steps after this one a member that is not elected leaves out. */
static uint32_t left_out(const struct hx_stage *stage, const struct hx_step *step)
{
    return step->op == HX_OP_ELECT && stage->me ? step->handle : 0;
}

/* How many ranks a step waits for. */
static uint32_t waits(const struct hx_stage *stage, const struct hx_step *step)
{
    return (step->op == HX_OP_AWAIT || step->op == HX_OP_ELECT) && !step->own && !left_out(stage, step) ? step->n : 0;
}

/* The k-th of these. */
static int wait_rank(const struct hx_stage *stage, const struct hx_step *step, uint32_t k)
{
    return stage->members[(step->peer + k) % (uint32_t)stage->n];
}

static uint32_t flags_after(const struct walk *walk, const struct hx_stage *stage, const struct hx_step *step, int rank,
                            uint32_t flags)
{
    for (uint32_t k = 0; k < waits(stage, step); k++) {
        int peer = wait_rank(stage, step, k);
        if (peer != rank && walk->published[peer][step->tag] + 1 > flags)
            flags = walk->published[peer][step->tag] + 1;
    }
    return flags;
}

/* If the step raises a flag, note so. Returns whether that is news. */
static int flag_raise(const struct walk *walk, const struct hx_stage *stage, const struct hx_step *step, uint32_t flags)
{
    int rank = stage->members[step->op == HX_OP_PUBLISH ? step->handle : (uint32_t)stage->me];

    if ((step->op != HX_OP_PUBLISH && step->op != HX_OP_ELECT) || walk->published[rank][step->tag] == flags)
        return 0;
    walk->published[rank][step->tag] = flags;
    return 1;
}

/* Every pass over the ranks follows each chain of flags by one at least: until nothing changes. */
static void flags_follow(const struct walk *walk, int level)
{
    int p = walk->job->shape->nranks, changed = 1;

    memset(walk->published, 0, (size_t)p * sizeof(*walk->published));
    while (changed) {
        changed = 0;
        for (int rank = 0; rank < p; rank++)
            for (int s = 0; s < walk->plans[rank]->nstages; s++) {
                const struct hx_stage *stage = &walk->plans[rank]->stages[s];
                uint32_t flags = 0;
                for (uint32_t i = 0; stage->level == level && i < stage->nsteps; i++) {
                    const struct hx_step *step = &stage->steps[i];
                    changed |= flag_raise(walk, stage, step, flags);
                    flags = flags_after(walk, stage, step, rank, flags);
                    i += left_out(stage, step);
                }
            }
    }
}

static void arrow_add(struct walk *walk, const struct plan_arrow *arrow)
{
    struct plan_rounds *r = walk->rounds;

    if (arrow->from == arrow->to)
        return;
    if (r->narrows == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 1024;
        r->arrows = plan_memory(realloc(r->arrows, r->capacity * sizeof(*r->arrows)));
    }
    r->arrows[r->narrows++] = *arrow;
}

/* The number of ranks whose memory a step reads. */
static uint32_t reads(const struct hx_step *step)
{
    int reads_memory = (step->src == HX_SLOT && step->op != HX_OP_SEND) || step->op == HX_OP_FETCH;

    return !reads_memory ? 0 : step->op == HX_OP_REDUCE ? step->n : 1;
}

/* The k-th of these. */
static int read_rank(const struct hx_stage *stage, const struct hx_step *step, uint32_t k)
{
    return stage->members[step->op == HX_OP_REDUCE ? k : step->peer];
}

/* Does rank's stage read memory of this peer? */
static int reads_from(const struct hx_stage *stage, int peer)
{
    for (const struct hx_step *step = stage->steps; step < stage->steps + stage->nsteps; step++)
        for (uint32_t k = 0; k < reads(step); k++)
            if (read_rank(stage, step, k) == peer)
                return 1;
    return 0;
}

static void stage_walk(struct walk *walk, const struct hx_plan *plan, int s)
{
    const struct hx_stage *stage = &plan->stages[s];
    const struct hx_shape *shape = walk->job->shape;
    struct hx_layout layout;
    uint32_t flags = 0;

    hx_layout_init(&layout, plan, stage, &walk->job->sizes);
    for (uint32_t i = 0; i < stage->nsteps; i++) {
        const struct hx_step *step = &stage->steps[i];
        struct plan_arrow arrow = {.to = plan->rank, .level = stage->level};
        flags = flags_after(walk, stage, step, plan->rank, flags);
        arrow.bytes = plan_step_bytes(&layout, step, &arrow.messages);
        arrow.order = flags ? flags - 1 : 0;
        if (step->op == HX_OP_SEND && arrow.bytes) {
            arrow.from = plan->rank;
            arrow.to = stage->members[step->peer];
            arrow.order = step->tag;
            arrow.kind = shape->node_of[arrow.from] == shape->node_of[arrow.to] ? PLAN_INSIDE : PLAN_BETWEEN;
            arrow_add(walk, &arrow);
        }
        arrow.kind = PLAN_READ;
        for (uint32_t k = 0; arrow.bytes && k < reads(step); k++) {
            arrow.from = read_rank(stage, step, k);
            arrow_add(walk, &arrow);
        }
        arrow.kind = PLAN_FLAG;
        arrow.bytes = arrow.messages = 0;
        for (uint32_t k = 0; k < waits(stage, step); k++) {
            arrow.from = wait_rank(stage, step, k);
            arrow.order = walk->published[arrow.from][step->tag];
            if (!reads_from(stage, arrow.from))
                arrow_add(walk, &arrow);
        }
        i += left_out(stage, step);
    }
}

static int arrow_compare(const void *a, const void *b)
{
    const struct plan_arrow *x = a, *y = b;
    const int64_t keys[][2] = {{x->level, y->level},
                               {x->order, y->order},
                               {x->kind, y->kind},
                               {x->from, y->from},
                               {x->to, y->to}};

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        if (keys[k][0] != keys[k][1])
            return keys[k][0] < keys[k][1] ? -1 : 1;
    return 0;
}

/* A round in which nothing passes has no column. */
static void columns_number(struct plan_rounds *r)
{
    qsort(r->arrows, r->narrows, sizeof(*r->arrows), arrow_compare);
    r->column_level = plan_memory(calloc(r->narrows + 1, sizeof(*r->column_level)));
    for (size_t i = 0; i < r->narrows; i++) {
        struct plan_arrow *arrow = &r->arrows[i], *before = arrow - 1;
        if (i == 0 || arrow->level != before->level || arrow->order != before->order)
            r->column_level[r->ncolumns++] = arrow->level;
        arrow->column = r->ncolumns - 1;
    }
}

static void level_name(struct walk *walk, const struct hx_stage *stage)
{
    static const char *const where[] = {"", "inside nodes", "between nodes", "", "over all ranks"};
    int one_node = walk->job->shape->nnodes == 1;
    char *name = walk->rounds->levels[stage->level].name;
    size_t n = strlen(name);

    walk->rounds->levels[stage->level].where = one_node ? "inside the node" : where[stage->scope];
    if (!strstr(name, stage->algorithm))
        snprintf(name + n, sizeof(walk->rounds->levels->name) - n, "%s%s", n ? ", " : "", stage->algorithm);
}

void plan_rounds_open(struct plan_rounds *rounds, const struct plan_job *job)
{
    int p = job->shape->nranks;
    struct walk walk = {.job = job, .rounds = rounds, .plans = plans_compose(job->shape, job->best)};

    memset(rounds, 0, sizeof(*rounds));
    walk.published = plan_memory(calloc((size_t)p, sizeof(*walk.published)));
    for (int rank = 0; rank < p; rank++)
        if (walk.plans[rank]->nlevels > rounds->nlevels)
            rounds->nlevels = walk.plans[rank]->nlevels;
    rounds->levels = plan_memory(calloc((size_t)rounds->nlevels + 1, sizeof(*rounds->levels)));
    for (int level = 0; level < rounds->nlevels; level++) {
        flags_follow(&walk, level);
        for (int rank = 0; rank < p; rank++)
            for (int s = 0; s < walk.plans[rank]->nstages; s++)
                if (walk.plans[rank]->stages[s].level == level) {
                    level_name(&walk, &walk.plans[rank]->stages[s]);
                    stage_walk(&walk, walk.plans[rank], s);
                }
    }
    columns_number(rounds);
    plans_release(walk.plans, p);
    free(walk.published);
}
