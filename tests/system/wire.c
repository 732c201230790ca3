/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire ELEMENTS CODINGS [FORMAT]: in a job, all formats, types and collectives that can travel in fewer bits, with inputs of every hardship.
 * Results are the same bits on all ranks, and within the bound that hx_wire_sum_bound states for so many codings. FORMAT: only this one.
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

/* The sum over all ranks of the largest finite number near each element: wherever blocks begin, an element's block is within so many. */
static double *nearby_new(const struct judge *j)
{
    double *all = calloc(j->count, sizeof(*all)), *size = malloc(j->count * sizeof(*size));
    const size_t reach = (size_t)j->wire->block - 1;

    if (!all || !size)
        fail("memory", "none");
    for (int rank = 0; rank < n; rank++) {
        for (size_t i = 0; i < j->count; i++) {
            double x = fabs(rounded(input_at(j->kind, rank, i, j->dtype), j->dtype));
            size[i] = isfinite(x) ? x : 0;
        }
        /* the largest of a window, in two passes over blocks of its length */
        const size_t width = 2 * reach + 1;
        double *before = malloc(j->count * sizeof(*before)), *after = malloc(j->count * sizeof(*after));
        if (!before || !after)
            fail("memory", "none");
        for (size_t i = 0; i < j->count; i++)
            before[i] = i % width && before[i - 1] > size[i] ? before[i - 1] : size[i];
        for (size_t i = j->count; i-- > 0;)
            after[i] = i + 1 < j->count && (i + 1) % width && after[i + 1] > size[i] ? after[i + 1] : size[i];
        for (size_t i = 0; i < j->count; i++) {
            size_t low = i > reach ? i - reach : 0, high = i + reach < j->count ? i + reach : j->count - 1;
            all[i] += fmax(after[low], before[high]);
        }
        free(before);
        free(after);
    }
    free(size);
    return all;
}

static void results_judge(const struct judge *j, const void *out, size_t n_out, const char *what)
{
    const double epsilon = j->dtype == HX_FLOAT32 ? FLT_EPSILON : DBL_EPSILON, least = j->dtype == HX_FLOAT32 ? 0x1p-149 : 0x1p-1074;
    double *nearby = nearby_new(j), worst = 0;
    char text[200];

    for (size_t i = 0; i < n_out; i++) {
        long double sum = 0;
        for (int rank = 0; rank < n; rank++)
            sum += (long double)rounded(input_at(j->kind, rank, j->first + i, j->dtype), j->dtype);
        const double exact = (double)(j->average ? sum / n : sum), got = value_at(out, i, j->dtype);
        const double most = ((hx_wire_sum_bound(j->wire, j->codings) + n * epsilon) * nearby[j->first + i] + (n + 2) * j->codings * least) /
                            (j->average ? n : 1) + (j->average ? least : 0);
        const double error = isnan(exact) ? !isnan(got) : isinf(exact) ? got != exact : fabs(got - exact) / (most > 0 ? most : 1);
        worst = error > worst || isnan(error) ? error : worst;
        if (error <= 1 && (isnan(exact) || !isnan(got)))
            continue;
        snprintf(text, sizeof(text), "kind %d, element %zu: %.9g, exactly %.9g, may differ by %.3g", j->kind, j->first + i, got, exact, most);
        fail(what, text);
    }
    if (getenv("WIRE_TELL") && me == 0)
        printf("%s %s kind %d: %.3f of the bound\n", what, j->wire->name, j->kind, worst);
    free(nearby);
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
    void *x = malloc(j->count * sizeof(double));

    for (size_t i = 0; x && i < j->count; i++)
        if (j->dtype == HX_FLOAT32)
            ((float *)x)[i] = (float)input_at(j->kind, me, i, HX_FLOAT32);
        else
            ((double *)x)[i] = input_at(j->kind, me, i, HX_FLOAT64);
    if (!x)
        fail("memory", "none");
    return x;
}

static void formats_try(struct judge j, size_t elements)
{
    const size_t bytes = j.dtype == HX_FLOAT32 ? sizeof(float) : sizeof(double), each = elements / (size_t)n;
    void *in, *out = malloc(elements * sizeof(double));

    if (!out)
        fail("memory", "none");
    check(hx_comm_set_wire(comm, j.wire->name), "hx_comm_set_wire");
    j.count = elements;
    in = input_new(&j);
    for (j.average = 0; j.average < 2; j.average++) {
        const hx_op_t op = j.average ? HX_AVG : HX_SUM;
        plan_check(&j, "allreduce", elements, op);
        check(hx_allreduce(in, out, elements, j.dtype, op, comm), "hx_allreduce");
        bits_compare(out, elements * bytes, "hx_allreduce");
        results_judge(&j, out, elements, "hx_allreduce");
    }
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
