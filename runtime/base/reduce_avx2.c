/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels for x86-64 CPUs with AVX2 and F16C. */
#if defined(__x86_64__)
#include "runtime/base/target.h"
#include <immintrin.h>
TARGET_BEGIN("avx2,f16c")
#define WIDE 32
#define KERNEL_ISA "avx2"
#define KERNEL_TABLE hx_reduce_table_avx2
#include "runtime/base/reduce_kernels.h"
TARGET_END
#endif
