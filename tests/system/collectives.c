/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that checks every collective against a sequential reference:
 *   types    every type x operation, a few counts        counts   a few types, every count
 *   short    a bit of both (for forced algorithms)       bits     float results equal on all ranks; prints their hash
 *   ahead    roots that run ahead of slow ranks          names    no job: prints every algorithm's name
 *   short_blocks   on one node a gatherv or scatterv waits only for ranks that give this one something
 * Inputs are a function of (rank, element), so that every rank computes what all others contribute.
 */
#include "elements.h"
#include "hier/planner.h"
#include "runtime/hierax.h"
#include "runtime/base/reduce.h"
#include "runtime/base/clock.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 64 };

static hx_comm_t *world;
static int rank, size, calls;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "collectives: rank %d: %s: %s\n", rank, what, hx_error_detail(world));
    exit(1);
}

/* ---- one call */

struct buffer {
    unsigned char *base;
    size_t capacity;
};

static unsigned char *buffer_get(struct buffer *b, size_t bytes)
{
    if (bytes + 2 * GUARD > b->capacity) {
        free(b->base);
        b->capacity = 2 * (bytes + 2 * GUARD);
        if (!(b->base = malloc(b->capacity)))
            die("no memory");
    }
    memset(b->base, 0xa5, bytes + 2 * GUARD);
    return b->base + GUARD;
}

static void guards_check(const struct buffer *b, size_t bytes, const char *what)
{
    for (size_t i = 0; i < GUARD; i++)
        if (b->base[i] != 0xa5 || b->base[GUARD + bytes + i] != 0xa5) {
            fprintf(stderr, "collectives: rank %d: %s: wrote outside of its buffer of %zu bytes\n", rank, what, bytes);
            exit(1);
        }
}

static void fill(unsigned char *at, int r, size_t first, size_t n, hx_dtype_t t, hx_op_t op)
{
    memcpy(at, vector_input(r, first, n, t, op), n * hx_dtype_bytes(t));
}

static void element_check(const unsigned char *at, struct value want, hx_dtype_t t, double tolerance, const char *what, size_t i)
{
    struct value got = element_get(at, t);

    if (element_equals(got, want, t, tolerance))
        return;
    fprintf(stderr, "collectives: rank %d: %s: element %zu is (%g %g %#llx), expected (%g %g %#llx)\n", rank, what, i, got.real,
            got.imag, (unsigned long long)got.bits, want.real, want.imag, (unsigned long long)want.bits);
    exit(1);
}

/* at[i] is element first + i of rank r's input. */
static void input_check(const unsigned char *at, int r, size_t first, size_t n, hx_dtype_t t, hx_op_t op, const char *what)
{
    size_t e = hx_dtype_bytes(t);

    if (memcmp(at, vector_input(r, first, n, t, op), n * e))
        for (size_t i = 0; i < n; i++)
            element_check(at + i * e, contribution(r, first + i, t, op), t, 0, what, i);
}

/* out[i] is the reduction of element first + i of the first n_ranks ranks. A scan leaves one rank's element as it is. */
static void prefix_check(const unsigned char *out, size_t first, size_t n, hx_dtype_t t, hx_op_t op, int n_ranks, int scans,
                         const char *what)
{
    double tolerance = op != HX_AVG ? 0 : t == HX_BFLOAT16 ? 1.0 / 128 : t == HX_FLOAT16 ? 1.0 / 1024 : t == HX_FLOAT32 ||
                       t == HX_COMPLEX64 ? 3e-7 : 5e-16;
    size_t e = hx_dtype_bytes(t);

    if (op == HX_AVG || memcmp(out, vector_folded(n_ranks, scans, first, n, t, op), n * e))
        for (size_t i = 0; i < n; i++)
            element_check(out + i * e, folded(n_ranks, scans, first + i, t, op), t, tolerance, what, i);
}

/* out[i] is the reduction of everybody's element first + i */
static void reduced_check(const unsigned char *out, size_t first, size_t n, hx_dtype_t t, hx_op_t op, const char *what)
{
    prefix_check(out, first, n, t, op, size, 0, what);
}

static struct buffer in_buffer, out_buffer;

/* Two ways to say it. */
static const void *in_place_of(const void *out, size_t n)
{
    return n % 2 ? HX_IN_PLACE : out;
}

static void one_call(enum hx_coll coll, hx_dtype_t t, hx_op_t op, size_t n, int in_place)
{
    size_t e = hx_dtype_bytes(t), all = n * (size_t)size, mine = n * (size_t)rank;
    int pairs = hx_coll_has_pairs(coll);
    size_t in_n = coll == HX_COLL_REDUCE_SCATTER || pairs ? all : n, out_n = coll == HX_COLL_ALLGATHER || pairs ? all : n;
    unsigned char *in = buffer_get(&in_buffer, in_n * e);
    unsigned char *out = buffer_get(&out_buffer, (in_place && in_n > out_n ? in_n : out_n) * e);
    unsigned char *source = !in_place ? in : coll == HX_COLL_ALLGATHER ? out + mine * e : out;
    size_t out_bytes = (in_place && in_n > out_n ? in_n : out_n) * e;
    char what[128];
    hx_status_t status;

    snprintf(what, sizeof(what), "%s %s %s count %zu%s", hx_coll_name(coll), hx_dtype_name(t), hx_op_name(op), n,
             in_place ? " in place" : "");
    fill(source, rank, coll == HX_COLL_ALLGATHER ? mine : 0, in_n, t, op);
    if (coll == HX_COLL_ALLREDUCE)
        status = hx_allreduce(in_place ? in_place_of(out, n) : in, out, n, t, op, world);
    else if (coll == HX_COLL_REDUCE_SCATTER)
        status = hx_reduce_scatter_block(in_place ? in_place_of(out, n) : in, out, n, t, op, world);
    else if (pairs)
        status = hx_alltoall(in_place ? HX_IN_PLACE : in, out, n, t, world);
    else
        status = hx_allgather(in_place ? HX_IN_PLACE : in, out, n, t, world);
    calls++;
    if (status != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, out_bytes, what);
    if (coll == HX_COLL_ALLREDUCE)
        reduced_check(out, 0, n, t, op, what);
    else if (coll == HX_COLL_REDUCE_SCATTER)
        reduced_check(out, mine, n, t, op, what);
    for (int r = 0; r < size && (coll == HX_COLL_ALLGATHER || pairs); r++) /* block r of its own, or meant for this rank, by rank r */
        input_check(out + (size_t)r * n * e, r, pairs ? mine : (size_t)r * n, n, t, op, what);
    if (!in_place) /* the input is as it was */
        input_check(in, rank, coll == HX_COLL_ALLGATHER ? mine : 0, in_n, t, op, what);
}

static void scan_call(enum hx_coll coll, hx_dtype_t t, hx_op_t op, size_t n, int in_place)
{
    size_t e = hx_dtype_bytes(t);
    unsigned char *in = buffer_get(&in_buffer, n * e), *out = buffer_get(&out_buffer, n * e);
    int exclusive = coll == HX_COLL_EXSCAN, no_out = exclusive && rank == 0;
    const void *from = in_place ? HX_IN_PLACE : in;
    char what[128];
    hx_status_t status;

    snprintf(what, sizeof(what), "%s %s %s count %zu%s", hx_coll_name(coll), hx_dtype_name(t), hx_op_name(op), n,
             in_place ? " in place" : "");
    fill(in, rank, 0, n, t, op);
    if (in_place)
        fill(out, rank, 0, n, t, op);
    calls++;
    if (exclusive)
        status = hx_exscan(from, no_out && !in_place ? NULL : out, n, t, op, world);
    else
        status = hx_scan(from, out, n, t, op, world);
    if (status != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, n * e, what);
    if (!no_out)
        prefix_check(out, 0, n, t, op, exclusive ? rank : rank + 1, 1, what);
    input_check(no_out && in_place ? out : in, rank, 0, n, t, op, what); /* what must stay as it was */
}

/* A scan's result of one rank is its input to the last bit, though an average is asked for. */
static void lone_calls(void)
{
    uint32_t in = 0x7fc12345, out; /* a NaN with a payload, which reductions do not keep */

    for (int exclusive = 0; exclusive < 2; exclusive++) {
        out = 0;
        calls++;
        if ((exclusive ? hx_exscan : hx_scan)(&in, &out, 1, HX_FLOAT32, HX_AVG, world) != HX_SUCCESS)
            die("an average of one rank");
        if (rank == exclusive ? out != in : rank > exclusive && out != 0x7fc00000)
            die("an average of one rank is not its input, or one of several keeps the payload of a NaN");
    }
}

/* Ranks' blocks differ: nothing, half of n, or n. */
static size_t *block_counts(size_t n, int shift, size_t *before, size_t *all)
{
    static size_t counts[ELEMENTS_RANKS];

    *before = *all = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = n * (size_t)((r + shift) % 3) / 2;
        *before += r < rank ? counts[r] : 0;
        *all += counts[r];
    }
    return counts;
}

static void reduce_scatter_call(hx_dtype_t t, hx_op_t op, size_t n, int shift, int in_place)
{
    size_t e = hx_dtype_bytes(t), first, all, *counts = block_counts(n, shift, &first, &all), mine = counts[rank];
    size_t out_n = in_place ? all : mine;
    unsigned char *in = buffer_get(&in_buffer, all * e), *out = buffer_get(&out_buffer, out_n * e);
    char what[128];

    snprintf(what, sizeof(what), "reduce_scatter %s %s count %zu shift %d%s", hx_dtype_name(t), hx_op_name(op), n, shift,
             in_place ? " in place" : "");
    fill(in_place ? out : in, rank, 0, all, t, op);
    calls++;
    if (hx_reduce_scatter(in_place ? in_place_of(out, n) : in, in_place || mine ? out : NULL, counts, t, op, world) != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, out_n * e, what);
    reduced_check(out, first, mine, t, op, what);
    if (!in_place) /* the input is as it was */
        input_check(in, rank, 0, all, t, op, what);
}

/* out has every rank's input. apart: the element after each block is as it was. */
static void blocks_check(const unsigned char *out, const size_t *counts, const size_t *displs, hx_dtype_t t, hx_op_t op, int apart,
                         const char *what)
{
    const size_t e = hx_dtype_bytes(t);

    for (int r = 0; r < size; r++) {
        input_check(out + displs[r] * e, r, 0, counts[r], t, op, what);
        for (size_t i = 0; apart && i < e; i++)
            if (out[(displs[r] + counts[r]) * e + i] != 0xa5)
                die("wrote between the blocks");
    }
}

/* apart: blocks stand in reverse order, with an element between them that stays as it is. */
static void allgatherv_call(hx_dtype_t t, hx_op_t op, size_t n, int shift, int in_place, int apart)
{
    size_t e = hx_dtype_bytes(t), first, all, *counts = block_counts(n, shift, &first, &all), displs[ELEMENTS_RANKS];
    size_t mine = counts[rank], out_n = apart ? all + (size_t)size : all, at = 0;
    unsigned char *in = buffer_get(&in_buffer, mine * e), *out = buffer_get(&out_buffer, out_n * e);
    char what[128];

    snprintf(what, sizeof(what), "allgatherv %s count %zu shift %d%s%s", hx_dtype_name(t), n, shift, in_place ? " in place" : "",
             apart ? " apart" : "");
    for (int i = 0; i < size; i++) {
        int r = apart ? size - 1 - i : i;
        displs[r] = at;
        at += counts[r] + (size_t)apart;
    }
    fill(in_place ? out + displs[rank] * e : in, rank, 0, mine, t, op);
    calls++;
    if (hx_allgatherv(in_place ? HX_IN_PLACE : mine ? in : NULL, mine, out, counts, apart ? displs : NULL, t, world) != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, out_n * e, what);
    blocks_check(out, counts, displs, t, op, apart, what);
    if (!in_place) /* the input is as it was */
        input_check(in, rank, 0, mine, t, op, what);
}

/* Every pair of ranks another length; alike both ways, as a call in place needs it, or not. */
static size_t pair_count(size_t n, int from, int to, int shift, int alike)
{
    return n * (size_t)((from + (alike ? to : 2 * to) + shift) % 3) / 2;
}

/* Blocks stand apart, in the output in reverse order. What is between stays as it is. */
static void alltoallv_call(hx_dtype_t t, hx_op_t op, size_t n, int shift, int in_place)
{
    size_t sent[ELEMENTS_RANKS], sent_at[ELEMENTS_RANKS], got[ELEMENTS_RANKS], got_at[ELEMENTS_RANKS];
    size_t e = hx_dtype_bytes(t), in_n = 0, out_n = 0;
    unsigned char *in, *out;
    char what[128];

    snprintf(what, sizeof(what), "alltoallv %s count %zu shift %d%s", hx_dtype_name(t), n, shift, in_place ? " in place" : "");
    for (int i = 0; i < size; i++) {
        int r = size - 1 - i;
        sent[i] = pair_count(n, rank, i, shift, in_place);
        sent_at[i] = in_n + 1;
        in_n = sent_at[i] + sent[i];
        got[r] = pair_count(n, r, rank, shift, in_place);
        got_at[r] = out_n + 1;
        out_n = got_at[r] + got[r];
    }
    in = buffer_get(&in_buffer, in_n * e);
    out = buffer_get(&out_buffer, (out_n + 1) * e);
    for (int r = 0; r < size; r++) {
        fill(in + sent_at[r] * e, rank, (size_t)r * n, sent[r], t, op);
        if (in_place)
            fill(out + got_at[r] * e, rank, (size_t)r * n, got[r], t, op);
    }
    calls++;
    if ((in_place ? hx_alltoallv(HX_IN_PLACE, NULL, NULL, out, got, got_at, t, world)
                  : hx_alltoallv(in, sent, sent_at, out, got, got_at, t, world)) != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, (out_n + 1) * e, what);
    for (int r = 0; r < size; r++) {
        input_check(out + got_at[r] * e, r, (size_t)rank * n, got[r], t, op, what);
        input_check(in + sent_at[r] * e, rank, (size_t)r * n, sent[r], t, op, what); /* as it was */
        for (size_t i = 0; i < e; i++)
            if (out[(got_at[r] + got[r]) * e + i] != 0xa5)
                die("wrote between the blocks");
    }
}

/* Where blocks stand at the root: one after the other, or apart, from the last rank's to the first's. Returns the end. */
static size_t root_places(const size_t *counts, int apart, size_t *displs)
{
    size_t end = 0;

    for (int i = 0; i < size; i++) {
        int r = apart ? size - 1 - i : i;
        displs[r] = end + (size_t)apart;
        end = displs[r] + counts[r];
    }
    return end + (size_t)apart;
}

/* The root alone knows all counts, and where blocks stand. */
static void gatherv_call(hx_dtype_t t, hx_op_t op, size_t n, int shift, int root, int in_place, int apart)
{
    size_t e = hx_dtype_bytes(t), first, all, *counts = block_counts(n, shift, &first, &all), displs[ELEMENTS_RANKS];
    size_t mine = counts[rank], out_n = root_places(counts, apart, displs);
    int is_root = rank == root, one_buffer = is_root && in_place;
    unsigned char *in = buffer_get(&in_buffer, mine * e), *out = buffer_get(&out_buffer, out_n * e);
    const void *from = one_buffer ? HX_IN_PLACE : mine ? in : NULL;
    char what[128];

    snprintf(what, sizeof(what), "gatherv %s count %zu shift %d root %d%s%s", hx_dtype_name(t), n, shift, root,
             in_place ? " in place" : "", apart ? " apart" : "");
    fill(one_buffer ? out + displs[rank] * e : in, rank, 0, mine, t, op);
    calls++;
    if (hx_gatherv(from, one_buffer ? 0 : mine, is_root && all ? out : NULL, is_root ? counts : NULL, is_root && apart ? displs : NULL, t,
                   root, world) != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, out_n * e, what);
    if (is_root)
        blocks_check(out, counts, displs, t, op, apart, what);
    if (!one_buffer) /* the input is as it was */
        input_check(in, rank, 0, mine, t, op, what);
}

static void scatterv_call(hx_dtype_t t, hx_op_t op, size_t n, int shift, int root, int in_place, int apart)
{
    size_t e = hx_dtype_bytes(t), first, all, *counts = block_counts(n, shift, &first, &all), displs[ELEMENTS_RANKS];
    size_t mine = counts[rank], in_n = root_places(counts, apart, displs);
    int is_root = rank == root, stays = is_root && in_place;
    unsigned char *in = buffer_get(&in_buffer, in_n * e), *out = buffer_get(&out_buffer, mine * e);
    void *to = stays ? HX_IN_PLACE : mine ? out : NULL;
    char what[128];

    snprintf(what, sizeof(what), "scatterv %s count %zu shift %d root %d%s%s", hx_dtype_name(t), n, shift, root,
             in_place ? " in place" : "", apart ? " apart" : "");
    fill(in, rank, 0, in_n, t, op);
    calls++;
    if (hx_scatterv(is_root && all ? in : NULL, is_root ? counts : NULL, is_root && apart ? displs : NULL, to, stays ? 0 : mine, t, root,
                    world) != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, mine * e, what);
    if (!stays)
        input_check(out, root, displs[rank], mine, t, op, what);
    input_check(in, rank, 0, in_n, t, op, what); /* as it was */
}

static void all_block_calls(hx_dtype_t t, hx_op_t op, size_t n)
{
    for (int variant = 0; variant < 4; variant++) {
        reduce_scatter_call(t, op, n, variant, variant % 2);
        allgatherv_call(t, op, n, variant, variant % 2, variant / 2);
        alltoallv_call(t, op, n, variant, variant % 2);
        gatherv_call(t, op, n, variant, (int)(n + (size_t)variant) % size, variant % 2, variant / 2);
        scatterv_call(t, op, n, variant, (int)(n + (size_t)variant) % size, variant / 2, variant % 2);
    }
}

static hx_status_t rooted_run(enum hx_coll coll, void *in, void *out, hx_dtype_t t, hx_op_t op, size_t n, int root)
{
    switch (coll) {
    case HX_COLL_BCAST: return hx_bcast(out, n, t, root, world);
    case HX_COLL_REDUCE: return hx_reduce(in, out, n, t, op, root, world);
    case HX_COLL_GATHER: return hx_gather(in, out, n, t, root, world);
    default: return hx_scatter(in, out, n, t, root, world);
    }
}

/* A collective with a root. Every rank has a vector of its own (of a scatter: of all ranks' blocks); in place, the root
 * has one buffer. */
static void rooted_call(enum hx_coll coll, hx_dtype_t t, hx_op_t op, size_t n, int root, int in_place)
{
    size_t e = hx_dtype_bytes(t), all = n * (size_t)size, mine = n * (size_t)rank;
    size_t in_n = coll == HX_COLL_SCATTER ? all : n, out_n = coll == HX_COLL_GATHER ? all : n;
    unsigned char *in = buffer_get(&in_buffer, in_n * e), *out = buffer_get(&out_buffer, out_n * e);
    int is_root = rank == root, one_buffer = in_place && is_root;
    int has_out = is_root || coll == HX_COLL_BCAST || coll == HX_COLL_SCATTER;
    void *from = in, *to = has_out ? out : NULL;
    char what[128];

    snprintf(what, sizeof(what), "%s %s %s count %zu root %d%s", hx_coll_name(coll), hx_dtype_name(t), hx_op_name(op), n, root,
             in_place ? " in place" : "");
    if (coll == HX_COLL_BCAST || (one_buffer && coll == HX_COLL_REDUCE))
        fill(out, rank, 0, n, t, op);
    else if (one_buffer && coll == HX_COLL_GATHER)
        fill(out + mine * e, rank, 0, n, t, op);
    fill(in, rank, 0, in_n, t, op);
    if (one_buffer && coll == HX_COLL_SCATTER)
        to = HX_IN_PLACE;
    else if (one_buffer)
        from = HX_IN_PLACE;
    if (coll == HX_COLL_SCATTER && !is_root)
        from = NULL;
    calls++;
    if (rooted_run(coll, from, to, t, op, n, root) != HX_SUCCESS)
        die(what);
    guards_check(&out_buffer, out_n * e, what);
    if (coll == HX_COLL_REDUCE && is_root)
        reduced_check(out, 0, n, t, op, what);
    if (coll == HX_COLL_BCAST)
        input_check(out, root, 0, n, t, op, what);
    for (int r = 0; r < size && coll == HX_COLL_GATHER && is_root; r++)
        input_check(out + (size_t)r * n * e, r, 0, n, t, op, what);
    if (coll == HX_COLL_SCATTER && to == out)
        input_check(out, root, mine, n, t, op, what);
    input_check(in, rank, 0, in_n, t, op, what); /* as it was */
}

static void all_rooted_calls(hx_dtype_t t, hx_op_t op, size_t n)
{
    for (int coll = 0; coll < HX_COLL_COUNT; coll++) {
        size_t block = n > 10000 ? n / (size_t)size : n;
        int step = n <= 1000 || size < 3 ? 1 : size - 1; /* all roots, or the first and the last */
        for (int root = 0; hx_coll_is_rooted((enum hx_coll)coll) && root < size; root += step)
            rooted_call((enum hx_coll)coll, t, op, hx_coll_has_blocks((enum hx_coll)coll) ? block : n, root, root % 2);
        if (hx_coll_is_rooted((enum hx_coll)coll))
            rooted_call((enum hx_coll)coll, t, op, n, size - 1, size % 2);
    }
}

/* Nobody leaves before all have entered: the ranks of a test share one clock. Some come late. */
static void barrier_call(void)
{
    int64_t entered, left, last, first;

    if (calls++ % size == rank)
        usleep(300);
    entered = (int64_t)hx_now_ns();
    if (hx_barrier(world) != HX_SUCCESS)
        die("barrier");
    left = (int64_t)hx_now_ns();
    if (hx_allreduce(&entered, &last, 1, HX_INT64, HX_MAX, world) ||
        hx_allreduce(&left, &first, 1, HX_INT64, HX_MIN, world))
        die("allreduce");
    if (first < last) {
        fprintf(stderr, "collectives: rank %d: a rank left a barrier %lld ns before another entered it\n", rank,
                (long long)(last - first));
        exit(1);
    }
}

static void all_calls(hx_dtype_t t, hx_op_t op, size_t n)
{
    size_t block = n > 10000 ? n / (size_t)size : n; /* of one rank, where the vector has one for each */

    for (int in_place = 0; in_place < 2; in_place++)
        for (int coll = 0; coll < HX_COLL_COUNT; coll++)
            if (hx_coll_is_scan((enum hx_coll)coll))
                scan_call((enum hx_coll)coll, t, op, n, in_place);
            else if (!hx_coll_is_rooted((enum hx_coll)coll) && coll != HX_COLL_BARRIER && !hx_coll_has_pair_counts((enum hx_coll)coll))
                one_call((enum hx_coll)coll, t, op, coll == HX_COLL_ALLREDUCE ? n : block, in_place);
    all_block_calls(t, op, block);
    all_rooted_calls(t, op, n);
    barrier_call();
}

/* ---- modes */

static void run_types(void)
{
    size_t counts[] = {1, (size_t)size + 1, 600};

    for (int t = 0; t < HX_DTYPE_COUNT; t++)
        for (int op = 0; op < HX_OP_COUNT; op++)
            for (size_t i = 0; i < 3 && hx_reduce_kernel((hx_dtype_t)t, (hx_op_t)op); i++)
                all_calls((hx_dtype_t)t, (hx_op_t)op, counts[i]);
}

static const struct {
    hx_dtype_t type;
    hx_op_t op;
} kinds[] = {{HX_INT32, HX_SUM}, {HX_COMPLEX128, HX_PROD}, {HX_UINT8, HX_BXOR}, {HX_BFLOAT16, HX_MAX}, {HX_FLOAT64, HX_SUM}};

/* Blocks to and from all ranks, each on a page of its own; the pages between them must not be touched. */
struct islands {
    unsigned char *base;
    size_t counts[ELEMENTS_RANKS], displs[ELEMENTS_RANKS];
    int number;
};

static void islands_make(struct islands *a, int number)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    a->number = number;
    a->base = mmap(NULL, 2 * (size_t)size * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int r = 0; r < size; r++) {
        size_t at = 2 * (size_t)(number % 2 ? size - 1 - r : r) * page;
        if (a->base == MAP_FAILED || mprotect(a->base + at, page, PROT_READ | PROT_WRITE))
            die("mmap");
        a->counts[r] = (size_t)((rank + r + number) % 3);
        a->displs[r] = at / sizeof(int32_t);
    }
}

static int32_t island_value(const struct islands *a, int from, int to)
{
    return 10000 * a->number + 100 * from + to;
}

static void islands_visit(const struct islands *a, int arrived)
{
    for (int r = 0; r < size; r++)
        for (size_t i = 0; i < a->counts[r]; i++) {
            int32_t *x = (int32_t *)(void *)a->base + a->displs[r] + i;
            if (arrived && *x != island_value(a, r, rank))
                die("an island holds something else");
            *x = island_value(a, rank, r);
        }
}

/* In place, several calls at once: what each puts aside is its own, and only the blocks. */
static void run_islands(void)
{
    enum { CALLS = 4 };
    struct islands all[CALLS];
    hx_request_t *requests[CALLS];

    for (int i = 0; i < CALLS; i++) {
        islands_make(&all[i], i);
        islands_visit(&all[i], 0);
    }
    for (int i = 0; i < 2; i++)
        if (hx_alltoallv_init(HX_IN_PLACE, NULL, NULL, all[i].base, all[i].counts, all[i].displs, HX_INT32, world, &requests[i]))
            die("hx_alltoallv_init");
    for (int round = 0; round < 2; round++) {
        const struct islands *now = &all[2], *blocking = &all[3];
        if (hx_start(requests[0]) || hx_start(requests[1]) ||
            hx_ialltoallv(HX_IN_PLACE, NULL, NULL, now->base, now->counts, now->displs, HX_INT32, world, &requests[2]) ||
            hx_alltoallv(HX_IN_PLACE, NULL, NULL, blocking->base, blocking->counts, blocking->displs, HX_INT32, world) ||
            hx_waitall(3, requests))
            die("alltoallv of islands");
        for (int i = 0; i < CALLS; i++)
            islands_visit(&all[i], 1);
    }
    if (hx_request_free(requests[0]) || hx_request_free(requests[1]))
        die("hx_request_free");
    for (int i = 0; i < CALLS; i++)
        munmap(all[i].base, 2 * (size_t)size * (size_t)sysconf(_SC_PAGESIZE));
}

static void run_counts(void)
{
    size_t p = (size_t)size, counts[] = {0, 1, 2, 3, 7, 8, p - 1, p, p + 1, 1000, 4096 + 3, 100003};

    run_islands();
    lone_calls();
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
            all_calls(kinds[k].type, kinds[k].op, counts[i]);
}

static void run_short(void)
{
    size_t p = (size_t)size, counts[] = {1, 3, p + 1, 1000, 30011};

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
            all_calls(kinds[k].type, kinds[k].op, counts[i]);
}

/* Roots that send and go on, and a rank that comes late: nothing may be overwritten before it was read, nor taken for a
 * later call's. The root stays the same for a while, longer than match ids of calls are told apart. */
/* Rank 0 begins its calls once the last rank has ended as many. */
static void gatherv_ahead(void)
{
    const int last = size - 1;
    char token = 0;

    if (rank == 0 && hx_recv(&token, 1, HX_BYTE, last, 0, world) != HX_SUCCESS)
        die("hx_recv");
    for (int i = 0; i < 10; i++)
        gatherv_call(HX_INT32, HX_SUM, 20, i % 3, 0, i % 2, i % 4 / 2);
    if (rank == last && hx_send(&token, 1, HX_BYTE, 0, 0, world) != HX_SUCCESS)
        die("hx_send");
}

/* Rank 0 ends its calls before the last rank begins one. */
static void scatterv_ahead(void)
{
    const int last = size - 1;
    char token = 0;

    if (rank == last && hx_recv(&token, 1, HX_BYTE, 0, 0, world) != HX_SUCCESS)
        die("hx_recv");
    for (int i = 0; i < 10; i++)
        scatterv_call(HX_INT32, HX_SUM, 20, i % 3, 0, i % 2, i % 4 / 2);
    if (rank == 0 && hx_send(&token, 1, HX_BYTE, last, 0, world) != HX_SUCCESS)
        die("hx_send");
}

static void run_ahead(void)
{
    static const size_t counts[] = {1, 5, 1, 3000, 40, 1, 70000, 2};
    static const enum hx_coll others[] = {HX_COLL_REDUCE, HX_COLL_GATHER, HX_COLL_SCATTER};

    for (int i = 0; i < 600; i++) {
        int root = i / 150 % size, late = size - 1 - i / 300 % size;
        size_t n = counts[i % 8];
        unsigned char *buf = buffer_get(&out_buffer, n * sizeof(int32_t));
        if (rank == late && i % 50 == 0)
            usleep(20000);
        if (rank == root)
            fill(buf, i % 61, 0, n, HX_INT32, HX_SUM);
        calls++;
        if (hx_bcast(buf, n, HX_INT32, root, world) != HX_SUCCESS)
            die("bcast");
        input_check(buf, i % 61, 0, n, HX_INT32, HX_SUM, "bcast ahead");
        if (i % 5 == 4)
            rooted_call(others[i / 5 % 3], HX_INT32, HX_SUM, n, root, 0);
        if (i % 5 == 2)
            scan_call(i % 2 ? HX_COLL_SCAN : HX_COLL_EXSCAN, HX_INT32, HX_SUM, n, i % 3 == 0);
        if (i % 50 == 0) /* and who is late has one: by messages alone nobody has heard of it before the next broadcast */
            allgatherv_call(HX_INT32, HX_SUM, 40, (3 - late % 3) % 3, 0, 0);
        if (i % 11 == 3) /* who has an empty block is not waited for */
            reduce_scatter_call(HX_INT32, HX_SUM, n, i % 3, i % 2);
        if (i % 13 == 5)
            allgatherv_call(HX_INT32, HX_SUM, n, i % 3, i % 2, i % 4 / 2);
        if (i % 7 == 4)
            alltoallv_call(HX_INT32, HX_SUM, n, i % 3, i % 2);
        if (i % 17 == 9)
            gatherv_call(HX_INT32, HX_SUM, n, i % 3, root, i % 2, i % 4 / 2);
        if (i % 19 == 3)
            scatterv_call(HX_INT32, HX_SUM, n, i % 3, root, i % 2, i % 4 / 2);
        if (i % 97 == 96)
            one_call(HX_COLL_ALLREDUCE, HX_INT32, HX_SUM, n, 0);
    }
}

static uint64_t hash_bytes(uint64_t h, const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

/* Sums that round: equal bits on all ranks; the hash tells whether also from run to run. */
static void run_bits(void)
{
    static const size_t counts[] = {1, 2, 7, 33, 1000, 100003};
    uint64_t hash = 0xcbf29ce484222325u, least, most;

    for (int t = HX_FLOAT32; t <= HX_FLOAT64; t++)
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            size_t e = hx_dtype_bytes((hx_dtype_t)t), n = counts[c];
            unsigned char *in = buffer_get(&in_buffer, n * e), *out = buffer_get(&out_buffer, n * e);
            for (size_t i = 0; i < n; i++) {
                uint64_t x = mix((uint64_t)rank, i);
                double d = ldexp((double)(int64_t)x, (int)(x % 20) - 70);
                element_put(in + i * e, (hx_dtype_t)t, (struct value){.real = d});
            }
            if (hx_allreduce(in, out, n, (hx_dtype_t)t, HX_SUM, world) != HX_SUCCESS)
                die("allreduce");
            hash = hash_bytes(hash, out, n * e);
        }
    if (hx_allreduce(&hash, &least, 1, HX_UINT64, HX_MIN, world) || hx_allreduce(&hash, &most, 1, HX_UINT64, HX_MAX, world))
        die("allreduce");
    if (least != most) {
        fprintf(stderr, "collectives: rank %d: sums differ between ranks\n", rank);
        exit(1);
    }
    if (rank == 0)
        printf("%016llx\n", (unsigned long long)hash);
}

static int print_names(void)
{
    static const struct {
        unsigned scope;
        const char *name;
    } scopes[] = {{HX_SCOPE_INTRA, "intra"}, {HX_SCOPE_INTER, "inter"}, {HX_SCOPE_FLAT, "flat"}};
    const struct hx_algorithm *a;

    for (int coll = 0; coll < HX_COLL_COUNT; coll++)
        for (int s = 0; s < 3; s++)
            for (int idx = 0; (a = hx_algorithm_next((enum hx_coll)coll, scopes[s].scope, &idx));)
                if (hx_algorithm_is_usual(a) || a->radix == 3)
                    printf("%s %s %s\n", hx_coll_name((enum hx_coll)coll), scopes[s].name, a->name);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (!strcmp(mode, "names"))
        return print_names();
    if (hx_init(&world) != HX_SUCCESS)
        die("hx_init");
    rank = hx_rank(world);
    size = hx_size(world);
    if (!strcmp(mode, "types")) {
        run_types();
    } else if (!strcmp(mode, "counts")) {
        run_counts();
    } else if (!strcmp(mode, "short")) {
        run_short();
    } else if (!strcmp(mode, "bits")) {
        run_bits();
    } else if (!strcmp(mode, "ahead")) {
        run_ahead();
    } else if (!strcmp(mode, "short_blocks")) {
        gatherv_call(HX_INT32, HX_SUM, 20, 0, 0, 0, 0); /* all ranks learn that blocks are short */
        scatterv_call(HX_INT32, HX_SUM, 20, 0, 0, 0, 0);
        gatherv_ahead();
        scatterv_ahead();
        for (int i = 0; i < 200; i++) { /* long blocks among short ones, and calls that exchange the counts again */
            gatherv_call(HX_INT32, HX_SUM, i % 5 ? 3 : 20000, i % 3, i % size, i % 2, i % 4 / 2);
            scatterv_call(HX_INT32, HX_SUM, i % 7 ? 3 : 300, i % 3, i % size, i % 2, i % 4 / 2);
        }
    } else {
        fprintf(stderr, "collectives: mode \"%s\"; choose types, counts, short, bits, ahead, short_blocks or names\n", mode);
        return 2;
    }
    if (hx_barrier(world) != HX_SUCCESS)
        die("hx_barrier");
    if (rank == 0 && strcmp(mode, "bits"))
        printf("%d calls\n", calls);
    if (hx_finalize() != HX_SUCCESS) {
        world = NULL;
        die("hx_finalize");
    }
    free(in_buffer.base);
    free(out_buffer.base);
    return 0;
}
