/* SPDX-License-Identifier: BSD-3-Clause */
/* What an offer says of its device, as efa_prov_info_set_nic_attr of libfabric 1.17 to 2.6 does: name, PCI address, rate; and as its
 * source address a GID. libfabric copies and frees all this by the functions here. */
#include "efa.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCI_DOMAIN 0xefa0 /* this machine has no such device */

static int nic_close(struct fid *fid)
{
    struct fid_nic *nic = container(fid, struct fid_nic, fid);

    free(nic->device_attr->name);
    free(nic->device_attr->driver);
    free(nic->link_attr->address);
    free(nic->link_attr->network_type);
    free(nic->device_attr);
    free(nic->bus_attr);
    free(nic->link_attr);
    free(nic);
    return 0;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
    const struct fid_nic *nic = container(fid, struct fid_nic, fid);

    if (command != FI_DUP)
        return -FI_ENOSYS;
    *(struct fid_nic **)arg = efa_nic_make(nic->bus_attr->attr.pci.bus_id);
    return 0;
}

struct fid_nic *efa_nic_make(int number)
{
    static struct fi_ops ops = {.size = sizeof(ops), .close = nic_close, .control = nic_control};
    struct fid_nic *nic = calloc(1, sizeof(*nic));
    char name[32];

    if (!nic || !(nic->device_attr = calloc(1, sizeof(*nic->device_attr))) || !(nic->bus_attr = calloc(1, sizeof(*nic->bus_attr))) ||
        !(nic->link_attr = calloc(1, sizeof(*nic->link_attr))))
        abort();
    snprintf(name, sizeof(name), "rdmap%ds6", number);
    nic->fid = (struct fid){.fclass = FI_CLASS_NIC, .ops = &ops};
    nic->device_attr->name = strdup(name);
    nic->device_attr->driver = strdup("efa");
    *nic->bus_attr = (struct fi_bus_attr){.bus_type = FI_BUS_PCI, .attr.pci = {.domain_id = PCI_DOMAIN, .bus_id = (uint8_t)number, .device_id = 6}};
    nic->link_attr->address = strdup("fe80::");
    nic->link_attr->mtu = 8760;
    nic->link_attr->speed = 100000000000;
    nic->link_attr->state = FI_LINK_UP;
    nic->link_attr->network_type = strdup("Ethernet");
    return nic;
}

void efa_source_set(struct fi_info *info, int number)
{
    uint8_t *name = calloc(1, EFA_NAME_BYTES);

    if (!name)
        abort();
    name[0] = 0xfe;
    name[1] = 0x80;
    name[15] = (uint8_t)(number + 1);
    info->src_addr = name;
    info->src_addrlen = EFA_NAME_BYTES;
}
