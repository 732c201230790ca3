/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place of this process: hwloc knows the machine, cores.c the limits of this process.
 *
 * The machine is an input. A captured XML file or a synthetic description can replace the real one, for tests and offline tools.
 */
#include "topo/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/cgroup.h"
#include "topo/machine.h"

static int set_source(hwloc_topology_t hwloc, const char *xml, char *error)
{
    if (!xml)
        return 0;
    int is_file = access(xml, R_OK) == 0;
    if ((is_file ? hwloc_topology_set_xml(hwloc, xml) : hwloc_topology_set_synthetic(hwloc, xml)) == 0)
        return 0;
    snprintf(error, HX_TOPO_ERROR_BYTES, "topology \"%.100s\": %s", xml,
             is_file ? "not an hwloc XML file"
                     : "neither a readable hwloc XML file nor a description such as \"pack:2 l3:4 core:6 pu:1\"");
    return -1;
}

static int load(hwloc_topology_t hwloc, const char *xml, int devices, char *error)
{
    /* Plugins for accelerators and displays take hundreds of milliseconds, may hang, and report nothing that is used. */
    static const char *const unneeded[] = { "cuda", "nvml", "rsmi", "levelzero", "opencl", "gl", "pci" };
    /* "pci" leaks in libpciaccess; without it hwloc reads the same from sysfs. */
    if (set_source(hwloc, xml, error))
        return -1;
    for (size_t i = 0; !xml && i < sizeof unneeded / sizeof *unneeded; i++)
        hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, unneeded[i]);
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (devices)
        hwloc_topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(hwloc) == 0)
        return 0;
    snprintf(error, HX_TOPO_ERROR_BYTES, "topology %.100s: hwloc cannot load it", xml ? xml : "of this machine");
    return -1;
}

int hx_topo_open(const char *xml, const char *cgroup_root, int devices, struct hx_topo **out, char error[HX_TOPO_ERROR_BYTES])
{
    *out = NULL;
    struct hx_topo *topo = calloc(1, sizeof *topo);
    if (!topo || hwloc_topology_init(&topo->hwloc)) {
        snprintf(error, HX_TOPO_ERROR_BYTES, "topology: no memory");
        free(topo);
        return -1;
    }
    topo->described = xml != NULL;
    if (load(topo->hwloc, xml, devices, error))
        goto close;
    topo->cores.allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topo->hwloc));
    topo->cores.bound = hwloc_bitmap_dup(topo->cores.allowed);
    topo->cores.memory_bytes = UINT64_MAX;
    if (!topo->cores.allowed || !topo->cores.bound || hwloc_bitmap_iszero(topo->cores.allowed)) {
        snprintf(error, HX_TOPO_ERROR_BYTES, "topology %.100s: no processing unit", xml ? xml : "of this machine");
        goto close;
    }
    if (!xml || cgroup_root)
        hx_cores_read(cgroup_root ? cgroup_root : "", &topo->cores);
    *out = topo;
    return 0;
close:
    hx_topo_close(topo);
    return -1;
}

void hx_topo_close(struct hx_topo *topo)
{
    if (!topo)
        return;
    hwloc_bitmap_free(topo->cores.allowed);
    hwloc_bitmap_free(topo->cores.bound);
    hwloc_topology_destroy(topo->hwloc);
    free(topo);
}

hwloc_obj_t hx_topo_holder(const struct hx_topo *topo, hwloc_obj_type_t type, hwloc_const_bitmap_t units)
{
    hwloc_obj_t at = NULL;
    while ((at = hwloc_get_next_obj_by_type(topo->hwloc, type, at)) && !hwloc_bitmap_isincluded(units, at->cpuset))
        ;
    return at;
}

/* Logical index of the object of this type that holds the binding; -1: it spans several. */
static int index_of(const struct hx_topo *topo, hwloc_obj_type_t type)
{
    hwloc_obj_t holder = hx_topo_holder(topo, type, topo->cores.bound);
    return holder ? (int)holder->logical_index : -1;
}

int hx_topo_numa_os(const struct hx_topo *topo, hwloc_const_bitmap_t units)
{
    hwloc_obj_t node = hx_topo_holder(topo, HWLOC_OBJ_NUMANODE, units);
    return node ? (int)node->os_index : -1;
}

int hx_topo_numa_cpus(const struct hx_topo *topo, int numa_os)
{
    hwloc_obj_t node = numa_os >= 0 ? hwloc_get_numanode_obj_by_os_index(topo->hwloc, (unsigned)numa_os) : NULL;
    int n = 0;
    for (int cpu = -1; node && (cpu = hwloc_bitmap_next(node->cpuset, cpu)) >= 0;)
        n += hwloc_bitmap_isset(topo->cores.allowed, (unsigned)cpu);
    return n;
}

static size_t l2_bytes(const struct hx_topo *topo)
{
    hwloc_obj_t l2 = hwloc_get_next_obj_covering_cpuset_by_type(topo->hwloc, topo->cores.bound, HWLOC_OBJ_L2CACHE, NULL);
    int cores = l2 ? hwloc_get_nbobjs_inside_cpuset_by_type(topo->hwloc, l2->cpuset, HWLOC_OBJ_CORE) : 0;
    return l2 ? (size_t)l2->attr->cache.size / (size_t)(cores > 0 ? cores : 1) : 0;
}

static size_t llc_bytes(const struct hx_topo *topo)
{
    static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE };
    size_t bytes = 0;
    for (size_t i = 0; !bytes && i < sizeof levels / sizeof *levels; i++)
        for (hwloc_obj_t at = NULL;
             (at = hwloc_get_next_obj_covering_cpuset_by_type(topo->hwloc, topo->cores.allowed, levels[i], at));)
            bytes += (size_t)at->attr->cache.size;
    return bytes;
}

static size_t memory_bytes(const struct hx_topo *topo)
{
    uint64_t bytes = hwloc_get_root_obj(topo->hwloc)->total_memory;
    if (!topo->described && sysconf(_SC_PHYS_PAGES) > 0) /* NUMA nodes do not count memory added later */
        bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return (size_t)(topo->cores.memory_bytes < bytes ? topo->cores.memory_bytes : bytes);
}

static void hostname_read(char hostname[HOST_NAME_MAX + 1])
{
    if (gethostname(hostname, HOST_NAME_MAX + 1))
        snprintf(hostname, HOST_NAME_MAX + 1, "unknown");
}

uint64_t hx_topo_network_id(void)
{
    char machine[HOST_NAME_MAX + 1]; /* its boot id: equal on one kernel, although containers may not share memory */
    struct stat space;

    if (stat("/proc/self/ns/net", &space) != 0)
        return 0;
    if (!hx_cgroup_line("/proc/sys/kernel/random", "boot_id", machine, sizeof machine))
        hostname_read(machine);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *at = machine; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash ^ ((uint64_t)space.st_ino * UINT64_C(0x9e3779b97f4a7c15));
}

void hx_topo_size(const struct hx_topo *topo, struct hx_machine_size *size)
{
    size->sockets = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_PACKAGE);
    size->numa_nodes = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE);
    size->l3_caches = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_L3CACHE);
    size->cores = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_CORE);
    size->cpus = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_PU);
}

void hx_topo_place(const struct hx_topo *topo, struct hx_place *place)
{
    const struct hx_cores *cores = &topo->cores;
    memset(place, 0, sizeof *place);
    place->core = index_of(topo, HWLOC_OBJ_CORE);
    place->l3 = index_of(topo, HWLOC_OBJ_L3CACHE);
    place->numa = index_of(topo, HWLOC_OBJ_NUMANODE);
    place->numa_os = hx_topo_numa_os(topo, cores->bound);
    place->socket = index_of(topo, HWLOC_OBJ_PACKAGE);
    place->allowed_cpus = hwloc_bitmap_weight(cores->allowed);
    place->bound_cpus = hwloc_bitmap_weight(cores->bound);
    place->quota_cpus = cores->quota_cpus;
    place->usable_cpus = place->allowed_cpus;
    if (cores->quota_cpus > 0 && cores->quota_cpus < place->usable_cpus)
        place->usable_cpus = cores->quota_cpus;
    place->l2_bytes = l2_bytes(topo);
    place->llc_bytes = llc_bytes(topo);
    place->memory_limit_bytes = memory_bytes(topo);
    hostname_read(place->hostname);
    for (int cpu = hwloc_bitmap_first(cores->bound); cpu >= 0 && cpu < 64 * HX_PLACE_MASK_WORDS;
         cpu = hwloc_bitmap_next(cores->bound, cpu))
        place->bound_mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}
