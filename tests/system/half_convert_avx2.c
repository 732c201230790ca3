/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions for x86-64 CPUs with AVX2 and F16C. */
#if defined(__x86_64__)
#include "runtime/base/target.h"
#include <immintrin.h>
TARGET_BEGIN("avx2,f16c")
#define WIDE 32
#define CONVERT_TABLE half_convert_avx2
#include "half_convert_kernels.h"
TARGET_END
#endif
