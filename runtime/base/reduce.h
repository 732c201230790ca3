/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and reduction kernels. What dtype.def says of a datatype or operation is here, so that the compiler knows it. */
#pragma once

#include "runtime/hierax.h"
#include <stdint.h>

enum hx_class {
    HX_CLASS_INTEGER = 1,
    HX_CLASS_BITS = 2, /* bytes that are no number */
    HX_CLASS_HALF = 4, /* 16 bits */
    HX_CLASS_REAL = 8,
    HX_CLASS_COMPLEX = 16,
    HX_CLASS_PAIR = 32,
    HX_CLASS_FLOATING = HX_CLASS_HALF | HX_CLASS_REAL
};

static const struct hx_dtype_row {
    const char *name;
    unsigned char bytes, class, digits;
} hx_dtype_rows[] = {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) {#name, sizeof(type), HX_CLASS_##class, digits},
#include "runtime/base/dtype.def"
};

static const struct hx_op_row {
    const char *name;
    unsigned char classes;
} hx_op_rows[] = {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) {#name, classes},
#include "runtime/base/dtype.def"
};

#define HX_DTYPE_COUNT ((int)(sizeof(hx_dtype_rows) / sizeof(*hx_dtype_rows)))
#define HX_OP_COUNT ((int)(sizeof(hx_op_rows) / sizeof(*hx_op_rows)))

/* dst[i] = src[0][i] op src[1][i] op ... op src[nsrc-1][i], folded in that order, for count elements, in one pass:
 * 16-bit floats fold in a 32-bit accumulator and round once, to nearest even. dst may be equal to any of the src (exact
 * overlap), never partly overlap one. nsrc >= 1. No alignment is assumed beyond the element's own (8 bytes at most).
 * The bits of the result do not depend on the CPU. Integers wrap. Every NaN result is the positive quiet NaN without
 * payload. min(-0, +0) = -0, max(-0, +0) = +0. Complex products are the plain formula. Logical results are 0 or 1.
 * nsrc 1 copies, with NaN and logical values made so. HX_AVG folds as HX_SUM (see hx_scale_inverse). */
typedef void hx_reduce_kernel_t(void *dst, const void *const *src, int nsrc, size_t count);

size_t hx_dtype_bytes(hx_dtype_t dtype);           /* the program's own too; 0 for a value that is no datatype */
const char *hx_dtype_name(hx_dtype_t dtype);       /* "float32" ...; NULL for any but the built-in ones */
const char *hx_op_name(hx_op_t op);                /* "sum" ... */
int hx_dtype_parse(const char *text, hx_dtype_t *dtype); /* 0, or -1 */
int hx_op_parse(const char *text, hx_op_t *op);          /* 0, or -1 */
int hx_dtype_is_exact(hx_dtype_t dtype); /* associative whatever the order: integers, bytes and pairs */

/* The kernel for (dtype, op), chosen for this CPU at first use; NULL where the operation is not defined for the type,
 * or either is no value of its enum. */
hx_reduce_kernel_t *hx_reduce_kernel(hx_dtype_t dtype, hx_op_t op);

/* The name of the instruction set in use: "avx512", "avx2", "neon", "baseline". */
const char *hx_reduce_isa(void);

/* buf[i] /= divisor for count elements of a floating or complex type: the last step of HX_AVG. Other types: nothing. */
void hx_scale_inverse(void *buf, size_t count, hx_dtype_t dtype, int divisor);
