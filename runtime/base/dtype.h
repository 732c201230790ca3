/* SPDX-License-Identifier: BSD-3-Clause */
/* The datatypes and operations, as dtype.def describes them. */
#pragma once

#include "runtime/hierax.h"
#include <stdint.h>

enum hx_class {
    HX_CLASS_INTEGER = 1,
    HX_CLASS_BITS = 2, /* raw bytes, not a number */
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
    int64_t identity;
} hx_op_rows[] = {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) {#name, classes, identity},
#include "runtime/base/dtype.def"
};

#define HX_DTYPE_COUNT ((int)(sizeof(hx_dtype_rows) / sizeof(*hx_dtype_rows)))
#define HX_OP_COUNT ((int)(sizeof(hx_op_rows) / sizeof(*hx_op_rows)))

size_t hx_dtype_bytes(hx_dtype_t dtype);     /* the program's own too; 0 for a value that is not a datatype */
const char *hx_dtype_name(hx_dtype_t dtype); /* "float32" ...; NULL for any but the built-in ones */
const char *hx_op_name(hx_op_t op);          /* "sum" ... */
int hx_dtype_is(hx_dtype_t dtype, int classes); /* of one of these classes; a type of the program is of none */
int hx_dtype_is_exact(hx_dtype_t dtype);     /* associative whatever the order: integers, bytes and pairs */
