/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of a processing unit for a helper thread of this process. Units are processing units, as the operating
 * system numbers them.
 *
 * Each core that the process may use has one candidate unit. The order is: cores near the network interface first, then those that
 * share the last-level cache of the program's thread, then the highest number, because programs use low cores first. The core of
 * the program's thread is last. A process with a single core has no candidate: the helper shares that core.
 */
#pragma once

#include "topo/nic.h"
#include <pthread.h>

/* Fill units with at most capacity candidates, best first; returns how many. nic: NULL if there is none; program_unit: of the
 * program's thread, -1: unknown. */
int hx_helper_units(const struct hx_topo *topo, const struct hx_nic *nic, int program_unit, int *units, int capacity);

/* Read a list such as "6,7" or "12-15", in its order. Fills at most capacity units, returns how many. The cgroups' cpusets must
 * allow each unit; the thread's binding does not matter. Returns -1 with a message in error. */
int hx_helper_units_parse(const struct hx_topo *topo, const char *list, int *units, int capacity,
                          char error[HX_TOPO_ERROR_BYTES]);

/* Bind the thread to this unit. Returns 0, or -1 with errno set. */
int hx_helper_pin(const struct hx_topo *topo, pthread_t thread, int unit);
