/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about a process, from /proc. */
#pragma once

enum hx_process_field { HX_PROCESS_PARENT = 4, HX_PROCESS_THREADS = 20 }; /* field numbers of /proc/PID/stat: see proc(5) */

/* pid 0: this process. Returns 0 if it cannot be read. */
int hx_process_stat(int pid, enum hx_process_field field);
