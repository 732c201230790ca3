/* SPDX-License-Identifier: BSD-3-Clause */
/* A node may have network devices that libfabric does not offer: it was built without their provider, rdma-core lacks their driver, or
 * this process may not open them. Then messages would use TCP, and nothing would say so. */
#include "inter/fabric/provider.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"

void hx_device_unused_warn(const char *used, unsigned number, uint32_t refused)
{
    const char *sys = hx_fabric_test.sys ? hx_fabric_test.sys : "/sys", *dev = hx_fabric_test.dev ? hx_fabric_test.dev : "/dev";
    const uint32_t version = fi_version();

    if (hx_env_launcher("FI_PROVIDER")) /* the user has chosen, and coll_info --doctor shows it */
        return;
    for (unsigned i = 0; i < number; i++) {
        const struct hx_provider_traits *row = hx_provider_row(i);
        const struct hx_nic_obstacle *obstacle;
        const int devices = row->pci && !(refused >> i & 1) ? hx_nic_pci_count(sys, row->pci) : 0;
        if (devices == 0)
            continue;
        obstacle = hx_nic_rdma_obstacle(dev);
        if (obstacle)
            hx_warn("this node uses libfabric provider %s, not its %d device%s for provider %s: %s (to mend it: %s)", used, devices,
                    devices > 1 ? "s" : "", row->names[0], obstacle->why, obstacle->remedy);
        else
            hx_warn("this node uses libfabric provider %s, not its %d device%s for provider %s: libfabric %u.%u does not offer them (to mend it: %s)",
                    used, devices, devices > 1 ? "s" : "", row->names[0], FI_MAJOR(version), FI_MINOR(version), row->remedy);
    }
}
