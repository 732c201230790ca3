/* SPDX-License-Identifier: BSD-3-Clause */
/* 16-bit floats to float32 and back, whole arrays, by the vector conversions of the reduction kernels: what a program would do around an
 * all-reduce of float32. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum half_kind { HALF_FLOAT16, HALF_BFLOAT16, HALF_KINDS };

struct half_convert { /* count: a multiple of 16 */
    void (*widen[HALF_KINDS])(float *restrict to, const uint16_t *restrict from, size_t count);
    void (*narrow[HALF_KINDS])(uint16_t *restrict to, const float *restrict from, size_t count);
};

const struct half_convert *half_convert_here(void); /* the fastest that this CPU runs */
