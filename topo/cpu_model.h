/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of this machine's processor. Its own file, because tools use it without hwloc. */
#pragma once

#define HX_CPU_MODEL_BYTES 64

/* From /proc/cpuinfo of x86 and ARM; else "unknown". */
void hx_cpu_model(char model[HX_CPU_MODEL_BYTES]);
