/* SPDX-License-Identifier: BSD-3-Clause */
/* All candidates of a point, measured beside the planner's own choice: races of a few at a time, in each of which that
 * choice runs. So what drifts between the races does not count. */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include <stdlib.h>
#include <string.h>

#define FINAL 0.4 /* of a point's time, for those that looked fastest */

static int by_prediction(const void *a, const void *b)
{
    const struct tune_plan *x = a, *y = b;
    return (x->predicted_us > y->predicted_us) - (x->predicted_us < y->predicted_us);
}

/* The planner looks at few numbers of lanes; where it takes several at all, a table may name any: every power of two. Returns how many
 * candidates there are then. */
static int lanes_add(const struct hx_shape *shape, struct hx_candidate *candidates, int n)
{
    const int found = n;

    for (int i = 0; i < found; i++) {
        struct hx_candidate c = candidates[i], same;
        for (c.lanes = 2; candidates[i].lanes > 1 && c.lanes < shape->max_local; c.lanes *= 2) {
            char name[HX_CANDIDATE_NAME_BYTES];
            hx_candidate_name(&c, name);
            if (n < HX_MAX_CANDIDATES && hx_candidate_fits(&c, shape) && hx_candidate_find(candidates, n, name, shape, 0, &same) < 0)
                candidates[n++] = c;
        }
    }
    return n;
}

int tune_survey_find(const struct tuner *t, const struct tune_point *point, int by_table, double costly, struct tune_survey *survey)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    struct hx_planner *planner = hx_world->comms->members.planner;
    const struct hx_traits traits = tuner_traits(t);
    const double bytes = tune_vector_bytes(point->coll, (double)point->bytes);
    const struct hx_table_entry *tuned = NULL;
    const char *fallback;
    int n, pick = -1;

    n = hx_planner_candidates(planner, point->coll, 0, traits.folding, bytes, candidates, &fallback);
    planner->cost.shared_alloc = traits.shared_alloc;
    if (by_table)
        tuned = hx_planner_tuned(planner, point->coll, traits, bytes, candidates, n, &pick);
    const int best = hx_planner_best(planner, candidates, n, bytes), first = pick >= 0 ? pick : best;
    *survey = (struct tune_survey){.n = lanes_add(planner->shape, candidates, n)};
    for (int i = 0; i < survey->n; i++) {
        survey->plans[i].predicted_us = hx_cost_of(&planner->cost, planner->shape, &candidates[i], bytes).total_us;
        hx_candidate_name(&candidates[i], survey->plans[i].name);
    }
    if (survey->n == 0) {
        fprintf(stderr, "coll_tune: there is no plan for %s\n", hx_coll_name(point->coll));
        return -1;
    }
    const struct tune_plan chosen = survey->plans[first];
    const double most = survey->plans[best].predicted_us * costly;
    survey->plans[first] = survey->plans[0];
    survey->plans[0] = chosen;
    survey->plans[0].slice_bytes = pick >= 0 ? tuned->slice_bytes : 0;
    qsort(survey->plans + 1, (size_t)survey->n - 1, sizeof(*survey->plans), by_prediction);
    while (survey->n > 1 && most > 0 && survey->plans[survey->n - 1].predicted_us > most) { /* a prediction of nothing excludes nobody */
        survey->n--;
        survey->costly++;
    }
    return 0;
}

int tune_plan_find(const struct tune_survey *survey, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(survey->plans[i].name, name))
            return i;
    return -1;
}

/* Races of the choice and seven others at a time; *races: how many. Leaves the choice's time in its us, in the others' the ratios to it. */
static enum tune_outcome races_run(struct tuner *t, const struct tune_point *point, double seconds, int all, struct tune_survey *survey)
{
    const int most = survey->n > 1 ? (survey->n + TUNE_WAYS - 3) / (TUNE_WAYS - 1) : 1; /* races */
    const double begin_s = hx_now_s();
    double log_us = 0;
    int races = 0, stop;

    for (int at = 1, n; races == 0 || (at < survey->n && (all || tuner_elapsed_s(begin_s, &stop) < seconds)); at += n, races++) {
        struct tune_plan ways[TUNE_WAYS] = {survey->plans[0]};
        struct tune_race race = {.before = -1, .least_rounds = all ? 2 : 0, .until = 1};
        n = survey->n - at < TUNE_WAYS - 1 ? survey->n - at : TUNE_WAYS - 1;
        memcpy(ways + 1, survey->plans + at, (size_t)n * sizeof(*ways));
        enum tune_outcome outcome = tuner_race(t, point, ways, n + 1, seconds / most, &race);
        if (outcome != TUNE_MEASURED)
            return outcome;
        for (int i = 0; i < n; i++)
            survey->plans[at + i].us = ways[i + 1].lap.ratio.median;
        log_us += log(race.default_ns / 1e3);
    }
    survey->plans[0].us = exp(log_us / races);
    return TUNE_MEASURED;
}

static int by_time(const void *a, const void *b)
{
    const struct tune_plan *x = a, *y = b;
    if ((x->us > 0) != (y->us > 0)) /* not measured: behind */
        return y->us > 0 ? 1 : -1;
    return (x->us > y->us) - (x->us < y->us);
}

int tune_survey_sort(struct tune_survey *survey)
{
    qsort(survey->plans + 1, (size_t)survey->n - 1, sizeof(*survey->plans), by_time);
    return bench_bcast(survey->plans, (size_t)survey->n * sizeof(*survey->plans), HX_BYTE, 0); /* logarithms differ between machines */
}

/* Of many that were measured in a few rounds the fastest is as a rule one that had luck: those run again, all in one race. Nobody else is
 * faster than the fastest of these. */
static enum tune_outcome final_run(struct tuner *t, const struct tune_point *point, double seconds, struct tune_survey *survey)
{
    struct tune_race race = {.before = -1, .least_rounds = TUNE_LEAST_ROUNDS, .until = 1};
    double least = 1;
    enum tune_outcome outcome;

    if (tune_survey_sort(survey))
        return TUNE_FAILED;
    if ((outcome = tuner_race(t, point, survey->plans, TUNE_WAYS, seconds, &race)) != TUNE_MEASURED)
        return outcome;
    for (int w = 1; w < TUNE_WAYS; w++)
        least = fmin(least, survey->plans[w].us = survey->plans[w].lap.ratio.median);
    for (int i = TUNE_WAYS; i < survey->n; i++)
        if (survey->plans[i].us > 0)
            survey->plans[i].us = fmax(survey->plans[i].us, least);
    return TUNE_MEASURED;
}

enum tune_outcome tuner_survey(struct tuner *t, const struct tune_point *point, double seconds, int all, int final, struct tune_survey *survey)
{
    const int has_final = final && survey->n > TUNE_WAYS;
    enum tune_outcome outcome = races_run(t, point, has_final ? (1 - FINAL) * seconds : seconds, all, survey);

    if (outcome == TUNE_MEASURED && has_final)
        outcome = final_run(t, point, FINAL * seconds, survey);
    for (int i = 1; i < survey->n; i++)
        survey->plans[i].us *= survey->plans[0].us;
    return outcome;
}
