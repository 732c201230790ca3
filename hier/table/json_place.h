/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of values in a JSON text, for messages that name line and column: json-c does not report them. The text has passed
 * json-c, and ends with a NUL. Offsets are in bytes. Private to table*.c. */
#pragma once

#include <stddef.h>

#define HX_PLACE_DEPTH 8    /* of objects and arrays in each other */
#define HX_PLACE_MEMBERS 32 /* of one object */

/* The value of a member of the object at `at`; the object itself, where there is no such member. */
size_t hx_place_member(const char *text, size_t at, const char *name);

/* The first item of the array at `at`; the item after the one at `at`. Nonsense where there is none. */
size_t hx_place_first(const char *text, size_t at);
size_t hx_place_next(const char *text, size_t at);

/* A member whose name stands twice in its object, not in quotation marks, holds an escape or is one too many: what is wrong, and
 * where. json-c takes the last of several, and any character that a name begins with for its quotation mark. NULL: none is. */
const char *hx_place_fault(const char *text, size_t *at);

/* Count on from an offset, where *line and *column hold, to `at`. Both begin with 1. */
void hx_place_line(const char *text, size_t from, size_t at, int *line, int *column);
