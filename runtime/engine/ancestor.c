/* SPDX-License-Identifier: BSD-3-Clause */
/* See ancestor.h. */
#include "runtime/engine/ancestor.h"
#include "runtime/base/process.h"
#include <unistd.h>

#define LINE_MAX_PIDS 64 /* a process and its ancestors; of the rest none is looked for */

int hx_ancestor_of_node(const struct hx_shared *shared)
{
    const struct hx_doorbell *mine = &shared->doorbells[shared->me];
    int line[LINE_MAX_PIDS], n = 0, nearest = 0;

    for (int pid = getpid(); pid > 0 && n < LINE_MAX_PIDS; pid = hx_process_stat(pid, HX_PROCESS_PARENT))
        line[n++] = pid;
    for (int i = 0; i < shared->n; i++) {
        const struct hx_doorbell *theirs = &shared->doorbells[i];
        int found = -1, pid = theirs->pid;

        if (theirs->pid_space == 0 || theirs->pid_space != mine->pid_space)
            return 0;
        for (int steps = 0; found < 0 && pid > 0 && steps < LINE_MAX_PIDS; steps++, pid = hx_process_stat(pid, HX_PROCESS_PARENT))
            for (int k = nearest; found < 0 && k < n; k++)
                if (line[k] == pid)
                    found = k;
        if (found < 0)
            return 0;
        nearest = found;
    }
    return line[nearest];
}
