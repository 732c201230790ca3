/* SPDX-License-Identifier: BSD-3-Clause */
/* A point: its candidates, who of them may race, and what the race finds. */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include <stdlib.h>
#include <string.h>

#define QUALIFYING 0.4  /* of a point's time, to find who may race */
#define ALL_MEASURED 0.6 /* the same for judge, which wants all times */

static int by_prediction(const void *a, const void *b)
{
    const struct tune_plan *x = a, *y = b;
    return (x->predicted_us > y->predicted_us) - (x->predicted_us < y->predicted_us);
}

/* The planner looks at few numbers of lanes. If it takes several at all, a table may name any: every power of two. Returns how
 * many candidates there are then. */
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

void tune_survey_find(const struct tuner *t, const struct tune_point *point, int by_table, double costly, struct tune_survey *survey)
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
    const struct hx_cost_params params = hx_planner_params(planner);
    *survey = (struct tune_survey){.n = lanes_add(planner->shape, candidates, n)};
    for (int i = 0; i < survey->n; i++) {
        survey->plans[i].predicted_us = hx_cost_of(&params, planner->shape, &candidates[i], bytes).total_us;
        hx_candidate_name(&candidates[i], survey->plans[i].name);
    }
    if (survey->n == 0) {
        fprintf(stderr, "coll_tune: there is no plan for %s\n", hx_coll_name(point->coll));
        bench_backend_abort(1);
    }
    const struct tune_plan chosen = survey->plans[first];
    const double most = survey->plans[best].predicted_us * costly;
    survey->plans[first] = survey->plans[0];
    survey->plans[0] = chosen;
    survey->plans[0].slice_bytes = pick >= 0 ? tuned->slice_bytes : 0;
    qsort(survey->plans + 1, (size_t)survey->n - 1, sizeof(*survey->plans), by_prediction);
    while (survey->n > 1 && most > 0 && survey->plans[survey->n - 1].predicted_us > most) { /* a prediction of 0 excludes no plan */
        survey->n--;
        survey->costly++;
    }
}

int tune_plan_find(const struct tune_survey *survey, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(survey->plans[i].name, name))
            return i;
    return -1;
}

/* Races of the choice and seven others at a time: drift between races does not count. Leaves the choice's time in its us, and in
 * the other plans' us the ratios to it. Without all, the last stay unmeasured when the time is used up. */
static enum tune_outcome qualify(struct tuner *t, const struct tune_point *point, double seconds, int all, struct tune_survey *survey)
{
    const int most = (survey->n + TUNE_WAYS - 3) / (TUNE_WAYS - 1); /* races */
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

/* The plans that race come first: the choice, then the others. If there are more than can race, the fastest in short races do.
 * The plan of the size before is one of them. */
static enum tune_outcome ways_choose(struct tuner *t, const struct tune_point *point, const char *before, double seconds, int all,
                                     struct tune_survey *survey)
{
    int at;

    survey->qualified = survey->n > TUNE_WAYS;
    if (survey->qualified) {
        enum tune_outcome outcome = qualify(t, point, seconds, all, survey);
        if (outcome != TUNE_MEASURED)
            return outcome;
        for (int i = 1; i < survey->n; i++)
            survey->plans[i].us *= survey->plans[0].us;
        qsort(survey->plans + 1, (size_t)survey->n - 1, sizeof(*survey->plans), by_time);
        if (bench_bcast(survey->plans, (size_t)survey->n * sizeof(*survey->plans), HX_BYTE, 0)) /* logarithms differ between machines */
            return TUNE_FAILED;
    }
    survey->raced = survey->n < TUNE_WAYS ? survey->n : TUNE_WAYS;
    if ((at = tune_plan_find(survey, survey->n + survey->costly, before)) >= survey->raced) {
        const struct tune_plan kept = survey->plans[at];
        survey->raced += survey->raced < TUNE_WAYS;
        survey->costly -= at >= survey->n;
        survey->n += at >= survey->n;
        memmove(&survey->plans[survey->raced], &survey->plans[survey->raced - 1], (size_t)(at - survey->raced + 1) * sizeof(kept));
        survey->plans[survey->raced - 1] = kept;
    }
    return TUNE_MEASURED;
}

/* ---- the fastest ------------------------------------------------------------------------------------------------------ */

/* The point's plan as the planner cuts it, then in slices of half and double the bytes, where that changes anything and a table may
 * say so. */
static void slices_choose(struct tuner *t, const struct tune_point *point, struct tune_survey *survey)
{
    uint64_t cuts[3] = {0}, bytes = 0;
    int n = 0;

    for (int i = 0; i < 3; i++) {
        struct tune_plan *plan = &survey->slices[n];
        *plan = (struct tune_plan){.slice_bytes = i == 1 ? bytes / 2 : i == 2 ? bytes * 2 : 0};
        memcpy(plan->name, point->entry.plan, sizeof(plan->name));
        if (i > 0 && (plan->slice_bytes < HX_SLICE_LEAST || plan->slice_bytes > HX_SLICE_MOST))
            continue;
        cuts[n] = tuner_slices(t, point, plan);
        if (i == 0)
            bytes = cuts[0] ? point->bytes / cuts[0] : 0;
        n += i == 0 || (cuts[n] > 0 && cuts[n] != cuts[0] && (n == 1 || cuts[n] != cuts[1]));
    }
    survey->nslices = n;
}

static enum tune_outcome slices_race(struct tuner *t, struct tune_point *point, struct tune_survey *survey)
{
    struct tune_race race = {.before = -1, .until = 0.85, .end = 1};
    enum tune_outcome outcome;

    slices_choose(t, point, survey);
    if (survey->nslices == 1)
        return TUNE_MEASURED;
    outcome = tuner_race(t, point, survey->slices, survey->nslices, 0, &race);
    if (outcome == TUNE_MEASURED && race.winner) {
        point->entry.slice_bytes = survey->slices[race.winner].slice_bytes;
        point->entry.us *= race.winner_ns / race.default_ns;
    }
    return outcome;
}

/* The race's times are better than the qualifying's, which go with the default's time. The fastest of many plans that were
 * measured in a few rounds was lucky, as a rule: if all count, none is faster than the fastest of the race. */
static void times_take(struct tune_survey *survey, double default_us, int all)
{
    const double scale = survey->qualified ? default_us / survey->plans[0].us : 1;
    double least = default_us;

    for (int i = 0; i < survey->n; i++) {
        struct tune_plan *plan = &survey->plans[i];
        plan->us *= scale;
        if (i < survey->raced && plan->lap.rounds >= 2)
            least = fmin(least, plan->us = plan->lap.ratio.median * default_us);
        else if (all)
            plan->us = fmax(plan->us, least);
    }
}

enum tune_outcome tuner_point(struct tuner *t, struct tune_point *point, const char *before, double seconds, struct tune_survey *survey)
{
    const int chooses = t->o->command == TUNE_RUN, sliced = chooses && point->bytes >= TUNE_SLICED_BYTES;
    const double begin_s = hx_now_s(), share = chooses ? QUALIFYING : t->o->command == TUNE_JUDGE ? ALL_MEASURED : 1;
    struct hx_table_entry *found = &point->entry;
    struct tune_race race = {.until = sliced ? 0.5 : chooses ? 0.7 : 1, .end = !chooses ? 0 : sliced ? 0.7 : 1};
    enum tune_outcome outcome;

    before = chooses ? before : "";
    tune_survey_find(t, point, !chooses, chooses ? TUNE_COSTLY : TUNE_JUDGED, survey);
    outcome = ways_choose(t, point, before, share * seconds, !chooses, survey);
    if (outcome != TUNE_MEASURED || (survey->qualified && share == 1))
        return outcome;
    point->raced = survey->raced;
    point->costly = survey->costly;
    point->untried = 0;
    for (int i = survey->raced; i < survey->n && survey->qualified; i++)
        point->untried += survey->plans[i].us == 0;
    point->behind = survey->n - survey->raced - point->untried;
    race.before = tune_plan_find(survey, survey->raced, before);
    race.least_rounds = chooses ? 0 : survey->qualified ? TUNE_LEAST_ROUNDS : 2;
    outcome = tuner_race(t, point, survey->plans, survey->raced, survey->qualified ? (1 - share) * seconds : seconds, &race);
    memcpy(found->default_plan, survey->plans[0].name, sizeof(found->default_plan));
    memcpy(found->plan, survey->plans[race.winner].name, sizeof(found->plan));
    found->slice_bytes = 0; /* that of an earlier go was another plan's */
    found->mixed = 1;
    found->us = race.winner_ns / 1e3;
    found->default_us = race.default_ns / 1e3;
    point->open = race.open;
    survey->winner = race.winner;
    survey->gain = race.gain;
    if (outcome == TUNE_MEASURED)
        times_take(survey, found->default_us, !chooses);
    if (outcome == TUNE_MEASURED && sliced)
        outcome = slices_race(t, point, survey);
    survey->rounds = t->measured;
    survey->spoiled = t->spoiled;
    survey->seconds = hx_now_s() - begin_s;
    return outcome;
}
