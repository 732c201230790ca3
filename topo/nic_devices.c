/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network interfaces as the kernel describes them (/sys/class/net), and RDMA devices as rdma-core lists them.
 *
 * An RDMA device that cannot be opened or queried (no permission, no driver) is listed as down, so that coll_info can show it.
 */
#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo/nic.h"

#define LAYERS 8 /* most interfaces stacked on each other */

/* Is this interface a device, or stacked on one? -1: there is no such interface. *stacked: number of interfaces directly below
 * it. */
static int is_device(const char *sys, const char *name, int layers, int *stacked)
{
    char path[PATH_MAX];
    int found, below;

    snprintf(path, sizeof path, "%s/class/net/%s/device", sys, name);
    found = access(path, F_OK) == 0;
    *strrchr(path, '/') = 0;
    DIR *folder = opendir(path);
    *stacked = 0;
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (!strncmp(entry->d_name, "lower_", 6)) { /* a link to the interface below: lower_eth0 */
            ++*stacked;
            found |= layers > 0 && is_device(sys, entry->d_name + 6, layers - 1, &below) > 0;
        }
    closedir(folder);
    return found;
}

void hx_nic_kernel_read(const char *sys, struct hx_nic *nic)
{
    char path[PATH_MAX];
    long mbit = 0;

    snprintf(path, sizeof path, "%s/class/net/%s/speed", sys, nic->name);
    FILE *file = fopen(path, "r");
    if (file) { /* unknown: -1, or an error on reading */
        if (fscanf(file, "%ld", &mbit) != 1 || mbit < 0)
            mbit = 0;
        fclose(file);
    }
    nic->rate_bits = (uint64_t)mbit * 1000000;

    nic->software = is_device(sys, nic->name, LAYERS, &nic->stacked) == 0;
    nic->stacked = nic->stacked > 0;
}

/* ---- devices that may have no driver */

/* The first line of this file of a device's folder; "": none. */
static void read_id(const char *folder, const char *file, char id[16])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *in = fopen(path, "r");
    if (!in || fscanf(in, "%15s", id) != 1)
        *id = 0;
    if (in)
        fclose(in);
}

int hx_nic_pci_count(const char *sys, const char *pattern)
{
    char path[PATH_MAX], vendor[16], device[16], both[32];
    glob_t found = { .gl_pathc = 0 };
    int n = 0;

    snprintf(path, sizeof path, "%s/bus/pci/devices/*", sys);
    glob(path, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        read_id(found.gl_pathv[i], "vendor", vendor);
        read_id(found.gl_pathv[i], "device", device);
        snprintf(both, sizeof both, "%s:%s", vendor, device);
        n += fnmatch(pattern, both, 0) == 0;
    }
    globfree(&found);
    return n;
}

const struct hx_nic_obstacle *hx_nic_rdma_obstacle(const char *dev)
{
    static const struct hx_nic_obstacle
        absent = { "there is no /dev/infiniband", "modprobe efa; in a container: --device /dev/infiniband/uverbs0" },
        forbidden = { "this process may not open /dev/infiniband/uverbs*", "chmod a+rw /dev/infiniband/uverbs*" };
    char path[PATH_MAX];
    glob_t found = { .gl_pathc = 0 };
    int usable = 0;

    snprintf(path, sizeof path, "%s/infiniband/uverbs*", dev);
    glob(path, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        usable |= access(found.gl_pathv[i], R_OK | W_OK) == 0;
    globfree(&found);
    *strrchr(path, '/') = 0;
    return usable ? NULL : access(path, F_OK) == 0 ? &forbidden : &absent;
}

/* ---- rdma-core */

uint64_t hx_nic_rdma_rate(unsigned speed, unsigned width)
{
    /* Per lane, in units of 1/32 Gbit/s for exactness; the kernel's codes are powers of two: SDR 1, DDR, QDR, FDR10,
     * FDR, EDR, HDR, NDR 128. */
    static const unsigned lane[] = { 80, 160, 320, 330, 450, 800, 1600, 3200 };
    static const unsigned lanes[] = { 1, 4, 8, 12, 2 };
    for (unsigned s = 0; s < sizeof lane / sizeof *lane; s++)
        for (unsigned w = 0; w < sizeof lanes / sizeof *lanes; w++)
            if (speed == 1u << s && width == 1u << w)
                return (uint64_t)lane[s] * lanes[w] * (UINT64_C(1000000000) / 32);
    return 0;
}

/* ".../device" links to the PCI device's folder, whose name is its address. Software devices have none. */
static void read_pci(const struct ibv_device *device, struct hx_nic *nic)
{
    char link[IBV_SYSFS_PATH_MAX + 8], folder[PATH_MAX];
    snprintf(link, sizeof link, "%s/device", device->ibdev_path);
    if (realpath(link, folder))
        nic->has_pci = sscanf(strrchr(folder, '/') + 1, "%x:%x:%x.%x", &nic->domain, &nic->bus, &nic->device,
                              &nic->function) == 4;
}

static void read_device(struct ibv_device *device, struct hx_nic *nic)
{
    *nic = (struct hx_nic){ .distance = 3 };
    snprintf(nic->name, sizeof nic->name, "%s", ibv_get_device_name(device));
    read_pci(device, nic);
    struct ibv_context *context = ibv_open_device(device);
    if (!context)
        return;
    struct efadv_device_attr efa;
    nic->efa = !efadv_query_device(context, &efa, sizeof efa);
    struct ibv_port_attr port;
    if (!ibv_query_port(context, 1, &port)) {
        nic->up = port.state == IBV_PORT_ACTIVE;
        nic->rate_bits = hx_nic_rdma_rate(port.active_speed, port.active_width);
    }
    ibv_close_device(context);
}

int hx_nic_rdma_list(struct hx_nic *nics, int capacity)
{
    int n = 0;
    struct ibv_device **devices = ibv_get_device_list(&n); /* NULL where the kernel has no RDMA */
    if (!devices)
        return 0;
    for (int i = 0; i < n && i < capacity; i++)
        read_device(devices[i], &nics[i]);
    ibv_free_device_list(devices);
    return n;
}
