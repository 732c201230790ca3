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
    hx_op_t op;
    int nranks, contributors; /* ranks from contributors on hold zeros in a sum, which would not be exact else */
    size_t element_bytes;
    int64_t value[VALUES];
    _Alignas(16) unsigned char encoded[VALUES][16], zero[VALUES][16];
} data;

static const struct {
    size_t bytes;
    int64_t exact; /* integers up to this are exact in the type; here at most 2^20 */
} types[] = {
    [HX_INT8] = {1, 127},       [HX_INT16] = {2, 32767},   [HX_INT32] = {4, 1 << 20},     [HX_INT64] = {8, 1 << 20},
    [HX_UINT8] = {1, 255},      [HX_UINT16] = {2, 65535},  [HX_UINT32] = {4, 1 << 20},    [HX_UINT64] = {8, 1 << 20},
    [HX_FLOAT16] = {2, 2048},   [HX_BFLOAT16] = {2, 256},  [HX_FLOAT32] = {4, 1 << 20},   [HX_FLOAT64] = {8, 1 << 20},
    [HX_BYTE] = {1, 255},       [HX_COMPLEX64] = {8, 1 << 20}, [HX_COMPLEX128] = {16, 1 << 20},
    [HX_FLOAT32_INDEX] = {8, 1 << 20}, [HX_FLOAT64_INDEX] = {16, 1 << 20}, [HX_INT32_INDEX] = {8, 1 << 20}, [HX_INT64_INDEX] = {16, 1 << 20}};

static int is_complex(hx_dtype_t t)
{
    return t == HX_COMPLEX64 || t == HX_COMPLEX128;
}

static int is_pair(hx_dtype_t t)
{
    return t >= HX_FLOAT32_INDEX && t <= HX_INT64_INDEX;
}

static int is_float(hx_dtype_t t)
{
    return t >= HX_FLOAT16 && t <= HX_FLOAT64;
}

size_t bench_dtype_bytes(hx_dtype_t dtype)
{
    return types[dtype].bytes;
}

int bench_op_defined(hx_dtype_t dtype, hx_op_t op)
{
    if (is_pair(dtype) || op >= HX_MINLOC)
        return is_pair(dtype) && op >= HX_MINLOC;
    if (op >= HX_BAND)
        return dtype == HX_BYTE ? op <= HX_BXOR : !is_float(dtype) && !is_complex(dtype);
    if (op == HX_AVG)
        return is_float(dtype) || is_complex(dtype);
    if (op == HX_MIN || op == HX_MAX)
        return dtype != HX_BYTE && !is_complex(dtype);
    return dtype != HX_BYTE;
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

#define PUT(type) do { type x = (type)v; memcpy(at, &x, sizeof(x)); } while (0)
#define GET(type) do { type x; memcpy(&x, at, sizeof(x)); return (double)x; } while (0)

/* One value; of a pair the value, of a complex type one part (an input's imaginary part is zero for products, else the mirrored value). */
static void encode(int64_t v, void *at)
{
    switch (data.dtype) {
    case HX_INT8: PUT(int8_t); break;
    case HX_INT16: PUT(int16_t); break;
    case HX_INT32: case HX_INT32_INDEX: PUT(int32_t); break;
    case HX_INT64: case HX_INT64_INDEX: PUT(int64_t); break;
    case HX_UINT8: case HX_BYTE: PUT(uint8_t); break;
    case HX_UINT16: PUT(uint16_t); break;
    case HX_UINT32: PUT(uint32_t); break;
    case HX_UINT64: PUT(uint64_t); break;
    case HX_FLOAT16: case HX_BFLOAT16: {
        uint16_t x = half_bits((float)v, data.dtype);
        memcpy(at, &x, 2);
        break;
    }
    case HX_FLOAT32: case HX_COMPLEX64: case HX_FLOAT32_INDEX: PUT(float); break;
    case HX_FLOAT64: case HX_COMPLEX128: case HX_FLOAT64_INDEX: PUT(double); break;
    case HX_DTYPE_MAX: break;
    }
}

static double decode(const void *at)
{
    switch (data.dtype) {
    case HX_INT8: GET(int8_t);
    case HX_INT16: GET(int16_t);
    case HX_INT32: case HX_INT32_INDEX: GET(int32_t);
    case HX_INT64: case HX_INT64_INDEX: GET(int64_t);
    case HX_UINT8: case HX_BYTE: GET(uint8_t);
    case HX_UINT16: GET(uint16_t);
    case HX_UINT32: GET(uint32_t);
    case HX_UINT64: GET(uint64_t);
    case HX_FLOAT16: case HX_BFLOAT16: {
        uint16_t x;
        memcpy(&x, at, 2);
        return half_value(x, data.dtype);
    }
    case HX_FLOAT32: case HX_COMPLEX64: case HX_FLOAT32_INDEX: GET(float);
    case HX_FLOAT64: case HX_COMPLEX128: case HX_FLOAT64_INDEX: GET(double);
    case HX_DTYPE_MAX: break;
    }
    return NAN;
}

static double index_decode(const void *at)
{
    GET(int32_t);
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
    memset(&data, 0, sizeof(data));
    data.dtype = dtype;
    data.op = op;
    data.nranks = nranks;
    data.element_bytes = types[dtype].bytes;
    int64_t exact = types[dtype].exact, most = exact / nranks;
    int sums = op == HX_SUM || op == HX_AVG;
    most = most < 1 ? 1 : most > VALUES - 1 ? VALUES - 1 : most;
    data.contributors = sums && nranks > exact ? (int)exact : nranks;
    for (int k = 0; k < VALUES; k++) {
        data.value[k] = value_of(k, most);
        encode(data.value[k], data.encoded[k]);
    }
    for (unsigned k = 0; k < VALUES && is_pair(dtype); k++) {
        int32_t index = index_of(k);
        memcpy(data.encoded[k] + data.element_bytes / 2, &index, sizeof(index));
    }
    if (is_complex(dtype) && op != HX_PROD)
        for (int k = 0; k < VALUES; k++)
            encode(data.value[VALUES - 1 - k], data.encoded[k] + data.element_bytes / 2);
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
    switch (data.element_bytes) {
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
    if (part && is_pair(data.dtype))
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
    if (is_pair(data.dtype))
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

/* Who contributed element i of a result that is not reduced; -1: it is. */
static int source_of(enum hx_function collective, size_t i, size_t count, int root)
{
    if (bench_joins_counts(collective)) { /* the last rank whose block starts no later */
        int r = data.nranks - 1;
        while (bench_block_start(count, r, data.nranks) > i)
            r--;
        return r;
    }
    if (bench_gathers(collective) || bench_has_pairs(collective))
        return (int)(i / count);
    return hx_coll_gives(hx_function_coll(collective)) == HX_HOLDS_ROOT ? root : -1;
}

uint64_t bench_data_check(enum hx_function collective, const void *out, size_t count, int rank, int root,
                          uint32_t call, char text[BENCH_TEXT_BYTES])
{
    int gathers = bench_gathers(collective) && !bench_has_counts(collective), parts = is_complex(data.dtype) || is_pair(data.dtype) ? 2 : 1;
    int all_to_all = bench_has_pairs(collective);
    size_t n = gathers || all_to_all ? count * (size_t)data.nranks : count;
    int scatters = bench_scatters(collective) && !bench_has_counts(collective);
    size_t first = scatters || all_to_all ? count * (size_t)rank : 0;
    if (bench_scatters(collective) && bench_has_counts(collective)) {
        first = bench_block_start(count, rank, data.nranks);
        n = bench_block_start(count, rank + 1, data.nranks) - first;
    }
    int contributors = hx_coll_contributors(hx_function_coll(collective), data.nranks, rank);
    uint64_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        for (int part = 0; part < parts; part++) {
            const char *at = (const char *)out + i * data.element_bytes + (size_t)part * data.element_bytes / 2;
            double got = part && is_pair(data.dtype) ? index_decode(at) : decode(at);
            int source = source_of(collective, i, count, root);
            size_t element = (gathers ? 0 : first) + (gathers || all_to_all ? i % count : i); /* of its source's input */
            if (bench_joins_counts(collective))
                element = i - bench_block_start(count, source, data.nranks);
            double expected = source >= 0 ? (double)input(source, element, call, part)
                                          : reduced(first + i, call, part, contributors, bench_is_scan(collective));
            if (agrees(got, expected, source < 0 && data.op == HX_AVG))
                continue;
            if (wrong++ == 0)
                snprintf(text, BENCH_TEXT_BYTES, "rank %d, element %zu of %zu%s: got %.17g, expected %.17g", rank, i, n,
                         !part ? "" : is_pair(data.dtype) ? " (index)" : " (imaginary part)", got, expected);
        }
    }
    return wrong;
}
