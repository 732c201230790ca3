/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan draw: the rounds of a plan as JSON, for coll_report to draw. */
#include "tools/plan/plan_rounds.h"
#include "tools/common/json.h"

enum { RANKS_MAX = 64, ROUNDS_MAX = 64, ARROWS_MAX = 4096, REPORT_VERSION = 1 };

static void members_add(struct json_object *j, const struct hx_shape *shape)
{
    struct json_object *nodes = json_add_array(j, "members");

    for (int node = 0; node < shape->nnodes; node++) {
        struct json_object *members = json_object_new_array();
        for (int local = 0; local < hx_shape_node_size(shape, node); local++)
            json_object_array_add(members, json_object_new_int(hx_shape_member(shape, node, local)));
        json_object_array_add(nodes, members);
    }
}

static void arrows_add(struct json_object *j, const struct plan_rounds *rounds)
{
    static const char *const kinds[PLAN_ARROW_KINDS] = {
        [PLAN_BETWEEN] = "between", [PLAN_INSIDE] = "inside", [PLAN_READ] = "read", [PLAN_FLAG] = "flag"};
    struct json_object *arrows = json_add_array(j, "arrows");

    for (const struct plan_arrow *a = rounds->arrows; a < rounds->arrows + rounds->narrows; a++) {
        struct json_object *arrow = json_append_object(arrows);
        json_add_text(arrow, "kind", kinds[a->kind]);
        json_add_int(arrow, "round", a->column);
        json_add_int(arrow, "from", a->from);
        json_add_int(arrow, "to", a->to);
        json_add_int(arrow, "order", a->order);
        json_add_int(arrow, "bytes", (int64_t)a->bytes);
        json_add_int(arrow, "messages", (int64_t)a->messages);
    }
}

static struct json_object *document_new(const struct plan_job *job, const struct plan_rounds *rounds)
{
    struct json_object *j = json_object_new_object(), *levels, *columns;
    const struct hx_cost_params params = hx_planner_params(&job->planner);

    json_add_int(j, "hierax_rounds", REPORT_VERSION);
    json_add_text(j, "collective", hx_coll_name(job->coll));
    json_add_text(j, "shape", job->shape_text);
    json_add_text(j, "plan", job->name);
    json_add_int(j, "bytes", (int64_t)job->bytes);
    json_add_int(j, "ranks", job->shape->nranks);
    json_add_int(j, "nodes", job->shape->nnodes);
    json_add_real(j, "us", "%.6g", hx_cost_of(&params, job->shape, job->best, job->bytes).total_us);
    json_add_int(j, "fine_slices", (int64_t)job->sizes.fine_slices);
    json_add_int(j, "coarse_slices", (int64_t)job->sizes.coarse_slices);
    members_add(j, job->shape);
    levels = json_add_array(j, "levels");
    for (int i = 0; i < rounds->nlevels; i++) {
        struct json_object *level = json_append_object(levels);
        json_add_text(level, "where", rounds->levels[i].where);
        json_add_text(level, "name", rounds->levels[i].name);
    }
    columns = json_add_array(j, "rounds");
    for (int i = 0; i < rounds->ncolumns; i++)
        json_add_int(json_append_object(columns), "level", rounds->column_level[i]);
    arrows_add(j, rounds);
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
    if (rounds->ncolumns > ROUNDS_MAX)
        plan_refuse("%s on %s has %d rounds, too many to draw (at most %d): choose fewer nodes, or an --algorithm with fewer rounds "
                    "(see coll_plan cost)",
                    job->name, job->shape_text, rounds->ncolumns, ROUNDS_MAX);
    if (rounds->narrows > ARROWS_MAX)
        plan_refuse("%s on %s has %zu arrows, too many to draw (at most %d): choose fewer ranks, or --rank R to draw one rank",
                    job->name, job->shape_text, rounds->narrows, ARROWS_MAX);
}

int plan_draw(const struct plan_options *options)
{
    struct plan_job *job = plan_job_open(options, options->shapes[0], options->colls[0], options->sizes[0]);
    struct report_files files = {.picture = options->output ? options->output : "-"};
    static struct plan_rounds rounds;
    int status;

    if (job->shape->nranks > RANKS_MAX)
        plan_refuse("%s has %d ranks, too many to draw (at most %d): choose a smaller shape of the same kind, for "
                    "example --shape %dx%d",
                    options->shapes[0], job->shape->nranks, RANKS_MAX, job->shape->nnodes < 4 ? job->shape->nnodes : 4,
                    job->shape->max_local < 4 ? job->shape->max_local : 4);
    plan_rounds_open(&rounds, job);
    if (options->one_rank)
        rank_keep(&rounds, (int)options->rank);
    size_check(job, &rounds);
    status = plan_document_write(document_new(job, &rounds), options->json ? NULL : &files);
    plan_job_close(job);
    return status;
}
