/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside struct hx_topo, for the files of topo only. */
#pragma once

#include "topo/nic.h"
#include <hwloc.h>

/* The kernel's limits for this process: the cpuset, the cgroup's CPU quota and memory limit, the thread's binding. */
struct hx_cores {
    hwloc_bitmap_t allowed; /* in: the machine's processing units; out: those that the cgroups' cpusets leave */
    hwloc_bitmap_t bound;   /* out: those of allowed that the calling thread may run on; never empty */
    double quota_cpus;      /* out: the tightest CPU quota; 0: none */
    uint64_t memory_bytes;  /* out: the tightest memory limit; UINT64_MAX: none */
};

/* root is put before /proc/... and /sys/fs/cgroup/...: "" for this machine, a folder of captured files for tests. A file
 * that cannot be read sets no limit. */
void hx_cores_read(const char *root, struct hx_cores *cores);

struct hx_topo {
    hwloc_topology_t hwloc; /* the whole machine, without limits */
    struct hx_cores cores;
    int described; /* from a file or a description, not of this machine */
};

/* The object of this type that holds all these processing units, or NULL. */
hwloc_obj_t hx_topo_holder(const struct hx_topo *topo, hwloc_obj_type_t type, hwloc_const_bitmap_t units);

/* The kernel's number of the NUMA node that holds all these; -1: none does. */
int hx_topo_numa_os(const struct hx_topo *topo, hwloc_const_bitmap_t units);

/* As hx_nic_distances, from these processing units. */
int hx_nic_distance(const struct hx_topo *topo, hwloc_const_bitmap_t here, const struct hx_nic *nic);
