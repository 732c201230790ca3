/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels for any CPU of this architecture: SSE2 on x86-64, NEON on aarch64. */
#define WIDE 16
#if defined(__aarch64__)
#define KERNEL_ISA "neon"
#else
#define KERNEL_ISA "baseline"
#endif
#define KERNEL_TABLE hx_reduce_table_baseline
#include "runtime/base/reduce_kernels.h"
