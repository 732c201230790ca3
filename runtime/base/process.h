/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc tells of a process. */
#pragma once

enum hx_process_field { HX_PROCESS_PARENT = 4, HX_PROCESS_THREADS = 20 }; /* as proc(5) numbers what stands in /proc/PID/stat */

/* pid 0: this process. Returns 0 if it cannot be read. */
int hx_process_stat(int pid, enum hx_process_field field);
