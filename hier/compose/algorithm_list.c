/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all algorithms. make writes algorithms.inc: ROW(hx_...) for each row in the files that the two algorithms.mk name. */
#include "hier/compose/algorithm_list.h"
#include <string.h>

#define ROW(algorithm) extern const struct hx_algorithm algorithm;
#include "hier/compose/algorithms.inc"
#undef ROW

const struct hx_algorithm *const hx_algorithms[] = {
#define ROW(algorithm) &algorithm,
#include "hier/compose/algorithms.inc"
#undef ROW
    NULL,
};

const struct hx_algorithm *hx_algorithm_next(enum hx_coll coll, unsigned scope, int *idx)
{
    for (; hx_algorithms[*idx]; ++*idx)
        if (hx_algorithms[*idx]->coll == coll && hx_algorithm_scopes(hx_algorithms[*idx]) & scope)
            return hx_algorithms[(*idx)++];
    return NULL;
}

const struct hx_algorithm *hx_algorithm_find(enum hx_coll coll, unsigned scope, const char *name)
{
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, scope, &idx)) && strcmp(a->name, name) != 0)
        ;
    return a;
}

const char *hx_algorithm_name(const char *text, size_t length)
{
    for (int i = 0; hx_algorithms[i]; i++)
        if (!strncmp(hx_algorithms[i]->name, text, length) && !hx_algorithms[i]->name[length])
            return hx_algorithms[i]->name;
    return NULL;
}

unsigned hx_flat_scope(const struct hx_shape *shape)
{
    return shape->nnodes == 1 ? HX_SCOPE_INTRA : shape->max_local == 1 ? HX_SCOPE_INTER : HX_SCOPE_FLAT;
}
