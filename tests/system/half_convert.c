/* SPDX-License-Identifier: BSD-3-Clause */
/* 16-bit floats to float32 and back, whole arrays, by the vector conversions of the reduction kernels: what a program would do
 * around an all-reduce of float32. For CPUs with AVX-512, or of another architecture. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define WIDE 64
#else
#define WIDE 16
#endif
#include "half_convert.h"
#include "runtime/reduce_half.h"
#include <string.h>

#if WIDE == 16
#define float16_widen_wide float16_widen_small
#define float16_narrow_wide float16_narrow_small
#define bfloat16_widen_wide bfloat16_widen_small
#define bfloat16_narrow_wide bfloat16_narrow_small
#endif

int half_convert_runs(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return 1;
#endif
}

#define CONVERTERS(name)                                                                                               \
    void name##_widen(float *restrict to, const uint16_t *restrict from, size_t count)                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i += WIDE / 4) {                                                                 \
            half_wide half;                                                                                            \
            memcpy(&half, from + i, sizeof(half));                                                                     \
            float_wide value = name##_widen_wide(half);                                                                \
            memcpy(to + i, &value, sizeof(value));                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    void name##_narrow(uint16_t *restrict to, const float *restrict from, size_t count)                                \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i += WIDE / 4) {                                                                 \
            float_wide value;                                                                                          \
            memcpy(&value, from + i, sizeof(value));                                                                   \
            half_wide half = name##_narrow_wide(value);                                                                \
            memcpy(to + i, &half, sizeof(half));                                                                       \
        }                                                                                                              \
    }
CONVERTERS(float16)
CONVERTERS(bfloat16)
