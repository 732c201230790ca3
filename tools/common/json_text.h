/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of any bytes in a JSON document, which is UTF-8. */
#ifndef HX_TOOLS_COMMON_JSON_TEXT_H
#define HX_TOOLS_COMMON_JSON_TEXT_H
#include "tools/common/utf8.h"
#include <json.h>
#include <stdlib.h>
#include <string.h>

/* A string; bytes that are no character are told as "?". NULL: null, or no memory. */
static inline struct json_object *json_text_new(const char *text)
{
    char *own = text ? strdup(text) : NULL;
    struct json_object *made;

    for (char *at = own; at && *at;) {
        const int n = utf8_character((unsigned char *)at);
        if (!n && (unsigned char)*at >= 0x80)
            *at = '?';
        at += n ? n : 1;
    }
    made = own ? json_object_new_string(own) : NULL;
    free(own);
    return made;
}

#endif
