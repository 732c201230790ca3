/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job that all-reduces 16-bit floats.
 *   half bound ROUNDINGS [COUNT]   each sum is as near to the exact one as that many roundings allow; prints the plan's name
 *   half speed                     the time against widening to float32, all-reducing that in place in one buffer that is used again and
 *                                  again, and narrowing: both ways in turn, inputs rewritten before each call, the slowest rank's time, medians of both and of the
 *                                  ratio
 */
#include "half_convert.h"
#include "runtime/hierax.h"
#include "runtime/base/clock.h"
#include "tools/common/median.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hx_comm_t *world;
static int rank, size;

static void check(hx_status_t status)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "half: rank %d: %s\n", rank, hx_error_detail(world));
    exit(1);
}

static uint64_t mix(uint64_t r, uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ (r + 7) * 0xbf58476d1ce4e5b9u;

    x = (x ^ x >> 29) * 0x94d049bb133111ebu;
    return x ^ x >> 32;
}

/* Any finite value of 2^-10 to 2^5, either sign: no overflow, few denormals. */
static uint16_t contribution(hx_dtype_t t, int r, size_t i)
{
    uint64_t x = mix((uint64_t)r, i);

    if (t == HX_FLOAT16)
        return (uint16_t)((x >> 8 & 0x83ff) | (5 + x % 15) << 10);
    return (uint16_t)((x >> 8 & 0x807f) | (117 + x % 15) << 7);
}

static double value_of(hx_dtype_t t, uint16_t bits)
{
    int digits = t == HX_FLOAT16 ? 10 : 7, top = t == HX_FLOAT16 ? 31 : 255, bias = t == HX_FLOAT16 ? 15 : 127;
    int mantissa = bits & ((1 << digits) - 1), exponent = bits >> digits & top;
    double value = ldexp(exponent ? mantissa + (1 << digits) : mantissa, (exponent ? exponent : 1) - bias - digits);

    return exponent == top ? NAN : bits & 0x8000 ? -value : value;
}

/* A rounding is wrong by at most half a unit in the last place of what it rounds, which no partial sum exceeds in magnitude. One
 * rounding is that of the sum itself. Sums within a step are of float32. */
static void bound_check(hx_dtype_t t, size_t count, int roundings)
{
    uint16_t *in = calloc(count, 2), *out = calloc(count, 2);
    double unit = t == HX_FLOAT16 ? 0x1p-11 : 0x1p-8, least = t == HX_FLOAT16 ? 0x1p-25 : 0x1p-134, worst = 0;

    if (!in || !out)
        exit(1);
    for (size_t i = 0; i < count; i++)
        in[i] = contribution(t, rank, i);
    check(hx_allreduce(in, out, count, t, HX_SUM, world));
    for (size_t i = 0; i < count; i++) {
        double exact = 0, magnitudes = 0, got = value_of(t, out[i]), allowed;
        for (int r = 0; r < size; r++) {
            exact += value_of(t, contribution(t, r, i));
            magnitudes += fabs(value_of(t, contribution(t, r, i)));
        }
        allowed = roundings * (unit * (roundings == 1 ? fabs(exact) : magnitudes) + least) + size * 0x1p-24 * magnitudes;
        worst = fmax(worst, fabs(got - exact) / allowed);
        if (!(fabs(got - exact) <= allowed)) {
            fprintf(stderr, "half: rank %d: element %zu of %zu is %.9g, not %.9g: %g x what %d roundings allow\n", rank, i, count, got, exact,
                    fabs(got - exact) / allowed, roundings);
            exit(1);
        }
    }
    if (worst < 0.05) { /* bounds that are never approached prove little */
        fprintf(stderr, "half: rank %d: the worst of %zu sums is %g of its bound\n", rank, count, worst);
        exit(1);
    }
    free(in);
    free(out);
}

enum { REPETITIONS = 200, PAIRS = 4 };

static void speed(hx_dtype_t t, size_t bytes)
{
    const struct half_convert *convert = half_convert_here();
    enum half_kind kind = t == HX_FLOAT16 ? HALF_FLOAT16 : HALF_BFLOAT16;
    size_t count = bytes / 2;
    int fewer = bytes > (1 << 20) ? REPETITIONS / 4 : REPETITIONS;
    uint16_t *in[PAIRS], *out[PAIRS];
    float *wide = aligned_alloc(4096, 2 * bytes);
    double times[3][REPETITIONS], middle[3], worst; /* both ways, and the ratio of the two of one turn */

    for (int k = 0; k < PAIRS; k++) {
        in[k] = aligned_alloc(4096, bytes);
        out[k] = aligned_alloc(4096, bytes);
        if (!in[k] || !out[k] || !wide)
            exit(1);
        memset(out[k], 0, bytes);
    }
    memset(wide, 0, 2 * bytes);
    for (int i = -10; i < fewer; i++)
        for (int way = 0; way < 2; way++) {
            int k = (i + 10) % PAIRS;
            for (size_t e = 0; e < count; e++)
                in[k][e] = (uint16_t)(0x3c00 + (e * 7 + (size_t)i) % 64);
            check(hx_barrier(world));
            double start = 1e6 * hx_now_s();
            if (way == 0) {
                check(hx_allreduce(in[k], out[k], count, t, HX_SUM, world));
            } else {
                convert->widen[kind](wide, in[k], count);
                check(hx_allreduce(HX_IN_PLACE, wide, count, HX_FLOAT32, HX_SUM, world));
                convert->narrow[kind](out[k], wide, count);
            }
            double us = 1e6 * hx_now_s() - start;
            check(hx_allreduce(&us, &worst, 1, HX_FLOAT64, HX_MAX, world));
            if (i >= 0)
                times[way][i] = worst;
        }
    for (int i = 0; i < fewer; i++)
        times[2][i] = times[1][i] / times[0][i];
    for (int way = 0; way < 3; way++)
        middle[way] = median(times[way], (size_t)fewer);
    if (rank == 0)
        printf("%-9s %8zu bytes: %9.1f us, by float32 %9.1f us, ratio %.2f\n", t == HX_FLOAT16 ? "float16" : "bfloat16", bytes,
               middle[0], middle[1], middle[2]);
    for (int k = 0; k < PAIRS; k++) {
        free(in[k]);
        free(out[k]);
    }
    free(wide);
}

int main(int argc, char **argv)
{
    int timed = argc > 1 && !strcmp(argv[1], "speed");
    size_t count = argc > 3 ? strtoul(argv[3], NULL, 10) : 20000;
    hx_plan_info_t info;

    check(hx_init(&world));
    rank = hx_rank(world);
    size = hx_size(world);
    for (size_t bytes = 65536; timed && bytes <= 4 << 20; bytes *= 4) {
        speed(HX_FLOAT16, bytes);
        speed(HX_BFLOAT16, bytes);
    }
    if (!timed) {
        bound_check(HX_FLOAT16, count, argc > 2 ? atoi(argv[2]) : 1);
        bound_check(HX_BFLOAT16, count, argc > 2 ? atoi(argv[2]) : 1);
        check(hx_plan_info(world, "allreduce", count, HX_FLOAT16, HX_SUM, 0, &info));
        if (rank == 0)
            printf("%s\n", info.plan);
    }
    check(hx_finalize());
    return 0;
}
