/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan --json. plan_help.c describes the keys; they stay as they are while the version in the document does. */
#include "tools/plan/coll_plan.h"
#include "tools/common/json.h"
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_VERSION 1
#define COST_VERSION 1

/* Six digits are more than the model knows. */
static void add_real(struct json_object *object, const char *key, double value)
{
    json_add_real(object, key, "%.6g", value);
}

static void shape_add(struct json_object *j, const struct plan_job *job)
{
    json_add_text(j, "shape", job->shape_text);
    json_add_int(j, "ranks", job->shape->nranks);
    json_add_int(j, "nodes", job->shape->nnodes);
    json_add_int(j, "bytes", job->bytes);
    add_real(j, "ranks_per_core", job->planner.cost.oversubscription);
}

/* The sources of the model's parameters; null if the shape does not use them. */
static void sources_add(struct json_object *j, const struct plan_job *job)
{
    struct json_object *sources = json_add_object(j, "constants");
    char text[HX_SOURCE_BYTES];

    for (int net = 0; net < 2; net++) {
        plan_source_write(job, net, text);
        json_add_text(sources, net ? "network" : "node", hx_planner_uses(&job->planner, net) ? strchr(text, ':') + 2 : NULL);
    }
}

/* ---- cost ---- */

static void lines_add(struct json_object *j, const struct plan_line *lines, int n)
{
    struct json_object *all = json_add_array(j, "candidates");

    for (const struct plan_line *line = lines; line < lines + n; line++) {
        struct json_object *one = json_append_object(all), *terms;
        json_add_text(one, "plan", line->name);
        add_real(one, "us", line->cost.total_us);
        add_real(one, "ratio", line->ratio);
        terms = json_add_object(one, "terms_us");
        for (int t = 0; t < PLAN_TERMS; t++)
            add_real(terms, plan_term_names[t], line->us[t]);
        add_real(one, "rounds", line->cost.rounds);
        json_add_int(one, "sent_bytes", (line->cost.net_bytes + 0.5));
        json_add_int(one, "uplink_bytes", (line->cost.uplink_bytes + 0.5));
        json_add_text(one, "why", line->why[0] ? line->why : NULL);
    }
}

void plan_point_add(struct json_object *points, const struct plan_job *job, const struct plan_line *lines, int n)
{
    static struct plan_lack lacks[PLAN_NAMES_MAX];
    struct json_object *j = json_append_object(points), *impossible;
    int nlacks = job->options->nalgorithms ? 0 : plan_lacks(job, lacks);

    shape_add(j, job);
    sources_add(j, job);
    json_add_text(j, "fastest", lines[0].name);
    if (job->options->time)
        add_real(j, "planning_us", plan_time_us(job));
    lines_add(j, lines, n);
    impossible = json_add_array(j, "impossible");
    for (int i = 0; i < nlacks; i++) {
        struct json_object *lack = json_append_object(impossible);
        json_add_text(lack, "algorithm", lacks[i].algorithm->name);
        json_add_text(lack, "why", lacks[i].why);
    }
}

struct json_object *plan_cost_json(struct plan_job *job, struct json_object *points)
{
    struct json_object *j = plan_memory(json_object_new_object()), *model;
    struct hx_cost_params params = hx_planner_params(&job->planner);

    json_add_int(j, "hierax_cost", COST_VERSION);
    json_add_text(j, "collective", hx_coll_name(job->coll));
    json_add_text(j, "dtype", hx_dtype_name(job->options->dtype));
    model = json_add_object(j, "model");
    for (int i = 0; hx_cost_parameters[i].name; i++)
        add_real(model, hx_cost_parameters[i].name, *hx_cost_parameter(&params, i));
    json_object_object_add(j, "points", points);
    return j;
}

/* ---- explain ---- */

static void counts_add(struct json_object *object, const struct hx_plan_stats *s)
{
    struct json_object *j = json_add_object(object, "counts");

    json_add_int(j, "rounds", s->rounds);
    json_add_int(j, "steps", s->steps);
    json_add_int(j, "messages", s->messages);
    json_add_int(j, "sent_bytes", s->bytes_sent);
    json_add_int(j, "inter_messages", s->inter_messages);
    json_add_int(j, "inter_sent_bytes", s->inter_bytes_sent);
    json_add_int(j, "slot_bytes_written", s->slot_bytes_written);
    json_add_int(j, "slot_bytes_read", s->slot_bytes_read);
    json_add_int(j, "fetched_bytes", s->bytes_fetched);
}

static void step_add(struct json_object *steps, const struct hx_stage *stage, const struct hx_layout *layout,
                     const struct hx_step *step)
{
    struct json_object *j = json_append_object(steps);
    char text[512];

    hx_explain_step(stage, step, text, sizeof(text));
    json_add_text(j, "text", text);
    text[strcspn(text, " ")] = 0;
    json_add_text(j, "op", text);
    if (step->op == HX_OP_SEND || step->op == HX_OP_RECV) {
        json_add_int(j, "peer", stage->members[step->peer]);
        json_add_int(j, "round", step->tag);
    }
    if (step->nblocks && step->block < stage->nblocks)
        json_add_int(j, "block", step->block);
    if (step->nblocks) {
        json_add_int(j, "blocks", step->nblocks);
        json_add_int(j, "bytes", plan_step_bytes(layout, step, NULL));
    }
}

static void stage_add(struct json_object *stages, const struct plan_job *job, const struct hx_plan *plan, int s)
{
    static const char *const scopes[] = {"", "intra", "inter", "", "flat"};
    const struct hx_stage *stage = &plan->stages[s];
    struct json_object *j = json_append_object(stages), *ranks, *steps;
    struct hx_plan_stats stats;
    struct hx_layout layout;

    json_add_int(j, "level", stage->level);
    json_add_text(j, "scope", scopes[stage->scope]);
    json_add_text(j, "algorithm", stage->algorithm);
    json_add_int(j, "member", stage->me);
    ranks = json_add_array(j, "ranks");
    for (int i = 0; i < stage->n; i++)
        json_object_array_add(ranks, json_object_new_int(stage->members[i]));
    json_add_text(j, "in", hx_space_name(stage->in));
    json_add_text(j, "out", hx_space_name(stage->out));
    json_add_flag(j, "coarse", stage->coarse);
    json_add_int(j, "blocks", stage->nblocks);
    hx_stage_count(plan, s, job->shape, &job->sizes, &stats);
    counts_add(j, &stats);
    hx_layout_init(&layout, plan, stage, &job->sizes);
    steps = json_add_array(j, "steps");
    for (uint32_t i = 0; i < stage->nsteps; i++)
        step_add(steps, stage, &layout, &stage->steps[i]);
}

static void plan_add(struct json_object *plans, const struct plan_job *job, int rank)
{
    struct hx_plan *plan = plan_job_compose(job, rank);
    struct json_object *j = json_append_object(plans), *stages;
    struct hx_plan_stats stats;

    json_add_int(j, "rank", rank);
    json_add_int(j, "lanes", plan->nlanes);
    json_add_int(j, "blocks", plan->nblocks);
    stages = json_add_array(j, "stages");
    for (int s = 0; s < plan->nstages; s++)
        stage_add(stages, job, plan, s);
    json_add_int(j, "live_slot_bytes", plan_live_slots(job, plan));
    hx_plan_count(plan, job->shape, &job->sizes, &stats);
    json_add_int(j, "plan_bytes", stats.plan_bytes);
    counts_add(j, &stats);
    hx_plan_release(plan);
}

struct json_object *plan_explain_json(const struct plan_job *job, int first, int end)
{
    struct json_object *j = plan_memory(json_object_new_object()), *slices, *plans;
    static struct plan_line lines[HX_MAX_CANDIDATES];
    const struct hx_wire *wire = job->best->wire;
    int codings, roundings = plan_roundings(job, &codings);

    json_add_int(j, "hierax_plan", EXPLAIN_VERSION);
    json_add_text(j, "collective", hx_coll_name(job->coll));
    json_add_text(j, "dtype", hx_dtype_name(job->options->dtype));
    json_add_int(j, "root", job->best->root);
    shape_add(j, job);
    json_add_int(j, "llc_bytes", job->options->llc_bytes);
    sources_add(j, job);
    json_add_text(j, "chosen", job->name);
    json_add_flag(j, "by_table", job->tuned && !strcmp(job->tuned->plan, job->name));
    json_add_text(j, "fallback", job->fallback);
    slices = json_add_object(j, "slices");
    json_add_int(slices, "fine", job->sizes.fine_slices);
    json_add_int(slices, "coarse", job->sizes.coarse_slices);
    json_add_int(slices, "fine_window", job->window_fine);
    json_add_int(slices, "coarse_window", job->window_coarse);
    json_object_object_add(j, "roundings", roundings < 0 ? NULL : json_object_new_int(roundings));
    json_add_text(j, "wire", wire ? wire->name : NULL);
    json_object_object_add(j, "error", wire && codings ? json_object_new_double(hx_wire_sum_bound(wire, codings)) : NULL);
    lines_add(j, lines, plan_lines(job, lines));
    plans = json_add_array(j, "plans");
    for (int rank = first; rank < end; rank++)
        plan_add(plans, job, rank);
    return j;
}
