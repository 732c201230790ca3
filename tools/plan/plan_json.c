/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan --json. The keys are told in plan_help.c; they stay as they are while the version in the document does. */
#include "tools/plan/plan_cost.h"
#include "tools/common/json.h"
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_VERSION 1
#define COST_VERSION 1

static struct json_object *object_new(void)
{
    return plan_memory(json_object_new_object());
}

static struct json_object *array_new(void)
{
    return plan_memory(json_object_new_array());
}

/* Six digits are more than the model knows. */
static void add_real(struct json_object *object, const char *key, double value)
{
    json_add_real(object, key, "%.6g", value);
}

void plan_json_print(struct json_object *document)
{
    json_print(stdout, document);
    json_object_put(document);
}

static void shape_add(struct json_object *j, const struct plan_job *job)
{
    json_add_text(j, "shape", job->shape_text);
    json_add_int(j, "ranks", job->shape->nranks);
    json_add_int(j, "nodes", job->shape->nnodes);
    json_add_int(j, "bytes", job->bytes);
    add_real(j, "ranks_per_core", job->planner.cost.oversubscription);
}

/* ---- cost ---- */

static struct json_object *line_json(const struct plan_line *line)
{
    struct json_object *j = object_new(), *terms = object_new();

    json_add_text(j, "plan", line->name);
    add_real(j, "us", line->cost.total_us);
    add_real(j, "ratio", line->ratio);
    for (int t = 0; t < PLAN_TERMS; t++)
        add_real(terms, plan_term_names[t], line->us[t]);
    json_object_object_add(j, "terms_us", terms);
    add_real(j, "rounds", line->cost.rounds);
    json_add_int(j, "sent_bytes", (line->cost.net_bytes + 0.5));
    json_add_text(j, "why", line->why[0] ? line->why : NULL);
    return j;
}

static struct json_object *lines_json(const struct plan_line *lines, int n)
{
    struct json_object *all = array_new();

    for (int i = 0; i < n; i++)
        json_object_array_add(all, line_json(&lines[i]));
    return all;
}

struct json_object *plan_point_json(const struct plan_job *job, const struct plan_line *lines, int n)
{
    static struct plan_lack lacks[PLAN_NAMES_MAX];
    struct json_object *j = object_new(), *impossible = array_new();
    int nlacks = job->options->nalgorithms ? 0 : plan_lacks(job, lacks);

    shape_add(j, job);
    json_add_text(j, "fastest", lines[0].name);
    if (job->options->time)
        add_real(j, "planning_us", plan_time_us(job));
    for (int i = 0; i < nlacks; i++) {
        struct json_object *lack = object_new();
        json_add_text(lack, "algorithm", lacks[i].algorithm->name);
        json_add_text(lack, "why", lacks[i].why);
        json_object_array_add(impossible, lack);
    }
    json_object_object_add(j, "candidates", lines_json(lines, n));
    json_object_object_add(j, "impossible", impossible);
    return j;
}

struct json_object *plan_cost_json(const struct plan_job *job, struct json_object *points)
{
    struct json_object *j = object_new(), *model = object_new();

    json_add_int(j, "hierax_cost", COST_VERSION);
    json_add_text(j, "collective", hx_coll_name(job->coll));
    json_add_text(j, "dtype", hx_dtype_name(job->options->dtype));
    for (int i = 0; hx_cost_parameters[i].name; i++) {
        double value;
        memcpy(&value, (const char *)&job->planner.cost + hx_cost_parameters[i].offset, sizeof(value));
        add_real(model, hx_cost_parameters[i].name, value);
    }
    json_object_object_add(j, "model", model);
    json_object_object_add(j, "points", points);
    return j;
}

/* ---- explain ---- */

static struct json_object *counts_json(const struct hx_plan_stats *s)
{
    struct json_object *j = object_new();

    json_add_int(j, "rounds", s->rounds);
    json_add_int(j, "steps", s->steps);
    json_add_int(j, "messages", s->messages);
    json_add_int(j, "sent_bytes", s->bytes_sent);
    json_add_int(j, "inter_messages", s->inter_messages);
    json_add_int(j, "inter_sent_bytes", s->inter_bytes_sent);
    json_add_int(j, "slot_bytes_written", s->slot_bytes_written);
    json_add_int(j, "slot_bytes_read", s->slot_bytes_read);
    json_add_int(j, "fetched_bytes", s->bytes_fetched);
    return j;
}

static struct json_object *step_json(const struct hx_stage *stage, const struct hx_layout *layout, const struct hx_step *step)
{
    struct json_object *j = object_new();
    char text[512];
    uint64_t bytes = 0;

    hx_explain_step(stage, step, text, sizeof(text));
    json_add_text(j, "text", text);
    text[strcspn(text, " ")] = 0;
    json_add_text(j, "op", text);
    if (step->op == HX_OP_SEND || step->op == HX_OP_RECV) {
        json_add_int(j, "peer", stage->members[step->peer]);
        json_add_int(j, "round", step->tag);
    }
    for (uint64_t slice = 0; step->nblocks && slice < layout->nslices; slice++)
        bytes += hx_layout_bytes(layout, step->block, step->nblocks, slice);
    if (step->nblocks && step->block < stage->nblocks)
        json_add_int(j, "block", step->block);
    if (step->nblocks) {
        json_add_int(j, "blocks", step->nblocks);
        json_add_int(j, "bytes", bytes);
    }
    return j;
}

static struct json_object *stage_json(const struct plan_job *job, const struct hx_plan *plan, int s)
{
    static const char *const scopes[] = {"", "intra", "inter", "", "flat"};
    static const char *const spaces[] = {"nowhere", "in", "out", "work", "scratch", "slot"};
    const struct hx_stage *stage = &plan->stages[s];
    struct json_object *j = object_new(), *ranks = array_new(), *steps = array_new();
    struct hx_plan_stats stats;
    struct hx_layout layout;

    json_add_int(j, "level", stage->level);
    json_add_text(j, "scope", scopes[stage->scope]);
    json_add_text(j, "algorithm", stage->algorithm);
    json_add_int(j, "member", stage->me);
    for (int i = 0; i < stage->n; i++)
        json_object_array_add(ranks, plan_memory(json_object_new_int(stage->members[i])));
    json_object_object_add(j, "ranks", ranks);
    json_add_text(j, "in", spaces[stage->in]);
    json_add_text(j, "out", spaces[stage->out]);
    json_add_flag(j, "coarse", stage->coarse);
    json_add_int(j, "blocks", stage->nblocks);
    hx_stage_count(plan, s, job->shape, &job->sizes, &stats);
    json_object_object_add(j, "counts", counts_json(&stats));
    hx_layout_init(&layout, plan, stage, &job->sizes);
    for (uint32_t i = 0; i < stage->nsteps; i++)
        json_object_array_add(steps, step_json(stage, &layout, &stage->steps[i]));
    json_object_object_add(j, "steps", steps);
    return j;
}

static struct json_object *plan_json(const struct plan_job *job, int rank)
{
    struct hx_plan *plan = plan_job_compose(job, rank);
    struct json_object *j = object_new(), *stages = array_new();
    struct hx_plan_stats stats;

    json_add_int(j, "rank", rank);
    json_add_int(j, "lanes", plan->nlanes);
    json_add_int(j, "blocks", plan->nblocks);
    for (int s = 0; s < plan->nstages; s++)
        json_object_array_add(stages, stage_json(job, plan, s));
    json_object_object_add(j, "stages", stages);
    json_add_int(j, "live_slot_bytes", hx_planner_live_slots(plan, &job->sizes, job->window_fine, job->window_coarse));
    hx_plan_count(plan, job->shape, &job->sizes, &stats);
    json_add_int(j, "plan_bytes", stats.plan_bytes);
    json_object_object_add(j, "counts", counts_json(&stats));
    hx_plan_release(plan);
    return j;
}

struct json_object *plan_explain_json(const struct plan_job *job, int first, int end)
{
    struct json_object *j = object_new(), *slices = object_new(), *plans = array_new();
    char name[HX_CANDIDATE_NAME_BYTES];
    struct plan_line *lines = plan_memory(calloc(HX_MAX_CANDIDATES, sizeof(*lines)));
    int roundings = plan_roundings(job);

    json_add_int(j, "hierax_plan", EXPLAIN_VERSION);
    json_add_text(j, "collective", hx_coll_name(job->coll));
    json_add_text(j, "dtype", hx_dtype_name(job->options->dtype));
    json_add_int(j, "root", job->candidates[job->best].root);
    shape_add(j, job);
    json_add_int(j, "llc_bytes", job->options->llc_bytes);
    hx_candidate_name(&job->candidates[job->best], name);
    json_add_text(j, "chosen", name);
    json_add_flag(j, "by_table", job->tuned && !strcmp(job->tuned->plan, name));
    json_add_text(j, "fallback", job->fallback);
    json_add_int(slices, "fine", job->sizes.fine_slices);
    json_add_int(slices, "coarse", job->sizes.coarse_slices);
    json_add_int(slices, "fine_window", job->window_fine);
    json_add_int(slices, "coarse_window", job->window_coarse);
    json_object_object_add(j, "slices", slices);
    json_object_object_add(j, "roundings", roundings < 0 ? NULL : plan_memory(json_object_new_int(roundings)));
    json_object_object_add(j, "candidates", lines_json(lines, plan_lines(job, lines)));
    free(lines);
    for (int rank = first; rank < end; rank++)
        json_object_array_add(plans, plan_json(job, rank));
    json_object_object_add(j, "plans", plans);
    return j;
}
