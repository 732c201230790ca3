/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model's parameters from what was measured: in a run of coll_tune, in one of coll_tune model, or from files
 * of coll_tune judge. */
#include "tools/tune/coll_tune.h"
#include "tools/common/median.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A plan's measured time. */
struct tune_observed {
    const struct hx_shape *shape;
    struct hx_candidate candidate;
    double bytes, us, oversubscription;
    int point; /* those measured side by side have the same, and follow each other */
};

/* ---- the fit ---- */

/*
 * The choices count. The fit minimises how much slower the chosen plans were than each point's best, as a sum; a choice is
 * spread over plans whose predictions are almost equal. How far predictions are off counts little, and how far
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

/* Move the parameters to where they predict best, but for the node's where stays[0], the network's where stays[1]. */
static void fit(struct hx_cost_params *params, const struct tune_observed *plans, int n, const int stays[2])
{
    const struct hx_cost_params prior = *params;
    double least = loss(params, &prior, plans, n);

    for (double step = FIRST_STEP; step > LAST_STEP; step /= 2)
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
}

/* ---- the points of a fit ---- */

/* The cost model has no parameters for 16-bit floats, and none for memory of hx_alloc. */
static int is_modelled(struct hx_traits traits)
{
    return !traits.shared_alloc && traits.numbers != HX_NUMBERS_HALF;
}

int tune_fitting_add(struct tune_fitting *f, const struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes,
                     const struct tune_plan *plans, int n)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    struct tune_observed *more = realloc(f->plans, (size_t)(f->n + n + 1) * sizeof(*more));
    const char *fallback;
    int before = f->n, ncandidates = 0;

    if (!more) {
        fprintf(stderr, "coll_tune: no memory\n");
        return -1;
    }
    f->plans = more;
    bytes = tune_vector_bytes(coll, bytes);
    if (planner->shape->nranks > 1 && is_modelled(traits))
        ncandidates = hx_planner_candidates(planner, coll, 0, traits.folding, bytes, candidates, &fallback);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < ncandidates && plans[i].us > 0; k++) {
            char name[HX_CANDIDATE_NAME_BYTES];
            hx_candidate_name(&candidates[k], name);
            if (strcmp(name, plans[i].name) != 0)
                continue;
            more[f->n++] = (struct tune_observed){planner->shape, candidates[k], bytes, plans[i].us, planner->cost.oversubscription, f->points};
            break;
        }
    f->points += f->n > before;
    return 0;
}

/* ---- is the fit good enough ---- */

#define MATTERS 0.01   /* a parameter counts as measured if half or twice its value changes a prediction by this part */
#define OFF_MOST 2.0   /* if the median prediction is off by a larger factor, the model is not written */

static int uses(const struct hx_shape *shape, int net)
{
    return net ? shape->nnodes > 1 : shape->max_local > 1;
}

/* Points that use the network (net 1), or the node (net 0). */
static int points_of(const struct tune_fitting *f, int net)
{
    int n = 0, last = -1;

    for (int i = 0; i < f->n; i++)
        if (uses(f->plans[i].shape, net) && f->plans[i].point != last) {
            last = f->plans[i].point;
            n++;
        }
    return n;
}

static double predict(const struct hx_cost_params *params, const struct tune_observed *plan)
{
    struct hx_cost_params at = *params;

    at.oversubscription = plan->oversubscription;
    return hx_cost_of(&at, plan->shape, &plan->candidate, plan->bytes).total_us;
}

/* Does any plan's time depend on parameter k? */
static int is_measured(const struct tune_fitting *f, const struct hx_cost_params *params, int k)
{
    struct hx_cost_params half = *params, twice = *params;

    *hx_cost_parameter(&half, k) /= 2;
    *hx_cost_parameter(&twice, k) *= 2;
    for (int i = 0; i < f->n; i++)
        if (fabs(log(predict(&half, &f->plans[i]) / predict(&twice, &f->plans[i]))) > MATTERS)
            return 1;
    return 0;
}

/* The factor by which such predictions are off at the median; 0: no memory. */
static double median_off(const struct tune_fitting *f, const struct hx_cost_params *params, int net)
{
    double *off = malloc(((size_t)f->n + 1) * sizeof(*off)), result;
    size_t n = 0;

    for (int i = 0; off && i < f->n; i++)
        if (uses(f->plans[i].shape, net))
            off[n++] = exp(fabs(log(f->plans[i].us / predict(params, &f->plans[i]))));
    result = off ? median(off, n) : 0;
    free(off);
    return result;
}

/* Put the fitted model into the table, without parameters that were not measured, and print it. Returns 0; 1 if the model is too poor, and
 * force is 0; -1 after printing an error. */
static int model_put(const struct tune_fitting *f, int net, const char *provider, struct hx_cost_params *params, int force,
                     struct hx_table *table, FILE *out)
{
    const char *name = net ? provider : "the node";
    const int points = points_of(f, net);
    const double off = median_off(f, params, net);
    struct hx_table_model model;
    int parameters = 0;

    hx_table_model_fill(&model, provider, params, points);
    for (int k = 0; k < HX_COST_PARAMETERS; k++) {
        const struct hx_cost_parameter *row = &hx_cost_parameters[k];
        if (row->net == net && row->optional && !is_measured(f, params, k)) {
            fprintf(out, "# model of %s: %s was not measured: no plan of this run depends on it\n", name, row->name);
            model.values[k] = 0;
        }
        if (model.values[k] <= 0)
            continue;
        parameters++;
        fprintf(out, "# model of %s: %s %.4g\n", name, row->name, model.values[k]);
    }
    fprintf(out, "# model of %s: %d points for %d parameters; predictions are off by a factor of %.2f at the median\n", name, points, parameters,
            off);
    if (points >= parameters && off <= OFF_MOST)
        return hx_table_model_add(table, &model) == HX_SUCCESS ? 0 : -1;
    fprintf(stderr, "coll_tune: the model of %s is %s%s: ", name, points < parameters ? "from too few points" : "from too noisy times",
            force ? "" : ", and not written");
    if (points < parameters)
        fprintf(stderr, "%d for %d parameters; measure more sizes and collectives", points, parameters);
    else
        fprintf(stderr, "predictions are off by a factor of %.2f at the median, but may be off by %.2f at most; measure longer, on an "
                "idle machine", off, OFF_MOST);
    fprintf(stderr, force ? "\n" : ", or write it with --force\n");
    return !force ? 1 : hx_table_model_add(table, &model) == HX_SUCCESS ? 0 : -1;
}

int tune_fitting_end(struct tune_fitting *f, const struct hx_planner *planner, int always, int force, struct hx_table *table,
                     FILE *out)
{
    const char *const of[2] = {"", planner->provider}; /* the node, the network */
    const int kinds = planner->provider[0] ? 2 : 1;
    struct hx_cost_params params = planner->cost;
    int stays[2] = {0}, status = 0;

    for (int k = 0; k < kinds; k++) {
        const struct hx_table_model *known = hx_table_model(table, of[k]);
        const int points = points_of(f, k);
        stays[k] = !always && known && known->points > points; /* a resumed run, or one of some collectives, is worth less */
        if (stays[k])
            fprintf(out, "# model of %s: kept, because it was fitted to %d points; this run has only %d\n", k ? of[k] : "the node",
                    known->points, points);
        if (known)
            hx_table_model_use(known, &params);
    }
    if (f->points)
        fit(&params, f->plans, f->n, stays);
    for (int k = 0; k < kinds && status >= 0; k++)
        if (!stays[k] && points_of(f, k)) {
            const int put = model_put(f, k, of[k], &params, force, table, out);
            status = put < 0 ? put : status | put;
        }
    return status;
}

/* ---- of files ---- */

static int point_fit(void *ctx, struct tune_judged *j, enum hx_coll coll, double bytes, const struct tune_plan *plans, int n)
{
    return tune_fitting_add(ctx, &j->planner, coll, j->traits, bytes, plans, n);
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
    if (!tune_machines_differ(&table->machine, machine))
        return table;
    fprintf(stderr, "coll_tune: --output=%s: this table is for Hierax %s on %d x \"%s\", ", path, table->machine.hierax,
            table->machine.cpus, table->machine.cpu);
    fprintf(stderr, "but the measurements are from Hierax %s on %d x \"%s\"\n", machine->hierax, machine->cpus, machine->cpu);
    hx_table_free(table);
    return NULL;
}

/* Why a file cannot be fitted with those before it: the network's parameters are those of one provider, and all of one machine; of:
 * the first that has the provider. 0, or -1 after printing why. */
static int job_check(struct tune_judged *const *jobs, const char *const *paths, int i, int of)
{
    const struct tune_judged *job = jobs[i];
    const char *path = paths[i], *provider = job->planner.provider, *other = jobs[of]->planner.provider;

    if (!is_modelled(job->traits))
        fprintf(stderr, "coll_tune: %s was measured with %s: the model uses only floats of 32 bits or more and integers, in other memory\n", path,
                job->traits.shared_alloc ? "memory of hx_alloc" : "16-bit floats");
    else if (provider[0] && strcmp(provider, other))
        fprintf(stderr, "coll_tune: %s was measured with provider %s, %s with %s: fit them separately\n", path, provider, paths[of], other);
    else if (tune_machines_differ(&job->machine, &jobs[0]->machine))
        fprintf(stderr, "coll_tune: %s and %s were measured on different kinds of machines: fit them separately\n", path, paths[0]);
    else
        return 0;
    return -1;
}

int tune_model(const struct tune_options *o)
{
    struct tune_judged **jobs = calloc((size_t)o->nfiles, sizeof(*jobs));
    struct hx_table *table = NULL;
    struct tune_fitting f = {0};
    int ok = jobs != NULL, of = 0, poor = 0;

    for (int i = 0; i < o->nfiles && ok; i++) {
        ok = (jobs[i] = tune_judgement_read(o->files[i], point_fit, &f)) != NULL;
        if (ok && !jobs[of]->planner.provider[0] && jobs[i]->planner.provider[0])
            of = i;
        ok = ok && job_check(jobs, o->files, i, of) == 0;
    }
    ok = ok && (table = table_get(o->output, &jobs[0]->machine)) &&
         (poor = tune_fitting_end(&f, &jobs[of]->planner, 1, o->force, table, strcmp(o->output, "-") ? stdout : stderr)) >= 0 &&
         (poor || tune_table_write(table, o->output) == 0);
    for (int i = 0; jobs && i < o->nfiles; i++)
        tune_judged_free(jobs[i]);
    free(f.plans);
    free(jobs);
    hx_table_free(table);
    return ok ? poor : 2;
}
