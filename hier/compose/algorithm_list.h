/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all algorithms, in the order of intra/algorithms/algorithms.mk and inter/algorithms/algorithms.mk. */
#pragma once

#include "runtime/plan/plan.h"

extern const struct hx_algorithm *const hx_algorithms[]; /* ends with NULL */

/* Next algorithm of a collective in a scope; *idx starts at 0. NULL at the end. */
const struct hx_algorithm *hx_algorithm_next(enum hx_coll coll, unsigned scope, int *idx);
/* Has it the usual radix of its family, or none at all? */
int hx_algorithm_is_usual(const struct hx_algorithm *a);
/* Is that its name, or its family's? */
int hx_algorithm_has_name(const struct hx_algorithm *a, const char *name);
/* Is its radix worth a look for p members? No, if a smaller one takes as many rounds, or if there are fewer members. The usual one always
 * is. */
int hx_algorithm_radix_pays(const struct hx_algorithm *a, int p);
/* The one of that name, of a family the usual one; or NULL. */
const struct hx_algorithm *hx_algorithm_find(enum hx_coll coll, unsigned scope, const char *name);
/* The list's own copy of a name, of an algorithm or a family, which may be followed by anything; NULL: no algorithm is called that. */
const char *hx_algorithm_name(const char *text, size_t length);
/* The name of the usual one of a family; NULL: no family is called that. */
const char *hx_algorithm_usual_name(const char *text, size_t length);
/* The scope of a shape's flat algorithms. */
unsigned hx_flat_scope(const struct hx_shape *shape);
