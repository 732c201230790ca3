/* SPDX-License-Identifier: BSD-3-Clause */
/* See process.h. */
#include "runtime/base/process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_FIELD 2

int hx_process_stat(int pid, enum hx_process_field field)
{
    char path[32] = "/proc/self/stat", text[1024], *at;
    FILE *stat;

    if (pid)
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (!(stat = fopen(path, "re")))
        return 0;
    text[fread(text, 1, sizeof(text) - 1, stat)] = 0;
    fclose(stat);
    /* "pid (name) state parent ...": a name may have parentheses, and blanks */
    at = strrchr(text, ')');
    for (int i = NAME_FIELD; at && i < (int)field; i++)
        at = strchr(at + 1, ' ');
    return at ? atoi(at + 1) : 0;
}
