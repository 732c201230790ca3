/* SPDX-License-Identifier: BSD-3-Clause */
/* The timed loop: one for all libraries and all collectives. The method is described in coll_bench --help. */
#include "bench_backend.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOOR_REPETITIONS 10

struct loop {
    const struct bench_options *o;
    const struct bench_job *job;
    struct bench_row *row;
    size_t in_count, out_count; /* elements */
    int in_place;               /* as asked for, or the collective has one buffer only */
    int apart;                  /* each call is timed by itself */
    size_t in_bytes, out_bytes, pair_bytes;
    size_t *counts, first; /* of all ranks' blocks, then where they stand (all-to-all); where this rank's starts. NULL: the collective has none */
    char *arena;
    uint32_t call; /* number of the next call in this row */
};

enum action { CALL_LIBRARY, CALL_FLOOR, CALL_NOTHING };

static char *pair_in(const struct loop *l, uint32_t call)
{
    char *pair = l->arena + call % l->row->pairs * l->pair_bytes;
    if (!l->in_place)
        return pair;
    /* in place, a gathering's input is this rank's block of the output */
    int gathers = l->row->collective == BENCH_ALLGATHER || l->row->collective == BENCH_GATHER;
    if (bench_joins_counts(l->row->collective))
        return pair + l->first * bench_dtype_bytes(l->o->dtype);
    return gathers ? pair + (size_t)l->job->rank * l->in_bytes : pair;
}

/* Past the input, and not at the same offset in a page. */
static size_t out_offset(const struct loop *l)
{
    return l->in_place ? 0 : (l->in_bytes + 127) / 128 * 128 + 128;
}

static char *pair_out(const struct loop *l, uint32_t call)
{
    return l->arena + call % l->row->pairs * l->pair_bytes + out_offset(l);
}

static void rewrite_input(const struct loop *l, uint32_t call)
{
    bench_data_fill(pair_in(l, call), l->in_count, l->job->rank, call);
}

static int call_library(const struct loop *l, uint32_t call)
{
    const void *in = l->in_place ? HX_IN_PLACE : pair_in(l, call);
    char *out = pair_out(l, call);
    size_t count = l->row->count;
    switch (l->row->collective) {
    case BENCH_ALLREDUCE: return bench_allreduce(in, out, count, l->o->dtype, l->o->op);
    case BENCH_REDUCE_SCATTER_BLOCK: return bench_reduce_scatter_block(in, out, count, l->o->dtype, l->o->op);
    case BENCH_ALLGATHER: return bench_allgather(in, out, count, l->o->dtype);
    case BENCH_BCAST: return bench_bcast(out, count, l->o->dtype, (int)l->o->root);
    case BENCH_REDUCE: return bench_reduce(in, out, count, l->o->dtype, l->o->op, (int)l->o->root);
    case BENCH_SCAN: return bench_scan(in, out, count, l->o->dtype, l->o->op);
    case BENCH_EXSCAN: return bench_exscan(in, out, count, l->o->dtype, l->o->op);
    case BENCH_GATHER: return bench_gather(in, out, count, l->o->dtype, (int)l->o->root);
    case BENCH_SCATTER:
        return bench_scatter(pair_in(l, call), l->in_place ? HX_IN_PLACE : out, count, l->o->dtype, (int)l->o->root);
    case BENCH_GATHERV: return bench_gatherv(in, l->counts[l->job->rank], out, l->counts, l->o->dtype, (int)l->o->root);
    case BENCH_SCATTERV:
        return bench_scatterv(pair_in(l, call), l->counts, l->in_place ? HX_IN_PLACE : out, l->counts[l->job->rank], l->o->dtype,
                              (int)l->o->root);
    case BENCH_REDUCE_SCATTER: return bench_reduce_scatter(in, out, l->counts, l->o->dtype, l->o->op);
    case BENCH_ALLGATHERV: return bench_allgatherv(in, l->counts[l->job->rank], out, l->counts, l->o->dtype);
    case BENCH_ALLTOALLV: return bench_alltoallv(in, out, l->counts, l->counts + l->job->size, l->o->dtype);
    case BENCH_ALLTOALL: return bench_alltoall(in, out, count, l->o->dtype);
    default: return bench_barrier();
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What no library can avoid: read the input once and write the output once. */
static void call_floor(const struct loop *l, uint32_t call)
{
    const char *in = pair_in(l, call);
    char *out = pair_out(l, call);
    if (l->row->collective == BENCH_BCAST) { /* one buffer, read on the root, written elsewhere */
        memset(out, (int)call, l->out_bytes);
    } else if (l->in_place) {
        size_t words = l->out_bytes / 8;
        for (size_t i = 0; i < words; i++) {
            uint64_t word;
            memcpy(&word, out + 8 * i, 8);
            word = ~word;
            memcpy(out + 8 * i, &word, 8);
        }
    } else if (l->in_bytes >= l->out_bytes) { /* all-reduce; reduce-scatter reads p blocks */
        for (size_t at = 0; at < l->in_bytes && l->out_bytes; at += l->out_bytes)
            memcpy(out, in + at, least(l->out_bytes, l->in_bytes - at));
    } else {
        for (size_t at = 0; at < l->out_bytes && l->in_bytes; at += l->in_bytes)
            memcpy(out + at, in, least(l->in_bytes, l->out_bytes - at));
    }
    __asm__ volatile("" : : "r"(out) : "memory"); /* the copies have a reader */
}

/* One repetition of calls that would overlap in a row: the mean of calls that all ranks start together, one by one. */
static int time_apart(struct loop *l, enum action action, double *ns)
{
    int failed = 0;
    *ns = 0;
    for (uint64_t i = 0; i < l->row->iterations && !failed; i++, l->call++) {
        rewrite_input(l, l->call);
        double begin = bench_start_together(l->job);
        if (action == CALL_LIBRARY)
            failed = call_library(l, l->call);
        else if (action == CALL_FLOOR)
            call_floor(l, l->call);
        *ns += (bench_now_ns() - begin - l->job->clock_ns) / (double)l->row->iterations;
    }
    return failed;
}

/* One repetition: *ns per call on this rank. -1 when the backend failed. */
static int time_once(struct loop *l, enum action action, double *ns)
{
    const uint64_t n = l->row->iterations;
    uint32_t call = l->call;
    int failed = 0;
    if (l->apart)
        return time_apart(l, action, ns);
    rewrite_input(l, call);
    double begin = bench_start_together(l->job);
    for (uint64_t i = 0; i < n && !failed; i++, call++) {
        if (i > 0)
            rewrite_input(l, call);
        if (action == CALL_LIBRARY)
            failed = call_library(l, call);
        else if (action == CALL_FLOOR)
            call_floor(l, call);
    }
    *ns = (bench_now_ns() - begin - l->job->clock_ns) / (double)n;
    l->call = call;
    return failed;
}

/* Rewriting inside a batch, per call. */
static double rewriting_ns(struct loop *l)
{
    double best = 1e18, ns;
    if (l->row->iterations == 1 || l->apart)
        return 0;
    for (int i = 0; i < 20; i++) {
        time_once(l, CALL_NOTHING, &ns);
        best = ns < best ? ns : best;
    }
    return best > 0 ? best : 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The calls of the last repetition whose outputs are still there. */
static void check_last(const struct loop *l, uint64_t *wrong)
{
    uint64_t n = l->row->iterations < l->row->pairs ? l->row->iterations : l->row->pairs;
    char text[BENCH_TEXT_BYTES];
    for (uint64_t i = 1; i <= n; i++) {
        uint32_t call = l->call - (uint32_t)i;
        uint64_t bad = bench_data_check(l->row->collective, pair_out(l, call), l->row->count, l->job->rank,
                                        (int)l->o->root, call, text);
        if (bad && !*wrong)
            fprintf(stderr, "%s: %s, %llu bytes, call %u: %s; %llu wrong in this call\n", bench_backend_tool,
                    bench_collective_names[l->row->collective], (unsigned long long)l->row->bytes, call, text,
                    (unsigned long long)bad);
        *wrong += bad;
    }
}

static int has_result(const struct loop *l)
{
    if (l->row->collective == BENCH_REDUCE || l->row->collective == BENCH_GATHER || l->row->collective == BENCH_GATHERV)
        return l->job->rank == (int)l->o->root;
    if (l->row->collective == BENCH_EXSCAN)
        return l->job->rank > 0;
    int scatters = l->row->collective == BENCH_SCATTER || l->row->collective == BENCH_SCATTERV;
    return l->row->collective != BENCH_BARRIER && !(scatters && l->in_place);
}

/* Fill samples[repetitions] with the time of each repetition on the slowest rank, in ns, sorted. */
static int measure(struct loop *l, enum action action, uint64_t repetitions, double *samples, uint64_t *wrong)
{
    const size_t size = (size_t)l->job->size;
    double rewriting = rewriting_ns(l);
    for (uint64_t i = 0; i < repetitions; i++) {
        double ns;
        if (time_once(l, action, &ns))
            return -1;
        samples[i] = ns > rewriting ? ns - rewriting : 0;
        if (action == CALL_LIBRARY && l->o->check && has_result(l))
            check_last(l, wrong);
    }
    double *all = malloc(size * repetitions * sizeof(double));
    int failed = !all || bench_allgather(samples, all, repetitions, HX_FLOAT64);
    for (uint64_t i = 0; !failed && i < repetitions; i++)
        for (size_t r = 0; r < size; r++)
            samples[i] = all[r * repetitions + i] > samples[i] ? all[r * repetitions + i] : samples[i];
    free(all);
    qsort(samples, repetitions, sizeof(double), ascending);
    return failed ? -1 : 0;
}

/* Enough pairs that rewriting an input does not find the last output of that pair in the private cache. */
static uint64_t choose_pairs(uint64_t pair_bytes)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    uint64_t want = (uint64_t)(l2 > 0 ? l2 : 1 << 20) * 2 / (pair_bytes + 1) + 1;
    uint64_t least = pair_bytes < (16 << 20) ? 4 : 2;
    return want < least ? least : want > 16 ? 16 : want;
}

/* One block per rank, of which each has a part in the input or output. */
static int counts_open(struct loop *l)
{
    const int p = l->job->size, me = l->job->rank;
    const int pairs = bench_has_pairs(l->row->collective);
    if (!(l->counts = malloc(2 * (size_t)p * sizeof(*l->counts)))) {
        fprintf(stderr, "%s: rank %d: no memory for %d counts\n", bench_backend_tool, me, p);
        return -1;
    }
    for (int r = 0; r < p; r++) {
        l->counts[r] = l->row->count;
        l->counts[p + r] = (size_t)r * l->row->count;
    }
    if (pairs) /* as all-to-all */
        return 0;
    for (int r = 0; r < p; r++)
        l->counts[r] = bench_block_start(l->row->count, r + 1, p) - bench_block_start(l->row->count, r, p);
    l->first = bench_block_start(l->row->count, me, p);
    *(bench_joins_counts(l->row->collective) ? &l->in_count : &l->out_count) = l->counts[me];
    return 0;
}

static int loop_open(struct loop *l)
{
    const struct bench_row *row = l->row;
    const size_t p = (size_t)l->job->size, element = bench_dtype_bytes(l->o->dtype);
    l->in_count = l->out_count = row->count;
    if (row->collective == BENCH_REDUCE_SCATTER_BLOCK || row->collective == BENCH_SCATTER ||
        bench_has_pairs(row->collective))
        l->in_count *= p;
    if (row->collective == BENCH_ALLGATHER || row->collective == BENCH_GATHER ||
        bench_has_pairs(row->collective))
        l->out_count *= p;
    if (row->collective == BENCH_BARRIER)
        l->in_count = l->out_count = 0;
    if ((bench_has_counts(row->collective) || row->collective == BENCH_ALLTOALLV) && counts_open(l))
        return -1;
    l->in_bytes = l->in_count * element;
    l->out_bytes = l->out_count * element;
    size_t larger = l->in_bytes > l->out_bytes ? l->in_bytes : l->out_bytes;
    l->pair_bytes = l->in_place ? larger : out_offset(l) + l->out_bytes;
    l->row->pairs = choose_pairs(l->pair_bytes);
    l->pair_bytes = (l->pair_bytes + 127) / 128 * 128 + 128;
    size_t bytes = l->pair_bytes * row->pairs;
    l->arena = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!l->arena) {
        fprintf(stderr, "%s: rank %d: no memory for %llu buffer pairs of %zu bytes\n", bench_backend_tool, l->job->rank,
                (unsigned long long)row->pairs, l->pair_bytes);
        return -1;
    }
    memset(l->arena, 0, bytes);
    return 0;
}

static double at_fraction(const double *sorted, uint64_t n, double fraction)
{
    uint64_t i = (uint64_t)(fraction * (double)n);
    return sorted[i < n ? i : n - 1] / 1e3;
}

static void summarise(const struct loop *l, const double *samples)
{
    struct bench_row *row = l->row;
    const double p = l->job->size, phases = row->collective == BENCH_ALLREDUCE ? 2 : 1;
    const int whole =
        row->collective == BENCH_BCAST || row->collective == BENCH_REDUCE || bench_is_scan(row->collective);
    const double share = whole ? 1 : phases * (p - 1) / p;
    row->min_us = samples[0] / 1e3;
    row->median_us = at_fraction(samples, row->repetitions, 0.5);
    row->p99_us = at_fraction(samples, row->repetitions, 0.99);
    row->bus_gbps = row->median_us > 0 ? (double)row->bytes * share / (row->median_us * 1e3) : 0;
}

/* What the calls did: the busiest rank counts. */
static int plan_ask(struct loop *l)
{
    struct bench_row *row = l->row;
    hx_plan_info_t info;
    uint64_t mine[2], most[2];
    size_t count = bench_has_counts(row->collective) ? (row->count + (size_t)l->job->size - 1) / (size_t)l->job->size : row->count; /* of the longest block */
    if (bench_backend_plan(row->collective, count, l->o->dtype, l->o->op, (int)l->o->root, &info))
        return -1;
    mine[0] = info.rounds;
    mine[1] = info.network_bytes + info.shared_bytes;
    if (bench_allreduce(mine, most, 2, HX_UINT64, HX_MAX))
        return -1;
    memcpy(row->plan, info.plan, sizeof(row->plan));
    row->rounds = most[0];
    row->sent_bytes = most[1];
    return 0;
}

static int warm_up(struct loop *l)
{
    for (uint64_t i = 0; i < l->o->warmup; i++, l->call++) {
        rewrite_input(l, l->call);
        if (call_library(l, l->call))
            return -1;
    }
    return 0;
}

int bench_row_run(const struct bench_options *o, const struct bench_job *job, struct bench_row *row, uint64_t *wrong)
{
    struct loop l = {.o = o, .job = job, .row = row};
    /* not all ranks wait for all, so calls in a row would overlap */
    l.apart = bench_is_rooted(row->collective) || bench_is_scan(row->collective);
    /* only a root has one buffer for input and output */
    l.in_place = row->collective == BENCH_BCAST ||
                 (o->in_place && (!bench_is_rooted(row->collective) || job->rank == (int)o->root));
    const uint64_t by_size = ((uint64_t)64 << 20) / (row->bytes + 1);
    row->iterations = o->iterations ? o->iterations : row->bytes <= BENCH_BATCH_BYTES && !l.apart ? 100 : 1;
    row->repetitions = o->repetitions ? o->repetitions : by_size < 20 ? 20 : by_size > 300 ? 300 : by_size;
    uint64_t most = row->repetitions > FLOOR_REPETITIONS ? row->repetitions : FLOOR_REPETITIONS;
    double *samples = malloc(most * sizeof(double)), floor_us = 0;
    int failed = !samples || loop_open(&l);
    if (!failed && l.in_count) {
        failed = measure(&l, CALL_FLOOR, FLOOR_REPETITIONS, samples, wrong);
        floor_us = samples[0] / 1e3;
    }
    failed = failed || warm_up(&l) || measure(&l, CALL_LIBRARY, row->repetitions, samples, wrong);
    if (!failed) {
        summarise(&l, samples);
        bench_bound_set(o, job, floor_us, row);
        failed = bench_backend_tells_plans && plan_ask(&l);
    }
    free(l.arena);
    free(l.counts);
    free(samples);
    return failed ? -1 : 0;
}
