/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User-defined operations and datatypes. A handle names one, as a value of hx_op_t or hx_dtype_t beyond the built-in
 * ones; no value is given out twice, so a freed handle differs from one that never was. Handles are this process's own:
 * ranks agree on what an operation does, never on its handle.
 *
 * A request holds what it uses, and so does a blocking call, which may wait for its turn: after hx_op_free or hx_dtype_free they go on, and
 * new calls are refused.
 */
#pragma once

#include "runtime/hierax.h"
#include <stdint.h>

#define HX_USER_BASE 0x40000000u /* the least handle */
#define HX_USER_PLACES 4096      /* handles at the same time */

struct hx_user_op {
    hx_reduce_fn_t *fn; /* NULL: none */
    void *ctx;
    int commutative;
};

static inline int hx_is_user(unsigned handle)
{
    return handle >= HX_USER_BASE && handle <= 0x7fffffff;
}

/* The datatype or operation of a handle that is open, or that a call or request holds. For any other handle: 0, or no function. */
size_t hx_user_dtype_bytes(hx_dtype_t dtype);
struct hx_user_op hx_user_op(hx_op_t op);

/* May new calls name it? If not: was there such a one? */
int hx_user_is_open(unsigned handle);
int hx_user_was_open(unsigned handle);

/* Does nothing for a value that is not a handle. */
void hx_user_hold(unsigned handle);
void hx_user_let_go(unsigned handle);

/* A new handle, open, and held until it is closed; 0: HX_USER_PLACES are in use. bytes: of a datatype; 0: it is the operation op. */
uint32_t hx_user_take(size_t bytes, struct hx_user_op op);
/* handle is open. */
void hx_user_close(unsigned handle);
