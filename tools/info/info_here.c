/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_info without --algorithms: the state of things in this process, and in its job. */
#include "tools/info/coll_info.h"
#include "inter/fabric/provider.h"
#include "runtime/base/env_value.h"
#include "runtime/base/reduce_table.h"
#include "runtime/start/startup.h"
#include "topo/nic.h"
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

static struct json_object *section(struct json_object *all, const char *name, struct json_object *content)
{
    json_object_object_add(all, name, content);
    return content;
}

/* ---- build ---- */

static struct json_object *build_tell(void)
{
    struct json_object *o = json_object_new_object(), *kernels = json_object_new_array();
    uint32_t fabric = fi_version(), hwloc = hwloc_get_api_version();
    char text[64];

    json_add_text(o, "hierax", hx_version());
    snprintf(text, sizeof(text), "%u.%u (built with %d.%d)", FI_MAJOR(fabric), FI_MINOR(fabric), FI_MAJOR_VERSION,
             FI_MINOR_VERSION);
    json_add_text(o, "libfabric", text);
    snprintf(text, sizeof(text), "%u.%u (built with %u.%u)", hwloc >> 16, hwloc >> 8 & 255, HWLOC_API_VERSION >> 16,
             HWLOC_API_VERSION >> 8 & 255);
    json_add_text(o, "hwloc", text);
#ifdef HAVE_PMIX
    json_add_text(o, "pmix", "loaded when a launcher needs it");
#else
    json_add_text(o, "pmix", "not built in");
#endif
    json_add_text(o, "compiler", __VERSION__);
    json_add_text(o, "kernels", hx_reduce_isa());
    for (int i = 0; hx_reduce_table_at(i); i++)
        json_object_array_add(kernels, json_object_new_string(hx_reduce_table_at(i)->isa));
    json_object_object_add(o, "kernels_this_cpu_can_run", kernels);
    return o;
}

/* ---- machine ---- */

static void index_tell(struct json_object *o, const char *key, int idx)
{
    if (idx < 0)
        json_add_text(o, key, "several");
    else
        json_add_int(o, key, idx);
}

static struct json_object *machine_tell(const struct hx_topo *topo)
{
    struct json_object *o = json_object_new_object();
    struct hx_machine_size size;
    struct hx_place place;

    hx_topo_size(topo, &size);
    hx_topo_place(topo, &place);
    json_add_text(o, "host", place.hostname);
    json_add_int(o, "sockets", size.sockets);
    json_add_int(o, "numa_nodes", size.numa_nodes);
    json_add_int(o, "l3_caches", size.l3_caches);
    json_add_int(o, "cores", size.cores);
    json_add_int(o, "cpus", size.cpus);
    json_add_int(o, "cpus_allowed", place.allowed_cpus);
    json_add_int(o, "cpus_bound_to", place.bound_cpus);
    if (place.quota_cpus > 0)
        json_add_real(o, "cpu_quota", "%.6g", place.quota_cpus);
    else
        json_add_text(o, "cpu_quota", "none");
    json_add_real(o, "cpus_usable", "%.6g", place.usable_cpus);
    index_tell(o, "on_core", place.core);
    index_tell(o, "on_l3_cache", place.l3);
    index_tell(o, "on_numa_node", place.numa);
    index_tell(o, "on_socket", place.socket);
    json_add_int(o, "l2_bytes_per_core", (int64_t)place.l2_bytes);
    json_add_int(o, "last_level_cache_bytes", (int64_t)place.llc_bytes);
    json_add_int(o, "memory_limit_bytes", (int64_t)place.memory_limit_bytes);
    return o;
}

/* ---- network ---- */

static void pci_tell(struct json_object *o, const struct hx_nic *nic)
{
    char text[32];

    snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", nic->domain, nic->bus, nic->device, nic->function);
    json_add_text(o, "pci", nic->has_pci ? text : NULL);
}

static void rate_tell(struct json_object *o, uint64_t rate_bits)
{
    if (rate_bits)
        json_add_real(o, "gbit_per_s", "%.6g", (double)rate_bits * 1e-9);
    else
        json_add_text(o, "gbit_per_s", NULL);
}

static const char *const distances[] = {"same NUMA node or L3 cache", "same socket", "other socket", "unknown"};

static struct json_object *rdma_tell(const struct hx_topo *topo)
{
    struct json_object *list = json_object_new_array();
    int n = hx_nic_rdma_list(NULL, 0);
    struct hx_nic *nics = calloc((size_t)n + 1, sizeof(*nics));
    int found = nics ? hx_nic_rdma_list(nics, n) : 0;

    n = found < n ? found : n;
    hx_nic_distances(topo, nics, n);
    for (int i = 0; i < n; i++) {
        struct json_object *o = json_object_new_object();
        json_add_text(o, "device", nics[i].name);
        json_add_text(o, "kind", nics[i].efa ? "EFA" : "RDMA");
        json_add_text(o, "state", nics[i].up ? "up" : "down");
        rate_tell(o, nics[i].rate_bits);
        pci_tell(o, &nics[i]);
        json_add_text(o, "distance", distances[nics[i].distance]);
        json_object_array_add(list, o);
    }
    free(nics);
    return list;
}

static int is_same(const struct json_object *row, const char *key, const char *value)
{
    struct json_object *member;

    return json_object_object_get_ex(row, key, &member) && !strcmp(json_object_get_string(member), value);
}

/* One row per provider and interface. */
static void offer_tell(const struct fi_info *info, const char *state, void *arg)
{
    struct json_object *list = arg, *o;
    const char *provider = info->fabric_attr->prov_name, *interface = info->domain_attr->name;

    for (size_t i = 0; i < json_object_array_length(list); i++) {
        o = json_object_array_get_idx(list, i);
        if (is_same(o, "interface", interface) && is_same(o, "provider", provider))
            return;
    }
    o = json_object_new_object();
    json_add_text(o, "interface", interface);
    json_add_text(o, "provider", provider);
    json_add_text(o, "state", state);
    json_object_array_add(list, o);
}

/* The chosen provider's interfaces, best first, and those that this rank uses. */
static struct json_object *nics_tell(const struct hx_nic_choice *choice)
{
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < choice->n; i++) {
        const struct hx_nic *nic = &choice->nics[i];
        struct json_object *o = json_object_new_object();
        const char *used = i < choice->near ? "left to others" : "no: not as good";
        for (int k = 0; k < choice->nrails; k++)
            if (!strcmp(choice->rails[k]->domain_attr->name, nic->name))
                used = k ? "yes, also" : "yes";
        json_add_text(o, "interface", nic->name);
        json_add_text(o, "provider", choice->rails[0]->fabric_attr->prov_name);
        rate_tell(o, nic->rate_bits);
        json_add_text(o, "distance", distances[nic->distance]);
        json_add_text(o, "used", used);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *network_tell(const struct hx_world *world, const struct hx_topo *topo)
{
    struct json_object *o = json_object_new_object(), *offers = json_object_new_array();
    struct hx_net_seat seat = hx_world_seat(world);
    struct hx_nic_choice choice;

    if (hx_negotiate(world->process.env, &seat, &choice) != HX_SUCCESS)
        json_add_text(o, "unusable", hx_last_detail());
    hx_offers_visit(offer_tell, offers);
    json_add_text(o, "between_nodes",
              world->process.net ? hx_registry.net->describe(world->process.net) : "not needed: all ranks share a node");
    section(o, "rdma_devices", rdma_tell(topo));
    if (choice.nrails > 0)
        section(o, "interfaces", nics_tell(&choice));
    section(o, "offers", offers);
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
        struct json_object *o = json_object_new_object();
        char value[HX_ENV_VALUE_BYTES], range[HX_ENV_RANGE_BYTES];
        const char *shown = hx_env_value_format(env, row, value);
        if (idx == HX_ENV_IDX_secret && *shown)
            shown = "(hidden)";
        json_add_text(o, "setting", row->name);
        int by_table = env->source[idx] == HX_SOURCE_DEFAULT && info_table_has(comm, row->name);
        json_add_text(o, "value", by_table ? "by size" : *shown ? shown : NULL);
        json_add_text(o, "from", by_table ? "table" : hx_env_source_names[env->source[idx]]);
        json_add_text(o, "scope", row->scope == HX_SCOPE_JOB ? "job" : "local");
        json_add_text(o, "default", row->dflt);
        json_add_text(o, "range", hx_env_range_format(row, range));
        json_add_text(o, "meaning", row->help);
        json_object_array_add(list, o);
    }
    return list;
}

/* ---- counters ---- */

static struct json_object *counters_tell(const struct hx_world *world)
{
    struct json_object *list = json_object_new_array();
    struct hx_counters counters;

    hx_counters_read(world, &counters);
    for (const struct hx_counter_row *row = hx_counter_rows; row->name; row++) {
        struct json_object *o = json_object_new_object();
        uint64_t value;
        memcpy(&value, (const char *)&counters + row->offset, sizeof(value));
        json_add_text(o, "counter", row->name);
        json_add_int(o, "value", (int64_t)value);
        json_add_text(o, "meaning", row->help);
        json_object_array_add(list, o);
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

static struct json_object *node_tell(const struct hx_shape *shape, int node, const char *host)
{
    struct json_object *o = json_object_new_object(), *ranks = json_object_new_array();

    for (int i = 0; i < hx_shape_node_size(shape, node); i++)
        json_object_array_add(ranks, json_object_new_int(hx_shape_member(shape, node, i)));
    json_add_int(o, "node", node);
    json_add_text(o, "host", host);
    json_add_int(o, "size", hx_shape_node_size(shape, node));
    json_object_object_add(o, "ranks", ranks);
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
    int n = comm->members.shape->nnodes;
    struct json_object *order, *list;

    if (!comm->members.shape->ring)
        return;
    order = json_object_new_array();
    for (int i = 0; i < n; i++)
        json_object_array_add(order, json_object_new_int(comm->members.shape->ring[i]));
    json_object_object_add(o, "ring_order", order);
    if (!links)
        return;
    list = section(o, "links_measured", json_object_new_array());
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            struct json_object *link = json_object_new_object();
            json_add_int(link, "node", i);
            json_add_int(link, "and_node", j);
            json_add_real(link, "latency_us", "%.6g", links[i * n + j].latency_us);
            json_add_real(link, "gigabytes_per_s", "%.6g", links[i * n + j].gb_s);
            json_object_array_add(list, link);
        }
}

/* Every rank tells its host. NULL after an error. */
static struct json_object *job_tell(struct hx_comm *comm, const char *host)
{
    enum { HOST_BYTES = sizeof(((struct hx_place *)0)->hostname) };
    char mine[HOST_BYTES] = "", (*hosts)[HOST_BYTES] = calloc((size_t)comm->members.size, HOST_BYTES);
    struct json_object *o = json_object_new_object(), *nodes = json_object_new_array();
    char text[256];

    strncat(mine, host, sizeof(mine) - 1);
    hx_shape_format(comm->members.shape, text, sizeof(text));
    json_add_text(o, "launcher", hx_boot_name(comm->world->boot));
    json_add_int(o, "ranks", comm->members.size);
    json_add_text(o, "shape", text);
    ring_tell(o, comm);
    section(o, "nodes", nodes);
    if (hosts && hx_gather(mine, hosts, HOST_BYTES, HX_BYTE, 0, comm) == HX_SUCCESS) {
        for (int node = 0; comm->members.rank == 0 && node < comm->members.shape->nnodes; node++)
            json_object_array_add(nodes, node_tell(comm->members.shape, node, hosts[hx_shape_member(comm->members.shape, node, 0)]));
    } else {
        fprintf(stderr, "coll_info: rank %d: %s\n", comm->members.rank, hosts ? hx_error_detail(comm) : "no memory");
        json_object_put(o);
        o = NULL;
    }
    free(hosts);
    return o;
}

struct json_object *info_all(struct hx_comm *comm)
{
    struct json_object *all = json_object_new_object(), *job;
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;

    if (hx_topo_open(NULL, NULL, &topo, error) < 0) {
        fprintf(stderr, "coll_info: %s\n", error);
        json_object_put(all);
        return NULL;
    }
    section(all, "build", build_tell());
    struct json_object *machine = section(all, "machine", machine_tell(topo)), *host = NULL;
    json_object_object_get_ex(machine, "host", &host);
    job = job_tell(comm, json_object_get_string(host));
    if (job && comm->members.rank == 0) {
        section(all, "network", network_tell(comm->world, topo));
        section(all, "job", job);
        section(all, "settings", settings_tell(comm));
        section(all, "model", info_model(comm));
        section(all, "counters", counters_tell(comm->world));
    } else {
        json_object_put(job);
    }
    hx_topo_close(topo);
    if (!job) {
        json_object_put(all);
        all = NULL;
    }
    return all;
}
