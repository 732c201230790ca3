/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network interfaces and how near they are to this process. From rdma-core devices and from what libfabric reports
 * (fi_info.nic), which the caller passes as plain PCI addresses and names, so that topo needs no libfabric endpoint.
 */
#ifndef HX_NIC_H
#define HX_NIC_H
#include "place.h"

struct hx_nic {
    char name[64];          /* libfabric domain name or rdma device name: "rdmap16s27", "eth0" */
    int has_pci;            /* the PCI fields are valid */
    unsigned domain, bus, device, function;
    uint64_t rate_bits;     /* link rate in bit/s; 0 unknown */
    int up;                 /* link is up */
    int loopback;           /* loopback or container-bridge device: used only when there is nothing else */
    int efa;                /* an AWS EFA device */
    uint32_t efa_caps;      /* its EFADV_DEVICE_ATTR_CAPS_* */
    int distance;           /* out: 0 same NUMA node or L3 as this thread, 1 same socket, 2 other socket, 3 unknown */
};

/* Fill .distance of each nic for the place of this process. */
void hx_nic_distances(const struct hx_topo *topo, struct hx_nic *nics, int n);

/* rdma-core's devices with their rate and state; EFA devices by efadv_query_device. Returns their number (0 where there
 * is none), which may be more than capacity; fills at most capacity. Opens each device: call it once per node. */
int hx_nic_rdma_list(struct hx_nic *nics, int capacity);

/* Link rate in bit/s from the active_speed and active_width codes of a port; 0 for unknown codes. */
uint64_t hx_nic_rdma_rate(unsigned speed, unsigned width);

/* Order nics best first: up before down, real before loopback, near before far, fast before slow, then by name; rank
 * local_rank of the ranks that share the nearest ones takes [local_rank modulo number of equally good nics]. Returns
 * the chosen index (of the reordered nics), or -1 when n is 0. */
int hx_nic_choose(struct hx_nic *nics, int n, int local_rank);

#endif
