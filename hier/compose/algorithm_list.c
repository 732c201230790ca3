/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all algorithms. make writes algorithms.inc: ROW(hx_...) for each row in the files that the two algorithms.mk name, and
 * ROWS(hx_...) for a family, which has a row for each radix. */
#include "hier/compose/algorithm_list.h"
#include <string.h>

#define ROW(algorithm) extern const struct hx_algorithm algorithm;
#define ROWS(family) extern const struct hx_algorithm family[HX_RADIX_COUNT];
#include "hier/compose/algorithms.inc"
#undef ROW
#undef ROWS

_Static_assert(HX_RADIX_COUNT == 11, "ROWS lists a row for each radix");
const struct hx_algorithm *const hx_algorithms[] = {
#define ROW(algorithm) &algorithm,
#define ROWS(family)                                                                                                            \
    &family[0], &family[1], &family[2], &family[3], &family[4], &family[5], &family[6], &family[7], &family[8], &family[9], &family[10],
#include "hier/compose/algorithms.inc"
#undef ROW
#undef ROWS
    NULL,
};

const struct hx_algorithm *hx_algorithm_next(enum hx_coll coll, unsigned scope, int *idx)
{
    for (; hx_algorithms[*idx]; ++*idx)
        if (hx_algorithms[*idx]->coll == coll && hx_algorithm_scopes(hx_algorithms[*idx]) & scope)
            return hx_algorithms[(*idx)++];
    return NULL;
}

int hx_algorithm_is_usual(const struct hx_algorithm *a)
{
    return a->radix == a->usual;
}

int hx_algorithm_has_name(const struct hx_algorithm *a, const char *name)
{
    return !strcmp(a->name, name) || (a->family && !strcmp(a->family, name));
}

const struct hx_algorithm *hx_algorithm_find(enum hx_coll coll, unsigned scope, const char *name)
{
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, scope, &idx)) && strcmp(a->name, name) != 0 &&
           !(hx_algorithm_is_usual(a) && hx_algorithm_has_name(a, name)))
        ;
    return a;
}

static int is_text(const char *name, const char *text, size_t length)
{
    return name && !strncmp(name, text, length) && !name[length];
}

const char *hx_algorithm_name(const char *text, size_t length)
{
    for (int i = 0; hx_algorithms[i]; i++) {
        if (is_text(hx_algorithms[i]->name, text, length))
            return hx_algorithms[i]->name;
        if (is_text(hx_algorithms[i]->family, text, length))
            return hx_algorithms[i]->family;
    }
    return NULL;
}

const char *hx_algorithm_usual_name(const char *text, size_t length)
{
    for (int i = 0; hx_algorithms[i]; i++)
        if (hx_algorithm_is_usual(hx_algorithms[i]) && is_text(hx_algorithms[i]->family, text, length))
            return hx_algorithms[i]->name;
    return NULL;
}

static double rounds_of(const struct hx_algorithm *a, int p)
{
    return a->counts((struct hx_group){.coll = a->coll, .p = p, .owners = p, .radix = a->radix}).rounds;
}

int hx_algorithm_radix_pays(const struct hx_algorithm *a, int p)
{
    if (hx_algorithm_is_usual(a))
        return 1;
    if (a->radix > p)
        return 0;
    return a->radix == HX_RADIX_LEAST || rounds_of(a - 1, p) > rounds_of(a, p); /* the row before has the next smaller radix */
}

unsigned hx_flat_scope(const struct hx_shape *shape)
{
    return shape->nnodes == 1 ? HX_SCOPE_INTRA : shape->max_local == 1 ? HX_SCOPE_INTER : HX_SCOPE_FLAT;
}
