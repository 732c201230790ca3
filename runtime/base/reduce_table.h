/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the kernels of one instruction set, and the list of the tables that this CPU can run. Private to reduce.c,
 * its kernels, tests and benchmarks; all other code calls hx_reduce_kernel. */
#pragma once

#include "runtime/base/reduce.h"
#include "runtime/base/wire.h"

/* buf[i] /= divisor for count elements. */
typedef void hx_scale_kernel_t(void *buf, size_t count, int divisor);

struct hx_reduce_table {
    const char *isa;
    hx_reduce_kernel_t *kernel[HX_DTYPE_COUNT][HX_OP_COUNT]; /* NULL: not defined */
    hx_scale_kernel_t *scale[HX_DTYPE_COUNT];                /* NULL: not a floating or complex type */
    hx_wire_kernel_t *encode[HX_WIRE_COUNT][HX_DTYPE_COUNT], *decode[HX_WIRE_COUNT][HX_DTYPE_COUNT]; /* NULL: hx_wire_lack */
};

extern const struct hx_reduce_table hx_reduce_table_baseline;
#if defined(__x86_64__)
extern const struct hx_reduce_table hx_reduce_table_avx2;
extern const struct hx_reduce_table hx_reduce_table_avx512;
#endif

/* The idx-th table that this CPU can run, the best first; NULL past the last. */
const struct hx_reduce_table *hx_reduce_table_at(int idx);
