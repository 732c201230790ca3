/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of wire formats (wire.h). Part of reduce_kernels.h, so compiled once per instruction set, for vectors of WIDE bytes. A block
 * passes three loops: find its largest finite number, bring all numbers into the range of codes by a power of two (as float32, in `z`), make
 * codes. Decoding is the same way back. A block that is not full passes through a full one on the stack.
 *
 * The same bits on every instruction set: factors are powers of two but for one of LEVELS, rounding is integer arithmetic or that of one
 * addition. A power of two may not fit a float32, so that it is two factors.
 */
#pragma once

#include "runtime/base/wire.h"
#include <math.h>
#include <string.h>

#define WIRE_LANES (WIDE / 4)

typedef int32_t wire_int __attribute__((vector_size(WIDE)));
typedef int64_t wire_long __attribute__((vector_size(WIDE)));
typedef float wire_float __attribute__((vector_size(WIDE)));
typedef double wire_double __attribute__((vector_size(WIDE)));
typedef float wire_float_half __attribute__((vector_size(WIDE / 2)));
typedef uint16_t wire_code16 __attribute__((vector_size(WIDE / 2)));
typedef uint8_t wire_code8 __attribute__((vector_size(WIDE / 4)));

struct wire_factors {
    float a, b;
};
struct wire_double_factors {
    double a, b;
};

#define WIRE_INFINITY 0x7f800000
#define WIRE_NAN 0x7fc00000

/* ---- the block's largest finite number */

#define WIRE_PEAK(type, vector, integer, infinity)                                                 \
    static double wire_peak_##type(const type *x, int n)                                           \
    {                                                                                              \
        const integer magnitude = ~((integer){0} + ((__typeof__(magnitude[0]))1 << (8 * sizeof(type) - 1))); \
        integer most = {0};                                                                        \
        type value = 0, largest = 0;                                                               \
        for (int i = 0; i < n; i += (int)(WIDE / sizeof(type))) {                                  \
            integer bits;                                                                          \
            memcpy(&bits, x + i, WIDE);                                                            \
            bits &= magnitude;                                                                     \
            bits &= (integer)(bits < infinity);                                                    \
            most = SELECT(bits > most, bits, most);                                                \
        }                                                                                          \
        for (size_t i = 0; i < WIDE / sizeof(type); i++) {                                         \
            __typeof__(most[0]) lane = most[i];                                                    \
            memcpy(&value, &lane, sizeof(value));                                                  \
            largest = value > largest ? value : largest;                                           \
        }                                                                                          \
        return (double)largest;                                                                    \
    }
WIRE_PEAK(float, wire_float, wire_int, 0x7f800000)
WIRE_PEAK(double, wire_double, wire_long, 0x7ff0000000000000)

/* The head of a block: 2^exponent <= peak < 2^(exponent + 1). */
static struct wire_float_peak {
    int exponent;
    double mantissa; /* 1 to 2 */
} wire_split(double peak)
{
    int exponent = 0;
    double mantissa = 2 * frexp(peak, &exponent);

    if (mantissa == 0)
        return (struct wire_float_peak){0, 1};
    return (struct wire_float_peak){exponent - 1, mantissa};
}

static inline struct wire_factors wire_factors_float(int exponent, double rest)
{
    int half = exponent / 2;
    return (struct wire_factors){(float)ldexp(1, half), (float)ldexp(rest, exponent - half)};
}

static inline struct wire_double_factors wire_factors_double(int exponent, double rest)
{
    int half = exponent / 2;
    return (struct wire_double_factors){ldexp(1, half), ldexp(rest, exponent - half)};
}

/* ---- numbers to the range of codes and back */

static void wire_scale_float(float *z, const float *x, int n, int exponent, double rest)
{
    const struct wire_factors f = wire_factors_float(exponent, rest);

    for (int i = 0; i < n; i += WIRE_LANES) {
        wire_float v;
        memcpy(&v, x + i, WIDE);
        v = v * f.a * f.b;
        memcpy(z + i, &v, WIDE);
    }
}

static void wire_scale_double(float *z, const double *x, int n, int exponent, double rest)
{
    const struct wire_double_factors f = wire_factors_double(exponent, rest);

    for (int i = 0; i < n; i += WIRE_LANES / 2) {
        wire_double v;
        memcpy(&v, x + i, WIDE);
        wire_float_half half = __builtin_convertvector(v * f.a * f.b, wire_float_half);
        memcpy(z + i, &half, WIDE / 2);
    }
}

#define wire_back_float wire_scale_float

static void wire_back_double(double *x, const float *z, int n, int exponent, double rest)
{
    const struct wire_double_factors f = wire_factors_double(exponent, rest);

    for (int i = 0; i < n; i += WIRE_LANES / 2) {
        wire_float_half half;
        memcpy(&half, z + i, WIDE / 2);
        wire_double v = __builtin_convertvector(half, wire_double) * f.a * f.b;
        memcpy(x + i, &v, WIDE);
    }
}

/* ---- codes */

#define WIRE_SIGN(codebits) (1 << ((codebits) - 1))
#define WIRE_SPECIAL(codebits, mantissa) (((1 << ((codebits) - 1 - (mantissa))) - 1) << (mantissa)) /* infinity; beyond it NaN */

/* Floats round to nearest even; what would round up beyond the block's largest exponent gets the largest code. */
#define WIRE_FLOATS(name, codebits, mantissa, top)                                                                  \
    static void wire_pack_##name(unsigned char *codes, const float *z, int n)                                       \
    {                                                                                                               \
        const wire_int zero = {0}, largest = zero + (((top) << (mantissa)) | ((1 << (mantissa)) - 1));              \
        const wire_int inf = zero + WIRE_SPECIAL(codebits, mantissa), nan = inf | (1 << ((mantissa) - 1));          \
        for (int i = 0; i < n; i += WIRE_LANES) {                                                                   \
            wire_int bits, code;                                                                                    \
            memcpy(&bits, z + i, WIDE);                                                                             \
            wire_int sign = bits & (zero + INT32_MIN), size = bits & INT32_MAX, finite = size < WIRE_INFINITY;      \
            code = size & finite;                                                                                   \
            code = (code + ((1 << (22 - (mantissa))) - 1) + ((code >> (23 - (mantissa))) & 1)) >> (23 - (mantissa)); \
            code = SELECT(code > largest, largest, code);                                                           \
            code = SELECT(finite, code, SELECT(size > WIRE_INFINITY, nan, inf));                                    \
            code |= ((sign >> (32 - (codebits))) & WIRE_SIGN(codebits)) & ~(size > WIRE_INFINITY);                  \
            wire_code##codebits packed = __builtin_convertvector(code, wire_code##codebits);                        \
            memcpy(codes + i * (codebits) / 8, &packed, sizeof(packed));                                            \
        }                                                                                                           \
    }                                                                                                               \
    static void wire_unpack_##name(float *z, const unsigned char *codes, int n)                                     \
    {                                                                                                               \
        const wire_int zero = {0}, inf = zero + WIRE_INFINITY, nan = zero + WIRE_NAN;                               \
        for (int i = 0; i < n; i += WIRE_LANES) {                                                                   \
            wire_code##codebits packed;                                                                             \
            memcpy(&packed, codes + i * (codebits) / 8, sizeof(packed));                                            \
            wire_int code = __builtin_convertvector(packed, wire_int), size = code & (WIRE_SIGN(codebits) - 1);     \
            wire_int bits = SELECT(size < WIRE_SPECIAL(codebits, mantissa), size << (23 - (mantissa)),              \
                                   SELECT(size > WIRE_SPECIAL(codebits, mantissa), nan, inf));                      \
            bits |= (code & WIRE_SIGN(codebits)) << (32 - (codebits));                                              \
            memcpy(z + i, &bits, WIDE);                                                                             \
        }                                                                                                           \
    }

/* Integers from -levels to levels; one more is infinity, two more on the negative side is NaN. */
#define WIRE_LEVELS(name, codebits, levels)                                                                         \
    static void wire_pack_##name(unsigned char *codes, const float *z, int n)                                       \
    {                                                                                                               \
        const wire_float to_integer = (wire_float){0} + 0x1.8p23f; /* its last bit is worth 1 */                    \
        const wire_int zero = {0}, most = zero + (levels), inf = zero + ((levels) + 1);                             \
        for (int i = 0; i < n; i += WIRE_LANES) {                                                                   \
            wire_int bits;                                                                                          \
            wire_float v;                                                                                           \
            memcpy(&bits, z + i, WIDE);                                                                             \
            wire_int size = bits & INT32_MAX, finite = size < WIRE_INFINITY, negative = bits < 0;                   \
            v = (wire_float)(bits & finite) + to_integer;                                                           \
            wire_int code = (wire_int)v - (wire_int)to_integer;                                                     \
            code = SELECT(code > most, most, SELECT(code < -most, -most, code));                                    \
            code = SELECT(finite, code, SELECT(size > WIRE_INFINITY, -inf - 1, SELECT(negative, -inf, inf)));       \
            wire_code##codebits packed = __builtin_convertvector(code, wire_code##codebits);                        \
            memcpy(codes + i * (codebits) / 8, &packed, sizeof(packed));                                            \
        }                                                                                                           \
    }                                                                                                               \
    static void wire_unpack_##name(float *z, const unsigned char *codes, int n)                                     \
    {                                                                                                               \
        const wire_int zero = {0}, inf = zero + WIRE_INFINITY, nan = zero + WIRE_NAN;                               \
        for (int i = 0; i < n; i += WIRE_LANES) {                                                                   \
            wire_code##codebits packed;                                                                             \
            memcpy(&packed, codes + i * (codebits) / 8, sizeof(packed));                                            \
            wire_int code = __builtin_convertvector(packed, wire_int) << (32 - (codebits)) >> (32 - (codebits));    \
            wire_int size = SELECT(code < 0, -code, code);                                                          \
            wire_float v = __builtin_convertvector(code, wire_float);                                               \
            wire_int bits = SELECT(size <= (levels), (wire_int)v,                                                   \
                                   SELECT(size > (levels) + 1, nan, inf | (code & (zero + INT32_MIN))));            \
            memcpy(z + i, &bits, WIDE);                                                                             \
        }                                                                                                           \
    }

/* ---- the kernels: over blocks. The last one may not be full */

#define WIRE_KERNELS(name, type, codebits, block, HEAD, UP, UP_REST, DOWN, DOWN_REST)                               \
    static void wire_encode_##name##_##type(void *dst, const void *src, size_t count)                               \
    {                                                                                                               \
        unsigned char *to = dst, codes[(block) * (codebits) / 8];                                                   \
        const type *from = src;                                                                                     \
        type last[block];                                                                                           \
        float z[block];                                                                                             \
        for (size_t n; count; count -= n, from += n) {                                                              \
            const type *x = from;                                                                                   \
            n = count < (block) ? count : (block);                                                                  \
            if (n < (block)) {                                                                                      \
                memset(last, 0, sizeof(last));                                                                      \
                memcpy(last, from, n * sizeof(type));                                                               \
                x = last;                                                                                           \
            }                                                                                                       \
            const struct wire_float_peak peak = wire_split(wire_peak_##type(x, block));                             \
            const struct hx_wire_head head = {(int16_t)peak.exponent, (uint16_t)(HEAD)};                            \
            memcpy(to, &head, sizeof(head));                                                                        \
            to += sizeof(head);                                                                                     \
            wire_scale_##type(z, x, block, UP, UP_REST);                                                            \
            wire_pack_##name(n < (block) ? codes : to, z, block);                                                   \
            if (n < (block))                                                                                        \
                memcpy(to, codes, n * (codebits) / 8);                                                              \
            to += n * (codebits) / 8;                                                                               \
        }                                                                                                           \
    }                                                                                                               \
    static void wire_decode_##name##_##type(void *dst, const void *src, size_t count)                               \
    {                                                                                                               \
        const unsigned char *from = src;                                                                            \
        unsigned char codes[(block) * (codebits) / 8];                                                              \
        type *to = dst, last[block];                                                                                \
        float z[block];                                                                                             \
        for (size_t n; count; count -= n, to += n) {                                                                \
            struct hx_wire_head head;                                                                               \
            n = count < (block) ? count : (block);                                                                  \
            memcpy(&head, from, sizeof(head));                                                                      \
            from += sizeof(head);                                                                                   \
            if (n < (block)) {                                                                                      \
                memset(codes, 0, sizeof(codes));                                                                    \
                memcpy(codes, from, n * (codebits) / 8);                                                            \
            }                                                                                                       \
            wire_unpack_##name(z, n < (block) ? codes : from, block);                                               \
            wire_back_##type(n < (block) ? last : to, z, block, DOWN, DOWN_REST);                                   \
            if (n < (block))                                                                                        \
                memcpy(to, last, n * sizeof(type));                                                                 \
            from += n * (codebits) / 8;                                                                             \
        }                                                                                                           \
    }

/* A code's exponent field is that of z. The scale of LEVELS is rounded down, so that no code is beyond the largest number. */
#define WIRE_FRACTION (1 << 15)
#define WIRE_OF_HEAD(head) (1 + (double)(head).fraction / WIRE_FRACTION)
#define FLOATS(ID, name, codebits, block, mantissa, top, bound, reads, about)                                              \
    _Static_assert((block) <= HX_WIRE_BLOCK_MOST && (block) % 16 == 0, "blocks are whole vectors");                          \
    WIRE_FLOATS(name, codebits, mantissa, top)                                                                      \
    WIRE_KERNELS(name, float, codebits, block, 0, (top) - 127 - head.exponent, 1, head.exponent + 127 - (top), 1)   \
    WIRE_KERNELS(name, double, codebits, block, 0, (top) - 127 - head.exponent, 1, head.exponent + 127 - (top), 1)
#define LEVELS(ID, name, codebits, block, levels, bound, reads, about)                                                     \
    _Static_assert((block) <= HX_WIRE_BLOCK_MOST && (block) % 16 == 0, "blocks are whole vectors");                          \
    WIRE_LEVELS(name, codebits, levels)                                                                             \
    WIRE_KERNELS(name, float, codebits, block, (peak.mantissa - 1) * WIRE_FRACTION, -head.exponent,           \
                 (levels) / WIRE_OF_HEAD(head), head.exponent, WIRE_OF_HEAD(head) / (levels))                       \
    WIRE_KERNELS(name, double, codebits, block, (peak.mantissa - 1) * WIRE_FRACTION, -head.exponent,          \
                 (levels) / WIRE_OF_HEAD(head), head.exponent, WIRE_OF_HEAD(head) / (levels))
HX_WIRES(FLOATS, LEVELS)
#undef FLOATS
#undef LEVELS
