/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring candidates side by side in one process: duplicates of the world, each with a planner of its own that is given a table of one
 * entry. A call on duplicate w runs candidate w. Every decision follows from numbers that were reduced over all ranks.
 */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include "tools/common/median.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define VISIT_NS 2e6 /* at most, of one way in one round: what takes less is repeated */
#define VISIT_REPETITIONS 25
#define WARM_UP 4
#define QUALIFYING 0.4 /* of a point's time, to find who may race */

struct tuner {
    const struct bench_job *job;
    struct bench_options bench;
    double least_gain;
    hx_comm_t *comms[TUNE_WAYS];
    struct hx_table_entry entries[TUNE_WAYS]; /* what each of them is to run */
    /* the race under way */
    struct bench_loop loop;
    double begin_s, seconds;
    int repetitions, measured, spoiled;
};

static volatile sig_atomic_t told_to_stop;

static void on_signal(int number)
{
    told_to_stop = number;
}

void tuner_watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

double tuner_elapsed_s(double begin_s, int *stop)
{
    double mine[2] = {hx_now_s() - begin_s, told_to_stop}, all[2];

    if (bench_allreduce(mine, all, 2, HX_FLOAT64, HX_MAX))
        bench_backend_abort(1);
    *stop = (int)all[1];
    return all[0];
}

/* Time that the hypervisor has given to others, on this machine so far. */
static double stolen_ticks(void)
{
    unsigned long long stolen = 0;
    FILE *stat = fopen("/proc/stat", "r");

    if (stat && fscanf(stat, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) != 1)
        stolen = 0;
    if (stat)
        fclose(stat);
    return (double)stolen;
}

struct tuner *tuner_open(const struct tune_options *o, const struct bench_job *job)
{
    hx_comm_t *world = hx_world->comms;
    struct tuner *t = calloc(1, sizeof(*t));
    hx_status_t status = HX_SUCCESS;

    if (!t) {
        fprintf(stderr, "coll_tune: no memory\n");
        return NULL;
    }
    t->job = job;
    t->bench = o->bench;
    t->least_gain = o->least_gain;
    t->bench.warmup = o->command == TUNE_RUN ? WARM_UP : WARM_UP / 2;
    for (int w = 0; w < TUNE_WAYS && status == HX_SUCCESS; w++) {
        void *none;
        status = hx_comm_dup(world, &t->comms[w]);
        if (status == HX_SUCCESS && t->bench.alloc) /* now its calls are taken to have such buffers */
            status = hx_alloc(t->comms[w], 0, &none);
    }
    if (status == HX_SUCCESS)
        return t;
    fprintf(stderr, "coll_tune: rank %d: its communicators: %s: %s\n", job->rank, hx_strerror(status), hx_error_detail(world));
    tuner_close(t);
    return NULL;
}

void tuner_close(struct tuner *t)
{
    for (int w = 0; w < TUNE_WAYS; w++)
        if (t->comms[w])
            hx_comm_free(t->comms[w]);
    free(t);
}

struct hx_traits tuner_traits(const struct tuner *t)
{
    struct hx_traits traits = hx_traits_of(t->bench.dtype);

    traits.shared_alloc = t->comms[0]->shared_alloc;
    return traits;
}

void tuner_key(const struct tuner *t, struct tune_point *point)
{
    const struct hx_planner *planner = t->comms[0]->members.planner;

    hx_table_key(&point->entry, point->coll, tuner_traits(t), planner->shape, planner->provider);
}

/* ---- a race --------------------------------------------------------------------------------------------------------- */

/* Its communicator's planner has what it is to run, and nothing else. */
static void way_use(struct tuner *t, int way)
{
    hx_planner_use_table(t->comms[way]->members.planner, &t->entries[way], 1);
    hx_comm_forget_bound(t->comms[way]);
}

/* Let way run this plan, at any size. */
static void way_set(struct tuner *t, int way, const struct tune_point *point, const struct tune_plan *plan)
{
    struct hx_table_entry *entry = &t->entries[way];

    *entry = point->entry;
    entry->from_bytes = 0;
    entry->to_bytes = UINT64_MAX;
    entry->slice_bytes = plan->slice_bytes;
    snprintf(entry->plan, sizeof(entry->plan), "%s", plan->name);
    way_use(t, way);
}

/* A visit: a call that finds its slots in the cache again, then the repetitions. */
static int visit_way(struct tuner *t, int way, double *ns)
{
    double unused;
    int failed = 0;

    bench_backend_use(t->comms[way]);
    if (t->loop.row->iterations == 1)
        failed = bench_loop_time(&t->loop, CALL_LIBRARY, &unused);
    for (int i = 0; i < t->repetitions && !failed; i++)
        failed = bench_loop_time(&t->loop, CALL_LIBRARY, &ns[i]);
    bench_backend_use(NULL);
    return failed;
}

/* tune_round_fn */
static enum tune_outcome visit_round(void *ctx, const int *order, int n, double ns[TUNE_WAYS], double *used)
{
    struct tuner *t = ctx;
    double mine[TUNE_WAYS * VISIT_REPETITIONS + 3], all[TUNE_WAYS * VISIT_REPETITIONS + 3], stolen = stolen_ticks();
    const int k = t->repetitions;

    for (int i = 0; i < n; i++)
        if (visit_way(t, order[i], mine + i * k))
            return TUNE_FAILED;
    mine[n * k] = stolen_ticks() - stolen;
    mine[n * k + 1] = told_to_stop;
    mine[n * k + 2] = hx_now_s() - t->begin_s;
    if (bench_allreduce(mine, all, (size_t)(n * k + 3), HX_FLOAT64, HX_MAX))
        return TUNE_FAILED;
    *used = all[n * k + 2] / t->seconds;
    if (all[n * k + 1] > 0)
        return TUNE_STOPPED;
    if (all[n * k] > 0 && t->spoiled < t->measured) { /* on a machine that always loses some, that must do */
        t->spoiled++;
        return TUNE_SPOILED;
    }
    t->measured++;
    for (int i = 0; i < n; i++)
        ns[order[i]] = median(all + i * k, (size_t)k);
    return TUNE_MEASURED;
}

/* And find how often a way can be timed in a round, so that half of the time suffices for all rounds. */
static int warm_up(struct tuner *t, const int *ways, int n)
{
    double first = 0, worst = 0, visit_ns = t->seconds * 1e9 / 2 / TUNE_ROUNDS / n;
    int failed = 0;

    t->repetitions = 1;
    for (int i = 0; i < n && !failed; i++) {
        bench_backend_use(t->comms[ways[i]]);
        failed = bench_loop_warm_up(&t->loop) || (i == 0 && bench_loop_time(&t->loop, CALL_LIBRARY, &first));
        bench_backend_use(NULL);
    }
    first *= (double)t->loop.row->iterations;
    if (failed || bench_allreduce(&first, &worst, 1, HX_FLOAT64, HX_MAX))
        return -1;
    visit_ns = visit_ns < VISIT_NS ? visit_ns : VISIT_NS;
    while (t->repetitions < VISIT_REPETITIONS && (t->repetitions + 2) * worst < visit_ns)
        t->repetitions += 2;
    return 0;
}

/* tune_exchange_fn: each has the other's communicator, so its slots, and both have other buffers. */
static int visit_exchange(void *ctx, int a, int b)
{
    struct tuner *t = ctx;
    struct bench_loop loop;
    hx_comm_t *comm = t->comms[a];
    double begin_s = hx_now_s();

    t->comms[a] = t->comms[b];
    t->comms[b] = comm;
    way_use(t, a);
    way_use(t, b);
    int failed = bench_loop_open(&loop, &t->bench, t->job, t->loop.row); /* before the others are given back */
    bench_loop_close(&t->loop);
    t->loop = loop;
    failed = failed || warm_up(t, (const int[]){a, b}, 2);
    t->begin_s += hx_now_s() - begin_s; /* the race's time stands still */
    return failed;
}

enum tune_outcome tuner_race(struct tuner *t, const struct tune_point *point, struct tune_plan *plans, int n, double seconds,
                             struct tune_race *race)
{
    struct bench_row row = {.collective = point->collective, .bytes = point->bytes, .count = point->count};
    enum tune_outcome outcome = TUNE_FAILED;
    int ways[TUNE_WAYS];

    if (seconds > 0) {
        t->begin_s = hx_now_s();
        t->seconds = seconds;
        t->measured = t->spoiled = 0;
    }
    race->round = visit_round;
    race->exchange = visit_exchange;
    race->ctx = t;
    race->nways = n;
    race->least_gain = t->least_gain;
    for (int w = 0; w < n; w++) {
        ways[w] = w;
        way_set(t, w, point, &plans[w]);
    }
    if (bench_loop_open(&t->loop, &t->bench, t->job, &row) == 0 && warm_up(t, ways, n) == 0)
        outcome = tune_race_run(race);
    bench_loop_close(&t->loop);
    for (int w = 0; w < n; w++)
        plans[w].lap = race->laps[w];
    return outcome;
}

/* ---- a point -------------------------------------------------------------------------------------------------------- */

/* Who races comes first: the model's choice, then the others; of more than can race, those that are the fastest in a short survey. The plan
 * of the size before is one of them. */
static enum tune_outcome ways_choose(struct tuner *t, struct tune_point *point, const char *before, double seconds,
                                     struct tune_survey *survey)
{
    struct tune_plan kept;
    int at;

    if (tune_survey_find(t, point, 0, TUNE_COSTLY, survey))
        return TUNE_FAILED;
    survey->qualified = survey->n > TUNE_WAYS;
    if (survey->qualified) {
        enum tune_outcome outcome = tuner_survey(t, point, seconds, 0, 0, survey);
        if (outcome != TUNE_MEASURED || tune_survey_sort(survey))
            return outcome == TUNE_MEASURED ? TUNE_FAILED : outcome;
    }
    survey->raced = survey->n < TUNE_WAYS ? survey->n : TUNE_WAYS;
    if ((at = tune_plan_find(survey, survey->n + survey->costly, before)) >= survey->raced) {
        survey->raced += survey->raced < TUNE_WAYS;
        survey->costly -= at >= survey->n;
        survey->n += at >= survey->n;
        kept = survey->plans[at];
        memmove(&survey->plans[survey->raced], &survey->plans[survey->raced - 1], (size_t)(at - survey->raced + 1) * sizeof(kept));
        survey->plans[survey->raced - 1] = kept;
    }
    point->raced = survey->raced;
    point->costly = survey->costly;
    point->untried = 0;
    for (int i = survey->raced; i < survey->n && survey->qualified; i++)
        point->untried += survey->plans[i].us == 0;
    point->behind = survey->n - survey->raced - point->untried;
    return TUNE_MEASURED;
}

/* In how many slices way 0 cuts the point's vector with this plan; 0 after an error. */
static uint64_t slices_of(struct tuner *t, const struct tune_point *point, const struct tune_plan *plan)
{
    const int token = point->coll == HX_COLL_BARRIER;
    struct hx_choice choice = {0};

    way_set(t, 0, point, plan);
    if (hx_registry.planner->choose(t->comms[0]->members.planner, point->coll, 0, tuner_traits(t), token ? 1 : point->count,
                                    token ? 1 : (uint32_t)bench_dtype_bytes(t->bench.dtype), &choice) != HX_SUCCESS)
        return 0;
    hx_plan_release(choice.plan);
    return choice.fine_slices;
}

/* The point's plan as the planner cuts it, then in slices of half and double the bytes, where that changes anything and a table may say so. */
static void slices_choose(struct tuner *t, const struct tune_point *point, struct tune_survey *survey)
{
    uint64_t cuts[3] = {0}, bytes = 0;
    int n = 0;

    for (int i = 0; i < 3; i++) {
        struct tune_plan *plan = &survey->slices[n];
        *plan = (struct tune_plan){.slice_bytes = i == 1 ? bytes / 2 : i == 2 ? bytes * 2 : 0};
        snprintf(plan->name, sizeof(plan->name), "%s", point->entry.plan);
        if (i > 0 && (plan->slice_bytes < HX_SLICE_LEAST || plan->slice_bytes > HX_SLICE_MOST))
            continue;
        cuts[n] = slices_of(t, point, plan);
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

enum tune_outcome tuner_point(struct tuner *t, struct tune_point *point, const char *before, double seconds, struct tune_survey *survey)
{
    const int sliced = point->bytes >= TUNE_SLICED_BYTES;
    const double begin_s = hx_now_s();
    struct hx_table_entry *found = &point->entry;
    struct tune_race race = {.until = sliced ? 0.5 : 0.7, .end = sliced ? 0.7 : 1};
    enum tune_outcome outcome = ways_choose(t, point, before, QUALIFYING * seconds, survey);

    if (outcome != TUNE_MEASURED)
        return outcome;
    race.before = tune_plan_find(survey, survey->raced, before);
    snprintf(found->default_plan, sizeof(found->default_plan), "%s", survey->plans[0].name);
    outcome = tuner_race(t, point, survey->plans, survey->raced, survey->qualified ? (1 - QUALIFYING) * seconds : seconds, &race);
    snprintf(found->plan, sizeof(found->plan), "%s", survey->plans[race.winner].name);
    found->slice_bytes = 0; /* that of an earlier go was another plan's */
    found->us = race.winner_ns / 1e3;
    found->default_us = race.default_ns / 1e3;
    point->open = race.open;
    survey->winner = race.winner;
    survey->gain = race.gain;
    survey->nslices = 0;
    if (outcome == TUNE_MEASURED && sliced)
        outcome = slices_race(t, point, survey);
    survey->rounds = t->measured;
    survey->spoiled = t->spoiled;
    survey->seconds = hx_now_s() - begin_s;
    return outcome;
}
