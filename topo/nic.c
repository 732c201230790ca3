/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which network interfaces a rank uses: the best by state, distance and rate. Ranks that find the same ones equally good divide
 * them.
 *
 * Distance compares two sets of processing units: those that the thread is bound to, and those next to the device (the first
 * ordinary object above it in hwloc's tree). The smallest object that holds both sets gives the distance.
 */
#include "topo/nic.h"

#include <stdlib.h>
#include <string.h>

#include "topo/machine.h"

/* Does one object of this type hold both sets? */
static int one_holds(const struct hx_topo *topo, hwloc_obj_type_t type, hwloc_const_bitmap_t here, hwloc_const_bitmap_t there)
{
    hwloc_obj_t holder = hx_topo_holder(topo, type, here);
    return holder && hwloc_bitmap_isincluded(there, holder->cpuset);
}

/* By PCI address, else by the operating system's name, because libfabric's tcp reports only "eth0". */
static hwloc_obj_t find_device(hwloc_topology_t hwloc, const struct hx_nic *nic)
{
    hwloc_obj_t at = NULL;
    if (nic->has_pci)
        return hwloc_get_pcidev_by_busid(hwloc, nic->domain, nic->bus, nic->device, nic->function);
    while ((at = hwloc_get_next_osdev(hwloc, at)))
        if (at->name && !strcmp(at->name, nic->name))
            return at;
    return NULL;
}

/* The processing units next to it; NULL: unknown. */
static hwloc_const_bitmap_t units_near(const struct hx_topo *topo, const struct hx_nic *nic)
{
    hwloc_obj_t device = find_device(topo->hwloc, nic);
    hwloc_obj_t above = device ? hwloc_get_non_io_ancestor_obj(topo->hwloc, device) : NULL;
    return above && !hwloc_bitmap_iszero(above->cpuset) ? above->cpuset : NULL;
}

int hx_nic_numa_os(const struct hx_topo *topo, const struct hx_nic *nic)
{
    hwloc_const_bitmap_t there = units_near(topo, nic);
    return there ? hx_topo_numa_os(topo, there) : -1;
}

int hx_nic_distance(const struct hx_topo *topo, hwloc_const_bitmap_t here, const struct hx_nic *nic)
{
    hwloc_const_bitmap_t there = units_near(topo, nic);
    if (!there)
        return 3;
    if (one_holds(topo, HWLOC_OBJ_NUMANODE, here, there) || one_holds(topo, HWLOC_OBJ_L3CACHE, here, there))
        return 0;
    if (one_holds(topo, HWLOC_OBJ_PACKAGE, here, there))
        return 1;
    /* 2 needs two known sockets. A thread or device that belongs to the whole machine has no distance. */
    return hx_topo_holder(topo, HWLOC_OBJ_PACKAGE, here) && hx_topo_holder(topo, HWLOC_OBJ_PACKAGE, there) ? 2 : 3;
}

void hx_nic_distances(const struct hx_topo *topo, struct hx_nic *nics, int n)
{
    for (int i = 0; i < n; i++)
        nics[i].distance = hx_nic_distance(topo, topo->cores.bound, &nics[i]);
}

/* Negative when a is better. */
static int compare_merit(const struct hx_nic *a, const struct hx_nic *b)
{
    const uint64_t faults[][2] = { /* the lower is better */
        {!a->up, !b->up},
        {!!a->loopback, !!b->loopback},
        {!!a->software, !!b->software},
        {(uint64_t)a->distance, (uint64_t)b->distance},
        {b->rate_bits, a->rate_bits},
        {!!a->shadowed, !!b->shadowed},
        {!!a->stacked, !!b->stacked},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i][0] != faults[i][1])
            return faults[i][0] < faults[i][1] ? -1 : 1;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct hx_nic *a = left, *b = right;
    int order = compare_merit(a, b);

    if (!order)
        order = (a->address > b->address) - (a->address < b->address);
    return order ? order : strcmp(a->name, b->name);
}

int hx_nic_near(struct hx_nic *nics, int n)
{
    int near = 1;

    if (n < 1)
        return 0;
    for (int i = 0; i < n; i++)
        nics[i].shadowed = 0;
    qsort(nics, (size_t)n, sizeof *nics, compare);
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            nics[i].shadowed |= nics[i].routed && nics[k].routed && nics[i].network == nics[k].network;
    qsort(nics, (size_t)n, sizeof *nics, compare);
    for (int i = 1; i < n && !compare_merit(&nics[0], &nics[i]); i++)
        if (nics[i].rate_bits || !nics[i].routed || !strcmp(nics[i].name, nics[0].name)) {
            struct hx_nic nic = nics[i];
            nics[i] = nics[near];
            nics[near++] = nic;
        }
    return near;
}

int hx_nic_share(const struct hx_nic *nics, int n, int index, int sharers, int max, int *taken)
{
    int unlike = 0, first = 0, count;

    if (n < 1)
        return 0;
    if (index < 0 || index >= sharers)
        index = 0, sharers = 1;
    for (int i = 1; i < n; i++)
        unlike |= nics[i].routed && nics[i].network != nics[0].network;
    count = n < max ? n : max;
    if (!unlike) { /* each rank has its own part */
        first = sharers < n ? (int)((int64_t)index * n / sharers) : index % n;
        n = sharers < n ? (int)(((int64_t)index + 1) * n / sharers) - first : 1;
        count = n < max ? n : max;
        index = 0;
    }
    for (int i = 0; i < count; i++)
        taken[i] = first + (index + i) % count;
    return count;
}
