/* SPDX-License-Identifier: BSD-3-Clause */
/* All candidates of a point, measured beside the planner's own choice: races of a few at a time, in each of which that
 * choice runs. So what drifts between the races does not count. */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include <math.h>
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
    struct hx_planner *planner = hx_world->comms->members.planner;
    const struct hx_traits traits = tuner_traits(t);
    struct hx_candidate *candidates = malloc(HX_MAX_CANDIDATES * sizeof(*candidates));
    double bytes = point->coll == HX_COLL_BARRIER ? 1 : (double)point->bytes, most;
    const struct hx_table_entry *tuned = NULL;
    const char *fallback;
    int n, pick = -1;

    if (!candidates) {
        fprintf(stderr, "coll_tune: no memory\n");
        return -1;
    }
    n = hx_planner_candidates(planner, point->coll, 0, traits.folding, bytes, candidates, &fallback);
    planner->cost.shared_alloc = traits.shared_alloc;
    if (by_table)
        tuned = hx_planner_tuned(planner, point->coll, traits, bytes, candidates, n, &pick);
    int best = hx_planner_best(planner, candidates, n, bytes);
    survey->n = n = lanes_add(planner->shape, candidates, n);
    survey->costly = 0;
    for (int i = 0; i < n; i++) {
        survey->plans[i] = (struct tune_plan){
            .predicted_us = hx_cost_of(&planner->cost, planner->shape, &candidates[i], bytes).total_us};
        hx_candidate_name(&candidates[i], survey->plans[i].name);
    }
    if (n == 0) {
        fprintf(stderr, "coll_tune: there is no plan for %s\n", hx_coll_name(point->coll));
        free(candidates);
        return -1;
    }
    struct tune_plan first = survey->plans[pick >= 0 ? pick : best];
    most = survey->plans[best].predicted_us * costly;
    first.slice_bytes = pick >= 0 ? tuned->slice_bytes : 0;
    survey->plans[pick >= 0 ? pick : best] = survey->plans[0];
    survey->plans[0] = first;
    if (n > 1)
        qsort(survey->plans + 1, (size_t)n - 1, sizeof(*survey->plans), by_prediction);
    while (survey->n > 1 && most > 0 && survey->plans[survey->n - 1].predicted_us > most) { /* a prediction of nothing excludes nobody */
        survey->n--;
        survey->costly++;
    }
    free(candidates);
    return 0;
}

/* Races of the choice and seven others at a time; *races: how many. Leaves the choice's time in its us, in the others' the ratios to it. */
static enum tune_outcome races_run(struct tuner *t, const struct tune_point *point, double seconds, int all, struct tune_survey *survey,
                                   int *races)
{
    struct tune_plan ways[TUNE_WAYS];
    struct tune_race race;
    double log_us = 0, begin_ns = 1e9 * hx_now_s(), elapsed = 0;
    int stop = 0, n;

    int most = (survey->n + TUNE_WAYS - 3) / (TUNE_WAYS - 1); /* races */
    *races = 0;
    for (int at = 1; (at < survey->n && (all || elapsed < seconds)) || *races == 0; at += n, ++*races) {
        enum tune_outcome outcome;
        n = survey->n - at < TUNE_WAYS - 1 ? survey->n - at : TUNE_WAYS - 1;
        ways[0] = survey->plans[0];
        memcpy(ways + 1, survey->plans + at, (size_t)n * sizeof(*ways));
        if ((outcome = tuner_plans_race(t, point, ways, n + 1, all ? 2 : 0, seconds / (most > 0 ? most : 1), &race)) != TUNE_MEASURED)
            return outcome;
        for (int i = 0; i < n; i++)
            survey->plans[at + i].us = race.laps[i + 1].ratio.median;
        log_us += log(race.default_ns / 1e3);
        elapsed = (1e9 * hx_now_s() - begin_ns) / 1e9;
        if (tuner_agree(&elapsed, &stop))
            return TUNE_FAILED;
    }
    survey->plans[0].us = exp(log_us / *races);
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
    struct tune_race race;
    double least = 1;
    enum tune_outcome outcome;

    if (tune_survey_sort(survey))
        return TUNE_FAILED;
    if ((outcome = tuner_plans_race(t, point, survey->plans, TUNE_WAYS, TUNE_LEAST_ROUNDS, seconds, &race)) != TUNE_MEASURED)
        return outcome;
    for (int w = 1; w < TUNE_WAYS; w++) {
        survey->plans[w].us = race.laps[w].ratio.median;
        least = survey->plans[w].us < least ? survey->plans[w].us : least;
    }
    for (int i = TUNE_WAYS; i < survey->n; i++)
        if (survey->plans[i].us > 0 && survey->plans[i].us < least)
            survey->plans[i].us = least;
    return TUNE_MEASURED;
}

enum tune_outcome tuner_survey(struct tuner *t, const struct tune_point *point, double seconds, int all, int final, struct tune_survey *survey)
{
    const int has_final = final && survey->n > TUNE_WAYS;
    int races;
    enum tune_outcome outcome = races_run(t, point, has_final ? (1 - FINAL) * seconds : seconds, all, survey, &races);

    if (outcome == TUNE_MEASURED && has_final)
        outcome = final_run(t, point, FINAL * seconds, survey);
    for (int i = 1; i < survey->n; i++)
        survey->plans[i].us *= survey->plans[0].us;
    return outcome;
}
