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

/* The loops of each visit. A way's time is the geometric mean of its times in them, because an entry serves both kinds of calls. */
static const enum bench_loop_kind mix[] = {BENCH_COLD, BENCH_WARM};
enum { LOOPS = sizeof(mix) / sizeof(*mix) };

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
    hx_status_t status = t ? HX_SUCCESS : HX_ERR_NOMEM;
    void *none;

    for (int w = 0; w < TUNE_WAYS && status == HX_SUCCESS; w++) {
        status = hx_comm_dup(world, &t->comms[w]);
        if (status == HX_SUCCESS && o->bench.alloc) /* now its calls are taken to have such buffers */
            status = hx_alloc(t->comms[w], 0, &none);
    }
    if (status != HX_SUCCESS) {
        fprintf(stderr, "coll_tune: rank %d: its communicators: %s: %s\n", job->rank, hx_strerror(status), hx_error_detail(world));
        bench_backend_abort(1);
    }
    t->o = o;
    t->job = job;
    return t;
}

void tuner_close(struct tuner *t)
{
    for (int w = 0; w < TUNE_WAYS; w++)
        hx_comm_free(t->comms[w]);
    free(t);
}

struct hx_traits tuner_traits(const struct tuner *t)
{
    struct hx_traits traits = hx_traits_of(t->o->bench.dtype);

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

/* A visit: in each loop, first one call that brings its slots (warm: also its buffers) into the cache again, then the repetitions. */
static int visit_way(struct tuner *t, int way, double *ns)
{
    double unused;
    int failed = 0;

    bench_backend_use(t->comms[way]);
    for (int k = 0; k < LOOPS; k++) {
        bench_loop_use(&t->loop, mix[k]);
        if (t->loop.row->iterations == 1)
            failed = failed || bench_loop_time(&t->loop, CALL_LIBRARY, &unused);
        for (int i = 0; i < t->repetitions && !failed; i++)
            failed = bench_loop_time(&t->loop, CALL_LIBRARY, ns++);
    }
    bench_backend_use(NULL);
    return failed;
}

/* The time of a visit: the geometric mean of the medians of its loops. */
static double visit_mean(double *ns, int repetitions)
{
    double logs = 0;

    for (int k = 0; k < LOOPS; k++)
        logs += log(fmax(median(ns + k * repetitions, (size_t)repetitions), 0.1));
    return exp(logs / LOOPS);
}

/* tune_round_fn */
static enum tune_outcome visit_round(void *ctx, const int *order, int n, double ns[TUNE_WAYS], double *used)
{
    struct tuner *t = ctx;
    double mine[TUNE_WAYS * LOOPS * VISIT_REPETITIONS + 3], all[TUNE_WAYS * LOOPS * VISIT_REPETITIONS + 3], stolen = stolen_ticks();
    const int k = LOOPS * t->repetitions;

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
        ns[order[i]] = visit_mean(all + i * k, t->repetitions);
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
    first *= LOOPS * (double)t->loop.row->iterations;
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
    int failed = bench_loop_open(&loop, &t->o->bench, t->job, t->loop.row); /* before the others are given back */
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
    int ways[TUNE_WAYS] = {0};

    if (seconds > 0) {
        t->begin_s = hx_now_s();
        t->seconds = seconds;
        t->measured = t->spoiled = 0;
    }
    race->round = visit_round;
    race->exchange = visit_exchange;
    race->ctx = t;
    race->nways = n;
    race->least_gain = t->o->least_gain;
    for (int w = 0; w < n; w++) {
        ways[w] = w;
        way_set(t, w, point, &plans[w]);
    }
    if (bench_loop_open(&t->loop, &t->o->bench, t->job, &row) == 0 && warm_up(t, ways, n) == 0)
        outcome = tune_race_run(race);
    bench_loop_close(&t->loop);
    for (int w = 0; w < n; w++)
        plans[w].lap = race->laps[w];
    return outcome;
}

uint64_t tuner_slices(struct tuner *t, const struct tune_point *point, const struct tune_plan *plan)
{
    const int token = point->coll == HX_COLL_BARRIER;
    struct hx_choice choice = {0};

    way_set(t, 0, point, plan);
    if (hx_registry.planner->choose(t->comms[0]->members.planner, point->coll, 0, tuner_traits(t), token ? 1 : point->count,
                                    token ? 1 : (uint32_t)hx_dtype_rows[t->o->bench.dtype].bytes, &choice) != HX_SUCCESS)
        return 0;
    hx_plan_release(choice.plan);
    return choice.fine_slices;
}
