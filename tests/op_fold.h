/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in operations on integers, as dtype.def states them: for the tests' references. */
#pragma once

#include "runtime/base/dtype.h"

/* Of values of 64 bits; those of a shorter type are extended by their sign, or by zeros. */
static inline uint64_t op_fold(hx_op_t op, uint64_t left, uint64_t right, int is_signed)
{
    const uint64_t a = left, b = right;

    if (is_signed && (op == HX_MIN || op == HX_MAX))
        return ((int64_t)left < (int64_t)right) == (op == HX_MIN) ? left : right;
    switch (op) {
#define HX_OP(ID, name, classes, input, identity, fold, mpi) \
    case HX_##ID: \
        return (uint64_t)(fold);
#include "runtime/base/dtype.def"
    case HX_OP_MAX:
        break;
    }
    return 0;
}

/* What becomes of one contribution: a truth, where truths are folded. */
static inline uint64_t op_first(hx_op_t op, uint64_t value)
{
    return op == HX_MIN || op == HX_MAX ? value : op_fold(op, (uint64_t)hx_op_rows[op].identity, value, 0);
}
