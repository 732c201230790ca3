/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of struct hx_topo, for the files of topo only. */
#ifndef HX_MACHINE_H
#define HX_MACHINE_H
#include "cores.h"
#include "place.h"

struct hx_topo {
    hwloc_topology_t hwloc; /* the whole machine: what is near to what does not depend on limits */
    struct hx_cores cores;
    int described; /* from a file or a description: nothing may be asked of the machine we run on */
};

#endif
