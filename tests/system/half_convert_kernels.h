/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversions of half_convert.h, CONVERT_TABLE, for vectors of WIDE bytes: by those of the reduction kernels. */
#include "half_convert.h"
#include "runtime/base/reduce_half.h"
#include <string.h>

#define CONVERTERS(name)                                                                                               \
    static void name##_widen(float *restrict to, const uint16_t *restrict from, size_t count)                          \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i += WIDE / 4) {                                                                 \
            half_wide half;                                                                                            \
            memcpy(&half, from + i, sizeof(half));                                                                     \
            float_wide value = name##_widen_wide(half);                                                                \
            memcpy(to + i, &value, sizeof(value));                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_narrow(uint16_t *restrict to, const float *restrict from, size_t count)                         \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i += WIDE / 4) {                                                                 \
            float_wide value;                                                                                          \
            memcpy(&value, from + i, sizeof(value));                                                                   \
            half_wide half = name##_narrow_wide(value);                                                                \
            memcpy(to + i, &half, sizeof(half));                                                                       \
        }                                                                                                              \
    }
#if WIDE == 16
#define float16_widen_wide float16_widen_small
#define float16_narrow_wide float16_narrow_small
#define bfloat16_widen_wide bfloat16_widen_small
#define bfloat16_narrow_wide bfloat16_narrow_small
#endif
CONVERTERS(float16)
CONVERTERS(bfloat16)

const struct half_convert CONVERT_TABLE = {{float16_widen, bfloat16_widen}, {float16_narrow, bfloat16_narrow}};
