/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cores may be used, and binding to one. Two hardware threads of a core are one: spinning ranks on both halve each other. */
#include "tools/run/coll_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CPUS 8192 /* processing units */
#define SET_BYTES (CPUS / 8)

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

int cores_find(const struct options *options, struct cores *cores)
{
    unsigned char allowed[SET_BYTES] = {0};
    int *numbers = calloc(CPUS, sizeof *numbers); /* by core_of */

    cores->number_of = calloc(CPUS, sizeof *cores->number_of);
    if (cores->number_of && numbers && sched_getaffinity(0, sizeof allowed, (cpu_set_t *)allowed) >= 0) {
        for (int cpu = 0; cpu < CPUS; cpu++) {
            if (!CPU_ISSET_S((size_t)cpu, sizeof allowed, (cpu_set_t *)allowed))
                continue;
            int *number = &numbers[core_of(cpu)];
            if (*number == 0)
                *number = ++cores->count;
            cores->number_of[cpu] = *number;
        }
    } else if (options->bind == BIND_CORE) {
        say("--bind core: cannot read which cores are usable: %m; choose --bind auto or none");
    }
    free(numbers);
    if (options->bind == BIND_CORE && cores->count > 0 && cores->count < (int)options->ranks)
        say("--bind core: %d ranks, but only %d usable cores; choose --bind auto or none", (int)options->ranks, cores->count);
    return options->bind == BIND_CORE && cores->count < (int)options->ranks ? -1 : 0;
}

/* Ranks that must share cores do so evenly, neighbours together: left alone, the kernel leaves three of four on one of two cores
 * for seconds, as each of them sleeps too shortly to be moved. */
void cores_bind_self(const struct cores *cores, int rank, int ranks)
{
    unsigned char set[SET_BYTES] = {0};
    const int idx = ranks <= cores->count ? rank : (int)((int64_t)rank * cores->count / ranks);

    for (int cpu = 0; cpu < CPUS && cores->count > 0; cpu++)
        if (cores->number_of[cpu] == idx + 1)
            CPU_SET_S((size_t)cpu, sizeof set, (cpu_set_t *)set);
    if (cores->count > 0 && sched_setaffinity(0, sizeof set, (const cpu_set_t *)set) < 0)
        say("warning: cannot bind a rank to core %d: %m", idx);
}
