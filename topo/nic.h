/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network interfaces and how near they are to this process. From rdma-core devices and from what libfabric reports
 * (fi_info.nic), which the caller passes as plain PCI addresses and names, so that topo needs no libfabric endpoint.
 */
#ifndef HX_TOPO_NIC_H
#define HX_TOPO_NIC_H
#include "topo/place.h"

struct hx_nic {
    char name[64];          /* libfabric domain name or rdma device name: "rdmap16s27", "eth0" */
    int has_pci;            /* the PCI fields are valid */
    unsigned domain, bus, device, function;
    uint64_t rate_bits;     /* link rate in bit/s; 0 unknown */
    int up;                 /* link is up */
    int loopback;           /* loopback or container-bridge device: used only when there is nothing else */
    uint32_t network;       /* a hash of its network's name */
    /* the kernel picks a message's way by its network: unlike networks do not reach each other */
    int routed;
    int address;            /* place among the addresses of its interface: 0 the one that it was given first */
    int stacked;            /* lies on another interface, as a VLAN does */
    int software;           /* neither a device nor lies on one: a tunnel, a bridge or one end of a pair; its rate is nominal */
    int efa;                /* an AWS EFA device */
    uint32_t efa_caps;      /* its EFADV_DEVICE_ATTR_CAPS_* */
    int distance;           /* out: 0 same NUMA node or L3 as this thread, 1 same socket, 2 other socket, 3 unknown */
    int shadowed;           /* out: routed, and another is in the same network, so that it would carry nothing more */
    int id;                 /* the caller's own */
};

/* Fill .distance of each nic for the place of this process. */
void hx_nic_distances(const struct hx_topo *topo, struct hx_nic *nics, int n);

/* rdma-core's devices with their rate and state; EFA devices by efadv_query_device. Returns their number (0 where there
 * is none), which may be more than capacity; fills at most capacity. Opens each device: call it once per node. */
int hx_nic_rdma_list(struct hx_nic *nics, int capacity);

/* Link rate in bit/s from the active_speed and active_width codes of a port; 0 for unknown codes. */
uint64_t hx_nic_rdma_rate(unsigned speed, unsigned width);

/* Fill .rate_bits, .stacked and .software of a kernel's interface by its name, as sys ("/sys", or a captured copy) tells. */
void hx_nic_kernel_read(const char *sys, struct hx_nic *nic);

/* Order nics best first: up before down, real before loopback, devices before software, near before far, fast before slow, one for each network,
 * a device before what lies on it, then by name. Returns how many, from the first on, are equally good: an interface
 * of the kernel's whose rate nobody knows is good for itself only, with all its addresses. 0 when n is 0. */
int hx_nic_near(struct hx_nic *nics, int n);

/* Which of these equally good NICs does rank `index` of the `sharers` ranks of this node take that find them so? Where
 * there are more NICs than sharers each takes several, at most max; else they take one in turn. Of NICs that do not
 * reach each other each takes all, beginning with its turn. Fills taken[max], the first choice first; returns their
 * number. */
int hx_nic_share(const struct hx_nic *nics, int n, int index, int sharers, int max, int *taken);

#endif
