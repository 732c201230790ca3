/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON for people:
 *
 *   {"ranks": 8, "host": {"cores": 2}, "nics": [{"name": "eth0", "up": 1}]}   ->   ranks  8
 *
 *                                                                                  host
 *                                                                                    cores  2
 *
 *                                                                                  nics
 *                                                                                    name  up
 *                                                                                    eth0  1
 */
#include "tools/info/coll_info.h"
#include "runtime/base/size.h"
#include "tools/common/screen.h"
#include <stdarg.h>
#include <string.h>

#define COLUMNS_MAX 16

/* ---- making it */

struct json_object *info_add(struct json_object *object, const char *format, ...)
{
    char name[64], kind;
    va_list args;

    va_start(args, format);
    for (; sscanf(format, " %63[^=]=%%%c", name, &kind) == 2; format += 1 + strcspn(format + 1, " "))
        if (kind == 's')
            json_add_text(object, name, va_arg(args, const char *));
        else if (kind == 'g')
            json_add_real(object, name, "%.6g", va_arg(args, double));
        else if (kind == 'p')
            json_object_object_add(object, name, va_arg(args, struct json_object *));
        else
            json_add_int(object, name, kind == 'd' ? va_arg(args, int) : va_arg(args, int64_t));
    va_end(args);
    return object;
}

/* ---- printing it: file NULL only measures */

/* Is the value a number of bytes? People read it with a unit. */
static const char *bytes_in(const char *key)
{
    const char *at = strstr(key, "bytes");

    return at && (at == key || at[-1] == '_') && (!at[5] || at[5] == '_') ? at : NULL;
}

/* "l2_bytes_per_core" -> "l2 per core". Returns the length. */
static int key_print(const char *key, FILE *file)
{
    const char *bytes = strcmp(key, "bytes") ? bytes_in(key) : NULL;
    int length = 0;

    for (const char *at = key; *at; at++) {
        if (bytes && at == bytes - (bytes > key)) { /* the unit says it */
            at += strlen("bytes") + (bytes > key) - 1;
            continue;
        }
        if (file)
            fputc(*at == '_' ? ' ' : *at, file);
        length++;
    }
    return length;
}

/* A machine's memory is seldom a round number. */
static uint64_t rounded(int64_t bytes)
{
    return bytes < INT64_C(1) << 30 ? (uint64_t)bytes : (uint64_t)bytes >> 20 << 20;
}

/* A value in one line; a list with commas. Returns the length. */
static int value_print(const char *key, struct json_object *value, FILE *file)
{
    char size[HX_SIZE_BYTES];
    const int is_list = json_object_is_type(value, json_type_array) && json_object_array_length(value);
    const size_t n = is_list ? json_object_array_length(value) : 1;
    int length = 0;

    for (size_t i = 0; i < n; i++) {
        struct json_object *one = is_list ? json_object_array_get_idx(value, i) : value;
        const char *text = json_object_is_type(one, json_type_array) ? NULL : json_object_get_string(one);
        text = text && *text ? text : "-";
        if (json_object_is_type(one, json_type_int) && bytes_in(key))
            text = hx_size_format(rounded(json_object_get_int64(one)), size);
        if (file)
            fprintf(file, "%s%s", i > 0 ? "," : "", text);
        length += (i > 0) + (int)strlen(text);
    }
    return length;
}

static int is_table(struct json_object *value)
{
    return json_object_is_type(value, json_type_array) &&
           json_object_is_type(json_object_array_get_idx(value, 0), json_type_object);
}

/* Row -1 is the head. All rows have the keys of the first. */
static void table_print(struct json_object *rows, int indent, FILE *file)
{
    const int n = (int)json_object_array_length(rows);
    int width[COLUMNS_MAX] = {0};

    for (int pass = 0; pass < 2; pass++)
        for (int i = -1; i < n; i++) {
            FILE *out = pass ? file : NULL;
            const struct lh_entry *cell = json_object_get_object(json_object_array_get_idx(rows, i < 0 ? 0 : (size_t)i))->head;
            if (out)
                fprintf(out, "%*s", indent, "");
            for (int column = 0; cell; cell = cell->next, column++) {
                if (out && column)
                    fputs(FOLD, out);
                const int length = i < 0 ? key_print(lh_entry_k(cell), out) : value_print(lh_entry_k(cell), lh_entry_v(cell), out);
                if (length > width[column])
                    width[column] = length;
                if (out)
                    fprintf(out, "%*s%s", cell->next ? width[column] + 2 - length : 0, "", cell->next ? "" : "\n");
            }
        }
}

void info_print(struct json_object *object, int indent, FILE *file)
{
    int width = 0, n = 0;

    json_object_object_foreach(object, key, value)
        if (!json_object_is_type(value, json_type_object) && !is_table(value) && key_print(key, NULL) > width)
            width = key_print(key, NULL);
    json_object_object_foreach(object, name, member) {
        const int below = json_object_is_type(member, json_type_object) || is_table(member);
        fprintf(file, "%s%*s", below && n > 0 ? "\n" : "", indent, "");
        const int length = key_print(name, file);
        if (!below) {
            fprintf(file, "%*s", width + 2 - length, "");
            value_print(name, member, file);
        }
        fputc('\n', file);
        if (is_table(member))
            table_print(member, indent + 2, file);
        else if (below)
            info_print(member, indent + 2, file);
        n++;
    }
}
