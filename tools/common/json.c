/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON documents from files, and into them: see json.h. */
#include "tools/common/json.h"
#include "tools/common/whole_file.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All of a file, and a NUL behind it; or up to a NUL in it, which *bytes then counts. NULL: errno tells. */
static char *text_read(const char *path, size_t *bytes)
{
    FILE *in = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t got;

    if (!in)
        return NULL;
    got = getdelim(&text, &room, '\0', in);
    const int error = got >= INT_MAX ? EFBIG : got < 0 && !feof(in) ? errno : 0; /* json-c takes no more */
    *bytes = got < 0 ? 0 : (size_t)got;
    fclose(in);
    if (!error) {
        text[*bytes] = '\0';
        return text;
    }
    free(text);
    errno = error;
    return NULL;
}

static void fault_tell(const char *path, const char *text, size_t at, const char *reason, char error[OPTION_TEXT_BYTES])
{
    int line = 1, column = 1;

    for (size_t i = 0; i < at; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    snprintf(error, OPTION_TEXT_BYTES, "%.1000s:%d:%d: not JSON: %s", path, line, column, reason);
}

struct json_object *json_file_read(const char *path, char error[OPTION_TEXT_BYTES])
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *document = NULL;
    size_t bytes;
    char *text = tokener ? text_read(path, &bytes) : NULL;

    if (!text) {
        snprintf(error, OPTION_TEXT_BYTES, "%.1000s: %s", path, tokener ? strerror(errno) : "no memory");
    } else {
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
        document = json_tokener_parse_ex(tokener, text, (int)bytes + 1); /* with the NUL: that is where it must end */
        enum json_tokener_error fault = json_tokener_get_error(tokener);
        size_t at = json_tokener_get_parse_end(tokener);
        const char *why = strlen(text) != bytes                 ? "a NUL"
            : fault == json_tokener_error_parse_eof             ? "it ends too early"
            : fault != json_tokener_success                     ? json_tokener_error_desc(fault)
            : !document                                         ? "null is no document"
            : at < bytes                                        ? "something follows its end"
                                                                : NULL;
        if (why) {
            fault_tell(path, text, at, why, error);
            json_object_put(document);
            document = NULL;
        }
    }
    free(text);
    json_tokener_free(tokener);
    return document;
}

/* Bytes of the character at text when it is valid UTF-8, else 0. */
static int utf8_bytes(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int n = text[0] < 0x80 ? 1 : text[0] < 0xc0 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf8 ? 4 : 0;
    uint32_t code = text[0] & (0xffu >> (n + 1));

    for (int i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    return n > 1 && (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) ? 0 : n;
}

struct json_object *json_text_new(const char *text)
{
    char *own = text ? strdup(text) : NULL;
    struct json_object *made;

    for (char *at = own; at && *at;) {
        const int n = utf8_bytes((unsigned char *)at);
        if (!n)
            *at = '?';
        at += n ? n : 1;
    }
    made = own ? json_object_new_string(own) : NULL;
    free(own);
    return made;
}

struct json_object *json_add_object(struct json_object *object, const char *key)
{
    struct json_object *made = json_object_new_object();

    json_object_object_add(object, key, made);
    return made;
}

struct json_object *json_add_array(struct json_object *object, const char *key)
{
    struct json_object *made = json_object_new_array();

    json_object_object_add(object, key, made);
    return made;
}

struct json_object *json_append_object(struct json_object *array)
{
    struct json_object *made = json_object_new_object();

    json_object_array_add(array, made);
    return made;
}

void json_add_text(struct json_object *object, const char *key, const char *value)
{
    json_object_object_add(object, key, json_text_new(value));
}

void json_add_int(struct json_object *object, const char *key, int64_t value)
{
    json_object_object_add(object, key, json_object_new_int64(value));
}

void json_add_flag(struct json_object *object, const char *key, int value)
{
    json_object_object_add(object, key, json_object_new_boolean(value));
}

struct json_object *json_real_new(const char *format, double value)
{
    char text[64];

    snprintf(text, sizeof(text), format, value);
    return isfinite(value) ? json_object_new_double_s(value, text) : NULL;
}

void json_add_real(struct json_object *object, const char *key, const char *format, double value)
{
    json_object_object_add(object, key, json_real_new(format, value));
}

static const char *text_of(struct json_object *document)
{
    return json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void json_print(struct json_object *document)
{
    const char *text = text_of(document);

    standard_output_write(text, strlen(text));
    standard_output_write("\n", 1);
}

int json_file_write(const char *option, const char *path, struct json_object *document, char error[OPTION_TEXT_BYTES])
{
    const char *text = text_of(document);
    struct whole_file file;

    if (whole_file_open(&file, path)) {
        whole_file_write(&file, text, strlen(text));
        whole_file_write(&file, "\n", 1);
    }
    return whole_file_end(&file, option, path, error);
}
