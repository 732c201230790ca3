# SPDX-License-Identifier: BSD-3-Clause
hx_sources += topo/cgroup.c topo/cgroup.h topo/cores.c topo/cpu_model.c topo/cpu_model.h topo/helper.c \
    topo/helper.h topo/levels.c topo/machine.h topo/nic.c topo/nic.h topo/nic_devices.c topo/node_groups.c topo/node_groups.h topo/place.c \
    topo/place.h topo/ring_order.c topo/ring_order.h topo/shape.c topo/shape.h
