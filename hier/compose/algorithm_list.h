/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all algorithms, in the order of intra/algorithms/algorithms.mk and inter/algorithms/algorithms.mk. */
#pragma once

#include "runtime/plan/plan.h"

extern const struct hx_algorithm *const hx_algorithms[]; /* ends with NULL */

/* Next algorithm of a collective in a scope; *idx starts at 0. NULL at the end. */
const struct hx_algorithm *hx_algorithm_next(enum hx_coll coll, unsigned scope, int *idx);
/* The one of that name, or NULL. */
const struct hx_algorithm *hx_algorithm_find(enum hx_coll coll, unsigned scope, const char *name);
/* The list's own copy of a name, which may be followed by anything; NULL: no algorithm is called that. */
const char *hx_algorithm_name(const char *text, size_t length);
/* The scope of a shape's flat algorithms. */
unsigned hx_flat_scope(const struct hx_shape *shape);
