/* SPDX-License-Identifier: BSD-3-Clause */
/* The composition root: the only place of the library that knows all of its parts. */
#include "runtime/ports/ports.h"

const struct hx_registry hx_registry = {
    .node = &hx_node_segment,
    .net = &hx_net_fabric,
    .planner = &hx_planner_hier,
};
