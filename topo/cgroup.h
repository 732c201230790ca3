/* SPDX-License-Identifier: BSD-3-Clause */
/* The control groups that this process is in: their folders, and what memory they leave. root, as in cores.h, is put before /proc/... and
 * /sys/fs/cgroup/... */
#ifndef HX_TOPO_CGROUP_H
#define HX_TOPO_CGROUP_H
#include <stdint.h>
#include <stdio.h>

/* dir/file; NULL: it is not there. */
FILE *hx_cgroup_open(const char *dir, const char *file);
/* First line of dir/file, without the newline; 0 when it is not there, too long, or empty. */
int hx_cgroup_line(const char *dir, const char *file, char *line, int capacity_bytes);
/* Call look with each folder. */
void hx_cgroup_folders(const char *root, void (*look)(const char *dir, void *arg), void *arg);
/* Bytes that the process can get before the tightest memory limit kills a process of its group; UINT64_MAX: no limit can be read. */
uint64_t hx_cgroup_memory_left(const char *root);

#endif
