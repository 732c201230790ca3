/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model's parameters from what was measured: in a run of coll_tune, in one of coll_tune model, or from files
 * of coll_tune judge. */
#include "coll_tune.h"
#include "tune_fit.h"
#include <stdlib.h>
#include <string.h>

int tune_fitting_add(struct tune_fitting *f, const struct hx_planner *planner, enum hx_coll coll, double bytes,
                     const struct tune_plan *plans, int n)
{
    struct tune_observed *more = realloc(f->plans, (size_t)(f->n + n + 1) * sizeof(*more));
    struct hx_candidate *candidates = malloc(HX_MAX_CANDIDATES * sizeof(*candidates));
    const char *fallback;
    int before = f->n, ncandidates;

    f->plans = more ? more : f->plans;
    if (!more || !candidates) {
        free(candidates);
        fprintf(stderr, "coll_tune: no memory\n");
        return -1;
    }
    ncandidates = hx_planner_candidates(planner, coll, 0, HX_FOLDS_ALIKE, bytes, candidates, &fallback);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < ncandidates && plans[i].us > 0; k++) {
            char name[HX_CANDIDATE_NAME_BYTES];
            hx_candidate_name(&candidates[k], name);
            if (strcmp(name, plans[i].name) != 0)
                continue;
            f->plans[f->n++] = (struct tune_observed){
                planner->shape, candidates[k], bytes, plans[i].us, planner->cost.oversubscription, f->points};
            break;
        }
    f->points += f->n > before;
    free(candidates);
    return 0;
}

static int model_put(struct tune_fitting *f, const char *provider, const struct hx_cost_params *params,
                     struct hx_table *table, FILE *out)
{
    struct hx_table_model model;
    struct hx_cost_params all = *params;

    hx_table_model_fill(&model, provider, params, f->points);
    for (int k = 0; k < HX_COST_PARAMETERS; k++)
        if (model.values[k] > 0)
            fprintf(out, "# model, %s: %s %.4g\n", provider[0] ? provider : "node", hx_cost_parameters[k].name,
                    *hx_cost_parameter(&all, k));
    return hx_table_model_add(table, &model) == HX_SUCCESS ? 0 : -1;
}

/* Are there plans that use the kind of parameters? */
static int has(const struct tune_fitting *f, int net)
{
    for (int i = 0; i < f->n; i++)
        if (net ? f->plans[i].shape->nnodes > 1 : f->plans[i].shape->max_local > 1)
            return 1;
    return 0;
}

int tune_fitting_end(struct tune_fitting *f, const struct hx_planner *planner, struct hx_table *table, FILE *out)
{
    struct hx_cost_params params = planner->cost;
    const struct hx_table_model *node = hx_table_model(table, ""), *net = hx_table_model(table, planner->provider);
    int status = 0;

    if (node)
        hx_table_model_use(node, &params);
    if (net)
        hx_table_model_use(net, &params);
    if (f->points)
        tune_fit(&params, f->plans, f->n);
    if (has(f, 0))
        status = model_put(f, "", &params, table, out);
    if (status == 0 && planner->provider[0] && has(f, 1))
        status = model_put(f, planner->provider, &params, table, out);
    free(f->plans);
    *f = (struct tune_fitting){0};
    return status;
}

static int point_visit(void *ctx, struct tune_judged *j, struct json_object *point)
{
    static struct tune_plan plans[HX_MAX_CANDIDATES];
    enum hx_coll coll;
    double bytes;
    int n = tune_point_plans(point, &coll, &bytes, plans);

    return n < 0 ? -1 : tune_fitting_add(ctx, &j->planner, coll, bytes, plans, n);
}

/* The table, if it is there, else a new one. */
static struct hx_table *table_get(const char *path)
{
    struct hx_table *table = NULL;
    FILE *there = fopen(path, "re");

    if (!there)
        return hx_table_new();
    fclose(there);
    return hx_table_read(path, &table) == HX_SUCCESS ? table : NULL; /* it has told why */
}

int tune_model(const struct tune_options *o)
{
    const char *output = o->output ? o->output : TUNE_OUTPUT;
    struct tune_judged **jobs = calloc((size_t)o->nfiles, sizeof(*jobs));
    struct hx_table *table = table_get(output);
    struct tune_fitting f = {0};
    int status = jobs && table ? 0 : 2, of = 0;

    for (int i = 0; i < o->nfiles && status == 0; i++) {
        jobs[i] = calloc(1, sizeof(*jobs[i]));
        status = jobs[i] && tune_judgement_read(o->files[i], jobs[i], point_visit, &f) == 0 ? 0 : 2;
        if (status == 0 && jobs[i]->planner.provider[0])
            of = i;
        if (status == 0 && jobs[i]->planner.provider[0] &&
            strcmp(jobs[i]->planner.provider, jobs[of]->planner.provider) != 0) {
            fprintf(stderr, "coll_tune: %s is of provider %s, %s of %s: fit them apart\n", o->files[i],
                    jobs[i]->planner.provider, o->files[of], jobs[of]->planner.provider);
            status = 2;
        }
    }
    if (status == 0 &&
        (tune_fitting_end(&f, &jobs[of]->planner, table, stdout) || hx_table_write(table, output) != HX_SUCCESS))
        status = 2;
    for (int i = 0; jobs && i < o->nfiles; i++)
        tune_judged_free(jobs[i]);
    free(f.plans);
    free(jobs);
    hx_table_free(table);
    return status;
}
