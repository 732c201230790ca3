/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about a process, from /proc. */
#pragma once

#include <stdint.h>

enum hx_process_field { /* field numbers of /proc/PID/stat: see proc(5) */
    HX_PROCESS_PARENT = 4,
    HX_PROCESS_UTIME = 14,
    HX_PROCESS_STIME = 15,
    HX_PROCESS_THREADS = 20,
    HX_PROCESS_CPU = 39,
    HX_PROCESS_FIELDS
};

/* The numbers in such a file, of a process or a thread, at the places of their fields. Returns 0 if not all can be read. */
int hx_stat_read(const char *path, long long fields[HX_PROCESS_FIELDS]);
/* pid 0: this process. Returns 0 if it cannot be read. */
int hx_process_stat(int pid, enum hx_process_field field);
/* How long the main thread of this process was ready to run, but waited for a processing unit; 0 if the kernel does not tell. */
uint64_t hx_core_wait_ns(void);
