/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of nodes, as racks or placement groups (HX_NODE_GROUPS). Messages between nodes of different groups pass the uplinks of both
 * groups, which carry less than the links of all their nodes together.
 *
 *   nodes   0 1 2 3   4 5 6 7   8 9       "4" or "4,4,2"
 */
#pragma once

#include "topo/shape.h"
#include <stddef.h>

/* Parse a text for n nodes. "4": consecutive nodes in groups of 4, the last one possibly smaller. "4,4,2": groups of so many consecutive nodes,
 * with the sum n. group_of[i] becomes the group of node i. Returns 0, or -1 with a message in error; the caller adds the text to it. */
int hx_node_groups_parse(const char *text, int n, int *group_of, char *error, size_t error_bytes);

/* Set the groups of the shape's nodes from such a text. Returns 0, or -1 with a message, as above. */
int hx_node_groups_set(struct hx_shape *shape, const char *text, char *error, size_t error_bytes);
