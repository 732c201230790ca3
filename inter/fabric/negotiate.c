/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of a provider. Each offer of libfabric gets a grade: first by the kind of its interface (real, container bridge,
 * link-local address, loopback; never one that is down), then by provider, then IPv4 before IPv6. Equal grades keep libfabric's
 * order. HX_PROVIDER and HX_NIC limit the choice, and providers that some rank could not open are left out (endpoint.c). Then nic.c
 * chooses among the interfaces of the best offer's provider.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/env.h"
#include "runtime/base/provider_name.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fi_info *hints_make(uint64_t reach)
{
    struct fi_info *hints = fi_dupinfo(NULL);

    if (!hints)
        return NULL;
    hints->caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | reach;
    hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV;
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

struct fi_info *hx_offers_find(struct fi_info *hints)
{
    struct fi_info *list = NULL;
    int rc = fi_getinfo(FI_VERSION(1, 18), NULL, NULL, 0, hints, &list);

    if (rc == -FI_ENOSYS) /* libfabric is older */
        rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list);
    if (rc != 0)
        hx_debug("fi_getinfo: %s", fi_strerror(-rc));
    fi_freeinfo(hints);
    return rc == 0 ? list : NULL;
}

/* provider: NULL for all. reach: FI_REMOTE_COMM, which without FI_LOCAL_COMM disables EFA's shared memory; or 0, which libfabric
 * needs for loopback. Returns the list, or NULL. */
static struct fi_info *offers_get(const char *provider, uint64_t reach)
{
    struct fi_info *hints = hints_make(reach);

    if (hints && provider)
        hints->fabric_attr->prov_name = strdup(provider);
    return hints ? hx_offers_find(hints) : NULL;
}

/* ---- grading one offer */

unsigned hx_offer_tag_bits(const struct fi_info *info) /* the format is a pattern of fields: the highest set bit counts */
{
    uint64_t format = info->ep_attr->mem_tag_format;

    return format == 0 ? 0 : 64 - (unsigned)__builtin_clzll(format);
}

static int link_is_down(const struct fi_info *info, const struct ifaddrs *interfaces)
{
    if (info->nic && info->nic->link_attr && info->nic->link_attr->state == FI_LINK_DOWN)
        return 1;
    return hx_link_is_down(interfaces, info->domain_attr->name, strlen(info->domain_attr->name));
}

static enum hx_offer_kind address_kind(const struct fi_info *info)
{
    const struct hx_ip ip = hx_ip_of(info->src_addr, info->src_addrlen);
    const uint8_t *byte = ip.bytes;

    if (ip.length == sizeof(struct in_addr))
        return byte[0] == 127 ? HX_KIND_LOOPBACK : byte[0] == 169 && byte[1] == 254 ? HX_KIND_LINK_LOCAL : HX_KIND_REAL;
    if (ip.length == sizeof(struct in6_addr))
        return IN6_IS_ADDR_LOOPBACK(ip.bytes)    ? HX_KIND_LOOPBACK
               : IN6_IS_ADDR_LINKLOCAL(ip.bytes) ? HX_KIND_LINK_LOCAL
                                                 : HX_KIND_REAL;
    return HX_KIND_REAL;
}

static int takes_socket_address(const struct fi_info *info)
{
    return info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
           info->addr_format == FI_SOCKADDR_IN6;
}

int hx_offer_is_routed(const struct fi_info *info)
{
    return takes_socket_address(info) && info->src_addr;
}

int hx_offer_is_ipv6(const struct fi_info *info)
{
    return hx_offer_is_routed(info) && ((const struct sockaddr *)info->src_addr)->sa_family == AF_INET6;
}

enum hx_offer_kind hx_offer_kind(const struct fi_info *info, const struct ifaddrs *interfaces)
{
    static const char *const bridges[] = {"docker", "br-", "virbr", "cni", "podman", "lxc"};
    const char *name = info->domain_attr->name;
    enum hx_offer_kind kind = hx_offer_is_routed(info) ? address_kind(info) : HX_KIND_REAL;

    if (link_is_down(info, interfaces))
        return HX_KIND_DOWN;
    if (kind == HX_KIND_LOOPBACK || strcmp(name, "lo") == 0)
        return HX_KIND_LOOPBACK;
    for (size_t i = 0; i < sizeof(bridges) / sizeof(bridges[0]); i++)
        if (kind == HX_KIND_REAL && strncmp(name, bridges[i], strlen(bridges[i])) == 0)
            return HX_KIND_BRIDGE;
    return kind;
}

const char *hx_offer_defect(const struct fi_info *info)
{
    if (!info->domain_attr || !info->domain_attr->name || !info->fabric_attr->prov_name)
        return "incomplete";
    if (takes_socket_address(info) && !info->src_addr)
        return "no interface has an address";
    if (hx_offer_tag_bits(info) < HX_TAG_BITS_LEAST)
        return "fewer than 48 tag bits";
    if (info->ep_attr->max_msg_size < HX_EAGER_BYTES)
        return "messages shorter than 8 KiB only";
    return NULL;
}

/* ---- choosing */

#define GRADE(kind, number) ((int)(kind)*1000 + (int)(number)*10)

struct choice {
    const struct fi_info *offer, *list; /* the list that holds it */
    int grade; /* less is better */
};

/* nics: names as in HX_NIC, NULL for any. provider: NULL for any that may be used by default and is not among refused. */
static struct choice choose(const struct fi_info *list, const char *provider, uint32_t refused, const char *nics,
                            const struct ifaddrs *interfaces)
{
    struct choice best = {NULL, NULL, 0};

    for (const struct fi_info *i = list; i; i = i->next) {
        const char *defect = hx_offer_defect(i);
        enum hx_offer_kind kind;
        unsigned number;
        int grade;

        if (defect) {
            hx_debug("libfabric provider %s passed over: %s", i->fabric_attr->prov_name, defect);
            continue;
        }
        number = hx_provider_number(i);
        if (provider ? strcmp(provider, i->fabric_attr->prov_name) != 0 : !hx_offer_is_default(i) || refused >> number & 1)
            continue;
        kind = hx_offer_kind(i, interfaces);
        if (nics ? !hx_nic_is_named(i, nics) : kind == HX_KIND_DOWN)
            continue;
        grade = GRADE(kind, number) + hx_offer_is_ipv6(i);
        if (!best.offer || grade < best.grade)
            best = (struct choice){i, list, grade};
    }
    return best;
}

void hx_names_join(const struct fi_info *list, const char *interface_of, char *text, size_t capacity)
{
    char names[1024] = " ", wanted[128];
    size_t used = 1;

    for (const struct fi_info *i = list; i; i = i->next) {
        const char *provider = i->fabric_attr->prov_name;
        if (interface_of && interface_of[0] != '\0' && strcmp(interface_of, provider) != 0)
            continue;
        snprintf(wanted, sizeof(wanted), " %s ", interface_of ? i->domain_attr->name : provider);
        if (!strstr(names, wanted) && used + strlen(wanted) < sizeof(names) && used + strlen(wanted) < capacity)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s", wanted + 1);
    }
    names[used - 1] = '\0';
    snprintf(text, capacity, "%s", used > 1 ? names + 1 : "none");
}

static const char *other_name_of_tcp(const char *provider)
{
    if (provider && strcmp(provider, HX_TCP_NAME) == 0)
        return HX_TCP_NAME_BEFORE;
    return provider && strcmp(provider, HX_TCP_NAME_BEFORE) == 0 ? HX_TCP_NAME : NULL;
}

/* If the provider is in one of the lists, by either name, HX_NIC is wrong. Else there is no such provider. */
static hx_status_t refuse(struct fi_info *const lists[3], const char *provider, const char *nics, const struct ifaddrs *interfaces,
                          const struct hx_net_refusals *refused)
{
    const char *names[2] = {provider, other_name_of_tcp(provider)};
    char providers[256];

    if (refused->providers)
        return hx_fail(HX_ERR_TRANSPORT, "no libfabric provider can be opened on all ranks: %s%s%s", refused->text,
                       nics ? "; the other providers do not have HX_NIC=" : "", nics ? nics : "");
    for (int k = 0; k < 2 && nics; k++)
        for (int i = 2; i >= 0 && (k == 0 || names[k]); i--)
            if (choose(lists[i], names[k], 0, NULL, NULL).offer)
                return hx_nics_refuse(lists[i], names[k], nics, interfaces);
    hx_names_join(lists[2], NULL, providers, sizeof(providers));
    if (provider)
        return hx_fail(HX_ERR_TRANSPORT, "HX_PROVIDER=%s: libfabric has no usable provider of this name; choose one of: %s",
                       provider, providers);
    return hx_fail(HX_ERR_TRANSPORT, "no usable libfabric provider among: %s (FI_PROVIDER restricts them)",
                   providers);
}

/* Ask libfabric in several ways, and take the best offer. The caller frees the lists. */
static struct choice choose_anywhere(const struct hx_env *env, uint32_t refused, const struct ifaddrs *interfaces,
                                     struct fi_info *lists[3])
{
    const char *provider = env->provider, *other = other_name_of_tcp(provider);
    struct choice best;

    lists[0] = offers_get(NULL, FI_REMOTE_COMM);
    best = choose(lists[0], provider, refused, env->nic, interfaces);
    if (!best.offer && provider) { /* some are listed only when asked for by name */
        lists[1] = offers_get(provider, FI_REMOTE_COMM);
        best = choose(lists[1], provider, refused, env->nic, interfaces);
    }
    if (!best.offer && other)
        best = choose(lists[0], other, refused, env->nic, interfaces);
    if (!best.offer || best.grade >= GRADE(HX_KIND_LOOPBACK, 0)) {
        struct choice near;
        lists[2] = offers_get(NULL, 0);
        near = choose(lists[2], provider, refused, env->nic, interfaces);
        if (!near.offer && other)
            near = choose(lists[2], other, refused, env->nic, interfaces);
        if (near.offer && (!best.offer || near.grade < best.grade))
            best = near;
    }
    return best;
}

void hx_providers_list(char *text, size_t capacity)
{
    struct fi_info *list = offers_get(NULL, 0);

    hx_names_join(list, NULL, text, capacity);
    fi_freeinfo(list);
}

hx_status_t hx_negotiate(const struct hx_env *env, const struct hx_net_seat *seat, const struct hx_net_refusals *refused,
                         struct hx_nic_choice *out)
{
    struct fi_info *lists[3] = {NULL, NULL, NULL};
    struct ifaddrs *interfaces = NULL;
    struct choice best;
    hx_status_t status;

    memset(out, 0, sizeof(*out));
    if (hx_libfabric_missing())
        return hx_fail(HX_ERR_TRANSPORT, "%s", hx_libfabric_missing());
    getifaddrs(&interfaces); /* on failure it stays NULL */
    best = choose_anywhere(env, refused->providers, interfaces, lists);
    if (!best.offer)
        status = refuse(lists, env->provider, env->nic, interfaces, refused);
    else
        status = hx_nics_choose(env->nic, env->rails, best.list, best.offer, interfaces, seat, out);
    freeifaddrs(interfaces);
    for (int i = 0; i < 3; i++)
        fi_freeinfo(lists[i]);
    return status;
}

void hx_offers_visit(uint32_t refused, hx_offer_visit_t *visit, void *arg)
{
    static const char *const kinds[] = {[HX_KIND_REAL] = "usable",
                                        [HX_KIND_BRIDGE] = "container bridge",
                                        [HX_KIND_LINK_LOCAL] = "link-local address",
                                        [HX_KIND_LOOPBACK] = "loopback",
                                        [HX_KIND_DOWN] = "down"};
    struct ifaddrs *interfaces = NULL;
    struct fi_info *list;

    if (hx_libfabric_missing())
        hx_warn("%s", hx_libfabric_missing());
    getifaddrs(&interfaces); /* on failure it stays NULL */
    list = offers_get(NULL, FI_REMOTE_COMM);
    for (const struct fi_info *i = list; i; i = i->next) {
        const char *defect = hx_offer_defect(i);
        if (!defect && !hx_offer_is_default(i))
            defect = "only if HX_PROVIDER names it";
        if (!defect && refused >> hx_provider_number(i) & 1)
            defect = "not opened: libfabric refused it on some rank";
        if (i->fabric_attr->prov_name && i->domain_attr->name)
            visit(i, defect ? defect : kinds[hx_offer_kind(i, interfaces)], arg);
    }
    fi_freeinfo(list);
    freeifaddrs(interfaces);
}
