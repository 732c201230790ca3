/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of struct hx_topo, for the files of topo only. */
#ifndef HX_TOPO_MACHINE_H
#define HX_TOPO_MACHINE_H
#include "topo/cores.h"
#include "topo/nic.h"

struct hx_topo {
    hwloc_topology_t hwloc; /* the whole machine: what is near to what does not depend on limits */
    struct hx_cores cores;
    int described; /* from a file or a description: nothing may be asked of the machine we run on */
};

/* As hx_nic_distances, from these processing units. */
int hx_nic_distance(const struct hx_topo *topo, hwloc_const_bitmap_t here, const struct hx_nic *nic);

#endif
