/* SPDX-License-Identifier: BSD-3-Clause */
/* See ancestor.h. A process's parent is in /proc/PID/stat. */
#include "ancestor.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_PIDS 64 /* a process and its ancestors; of the rest none is looked for */

/* 0: none, or not to be seen. */
static int parent_of(int pid)
{
    char path[32], text[512], *name_end;
    int parent = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (!(f = fopen(path, "re")))
        return 0;
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    /* "pid (name) state parent ...": a name may have parentheses, and blanks */
    if (!(name_end = strrchr(text, ')')) || sscanf(name_end + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

int hx_ancestor_of_node(const struct hx_shared *shared)
{
    const struct hx_doorbell *mine = &shared->doorbells[shared->me];
    int line[LINE_MAX_PIDS], n = 0, nearest = 0;

    for (int pid = getpid(); pid > 0 && n < LINE_MAX_PIDS; pid = parent_of(pid))
        line[n++] = pid;
    for (int i = 0; i < shared->n; i++) {
        const struct hx_doorbell *theirs = &shared->doorbells[i];
        int found = -1, pid = theirs->pid;

        if (theirs->pid_space == 0 || theirs->pid_space != mine->pid_space)
            return 0;
        for (int steps = 0; found < 0 && pid > 0 && steps < LINE_MAX_PIDS; steps++, pid = parent_of(pid))
            for (int k = nearest; found < 0 && k < n; k++)
                if (line[k] == pid)
                    found = k;
        if (found < 0)
            return 0;
        nearest = found;
    }
    return line[nearest];
}
