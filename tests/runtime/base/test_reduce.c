/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction kernels of every instruction set of this CPU against a plain scalar reference, bit for bit: every type,
 * operation, number of sources and small count, special values, exact overlap; no byte touched outside the arrays
 * (they end at an unreadable page), and no upper half of a vector register left in use. Known answers guard against a
 * fault that reference and kernels share.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "runtime/base/reduce_table.h"
#include "tests/op_fold.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { MAX_SOURCES = 9, MAX_COUNT = 4099, MARGIN = 64 };
static const size_t counts[] = {127, 128, 129, 255, 256, 1000, MAX_COUNT}; /* besides 0 .. 70 */

/* ---- reference */

struct layout { /* of a binary float */
    int mantissa_bits, exponent_bits;
};
static const struct layout binary16 = {10, 5}, bfloat = {7, 8};

static double layout_decode(struct layout layout, uint32_t bits)
{
    uint32_t mantissa = bits & ((1u << layout.mantissa_bits) - 1), top = (1u << layout.exponent_bits) - 1;
    uint32_t exponent = bits >> layout.mantissa_bits & top;
    int bias = (int)(top >> 1);
    double value;
    if (exponent == top)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - layout.mantissa_bits);
    else
        value = ldexp(mantissa + (1u << layout.mantissa_bits), (int)exponent - bias - layout.mantissa_bits);
    return bits >> (layout.mantissa_bits + layout.exponent_bits) ? -value : value;
}

static uint32_t layout_encode(struct layout layout, double value)
{
    int top = (1 << layout.exponent_bits) - 1, bias = top >> 1;
    if (isnan(value))
        return (uint32_t)top << layout.mantissa_bits | 1u << (layout.mantissa_bits - 1);
    uint32_t sign = signbit(value) ? 1u << (layout.mantissa_bits + layout.exponent_bits) : 0;
    value = fabs(value);
    int exponent = value == 0 || isinf(value) ? 1 - bias : ilogb(value);
    exponent = exponent < 1 - bias ? 1 - bias : exponent;
    double units = nearbyint(ldexp(value, layout.mantissa_bits - exponent)); /* to nearest even */
    /* A carry out of the mantissa runs into the exponent, as it should. */
    double magnitude = ldexp(exponent + bias - 1, layout.mantissa_bits) + units;
    double infinity = ldexp(top, layout.mantissa_bits);
    return sign | (uint32_t)(magnitude > infinity ? infinity : magnitude);
}

static double fold_real(hx_op_t op, double a, double b, int single)
{
    volatile double result = a; /* volatile: no contraction, no reassociation */
    switch (op) {
    case HX_SUM:
    case HX_AVG:
        result = single ? (double)((float)a + (float)b) : a + b;
        break;
    case HX_PROD:
        result = single ? (double)((float)a * (float)b) : a * b;
        break;
    case HX_MIN:
        result = isnan(a) || isnan(b) ? NAN : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
        break;
    default: /* HX_MAX */
        result = isnan(a) || isnan(b) ? NAN : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
    }
    return result;
}

/* One real number of any floating type from memory, as a double; and back, as a canonical NaN if it is one. */
static double real_load(hx_dtype_t dtype, const void *from)
{
    union {
        uint16_t half;
        float single;
        double value;
    } real;
    int is_half = hx_dtype_rows[dtype].class == HX_CLASS_HALF;
    memcpy(&real, from, is_half ? 2 : dtype == HX_FLOAT32 || dtype == HX_COMPLEX64 ? 4 : 8);
    if (is_half)
        return layout_decode(dtype == HX_FLOAT16 ? binary16 : bfloat, real.half);
    return dtype == HX_FLOAT32 || dtype == HX_COMPLEX64 ? (double)real.single : real.value;
}

static void real_store(hx_dtype_t dtype, void *to, double value)
{
    if (dtype == HX_FLOAT16 || dtype == HX_BFLOAT16) {
        uint16_t half = (uint16_t)layout_encode(dtype == HX_FLOAT16 ? binary16 : bfloat, value);
        memcpy(to, &half, sizeof(half));
    } else if (dtype == HX_FLOAT32 || dtype == HX_COMPLEX64) {
        float single = (float)value;
        memcpy(to, isnan(value) ? (void *)&(uint32_t){0x7fc00000} : (void *)&single, sizeof(single));
    } else {
        memcpy(to, isnan(value) ? (void *)&(uint64_t){0x7ff8000000000000} : (void *)&value, sizeof(value));
    }
}

static void fold_float(hx_dtype_t dtype, hx_op_t op, void *dst, const void *const *src, int nsrc, size_t at)
{
    int is_complex = dtype == HX_COMPLEX64 || dtype == HX_COMPLEX128;
    int single = dtype != HX_FLOAT64 && dtype != HX_COMPLEX128;
    size_t part = hx_dtype_bytes(dtype) / (is_complex ? 2 : 1);
    double re = real_load(dtype, (const char *)src[0] + at);
    double im = is_complex ? real_load(dtype, (const char *)src[0] + at + part) : 0;
    for (int k = 1; k < nsrc; k++) {
        double b = real_load(dtype, (const char *)src[k] + at);
        double c = is_complex ? real_load(dtype, (const char *)src[k] + at + part) : 0;
        if (is_complex && op == HX_PROD) {
            double minus = -fold_real(HX_PROD, im, c, single);
            double product = fold_real(HX_SUM, fold_real(HX_PROD, re, b, single), minus, single);
            im = fold_real(HX_SUM, fold_real(HX_PROD, re, c, single), fold_real(HX_PROD, im, b, single), single);
            re = product;
        } else {
            re = fold_real(op, re, b, single);
            im = is_complex ? fold_real(op, im, c, single) : 0;
        }
    }
    real_store(dtype, (char *)dst + at, re);
    if (is_complex)
        real_store(dtype, (char *)dst + at + part, im);
}

static int is_float(hx_dtype_t dtype)
{
    return (hx_dtype_rows[dtype].class & (HX_CLASS_FLOATING | HX_CLASS_COMPLEX)) != 0;
}

static int is_pair(hx_dtype_t dtype)
{
    return hx_dtype_rows[dtype].class == HX_CLASS_PAIR;
}

/* Does a come before b? Signs of zero and kinds of NaN do not count. */
static int pair_is_first(hx_dtype_t dtype, hx_op_t op, const void *a, const void *b)
{
    size_t bytes = hx_dtype_bytes(dtype) / 2;
    int64_t x = 0, y = 0;
    int32_t i, j;
    memcpy(&i, (const char *)a + bytes, 4);
    memcpy(&j, (const char *)b + bytes, 4);
    if (dtype == HX_INT32_INDEX || dtype == HX_INT64_INDEX) {
        memcpy(&x, a, bytes);
        memcpy(&y, b, bytes);
        x = bytes == 4 ? (int32_t)x : x;
        y = bytes == 4 ? (int32_t)y : y;
        return x == y ? i < j : op == HX_MINLOC ? x < y : x > y;
    }
    double v = real_load(bytes == 4 ? HX_FLOAT32 : HX_FLOAT64, a), w = real_load(bytes == 4 ? HX_FLOAT32 : HX_FLOAT64, b);
    if (isnan(v) || isnan(w))
        return isnan(v) && isnan(w) ? i < j : isnan(v);
    return v == w ? i < j : op == HX_MINLOC ? v < w : v > w;
}

static void fold_pairs(hx_dtype_t dtype, hx_op_t op, void *dst, const void *const *src, int nsrc, size_t at)
{
    size_t bytes = hx_dtype_bytes(dtype);
    const char *best = (const char *)src[0] + at;
    for (int k = 1; k < nsrc; k++)
        if (pair_is_first(dtype, op, (const char *)src[k] + at, best))
            best = (const char *)src[k] + at;
    memset((char *)dst + at, 0, bytes);
    memcpy((char *)dst + at, best, bytes / 2 + 4);
    if (dtype == HX_FLOAT32_INDEX || dtype == HX_FLOAT64_INDEX) {
        hx_dtype_t real = bytes == 8 ? HX_FLOAT32 : HX_FLOAT64;
        real_store(real, (char *)dst + at, real_load(real, best) + 0.0); /* no minus zero */
    }
}

static void reference(hx_dtype_t dtype, hx_op_t op, void *dst, const void *const *src, int nsrc, size_t count)
{
    size_t bytes = hx_dtype_bytes(dtype);
    for (size_t at = 0; at < count * bytes; at += bytes) {
        if (is_pair(dtype)) {
            fold_pairs(dtype, op, dst, src, nsrc, at);
            continue;
        }
        if (is_float(dtype)) {
            fold_float(dtype, op, dst, src, nsrc, at);
            continue;
        }
        uint64_t total = 0, term = 0;
        memcpy(&total, (const char *)src[0] + at, bytes); /* little endian */
        total = op_first(op, total);
        for (int k = 1; k < nsrc; k++) {
            memcpy(&term, (const char *)src[k] + at, bytes);
            int is_signed = hx_dtype_rows[dtype].digits % 8, shift = is_signed ? 64 - 8 * (int)bytes : 0;
            total = op_fold(op, (uint64_t)((int64_t)(total << shift) >> shift), (uint64_t)((int64_t)(term << shift) >> shift), is_signed);
            total = bytes < 8 ? total & ((UINT64_C(1) << 8 * bytes) - 1) : total;
        }
        memcpy((char *)dst + at, &total, bytes);
    }
}

/* ---- data */

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

/* A bit pattern for one real or integer: small numbers, special values, or any bits at all. */
static uint64_t random_pattern(hx_dtype_t dtype, size_t bytes)
{
    static const double special[] = {0.0,     -0.0,    1.0,      -1.0,     INFINITY,  -INFINITY, NAN,  65504,
                                     65520.0, 0x1p-14, 0x1p-24,  0x1p-133, 0x1p-149,  0x1p-1074, 3e38, 1e308};
    uint64_t dice = random_bits(), bits = random_bits();
    if (dice % 8 == 0)
        return bits; /* NaNs with payloads, signalling ones, denormals */
    if (!is_float(dtype))
        return dice % 8 < 3 ? bits % 2 : bits;
    double value = dice % 8 == 1 ? special[bits % 16] : (double)(int64_t)(bits % 4001 - 2000) / 64;
    if (dice % 8 == 1 && dice & 256)
        value = -value;
    bits = 0;
    if (bytes == 2)
        bits = layout_encode(dtype == HX_FLOAT16 ? binary16 : bfloat, value);
    else if (bytes == 4)
        memcpy(&bits, &(float){(float)value}, 4);
    else
        memcpy(&bits, &value, 8);
    return bits;
}

static void fill(hx_dtype_t dtype, void *to, size_t count)
{
    static const hx_dtype_t values[] = {HX_FLOAT32, HX_FLOAT64, HX_INT32, HX_INT64};
    int halves = dtype == HX_COMPLEX64 || dtype == HX_COMPLEX128 || is_pair(dtype);
    size_t bytes = hx_dtype_bytes(dtype) / (halves ? 2 : 1), parts = halves ? 2 * count : count;
    for (size_t i = 0; i < parts; i++) {
        hx_dtype_t part = !is_pair(dtype) ? dtype : i % 2 ? HX_INT32 : values[dtype - HX_FLOAT32_INDEX];
        uint64_t bits = random_pattern(part, bytes);
        memcpy((char *)to + i * bytes, &bits, bytes);
    }
}

static char *array_end[MAX_SOURCES + 1]; /* each followed by an unreadable page; the last is for dst */
static char data[MAX_SOURCES][MAX_COUNT * 16], expected[MAX_COUNT * 16];

static int set_up(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (sizeof(expected) + MARGIN + page - 1) / page * page;
    for (int i = 0; i <= MAX_SOURCES; i++) {
        char *array = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (array == MAP_FAILED || mprotect(array + bytes, page, PROT_NONE))
            return -1;
        array_end[i] = array + bytes;
    }
    return 0;
}

/* ---- tests */

/* The kernel on arrays that end at the unreadable page; alias >= 0: dst is that source. */
static void check_call(const struct hx_reduce_table *table, hx_dtype_t dtype, hx_op_t op, int nsrc, size_t count,
                       int alias)
{
    size_t bytes = count * hx_dtype_bytes(dtype);
    const void *src[MAX_SOURCES];
    for (int k = 0; k < nsrc; k++)
        src[k] = memcpy(array_end[k] - bytes, data[k], bytes);
    char *dst = array_end[alias >= 0 ? alias : MAX_SOURCES] - bytes;
    memset(dst - MARGIN, 0x5a, MARGIN);
    if (alias < 0)
        memset(dst, 0x5a, bytes);
    table->kernel[dtype][op](dst, src, nsrc, count);
    for (int i = 1; i <= MARGIN; i++)
        assert_int_equal(dst[-i], 0x5a);
    for (int k = 0; k < nsrc; k++)
        if (k != alias)
            assert_memory_equal(src[k], data[k], bytes);
    if (memcmp(dst, expected, bytes))
        fail_msg("%s %s %s: nsrc %d count %zu alias %d: result differs", table->isa, hx_dtype_name(dtype),
                 hx_op_name(op), nsrc, count, alias);
}

static void check_kernel(const struct hx_reduce_table *table, hx_dtype_t dtype, hx_op_t op)
{
    for (int k = 0; k < MAX_SOURCES; k++)
        fill(dtype, data[k], MAX_COUNT);
    for (int nsrc = 1; nsrc <= MAX_SOURCES; nsrc++) {
        const void *src[MAX_SOURCES];
        for (int k = 0; k < nsrc; k++)
            src[k] = data[k];
        reference(dtype, op, expected, src, nsrc, MAX_COUNT);
        for (size_t i = 0; i < 71 + sizeof(counts) / sizeof(counts[0]); i++) {
            size_t count = i < 71 ? i : counts[i - 71];
            check_call(table, dtype, op, nsrc, count, -1);
            check_call(table, dtype, op, nsrc, count, (int)(i % (size_t)nsrc));
        }
    }
}

static void test_all_kernels(void **state)
{
    (void)state;
    const struct hx_reduce_table *table;
    for (int isa = 0; (table = hx_reduce_table_at(isa)); isa++) {
        print_message("instruction set %s\n", table->isa);
        for (int dtype = 0; dtype < HX_DTYPE_COUNT; dtype++)
            for (int op = 0; op < HX_OP_COUNT; op++)
                if (table->kernel[dtype][op])
                    check_kernel(table, (hx_dtype_t)dtype, (hx_op_t)op);
    }
}

/* All 65536 values of each 16-bit type through each operation, with partners that make denormals, ties and overflow. */
static void test_every_half(void **state)
{
    (void)state;
    static uint16_t values[65536], partners[65536], result[65536], wanted[65536];
    static const double partner[] = {0, -0.0, 1, 1.5, 0x1p-10, 0x1p-15, 1.25 * 0x1p-14, 60000, -3e38, INFINITY};
    const void *src[2] = {values, partners};
    for (uint32_t i = 0; i < 65536; i++)
        values[i] = (uint16_t)i;
    for (int type = 0; type < 2; type++) {
        hx_dtype_t dtype = type ? HX_BFLOAT16 : HX_FLOAT16;
        for (int nsrc = 1; nsrc <= 2; nsrc++) {
            for (size_t p = 0; p < sizeof(partner) / sizeof(partner[0]); p++) {
                for (int i = 0; i < 65536; i++)
                    partners[i] = (uint16_t)layout_encode(type ? bfloat : binary16, partner[p]);
                for (int op = HX_SUM; op <= HX_MAX; op++) {
                    reference(dtype, (hx_op_t)op, wanted, src, nsrc, 65536);
                    for (int isa = 0; hx_reduce_table_at(isa); isa++) {
                        hx_reduce_table_at(isa)->kernel[dtype][op](result, src, nsrc, 65536);
                        assert_memory_equal(result, wanted, sizeof(wanted));
                    }
                }
            }
        }
    }
}

static uint32_t fold3(const struct hx_reduce_table *table, hx_dtype_t dtype, hx_op_t op, uint32_t a, uint32_t b,
                      uint32_t c)
{
    uint32_t result = 0;
    table->kernel[dtype][op](&result, (const void *const[]){&a, &b, &c}, 3, 1);
    return result;
}

static void test_known_answers(void **state)
{
    (void)state;
    const struct hx_reduce_table *table;
    for (int isa = 0; (table = hx_reduce_table_at(isa)); isa++) {
        /* one rounding: 2048 + 1 + 1 = 2050 in float16, 256 + 1 + 1 = 258 in bfloat16; two would lose both ones */
        assert_int_equal(fold3(table, HX_FLOAT16, HX_SUM, 0x6800, 0x3c00, 0x3c00), 0x6801);
        assert_int_equal(fold3(table, HX_BFLOAT16, HX_SUM, 0x4380, 0x3f80, 0x3f80), 0x4381);
        /* left to right: (2^24 + 1) + -2^24 = 0 in float32 */
        assert_int_equal(fold3(table, HX_FLOAT32, HX_SUM, 0x4b800000, 0x3f800000, 0xcb800000), 0);
        assert_int_equal(fold3(table, HX_FLOAT32, HX_SUM, 0x4b800000, 0xcb800000, 0x3f800000), 0x3f800000);
        /* infinity - infinity, and a signalling NaN with a payload: the quiet NaN */
        assert_int_equal(fold3(table, HX_FLOAT32, HX_SUM, 0x7f800000, 0xff800000, 0), 0x7fc00000);
        assert_int_equal(fold3(table, HX_FLOAT32, HX_MAX, 0, 0xff812345, 0x7f800000), 0x7fc00000);
        assert_int_equal(fold3(table, HX_FLOAT16, HX_MIN, 0, 0x7c01, 0xfc00), 0x7e00);
        assert_int_equal(fold3(table, HX_BFLOAT16, HX_PROD, 0xff81, 0, 0), 0x7fc0);
        /* zeros: the smallest is -0, the largest +0 */
        assert_int_equal(fold3(table, HX_FLOAT32, HX_MIN, 0, 0x80000000, 0), 0x80000000);
        assert_int_equal(fold3(table, HX_FLOAT32, HX_MAX, 0x80000000, 0, 0x80000000), 0);
        /* overflow of float16 to infinity only in the end: 65504 + 65504 - 65504 */
        assert_int_equal(fold3(table, HX_FLOAT16, HX_SUM, 0x7bff, 0x7bff, 0xfbff), 0x7bff);
        assert_int_equal(fold3(table, HX_FLOAT16, HX_SUM, 0x7bff, 0x4c00, 0), 0x7c00);
        /* wrap; truth */
        assert_int_equal(fold3(table, HX_INT8, HX_SUM, 0x7f, 1, 0), 0x80);
        assert_int_equal(fold3(table, HX_INT32, HX_PROD, 0x80000000, 3, 1), 0x80000000);
        assert_int_equal(fold3(table, HX_INT16, HX_LAND, 0x100, 2, 0xffff), 1);
        assert_int_equal(fold3(table, HX_UINT8, HX_LXOR, 4, 8, 0), 0);
        float complex_values[3][2] = {{1, 2}, {3, 4}, {0, 1}}, product[2]; /* (1+2i)(3+4i)i = -10-5i */
        table->kernel[HX_COMPLEX64][HX_PROD](
            product, (const void *const[]){complex_values[0], complex_values[1], complex_values[2]}, 3, 1);
        assert_true(product[0] == -10 && product[1] == -5);
        /* pairs: the value, then the lowest index, which may be negative; NaN before all */
        hx_float32_index_t pairs[3] = {{2, 7}, {-3, 5}, {-3, -4}}, least, most;
        const void *const three[] = {&pairs[0], &pairs[1], &pairs[2]};
        table->kernel[HX_FLOAT32_INDEX][HX_MINLOC](&least, three, 3, 1);
        table->kernel[HX_FLOAT32_INDEX][HX_MAXLOC](&most, three, 3, 1);
        assert_true(least.value == -3 && least.index == -4 && most.value == 2 && most.index == 7);
        pairs[1].value = -NAN;
        table->kernel[HX_FLOAT32_INDEX][HX_MINLOC](&least, three, 3, 1);
        table->kernel[HX_FLOAT32_INDEX][HX_MAXLOC](&most, three, 3, 1);
        assert_true(isnan(least.value) && least.index == 5 && isnan(most.value) && most.index == 5);
    }
}

static void test_scale(void **state)
{
    (void)state;
    static const int divisors[] = {1, 2, 3, 7, 1000, 100003};
    for (int dtype = HX_FLOAT16; dtype <= HX_COMPLEX128; dtype++) {
        int is_complex = dtype >= HX_COMPLEX64;
        size_t part = hx_dtype_bytes((hx_dtype_t)dtype) / (is_complex ? 2 : 1), count = 333;
        for (size_t d = 0; d < sizeof(divisors) / sizeof(divisors[0]); d++) {
            fill((hx_dtype_t)dtype, data[0], count);
            for (size_t at = 0; at < count * hx_dtype_bytes((hx_dtype_t)dtype); at += part) {
                double value = real_load((hx_dtype_t)dtype, data[0] + at);
                value = part < 8 ? (double)((float)value / (float)divisors[d]) : value / divisors[d];
                real_store((hx_dtype_t)dtype, expected + at, value);
            }
            for (int isa = 0; hx_reduce_table_at(isa); isa++) {
                memcpy(data[1], data[0], sizeof(data[0]));
                hx_reduce_table_at(isa)->scale[dtype](data[1], count, divisors[d]);
                assert_memory_equal(data[1], expected, count * hx_dtype_bytes((hx_dtype_t)dtype));
            }
            hx_scale_inverse(data[0], count, (hx_dtype_t)dtype, divisors[d]);
            assert_memory_equal(data[0], expected, count * hx_dtype_bytes((hx_dtype_t)dtype));
        }
    }
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) /* its calls come last in a kernel, and use what they like */
#define HAVE_UPPER
/* Are upper halves of vector registers in use (XGETBV with ECX = 1: bits 2 and 6)? The CPU must be able to tell. */
static int upper_used(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & (1u << 2 | 1u << 6)) != 0;
}

static void test_upper_unused(void **state)
{
    (void)state;
    uint32_t a, b, c, d;
    const void *src[2] = {data[0], data[1]};

    if (!hx_reduce_table_at(1) || !__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a & 1u << 2))
        skip();
    for (int isa = 0; hx_reduce_table_at(isa + 1); isa++) {
        const struct hx_reduce_table *table = hx_reduce_table_at(isa);
        for (int dtype = 0; dtype < HX_DTYPE_COUNT; dtype++) {
            for (size_t count = 0; count <= 70; count++) {
                __asm__ volatile("vzeroupper");
                assert_false(upper_used());
                for (int op = 0; op < HX_OP_COUNT; op++) {
                    if (table->kernel[dtype][op])
                        table->kernel[dtype][op](data[2], src, 2, count);
                    if (upper_used())
                        fail_msg("%s kernel of %s and %s, %zu elements", table->isa, hx_dtype_name((hx_dtype_t)dtype),
                                 hx_op_name((hx_op_t)op), count);
                }
                if (table->scale[dtype])
                    table->scale[dtype](data[2], count, 3);
                assert_false(upper_used());
            }
        }
    }
}
#endif

static void test_defined(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HX_DTYPE_COUNT; dtype++) {
        for (int op = 0; op < HX_OP_COUNT; op++) {
            int defined = (hx_dtype_rows[dtype].class & hx_op_rows[op].classes) != 0;
            const struct hx_reduce_table *table;
            for (int isa = 0; (table = hx_reduce_table_at(isa)); isa++)
                assert_int_equal(table->kernel[dtype][op] != NULL, defined);
            table = hx_reduce_table_at(0);
            assert_ptr_equal(hx_reduce_kernel((hx_dtype_t)dtype, (hx_op_t)op), table->kernel[dtype][op]);
        }
        assert_int_equal(hx_reduce_table_at(0)->scale[dtype] != NULL, is_float((hx_dtype_t)dtype));
    }
    assert_null(hx_reduce_kernel((hx_dtype_t)HX_DTYPE_COUNT, HX_SUM));
    assert_null(hx_reduce_kernel(HX_INT8, (hx_op_t)HX_OP_COUNT));
    assert_null(hx_reduce_kernel((hx_dtype_t)-1, (hx_op_t)-1));
    assert_null(hx_reduce_table_at(-1));
    assert_string_equal(hx_reduce_isa(), hx_reduce_table_at(0)->isa);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < HX_DTYPE_COUNT; i++) {
        assert_string_equal(hx_dtype_name((hx_dtype_t)i), hx_dtype_rows[i].name);
        assert_int_equal(hx_dtype_is_exact((hx_dtype_t)i), !is_float((hx_dtype_t)i));
    }
    assert_string_equal(hx_dtype_name(HX_INT64_INDEX), "int64_index");
    assert_string_equal(hx_op_name(HX_MAXLOC), "maxloc");
    assert_null(hx_dtype_name((hx_dtype_t)HX_DTYPE_COUNT));
    assert_null(hx_op_name((hx_op_t)-1));
    assert_int_equal(hx_dtype_bytes((hx_dtype_t)-1), 0);
    assert_int_equal(hx_dtype_bytes(HX_COMPLEX128), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),      cmocka_unit_test(test_defined), cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_every_half), cmocka_unit_test(test_scale),   cmocka_unit_test(test_all_kernels),
#ifdef HAVE_UPPER
        cmocka_unit_test(test_upper_unused),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
