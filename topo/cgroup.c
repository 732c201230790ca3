/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control groups, version 1, version 2, or both mounted side by side ("hybrid").
 *
 *   /proc/self/cgroup          looked at, and every folder above up to the mount itself
 *   4:cpu,cpuacct:/a/b    ->   /sys/fs/cgroup/cpu/a/b   and   /sys/fs/cgroup/cpu,cpuacct/a/b
 *   0::/a/b               ->   /sys/fs/cgroup/a/b       and   /sys/fs/cgroup/unified/a/b
 *
 * A limit applies to all groups below it, so the tightest on the path counts. A folder's files depend on its version, so callers
 * try all of them. In a container the path may name folders outside the mount: these do not exist. The mount itself is the
 * container's own group, and is always visited.
 */
#include "topo/cgroup.h"

#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 8192

typedef void look_t(const char *dir, void *arg);

FILE *hx_cgroup_open(const char *dir, const char *file)
{
    char path[PATH_BYTES];
    return snprintf(path, sizeof path, "%s/%s", dir, file) < (int)sizeof path ? fopen(path, "re") : NULL;
}

int hx_cgroup_line(const char *dir, const char *file, char *line, int capacity_bytes)
{
    FILE *in = hx_cgroup_open(dir, file);
    if (!in)
        return 0;
    int ok = fgets(line, capacity_bytes, in) != NULL;
    fclose(in);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok && *line;
}

/* Visit every folder from mount/path up to the mount. */
static void read_path(const char *root, const char *mount, const char *path, look_t *look, void *arg)
{
    char dir[PATH_BYTES];
    int mount_length = snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s%s", root, *mount ? "/" : "", mount);
    if (mount_length + strlen(path) >= sizeof dir)
        return;
    if (!strstr(path, "/..")) /* "/..": the group is outside this cgroup namespace, so only the mount is visible */
        strcpy(dir + mount_length, path);
    for (;;) {
        look(dir, arg);
        if (strlen(dir) <= (size_t)mount_length)
            return;
        *strrchr(dir, '/') = 0;
    }
}

/* One line of /proc/self/cgroup: "id:controller,controller:/path". */
static void read_membership(const char *root, char *line, look_t *look, void *arg)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    line[strcspn(line, "\n")] = 0;
    *path++ = 0;
    if (!*++controllers) {
        read_path(root, "", path, look, arg);
        read_path(root, "unified", path, look, arg);
        return;
    }
    if (strchr(controllers, ','))
        read_path(root, controllers, path, look, arg);
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (!strcmp(name, "cpu") || !strcmp(name, "cpuset") || !strcmp(name, "memory") || !strcmp(name, "pids"))
            read_path(root, name, path, look, arg);
}

void hx_cgroup_folders(const char *root, look_t *look, void *arg)
{
    char line[4096 + 256];
    FILE *in = hx_cgroup_open(root, "proc/self/cgroup");
    while (in && fgets(line, sizeof line, in))
        read_membership(root, line, look, arg);
    if (in)
        fclose(in);
}

/* The page cache of the group, which the kernel reclaims first. Version 1 lists it without the groups below, and then with them, as
 * "total_...". */
static uint64_t cached_bytes(const char *dir)
{
    char line[256];
    unsigned long long bytes, active = 0, inactive = 0;
    FILE *in = hx_cgroup_open(dir, "memory.stat");
    while (in && fgets(line, sizeof line, in)) {
        const char *key = strncmp(line, "total_", 6) ? line : line + 6;
        if (sscanf(key, "active_file %llu", &bytes) == 1)
            active = bytes;
        else if (sscanf(key, "inactive_file %llu", &bytes) == 1)
            inactive = bytes;
    }
    if (in)
        fclose(in);
    return active + inactive;
}

/* 0: no number, as in "max". */
static int read_bytes(const char *dir, const char *file, uint64_t *bytes)
{
    char line[64], *end = line;
    if (hx_cgroup_line(dir, file, line, sizeof line))
        *bytes = strtoull(line, &end, 10);
    return end != line;
}

static void read_left(const char *dir, void *arg)
{
    static const char *const files[][2] = {{"memory.max", "memory.current"}, {"memory.limit_in_bytes", "memory.usage_in_bytes"}};
    uint64_t *least = arg, limit = 0, used = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (read_bytes(dir, files[i][0], &limit) && read_bytes(dir, files[i][1], &used)) {
            uint64_t cached = cached_bytes(dir), taken = used > cached ? used - cached : 0, left = limit > taken ? limit - taken : 0;
            *least = left < *least ? left : *least;
        }
}

uint64_t hx_cgroup_memory_left(const char *root)
{
    uint64_t left = UINT64_MAX;
    hx_cgroup_folders(root, read_left, &left);
    return left;
}
