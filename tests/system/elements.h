/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of any type as the tests of collectives see them: what each rank contributes, and how two become one. Written without the
 * library's kernels, which are under test. */
#pragma once

#include "runtime/hierax.h"
#include <stddef.h>
#include <stdint.h>

#define ELEMENTS_RANKS 64 /* of a test's job, at most */

struct value {
    uint64_t bits;     /* integers and bytes, sign extended */
    double real, imag; /* floating types */
};

uint64_t mix(uint64_t r, uint64_t i); /* bits at random, the same each time */
/* Element i of rank r's input. */
struct value contribution(int r, size_t i, hx_dtype_t t, hx_op_t op);
struct value fold(struct value a, struct value b, hx_dtype_t t, hx_op_t op);
void element_put(unsigned char *at, hx_dtype_t t, struct value v);
struct value element_get(const unsigned char *at, hx_dtype_t t);
int element_equals(struct value got, struct value want, hx_dtype_t t, double tolerance);

/* Element i of the reduction of the first n_ranks ranks' inputs. scans: of one rank alone it is as it was, not made 0 or 1. */
struct value folded(int n_ranks, int scans, size_t i, hx_dtype_t t, hx_op_t op);

/* Elements first to first + n as they stand in memory: of rank r's input, and of a reduction (not an average, which is rounded). They are
 * kept until one of another type or operation is asked for: to make them takes longer than the call that they are for. */
const unsigned char *vector_input(int r, size_t first, size_t n, hx_dtype_t t, hx_op_t op);
const unsigned char *vector_folded(int n_ranks, int scans, size_t first, size_t n, hx_dtype_t t, hx_op_t op);
