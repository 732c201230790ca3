/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network interfaces and their distance from this process. Callers pass what libfabric reports as plain PCI addresses and names, so
 * topo does not depend on libfabric.
 */
#pragma once

#include "topo/place.h"

struct hx_nic {
    char name[64];          /* libfabric domain name or rdma device name: "rdmap16s27", "eth0" */
    int has_pci;            /* the PCI fields are valid */
    unsigned domain, bus, device, function;
    uint64_t rate_bits;     /* link rate in bit/s; 0: unknown */
    int up;                 /* link is up */
    int loopback;           /* loopback or container bridge: used only if there is nothing else */
    uint32_t network;       /* a hash of its network's name */
    int routed;             /* the kernel routes messages by network: different networks do not reach each other */
    int address;            /* index among the addresses of its interface; 0: the one that was added first */
    int stacked;            /* on top of another interface, such as a VLAN */
    int software;           /* no device, and not on top of one: a tunnel, a bridge, a veth. Its rate is nominal */
    int efa;                /* an AWS EFA device */
    int distance;           /* out: 0 same NUMA node or L3 as this thread, 1 same socket, 2 other socket, 3 unknown */
    int shadowed;           /* out: routed, and another interface is in the same network, so this one adds nothing */
    int id;                 /* for the caller */
};

/* Fill .distance of each nic for the place of this process. */
void hx_nic_distances(const struct hx_topo *topo, struct hx_nic *nics, int n);

/* The kernel's number of the NUMA node next to the nic; -1: unknown, or it belongs to several. */
int hx_nic_numa_os(const struct hx_topo *topo, const struct hx_nic *nic);

/* rdma-core's devices with rate and state; EFA devices by efadv_query_device. Returns their number, which may exceed capacity;
 * fills at most capacity. Opens each device, so call it once per node. */
int hx_nic_rdma_list(struct hx_nic *nics, int capacity);

/* Devices on the PCI bus whose "vendor:device" matches the pattern of fnmatch(3), as in "0x1d0f:0xefa*". They need no driver. sys: "/sys" or
 * a captured copy. */
int hx_nic_pci_count(const char *sys, const char *pattern);

/* Why this process cannot open any RDMA device, and what to do about it. NULL: it can open one. dev: "/dev" or a copy. */
struct hx_nic_obstacle {
    const char *why, *remedy;
};
const struct hx_nic_obstacle *hx_nic_rdma_obstacle(const char *dev);

/* Link rate in bit/s from the active_speed and active_width codes of a port; 0 for unknown codes. */
uint64_t hx_nic_rdma_rate(unsigned speed, unsigned width);

/* Fill .rate_bits, .stacked and .software of a kernel interface by its name, from sys ("/sys" or a captured copy). */
void hx_nic_kernel_read(const char *sys, struct hx_nic *nic);

/* Order nics best first: up before down, real before loopback, devices before software, near before far, fast before slow, one for
 * each network, a device before interfaces on top of it, then by name. Returns how many of the first are equally good. A kernel
 * interface of unknown rate is equal only to its own other addresses. */
int hx_nic_near(struct hx_nic *nics, int n);

/* Divide n equally good NICs among `sharers` ranks of this node; fill taken[max] with those of rank `index`, the first choice
 * first. If there are more NICs than sharers, each rank takes several, at most max; else one in turn. If the NICs do not reach each
 * other, each rank takes all, starting at its turn. Returns their number. */
int hx_nic_share(const struct hx_nic *nics, int n, int index, int sharers, int max, int *taken);
