/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers, calls and repetitions: see bench_loop.h. One loop for all libraries and all collectives. */
#include "tools/common/bench_loop.h"
#include "tools/common/bench_backend.h"
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#define AHEAD_BYTES (1 << 20) /* the vectors of the calls in a row have about this many bytes together */

void bench_row_size(const struct bench_options *o, const struct bench_job *job, uint64_t want, struct bench_row *row)
{
    uint64_t unit = hx_dtype_rows[o->dtype].bytes;
    if (bench_has_blocks(row->collective))
        unit *= (uint64_t)job->size;
    row->count = row->collective == HX_FUNCTION_BARRIER ? 0 : (want + unit - 1) / unit;
    if (bench_has_counts(row->collective) && row->count < (size_t)job->size)
        row->count = (size_t)job->size;
    row->bytes = row->count * unit;
}

char *bench_loop_in(const struct bench_loop *l, uint32_t call)
{
    char *pair = l->arena + call % l->row->pairs * l->pair_bytes;
    if (!l->in_place)
        return pair;
    /* in place, a gathering's input is this rank's block of the output */
    int gathers = bench_gathers(l->row->collective);
    if (bench_joins_counts(l->row->collective))
        return pair + l->first * hx_dtype_rows[l->o->dtype].bytes;
    return gathers ? pair + (size_t)l->job->rank * l->in_bytes : pair;
}

/* Past the input, and not at the same offset in a page. */
static size_t out_offset(const struct bench_loop *l)
{
    return l->in_place ? 0 : (l->in_bytes + 127) / 128 * 128 + 128;
}

char *bench_loop_out(const struct bench_loop *l, uint32_t call)
{
    return l->arena + call % l->row->pairs * l->pair_bytes + out_offset(l);
}

static void rewrite_input(const struct bench_loop *l, uint32_t call)
{
    bench_data_fill(bench_loop_in(l, call), l->in_count, l->job->rank, call);
}

static int is_cold(const struct bench_loop *l)
{
    return l->kind == BENCH_COLD;
}

void bench_loop_use(struct bench_loop *l, enum bench_loop_kind kind)
{
    l->kind = kind;
    rewrite_input(l, l->call);
}

static int call_library(const struct bench_loop *l, uint32_t call)
{
    const int scatters = bench_is_rooted(l->row->collective) && bench_scatters(l->row->collective);
    const int own_counts = bench_has_counts(l->row->collective);
    const struct bench_call c = {
        .collective = l->row->collective,
        .in = l->in_place && !scatters ? HX_IN_PLACE : bench_loop_in(l, call),
        .out = l->in_place && scatters ? HX_IN_PLACE : bench_loop_out(l, call),
        .count = own_counts ? l->counts[l->job->rank] : l->row->count,
        .counts = l->counts,
        .displs = l->counts ? l->counts + l->job->size : NULL,
        .dtype = l->o->dtype,
        .op = l->o->op,
        .root = (int)l->o->root,
    };

    return bench_backend_call(&c);
}

int bench_loop_has_result(const struct bench_loop *l)
{
    if (hx_coll_gets(hx_function_coll(l->row->collective)) == HX_HOLDS_ROOT)
        return l->job->rank == (int)l->o->root;
    if (hx_coll_is_exclusive(hx_function_coll(l->row->collective)))
        return l->job->rank > 0;
    int scatters = bench_is_rooted(l->row->collective) && bench_scatters(l->row->collective);
    return l->row->collective != HX_FUNCTION_BARRIER && !(scatters && l->in_place);
}

int bench_loop_has_input(const struct bench_loop *l)
{
    const int others = hx_coll_gives(hx_function_coll(l->row->collective)) == HX_HOLDS_ROOT && l->job->rank != (int)l->o->root;

    return l->in_count && !(others && l->in_place);
}

/* Nothing but input, on a rank that gives and gets nothing. */
static void read_only(const char *in, size_t bytes)
{
    uint64_t sum = 0, word;

    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        memcpy(&word, in + at, 8);
        sum ^= word;
    }
    __asm__ volatile("" : : "r"(sum)); /* it has a reader */
}

/* The work of every library: read the input once and write the output once, on ranks that have them. */
static void call_floor(const struct bench_loop *l, uint32_t call)
{
    const char *in = bench_loop_in(l, call);
    char *out = bench_loop_out(l, call);
    const int scatters = bench_is_rooted(l->row->collective) && bench_scatters(l->row->collective);
    if (!bench_loop_has_result(l)) {
        read_only(in, l->in_bytes);
    } else if (l->row->collective == HX_FUNCTION_BCAST || (scatters && l->job->rank != (int)l->o->root)) { /* bcast: read on the root, written elsewhere */
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
            memcpy(out, in + at, MIN(l->out_bytes, l->in_bytes - at));
    } else {
        for (size_t at = 0; at < l->out_bytes && l->in_bytes; at += l->in_bytes)
            memcpy(out + at, in, MIN(l->in_bytes, l->out_bytes - at));
    }
    __asm__ volatile("" : : "r"(out) : "memory"); /* the copies have a reader */
}

/* Time n calls in a row. Only cold calls get new input. The time of library calls begins when all ranks may begin. The time of work that
 * a rank does alone begins when this rank begins: if ranks share cores, another rank may run first. */
static int batch_time(struct bench_loop *l, enum bench_action action, uint64_t n, double *ns)
{
    uint32_t call = l->call;
    int failed = 0;

    if (is_cold(l))
        rewrite_input(l, call);
    double begin = bench_start_together(l->job);
    begin = action == CALL_LIBRARY ? begin : 1e9 * hx_now_s();
    for (uint64_t i = 0; i < n && !failed; i++, call += is_cold(l)) {
        if (i > 0 && is_cold(l))
            rewrite_input(l, call);
        if (action == CALL_LIBRARY)
            failed = call_library(l, call);
        else if (action == CALL_FLOOR)
            call_floor(l, call);
    }
    *ns += 1e9 * hx_now_s() - begin - l->job->clock_ns;
    l->call = call;
    /* a rank's next, untimed work must not keep a core from a rank that is still being timed, nor stop its messages */
    return failed || bench_barrier();
}

/* One repetition: *ns per call on this rank. If calls in a row would overlap, all ranks start each call together, and *ns is the
 * mean. -1 when the backend failed. */
static int time_once(struct bench_loop *l, enum bench_action action, double *ns)
{
    const uint64_t n = l->row->iterations, in_a_row = l->apart ? 1 : n;
    int failed = 0;

    *ns = 0;
    for (uint64_t done = 0; done < n && !failed; done += in_a_row)
        failed = batch_time(l, action, in_a_row, ns);
    *ns /= (double)n;
    return failed ? -1 : 0;
}

static double rewriting_measure(struct bench_loop *l)
{
    double best = 1e18, ns;
    if (l->row->iterations == 1 || l->apart || !is_cold(l))
        return 0;
    for (int i = 0; i < 20; i++) {
        time_once(l, CALL_NOTHING, &ns);
        best = ns < best ? ns : best;
    }
    return best > 0 ? best : 0;
}

int bench_loop_time(struct bench_loop *l, enum bench_action action, double *ns)
{
    int failed = time_once(l, action, ns);
    const double more_ns = is_cold(l) ? l->rewriting_ns : 0;
    *ns = *ns > more_ns ? *ns - more_ns : 0;
    return failed;
}

/* Enough pairs that rewriting an input does not find the last output of that pair in the private cache. If that takes many,
 * pairs that fill no more than half of it: buffers that just fit stay or not as their pages happen to lie, which differs by a
 * fifth from job to job. */
static uint64_t choose_pairs(uint64_t pair_bytes)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    uint64_t want = (uint64_t)(l2 > 0 ? l2 : 1 << 20) * 2 / (pair_bytes + 1) + 1;
    uint64_t least = pair_bytes < (16 << 20) ? 4 : 2;
    return want < least ? least : want > 64 ? 16 : want;
}

/* The sizes of a row's buffers on this rank. */
static void sizes_set(struct bench_loop *l)
{
    const struct bench_row *row = l->row;
    const size_t p = (size_t)l->job->size, element = hx_dtype_rows[l->o->dtype].bytes;

    /* not all ranks wait for all, so calls in a row would overlap */
    l->apart = l->kind != BENCH_AHEAD && (bench_is_rooted(row->collective) || hx_coll_is_scan(hx_function_coll(row->collective)));
    /* only a root has one buffer for input and output */
    l->in_place = row->collective == HX_FUNCTION_BCAST ||
                  (l->o->in_place && (!bench_is_rooted(row->collective) || l->job->rank == (int)l->o->root));
    l->in_count = l->out_count = row->count;
    if (bench_has_blocks(row->collective)) {
        l->in_count *= bench_gathers(row->collective) ? 1 : p;
        l->out_count *= bench_scatters(row->collective) ? 1 : p;
    }
    if (row->collective == HX_FUNCTION_BARRIER)
        l->in_count = l->out_count = 0;
    if (bench_has_counts(row->collective)) {
        l->first = bench_block_start(row->count, l->job->rank, l->job->size);
        *(bench_joins_counts(row->collective) ? &l->in_count : &l->out_count) =
            bench_block_start(row->count, l->job->rank + 1, l->job->size) - l->first;
    }
    l->in_bytes = l->in_count * element;
    l->out_bytes = l->out_count * element;
    size_t larger = l->in_bytes > l->out_bytes ? l->in_bytes : l->out_bytes;
    l->pair_bytes = l->in_place ? larger : out_offset(l) + l->out_bytes;
    l->row->pairs = is_cold(l) ? choose_pairs(l->pair_bytes) : 1;
    l->pair_bytes = (l->pair_bytes + 127) / 128 * 128 + 128;
}

uint64_t bench_loop_bytes(const struct bench_options *o, const struct bench_job *job, const struct bench_row *row)
{
    struct bench_row copy = *row;
    struct bench_loop l = {.o = o, .job = job, .row = &copy, .kind = o->loop};

    sizes_set(&l);
    return l.pair_bytes * copy.pairs;
}

/* One block per rank. Each block is a part of the input or output. */
static int counts_open(struct bench_loop *l)
{
    const int p = l->job->size;

    if (!bench_has_counts(l->row->collective) && l->row->collective != HX_FUNCTION_ALLTOALLV)
        return 0;
    if (!(l->counts = malloc(2 * (size_t)p * sizeof(*l->counts)))) {
        fprintf(stderr, "%s: rank %d: no memory for %d counts\n", bench_backend_tool, l->job->rank, p);
        return -1;
    }
    for (int r = 0; r < p; r++) {
        l->counts[r] = l->row->count;
        l->counts[p + r] = (size_t)r * l->row->count;
    }
    for (int r = 0; r < p && bench_has_counts(l->row->collective); r++)
        l->counts[r] = bench_block_start(l->row->count, r + 1, p) - bench_block_start(l->row->count, r, p);
    return 0;
}

static int buffers_open(struct bench_loop *l)
{
    size_t bytes = l->pair_bytes * l->row->pairs;

    l->arena = l->o->alloc ? bench_backend_alloc(bytes) : aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!l->arena) {
        fprintf(stderr, "%s: rank %d: no memory for %llu buffer pairs of %zu bytes\n", bench_backend_tool, l->job->rank,
                (unsigned long long)l->row->pairs, l->pair_bytes);
        return -1;
    }
    memset(l->arena, 0, bytes);
    return 0;
}

/* If the options do not say: enough calls to make their time long beside a clock reading; AHEAD: enough to let ranks get ahead. */
static uint64_t iterations_choose(const struct bench_loop *l)
{
    const uint64_t bytes = l->row->bytes;

    if (l->o->iterations)
        return l->o->iterations;
    if (l->kind == BENCH_AHEAD)
        return MAX(10, MIN(100, AHEAD_BYTES / (bytes + 1)));
    return bytes <= BENCH_BATCH_BYTES && !l->apart ? 100 : 1;
}

int bench_loop_open(struct bench_loop *l, const struct bench_options *o, const struct bench_job *job,
                    struct bench_row *row)
{
    *l = (struct bench_loop){.o = o, .job = job, .row = row, .kind = o->loop};
    sizes_set(l);
    row->iterations = iterations_choose(l);
    if (counts_open(l) || buffers_open(l))
        return -1;
    l->rewriting_ns = rewriting_measure(l);
    return 0;
}

void bench_loop_close(struct bench_loop *l)
{
    if (l->o->alloc)
        bench_backend_free(l->arena);
    else
        free(l->arena);
    free(l->counts);
}

int bench_loop_warm_up(struct bench_loop *l)
{
    rewrite_input(l, l->call);
    for (uint64_t i = 0; i < l->o->warmup; i++, l->call += is_cold(l)) {
        if (is_cold(l))
            rewrite_input(l, l->call);
        if (call_library(l, l->call))
            return -1;
    }
    return 0;
}

int bench_loop_repeat(struct bench_loop *l)
{
    memset(bench_loop_out(l, l->call), 0, l->out_bytes);
    rewrite_input(l, l->call);
    return call_library(l, l->call);
}
