/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels for x86-64 CPUs with AVX-512 (F, BW, DQ, VL). */
#if defined(__x86_64__)
#include "runtime/base/target.h"
#include <immintrin.h>
TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define WIDE 64
#define KERNEL_ISA "avx512"
#define KERNEL_TABLE hx_reduce_table_avx512
#include "runtime/base/reduce_kernels.h"
TARGET_END
#endif
