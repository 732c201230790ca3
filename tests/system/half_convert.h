/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HX_HALF_CONVERT_H
#define HX_HALF_CONVERT_H
#include <stddef.h>
#include <stdint.h>

int half_convert_runs(void); /* on this CPU */
/* count: a multiple of 16 */
void float16_widen(float *restrict to, const uint16_t *restrict from, size_t count);
void float16_narrow(uint16_t *restrict to, const float *restrict from, size_t count);
void bfloat16_widen(float *restrict to, const uint16_t *restrict from, size_t count);
void bfloat16_narrow(uint16_t *restrict to, const float *restrict from, size_t count);
#endif
