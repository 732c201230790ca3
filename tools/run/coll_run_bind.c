/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cores may be used, and binding to one. Two hardware threads of a core count as one core, because two spinning
 * ranks on it would halve each other. */
#include "tools/run/coll_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS (8 * CORE_SET_BYTES)

/* The lowest-numbered hardware thread of cpu's core. */
static int core_of(int cpu)
{
    char path[96];
    int first = cpu;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &first) != 1)
            first = cpu;
        fclose(file);
    }
    return first >= 0 && first < CPUS ? first : cpu;
}

int cores_find(struct cores *cores)
{
    unsigned char allowed[CORE_SET_BYTES] = {0};
    int *core_idx = calloc(CPUS, sizeof *core_idx); /* by core_of: index in sets plus 1 */

    *cores = (struct cores){.count = 0};
    if (!core_idx || sched_getaffinity(0, sizeof allowed, (cpu_set_t *)allowed) < 0) {
        free(core_idx);
        return -1;
    }
    cores->sets = calloc((size_t)CPU_COUNT_S(sizeof allowed, (cpu_set_t *)allowed), CORE_SET_BYTES);
    for (int cpu = 0; cpu < CPUS && cores->sets; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, sizeof allowed, (cpu_set_t *)allowed))
            continue;
        int *idx = &core_idx[core_of(cpu)];
        if (*idx == 0)
            *idx = ++cores->count;
        CPU_SET_S((size_t)cpu, CORE_SET_BYTES, (cpu_set_t *)(cores->sets + (size_t)(*idx - 1) * CORE_SET_BYTES));
    }
    free(core_idx);
    return cores->sets ? 0 : -1;
}

void cores_bind_self(const struct cores *cores, int idx)
{
    if (sched_setaffinity(0, CORE_SET_BYTES, (const cpu_set_t *)(cores->sets + (size_t)idx * CORE_SET_BYTES)) < 0)
        say("warning: cannot bind a rank to core %d: %m", idx);
}
