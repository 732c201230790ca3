/* SPDX-License-Identifier: BSD-3-Clause */
/* Wire formats: errors within the bounds of their rows for the worst inputs, exact special values, the same bits from all kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/reduce_table.h"

enum { MOST = 1100, GUARD = 64 };
static const size_t counts[] = {0, 1, 2, 63, 64, 127, 128, 129, 255, 256, 257, 513, MOST};
#define COUNTS (sizeof(counts) / sizeof(*counts))

static uint64_t random_bits(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 29;
}

/* Inputs, each of another kind of hardship. type_max, type_min: of the type, the largest number and the smallest above 0. */
static double hard_value(int kind, size_t i, uint64_t *state, double type_max, double type_min)
{
    const double unit = (double)(random_bits(state) >> 11) * 0x1p-53, sign = random_bits(state) & 1 ? -1 : 1;
    const int spread = (int)(random_bits(state) % 300) - 150;

    switch (kind) {
    case 0:
        return sign * unit;
    case 1: /* huge and tiny mixed */
        return sign * ldexp(1 + unit, spread > 120 ? 120 : spread);
    case 2: /* what rounds up to the next power of two, or beyond the largest number */
        return sign * type_max * (1 - unit * 0x1p-12);
    case 3: /* subnormal */
        return sign * floor(unit * 4096) * type_min;
    case 4:
        return i % 7 ? 0 : sign * 0.0;
    case 5: /* special among ordinary */
        return i % 11 == 3 ? INFINITY : i % 13 == 5 ? -INFINITY : i % 17 == 7 ? NAN : sign * unit * 1000;
    case 6:
        return i % 2 ? NAN : sign * INFINITY;
    case 7: /* one large number for many small ones */
        return i % 200 == 50 ? type_max : sign * unit;
    case 8: /* halfway between codes */
        return sign * (1 + (double)(random_bits(state) % 512) / 512);
    default: /* any bits */
        return sign * ldexp(1 + unit, (int)(random_bits(state) % 20) - 10);
    }
}
enum { KINDS = 10 };

static double value_at(hx_dtype_t dtype, const void *x, size_t i)
{
    return dtype == HX_FLOAT32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* The largest finite number of the block that element i is in. */
static double block_peak(const struct hx_wire *wire, hx_dtype_t dtype, const void *x, size_t i, size_t count)
{
    size_t block = (size_t)wire->block, first = i / block * block, end = first + block < count ? first + block : count;
    double peak = 0;

    for (size_t k = first; k < end; k++)
        if (isfinite(value_at(dtype, x, k)) && fabs(value_at(dtype, x, k)) > peak)
            peak = fabs(value_at(dtype, x, k));
    return peak;
}

static void element_check(const struct hx_wire *wire, hx_dtype_t dtype, const void *x, const void *y, size_t i, size_t count, int kind)
{
    const double was = value_at(dtype, x, i), is = value_at(dtype, y, i), peak = block_peak(wire, dtype, x, i, count);
    const double least = dtype == HX_FLOAT32 ? 0x1p-149 : 0x1p-1074;

    if (isnan(was) ? isnan(is) : !isfinite(was) ? is == was : fabs(is - was) <= wire->bound * peak + least && (is == 0 || (is > 0) == (was > 0)))
        return;
    fail_msg("%s of %s, kind %d, element %zu of %zu: %g became %g; the largest of its block is %g", wire->name, hx_dtype_name(dtype),
             kind, i, count, was, is, peak);
}

static void input_fill(hx_dtype_t dtype, int kind, void *x, size_t count)
{
    uint64_t state = (uint64_t)kind * 77 + count;

    for (size_t i = 0; i < count; i++)
        if (dtype == HX_FLOAT32)
            ((float *)x)[i] = (float)hard_value(kind, i, &state, FLT_MAX, 0x1p-149);
        else
            ((double *)x)[i] = hard_value(kind, i, &state, DBL_MAX, 0x1p-1074);
}

/* Encode and decode by one table of kernels; nothing is written beyond the end. Returns the codes. */
static unsigned char *pass(const struct hx_reduce_table *table, int w, hx_dtype_t dtype, const void *x, void *y, size_t count)
{
    const size_t bytes = hx_wire_bytes(&hx_wires[w], count), size = count * hx_dtype_bytes(dtype);
    unsigned char *codes = malloc(bytes + GUARD);

    assert_non_null(codes);
    memset(codes, 0xa5, bytes + GUARD);
    memset((char *)y + size, 0x5a, GUARD);
    table->encode[w][dtype](codes, x, count);
    table->decode[w][dtype](y, codes, count);
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(codes[bytes + (size_t)i], 0xa5);
        assert_int_equal(((unsigned char *)y)[size + (size_t)i], 0x5a);
    }
    return codes;
}

static void errors_are_within_bounds(void **state)
{
    double x[MOST + GUARD], y[MOST + GUARD], z[MOST + GUARD];
    const hx_dtype_t dtypes[] = {HX_FLOAT32, HX_FLOAT64};
    const struct hx_reduce_table *first = hx_reduce_table_at(0), *other;
    (void)state;

    for (int d = 0; d < 2; d++)
        for (int w = 0; w < HX_WIRE_COUNT; w++)
            for (int kind = 0; kind < KINDS; kind++)
                for (size_t c = 0; c < COUNTS; c++) {
                    input_fill(dtypes[d], kind, x, counts[c]);
                    unsigned char *codes = pass(first, w, dtypes[d], x, y, counts[c]);
                    for (size_t i = 0; i < counts[c]; i++)
                        element_check(&hx_wires[w], dtypes[d], x, y, i, counts[c], kind);
                    for (int t = 1; (other = hx_reduce_table_at(t)); t++) {
                        unsigned char *theirs = pass(other, w, dtypes[d], x, z, counts[c]);
                        assert_memory_equal(codes, theirs, hx_wire_bytes(&hx_wires[w], counts[c]));
                        assert_memory_equal(y, z, counts[c] * hx_dtype_bytes(dtypes[d]));
                        free(theirs);
                    }
                    free(codes);
                }
}

/* The bound is no wider than it must be: some input reaches nine tenths of it. */
static void bounds_are_tight(void **state)
{
    float x[256], y[256 + GUARD];
    (void)state;

    for (int w = 0; w < HX_WIRE_COUNT; w++) {
        double worst = 0;
        uint64_t seed = 1;
        for (int trial = 0; trial < 200; trial++) {
            for (int i = 0; i < 256; i++)
                x[i] = i % 128 ? (float)(random_bits(&seed) % 4096) / 4096 : 1;
            free(pass(hx_reduce_table_at(0), w, HX_FLOAT32, x, y, 256));
            for (int i = 0; i < 256; i++)
                worst = fmax(worst, fabs((double)y[i] - (double)x[i]));
        }
        if (worst < 0.4 * hx_wires[w].bound) /* of numbers in the lower half of a power of two a float loses half as much */
            fail_msg("%s: the largest error is %g, the bound is %g", hx_wires[w].name, worst, hx_wires[w].bound);
    }
}

static void rows_agree_with_choices(void **state)
{
    char choices[200] = HX_WIRE_OFF;
    (void)state;

    for (int w = 0; w < HX_WIRE_COUNT; w++) {
        strcat(strcat(choices, "|"), hx_wires[w].name);
        assert_ptr_equal(hx_wire_named(hx_wires[w].name), hx_wire_chosen(w + 1));
        assert_true(hx_wires[w].block >= 64 && hx_wires[w].block <= 256);
        assert_int_equal(hx_wire_bytes(&hx_wires[w], 0), 0);
        assert_true(hx_wire_sum_bound(&hx_wires[w], 2) > 2 * hx_wires[w].bound);
    }
    assert_string_equal(choices, HX_WIRE_CHOICES);
    assert_null(hx_wire_chosen(0));
    assert_null(hx_wire_named(HX_WIRE_OFF));
    assert_null(hx_wire_lack(HX_FLOAT32, HX_AVG));
    assert_non_null(hx_wire_lack(HX_FLOAT32, HX_MAX));
    assert_non_null(hx_wire_lack(HX_INT32, HX_SUM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_within_bounds),
        cmocka_unit_test(bounds_are_tight),
        cmocka_unit_test(rows_agree_with_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
