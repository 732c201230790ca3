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

enum { SIGNED, UNSIGNED, FLOAT, HALF };                  /* numbers, */
enum { ONE, COMPLEX, PAIR };                             /* of which a type has one, two, or one and an index */

#define SUMS (1 << HX_SUM | 1 << HX_PROD)
#define ORDERS (1 << HX_MIN | 1 << HX_MAX)
#define MEANS (1 << HX_AVG)
#define BITS (1 << HX_BAND | 1 << HX_BOR | 1 << HX_BXOR)
#define LOGIC (1 << HX_LAND | 1 << HX_LOR | 1 << HX_LXOR)
#define PLACES (1 << HX_MINLOC | 1 << HX_MAXLOC)

struct type {
    size_t bytes, number_bytes;
    int64_t exact; /* integers up to this are exact in the type; here at most 2^20 */
    int number, form, ops;
};

#define WHOLE(bytes, exact, number) {bytes, bytes, exact, number, ONE, SUMS | ORDERS | BITS | LOGIC}
#define REAL(bytes, exact, number) {bytes, bytes, exact, number, ONE, SUMS | ORDERS | MEANS}
#define TWO(bytes) {2 * (bytes), bytes, 1 << 20, FLOAT, COMPLEX, SUMS | MEANS}
#define INDEXED(bytes, number) {2 * (bytes), bytes, 1 << 20, number, PAIR, PLACES}

static const struct type types[] = {
    [HX_INT8] = WHOLE(1, 127, SIGNED),         [HX_INT16] = WHOLE(2, 32767, SIGNED),
    [HX_INT32] = WHOLE(4, 1 << 20, SIGNED),    [HX_INT64] = WHOLE(8, 1 << 20, SIGNED),
    [HX_UINT8] = WHOLE(1, 255, UNSIGNED),      [HX_UINT16] = WHOLE(2, 65535, UNSIGNED),
    [HX_UINT32] = WHOLE(4, 1 << 20, UNSIGNED), [HX_UINT64] = WHOLE(8, 1 << 20, UNSIGNED),
    [HX_FLOAT16] = REAL(2, 2048, HALF),        [HX_BFLOAT16] = REAL(2, 256, HALF),
    [HX_FLOAT32] = REAL(4, 1 << 20, FLOAT),    [HX_FLOAT64] = REAL(8, 1 << 20, FLOAT),
    [HX_COMPLEX64] = TWO(4),                   [HX_COMPLEX128] = TWO(8),
    [HX_BYTE] = {1, 1, 255, UNSIGNED, ONE, BITS},
    [HX_FLOAT32_INDEX] = INDEXED(4, FLOAT),    [HX_FLOAT64_INDEX] = INDEXED(8, FLOAT),
    [HX_INT32_INDEX] = INDEXED(4, SIGNED),     [HX_INT64_INDEX] = INDEXED(8, SIGNED)};

static struct {
    hx_dtype_t dtype;
    struct type type;
    hx_op_t op;
    int nranks, contributors; /* ranks from contributors on hold zeros in a sum, which would not be exact else */
    int64_t value[VALUES];
    _Alignas(16) unsigned char encoded[VALUES][16], zero[VALUES][16];
} data;

size_t bench_dtype_bytes(hx_dtype_t dtype)
{
    return types[dtype].bytes;
}

int bench_op_defined(hx_dtype_t dtype, hx_op_t op)
{
    return types[dtype].ops >> op & 1;
}

/* Small integers only: no rounding, no overflow. */
static uint16_t half_bits(float value, hx_dtype_t type)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (type == HX_BFLOAT16)
        return (uint16_t)(bits >> 16);
    if (value == 0)
        return 0;
    return (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023));
}

static double half_value(uint16_t bits, hx_dtype_t type)
{
    if (type == HX_BFLOAT16) {
        uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, 4);
        return value;
    }
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                                  : ldexp(exponent ? mantissa + 1024 : mantissa, (exponent ? exponent : 1) - 25);
    return bits & 0x8000 ? -value : value;
}

union number {
    uint64_t whole; /* little-endian: its first bytes are those of a shorter one */
    float single;
    double real;
    uint16_t half;
};

/* One number; of a complex type one part (an input's imaginary part is zero for products, else the mirrored value). */
static void encode(int64_t v, void *at)
{
    union number x = {.whole = (uint64_t)v};

    if (data.type.number == HALF)
        x.half = half_bits((float)v, data.dtype);
    else if (data.type.number == FLOAT && data.type.number_bytes == sizeof(float))
        x.single = (float)v;
    else if (data.type.number == FLOAT)
        x.real = (double)v;
    memcpy(at, &x, data.type.number_bytes);
}

static double decode(const void *at)
{
    union number x = {.whole = 0};
    const unsigned unused = 64 - 8 * (unsigned)data.type.number_bytes;

    memcpy(&x, at, data.type.number_bytes);
    switch (data.type.number) {
    case SIGNED: return (double)((int64_t)(x.whole << unused) >> unused);
    case UNSIGNED: return (double)x.whole;
    case HALF: return half_value(x.half, data.dtype);
    default: return data.type.number_bytes == sizeof(float) ? (double)x.single : x.real;
    }
}

static double index_decode(const void *at)
{
    int32_t index;

    memcpy(&index, at, sizeof(index));
    return index;
}

/* Of a pair the index; a few pairs each have the same value. */
static int32_t index_of(unsigned k)
{
    return (int32_t)(k * 7 % VALUES);
}

static int64_t value_of(int k, int64_t most)
{
    switch (data.op) {
    case HX_MINLOC: case HX_MAXLOC: return k / 8;
    case HX_PROD: return k & 1 ? 1 : -1;
    case HX_MIN: case HX_MAX: return k + 1;
    case HX_LAND: case HX_LOR: case HX_LXOR: return k < 28 ? k : 0;
    case HX_BAND: case HX_BOR: case HX_BXOR: return k * 3 + 1;
    default: return k % (most + 1);
    }
}

void bench_data_open(hx_dtype_t dtype, hx_op_t op, int nranks)
{
    int64_t exact = types[dtype].exact, most = exact / nranks;
    int sums = op == HX_SUM || op == HX_AVG;

    memset(&data, 0, sizeof(data));
    data.dtype = dtype;
    data.type = types[dtype];
    data.op = op;
    data.nranks = nranks;
    data.contributors = sums && nranks > exact ? (int)exact : nranks;
    most = most < 1 ? 1 : most > VALUES - 1 ? VALUES - 1 : most;
    for (unsigned k = 0; k < VALUES; k++) {
        const int32_t index = index_of(k);
        unsigned char *second = data.encoded[k] + data.type.bytes / 2;
        encode(data.value[k] = value_of((int)k, most), data.encoded[k]);
        if (data.type.form == PAIR)
            memcpy(second, &index, sizeof(index));
        else if (data.type.form == COMPLEX && op != HX_PROD)
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

void bench_data_fill(void *buf, size_t count, int rank, uint32_t call)
{
    const unsigned char(*table)[16] = rank < data.contributors ? data.encoded : data.zero;
    uint32_t key = key_of(rank, call);
    switch (data.type.bytes) {
    case 1: FILL(1); break;
    case 2: FILL(2); break;
    case 4: FILL(4); break;
    case 8: FILL(8); break;
    default: FILL(16); break;
    }
}

static int64_t fold(int64_t a, int64_t b)
{
    switch (data.op) {
    case HX_PROD: return a * b;
    case HX_MIN: return a < b ? a : b;
    case HX_MAX: return a > b ? a : b;
    case HX_BAND: return a & b;
    case HX_BOR: return a | b;
    case HX_BXOR: return a ^ b;
    case HX_LAND: return a && b;
    case HX_LOR: return a || b;
    case HX_LXOR: return !a != !b;
    default: return a + b;
    }
}

/* part 1 is the imaginary one, or the index. */
static int64_t input(int rank, size_t i, uint32_t call, int part)
{
    unsigned k = pick(key_of(rank, call), i);
    if (part && data.type.form == PAIR)
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
        if (value == other ? input(r, i, call, 1) < input(best, i, call, 1) : (value < other) == (data.op == HX_MINLOC))
            best = r;
    }
    return best;
}

/* Of the first n ranks. A scan leaves one rank's contribution as it is. */
static double reduced(size_t i, uint32_t call, int part, int n, int scans)
{
    if (part && data.op == HX_PROD)
        return 0;
    if (data.type.form == PAIR)
        return (double)input(winner(i, call, n), i, call, part);
    int64_t all = input(0, i, call, part);
    int logical = data.op == HX_LAND || data.op == HX_LOR || data.op == HX_LXOR;
    all = logical && !(scans && n == 1) ? all != 0 : all;
    for (int r = 1; r < n; r++)
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
    double relative = data.dtype == HX_BFLOAT16 ? 0x1p-7 : data.dtype == HX_FLOAT16 ? 0x1p-10 : 0x1p-22;
    return fabs(got - expected) <= relative * fabs(expected);
}

/* Who contributed element i of a result that is not reduced; -1: it is. *element becomes that of the contributor's input. */
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
    const int parts = data.type.form != ONE ? 2 : 1;
    const int pairs = hx_coll_has_pairs(coll), scatters = bench_scatters(collective), counts = bench_has_counts(collective);
    size_t n = pairs || (bench_gathers(collective) && !counts) ? count * (size_t)data.nranks : count;
    size_t first = pairs || (scatters && !counts) ? count * (size_t)rank : 0;
    uint64_t wrong = 0;

    if (scatters && counts) {
        first = bench_block_start(count, rank, data.nranks);
        n = bench_block_start(count, rank + 1, data.nranks) - first;
    }
    for (size_t i = 0; i < n; i++) {
        for (int part = 0; part < parts; part++) {
            const char *at = (const char *)out + i * data.type.bytes + (size_t)part * data.type.bytes / 2;
            double got = part && data.type.form == PAIR ? index_decode(at) : decode(at);
            size_t element = first + i;
            int source = source_of(collective, i, count, root, &element);
            double expected = source >= 0 ? (double)input(source, element, call, part)
                                          : reduced(first + i, call, part, contributors, hx_coll_is_scan(coll));
            if (agrees(got, expected, source < 0 && data.op == HX_AVG))
                continue;
            if (wrong++ == 0)
                snprintf(text, BENCH_TEXT_BYTES, "rank %d, element %zu of %zu%s: got %.17g, expected %.17g", rank, i, n,
                         !part ? "" : data.type.form == PAIR ? " (index)" : " (imaginary part)", got, expected);
        }
    }
    return wrong;
}
