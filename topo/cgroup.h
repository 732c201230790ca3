/* SPDX-License-Identifier: BSD-3-Clause */
/* The control groups of this process: their folders, and the memory that they leave. root is put before /proc/... and
 * /sys/fs/cgroup/... */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Open dir/file; NULL: it does not exist. */
FILE *hx_cgroup_open(const char *dir, const char *file);
/* Read the first line of dir/file, without the newline. 0: the file does not exist, or the line is too long or empty. */
int hx_cgroup_line(const char *dir, const char *file, char *line, int capacity_bytes);
/* Call look with each folder. */
void hx_cgroup_folders(const char *root, void (*look)(const char *dir, void *arg), void *arg);
/* Bytes that the process can allocate before the tightest memory limit kills a process of its group; UINT64_MAX: no limit can be
 * read. */
uint64_t hx_cgroup_memory_left(const char *root);
