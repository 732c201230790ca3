/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 16-bit floats to float32 and back, for vectors of WIDE bytes and of 16 bytes of float32; rounds to nearest even,
 * overflows to infinity, keeps denormals. Part of reduce_kernels.h. Narrowing expects every NaN to be QUIET_NAN's, and
 * gives float16 0x7e00 and bfloat16 0x7fc0. The instructions (F16C, NEON) and the arithmetic below give the same bits.
 */
#pragma once

#include <stdint.h>
#if WIDE > 16 || defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

typedef float float_wide __attribute__((vector_size(WIDE)));
typedef float float_small __attribute__((vector_size(16)));
typedef uint32_t uint_wide __attribute__((vector_size(WIDE)));
typedef uint32_t uint_small __attribute__((vector_size(16)));
typedef uint16_t half_wide __attribute__((vector_size(WIDE / 2)));
typedef uint16_t half_small __attribute__((vector_size(8)));

#if WIDE == 16 /* wide and small are the same types */
#define BY_WIDTH(v, wide, small) small
#else
#define BY_WIDTH(v, wide, small) _Generic((v), half_wide: wide, half_small: small, float_wide: wide, float_small: small)
#endif
#define FLOAT16_WIDEN(v) BY_WIDTH(v, float16_widen_wide, float16_widen_small)(v)
#define FLOAT16_NARROW(v) BY_WIDTH(v, float16_narrow_wide, float16_narrow_small)(v)
#define BFLOAT16_WIDEN(v) BY_WIDTH(v, bfloat16_widen_wide, bfloat16_widen_small)(v)
#define BFLOAT16_NARROW(v) BY_WIDTH(v, bfloat16_narrow_wide, bfloat16_narrow_small)(v)

/* ---- bfloat16: the upper half of a float32 */

static inline float_small bfloat16_widen_small(half_small half)
{
    return (float_small)(__builtin_convertvector(half, uint_small) << 16);
}

static inline half_small bfloat16_narrow_small(float_small value)
{
    uint_small bits = (uint_small)value;
    bits += 0x7fff + ((bits >> 16) & 1);
    return __builtin_convertvector(bits >> 16, half_small);
}

#if WIDE > 16
static inline float_wide bfloat16_widen_wide(half_wide half)
{
#if WIDE == 64 /* GCC 12 would widen two halves and join them */
    return (float_wide)(_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)half), 16));
#else
    return (float_wide)(_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)half), 16));
#endif
}

static inline half_wide bfloat16_narrow_wide(float_wide value)
{
    uint_wide bits = (uint_wide)value;
    bits += 0x7fff + ((bits >> 16) & 1);
#if WIDE == 64
    return (half_wide)_mm512_cvtepi32_epi16((__m512i)(bits >> 16));
#else
    return __builtin_convertvector(bits >> 16, half_wide);
#endif
}
#endif

/* ---- float16 */

#if WIDE == 64
static inline float_wide float16_widen_wide(half_wide half)
{
    return (float_wide)_mm512_cvtph_ps((__m256i)half);
}

static inline half_wide float16_narrow_wide(float_wide value)
{
    return (half_wide)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
}
#elif WIDE == 32
static inline float_wide float16_widen_wide(half_wide half)
{
    return (float_wide)_mm256_cvtph_ps((__m128i)half);
}

static inline half_wide float16_narrow_wide(float_wide value)
{
    return (half_wide)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
}
#endif

#if WIDE > 16 || defined(__F16C__)
static inline float_small float16_widen_small(half_small half)
{
    return (float_small)_mm_cvtph_ps((__m128i){(long long)half, 0});
}

static inline half_small float16_narrow_small(float_small value)
{
    return (half_small)_mm_cvtps_ph((__m128)value, _MM_FROUND_TO_NEAREST_INT)[0];
}
#elif defined(__aarch64__)
static inline float_small float16_widen_small(half_small half)
{
    return (float_small)vcvt_f32_f16((float16x4_t)half);
}

static inline half_small float16_narrow_small(float_small value)
{
    return (half_small)vcvt_f16_f32((float32x4_t)value);
}
#else /* plain arithmetic, after Fabian Giesen's "float->half variants" (public domain) */
#define PICK(mask, a, b) (((a) & (uint_small)(mask)) | ((b) & ~(uint_small)(mask)))

static inline float_small float16_widen_small(half_small half)
{
    uint_small bits = __builtin_convertvector(half, uint_small);
    uint_small magnitude = (bits & 0x7fff) << 13;
    uint_small exponent = magnitude & 0x0f800000;
    uint_small normal = magnitude + (112u << 23); /* 112: the difference of the biases */
    uint_small special = normal + (112u << 23);   /* exponent 31 becomes 255 */
    uint_small denormal = (uint_small)((float_small)(magnitude + (113u << 23)) - 0x1p-14f);
    uint_small result = PICK(exponent == 0x0f800000, special, PICK(exponent == 0, denormal, normal));
    return (float_small)(result | (bits & 0x8000) << 16);
}

static inline half_small float16_narrow_small(float_small value)
{
    uint_small bits = (uint_small)value;
    uint_small magnitude = bits & 0x7fffffff;
    uint_small normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    uint_small denormal = (uint_small)((float_small)magnitude + 0.5f) - 0x3f000000; /* the addition rounds */
    uint_small finite = PICK(magnitude < (113u << 23), denormal, normal);
    uint_small special = PICK(magnitude > 0x7f800000, (uint_small){0} + 0x7e00, (uint_small){0} + 0x7c00);
    uint_small result = PICK(magnitude < (143u << 23), finite, special) | (bits >> 16 & 0x8000);
    return __builtin_convertvector(result, half_small);
}
#undef PICK
#endif
