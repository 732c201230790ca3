/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of this process on its machine, from hwloc, within its cpuset and cgroup. */
#pragma once

#include "topo/shape.h"
#include <limits.h>

struct hx_topo; /* the machine as this process sees it (hwloc topology) */

#define HX_PLACE_MASK_WORDS 16 /* 1024 processing units */

struct hx_place {
    int numa_os;                /* the kernel's number of that NUMA node; -1: the binding spans several */
    int core, l3, numa, socket; /* logical hwloc indices of the thread's binding; -1: it spans several */
    int allowed_cpus;           /* processing units in the cpuset */
    int bound_cpus;             /* of these, those that the calling thread may run on */
    double quota_cpus;          /* cgroup quota (v1 or v2) in processing units; 0: none */
    double usable_cpus;         /* the smaller of allowed_cpus and the quota; > 0 */
    size_t l2_bytes;            /* per core; 0 unknown */
    size_t llc_bytes;           /* last-level caches of the allowed machine, summed; 0 unknown */
    size_t memory_limit_bytes;  /* cgroup limit, else the machine's memory */
    char hostname[HOST_NAME_MAX + 1];
    /* Bit p: the calling thread may run on the processing unit with OS index p. Several ranks have the cores of all their masks
     * together, or quota_cpus if that is less. A launcher may bind each rank to its own core. */
    uint64_t bound_mask[HX_PLACE_MASK_WORDS];
};

/* hwloc loads all its plugins when it starts, with the libraries of displays and accelerators that they need. It leaves out those that this
 * variable names. */
#define HX_HWLOC_WITHOUT "HWLOC_PLUGINS_BLACKLIST"
#define HX_HWLOC_UNNEEDED "hwloc_cuda,hwloc_nvml,hwloc_rsmi,hwloc_levelzero,hwloc_opencl,hwloc_gl,hwloc_pci,hwloc_xml_libxml"

/* xml: NULL for this machine; else a captured hwloc XML file or a synthetic description ("pack:2 l3:4 core:6 pu:1"). cgroup_root:
 * for tests, a folder with captured proc/self/cgroup, proc/thread-self/status and sys/fs/cgroup/...; NULL: this machine's, or no
 * limits if xml is given. devices: with the I/O devices, which hx_nic_distances and hx_nic_numa_os need; hwloc takes several times as
 * long for them as for the rest. Returns 0, or -1 with a message in error. */
int hx_topo_open(const char *xml, const char *cgroup_root, int devices, struct hx_topo **topo, char error[HX_TOPO_ERROR_BYTES]);
struct hx_machine_size { /* of the whole machine, whatever this process may use; cpus: processing units */
    int sockets, numa_nodes, l3_caches, cores, cpus;
};

void hx_topo_size(const struct hx_topo *topo, struct hx_machine_size *size);
void hx_topo_place(const struct hx_topo *topo, struct hx_place *place);
/* Processing units of this process's cpuset in the NUMA node of this kernel's number; 0: there is no such node. */
int hx_topo_numa_cpus(const struct hx_topo *topo, int numa_os);
void hx_topo_close(struct hx_topo *topo);

/* Equal for processes in one network namespace of one machine, which share their addresses, loopback too. 0: unknown. */
uint64_t hx_topo_network_id(void);
