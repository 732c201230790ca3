/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info without --algorithms: the state of things in this process, and in its job. */
#include "tools/info/coll_info.h"
#include "inter/fabric/provider.h"
#include "runtime/base/env_value.h"
#include "runtime/base/reduce_table.h"
#include "runtime/start/job_map.h"
#include "runtime/start/startup.h"
#include "topo/nic.h"
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

/* ---- build ---- */

#ifdef HAVE_PMIX
#define PMIX "loaded when a launcher needs it"
#else
#define PMIX "not built in"
#endif

static struct json_object *build_tell(void)
{
    struct json_object *kernels = json_object_new_array();
    const uint32_t fabric = fi_version(), hwloc = hwloc_get_api_version();
    char fabric_text[64], hwloc_text[64];

    snprintf(fabric_text, sizeof(fabric_text), "%u.%u (built with %d.%d)", FI_MAJOR(fabric), FI_MINOR(fabric), FI_MAJOR_VERSION,
             FI_MINOR_VERSION);
    snprintf(hwloc_text, sizeof(hwloc_text), "%u.%u (built with %u.%u)", hwloc >> 16, hwloc >> 8 & 255, HWLOC_API_VERSION >> 16,
             HWLOC_API_VERSION >> 8 & 255);
    for (int i = 0; hx_reduce_table_at(i); i++)
        json_object_array_add(kernels, json_object_new_string(hx_reduce_table_at(i)->isa));
    return info_new("hierax=%s libfabric=%s hwloc=%s pmix=%s compiler=%s kernels=%s kernels_this_cpu_can_run=%p", hx_version(),
                    fabric_text, hwloc_text, PMIX, __VERSION__, hx_reduce_isa(), kernels);
}

/* ---- machine ---- */

static struct json_object *index_of(int idx)
{
    return idx < 0 ? json_text_new("several") : json_object_new_int(idx);
}

static struct json_object *machine_tell(const struct hx_topo *topo)
{
    struct hx_machine_size size;
    struct hx_place place;

    hx_topo_size(topo, &size);
    hx_topo_place(topo, &place);
    return info_new("host=%s sockets=%d numa_nodes=%d l3_caches=%d cores=%d cpus=%d cpus_allowed=%d cpus_bound_to=%d cpu_quota=%p "
                    "cpus_usable=%g on_core=%p on_l3_cache=%p on_numa_node=%p on_socket=%p l2_bytes_per_core=%zu "
                    "last_level_cache_bytes=%zu memory_limit_bytes=%zu",
                    place.hostname, size.sockets, size.numa_nodes, size.l3_caches, size.cores, size.cpus, place.allowed_cpus,
                    place.bound_cpus, place.quota_cpus > 0 ? json_real_new("%.6g", place.quota_cpus) : json_text_new("none"),
                    place.usable_cpus, index_of(place.core), index_of(place.l3), index_of(place.numa), index_of(place.socket),
                    place.l2_bytes, place.llc_bytes, place.memory_limit_bytes);
}

/* ---- network ---- */

static struct json_object *rate_of(const struct hx_nic *nic)
{
    return nic->rate_bits ? json_real_new("%.6g", (double)nic->rate_bits * 1e-9) : NULL;
}

static const char *const distances[] = {"same NUMA node or L3 cache", "same socket", "other socket", "unknown"};

static struct json_object *rdma_tell(const struct hx_topo *topo)
{
    struct json_object *list = json_object_new_array();
    struct hx_nic nics[HX_NICS_MAX];
    int n = hx_nic_rdma_list(nics, HX_NICS_MAX);

    n = n < HX_NICS_MAX ? n : HX_NICS_MAX;
    hx_nic_distances(topo, nics, n);
    for (int i = 0; i < n; i++) {
        const struct hx_nic *nic = &nics[i];
        char pci[32];
        snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", nic->domain, nic->bus, nic->device, nic->function);
        json_object_array_add(list, info_new("device=%s kind=%s state=%s gbit_per_s=%p pci=%s distance=%s", nic->name,
                                             nic->efa ? "EFA" : "RDMA", nic->up ? "up" : "down", rate_of(nic),
                                             nic->has_pci ? pci : NULL, distances[nic->distance]));
    }
    return list;
}

/* One row per provider and interface. */
static void offer_tell(const struct fi_info *info, const char *state, void *list)
{
    const char *provider = info->fabric_attr->prov_name, *interface = info->domain_attr->name;

    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *row = json_object_array_get_idx(list, i);
        if (!strcmp(info_text(row, "interface"), interface) && !strcmp(info_text(row, "provider"), provider))
            return;
    }
    json_object_array_add(list, info_new("interface=%s provider=%s state=%s", interface, provider, state));
}

/* The chosen provider's interfaces, best first, and those that this rank uses. */
static struct json_object *nics_tell(const struct hx_nic_choice *choice)
{
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < choice->n; i++) {
        const struct hx_nic *nic = &choice->nics[i];
        const char *used = i < choice->near ? "no: for other ranks" : "no: others are nearer or faster";
        char several[96];
        int copies = 1;
        for (int k = 0; k < choice->nrails; k++)
            if (!strcmp(choice->rails[k]->domain_attr->name, nic->name)) {
                used = choice->copies[k] > 0 ? used : k ? "yes, too" : "yes";
                copies = choice->copies[k] + 1;
            }
        snprintf(several, sizeof(several), "%s, with %d connections to each peer", used, copies);
        json_object_array_add(list, info_new("interface=%s provider=%s gbit_per_s=%p distance=%s used=%s", nic->name,
                                             choice->rails[0]->fabric_attr->prov_name, rate_of(nic), distances[nic->distance],
                                             copies > 1 ? several : used));
    }
    return list;
}

static struct json_object *network_tell(const struct hx_world *world, const struct hx_topo *topo)
{
    struct json_object *o = json_object_new_object(), *offers = json_object_new_array();
    struct hx_net_seat seat = hx_world_seat(world);
    struct hx_nic_choice choice;

    const struct hx_net_refusals *refused = &world->process.shared->header->refused;
    if (hx_negotiate(world->process.env, &seat, refused, &choice) != HX_SUCCESS)
        json_add_text(o, "unusable", hx_last_detail());
    if (refused->providers)
        json_add_text(o, "not_opened", refused->text);
    hx_offers_visit(refused->providers, offer_tell, offers);
    json_add_text(o, "between_nodes",
                  world->process.net ? hx_registry.net->describe(world->process.net) : "not needed: all ranks share a node");
    info_add(o, "rdma_devices=%p", rdma_tell(topo));
    if (choice.nrails > 0)
        info_add(o, "interfaces=%p", nics_tell(&choice));
    info_add(o, "offers=%p", offers);
    hx_nic_choice_free(&choice);
    return o;
}

/* ---- settings ---- */

static struct json_object *settings_tell(const struct hx_comm *comm)
{
    const struct hx_env *env = comm->world->process.env;
    struct json_object *list = json_object_new_array();

    for (int idx = 0; idx < HX_ENV_COUNT; idx++) {
        const struct hx_env_row *row = &hx_env_rows[idx];
        const int by_table = env->source[idx] == HX_SOURCE_DEFAULT && info_table_has(comm, row->name);
        char value[HX_ENV_VALUE_BYTES], range[HX_ENV_RANGE_BYTES];
        const char *shown = by_table ? "by size" : hx_env_value_format(env, row, value);
        if (idx == HX_ENV_IDX_secret && *shown)
            shown = "(hidden)";
        json_object_array_add(list, info_new("setting=%s value=%s from=%s scope=%s default=%s range=%s meaning=%s", row->name,
                                             *shown ? shown : NULL, by_table ? "table" : hx_env_source_names[env->source[idx]],
                                             row->scope == HX_SCOPE_JOB ? "job" : "local", row->dflt,
                                             hx_env_range_format(row, range), row->help));
    }
    return list;
}

/* ---- constants ---- */

/* If a value is not known, the cost model keeps its own, which is built in. */
static struct json_object *constants_tell(const struct hx_world *world)
{
    const struct hx_constants *constants = &world->process.job.constants;
    const char *source = hx_constants_source_names[constants->source];
    struct json_object *list = json_object_new_array();
    char hash[32] = "";

    if (constants->source != HX_CONSTANTS_BUILT_IN)
        snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)constants->hash);
    for (const struct hx_constant_row *row = hx_constant_rows; row->name; row++) {
        const int value = hx_constant_value(constants, row);
        json_object_array_add(list, info_new("constant=%s value=%p source=%s meaning=%s", row->name, value ? json_object_new_int(value) : NULL,
                                             value ? source : hx_constants_source_names[HX_CONSTANTS_BUILT_IN], row->about));
    }
    return info_new("source=%s hash=%s values=%p", source, hash[0] ? hash : NULL, list);
}

/* ---- counters ---- */

static struct json_object *counters_tell(const struct hx_world *world)
{
    struct json_object *list = json_object_new_array();
    struct hx_counters counters;

    hx_counters_read(world, &counters);
    for (const struct hx_counter_row *row = hx_counter_rows; row->name; row++) {
        uint64_t value;
        memcpy(&value, (const char *)&counters + row->offset, sizeof(value));
        json_object_array_add(list, info_new("counter=%s value=%lu meaning=%s", row->name, value, row->help));
    }
    return list;
}

/* ---- job ---- */

/* The ranks of a node, domain by domain: "0 1 | 2 3". NULL without memory. */
static char *domains_write(const struct hx_shape *shape, int level, int node)
{
    int first = hx_shape_domain(shape, level, hx_shape_member(shape, node, 0)), seen = 0;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    for (int domain = first; out && seen < hx_shape_node_size(shape, node); domain++) {
        fprintf(out, "%s", domain > first ? " | " : "");
        for (int i = 0, n = 0; i < hx_shape_node_size(shape, node); i++)
            if (hx_shape_domain(shape, level, hx_shape_member(shape, node, i)) == domain) {
                fprintf(out, "%s%d", n++ ? " " : "", hx_shape_member(shape, node, i));
                seen++;
            }
    }
    if (out)
        fclose(out);
    return text;
}

static struct json_object *numbers_of(const int *numbers, int n)
{
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < n; i++)
        json_object_array_add(list, json_object_new_int(numbers[i]));
    return list;
}

static struct json_object *node_tell(const struct hx_shape *shape, int node, const char *host)
{
    const int n = hx_shape_node_size(shape, node);
    struct json_object *o = info_new("node=%d host=%s size=%d ranks=%p", node, host, n,
                                     numbers_of(shape->members + shape->node_start[node], n));

    for (int level = 0; level < shape->nlevels; level++) {
        char key[24], *text = domains_write(shape, level, node);
        snprintf(key, sizeof(key), "level_%d", level);
        json_add_text(o, key, text);
        free(text);
    }
    return o;
}

/* The order of their own in which rings pass the nodes, and the links between these, where HX_RING_ORDER=auto has measured them. */
static void ring_tell(struct json_object *o, const struct hx_comm *comm)
{
    const struct hx_link *links = comm->world->links;
    const int n = comm->members.shape->nnodes, *ring = comm->members.shape->ring;
    struct json_object *list = ring && links ? json_object_new_array() : NULL;

    if (ring)
        info_add(o, "ring_order=%p", numbers_of(ring, n));
    if (list)
        info_add(o, "links_measured=%p", list);
    for (int i = 0; list && i < n; i++)
        for (int j = i + 1; j < n; j++)
            json_object_array_add(list, info_new("node=%d and_node=%d latency_us=%g gigabytes_per_s=%g", i, j,
                                                 links[i * n + j].latency_us, links[i * n + j].gb_s));
}

static void row_tell(const struct hx_map_row *row, void *map)
{
    json_object_array_add(map, info_new("ranks=%s node=%d host=%s cores=%s numa=%p path_to_peers=%s", row->ranks, row->node,
                                        row->host, row->cores, index_of(row->numa), row->peers));
}

/* The host of a node. */
static const char *host_find(struct json_object *map, int node)
{
    for (size_t i = 0; i < json_object_array_length(map); i++)
        if ((int)info_number(json_object_array_get_idx(map, i), "node") == node)
            return info_text(json_object_array_get_idx(map, i), "host");
    return "";
}

/* Every rank tells its place. NULL after an error. */
static struct json_object *job_tell(struct hx_comm *comm)
{
    const struct hx_shape *shape = comm->members.shape;
    struct json_object *o, *nodes, *map = json_object_new_array();
    char text[256];

    if (hx_job_map(comm->world, row_tell, map) != HX_SUCCESS) {
        fprintf(stderr, "coll_info: rank %d: %s\n", comm->members.rank, hx_last_detail());
        json_object_put(map);
        return NULL;
    }
    hx_shape_format(shape, text, sizeof(text));
    o = info_new("launcher=%s ranks=%d shape=%s", hx_boot_name(comm->world->boot), comm->members.size, text);
    ring_tell(o, comm);
    info_add(o, "nodes=%p", nodes = json_object_new_array());
    for (int node = 0; comm->members.rank == 0 && node < shape->nnodes; node++)
        json_object_array_add(nodes, node_tell(shape, node, host_find(map, node)));
    info_add(o, "map=%p", map);
    return o;
}

struct json_object *info_constants(const struct hx_comm *comm)
{
    return info_new("constants=%p model=%p", constants_tell(comm->world), info_model(comm));
}

struct json_object *info_all(struct hx_comm *comm)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;

    if (hx_topo_open(NULL, NULL, 1, &topo, error) < 0) {
        fprintf(stderr, "coll_info: %s\n", error);
        return NULL;
    }
    struct json_object *machine = machine_tell(topo), *job = job_tell(comm), *all = NULL;
    if (job && comm->members.rank == 0)
        all = info_new("build=%p machine=%p network=%p job=%p settings=%p model=%p constants=%p counters=%p", build_tell(), machine,
                       network_tell(comm->world, topo), job, settings_tell(comm), info_model(comm), constants_tell(comm->world), counters_tell(comm->world));
    else if (job)
        all = info_new("machine=%p job=%p", machine, job);
    else
        json_object_put(machine);
    hx_topo_close(topo);
    return all;
}
