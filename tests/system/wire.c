/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire ELEMENTS CODINGS [FORMAT]: in a job, all formats, types and collectives that can travel in fewer bits, with inputs of every hardship.
 * Results are the same bits on all ranks, and within the bound that hx_wire_sum_bound states for so many codings. FORMAT: only this one.
 * WIRE_TELL in the environment: print the largest error of each call as a part of the bound.
 * wire ELEMENTS CODINGS large: only one all-reduce of each format and of two kinds of inputs.
 * wire other: ranks that choose different formats get HX_ERR_MISMATCH. wire refuse: wrong names.
 */
#include "runtime/base/wire.h"
#include "runtime/hierax.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hx_comm_t *comm;
static int n, me;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "wire: rank %d: %s: %s\n", me, what, why);
    exit(1);
}

static void check(hx_status_t status, const char *what)
{
    if (status != HX_SUCCESS)
        fail(what, hx_error_detail(comm));
}

/* ---- inputs: each rank knows those of all */

enum { ORDINARY, MIXED, SPECIAL, TINY, CANCELS, KINDS };

static double input_at(int kind, int rank, size_t i, hx_dtype_t dtype)
{
    const uint64_t bits = ((uint64_t)i * 2654435761u + (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd1342543de82ef95);
    const double unit = (double)(bits >> 11) * 0x1p-52 - 1, least = dtype == HX_FLOAT32 ? 0x1p-149 : 0x1p-1074;

    switch (kind) {
    case MIXED: /* huge and tiny: one large number for many small ones, and blocks far apart */
        return ldexp(unit, (int)(i / 100 % 200) - 100) * (bits % 97 ? 1 : 0x1p20);
    case SPECIAL:
        return i % 41 == 3 && rank == 0 ? INFINITY : i % 43 == 5 && rank == n - 1 ? -INFINITY : i % 47 == 7 ? NAN : i % 5 ? unit : 0;
    case TINY:
        return floor(unit * 100) * least;
    case CANCELS:
        return (rank % 2 ? -1 : 1) * (double)(1 + i % 1000) + unit * 0x1p-10;
    default:
        return unit;
    }
}

static double value_at(const void *x, size_t i, hx_dtype_t dtype)
{
    return dtype == HX_FLOAT32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static size_t bytes_of(hx_dtype_t dtype)
{
    return dtype == HX_FLOAT32 ? sizeof(float) : sizeof(double);
}

static double rounded(double x, hx_dtype_t dtype)
{
    return dtype == HX_FLOAT32 ? (double)(float)x : x;
}

/* ---- judging */

struct judge {
    const struct hx_wire *wire;
    hx_dtype_t dtype;
    int kind, codings, average;
    size_t count, first; /* of all; of this rank's result */
};

enum { PART = 1 << 18 }; /* elements that are judged at a time, so that memory does not grow with their number */

/* The sum over all ranks of the largest finite number near each of n elements from first on: wherever blocks begin, an element's block is within
 * so many. */
static void nearby_find(const struct judge *j, size_t first, size_t n_out, double *nearby)
{
    static double size[PART + 2 * HX_WIRE_BLOCK_MOST], before[PART + 2 * HX_WIRE_BLOCK_MOST], after[PART + 2 * HX_WIRE_BLOCK_MOST];
    const size_t reach = (size_t)j->wire->block - 1, width = 2 * reach + 1, low = first > reach ? first - reach : 0;
    const size_t end = first + n_out + reach < j->count ? first + n_out + reach : j->count, near = end - low;

    memset(nearby, 0, n_out * sizeof(*nearby));
    for (int rank = 0; rank < n; rank++) {
        for (size_t i = 0; i < near; i++) {
            double x = fabs(rounded(input_at(j->kind, rank, low + i, j->dtype), j->dtype));
            size[i] = isfinite(x) ? x : 0;
        }
        /* the largest of a window, in two passes over blocks of its length */
        for (size_t i = 0; i < near; i++)
            before[i] = i % width && before[i - 1] > size[i] ? before[i - 1] : size[i];
        for (size_t i = near; i-- > 0;)
            after[i] = i + 1 < near && (i + 1) % width && after[i + 1] > size[i] ? after[i + 1] : size[i];
        for (size_t i = 0; i < n_out; i++) {
            const size_t at = first - low + i;
            nearby[i] += fmax(after[at > reach ? at - reach : 0], before[at + reach < near ? at + reach : near - 1]);
        }
    }
}

/* Returns the largest error of n_out elements from first on, as a part of the bound. */
static double part_judge(const struct judge *j, const void *out, size_t first, size_t n_out, const char *what)
{
    const double epsilon = j->dtype == HX_FLOAT32 ? FLT_EPSILON : DBL_EPSILON, least = j->dtype == HX_FLOAT32 ? 0x1p-149 : 0x1p-1074;
    static double nearby[PART];
    double worst = 0;
    char text[200];

    nearby_find(j, first, n_out, nearby);
    for (size_t i = 0; i < n_out; i++) {
        long double sum = 0;
        for (int rank = 0; rank < n; rank++)
            sum += (long double)rounded(input_at(j->kind, rank, first + i, j->dtype), j->dtype);
        const double exact = (double)(j->average ? sum / n : sum), got = value_at(out, i, j->dtype);
        const double most = ((hx_wire_sum_bound(j->wire, j->codings) + n * epsilon) * nearby[i] + (n + 2) * j->codings * least) /
                            (j->average ? n : 1) + (j->average ? least : 0);
        const double error = isnan(exact) ? !isnan(got) : isinf(exact) ? got != exact : fabs(got - exact) / (most > 0 ? most : 1);
        worst = error > worst || isnan(error) ? error : worst;
        if (error <= 1 && (isnan(exact) || !isnan(got)))
            continue;
        snprintf(text, sizeof(text), "kind %d, element %zu: %.9g, exactly %.9g, may differ by %.3g", j->kind, first + i, got, exact, most);
        fail(what, text);
    }
    return worst;
}

static void results_judge(const struct judge *j, const void *out, size_t n_out, const char *what)
{
    double worst = 0;

    for (size_t at = 0; at < n_out; at += PART) {
        const size_t part = n_out - at < PART ? n_out - at : PART;
        worst = fmax(worst, part_judge(j, (const char *)out + at * bytes_of(j->dtype), j->first + at, part, what));
    }
    if (getenv("WIRE_TELL") && me == 0)
        printf("%s of %zu elements, %s, kind %d: %.3f of the bound\n", what, n_out, j->wire->name, j->kind, worst);
}

/* All ranks have the same bits. */
static void bits_compare(const void *out, size_t bytes, const char *what)
{
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), 0}, least[2], most[2];

    for (size_t i = 0; i < bytes; i++)
        hash[0] = (hash[0] ^ ((const unsigned char *)out)[i]) * UINT64_C(0x100000001b3);
    check(hx_allreduce(hash, least, 1, HX_UINT64, HX_MIN, comm), what);
    check(hx_allreduce(hash, most, 1, HX_UINT64, HX_MAX, comm), what);
    if (least[0] != most[0])
        fail(what, "ranks have different bits");
}

/* ---- calls */

/* The plan of an all-reduce must use the format: else nothing is tested. Over a fast network others of this length may be exact. */
static void plan_check(const struct judge *j, const char *collective, size_t count, hx_op_t op)
{
    hx_plan_info_t info;
    size_t length = strlen(j->wire->name);

    check(hx_plan_info(comm, collective, count, j->dtype, op, 0, &info), "hx_plan_info");
    if (strlen(info.plan) < length || strcmp(info.plan + strlen(info.plan) - length, j->wire->name) != 0)
        fail(collective, info.plan);
}

static void *input_new(const struct judge *j)
{
    void *x = malloc(j->count * bytes_of(j->dtype));

    for (size_t i = 0; x && i < j->count; i++)
        if (j->dtype == HX_FLOAT32)
            ((float *)x)[i] = (float)input_at(j->kind, me, i, HX_FLOAT32);
        else
            ((double *)x)[i] = input_at(j->kind, me, i, HX_FLOAT64);
    if (!x)
        fail("memory", "none");
    return x;
}

static void allreduce_try(const struct judge *j, const void *in, void *out)
{
    const hx_op_t op = j->average ? HX_AVG : HX_SUM;

    plan_check(j, "allreduce", j->count, op);
    check(hx_allreduce(in, out, j->count, j->dtype, op, comm), "hx_allreduce");
    bits_compare(out, j->count * bytes_of(j->dtype), "hx_allreduce");
    results_judge(j, out, j->count, "hx_allreduce");
}

/* One call, because many elements take minutes. */
static void large_try(const struct judge *j)
{
    void *in = input_new(j), *out = malloc(j->count * bytes_of(j->dtype));

    if (!out)
        fail("memory", "none");
    check(hx_comm_set_wire(comm, j->wire->name), "hx_comm_set_wire");
    allreduce_try(j, in, out);
    free(in);
    free(out);
}

static void formats_try(struct judge j, size_t elements)
{
    const size_t bytes = bytes_of(j.dtype), each = elements / (size_t)n;
    void *in, *out = malloc(elements * bytes);

    if (!out)
        fail("memory", "none");
    check(hx_comm_set_wire(comm, j.wire->name), "hx_comm_set_wire");
    j.count = elements;
    in = input_new(&j);
    for (j.average = 0; j.average < 2; j.average++)
        allreduce_try(&j, in, out);
    j.average = 0;
    memcpy(out, in, elements * bytes);
    check(hx_allreduce(HX_IN_PLACE, out, elements, j.dtype, HX_SUM, comm), "hx_allreduce in place");
    bits_compare(out, elements * bytes, "hx_allreduce in place");
    results_judge(&j, out, elements, "hx_allreduce in place");
    check(hx_reduce(in, out, elements, j.dtype, HX_SUM, n - 1, comm), "hx_reduce");
    if (me == n - 1)
        results_judge(&j, out, elements, "hx_reduce");
    check(hx_reduce_scatter_block(in, out, each, j.dtype, HX_SUM, comm), "hx_reduce_scatter_block");
    j.count = each * (size_t)n;
    j.first = each * (size_t)me;
    results_judge(&j, out, each, "hx_reduce_scatter_block");
    free(in);
    free(out);
}

/* What no format serves stays exact. */
static void others_try(void)
{
    int32_t ints[1000], sums[1000];
    float x[1000], y[1000];

    check(hx_comm_set_wire(comm, "int8"), "hx_comm_set_wire");
    for (int i = 0; i < 1000; i++) {
        ints[i] = i * 1001 + me;
        x[i] = (float)(i * 1001 + me);
    }
    check(hx_allreduce(ints, sums, 1000, HX_INT32, HX_SUM, comm), "int32");
    check(hx_allreduce(x, y, 1000, HX_FLOAT32, HX_MAX, comm), "max");
    for (int i = 0; i < 1000; i++)
        if (sums[i] != n * i * 1001 + n * (n - 1) / 2 || y[i] != (float)(i * 1001 + n - 1))
            fail("exact results", "they are not exact");
}

static void other_try(void)
{
    enum { COUNT = 1 << 20 };
    float *x = calloc(2 * COUNT, sizeof(*x));
    hx_status_t status;

    check(hx_comm_set_wire(comm, me ? "bf16" : "int8"), "hx_comm_set_wire");
    status = x ? hx_allreduce(x, x + COUNT, COUNT, HX_FLOAT32, HX_SUM, comm) : HX_ERR_NOMEM;
    if (status != HX_ERR_MISMATCH)
        fail("ranks with different formats", hx_strerror(status));
    if (!strstr(hx_error_detail(comm), "bf16") && !strstr(hx_error_detail(comm), "int8"))
        fail("no format is named", hx_error_detail(comm));
    free(x);
}

static void refuse_try(void)
{
    if (hx_comm_set_wire(comm, "fp7") != HX_ERR_ARG || !strstr(hx_error_detail(comm), HX_WIRE_CHOICES) || hx_comm_set_wire(comm, NULL) != HX_ERR_ARG ||
        hx_comm_set_wire(NULL, "bf16") != HX_ERR_ARG)
        fail("a wrong format", hx_error_detail(comm));
    check(hx_comm_set_wire(comm, HX_WIRE_OFF), "off");
}

int main(int argc, char **argv)
{
    const hx_dtype_t dtypes[] = {HX_FLOAT32, HX_FLOAT64};

    check(hx_init(&comm), "hx_init");
    n = hx_size(comm);
    me = hx_rank(comm);
    if (argc == 2) {
        (strcmp(argv[1], "other") ? refuse_try : other_try)();
        return hx_finalize() != HX_SUCCESS && strcmp(argv[1], "other") != 0;
    }
    for (int w = 0; w < HX_WIRE_COUNT && argc == 4 && !strcmp(argv[3], "large"); w++)
        for (int kind = ORDINARY; kind <= MIXED; kind++)
            large_try(&(struct judge){.wire = &hx_wires[w], .dtype = HX_FLOAT32, .kind = kind, .codings = atoi(argv[2]),
                                      .count = (size_t)atoll(argv[1])});
    for (int w = 0; w < HX_WIRE_COUNT && argc >= 3; w++)
        for (int d = 0; d < 2; d++)
            for (int kind = 0; kind < KINDS; kind++)
                if (argc == 3 || !strcmp(argv[3], hx_wires[w].name))
                    formats_try((struct judge){.wire = &hx_wires[w], .dtype = dtypes[d], .kind = kind, .codings = atoi(argv[2])},
                                (size_t)atoll(argv[1]));
    others_try();
    check(hx_finalize(), "hx_finalize");
    return 0;
}
