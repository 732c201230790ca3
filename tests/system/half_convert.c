/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversions of the widest vectors that this CPU has; for an x86-64 one without AVX2, and for other architectures, of 16 bytes. */
#define WIDE 16
#define CONVERT_TABLE half_convert_plain
#include "half_convert_kernels.h"
#include "runtime/base/target.h"

extern const struct half_convert half_convert_avx2, half_convert_avx512;

const struct half_convert *half_convert_here(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &half_convert_avx512;
    if (__builtin_cpu_supports("avx2") && hx_cpu_has_f16c())
        return &half_convert_avx2;
#endif
    return &half_convert_plain;
}
