/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits from control groups, version 1, version 2, or both mounted side by side ("hybrid").
 *
 *   /proc/self/cgroup          looked at, and every folder above up to the mount itself
 *   4:cpu,cpuacct:/a/b    ->   /sys/fs/cgroup/cpu/a/b   and   /sys/fs/cgroup/cpu,cpuacct/a/b
 *   0::/a/b               ->   /sys/fs/cgroup/a/b       and   /sys/fs/cgroup/unified/a/b
 *
 * A limit binds all groups below it, so the tightest on the path counts. Which files a folder has tells the version,
 * so each folder is asked for all of them. In a container the path may name folders outside of what is mounted: those
 * are not there and are skipped, and the mount itself, which is the container's own group, is always looked at.
 */
#include "cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 8192

static FILE *open_file(const char *dir, const char *file)
{
    char path[PATH_BYTES];
    return snprintf(path, sizeof path, "%s/%s", dir, file) < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* First line of dir/file, without the newline; 0 when it is not there, too long, or empty. */
static int read_line(const char *dir, const char *file, char *line, int capacity_bytes)
{
    FILE *in = open_file(dir, file);
    if (!in)
        return 0;
    int ok = fgets(line, capacity_bytes, in) != NULL;
    fclose(in);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok && *line;
}

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

static void read_folder(const char *dir, struct hx_cores *cores)
{
    char line[4096], period[4096];
    if (read_line(dir, "cpu.max", line, sizeof line)) { /* version 2: "QUOTA PERIOD" */
        char *space = strchr(line, ' ');
        limit_quota(cores, line, space ? space : "");
    }
    if (read_line(dir, "cpu.cfs_quota_us", line, sizeof line) &&
        read_line(dir, "cpu.cfs_period_us", period, sizeof period))
        limit_quota(cores, line, period);
    if (read_line(dir, "memory.max", line, sizeof line))
        limit_memory(cores, line);
    if (read_line(dir, "memory.limit_in_bytes", line, sizeof line))
        limit_memory(cores, line);
    if (read_line(dir, "cpuset.cpus.effective", line, sizeof line))
        limit_cpus(cores, line);
    if (read_line(dir, "cpuset.effective_cpus", line, sizeof line) || read_line(dir, "cpuset.cpus", line, sizeof line))
        limit_cpus(cores, line);
}

/* Every folder from mount/path up to the mount. */
static void read_path(const char *root, const char *mount, const char *path, struct hx_cores *cores)
{
    char dir[PATH_BYTES];
    int mount_length = snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s%s", root, *mount ? "/" : "", mount);
    if (mount_length + strlen(path) >= sizeof dir)
        return;
    if (!strstr(path, "/..")) /* the group is outside of this cgroup namespace: only the mount can be seen */
        strcpy(dir + mount_length, path);
    for (;;) {
        read_folder(dir, cores);
        if (strlen(dir) <= (size_t)mount_length)
            return;
        *strrchr(dir, '/') = 0;
    }
}

/* One line of /proc/self/cgroup: "id:controller,controller:/path". */
static void read_membership(const char *root, char *line, struct hx_cores *cores)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    line[strcspn(line, "\n")] = 0;
    *path++ = 0;
    if (!*++controllers) {
        read_path(root, "", path, cores);
        read_path(root, "unified", path, cores);
        return;
    }
    if (strchr(controllers, ','))
        read_path(root, controllers, path, cores);
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (!strcmp(name, "cpu") || !strcmp(name, "cpuset") || !strcmp(name, "memory"))
            read_path(root, name, path, cores);
}

/* The calling thread's binding. It may name units that the machine does not have, so only what it shares with the
 * allowed ones counts. */
static void read_binding(const char *root, struct hx_cores *cores)
{
    char line[4096];
    static const char key[] = "Cpus_allowed_list:";
    FILE *in = open_file(root, "proc/thread-self/status");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, key, sizeof key - 1)) {
            char *list = line + sizeof key - 1;
            list[strcspn(list, "\n")] = 0; /* hwloc would read on */
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
    char line[4096 + 256];
    cores->quota_cpus = 0;
    cores->memory_bytes = UINT64_MAX;
    FILE *in = open_file(root, "proc/self/cgroup");
    while (in && fgets(line, sizeof line, in))
        read_membership(root, line, cores);
    if (in)
        fclose(in);
    read_binding(root, cores);
}
