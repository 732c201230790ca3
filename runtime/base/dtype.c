/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and operations: sizes and names. */
#include "runtime/base/reduce.h"
#include "runtime/base/user_table.h"
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[HX_DTYPE_COUNT] = {
    [HX_INT8] = {"int8", 1},
    [HX_INT16] = {"int16", 2},
    [HX_INT32] = {"int32", 4},
    [HX_INT64] = {"int64", 8},
    [HX_UINT8] = {"uint8", 1},
    [HX_UINT16] = {"uint16", 2},
    [HX_UINT32] = {"uint32", 4},
    [HX_UINT64] = {"uint64", 8},
    [HX_FLOAT16] = {"float16", 2},
    [HX_BFLOAT16] = {"bfloat16", 2},
    [HX_FLOAT32] = {"float32", 4},
    [HX_FLOAT64] = {"float64", 8},
    [HX_COMPLEX64] = {"complex64", 8},
    [HX_COMPLEX128] = {"complex128", 16},
    [HX_BYTE] = {"byte", 1},
    [HX_FLOAT32_INDEX] = {"float32_index", sizeof(hx_float32_index_t)},
    [HX_FLOAT64_INDEX] = {"float64_index", sizeof(hx_float64_index_t)},
    [HX_INT32_INDEX] = {"int32_index", sizeof(hx_int32_index_t)},
    [HX_INT64_INDEX] = {"int64_index", sizeof(hx_int64_index_t)},
};

static const char *const ops[HX_OP_COUNT] = {
    [HX_SUM] = "sum",   [HX_PROD] = "prod", [HX_MIN] = "min",   [HX_MAX] = "max",
    [HX_AVG] = "avg",   [HX_BAND] = "band", [HX_BOR] = "bor",   [HX_BXOR] = "bxor",
    [HX_LAND] = "land", [HX_LOR] = "lor",   [HX_LXOR] = "lxor",
    [HX_MINLOC] = "minloc", [HX_MAXLOC] = "maxloc",
};

/* The casts make negative values, which an enum of the caller may hold, large. */
static int is_dtype(hx_dtype_t dtype)
{
    return (unsigned)dtype < HX_DTYPE_COUNT;
}

size_t hx_dtype_bytes(hx_dtype_t dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].bytes : hx_user_dtype_bytes(dtype);
}

const char *hx_dtype_name(hx_dtype_t dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : NULL;
}

const char *hx_op_name(hx_op_t op)
{
    return (unsigned)op < HX_OP_COUNT ? ops[op] : NULL;
}

int hx_dtype_parse(const char *text, hx_dtype_t *dtype)
{
    for (int i = 0; i < HX_DTYPE_COUNT; i++) {
        if (!strcmp(text, dtypes[i].name)) {
            *dtype = (hx_dtype_t)i;
            return 0;
        }
    }
    return -1;
}

int hx_op_parse(const char *text, hx_op_t *op)
{
    for (int i = 0; i < HX_OP_COUNT; i++) {
        if (!strcmp(text, ops[i])) {
            *op = (hx_op_t)i;
            return 0;
        }
    }
    return -1;
}

int hx_dtype_is_exact(hx_dtype_t dtype)
{
    return is_dtype(dtype) && (dtype <= HX_UINT64 || dtype >= HX_BYTE);
}
