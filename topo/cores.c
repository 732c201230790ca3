/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits from control groups (cgroup.c) and the thread's binding. */
#include "topo/cgroup.h"
#include "topo/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void limit_quota(struct hx_cores *cores, const char *quota, const char *period)
{
    double us = strtod(quota, NULL), period_us = strtod(period, NULL); /* "max" reads as 0, version 1 says -1 */
    if (us > 0 && period_us > 0 && (cores->quota_cpus == 0 || us / period_us < cores->quota_cpus))
        cores->quota_cpus = us / period_us;
}

static void limit_memory(struct hx_cores *cores, const char *text)
{
    char *end;
    uint64_t bytes = strtoull(text, &end, 10);
    if (end != text && bytes < cores->memory_bytes)
        cores->memory_bytes = bytes;
}

static void limit_cpus(struct hx_cores *cores, const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && !hwloc_bitmap_list_sscanf(set, list) && hwloc_bitmap_intersects(set, cores->allowed))
        hwloc_bitmap_and(cores->allowed, cores->allowed, set);
    hwloc_bitmap_free(set);
}

static void read_folder(const char *dir, void *arg)
{
    struct hx_cores *cores = arg;
    char line[4096], period[4096];
    if (hx_cgroup_line(dir, "cpu.max", line, sizeof line)) { /* version 2: "QUOTA PERIOD" */
        char *space = strchr(line, ' ');
        limit_quota(cores, line, space ? space : "");
    }
    if (hx_cgroup_line(dir, "cpu.cfs_quota_us", line, sizeof line) &&
        hx_cgroup_line(dir, "cpu.cfs_period_us", period, sizeof period))
        limit_quota(cores, line, period);
    if (hx_cgroup_line(dir, "memory.max", line, sizeof line))
        limit_memory(cores, line);
    if (hx_cgroup_line(dir, "memory.limit_in_bytes", line, sizeof line))
        limit_memory(cores, line);
    if (hx_cgroup_line(dir, "cpuset.cpus.effective", line, sizeof line))
        limit_cpus(cores, line);
    if (hx_cgroup_line(dir, "cpuset.effective_cpus", line, sizeof line) || hx_cgroup_line(dir, "cpuset.cpus", line, sizeof line))
        limit_cpus(cores, line);
}

/* The calling thread's binding. It may contain processing units that the machine does not have, so only allowed ones count. */
static void read_binding(const char *root, struct hx_cores *cores)
{
    char line[4096];
    static const char key[] = "Cpus_allowed_list:";
    FILE *in = hx_cgroup_open(root, "proc/thread-self/status");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, key, sizeof key - 1)) {
            char *list = line + sizeof key - 1;
            list[strcspn(list, "\n")] = 0; /* hwloc stops only at the end of the string */
            hwloc_bitmap_list_sscanf(cores->bound, list + strspn(list, " \t"));
            break;
        }
    if (in)
        fclose(in);
    hwloc_bitmap_and(cores->bound, cores->bound, cores->allowed);
    if (hwloc_bitmap_iszero(cores->bound))
        hwloc_bitmap_copy(cores->bound, cores->allowed);
}

void hx_cores_read(const char *root, struct hx_cores *cores)
{
    cores->quota_cpus = 0;
    cores->memory_bytes = UINT64_MAX;
    hx_cgroup_folders(root, read_folder, cores);
    read_binding(root, cores);
}
