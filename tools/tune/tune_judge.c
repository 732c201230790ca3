/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_tune judge: how good the planner's choices are. As a job it measures every candidate of every point beside the
 * choice, and may write all times to a file; from such files it asks the planner as it is now, with the table that
 * HX_TABLE names or without, so that a table or a change of the model is judged without a job.
 */
#include "tools/tune/coll_tune.h"
#include "runtime/base/error.h"
#include "runtime/base/size.h"
#include "tools/common/screen.h"
#include "tools/common/whole_file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 12 /* of the worst */
#define SHAPE_BYTES 1024

struct verdict {
    char point[96], pick[HX_CANDIDATE_NAME_BYTES], best[HX_CANDIDATE_NAME_BYTES];
    double pick_us, best_us, ratio;
};

struct judgement {
    struct verdict *verdicts;
    int n, unmeasured;
    char shape[SHAPE_BYTES]; /* of the points under way */
};

/* ---- verdicts -------------------------------------------------------------------------------------------------- */

/* Add the plan chosen at a point, and the best plan there. 0, or -1: nothing was measured there, or no memory. */
static int verdict_add(struct judgement *judgement, enum hx_coll coll, double bytes, const char *pick, const struct tune_plan *plans, int n)
{
    struct verdict *more = realloc(judgement->verdicts, (size_t)(judgement->n + 1) * sizeof(*more)), *v = more + judgement->n;
    char size[HX_SIZE_BYTES];

    if (!more)
        return -1;
    judgement->verdicts = more;
    *v = (struct verdict){.best_us = INFINITY};
    snprintf(v->pick, sizeof(v->pick), "%s", pick);
    snprintf(v->point, sizeof(v->point), "%s %s on %.63s", hx_coll_name(coll), hx_size_format((uint64_t)bytes, size), judgement->shape);
    for (int i = 0; i < n; i++) {
        if (plans[i].us > 0 && plans[i].us < v->best_us) {
            v->best_us = plans[i].us;
            snprintf(v->best, sizeof(v->best), "%s", plans[i].name);
        }
        if (!strcmp(plans[i].name, v->pick))
            v->pick_us = plans[i].us;
    }
    v->ratio = v->pick_us / v->best_us;
    judgement->n += v->pick_us > 0;
    judgement->unmeasured += v->pick_us <= 0;
    return n ? 0 : -1;
}

static int worst_first(const void *a, const void *b)
{
    const struct verdict *x = a, *y = b;
    return (x->ratio < y->ratio) - (x->ratio > y->ratio);
}

static void judgement_print(struct judgement *judgement, int most)
{
    struct verdict *v = judgement->verdicts;
    int n = judgement->n, above = 0;

    if (n)
        qsort(v, (size_t)n, sizeof(*v), worst_first);
    printf("%-40s %6s" FOLD "  %-34s %11s" FOLD "  %-34s %11s\n", "point", "ratio", "chosen", "us", "best", "us");
    for (int i = 0; i < n; i++) {
        if (i < most)
            printf("%-40s %6.2f" FOLD "  %-34s %11.2f" FOLD "  %-34s %11.2f\n", v[i].point, v[i].ratio, v[i].pick, v[i].pick_us,
                   v[i].best, v[i].best_us);
        above += v[i].ratio > 1.3;
    }
    printf("# %d points: time of the chosen plan / best time: median %.2f, largest %.2f, above 1.3 at %d\n", n,
           n ? v[n / 2].ratio : 0, n ? v[0].ratio : 0, above);
    if (judgement->unmeasured)
        printf("# %d more points: the plan that is chosen now was not measured\n", judgement->unmeasured);
    free(v);
}

/* ---- points as JSON --------------------------------------------------------------------------------------------- */

struct json_object *tune_judge_point(const struct tune_point *point, const struct tune_survey *survey)
{
    struct json_object *p = json_object_new_object(), *plans = json_object_new_array();
    const struct tune_plan *first = survey->plans, *best = first;

    for (const struct tune_plan *plan = first; plan < first + survey->n; plan++) {
        struct json_object *j = json_object_new_object();
        json_add_text(j, "plan", plan->name);
        json_add_real(j, "us", "%.6g", plan->us);
        json_add_real(j, "predicted_us", "%.6g", plan->predicted_us);
        json_object_array_add(plans, j);
        best = plan->us < best->us ? plan : best;
    }
    json_add_text(p, "collective", hx_coll_name(point->coll));
    json_add_int(p, "bytes", point->bytes);
    json_object_object_add(p, "plans", plans);
    char size[HX_SIZE_BYTES];
    fprintf(stderr, "%scoll_tune: %s of %s: %s %.2f us, best %s %.2f us: %.2f x\n", tune_clear(), hx_coll_name(point->coll),
            hx_size_format(point->bytes, size), first->name, first->us, best->name, best->us, first->us / best->us);
    return p;
}

static const char *text_of(struct json_object *o, const char *name)
{
    struct json_object *value = json_object_object_get(o, name);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static double real_of(struct json_object *o, const char *name)
{
    struct json_object *value = json_object_object_get(o, name);
    double real = json_object_is_type(value, json_type_object) ? 0 : json_object_get_double(value);
    return isfinite(real) && real > 0 ? real : 0;
}

static size_t length_of(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* A point's plans, for visit. 0, or -1: it is not valid. */
static int point_visit(struct tune_judged *j, struct json_object *point, tune_visit_fn *visit, void *ctx)
{
    static struct tune_plan plans[HX_MAX_CANDIDATES];
    struct json_object *list = json_object_object_get(point, "plans");
    const size_t n = length_of(list);
    enum hx_coll coll;

    if (hx_coll_parse(text_of(point, "collective"), &coll) != 0 || n > HX_MAX_CANDIDATES)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct json_object *plan = json_object_array_get_idx(list, i);
        plans[i] = (struct tune_plan){.us = real_of(plan, "us")};
        snprintf(plans[i].name, sizeof(plans[i].name), "%s", text_of(plan, "plan"));
    }
    return visit(ctx, j, coll, real_of(point, "bytes"), plans, (int)n);
}

/* ---- of a job: on rank 0 --------------------------------------------------------------------------------------- */

/* Nothing is lost: no table, nor what took minutes to measure. */
int tune_judge_check(const char *path)
{
    const struct hx_shape *shape = hx_world->comms->members.shape;
    char error[OPTION_TEXT_BYTES] = "", text[SHAPE_BYTES];
    struct json_object *there = NULL;

    if (path && whole_file_check("output", path, error) == 0 && whole_file_is_regular(path) && access(path, F_OK) == 0)
        there = json_object_from_file(path);
    if (json_object_object_get_ex(there, "hierax_table", NULL))
        snprintf(error, sizeof(error), "--output=%s is a table: name another file for judge", path);
    else if (!error[0] && (hx_shape_format(shape, text, sizeof(text)) >= (int)sizeof(text) || !hx_shape_is_in_order(shape)))
        snprintf(error, sizeof(error), "judge needs ranks that are numbered node by node (block placement), and a shape of less than %zu "
                 "characters", sizeof(text));
    json_object_put(there);
    if (error[0])
        fprintf(stderr, "coll_tune: %s\n", error);
    return error[0] ? -1 : 0;
}

/* The domain of each rank, at each level inside the nodes. */
static struct json_object *domains_list(const struct hx_shape *shape)
{
    struct json_object *levels = json_object_new_array();

    for (int k = 0; k < shape->nlevels; k++) {
        struct json_object *level = json_object_new_array();
        for (int rank = 0; rank < shape->nranks; rank++)
            json_object_array_add(level, json_object_new_int(hx_shape_domain(shape, k, rank)));
        json_object_array_add(levels, level);
    }
    return levels;
}

static struct json_object *doc_new(const char *shape, struct hx_traits traits, const struct hx_table *table,
                                   struct json_object *points)
{
    const struct hx_comm *comm = hx_world->comms;
    const struct hx_job *job = &hx_world->process.job;
    const struct hx_table_machine *here = &table->machine;
    struct json_object *doc = json_object_new_object(), *profile = json_object_new_object(), *machine = json_object_new_object();
    struct hx_net_profile net;

    hx_world_profile(hx_world, &net);
    json_add_int(doc, "hierax_judgement", 1);
    json_add_text(doc, "hierax", here->hierax);
    json_add_text(machine, "cpu", here->cpu);
    json_add_int(machine, "cpus", here->cpus);
    json_object_object_add(doc, "machine", machine);
    json_add_text(doc, "shape", shape);
    json_object_object_add(doc, "domains", domains_list(comm->members.shape));
    json_add_flag(doc, "single_copy", job->single_copy);
    json_add_int(doc, "llc_bytes", job->llc_bytes);
    json_add_real(doc, "cpus_per_node", "%.6g", job->cpus_per_node);
    json_add_text(doc, "provider", net.provider ? net.provider : "");
    json_add_text(doc, "datatype", hx_numbers_names[traits.numbers]);
    json_add_flag(doc, "alloc", traits.shared_alloc);
    json_add_real(doc, "ranks_per_cpu", "%.6g", comm->members.planner->cost.oversubscription);
    json_add_real(profile, "alpha_us", "%.6g", net.alpha_us);
    json_add_real(profile, "gb_s", "%.6g", net.gb_s);
    json_add_real(profile, "stream_gb_s", "%.6g", net.stream_gb_s);
    json_add_real(profile, "core_gb_s", "%.6g", net.core_gb_s);
    json_add_real(profile, "message_us", "%.6g", net.message_us);
    json_object_object_add(doc, "network", profile);
    json_add_text(doc, "loop", "mixed");
    json_object_object_add(doc, "points", points);
    return doc;
}

/* The first plan is what was chosen. */
static int point_first(void *ctx, struct tune_judged *j, enum hx_coll coll, double bytes, const struct tune_plan *plans, int n)
{
    (void)j;
    return verdict_add(ctx, coll, bytes, plans[0].name, plans, n);
}

int tune_judge_end(const struct tune_run *run)
{
    static struct judgement judgement;
    struct json_object *points = json_object_new_array(), *doc;
    char error[OPTION_TEXT_BYTES] = "";

    hx_shape_format(hx_world->comms->members.shape, judgement.shape, sizeof(judgement.shape));
    for (const struct tune_point *p = run->points; p < run->points + run->npoints; p++)
        if (p->measured) {
            point_visit(NULL, p->report, point_first, &judgement);
            json_object_array_add(points, json_object_get(p->report));
        }
    doc = doc_new(judgement.shape, tuner_traits(run->tuner), run->table, points);
    if (run->o->output && judgement.n && json_file_write("output", run->o->output, doc, error)) /* of nothing measured an earlier file stays */
        fprintf(stderr, "coll_tune: %s\n", error);
    json_object_put(doc);
    judgement_print(&judgement, run->npoints);
    return error[0] ? -1 : 0;
}

/* ---- of files -------------------------------------------------------------------------------------------------- */

/* 0, or -1: there are none such, or no memory. */
static int domains_take(struct hx_shape *shape, struct json_object *levels)
{
    size_t depth = length_of(levels), n = (size_t)shape->nranks;
    int *ids = depth <= HX_SHAPE_LEVELS ? malloc((depth + 1) * n * sizeof(*ids)) : NULL, status = ids ? 0 : -1;

    for (size_t k = 0; k < depth && status == 0; k++) {
        struct json_object *level = json_object_array_get_idx(levels, k);
        status = length_of(level) == n ? 0 : -1;
        for (size_t rank = 0; rank < n && status == 0; rank++)
            ids[rank * depth + k] = json_object_get_int(json_object_array_get_idx(level, rank));
    }
    if (status == 0)
        status = hx_shape_set_levels(shape, ids, (int)depth);
    free(ids);
    return status;
}

/* Files of earlier versions tell the shape alone. */
static struct hx_job job_of(struct json_object *doc, const struct hx_shape *shape)
{
    struct json_object *single_copy = json_object_object_get(doc, "single_copy");
    double llc_bytes = real_of(doc, "llc_bytes");
    struct hx_job job = {.llc_bytes = llc_bytes > 0 ? (uint64_t)llc_bytes : 32 << 20,
                         .single_copy = single_copy ? json_object_get_boolean(single_copy) : 1,
                         .ranks_per_cpu = real_of(doc, "ranks_per_cpu"),
                         .cpus_per_node = real_of(doc, "cpus_per_node")};

    if (job.ranks_per_cpu > 0 && job.cpus_per_node <= 0)
        job.cpus_per_node = shape->max_local / job.ranks_per_cpu;
    return job;
}

/* That the file does not tell: floats, in the program's own memory. */
static struct hx_traits traits_of(struct json_object *doc)
{
    const char *name = text_of(doc, "datatype");
    struct hx_traits traits = hx_traits_of(!strcmp(name, hx_numbers_names[HX_NUMBERS_HALF])      ? HX_FLOAT16
                                           : !strcmp(name, hx_numbers_names[HX_NUMBERS_INTEGER]) ? HX_INT32
                                                                                                  : HX_FLOAT32);

    traits.shared_alloc = json_object_get_boolean(json_object_object_get(doc, "alloc"));
    return traits;
}

static int judged_open(struct tune_judged *j, struct json_object *doc, const char *path)
{
    struct json_object *net = json_object_object_get(doc, "network"), *machine = json_object_object_get(doc, "machine");
    const char *provider = text_of(doc, "provider");
    struct hx_net_profile profile = {.provider = provider,
                                     .alpha_us = real_of(net, "alpha_us"),
                                     .gb_s = real_of(net, "gb_s"),
                                     .stream_gb_s = real_of(net, "stream_gb_s"),
                                     .core_gb_s = real_of(net, "core_gb_s"), /* may be missing */
                                     .message_us = real_of(net, "message_us")};
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_job job = {0};
    size_t bytes;

    if ((j->shape = hx_shape_parse(text_of(doc, "shape"), error)))
        job = job_of(doc, j->shape);
    if (!j->shape || job.ranks_per_cpu < 1 || domains_take(j->shape, json_object_object_get(doc, "domains")) != 0 ||
        (j->shape->nnodes > 1 &&
         !(profile.alpha_us > 0 && profile.gb_s > 0 && profile.stream_gb_s > 0 && profile.message_us > 0))) {
        fprintf(stderr, "coll_tune: %s: not a file that coll_tune judge has written\n", path);
        return -1;
    }
    if (profile.core_gb_s == 0)
        profile.core_gb_s = HX_CORE_SPARED_GB_S;
    snprintf(j->machine.hierax, sizeof(j->machine.hierax), "%s", text_of(doc, "hierax"));
    snprintf(j->machine.cpu, sizeof(j->machine.cpu), "%s", text_of(machine, "cpu"));
    j->machine.cpus = (int)real_of(machine, "cpus");
    j->traits = traits_of(doc);
    if (hx_env_load(&j->env, NULL) != HX_SUCCESS ||
        hx_planner_init(&j->planner, &j->env, j->shape, 0, &job, j->shape->nnodes > 1 ? &profile : NULL) != HX_SUCCESS)
        return -1;
    if (j->env.table &&
        hx_tuning_read(&j->env, j->shape->nnodes > 1 ? provider : NULL, &j->tuning, &bytes) != HX_SUCCESS) {
        fprintf(stderr, "coll_tune: HX_TABLE: %s\n", hx_last_detail());
        return -1;
    }
    if (j->tuning)
        hx_tuning_use(&j->planner, j->tuning, bytes);
    return 0;
}

void tune_judged_free(struct tune_judged *j)
{
    if (!j)
        return;
    hx_planner_release(&j->planner);
    hx_env_release(&j->env);
    hx_shape_free(j->shape);
    free(j->tuning);
    free(j);
}

struct tune_judged *tune_judgement_read(const char *path, tune_visit_fn *visit, void *ctx)
{
    char error[OPTION_TEXT_BYTES] = "no memory";
    struct tune_judged *j = calloc(1, sizeof(*j));
    struct json_object *doc = j ? json_file_read(path, error) : NULL, *points = json_object_object_get(doc, "points");
    int status = doc ? judged_open(j, doc, path) : -1;

    if (!doc)
        fprintf(stderr, "coll_tune: %s\n", error);
    for (size_t i = 0; status == 0 && i < length_of(points); i++)
        if ((status = point_visit(j, json_object_array_get_idx(points, i), visit, ctx)) < 0)
            fprintf(stderr, "coll_tune: %s: point %zu is not valid\n", path, i + 1);
    json_object_put(doc);
    if (status == 0)
        return j;
    tune_judged_free(j);
    return NULL;
}

/* Judge the planner's present choice at a point. */
static int point_judge(void *ctx, struct tune_judged *j, enum hx_coll coll, double bytes, const struct tune_plan *plans, int n)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const double vector_bytes = tune_vector_bytes(coll, bytes);
    const char *fallback;
    struct judgement *judgement = ctx;
    char name[HX_CANDIDATE_NAME_BYTES];
    int pick, ncandidates;

    j->planner.cost.shared_alloc = j->traits.shared_alloc;
    ncandidates = hx_planner_candidates(&j->planner, coll, 0, j->traits.folding, vector_bytes, candidates, &fallback);
    hx_planner_tuned(&j->planner, coll, j->traits, vector_bytes, candidates, ncandidates, &pick);
    if (pick < 0)
        pick = hx_planner_best(&j->planner, candidates, ncandidates, vector_bytes);
    if (pick < 0)
        return -1;
    hx_candidate_name(&candidates[pick], name);
    hx_shape_format(j->shape, judgement->shape, sizeof(judgement->shape));
    return verdict_add(judgement, coll, bytes, name, plans, n);
}

int tune_judge(const struct tune_options *o)
{
    static struct judgement judgement;
    int status = 0;

    for (int f = 0; f < o->nfiles && status == 0; f++) {
        struct tune_judged *j = tune_judgement_read(o->files[f], point_judge, &judgement);
        status = j ? 0 : 2;
        tune_judged_free(j);
    }
    if (status == 0)
        judgement_print(&judgement, SHOWN);
    return status;
}
