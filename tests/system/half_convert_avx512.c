/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions for x86-64 CPUs with AVX-512. */
#if defined(__x86_64__)
#include "runtime/base/target.h"
#include <immintrin.h>
TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define WIDE 64
#define CONVERT_TABLE half_convert_avx512
#include "half_convert_kernels.h"
TARGET_END
#endif
