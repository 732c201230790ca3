/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model's parameters from what was measured: in a run of coll_tune, in one of coll_tune model, or from files
 * of coll_tune judge. */
#include "tools/tune/coll_tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the fit ---- */

/*
 * What counts is what is chosen. The sum that is made small is how much slower the chosen plan was than the point's best,
 * the choice spread over plans whose predictions are almost equal. How far predictions are off counts little, and how far
 * a parameter is moved still less. Each parameter in turn is tried larger and smaller.
 */

#define EQUAL 0.04     /* predictions this near (logarithm) share the choice */
#define OFF 0.02       /* weight of a squared logarithm of measured / predicted */
#define MOVED 0.002    /* weight of a squared logarithm of new / old */
#define FIRST_STEP 1.0 /* a logarithm */
#define LAST_STEP 0.02

static double point_loss(const struct hx_cost_params *params, const struct tune_observed *plans, int n)
{
    double best = INFINITY, least = INFINITY, total = 0, regret = 0, off = 0;

    for (int i = 0; i < n; i++) {
        best = fmin(best, plans[i].us);
        least = fmin(least, hx_cost_of(params, plans[i].shape, &plans[i].candidate, plans[i].bytes).total_us);
    }
    for (int i = 0; i < n; i++) {
        double us = hx_cost_of(params, plans[i].shape, &plans[i].candidate, plans[i].bytes).total_us;
        double share = exp(-log(us / least) / EQUAL), miss = log(plans[i].us / us);
        total += share;
        regret += share * log(plans[i].us / best);
        off += fmin(miss * miss, 1) * best / plans[i].us;
    }
    return regret / total + OFF * off / n;
}

static double loss(const struct hx_cost_params *params, const struct hx_cost_params *prior,
                   const struct tune_observed *plans, int n)
{
    struct hx_cost_params at = *params;
    double sum = 0;
    int points = 0;

    for (int i = 0, next; i < n; i = next, points++) {
        for (next = i; next < n && plans[next].point == plans[i].point; next++)
            ;
        at.oversubscription = plans[i].oversubscription;
        sum += point_loss(&at, plans + i, next - i);
    }
    sum /= points;
    for (int k = 0; k < HX_COST_PARAMETERS; k++) {
        double moved = log(*hx_cost_parameter((struct hx_cost_params *)params, k) /
                           *hx_cost_parameter((struct hx_cost_params *)prior, k));
        sum += MOVED * moved * moved;
    }
    return sum;
}

/* Move the parameters to where they predict best, but for the node's where stays[0], the network's where stays[1]. Returns what is left
 * of the loss. */
static double tune_fit(struct hx_cost_params *params, const struct tune_observed *plans, int n, const int stays[2])
{
    const struct hx_cost_params prior = *params;
    double least = n ? loss(params, &prior, plans, n) : 0;

    for (double step = FIRST_STEP; n && step > LAST_STEP; step /= 2)
        for (int again = 1, sweeps = 0; again && sweeps < 8; sweeps++) {
            again = 0;
            for (int k = 0; k < 2 * HX_COST_PARAMETERS; k++) {
                struct hx_cost_params tried = *params;
                if (stays[hx_cost_parameters[k / 2].net])
                    continue;
                double *value = hx_cost_parameter(&tried, k / 2);
                *value = fmin(fmax(*value * exp(k % 2 ? step : -step), HX_COST_LEAST), HX_COST_MOST);
                double now = loss(&tried, &prior, plans, n);
                if (now < least) {
                    *params = tried;
                    least = now;
                    again = 1;
                }
            }
        }
    return least;
}

/* ---- what is fitted ---- */

int tune_fitting_add(struct tune_fitting *f, const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
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
    ncandidates = planner->shape->nranks > 1 ? hx_planner_candidates(planner, coll, 0, traits.folding, bytes, candidates, &fallback) : 0;
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

/* Is what is known of more points than these? */
static int stays(const struct tune_fitting *f, const struct hx_table_model *known, int always, const char *what, FILE *out)
{
    if (always || !known || known->points <= f->points)
        return 0;
    fprintf(out, "# model, %s: as it was, fitted to %d points; there are %d new ones\n", what, known->points, f->points);
    return 1;
}

int tune_fitting_end(struct tune_fitting *f, const struct hx_planner *planner, int always, struct hx_table *table,
                     FILE *out)
{
    struct hx_cost_params params = planner->cost;
    const struct hx_table_model *node = hx_table_model(table, ""),
                                *net = planner->provider[0] ? hx_table_model(table, planner->provider) : NULL;
    /* what a run goes on with, or some collectives, is not worth what all were */
    const int kept[2] = {stays(f, node, always, "node", out), stays(f, net, always, planner->provider, out)};
    int status = 0;

    if (node)
        hx_table_model_use(node, &params);
    if (net)
        hx_table_model_use(net, &params);
    if (f->points)
        tune_fit(&params, f->plans, f->n, kept);
    if (!kept[0] && has(f, 0))
        status = model_put(f, "", &params, table, out);
    if (status == 0 && !kept[1] && planner->provider[0] && has(f, 1))
        status = model_put(f, planner->provider, &params, table, out);
    return status;
}

static int same_machine(const struct hx_table_machine *a, const struct hx_table_machine *b)
{
    return !strcmp(a->hierax, b->hierax) && !strcmp(a->cpu, b->cpu) && a->cpus == b->cpus;
}

static int point_visit(void *ctx, struct tune_judged *j, struct json_object *point)
{
    static struct tune_plan plans[HX_MAX_CANDIDATES];
    enum hx_coll coll;
    double bytes;
    int n = tune_point_plans(point, &coll, &bytes, plans);

    return n < 0 ? -1 : tune_fitting_add(ctx, &j->planner, coll, j->traits, bytes, plans, n);
}

/* The table, if it is there, else a new one of the machine that was measured. */
static struct hx_table *table_get(const char *path, const struct hx_table_machine *machine)
{
    struct hx_table *table = NULL;

    if (access(path, F_OK) != 0) {
        if ((table = hx_table_new()))
            table->machine = *machine;
        return table;
    }
    if (!(table = tune_table_read(path)))
        return NULL;
    if (same_machine(&table->machine, machine))
        return table;
    fprintf(stderr, "coll_tune: --output=%s: it is for Hierax %s on %d x \"%s\", ", path, table->machine.hierax,
            table->machine.cpus, table->machine.cpu);
    fprintf(stderr, "but the measurements are from Hierax %s on %d x \"%s\"\n", machine->hierax, machine->cpus, machine->cpu);
    hx_table_free(table);
    return NULL;
}

/* One file more. The network's parameters are those of one provider, and all of one machine; *of: a job that has the
 * provider. 0, or -1 after printing why. */
static int job_add(struct tune_fitting *f, const char *const *paths, struct tune_judged **jobs, int i, int *of)
{
    const char *path = paths[i];
    const char *provider, *first = jobs[*of] ? jobs[*of]->planner.provider : "";

    if (!(jobs[i] = calloc(1, sizeof(*jobs[i]))) || tune_judgement_read(path, jobs[i], point_visit, f) != 0)
        return -1;
    if (jobs[i]->traits.shared_alloc || jobs[i]->traits.numbers == HX_NUMBERS_HALF) {
        fprintf(stderr, "coll_tune: %s was measured with %s: the model is that of others\n", path,
                jobs[i]->traits.shared_alloc ? "memory of hx_alloc" : "16-bit floats");
        return -1;
    }
    provider = jobs[i]->planner.provider;
    if (provider[0] && first[0] && strcmp(provider, first) != 0) {
        fprintf(stderr, "coll_tune: %s is of provider %s, %s of %s: fit them apart\n", path, provider, paths[*of], first);
        return -1;
    }
    if (!same_machine(&jobs[i]->machine, &jobs[0]->machine)) {
        fprintf(stderr, "coll_tune: %s and %s were measured on unlike machines: fit them apart\n", path, paths[0]);
        return -1;
    }
    if (provider[0] && !first[0])
        *of = i;
    return 0;
}

int tune_model(const struct tune_options *o)
{
    const char *output = o->output ? o->output : TUNE_OUTPUT;
    struct tune_judged **jobs = calloc((size_t)o->nfiles, sizeof(*jobs));
    struct hx_table *table = NULL;
    struct tune_fitting f = {0};
    int status = jobs ? 0 : 2, of = 0;

    for (int i = 0; i < o->nfiles && status == 0; i++)
        status = job_add(&f, o->files, jobs, i, &of) == 0 ? 0 : 2;
    if (status == 0 && !(table = table_get(output, &jobs[0]->machine)))
        status = 2;
    if (status == 0 &&
        (tune_fitting_end(&f, &jobs[of]->planner, 1, table, strcmp(output, "-") ? stdout : stderr) || tune_table_write(table, output)))
        status = 2;
    for (int i = 0; jobs && i < o->nfiles; i++)
        tune_judged_free(jobs[i]);
    free(f.plans);
    free(jobs);
    hx_table_free(table);
    return status;
}
