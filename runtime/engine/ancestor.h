/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes and the ones that they descend from. */
#pragma once

#include "runtime/ports/node.h"

/* The nearest common ancestor of all ranks of this node: its pid. As a rule it is a launcher's process; it may be this process. 0: this
 * process sees none, because the ranks are in several pid namespaces, there is no /proc, or a launcher outside the namespace has started
 * each rank. */
int hx_ancestor_of_node(const struct hx_shared *shared);
