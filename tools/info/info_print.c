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
#include <string.h>

#define COLUMNS_MAX 16

/* "shared_bytes" -> "shared bytes" */
static void key_print(const char *key, int width, FILE *file)
{
    int n = 0;

    for (; key[n]; n++)
        fputc(key[n] == '_' ? ' ' : key[n], file);
    fprintf(file, "%*s", width > n ? width - n : 0, "");
}

/* A value in one line; a list with commas. Returns its length; file may be NULL. */
static int value_print(struct json_object *value, FILE *file)
{
    int n = 0;

    if (json_object_get_type(value) == json_type_array && json_object_array_length(value)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            if (i > 0 && file)
                fputc(',', file);
            n += (i > 0) + value_print(json_object_array_get_idx(value, i), file);
        }
        return n;
    }
    const char *text = json_object_get_type(value) == json_type_array ? "" : json_object_get_string(value);
    if (!text || !*text)
        text = "-";
    if (file)
        fputs(text, file);
    return (int)strlen(text);
}

static int is_table(struct json_object *value)
{
    return json_object_get_type(value) == json_type_array && json_object_array_length(value) &&
           json_object_get_type(json_object_array_get_idx(value, 0)) == json_type_object;
}

/* All rows have the keys of the first. */
static void table_print(struct json_object *rows, int indent, FILE *file)
{
    struct json_object *first = json_object_array_get_idx(rows, 0);
    int width[COLUMNS_MAX], column = 0;

    json_object_object_foreach(first, key, unused) {
        (void)unused;
        width[column] = (int)strlen(key);
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
            struct json_object *value = NULL;
            json_object_object_get_ex(json_object_array_get_idx(rows, i), key, &value);
            int n = value_print(value, NULL);
            width[column] = n > width[column] ? n : width[column];
        }
        column++;
    }
    int columns = column;
    column = 0;
    fprintf(file, "%*s", indent, "");
    json_object_object_foreach(first, head, unused2) {
        (void)unused2;
        key_print(head, ++column < columns ? width[column - 1] + 2 : 0, file);
    }
    fputc('\n', file);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        column = 0;
        fprintf(file, "%*s", indent, "");
        json_object_object_foreach(row, name, value) {
            (void)name;
            int n = value_print(value, file);
            if (++column < columns)
                fprintf(file, "%*s", width[column - 1] + 2 - n, "");
        }
        fputc('\n', file);
    }
}

void info_print(struct json_object *object, int indent, FILE *file)
{
    int width = 0, n = 0;

    json_object_object_foreach(object, key, value)
        if (json_object_get_type(value) != json_type_object && !is_table(value) && (int)strlen(key) > width)
            width = (int)strlen(key);
    json_object_object_foreach(object, name, member) {
        int below = json_object_get_type(member) == json_type_object || is_table(member);
        if (below && n > 0)
            fputc('\n', file);
        fprintf(file, "%*s", indent, "");
        key_print(name, below ? 0 : width + 2, file);
        if (!below)
            value_print(member, file);
        fputc('\n', file);
        if (is_table(member))
            table_print(member, indent + 2, file);
        else if (below)
            info_print(member, indent + 2, file);
        n++;
    }
}
