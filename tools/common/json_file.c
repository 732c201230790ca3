/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON documents from files: see json_file.h. */
#include "tools/common/json_file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of a file, and a NUL behind it. NULL: errno tells. */
static char *text_read(const char *path, size_t *bytes)
{
    FILE *in = fopen(path, "re");
    char *text = NULL, *more;
    size_t room = 1 << 16;
    int error = in ? 0 : errno, more_to_come = in != NULL;

    for (*bytes = 0; more_to_come && !error; room *= 2) {
        if (room > INT_MAX) { /* more than json-c takes */
            error = EFBIG;
        } else if (!(more = realloc(text, room))) {
            error = ENOMEM;
        } else {
            text = more;
            *bytes += fread(text + *bytes, 1, room - *bytes - 1, in);
            error = ferror(in) ? errno : 0;
            more_to_come = *bytes == room - 1;
        }
    }
    if (in)
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
