/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes and the ones that they descend from. */
#ifndef HX_ANCESTOR_H
#define HX_ANCESTOR_H
#include "node.h"

/* The nearest process of which all ranks of this node descend, as a rule their launcher's; it may be this process. 0 where this process sees
 * none: the ranks live in several pid namespaces, there is no /proc, or a launcher outside has put each of them there. */
int hx_ancestor_of_node(const struct hx_shared *shared);

#endif
