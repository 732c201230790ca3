/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON documents: the one reader of files that the user names, and the one way to write documents. */
#pragma once

#include "tools/common/options.h"
#include <json.h>
#include <stdint.h>
#include <stdio.h>

/* The document in a file, which may be a pipe; json_object_put frees it. NULL: the reason is in error, as "path: reason" or
 * "path:line:column: not JSON: reason". */
struct json_object *json_file_read(const char *path, char error[OPTION_TEXT_BYTES]);

/* A text may hold any bytes: those that are not UTF-8 become "?"; NULL becomes null. */
struct json_object *json_text_new(const char *text);
/* json-c alone would print seventeen digits: give as many as are known. A number that is not finite becomes null. */
struct json_object *json_real_new(const char *format, double value) __attribute__((format(printf, 1, 0)));

/* Add a member; a new object or array is the parent's. */
struct json_object *json_add_object(struct json_object *object, const char *key);
struct json_object *json_add_array(struct json_object *object, const char *key);
void json_add_text(struct json_object *object, const char *key, const char *value);
void json_add_int(struct json_object *object, const char *key, int64_t value);
void json_add_flag(struct json_object *object, const char *key, int value);
void json_add_real(struct json_object *object, const char *key, const char *format, double value)
    __attribute__((format(printf, 3, 0)));

/* A new object at the end of an array, which owns it. */
struct json_object *json_append_object(struct json_object *array);

/* For people: indented. */
void json_print(struct json_object *document);

/* As a whole: see whole_file.h. 0, or -1 with "--option=path: reason" in error, unless something is there already. */
int json_file_write(const char *option, const char *path, struct json_object *document, char error[OPTION_TEXT_BYTES]);
