/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels. */
#pragma once

#include "runtime/base/dtype.h"

/* dst[i] = src[0][i] op src[1][i] op ... op src[nsrc-1][i], folded in that order, for count elements, in one pass:
 * 16-bit floats fold in a 32-bit accumulator and round once, to nearest even. dst may be equal to any of the src (exact
 * overlap), never partly overlap one. nsrc >= 1. No alignment is assumed beyond the element's own (8 bytes at most).
 * The bits of the result do not depend on the CPU. Integers wrap. Every NaN result is the positive quiet NaN without
 * payload. min(-0, +0) = -0, max(-0, +0) = +0. Complex products are the plain formula. Logical results are 0 or 1.
 * nsrc 1 copies, with NaN and logical values made so. HX_AVG folds as HX_SUM (see hx_scale_inverse). */
typedef void hx_reduce_kernel_t(void *dst, const void *const *src, int nsrc, size_t count);

/* The kernel for (dtype, op), chosen for this CPU at first use; NULL where the operation is not defined for the type,
 * or if either is not a value of its enum. */
hx_reduce_kernel_t *hx_reduce_kernel(hx_dtype_t dtype, hx_op_t op);

/* The name of the instruction set in use: "avx512", "avx2", "neon", "baseline". */
const char *hx_reduce_isa(void);

/* buf[i] /= divisor for count elements of a floating or complex type: the last step of HX_AVG. Other types: nothing. */
void hx_scale_inverse(void *buf, size_t count, hx_dtype_t dtype, int divisor);
