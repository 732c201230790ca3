/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of a provider's interfaces (libfabric: domains) a rank uses: those that HX_NIC names, or else the nearest in the order of
 * topo/nic.h. The ranks of a node divide them among themselves.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names */

/* wanted: an address as "10.0.1.5", or a network as "10.0.1.0/24". Is the offer's own address in it? */
static int address_matches(const struct fi_info *info, const char *wanted, size_t length)
{
    const char *slash = memchr(wanted, '/', length);
    size_t digits = slash ? (size_t)(slash - wanted) : length;
    char text[INET6_ADDRSTRLEN];
    uint8_t address[sizeof(struct in6_addr)];
    const struct hx_ip ip = hx_ip_of(info->src_addr, info->src_addrlen);
    const uint8_t *own = ip.bytes;

    if (!own || digits >= sizeof(text))
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int)digits, wanted);
    if (inet_pton(ip.length == sizeof(struct in_addr) ? AF_INET : AF_INET6, text, address) != 1)
        return 0;
    char *end = NULL;
    size_t bits = slash ? strtoul(slash + 1, &end, 10) : 8 * ip.length;
    if (slash && (end == slash + 1 || end != wanted + length || bits > 8 * ip.length))
        return 0;
    for (size_t bit = 0; bit < bits; bit++)
        if ((own[bit / 8] ^ address[bit / 8]) & (0x80 >> bit % 8))
            return 0;
    return 1;
}

/* wanted: the name of a device, of a domain up to "-" (rdmap0s6 for rdmap0s6-rdm), or an address. */
static int name_matches(const struct fi_info *info, const char *wanted, size_t length)
{
    const char *domain = info->domain_attr->name, *device = NULL;

    if (info->nic && info->nic->device_attr)
        device = info->nic->device_attr->name;
    return (device && strncmp(device, wanted, length) == 0 && device[length] == '\0') ||
           (strncmp(domain, wanted, length) == 0 && (domain[length] == '\0' || domain[length] == '-')) ||
           address_matches(info, wanted, length);
}

/* The next name of "a,b,c" at *at. Advances *at; NULL at the end. */
static const char *next_name(const char **at, size_t *length)
{
    const char *name;

    *at += strspn(*at, ", ");
    *length = strcspn(*at, ", ");
    name = *length > 0 ? *at : NULL;
    *at += *length;
    return name;
}

int hx_nic_is_named(const struct fi_info *info, const char *names)
{
    const char *name;
    size_t length;

    for (int place = 1; (name = next_name(&names, &length)); place++)
        if (name_matches(info, name, length))
            return place;
    return 0;
}

int hx_link_is_down(const struct ifaddrs *interfaces, const char *name, size_t length)
{
    for (const struct ifaddrs *i = interfaces; i; i = i->ifa_next)
        if (strncmp(i->ifa_name, name, length) == 0 && i->ifa_name[length] == '\0')
            return (i->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING);
    return 0;
}

/* The first name that is in the list twice, or NULL. */
static const char *named_twice(const char *nics, size_t *length)
{
    const char *at = nics, *rest, *name, *other;
    size_t other_length;

    while ((name = next_name(&at, length)))
        for (rest = at; (other = next_name(&rest, &other_length));)
            if (other_length == *length && strncmp(other, name, *length) == 0)
                return name;
    return NULL;
}

/* The largest length of a prefix like that of "10.1.0.0/16" if its own is wrong; 0: it is not, or there is none. */
static int prefix_most_exceeded(const char *name, size_t length)
{
    const char *slash = memchr(name, '/', length);
    const int most = slash && memchr(name, ':', (size_t)(slash - name)) ? 128 : 32;
    char *end = NULL;
    const long bits = slash ? strtol(slash + 1, &end, 10) : 0;

    return slash && (end == slash + 1 || end != name + length || bits < 0 || bits > most) ? most : 0;
}

hx_status_t hx_nics_refuse(const struct fi_info *list, const char *provider, const char *nics,
                           const struct ifaddrs *interfaces)
{
    const char *at = nics, *name;
    char names[256];
    size_t length;

    hx_names_join(list, provider ? provider : "", names, sizeof(names));
    while ((name = next_name(&at, &length))) {
        const struct fi_info *i = list;
        while (i && ((provider && strcmp(provider, i->fabric_attr->prov_name) != 0) ||
                             hx_offer_defect(i) || !name_matches(i, name, length) ||
                             hx_offer_kind(i, interfaces) == HX_KIND_DOWN))
            i = i->next;
        if (!i)
            break;
    }
    if (!name && (name = named_twice(nics, &length)))
        return hx_fail(HX_ERR_TRANSPORT, "HX_NIC=%s: %.*s is named twice; libfabric%s%s has: %s", nics, (int)length, name,
                       provider ? " provider " : "", provider ? provider : "", names);
    if (!name)
        name = nics, length = strlen(nics);
    const int down = hx_link_is_down(interfaces, name, length), prefix_most = prefix_most_exceeded(name, length);
    const int is_address = memchr(name, '.', length) || memchr(name, ':', length);
    if (prefix_most)
        return hx_fail(HX_ERR_TRANSPORT, "HX_NIC=%s: %.*s is not a network: its prefix length must be 0 to %d", nics, (int)length, name,
                       prefix_most);
    return hx_fail(HX_ERR_TRANSPORT, "HX_NIC=%s: %s %.*s%s; libfabric%s%s has: %s%s", nics,
                   down                         ? "the link of"
                   : memchr(name, '/', length) ? "no usable interface is in network"
                   : is_address                ? "no usable interface has address"
                                               : "there is no usable interface",
                   (int)length, name, down ? " is down" : "", provider ? " provider " : "", provider ? provider : "", names,
                   is_address ? "; \"ip -br address\" shows their addresses and networks" : "");
}

/* ---- listing interfaces */

uint32_t hx_offer_network(const struct fi_info *info)
{
    const char *name = info->fabric_attr->name;

    return name ? (uint32_t)hx_fnv(HX_FNV_START, name, strlen(name)) : 0;
}

void hx_nic_locate(const struct fi_info *info, struct hx_nic *nic)
{
    const struct fi_bus_attr *bus = info->nic ? info->nic->bus_attr : NULL;

    *nic = (struct hx_nic){.distance = 3};
    snprintf(nic->name, sizeof(nic->name), "%s", info->domain_attr->name);
    if (bus && bus->bus_type == FI_BUS_PCI) {
        nic->has_pci = 1;
        nic->domain = bus->attr.pci.domain_id;
        nic->bus = bus->attr.pci.bus_id;
        nic->device = bus->attr.pci.device_id;
        nic->function = bus->attr.pci.function_id;
    }
}

/* The index of the offer's address among its interface's addresses of the same family. The kernel lists them in the order in which
 * they were added; libfabric does not. */
static int address_place(const struct fi_info *info, const struct ifaddrs *interfaces)
{
    const struct sockaddr *own = info->src_addr;
    const struct hx_ip ip = hx_ip_of(own, info->src_addrlen);
    int place = 0;

    for (const struct ifaddrs *i = interfaces; ip.length > 0 && i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != own->sa_family || strcmp(i->ifa_name, info->domain_attr->name) != 0)
            continue;
        if (memcmp(ip.bytes, hx_ip_of(i->ifa_addr, sizeof(struct sockaddr_in6)).bytes, ip.length) == 0)
            return place;
        place++;
    }
    return 0;
}

static void nic_fill(struct hx_nic *nic, const struct fi_info *info, const struct ifaddrs *interfaces)
{
    hx_nic_locate(info, nic);
    nic->up = hx_offer_kind(info, interfaces) != HX_KIND_DOWN;
    nic->loopback = hx_offer_kind(info, interfaces) == HX_KIND_LOOPBACK;
    nic->network = hx_offer_network(info);
    nic->routed = hx_offer_is_routed(info);
    nic->address = address_place(info, interfaces);
    if (nic->routed)
        hx_nic_kernel_read("/sys", nic);
    if (info->nic && info->nic->link_attr && info->nic->link_attr->speed > 0)
        nic->rate_bits = info->nic->link_attr->speed;
}

/* If libfabric reports no rate, take rdma-core's. The domain's name begins with the device's name. */
static void rates_complete(struct hx_nic *nics, int n)
{
    struct hx_nic devices[HX_NICS_MAX];
    int found = -1;

    for (int i = 0; i < n; i++) {
        if (nics[i].rate_bits != 0 || nics[i].routed)
            continue;
        if (found < 0)
            found = hx_nic_rdma_list(devices, HX_NICS_MAX);
        for (int k = 0; k < found && k < HX_NICS_MAX; k++) {
            size_t length = strlen(devices[k].name);
            if (strncmp(devices[k].name, nics[i].name, length) == 0 && strchr("-", nics[i].name[length]))
                nics[i].rate_bits = devices[k].rate_bits;
        }
    }
}

/* Should this offer replace the other one? An interface uses IPv4 if it has an IPv4 address, else IPv6. In each network it uses one
 * address, the first that was added. */
enum { BESIDE, INSTEAD, NOT_AT_ALL };
static int offers_compare(const struct fi_info *info, const struct fi_info *other, const struct ifaddrs *interfaces)
{
    if (strcmp(info->domain_attr->name, other->domain_attr->name) != 0)
        return BESIDE;
    if (hx_offer_is_ipv6(info) != hx_offer_is_ipv6(other))
        return hx_offer_is_ipv6(info) ? NOT_AT_ALL : INSTEAD;
    if (hx_offer_is_routed(info) && hx_offer_network(info) != hx_offer_network(other))
        return BESIDE;
    return address_place(info, interfaces) < address_place(other, interfaces) ? INSTEAD : NOT_AT_ALL;
}

static void nic_enter(struct hx_nic_choice *out, const struct fi_info **offers, const struct fi_info *info,
                      const struct ifaddrs *interfaces)
{
    int n = 0;

    for (int i = 0; i < out->n; i++) {
        int order = offers_compare(info, offers[i], interfaces);
        if (order == NOT_AT_ALL)
            return;
        if (order == BESIDE) {
            out->nics[n] = out->nics[i];
            offers[n] = offers[i];
            out->nics[n].id = n;
            n++;
        }
    }
    out->n = n;
    if (n == HX_NICS_MAX)
        return;
    nic_fill(&out->nics[n], info, interfaces);
    out->nics[n].id = n;
    offers[n] = info;
    out->n++;
}

static void distances_fill(struct hx_nic *nics, int n)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_topo *topo;
    int known = 0;

    for (int i = 0; i < n; i++)
        known += nics[i].has_pci;
    if (n < 2 || known == 0) /* without PCI addresses all are equally near, so all ranks find the same networks */
        return;
    if (hx_topo_open(NULL, NULL, 1, &topo, error) != 0) {
        hx_warn("nearest network interface not known: %s", error);
        return;
    }
    hx_nic_distances(topo, nics, n);
    hx_topo_close(topo);
}

/* ---- choosing */

/* Returns how many names are found, up to the first that is missing or repeated. */
static int by_name(struct hx_nic_choice *out, const struct fi_info **offers, const char *names)
{
    for (int place = 1;; place++) {
        int before = out->near;
        for (int at = before; at < out->n; at++)
            if (hx_nic_is_named(offers[out->nics[at].id], names) == place) {
                struct hx_nic nic = out->nics[at];
                out->nics[at] = out->nics[out->near];
                out->nics[out->near++] = nic;
            }
        if (out->near == before)
            return place - 1;
    }
}

/* The named interfaces, in that order. Each must exist and be up. */
static hx_status_t choose_named(struct hx_nic_choice *out, const struct fi_info **offers, const char *names)
{
    const char *at = names;
    size_t length;
    int count = 0, found = by_name(out, offers, names);

    while (next_name(&at, &length))
        count++;
    for (int i = 0; i < out->near; i++)
        count += !out->nics[i].up;
    return found == count && count > 0 ? HX_SUCCESS : HX_ERR_TRANSPORT;
}

/* Over TCP each connection is one stream, which may not fill a link. Several endpoints on an interface act like several interfaces. */
static hx_status_t rails_fill(struct hx_nic_choice *out, const struct fi_info **offers, const int *taken, int n, int rails)
{
    const struct fi_info *first = offers[out->nics[taken[0]].id];
    const int most = hx_offer_is_ipv6(first) ? HX_RAILS_MAX / 2 : HX_RAILS_MAX; /* that a rank's address has room for: address.c */
    const int wanted = hx_offer_is_routed(first) && rails > 1 ? rails : 1;
    const int copies = wanted * n <= most ? wanted : most / n;

    for (; out->nrails < copies * n; out->nrails++) {
        const struct hx_nic *nic = &out->nics[taken[out->nrails % n]];
        out->addresses[out->nrails] = nic->address;
        out->copies[out->nrails] = out->nrails / n;
        if (!(out->rails[out->nrails] = fi_dupinfo(offers[nic->id])))
            return hx_fail(HX_ERR_NOMEM, "no memory for a libfabric offer");
    }
    return HX_SUCCESS;
}

hx_status_t hx_nics_choose(const char *names, int rails, const struct fi_info *list, const struct fi_info *best,
                           const struct ifaddrs *interfaces, const struct hx_net_seat *seat, struct hx_nic_choice *out)
{
    const struct fi_info *offers[HX_NICS_MAX];
    const char *provider = best->fabric_attr->prov_name;
    int taken[HX_RAIL_NICS_MAX];

    nic_enter(out, offers, best, interfaces);
    for (const struct fi_info *i = list; i; i = i->next)
        if (!hx_offer_defect(i) && strcmp(i->fabric_attr->prov_name, provider) == 0 &&
            (names
                 ? hx_nic_is_named(i, names) != 0
                 : hx_offer_kind(best, interfaces) == HX_KIND_REAL && hx_offer_kind(i, interfaces) == HX_KIND_REAL))
            nic_enter(out, offers, i, interfaces);
    distances_fill(out->nics, out->n);
    rates_complete(out->nics, out->n);
    if (!names)
        out->near = hx_nic_near(out->nics, out->n);
    else if (choose_named(out, offers, names) != HX_SUCCESS)
        return hx_nics_refuse(list, provider, names, interfaces);
    /* If distances are unknown, all ranks of the node find the same interfaces, so they divide them by their index on the node.
     * HX_NIC may differ between ranks. */
    int by_place = names || out->nics[0].distance < 3;
    int n = hx_nic_share(out->nics, out->near, by_place ? seat->index : seat->of_node, by_place ? seat->sharers : seat->on_node,
                         HX_RAIL_NICS_MAX, taken);
    return rails_fill(out, offers, taken, n, rails);
}

void hx_nic_choice_free(struct hx_nic_choice *choice)
{
    for (int i = 0; i < choice->nrails; i++)
        fi_freeinfo(choice->rails[i]);
    choice->nrails = 0;
}
