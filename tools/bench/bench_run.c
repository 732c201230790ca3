/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of coll_bench: repetitions of the timed loop, checked and summed up. */
#include "tools/common/bench_backend.h"
#include "tools/common/bench_loop.h"
#include "tools/common/median.h"
#include "runtime/base/size.h"
#include <stdlib.h>
#include <string.h>

#define FLOOR_REPETITIONS 10

static void wrong_add(const struct bench_loop *l, uint32_t call, uint64_t bad, const char *text, struct bench_checked *checked)
{
    char size[HX_SIZE_BYTES];

    if (bad && !checked->wrong)
        fprintf(stderr, "%s: %s, %s, call %u: %s; wrong elements in this call: %llu\n", bench_backend_tool,
                bench_collective_names[l->row->collective], hx_size_format(l->row->bytes, size), call, text, (unsigned long long)bad);
    checked->wrong += bad;
}

static void check_call(const struct bench_loop *l, uint32_t call, struct bench_checked *checked)
{
    char text[BENCH_TEXT_BYTES] = "";

    if (!bench_loop_has_result(l))
        return;
    uint64_t bad = bench_data_check(l->row->collective, bench_loop_out(l, call), l->row->count, l->job->rank, (int)l->o->root, call, text);
    wrong_add(l, call, bad, text, checked);
    checked->elements += l->out_count;
}

/* The calls of the last repetition whose outputs are still there. */
static void check_last(const struct bench_loop *l, struct bench_checked *checked)
{
    uint64_t n = l->row->iterations < l->row->pairs ? l->row->iterations : l->row->pairs;

    for (uint64_t i = 1; i <= n; i++)
        check_call(l, l->call - (uint32_t)i, checked);
}

/* If all calls of a row have the same buffers: check the result and the input after the last call. Then do so after one more call with a
 * cleared output, because a call that writes nothing would leave the right result of the call before. */
static int check_same(struct bench_loop *l, struct bench_checked *checked)
{
    char text[BENCH_TEXT_BYTES] = "";

    for (int again = 0; again < 2; again++) {
        if (again && bench_loop_repeat(l))
            return -1;
        if (bench_loop_has_input(l)) /* first, because a wrong input also spoils the result */
            wrong_add(l, l->call, bench_data_check_input(bench_loop_in(l, l->call), l->in_count, l->job->rank, l->call, text),
                      text, checked);
        check_call(l, l->call, checked);
    }
    return 0;
}

/* The time that all ranks take on the cores that there are: ranks of a node may write each other's results. Each rank's best
 * repetition counts, without other work on its core. */
static int floor_measure(struct bench_loop *l, double *floor_us)
{
    const double crowd = l->job->sharing > l->job->cpus ? (double)l->job->sharing / l->job->cpus : 1;
    double best = 1e18, sum, ns;
    for (int i = 0; i < FLOOR_REPETITIONS; i++) {
        if (bench_loop_time(l, CALL_FLOOR, &ns))
            return -1;
        best = ns < best ? ns : best;
    }
    best *= crowd; /* before the sum: other kernels have other crowds, and the mean of their bounds is never above the largest */
    if (bench_allreduce(&best, &sum, 1, HX_FLOAT64, HX_SUM))
        return -1;
    *floor_us = sum / l->job->size / 1e3;
    return 0;
}

/* Fill samples[repetitions], of twice that room, with the time of each repetition on the slowest rank, in ns, sorted. */
static int measure(struct bench_loop *l, uint64_t repetitions, double *samples, struct bench_checked *checked)
{
    for (uint64_t i = 0; i < repetitions; i++) {
        if (bench_loop_time(l, CALL_LIBRARY, &samples[i]))
            return -1;
        if (l->o->check && l->o->loop == BENCH_COLD)
            check_last(l, checked);
    }
    if (l->o->check && l->o->loop != BENCH_COLD && check_same(l, checked))
        return -1;
    memcpy(samples + repetitions, samples, repetitions * sizeof(*samples));
    if (bench_allreduce(samples + repetitions, samples, repetitions, HX_FLOAT64, HX_MAX))
        return -1;
    ascending_sort(samples, repetitions);
    return 0;
}

static double at_fraction(const double *sorted, uint64_t n, double fraction)
{
    uint64_t i = (uint64_t)(fraction * (double)n);
    return sorted[i < n ? i : n - 1] / 1e3;
}

static void summarise(const struct bench_loop *l, const double *samples)
{
    struct bench_row *row = l->row;
    const double p = l->job->size, phases = row->collective == HX_FUNCTION_ALLREDUCE ? 2 : 1;
    const double share = bench_is_whole(row->collective) ? 1 : phases * (p - 1) / p;
    row->min_us = samples[0] / 1e3;
    row->median_us = at_fraction(samples, row->repetitions, 0.5);
    row->p99_us = at_fraction(samples, row->repetitions, 0.99);
    row->bus_gbps = row->median_us > 0 ? (double)row->bytes * share / (row->median_us * 1e3) : 0;
}

/* Record the plan of the calls, and its predicted time: the busiest rank counts. */
static int plan_ask(struct bench_loop *l)
{
    struct bench_row *row = l->row;
    hx_prediction_t prediction;
    hx_plan_info_t info;
    uint64_t mine[2], most[2];
    /* of the longest block */
    size_t count =
        bench_has_counts(row->collective) ? (row->count + (size_t)l->job->size - 1) / (size_t)l->job->size : row->count;
    if (bench_backend_plan(row->collective, count, l->o->dtype, l->o->op, (int)l->o->root, &info) ||
        bench_backend_predict(row->collective, count, l->o->dtype, l->o->op, (int)l->o->root, &prediction))
        return -1;
    row->predicted_us = prediction.us;
    mine[0] = info.rounds;
    mine[1] = info.network_bytes + info.shared_bytes;
    if (bench_allreduce(mine, most, 2, HX_UINT64, HX_MAX))
        return -1;
    memcpy(row->plan, info.plan, sizeof(row->plan));
    row->rounds = most[0];
    row->sent_bytes = most[1];
    return 0;
}

int bench_row_run(const struct bench_options *o, const struct bench_job *job, struct bench_row *row,
                  struct bench_checked *checked)
{
    struct bench_loop l = {0};
    const uint64_t by_size = ((uint64_t)64 << 20) / (row->bytes + 1);
    row->repetitions = o->repetitions ? o->repetitions : by_size < 20 ? 20 : by_size > 300 ? 300 : by_size;
    double *samples = malloc(2 * row->repetitions * sizeof(*samples)), floor_us = 0;
    if (!samples) {
        fprintf(stderr, "%s: rank %d: no memory for the times of %llu repetitions\n", bench_backend_tool, job->rank, (unsigned long long)row->repetitions);
        return -1;
    }
    int failed = bench_loop_open(&l, o, job, row);
    if (!failed && l.in_count)
        failed = floor_measure(&l, &floor_us);
    failed = failed || bench_loop_warm_up(&l) || measure(&l, row->repetitions, samples, checked);
    if (!failed) {
        summarise(&l, samples);
        bench_bound_set(o, job, floor_us, row);
        failed = bench_backend_tells_plans && plan_ask(&l);
    }
    bench_loop_close(&l);
    free(samples);
    return failed ? -1 : 0;
}
