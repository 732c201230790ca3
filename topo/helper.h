/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a helper thread of this process should run. Units are processing units, by the operating system's numbers.
 *
 * Of each core that the process may use one unit is a candidate. Best is a core next to the network interface, then one
 * of the last-level cache that the program's thread has, then the highest: programs fill their cores from the lowest on.
 * The core where the program's thread runs comes last. A process that has one core only has no candidate: its helper
 * stays with it.
 */
#ifndef HX_TOPO_HELPER_H
#define HX_TOPO_HELPER_H
#include "topo/nic.h"
#include <pthread.h>

/* Fill units with at most capacity of them, best first; returns how many. nic: NULL where there is none; program_unit:
 * where the program's thread runs, -1 if unknown. */
int hx_helper_units(const struct hx_topo *topo, const struct hx_nic *nic, int program_unit, int *units, int capacity);

/* Read a list such as "6,7" or "12-15", in its order: fills at most capacity of units, returns how many. Each must be one
 * that the cgroups' cpusets leave to this process, whatever its binding. Returns -1 with what is wrong in error
 * otherwise. */
int hx_helper_units_parse(const struct hx_topo *topo, const char *list, int *units, int capacity,
                          char error[HX_TOPO_ERROR_BYTES]);

/* Bind the thread to this unit. Returns 0, or -1 with errno set. */
int hx_helper_pin(const struct hx_topo *topo, pthread_t thread, int unit);

#endif
