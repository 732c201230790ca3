/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of settings made from env.def, and their values as text: for env.c and the tools. */
#pragma once

#include "runtime/base/env.h"

enum { HX_ENV_VALUE_BYTES = 64, HX_ENV_RANGE_BYTES = 160 };

enum hx_env_type {
    HX_TYPE_STRING,
    HX_TYPE_INT,
    HX_TYPE_SIZE,
    HX_TYPE_BOOL,
    HX_TYPE_CHOICE,
    HX_TYPE_NODES,
    HX_TYPE_SECONDS
};

struct hx_env_row {
    const char *name;
    size_t offset; /* of the member */
    enum hx_env_type type;
    enum hx_env_scope scope;
    const char *dflt;    /* NULL: unset */
    double low, high;    /* INT, SIZE, SECONDS; ranges stay below 2^53 */
    const char *choices; /* CHOICE: "a|b|c" */
    const char *help;
};

extern const struct hx_env_row hx_env_rows[HX_ENV_COUNT];
extern const char *const hx_env_type_names[];   /* by type, for people */
extern const char *const hx_env_source_names[]; /* by source, likewise */

/* The value in force as the parser reads it; "" for a string that is unset. */
const char *hx_env_value_format(const struct hx_env *env, const struct hx_env_row *row, char text[HX_ENV_VALUE_BYTES]);

/* The values that a setting accepts, for messages and listings. */
const char *hx_env_range_format(const struct hx_env_row *row, char text[HX_ENV_RANGE_BYTES]);

/* Set one member from text; NULL and "" mean the default. Owns what it stores in a string member. */
hx_status_t hx_env_value_set(struct hx_env *env, const struct hx_env_row *row, const char *text,
                             enum hx_env_source source);
