/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inputs and their reference results. Element i of rank r in call c is one of 32 values, chosen by a hash of (r, i, c).
 * The values are small integers, chosen so that the reduction over all ranks is exact in every type and order: sums
 * stay below what the type counts exactly, products are +-1. So each rank computes the whole reference in int64, with
 * no code of the library under test, and compares for equality; only an average is compared within one rounding.
 */
#include "tools/common/bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 32

static struct {
    hx_dtype_t dtype;
    size_t element_bytes;
    hx_op_t op;
    int nranks, contributors; /* ranks from contributors on hold zeros in a sum, which would not be exact else */
    int64_t value[VALUES];
    _Alignas(16) unsigned char encoded[VALUES][16], zero[VALUES][16];
} data;

static int class_is(enum hx_class classes)
{
    return (hx_dtype_rows[data.dtype].class & classes) != 0;
}

/* The number of parts: a pair and a complex number have two. */
static int parts(void)
{
    return class_is(HX_CLASS_COMPLEX | HX_CLASS_PAIR) ? 2 : 1;
}

/* A float of 16 bits, with so many of them for the mantissa. Small integers only: no rounding, no overflow. */
static uint16_t half_bits(float value, int mantissa_bits)
{
    int exponent, bias = (1 << (14 - mantissa_bits)) - 1;
    float fraction = frexpf(fabsf(value), &exponent);

    if (value == 0)
        return 0;
    exponent = ((exponent - 2 + bias) << mantissa_bits) + (int)ldexpf(fraction, mantissa_bits + 1);
    return (uint16_t)((value < 0) << 15 | exponent);
}

static double half_value(uint16_t bits, int mantissa_bits)
{
    int top = (1 << (15 - mantissa_bits)) - 1, exponent = bits >> mantissa_bits & top, one = 1 << mantissa_bits;
    int mantissa = bits & (one - 1);
    double value = exponent == top ? (mantissa ? NAN : INFINITY)
                                   : ldexp(exponent ? mantissa + one : mantissa, (exponent ? exponent : 1) - top / 2 - mantissa_bits);
    return bits & 0x8000 ? -value : value;
}

/* With a sign bit, or without. */
static double integer_value(uint64_t bits, int digits)
{
    return digits % 8 ? (double)((int64_t)(bits << (63 - digits)) >> (63 - digits)) : (double)bits;
}

/* One number; of a complex type one part (an input's imaginary part is zero for products, else the mirrored value). */
static void encode(int64_t v, void *at)
{
    switch (data.dtype) {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) \
    case HX_##ID: { \
        part x = HX_CLASS_##class == HX_CLASS_HALF ? (part)half_bits((float)v, digits - 1) : (part)v; \
        memcpy(at, &x, sizeof(x)); \
        break; \
    }
#include "runtime/base/dtype.def"
    case HX_DTYPE_MAX: break;
    }
}

static double decode(const void *at)
{
    switch (data.dtype) {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) \
    case HX_##ID: { \
        part x; \
        memcpy(&x, at, sizeof(x)); \
        return HX_CLASS_##class == HX_CLASS_HALF ? half_value((uint16_t)x, digits - 1) \
               : HX_CLASS_##class == HX_CLASS_INTEGER ? integer_value((uint64_t)x, digits) : (double)x; \
    }
#include "runtime/base/dtype.def"
    case HX_DTYPE_MAX: break;
    }
    return NAN;
}

static double index_decode(const void *at)
{
    int32_t index;

    memcpy(&index, at, sizeof(index));
    return index;
}

/* The index of a pair; a few pairs each have the same value. */
static int32_t index_of(unsigned k)
{
    return (int32_t)(k * 7 % VALUES);
}

static int64_t value_of(int k, int64_t most)
{
    switch (data.op) {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) case HX_##ID: return input;
#include "runtime/base/dtype.def"
    case HX_OP_MAX: break;
    }
    return 0;
}

void bench_data_open(hx_dtype_t dtype, hx_op_t op, int nranks)
{
    memset(&data, 0, sizeof(data));
    data.dtype = dtype;
    data.op = op;
    data.nranks = nranks;
    data.element_bytes = hx_dtype_rows[dtype].bytes;
    int digits = hx_dtype_rows[dtype].digits < 20 ? hx_dtype_rows[dtype].digits : 20; /* more is not needed */
    int64_t exact = (1 << digits) - 1, most = exact / nranks;
    int sums = op == HX_SUM || op == HX_AVG;

    data.contributors = sums && nranks > exact ? (int)exact : nranks;
    most = most < 1 ? 1 : most > VALUES - 1 ? VALUES - 1 : most;
    for (unsigned k = 0; k < VALUES; k++) {
        const int32_t index = index_of(k);
        unsigned char *second = data.encoded[k] + data.element_bytes / 2;
        encode(data.value[k] = value_of((int)k, most), data.encoded[k]);
        if (class_is(HX_CLASS_PAIR))
            memcpy(second, &index, sizeof(index));
        else if (class_is(HX_CLASS_COMPLEX) && op != HX_PROD)
            encode(value_of(VALUES - 1 - (int)k, most), second);
    }
}

static uint32_t key_of(int rank, uint32_t call)
{
    return (uint32_t)rank * 0xC2B2AE35u + call * 0x85EBCA6Bu;
}

static unsigned pick(uint32_t key, size_t i)
{
    return ((uint32_t)i * 0x9E3779B1u + key) >> 27;
}

#define FILL(bytes) \
    for (size_t i = 0; i < count; i++) \
        memcpy((char *)buf + i * (bytes), table[pick(key, i)], bytes)

/* The encoded values of a rank's inputs. */
static const unsigned char (*table_of(int rank))[16]
{
    return rank < data.contributors ? data.encoded : data.zero;
}

void bench_data_fill(void *buf, size_t count, int rank, uint32_t call)
{
    const unsigned char(*table)[16] = table_of(rank);
    uint32_t key = key_of(rank, call);
    switch (data.element_bytes) {
    case 1: FILL(1); break;
    case 2: FILL(2); break;
    case 4: FILL(4); break;
    case 8: FILL(8); break;
    default: FILL(16); break;
    }
}

uint64_t bench_data_check_input(const void *in, size_t count, int rank, uint32_t call, char text[BENCH_TEXT_BYTES])
{
    const unsigned char(*table)[16] = table_of(rank);
    const uint32_t key = key_of(rank, call);
    uint64_t wrong = 0;

    for (size_t i = 0; i < count; i++)
        if (memcmp((const char *)in + i * data.element_bytes, table[pick(key, i)], data.element_bytes) && wrong++ == 0)
            snprintf(text, BENCH_TEXT_BYTES, "rank %d: the calls changed element %zu of %zu of the input", rank, i, count);
    return wrong;
}

static int64_t fold(int64_t a, int64_t b)
{
    switch (data.op) {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) case HX_##ID: return fold;
#include "runtime/base/dtype.def"
    case HX_OP_MAX: break;
    }
    return a;
}

/* part 1 is the imaginary one, or the index. */
static int64_t input(int rank, size_t i, uint32_t call, int part)
{
    unsigned k = pick(key_of(rank, call), i);
    if (part && class_is(HX_CLASS_PAIR))
        return index_of(k);
    if (rank >= data.contributors || (part && data.op == HX_PROD))
        return 0;
    return data.value[part ? VALUES - 1 - k : k];
}

/* The rank among the first n whose pair wins. */
static int winner(size_t i, uint32_t call, int n)
{
    int best = 0;
    for (int r = 1; r < n; r++) {
        int64_t value = input(r, i, call, 0), other = input(best, i, call, 0);
        if (value == other ? input(r, i, call, 1) < input(best, i, call, 1) : fold(other, value) == value)
            best = r;
    }
    return best;
}

/* The result of the first n ranks. A scan leaves one rank's contribution as it is. */
static double reduced(size_t i, uint32_t call, int part, int n, int scans)
{
    if (part && data.op == HX_PROD)
        return 0;
    if (class_is(HX_CLASS_PAIR))
        return (double)input(winner(i, call, n), i, call, part);
    if (scans && n == 1)
        return (double)input(0, i, call, part);
    int64_t all = hx_op_rows[data.op].identity;
    for (int r = 0; r < n; r++)
        all = fold(all, input(r, i, call, part));
    return data.op == HX_AVG ? (double)all / n : (double)all;
}

/* As the type would hold it: -1 in an unsigned type is its greatest value. */
static double representable(double value)
{
    unsigned char bytes[16] = {0};
    encode((int64_t)value, bytes);
    return decode(bytes);
}

static int agrees(double got, double expected, int averaged)
{
    if (!averaged)
        return got == representable(expected);
    double relative = class_is(HX_CLASS_HALF) ? ldexp(1, 1 - hx_dtype_rows[data.dtype].digits) : 0x1p-22;
    return fabs(got - expected) <= relative * fabs(expected);
}

/* The rank that contributed element i of a result that is not reduced; -1: the result is reduced. *element becomes that of the
 * rank's input. */
static int source_of(enum hx_function collective, size_t i, size_t count, int root, size_t *element)
{
    if (bench_joins_counts(collective)) { /* the last rank whose block starts no later */
        int r = data.nranks - 1;
        while (bench_block_start(count, r, data.nranks) > i)
            r--;
        *element = i - bench_block_start(count, r, data.nranks);
        return r;
    }
    if (bench_gathers(collective) || hx_coll_has_pairs(hx_function_coll(collective))) {
        *element -= i - i % count;
        return (int)(i / count);
    }
    return hx_coll_gives(hx_function_coll(collective)) == HX_HOLDS_ROOT ? root : -1;
}

uint64_t bench_data_check(enum hx_function collective, const void *out, size_t count, int rank, int root,
                          uint32_t call, char text[BENCH_TEXT_BYTES])
{
    const enum hx_coll coll = hx_function_coll(collective);
    const int contributors = hx_coll_contributors(coll, data.nranks, rank);
    const int pairs = hx_coll_has_pairs(coll), scatters = bench_scatters(collective), counts = bench_has_counts(collective);
    size_t n = pairs || (bench_gathers(collective) && !counts) ? count * (size_t)data.nranks : count;
    size_t first = pairs || (scatters && !counts) ? count * (size_t)rank : 0;
    uint64_t wrong = 0;

    if (scatters && counts) {
        first = bench_block_start(count, rank, data.nranks);
        n = bench_block_start(count, rank + 1, data.nranks) - first;
    }
    for (size_t i = 0; i < n; i++) {
        for (int part = 0; part < parts(); part++) {
            const char *at = (const char *)out + i * data.element_bytes + (size_t)part * data.element_bytes / 2;
            double got = part && class_is(HX_CLASS_PAIR) ? index_decode(at) : decode(at);
            size_t element = first + i;
            int source = source_of(collective, i, count, root, &element);
            double expected = source >= 0 ? (double)input(source, element, call, part)
                                          : reduced(first + i, call, part, contributors, hx_coll_is_scan(coll));
            if (agrees(got, expected, source < 0 && data.op == HX_AVG))
                continue;
            if (wrong++ == 0)
                snprintf(text, BENCH_TEXT_BYTES, "rank %d, element %zu of %zu%s: got %.17g, expected %.17g", rank, i, n,
                         !part ? "" : class_is(HX_CLASS_PAIR) ? " (index)" : " (imaginary part)", got, expected);
        }
    }
    return wrong;
}
