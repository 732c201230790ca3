/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives' names. */
#include "runtime/base/coll.h"
#include <stddef.h>
#include <string.h>

static const char *const settings[] = {
#define HX_COLL(ID, name, gives, gets, traits) #ID,
#include "runtime/base/coll.def"
};

static const char *const functions[] = { /* the collectives come first */
#define HX_COLL(ID, name, gives, gets, traits) #name,
#define HX_COLL_WITH_COUNTS(ID, name, of) #name,
#include "runtime/base/coll.def"
};

const char *hx_coll_name(enum hx_coll coll)
{
    return (unsigned)coll < HX_COLL_COUNT ? functions[coll] : NULL;
}

const char *hx_coll_setting(enum hx_coll coll)
{
    return settings[coll];
}

int hx_coll_parse(const char *text, enum hx_coll *coll)
{
    for (int i = 0; i < HX_COLL_COUNT; i++) {
        if (!strcmp(text, functions[i])) {
            *coll = (enum hx_coll)i;
            return 0;
        }
    }
    return -1;
}

const char *hx_function_name(enum hx_function function)
{
    return functions[function];
}
