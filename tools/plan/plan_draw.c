/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan draw: the rounds of a plan as JSON, for coll_report to draw. */
#include "tools/plan/plan_cost.h"
#include "tools/plan/plan_rounds.h"
#include "tools/common/json.h"
#include <stdlib.h>

enum { RANKS_MAX = 64, ROUNDS_MAX = 64, ARROWS_MAX = 4096, REPORT_VERSION = 1 };

static struct json_object *members_json(const struct hx_shape *shape)
{
    struct json_object *nodes = json_object_new_array();

    for (int node = 0; node < shape->nnodes; node++) {
        struct json_object *members = json_object_new_array();
        for (int local = 0; local < hx_shape_node_size(shape, node); local++)
            json_object_array_add(members, json_object_new_int(hx_shape_member(shape, node, local)));
        json_object_array_add(nodes, members);
    }
    return nodes;
}

static struct json_object *levels_json(const struct plan_rounds *rounds)
{
    struct json_object *levels = json_object_new_array();

    for (int i = 0; i < rounds->nlevels; i++) {
        struct json_object *level = json_object_new_object();
        json_add_text(level, "where", rounds->level_where[i]);
        json_add_text(level, "name", rounds->level_name[i]);
        json_object_array_add(levels, level);
    }
    return levels;
}

static struct json_object *rounds_json(const struct plan_rounds *rounds)
{
    struct json_object *all = json_object_new_array();

    for (int i = 0; i < rounds->ncolumns; i++) {
        struct json_object *one = json_object_new_object();
        json_add_int(one, "level", rounds->column_level[i]);
        json_object_array_add(all, one);
    }
    return all;
}

static struct json_object *arrows_json(const struct plan_rounds *rounds)
{
    static const char *const kinds[PLAN_ARROW_KINDS] = {
        [PLAN_BETWEEN] = "between", [PLAN_INSIDE] = "inside", [PLAN_READ] = "read", [PLAN_FLAG] = "flag"};
    struct json_object *arrows = json_object_new_array();

    for (size_t i = 0; i < rounds->narrows; i++) {
        const struct plan_arrow *a = &rounds->arrows[i];
        struct json_object *arrow = json_object_new_object();
        json_add_text(arrow, "kind", kinds[a->kind]);
        json_add_int(arrow, "round", a->column);
        json_add_int(arrow, "from", a->from);
        json_add_int(arrow, "to", a->to);
        json_add_int(arrow, "order", a->order);
        json_add_int(arrow, "bytes", (int64_t)a->bytes);
        json_add_int(arrow, "messages", (int64_t)a->messages);
        json_object_array_add(arrows, arrow);
    }
    return arrows;
}

static struct json_object *document_new(const struct plan_job *job, const struct plan_rounds *rounds)
{
    struct json_object *j = json_object_new_object();
    char name[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(&job->candidates[job->best], name);
    json_add_int(j, "hierax_rounds", REPORT_VERSION);
    json_add_text(j, "collective", hx_coll_name(job->coll));
    json_add_text(j, "shape", job->shape_text);
    json_add_text(j, "plan", name);
    json_add_int(j, "bytes", (int64_t)job->bytes);
    json_add_int(j, "ranks", job->shape->nranks);
    json_add_int(j, "nodes", job->shape->nnodes);
    json_add_real(j, "us", "%.6g", hx_cost_of(&job->planner.cost, job->shape, &job->candidates[job->best], job->bytes).total_us);
    json_add_int(j, "fine_slices", (int64_t)job->sizes.fine_slices);
    json_add_int(j, "coarse_slices", (int64_t)job->sizes.coarse_slices);
    json_object_object_add(j, "members", members_json(job->shape));
    json_object_object_add(j, "levels", levels_json(rounds));
    json_object_object_add(j, "rounds", rounds_json(rounds));
    json_object_object_add(j, "arrows", arrows_json(rounds));
    return j;
}

/* Only what this rank sends, reads or waits for, or others from it. */
static void rank_keep(struct plan_rounds *rounds, int rank)
{
    size_t n = 0;

    for (size_t i = 0; i < rounds->narrows; i++)
        if (rounds->arrows[i].from == rank || rounds->arrows[i].to == rank)
            rounds->arrows[n++] = rounds->arrows[i];
    rounds->narrows = n;
}

static void size_check(const struct plan_job *job, const struct plan_rounds *rounds)
{
    char name[HX_CANDIDATE_NAME_BYTES];

    hx_candidate_name(&job->candidates[job->best], name);
    if (rounds->ncolumns > ROUNDS_MAX)
        plan_refuse("%s on %s has %d rounds, too many to draw (at most %d): take fewer nodes, or an --algorithm of fewer rounds "
                    "(see coll_plan cost)",
                    name, job->shape_text, rounds->ncolumns, ROUNDS_MAX);
    if (rounds->narrows > ARROWS_MAX)
        plan_refuse("%s on %s has %zu arrows, too many to draw (at most %d): take fewer ranks, or --rank R for those "
                    "of one rank",
                    name, job->shape_text, rounds->narrows, ARROWS_MAX);
}

int plan_draw(const struct plan_options *options)
{
    struct plan_job *job = plan_memory(malloc(sizeof(*job)));
    struct report_files files = {.picture = options->output ? options->output : "-"};
    struct plan_rounds rounds;
    int status;

    plan_job_open(job, options, options->shapes[0], options->colls[0], options->sizes[0]);
    if (job->shape->nranks > RANKS_MAX)
        plan_refuse("%s has %d ranks, too many to draw (at most %d): take a smaller shape of the same kind, for "
                    "example --shape %dx%d",
                    options->shapes[0], job->shape->nranks, RANKS_MAX, job->shape->nnodes < 4 ? job->shape->nnodes : 4,
                    job->shape->max_local < 4 ? job->shape->max_local : 4);
    plan_rounds_open(&rounds, job);
    if (options->one_rank)
        rank_keep(&rounds, (int)options->rank);
    size_check(job, &rounds);
    status = plan_picture(document_new(job, &rounds), options->json ? NULL : &files);
    plan_rounds_close(&rounds);
    plan_job_close(job);
    free(job);
    return status;
}
