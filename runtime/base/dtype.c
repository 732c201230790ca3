/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and operations: sizes and names. */
#include "runtime/base/dtype.h"
#include "runtime/base/user_table.h"
#include <assert.h>

/* The rows of dtype.def stand in the order of hierax.h. */
enum {
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) ROW_##ID,
#include "runtime/base/dtype.def"
};
enum {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) ROW_##ID,
#include "runtime/base/dtype.def"
};
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) static_assert((int)ROW_##ID == (int)HX_##ID, "dtype.def: " #ID);
#define HX_OP(ID, name, classes, input, identity, fold, mpi) static_assert((int)ROW_##ID == (int)HX_##ID, "dtype.def: " #ID);
#include "runtime/base/dtype.def"

/* The casts make negative values, which an enum of the caller may hold, large. */
static int is_dtype(hx_dtype_t dtype)
{
    return (unsigned)dtype < HX_DTYPE_COUNT;
}

size_t hx_dtype_bytes(hx_dtype_t dtype)
{
    return is_dtype(dtype) ? hx_dtype_rows[dtype].bytes : hx_user_dtype_bytes(dtype);
}

const char *hx_dtype_name(hx_dtype_t dtype)
{
    return is_dtype(dtype) ? hx_dtype_rows[dtype].name : NULL;
}

const char *hx_op_name(hx_op_t op)
{
    return (unsigned)op < HX_OP_COUNT ? hx_op_rows[op].name : NULL;
}

int hx_dtype_is(hx_dtype_t dtype, int classes)
{
    return is_dtype(dtype) && hx_dtype_rows[dtype].class & classes;
}

int hx_dtype_is_exact(hx_dtype_t dtype)
{
    return hx_dtype_is(dtype, ~(HX_CLASS_FLOATING | HX_CLASS_COMPLEX));
}
