/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_plan compare: two plans over sizes. A side is named by a plan, or by an algorithm, hier, flat or best: then it
 * is the fastest of the candidates at each size that fit the name.
 */
#include "tools/plan/coll_plan.h"
#include "runtime/base/size.h"
#include "tools/common/json.h"
#include "tools/common/screen.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_VERSION = 1, SIZES_MAX = 512, BISECTIONS = 24, CROSSOVERS_MAX = 16 };

struct point {
    double bytes, us[2];
    char plan[2][HX_CANDIDATE_NAME_BYTES];
};

struct comparison {
    const struct plan_options *options;
    struct hx_candidate kept[2]; /* a plan that a side names, also at sizes where the planner would not think of it */
    int has_kept[2], must_have;
    struct point points[SIZES_MAX];
    int npoints;
    double crossovers[CROSSOVERS_MAX];
    int leader[CROSSOVERS_MAX]; /* from there on */
    int ncrossovers;
};

static int fits(const struct hx_candidate *candidate, const char *name)
{
    return !strcmp(name, "best") || !strcmp(name, candidate->lanes ? "hier" : "flat") || plan_has(candidate, name);
}

/* The end, with the names there are, those of the job's candidates. */
static void side_refuse(const struct plan_job *job, const char *name)
{
    static char texts[HX_MAX_CANDIDATES][HX_CANDIDATE_NAME_BYTES];
    const char *names[5 * HX_MAX_CANDIDATES + 4] = {"best", "flat", "hier"};
    int n = job->shape->nnodes > 1 && job->shape->max_local > 1 ? 3 : 2;

    for (int i = 0; i < job->ncandidates; i++) {
        const struct hx_candidate *one = &job->candidates[i];
        const struct hx_algorithm *parts[] = {one->flat, one->first, one->inter, one->last};
        for (int k = 0; k < 4; k++)
            n = parts[k] ? plan_name_add(names, n, parts[k]->name) : n;
    }
    for (int i = 0; strchr(name, '(') && i < job->ncandidates; i++) {
        hx_candidate_name(&job->candidates[i], texts[i]);
        names[n++] = texts[i];
    }
    names[n] = NULL;
    plan_name_choose("plan or algorithm here", name, names);
}

/* Both sides at one size; 0 where a side has no plan. */
static struct point point_at(struct comparison *c, uint64_t bytes)
{
    struct plan_job *job = plan_job_open(c->options, c->options->shapes[0], c->options->colls[0], bytes);
    const struct hx_cost_params params = hx_planner_params(&job->planner);
    struct point point = {.bytes = job->bytes};

    for (int side = 0; side < 2; side++) {
        const struct hx_candidate *best = NULL;
        for (int i = 0; i < job->ncandidates; i++) {
            const struct hx_candidate *one = &job->candidates[i];
            double us = fits(one, c->options->sides[side])
                            ? hx_cost_of(&params, job->shape, one, job->bytes).total_us : HUGE_VAL;
            if (us < HUGE_VAL && (!best || us < point.us[side])) {
                best = one;
                point.us[side] = us;
            }
        }
        if (!best && (c->has_kept[side] || plan_named(job, c->options->sides[side], &c->kept[side]))) {
            best = &c->kept[side];
            point.us[side] = hx_cost_of(&params, job->shape, best, job->bytes).total_us;
        }
        if (!best && c->must_have)
            side_refuse(job, c->options->sides[side]);
        if (!best)
            continue;
        hx_candidate_name(best, point.plan[side]);
        if (best != &c->kept[side])
            c->kept[side] = *best;
        c->has_kept[side] = 1;
    }
    plan_job_close(job);
    return point;
}

/* The sizes twice: what a side names may be a candidate only at later ones. */
static void points_fill(struct comparison *c)
{
    const struct plan_options *o = c->options;

    for (c->must_have = 0; c->must_have < 2; c->must_have++)
        for (int i = c->npoints = 0; i < o->nsizes; i++) {
            struct point point = point_at(c, o->sizes[i]);
            /* a block for each rank may round up to the same */
            if (!c->npoints || point.bytes > c->points[c->npoints - 1].bytes)
                c->points[c->npoints++] = point;
        }
}

static int leader_of(const struct point *point)
{
    return point->us[1] < point->us[0];
}

static int differ(const struct point *point)
{
    return fabs(point->us[0] - point->us[1]) > 1e-6 * point->us[0];
}

/* The size at which the leader changes, between two points with different leaders. */
static void crossover_find(struct comparison *c, const struct point *before, const struct point *after)
{
    double low = before->bytes, high = after->bytes;

    for (int i = 0; i < BISECTIONS && high - low > 1; i++) {
        double middle = low > 0 ? sqrt(low * high) : high / 2;
        struct point point = point_at(c, (uint64_t)middle);
        if (leader_of(&point) == leader_of(after) && differ(&point))
            high = middle;
        else
            low = middle;
    }
    c->leader[c->ncrossovers] = leader_of(after);
    c->crossovers[c->ncrossovers++] = high;
}

static void crossovers_find(struct comparison *c)
{
    const struct point *last = NULL; /* the last one with a leader */

    for (int i = 0; i < c->npoints; i++) {
        const struct point *point = &c->points[i];
        if (!differ(point))
            continue;
        if (last && leader_of(last) != leader_of(point) && c->ncrossovers < CROSSOVERS_MAX)
            crossover_find(c, last, point);
        last = point;
    }
}

static void comparison_print(const struct comparison *c)
{
    const char *const *sides = c->options->sides;
    char size[HX_SIZE_BYTES];
    int width[2], named = 0;

    for (int side = 0; side < 2; side++)
        width[side] = strlen(sides[side]) < 11 ? 11 : (int)strlen(sides[side]);
    for (int i = 0; i < c->npoints; i++)
        for (int side = 0; side < 2; side++)
            named |= strcmp(c->points[i].plan[side], sides[side]) != 0;
    printf("%s on %s, predicted us\n\n%12s  %*s  %*s  %8s" FOLD "  faster\n", hx_coll_name(c->options->colls[0]),
           c->options->shapes[0], "size", width[0], sides[0], width[1], sides[1], "ratio");
    for (int i = 0; i < c->npoints; i++) {
        const struct point *p = &c->points[i];
        printf("%12s  %*.2f  %*.2f  %8.2f" FOLD "  %-*s", hx_size_format((uint64_t)p->bytes, size), width[0], p->us[0], width[1], p->us[1],
               p->us[1] > 0 ? p->us[0] / p->us[1] : 1, width[0] > width[1] ? width[0] : width[1],
               differ(p) ? sides[leader_of(p)] : "equal");
        if (named)
            printf(FOLD "  %s | %s", p->plan[0], p->plan[1]);
        printf("\n");
    }
    printf("\n");
    for (int i = 0; i < c->ncrossovers; i++)
        printf("crossover: %s is faster from %s on\n", sides[c->leader[i]], hx_size_format((uint64_t)c->crossovers[i], size));
    if (!c->ncrossovers)
        printf("no crossover between these sizes\n");
}

static struct json_object *pair(struct json_object *a, struct json_object *b)
{
    struct json_object *both = json_object_new_array();

    json_object_array_add(both, a);
    json_object_array_add(both, b);
    return both;
}

static struct json_object *document_new(const struct comparison *c)
{
    struct json_object *j = json_object_new_object(), *points, *crossovers;

    json_add_int(j, "hierax_compare", REPORT_VERSION);
    json_add_text(j, "collective", hx_coll_name(c->options->colls[0]));
    json_add_text(j, "shape", c->options->shapes[0]);
    json_object_object_add(j, "sides", pair(json_text_new(c->options->sides[0]), json_text_new(c->options->sides[1])));
    points = json_add_array(j, "points");
    for (const struct point *p = c->points; p < c->points + c->npoints; p++) {
        struct json_object *point = json_append_object(points);
        json_add_int(point, "bytes", (int64_t)p->bytes);
        json_object_object_add(point, "us", pair(json_real_new("%.6g", p->us[0]), json_real_new("%.6g", p->us[1])));
        json_object_object_add(point, "plans", pair(json_text_new(p->plan[0]), json_text_new(p->plan[1])));
    }
    crossovers = json_add_array(j, "crossovers");
    for (int i = 0; i < c->ncrossovers; i++) {
        struct json_object *crossover = json_append_object(crossovers);
        json_add_int(crossover, "bytes", (int64_t)c->crossovers[i]);
        json_add_text(crossover, "faster", c->options->sides[c->leader[i]]);
    }
    return j;
}

int plan_compare(const struct plan_options *options)
{
    static struct comparison comparison;
    struct comparison *c = &comparison;
    struct report_files files = {.picture = options->svg};
    int status = 0;

    if (options->nsizes > SIZES_MAX)
        plan_refuse("%d sizes are too many: compare takes at most %d", options->nsizes, SIZES_MAX);
    c->options = options;
    points_fill(c);
    crossovers_find(c);
    if (!options->json && (!options->svg || strcmp(options->svg, "-")))
        comparison_print(c);
    if (options->json || options->svg)
        status = plan_document_write(document_new(c), options->json ? NULL : &files);
    return status;
}
