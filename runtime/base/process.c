/* SPDX-License-Identifier: BSD-3-Clause */
/* See process.h. */
#include "runtime/base/process.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hx_stat_read(const char *path, long long fields[HX_PROCESS_FIELDS])
{
    char text[1024], *at;
    FILE *stat = fopen(path, "re");

    memset(fields, 0, HX_PROCESS_FIELDS * sizeof(*fields));
    if (!stat)
        return 0;
    text[fread(text, 1, sizeof(text) - 1, stat)] = 0;
    fclose(stat);
    /* "pid (name) state parent ...": a name may have parentheses, and blanks */
    if ((at = strrchr(text, ')')))
        at = strchr(at + 1, ' '); /* before the state */
    for (int i = HX_PROCESS_PARENT; at && i < HX_PROCESS_FIELDS; i++)
        if ((at = strchr(at + 1, ' ')))
            fields[i] = strtoll(at, NULL, 10);
    return at != NULL;
}

int hx_process_stat(int pid, enum hx_process_field field)
{
    long long fields[HX_PROCESS_FIELDS];
    char path[32] = "/proc/self/stat";

    if (pid)
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    hx_stat_read(path, fields);
    return (int)fields[field];
}

uint64_t hx_core_wait_ns(void)
{
    FILE *in = fopen("/proc/self/schedstat", "re");
    uint64_t ns;

    if (!in)
        return 0;
    if (fscanf(in, "%*u %" SCNu64, &ns) != 1)
        ns = 0;
    fclose(in);
    return ns;
}
