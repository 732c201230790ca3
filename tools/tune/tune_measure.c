/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring candidates side by side in one process: duplicates of the world, each with a planner of its own that is given a table of one
 * entry. A call on duplicate w runs candidate w. Every decision follows from numbers that were reduced over all ranks.
 */
#include "tools/tune/coll_tune.h"
#include "tools/common/bench_backend.h"
#include "hier/planner.h"
#include "tools/common/median.h"
#include <math.h>
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
};

/* The point under way. */
struct visit {
    struct tuner *tuner;
    struct bench_loop *loop;
    struct tune_story *story;
    double begin_ns, seconds;
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

int tuner_agree(double *elapsed, int *stop)
{
    double mine[2] = {*elapsed, told_to_stop}, all[2];

    if (bench_allreduce(mine, all, 2, HX_FLOAT64, HX_MAX))
        return -1;
    *elapsed = all[0];
    *stop = (int)all[1];
    return 0;
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
        fprintf(stderr, "%s: no memory\n", bench_backend_tool);
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
    fprintf(stderr, "%s: rank %d: its communicators: %s: %s\n", bench_backend_tool, job->rank, hx_strerror(status), hx_error_detail(world));
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

/* A visit: a call that finds its slots in the cache again, then the repetitions. */
static int visit_way(const struct visit *v, int way, double *ns)
{
    double unused;
    int failed = 0;

    bench_backend_use(v->tuner->comms[way]);
    if (v->loop->row->iterations == 1)
        failed = bench_loop_time(v->loop, CALL_LIBRARY, &unused);
    for (int i = 0; i < v->repetitions && !failed; i++)
        failed = bench_loop_time(v->loop, CALL_LIBRARY, &ns[i]);
    bench_backend_use(NULL);
    return failed;
}

/* tune_round_fn */
static enum tune_outcome visit_round(void *ctx, const int *order, int n, double ns[TUNE_WAYS], double *used)
{
    struct visit *v = ctx;
    double mine[TUNE_WAYS * VISIT_REPETITIONS + 3], all[TUNE_WAYS * VISIT_REPETITIONS + 3], stolen = stolen_ticks();
    const int k = v->repetitions;

    for (int i = 0; i < n; i++)
        if (visit_way(v, order[i], mine + i * k))
            return TUNE_FAILED;
    mine[n * k] = stolen_ticks() - stolen;
    mine[n * k + 1] = told_to_stop;
    mine[n * k + 2] = 1e9 * hx_now_s() - v->begin_ns;
    if (bench_allreduce(mine, all, (size_t)(n * k + 3), HX_FLOAT64, HX_MAX))
        return TUNE_FAILED;
    *used = all[n * k + 2] / 1e9 / v->seconds;
    if (all[n * k + 1] > 0)
        return TUNE_STOPPED;
    if (all[n * k] > 0 && v->spoiled < v->measured) { /* on a machine that always loses some, that must do */
        v->spoiled++;
        return TUNE_SPOILED;
    }
    v->measured++;
    for (int i = 0; i < n; i++)
        ns[order[i]] = median(all + i * k, (size_t)k);
    return TUNE_MEASURED;
}

/* ---- candidates ----------------------------------------------------------------------------------------------------- */

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

static uint32_t elem_bytes_of(const struct tuner *t, const struct tune_point *point)
{
    return point->coll == HX_COLL_BARRIER ? 1 : (uint32_t)bench_dtype_bytes(t->bench.dtype);
}

static uint64_t count_of(const struct tune_point *point)
{
    return point->coll == HX_COLL_BARRIER ? 1 : point->count; /* a token */
}

/* Its communicator's planner has what it is to run, and nothing else. */
static void way_use(struct tuner *t, int way)
{
    hx_planner_use_table(t->comms[way]->members.planner, &t->entries[way], 1);
    hx_comm_forget_bound(t->comms[way]);
}

/* Let way run this plan, at any size. */
static void way_set(struct tuner *t, int way, const struct tune_point *point, const char *plan, uint64_t slice_bytes)
{
    struct hx_table_entry *entry = &t->entries[way];

    *entry = point->entry;
    entry->from_bytes = 0;
    entry->to_bytes = UINT64_MAX;
    entry->slice_bytes = slice_bytes;
    snprintf(entry->plan, sizeof(entry->plan), "%s", plan);
    way_use(t, way);
}

static int way_find(const struct tuner *t, int n, const char *plan)
{
    for (int w = 0; w < n; w++)
        if (!strcmp(t->entries[w].plan, plan))
            return w;
    return -1;
}

/* Who has not qualified, then who was predicted to be costly. 0, or -1 without memory. */
static int pruned_tell(const struct tuner *t, struct tune_point *point, const struct tune_survey *survey, struct tune_story *story)
{
    if (!(story->pruned = calloc((size_t)(survey->n + survey->costly) + 1, sizeof(*story->pruned)))) {
        fprintf(stderr, "%s: no memory\n", bench_backend_tool);
        return -1;
    }
    point->costly = point->untried = 0;
    for (int i = 0; i < survey->n + survey->costly; i++) {
        const struct tune_plan *plan = &survey->plans[i];
        int w = way_find(t, story->nways, plan->name);
        struct tune_way *way = w < 0 ? &story->pruned[story->npruned++] : &story->ways[w];
        snprintf(way->name, sizeof(way->name), "%s", plan->name);
        way->predicted_us = plan->predicted_us;
        if (w < 0)
            way->lap.ratio.median = plan->us > 0 ? plan->us / survey->plans[0].us : 0;
        point->costly += w < 0 && i >= survey->n;
        point->untried += w < 0 && i < survey->n && survey->n > TUNE_WAYS && plan->us == 0;
    }
    point->raced = story->nways;
    point->behind = story->npruned - point->costly - point->untried;
    return 0;
}

/* Fill the ways: the model's choice, then the others; of more than can race, those that are the fastest in a short survey. The plan of
 * the size before is one of them. */
static enum tune_outcome ways_choose(struct tuner *t, struct tune_point *point, const char *before, double seconds,
                                     struct tune_survey *survey, struct tune_story *story)
{
    enum tune_outcome outcome = TUNE_MEASURED;
    int n = 0, there = 0;

    if (tune_survey_find(t, point, 0, TUNE_COSTLY, survey))
        return TUNE_FAILED;
    if (survey->n > TUNE_WAYS) {
        if ((outcome = tuner_survey(t, point, seconds, 0, 0, survey)) != TUNE_MEASURED)
            return outcome;
        if (tune_survey_sort(survey))
            return TUNE_FAILED;
    }
    for (; n < survey->n && n < TUNE_WAYS; n++)
        way_set(t, n, point, survey->plans[n].name, 0);
    for (int i = 0; i < survey->n + survey->costly; i++)
        there |= !strcmp(survey->plans[i].name, before);
    if (there && way_find(t, n, before) < 0) {
        n -= n == TUNE_WAYS;
        way_set(t, n++, point, before, 0);
    }
    story->nways = n;
    return pruned_tell(t, point, survey, story) ? TUNE_FAILED : outcome;
}

/* The number of slices in which way cuts the point's vector; 0 after an error. */
static uint64_t slices_of(struct tuner *t, const struct tune_point *point, int way)
{
    struct hx_choice choice = {0};
    hx_status_t status = hx_registry.planner->choose(t->comms[way]->members.planner, point->coll, 0, tuner_traits(t), count_of(point),
                                                     elem_bytes_of(t, point), &choice);
    if (status != HX_SUCCESS)
        return 0;
    hx_plan_release(choice.plan);
    return choice.fine_slices;
}

/* Way 0 runs plan as the planner cuts it; the others in slices of half and double the bytes, where that changes anything and a table may
 * say so. Returns the number of ways. */
static int slices_choose(struct tuner *t, const struct tune_point *point, const char *plan)
{
    uint64_t slices[3], bytes;
    int n = 1;

    way_set(t, 0, point, plan, 0);
    if (!(slices[0] = slices_of(t, point, 0)))
        return 1;
    bytes = point->bytes / slices[0];
    for (int i = 0; i < 2; i++) {
        uint64_t other = i ? bytes * 2 : bytes / 2;
        int same = other < HX_SLICE_LEAST || other > HX_SLICE_MOST;
        way_set(t, n, point, plan, other);
        slices[n] = slices_of(t, point, n);
        for (int w = 0; w < n; w++)
            same |= slices[w] == slices[n];
        n += !same && slices[n] > 0;
    }
    return n;
}

/* ---- a point -------------------------------------------------------------------------------------------------------- */

/* And find how often a way can be timed in a round, so that half of the time suffices for all rounds. */
static int warm_up(struct visit *v, const int *ways, int n)
{
    double first = 0, worst = 0, visit_ns = v->seconds * 1e9 / 2 / TUNE_ROUNDS / n;
    int failed = 0;

    v->repetitions = 1;
    for (int i = 0; i < n && !failed; i++) {
        bench_backend_use(v->tuner->comms[ways[i]]);
        failed = bench_loop_warm_up(v->loop) || (i == 0 && bench_loop_time(v->loop, CALL_LIBRARY, &first));
        bench_backend_use(NULL);
    }
    first *= (double)v->loop->row->iterations;
    if (failed || bench_allreduce(&first, &worst, 1, HX_FLOAT64, HX_MAX))
        return -1;
    visit_ns = visit_ns < VISIT_NS ? visit_ns : VISIT_NS;
    while (v->repetitions < VISIT_REPETITIONS && (v->repetitions + 2) * worst < visit_ns)
        v->repetitions += 2;
    return 0;
}

/* tune_exchange_fn: each has the other's communicator, so its slots, and both have other buffers. */
static int visit_exchange(void *ctx, int a, int b)
{
    struct visit *v = ctx;
    struct tuner *t = v->tuner;
    struct bench_loop loop;
    hx_comm_t *comm = t->comms[a];
    double begin_ns = 1e9 * hx_now_s();

    t->comms[a] = t->comms[b];
    t->comms[b] = comm;
    way_use(t, a);
    way_use(t, b);
    int failed = bench_loop_open(&loop, &t->bench, t->job, v->loop->row); /* before the others are given back */
    bench_loop_close(v->loop);
    *v->loop = loop;
    failed = failed || warm_up(v, (const int[]){a, b}, 2);
    v->begin_ns += 1e9 * hx_now_s() - begin_ns; /* the race's time stands still */
    return failed;
}

/* All ways, from the first on. */
static enum tune_outcome visit_race(struct visit *v, struct tune_race *race)
{
    int ways[TUNE_WAYS];

    for (int w = 0; w < race->nways; w++)
        ways[w] = w;
    race->round = visit_round;
    race->exchange = visit_exchange;
    race->ctx = v;
    return warm_up(v, ways, race->nways) ? TUNE_FAILED : tune_race_run(race);
}

static enum tune_outcome slices_race(struct visit *v, struct tune_point *point, struct tune_race *race)
{
    struct hx_table_entry *found = &point->entry;
    enum tune_outcome outcome;

    *race = (struct tune_race){.nways = slices_choose(v->tuner, point, found->plan), .before = -1,
                               .least_gain = v->tuner->least_gain, .until = 0.85, .end = 1};
    if (race->nways == 1)
        return TUNE_MEASURED;
    outcome = visit_race(v, race);
    v->story->nslices = race->nways;
    for (int w = 0; w < race->nways; w++) {
        struct tune_way *way = &v->story->slices[w];
        snprintf(way->name, sizeof(way->name), w ? "slices of %llu bytes" : "slices as the planner cuts them",
                 (unsigned long long)v->tuner->entries[w].slice_bytes);
        way->lap = race->laps[w];
    }
    if (outcome == TUNE_MEASURED && race->winner) {
        found->slice_bytes = v->tuner->entries[race->winner].slice_bytes;
        found->us *= race->winner_ns / race->default_ns;
    }
    return outcome;
}

static enum tune_outcome race_run(struct visit *v, struct tune_point *point, const char *before)
{
    struct tuner *t = v->tuner;
    struct hx_table_entry *found = &point->entry;
    const int sliced = point->bytes >= TUNE_SLICED_BYTES;
    struct tune_race race = {.nways = v->story->nways, .least_gain = t->least_gain, .until = sliced ? 0.5 : 0.7, .end = sliced ? 0.7 : 1};

    race.before = way_find(t, race.nways, before);
    snprintf(found->default_plan, sizeof(found->default_plan), "%s", t->entries[0].plan);
    enum tune_outcome outcome = visit_race(v, &race);
    snprintf(found->plan, sizeof(found->plan), "%s", t->entries[race.winner].plan);
    found->slice_bytes = 0; /* that of an earlier go was another plan's */
    found->us = race.winner_ns / 1e3;
    found->default_us = race.default_ns / 1e3;
    v->story->winner = race.winner;
    point->open = race.open;
    v->story->gain = race.gain;
    for (int w = 0; w < race.nways; w++)
        v->story->ways[w].lap = race.laps[w];
    return outcome == TUNE_MEASURED && sliced ? slices_race(v, point, &race) : outcome;
}

enum tune_outcome tuner_point(struct tuner *t, struct tune_point *point, const char *before, double seconds,
                              struct tune_survey *survey, struct tune_story *story)
{
    struct bench_row row = {.collective = point->collective, .bytes = point->bytes, .count = point->count};
    double begin_ns = 1e9 * hx_now_s();
    enum tune_outcome outcome = ways_choose(t, point, before, QUALIFYING * seconds, survey, story);
    struct bench_loop loop;
    struct visit v = {.tuner = t, .loop = &loop, .story = story, .begin_ns = 1e9 * hx_now_s(),
                      .seconds = survey->n > TUNE_WAYS ? (1 - QUALIFYING) * seconds : seconds};

    if (outcome != TUNE_MEASURED)
        return outcome;
    outcome = bench_loop_open(&loop, &t->bench, t->job, &row) ? TUNE_FAILED : race_run(&v, point, before);
    bench_loop_close(&loop);
    bench_bound_set(&t->bench, t->job, 0, &row);
    story->bound_us = row.bound_us;
    story->rounds = v.measured;
    story->spoiled = v.spoiled;
    story->seconds = (1e9 * hx_now_s() - begin_ns) / 1e9;
    point->measured = outcome == TUNE_MEASURED;
    return outcome;
}

enum tune_outcome tuner_plans_race(struct tuner *t, const struct tune_point *point, const struct tune_plan *plans,
                                   int n, int least_rounds, double seconds, struct tune_race *race)
{
    struct bench_row row = {.collective = point->collective, .bytes = point->bytes, .count = point->count};
    struct bench_loop loop;
    struct visit v = {.tuner = t, .loop = &loop, .begin_ns = 1e9 * hx_now_s(), .seconds = seconds};
    enum tune_outcome outcome = TUNE_FAILED;

    *race = (struct tune_race){.nways = n, .before = -1, .least_gain = t->least_gain, .least_rounds = least_rounds, .until = 1};
    for (int w = 0; w < n; w++)
        way_set(t, w, point, plans[w].name, plans[w].slice_bytes);
    if (bench_loop_open(&loop, &t->bench, t->job, &row) == 0)
        outcome = visit_race(&v, race);
    bench_loop_close(&loop);
    return outcome;
}
