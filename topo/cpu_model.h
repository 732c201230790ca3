/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor of this machine by name: part of what a table or a report is good for. */
#ifndef HX_TOPO_CPU_MODEL_H
#define HX_TOPO_CPU_MODEL_H

#define HX_CPU_MODEL_BYTES 64

/* As Linux tells it on x86 and on ARM; else "unknown". */
void hx_cpu_model(char model[HX_CPU_MODEL_BYTES]);

#endif
