/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choosing a provider and an interface. Everything libfabric offers is graded: first by what kind of interface it is
 * (real before container bridge, before link-local addresses, before loopback; never one that is down), then by
 * provider, then IPv4 before IPv6, then libfabric's own order. Among several equally good NICs with a PCI address the
 * nearest is taken. HX_PROVIDER and HX_INTERFACE narrow the field.
 */
#include "fabric.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include "topo/nic.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Best first. The native RDM provider over TCP is called net in libfabric 1.17, tcp later; tcp of 1.17 has no RDM
 * endpoints. */
static const char *const preferred[] = {"efa", "cxi", "psm3", "verbs;ofi_rxm", "tcp", "net", "tcp;ofi_rxm", "sockets"};
#define PREFERRED ((int)(sizeof(preferred) / sizeof(preferred[0])))

enum kind { KIND_REAL, KIND_BRIDGE, KIND_LINK_LOCAL, KIND_LOOPBACK, KIND_DOWN };

static struct fi_info *hints_make(uint64_t reach)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | reach;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->cq_data_size = 4;
    return hints;
}

/* provider: NULL for all. reach: FI_REMOTE_COMM, which without FI_LOCAL_COMM keeps shared memory out of efa, or 0,
 * which libfabric wants for loopback. Returns the list, or NULL. */
static struct fi_info *offers_get(const char *provider, uint64_t reach)
{
    struct fi_info *hints = hints_make(reach), *list = NULL;
    int rc;

    if (hints == NULL)
        return NULL;
    if (provider != NULL)
        hints->fabric_attr->prov_name = strdup(provider);
    rc = fi_getinfo(FI_VERSION(1, 18), NULL, NULL, 0, hints, &list);
    if (rc == -FI_ENOSYS)
        rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list);
    if (rc != 0)
        hx_debug("fi_getinfo: %s", fi_strerror(-rc));
    fi_freeinfo(hints);
    return rc == 0 ? list : NULL;
}

/* ---- grading one offer */

static int tag_bits(uint64_t format) /* the format is a pattern of fields: the highest set bit counts */
{
    return format == 0 ? 0 : 64 - __builtin_clzll(format);
}

static int link_is_down(const struct fi_info *info, const struct ifaddrs *interfaces)
{
    if (info->nic != NULL && info->nic->link_attr != NULL && info->nic->link_attr->state == FI_LINK_DOWN)
        return 1;
    for (const struct ifaddrs *i = interfaces; i != NULL; i = i->ifa_next)
        if (strcmp(i->ifa_name, info->domain_attr->name) == 0)
            return (i->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING);
    return 0;
}

static enum kind address_kind(const struct sockaddr *addr)
{
    if (addr != NULL && addr->sa_family == AF_INET) {
        uint32_t ip = ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr);
        return ip >> 24 == 127 ? KIND_LOOPBACK : ip >> 16 == 0xa9fe ? KIND_LINK_LOCAL : KIND_REAL;
    }
    if (addr != NULL && addr->sa_family == AF_INET6) {
        const struct in6_addr *ip = &((const struct sockaddr_in6 *)addr)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(ip) ? KIND_LOOPBACK : IN6_IS_ADDR_LINKLOCAL(ip) ? KIND_LINK_LOCAL : KIND_REAL;
    }
    return KIND_REAL;
}

static int takes_socket_address(const struct fi_info *info)
{
    return info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
           info->addr_format == FI_SOCKADDR_IN6;
}

static int has_socket_address(const struct fi_info *info)
{
    return takes_socket_address(info) && info->src_addr != NULL;
}

static enum kind offer_kind(const struct fi_info *info, const struct ifaddrs *interfaces)
{
    static const char *const bridges[] = {"docker", "br-", "virbr", "cni", "podman", "lxc"};
    const char *name = info->domain_attr->name;
    enum kind kind = has_socket_address(info) ? address_kind(info->src_addr) : KIND_REAL;

    if (link_is_down(info, interfaces))
        return KIND_DOWN;
    if (kind == KIND_LOOPBACK || strcmp(name, "lo") == 0)
        return KIND_LOOPBACK;
    for (size_t i = 0; i < sizeof(bridges) / sizeof(bridges[0]); i++)
        if (kind == KIND_REAL && strncmp(name, bridges[i], strlen(bridges[i])) == 0)
            return KIND_BRIDGE;
    return kind;
}

static int provider_grade(const char *name)
{
    for (int i = 0; i < PREFERRED; i++)
        if (strcmp(name, preferred[i]) == 0)
            return i;
    return PREFERRED;
}

/* Why this offer cannot serve, or NULL. */
static const char *offer_defect(const struct fi_info *info)
{
    if (info->domain_attr == NULL || info->domain_attr->name == NULL || info->fabric_attr->prov_name == NULL)
        return "incomplete";
    if (takes_socket_address(info) && info->src_addr == NULL)
        return "no interface has an address";
    if (tag_bits(info->ep_attr->mem_tag_format) < HX_TAG_BITS)
        return "fewer than 48 tag bits";
    if (info->tx_attr->inject_size < sizeof(uint64_t))
        return "cannot inject 8 bytes";
    if (info->ep_attr->max_msg_size < HX_EAGER_BYTES)
        return "messages shorter than 8 KiB only";
    return NULL;
}

static int interface_matches(const struct fi_info *info, const char *wanted)
{
    size_t length = strlen(wanted);
    const char *domain = info->domain_attr->name;

    if (info->nic != NULL && info->nic->device_attr != NULL && info->nic->device_attr->name != NULL &&
        strcmp(info->nic->device_attr->name, wanted) == 0)
        return 1;
    return strncmp(domain, wanted, length) == 0 && (domain[length] == '\0' || domain[length] == '-'); /* rdmap0s6-rdm */
}

/* ---- choosing */

#define GRADE(kind, provider_idx) ((int)(kind)*1000 + (provider_idx)*10)

struct choice {
    const struct fi_info *offer;
    int grade; /* less is better; equal grades compete by distance */
};

/* interface: NULL for any. provider: NULL for those of the preferred list. */
static struct choice choose(const struct fi_info *list, const char *provider, const char *interface,
                            const struct ifaddrs *interfaces)
{
    struct choice best = {NULL, 0};

    for (const struct fi_info *i = list; i != NULL; i = i->next) {
        const char *defect = offer_defect(i);
        int grade, provider_idx;
        enum kind kind;

        if (defect != NULL) {
            hx_debug("libfabric provider %s passed over: %s", i->fabric_attr->prov_name, defect);
            continue;
        }
        provider_idx = provider_grade(i->fabric_attr->prov_name);
        if (provider == NULL ? provider_idx == PREFERRED : strcmp(provider, i->fabric_attr->prov_name) != 0)
            continue;
        kind = offer_kind(i, interfaces);
        if (interface != NULL ? !interface_matches(i, interface) : kind == KIND_DOWN)
            continue;
        grade = GRADE(kind, provider_idx) +
                (has_socket_address(i) && ((struct sockaddr *)i->src_addr)->sa_family != AF_INET);
        if (best.offer == NULL || grade < best.grade)
            best = (struct choice){i, grade};
    }
    return best;
}

static int nic_fill(struct hx_nic *nic, const struct fi_info *info)
{
    const struct fi_bus_attr *bus = info->nic != NULL ? info->nic->bus_attr : NULL;

    if (bus == NULL || bus->bus_type != FI_BUS_PCI)
        return 0;
    *nic = (struct hx_nic){.has_pci = 1,
                           .domain = bus->attr.pci.domain_id,
                           .bus = bus->attr.pci.bus_id,
                           .device = bus->attr.pci.device_id,
                           .function = bus->attr.pci.function_id,
                           .up = 1};
    if (info->nic->link_attr != NULL)
        nic->rate_bits = info->nic->link_attr->speed;
    snprintf(nic->name, sizeof(nic->name), "%s", info->domain_attr->name);
    return 1;
}

/* Among the offers of best's provider on other PCI devices, the nearest to this process. */
static const struct fi_info *choose_nearest(const struct fi_info *list, const struct fi_info *best, int local_rank,
                                            const struct ifaddrs *interfaces)
{
    struct hx_nic nics[64];
    struct hx_topo *topo;
    char error[HX_TOPO_ERROR_BYTES];
    int n = 0, chosen;

    for (const struct fi_info *i = list; i != NULL && n < 64; i = i->next) {
        int seen = 0;
        if (offer_defect(i) != NULL || strcmp(i->fabric_attr->prov_name, best->fabric_attr->prov_name) != 0 ||
            offer_kind(i, interfaces) != KIND_REAL || !nic_fill(&nics[n], i))
            continue;
        for (int k = 0; k < n; k++)
            seen |= strcmp(nics[k].name, nics[n].name) == 0;
        n += !seen;
    }
    if (n < 2)
        return best;
    if (hx_topo_open(NULL, NULL, &topo, error) == 0) {
        hx_nic_distances(topo, nics, n);
        hx_topo_close(topo);
    } else {
        hx_warn("nearest network interface not known: %s", error);
    }
    chosen = hx_nic_choose(nics, n, local_rank);
    for (const struct fi_info *i = list; chosen >= 0 && i != NULL; i = i->next)
        if (offer_defect(i) == NULL && strcmp(i->domain_attr->name, nics[chosen].name) == 0 &&
            strcmp(i->fabric_attr->prov_name, best->fabric_attr->prov_name) == 0)
            return i;
    return best;
}

/* "a b c": each different name once. interface_of: NULL lists providers, else that provider's interfaces ("": any's).
 */
static void names_join(const struct fi_info *list, const char *interface_of, char *text, size_t capacity)
{
    size_t used = 0;

    text[0] = '\0';
    for (const struct fi_info *i = list; i != NULL; i = i->next) {
        const char *provider = i->fabric_attr->prov_name, *name = interface_of ? i->domain_attr->name : provider;
        const char *seen = text;
        size_t length = strlen(name);

        if (interface_of != NULL && interface_of[0] != '\0' && strcmp(interface_of, provider) != 0)
            continue;
        while ((seen = strstr(seen, name)) != NULL &&
               !((seen == text || seen[-1] == ' ') && (seen[length] == ' ' || seen[length] == '\0')))
            seen += length;
        if (seen == NULL && used + length + 2 < capacity)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? " " : "", name);
    }
    if (used == 0)
        snprintf(text, capacity, "none");
}

static hx_status_t refuse(const struct fi_info *list, const char *provider, const char *interface)
{
    char providers[256], names[256];

    names_join(list, NULL, providers, sizeof(providers));
    names_join(list, provider != NULL ? provider : "", names, sizeof(names));
    if (interface != NULL && choose(list, provider, NULL, NULL).offer != NULL)
        return hx_fail(HX_ERR_TRANSPORT, "HX_INTERFACE=%s: no such network interface for libfabric%s%s; there are: %s",
                       interface, provider ? " provider " : "", provider ? provider : "", names);
    if (provider != NULL)
        return hx_fail(HX_ERR_TRANSPORT, "HX_PROVIDER=%s: libfabric has no such usable provider; there are: %s",
                       provider, providers);
    return hx_fail(HX_ERR_TRANSPORT, "no usable libfabric provider; there are: %s (FI_PROVIDER restricts them)",
                   providers);
}

static const char *other_name_of_tcp(const char *provider)
{
    if (provider != NULL && strcmp(provider, "tcp") == 0)
        return "net";
    return provider != NULL && strcmp(provider, "net") == 0 ? "tcp" : NULL;
}

/* Before libfabric first looks: user programs fork; libinfinipath, loaded by Debian's libfabric, would install signal
 * handlers; short early messages are to be kept instead of stopping their connection (1.17 keeps 4); the receive
 * buffers of sockets must hold several of TCP's longest segments (address.c: keep_moving). */
static void libfabric_prepare(void)
{
    setenv("FI_EFA_FORK_SAFE", "1", 0);
    setenv("IPATH_NO_BACKTRACE", "1", 0);
    setenv("FI_NET_MAX_SAVED", "1024", 0);
    setenv("FI_SOCKETS_MAX_BUF_SZ", "4194304", 0); /* the kernel takes its rmem_max where that is less */
}

hx_status_t hx_negotiate(const struct hx_env *env, int local_rank, struct fi_info **info)
{
    const char *provider = env->provider, *other = other_name_of_tcp(provider);
    struct fi_info *list, *named = NULL, *local = NULL;
    struct ifaddrs *interfaces = NULL;
    struct choice best;
    hx_status_t status = HX_SUCCESS;

    libfabric_prepare();
    if (getifaddrs(&interfaces) != 0)
        interfaces = NULL;
    list = offers_get(NULL, FI_REMOTE_COMM);
    best = choose(list, provider, env->interface, interfaces);
    if (best.offer == NULL && provider != NULL) { /* some are listed only when asked for by name */
        named = offers_get(provider, FI_REMOTE_COMM);
        best = choose(named, provider, env->interface, interfaces);
    }
    if (best.offer == NULL && other != NULL)
        best = choose(list, other, env->interface, interfaces);
    if (best.offer == NULL || best.grade >= GRADE(KIND_LOOPBACK, 0)) {
        struct choice near;
        local = offers_get(NULL, 0);
        near = choose(local, provider, env->interface, interfaces);
        if (near.offer == NULL && other != NULL)
            near = choose(local, other, env->interface, interfaces);
        if (near.offer != NULL && (best.offer == NULL || near.grade < best.grade))
            best = near;
    }
    if (best.offer == NULL) {
        status = refuse(local, provider, env->interface);
    } else {
        if (env->interface == NULL && best.grade < GRADE(KIND_BRIDGE, 0) && named == NULL)
            best.offer = choose_nearest(list, best.offer, local_rank, interfaces);
        *info = fi_dupinfo(best.offer);
        if (*info == NULL)
            status = hx_fail(HX_ERR_NOMEM, "no memory for a libfabric offer");
    }
    if (interfaces != NULL)
        freeifaddrs(interfaces);
    if (named != NULL)
        fi_freeinfo(named);
    if (local != NULL)
        fi_freeinfo(local);
    if (list != NULL)
        fi_freeinfo(list);
    return status;
}

void hx_offers_visit(hx_offer_visit_t *visit, void *arg)
{
    static const char *const kinds[] = {[KIND_REAL] = "usable",
                                        [KIND_BRIDGE] = "container bridge",
                                        [KIND_LINK_LOCAL] = "link-local address",
                                        [KIND_LOOPBACK] = "loopback",
                                        [KIND_DOWN] = "down"};
    struct ifaddrs *interfaces = NULL;
    struct fi_info *list;

    libfabric_prepare();
    if (getifaddrs(&interfaces) != 0)
        interfaces = NULL;
    list = offers_get(NULL, FI_REMOTE_COMM);
    for (const struct fi_info *i = list; i != NULL; i = i->next) {
        const char *defect = offer_defect(i);
        if (defect == NULL && provider_grade(i->fabric_attr->prov_name) == PREFERRED)
            defect = "only if HX_PROVIDER names it";
        if (i->fabric_attr->prov_name != NULL && i->domain_attr->name != NULL)
            visit(i, defect ? defect : kinds[offer_kind(i, interfaces)], arg);
    }
    if (list != NULL)
        fi_freeinfo(list);
    if (interfaces != NULL)
        freeifaddrs(interfaces);
}

int hx_provider_is_native_tcp(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, "net") == 0 || strcmp(info->fabric_attr->prov_name, "tcp") == 0;
}

void hx_profile_cost(const struct fi_info *info, struct hx_net_profile *out)
{
    const char *provider = info->fabric_attr->prov_name;

    if (hx_provider_is_native_tcp(info) || strstr(provider, "tcp") || strstr(provider, "sockets"))
        *out = (struct hx_net_profile){.alpha_us = 25, .gb_s = 2.5, .stream_gb_s = 1.5, .message_us = 10}; /* a kernel's TCP, 25 Gbit/s */
    else
        *out = (struct hx_net_profile){.alpha_us = 18, .gb_s = 12.5, .stream_gb_s = 12.5, .message_us = 0.3}; /* EFA, one interface */
}

size_t hx_profile_chunk_bytes(const struct fi_info *info)
{
    size_t bytes = 64 << 10; /* efa: sends above need a round trip */

    if (hx_provider_is_native_tcp(info))
        bytes = 256 << 10;
    return bytes < info->ep_attr->max_msg_size ? bytes : info->ep_attr->max_msg_size;
}
