/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON documents that a person names: what is wrong with one is told with its line. */
#ifndef HX_TOOLS_COMMON_JSON_FILE_H
#define HX_TOOLS_COMMON_JSON_FILE_H
#include "tools/common/options.h"
#include <json.h>

/* The document in a file, which may be a pipe; json_object_put frees it. NULL: "path: reason", or of what is no JSON
 * "path:line:column: not JSON: reason", in error. */
struct json_object *json_file_read(const char *path, char error[OPTION_TEXT_BYTES]);

#endif
