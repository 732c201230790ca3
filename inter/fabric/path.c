/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths: which interfaces of this rank reach which interfaces of a peer. Both ends compute the same paths. */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define FILES_SPARE 8        /* for the program */
#define CONNECTIONS_LEAST 32 /* connections that any job may use */

struct hx_ip hx_ip_of(const void *name, size_t bytes)
{
    const struct sockaddr_in *v4 = name;
    const struct sockaddr_in6 *v6 = name;

    if (name && bytes >= sizeof(*v4) && v4->sin_family == AF_INET)
        return (struct hx_ip){&v4->sin_addr, sizeof(v4->sin_addr)};
    if (name && bytes >= sizeof(*v6) && v6->sin6_family == AF_INET6)
        return (struct hx_ip){&v6->sin6_addr, sizeof(v6->sin6_addr)};
    return (struct hx_ip){NULL, 0};
}

static struct hx_ip ip_of_peer(const struct hx_rail_address *rail)
{
    return hx_ip_of(rail->name, rail->name_bytes);
}

static int ip_compare(struct hx_ip a, struct hx_ip b)
{
    if (a.length != b.length)
        return a.length < b.length ? -1 : 1;
    return a.length > 0 ? memcmp(a.bytes, b.bytes, a.length) : 0;
}

/* The sockets provider leaves the head of a message in TCP's receive buffer until all of its 24 bytes have arrived. Over loopback
 * one segment of up to 64 KiB can fill more than half of the buffer. Then TCP closes its receive window until the segment is read
 * to the end. If the segment ends within a head, both sides wait for ever. Longer buffers prevent this, but FI_SOCKETS_MAX_BUF_SZ
 * sets them only on accepted connections. So send nothing over an accepted connection: open one first, by a message. */
static void connect_first(const struct hx_net *net, struct hx_edge *edge, const struct hx_path *path, const struct hx_rail_address *peer)
{
    const struct fi_info *info = path->rail->info;
    struct hx_packet none = {.credit = {.sum = 0}};
    struct hx_ip own = hx_ip_of(info->src_addr, info->src_addrlen);

    if (net->traits->connects_first && own.length > 0 && ip_compare(own, ip_of_peer(peer)) == 0)
        hx_control_inject(net, edge, path, HX_CONTROL_CREDIT, &none);
}

/* A provider over sockets opens one for each peer on the first message, and reports no error if it cannot. So check the limit
 * beforehand. Above CONNECTIONS_LEAST only warn, because a job of many ranks may never use all connections. */
static hx_status_t files_reserve(struct hx_net *net)
{
    if (!hx_offer_is_routed(net->info) || net->files == INT_MAX)
        return HX_SUCCESS;
    if (net->files == 0)
        net->files = hx_files_open() + FILES_SPARE;
    net->connections++;
    if (net->connections <= CONNECTIONS_LEAST)
        return hx_files_reserve(net->rank, net->files + net->connections);
    if (hx_files_allow(net->files + net->connections) < net->files + net->connections) {
        hx_warn("rank %d may open %d files (ulimit -Hn): not enough for a connection to each of the %d ranks", net->rank, hx_files_allow(0),
                net->nranks);
        net->files = INT_MAX;
    }
    return HX_SUCCESS;
}

/* The scope of an IPv6 link-local address is the index of an interface on its own host. Use this host's index. */
static const void *name_from_here(const struct hx_rail *rail, const struct hx_rail_address *to, struct sockaddr_in6 *scoped)
{
    struct sockaddr_in6 own;

    if (ip_of_peer(to).length != sizeof(struct in6_addr) ||
        hx_ip_of(rail->info->src_addr, rail->info->src_addrlen).length != sizeof(struct in6_addr))
        return to->name;
    memcpy(scoped, to->name, sizeof(*scoped));
    memcpy(&own, rail->info->src_addr, sizeof(own));
    if (!IN6_IS_ADDR_LINKLOCAL(&scoped->sin6_addr))
        return to->name;
    scoped->sin6_scope_id = own.sin6_scope_id;
    return scoped;
}

/* EFA inserts 0 addresses if its device makes no address handle, and only errno has the reason: EINVAL or ENOMEM. error: 0 if there
 * is none. */
static hx_status_t address_refused(const struct hx_net *net, const struct hx_rail *rail, int peer, int error)
{
    const char *hint = !net->traits->makes_address_handles ? ""
                       : error == ENOMEM ? " (the device has no more address handles: each process takes one for each interface of its "
                                           "peers. Run fewer processes on this host)"
                                         : " (is the rank in another subnet or availability zone?)";

    return hx_fail(error == ENOMEM ? HX_ERR_NOMEM : HX_ERR_TRANSPORT,
                   "fi_av_insert of libfabric provider %s on %s refuses the address of rank %d of the job: %s%s",
                   rail->info->fabric_attr->prov_name, rail->info->domain_attr->name, peer,
                   error > 0 ? fi_strerror(error) : "it gives no reason", hint);
}

static hx_status_t path_add(struct hx_net *net, struct hx_edge *edge, struct hx_rail *rail, const struct hx_rail_address *to)
{
    struct hx_path *path = &edge->paths[edge->npaths++];
    struct sockaddr_in6 scoped;
    int rc;

    path->rail = rail;
    path->address_hash = hx_address_hash(to->name, to->name_bytes);
    path->host_hash = hx_host_hash(to->name, to->name_bytes);
    hx_status_t status = files_reserve(net);
    if (status != HX_SUCCESS)
        return status;
    errno = 0;
    rc = fi_av_insert(rail->av, name_from_here(rail, to, &scoped), 1, &path->addr, 0, NULL);
    if (rc != 1)
        return address_refused(net, rail, edge->peer, rc < 0 ? -rc : errno);
    connect_first(net, edge, path, to);
    return HX_SUCCESS;
}

/* If two hosts have the same address, it belongs to a container bridge or a tunnel, and they cannot reach each other by it. */
static int is_mirror(const struct hx_path_end *a, int i, const struct hx_path_end *b, int k)
{
    struct hx_ip ip = ip_of_peer(a->rails[i]);

    return a->host != 0 && b->host != 0 && a->host != b->host && ip.length > 0 && ip_compare(ip, ip_of_peer(b->rails[k])) == 0;
}

static int is_usable(const struct hx_path_end *end, int i, const struct hx_path_end *other)
{
    for (int k = 0; k < other->n; k++)
        if (is_mirror(end, i, other, k))
            return 0;
    return 1;
}

struct usable {
    struct hx_ip ip;
    int rail;
};

static int by_address(const void *a, const void *b)
{
    const struct usable *x = a, *y = b;
    const int order = ip_compare(x->ip, y->ip);

    return order != 0 ? order : x->rail - y->rail;
}

/* For each interface, find the first address that can be used. Sorts them, and returns their number. */
static int usable_find(const struct hx_path_end *end, const struct hx_path_end *other, struct usable out[HX_RAILS_MAX])
{
    int n = 0;

    for (int i = 0; i < end->n; i++) {
        int is_first = is_usable(end, i, other);
        for (int k = 0; k < end->n; k++)
            is_first &= end->rails[k]->interface != end->rails[i]->interface || end->rails[k]->address >= end->rails[i]->address ||
                        !is_usable(end, k, other);
        if (is_first)
            out[n++] = (struct usable){ip_of_peer(end->rails[i]), i};
    }
    qsort(out, (size_t)n, sizeof(*out), by_address);
    return n;
}

/* All endpoints of an interface have its address. Is this endpoint the first one of another address than the one before it? */
static int begins_address(const struct usable *list, int i)
{
    return i == 0 || list[i].ip.length == 0 || ip_compare(list[i - 1].ip, list[i].ip) != 0;
}

static int addresses_count(const struct usable *list, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += begins_address(list, i);
    return count;
}

/* Moves *list to the first endpoint of an address, from 0. Returns the number of the address's endpoints. */
static int endpoints_find(const struct usable **list, int n, int address)
{
    int first = 0, count = 0, at = -1;

    for (int i = 0; i < n; i++) {
        at += begins_address(*list, i);
        if (at == address && count++ == 0)
            first = i;
    }
    *list += first;
    return count;
}

/* Ranks without a common network may still reach each other through routers. Pair the first address with the first, the second with
 * the second, because the planes of a fabric are numbered so. Different seats use different pairs. */
static hx_status_t path_across_networks(struct hx_net *net, struct hx_edge *edge, const struct hx_path_end *mine, const struct hx_path_end *theirs)
{
    uint32_t own_seat = (uint32_t)net->seat, seat = own_seat > theirs->seat ? own_seat : theirs->seat;
    struct usable own[HX_RAILS_MAX], other[HX_RAILS_MAX];
    int n = usable_find(mine, theirs, own), m = usable_find(theirs, mine, other);

    if (n == 0 || m == 0) {
        char text[INET6_ADDRSTRLEN] = "";
        struct hx_ip ip = ip_of_peer(mine->rails[0]);
        if (ip.length > 0)
            inet_ntop(ip.length == sizeof(struct in_addr) ? AF_INET : AF_INET6, ip.bytes, text, sizeof(text));
        return hx_fail(HX_ERR_TRANSPORT, "rank %d and rank %d are on different hosts that have the same address %s; name another "
                                         "interface or network in HX_NIC", net->rank, edge->peer, text);
    }
    const int own_addresses = addresses_count(own, n), other_addresses = addresses_count(other, m);
    const int place = (int)(seat % (uint32_t)(own_addresses < other_addresses ? own_addresses : other_addresses));
    const struct usable *from = own, *to = other;
    const int endpoints = endpoints_find(&from, n, place), peers = endpoints_find(&to, m, place);
    hx_status_t status = HX_SUCCESS;
    for (int i = 0; i < endpoints && i < peers && status == HX_SUCCESS; i++)
        status = path_add(net, edge, &net->rails[from[i].rail], theirs->rails[to[i].rail]);
    return status;
}

/* Make a path for each pair of interfaces with addresses in the same network. Both ends loop in the order of the lower rank, so
 * they find the same paths. */
hx_status_t hx_paths_make(struct hx_net *net, struct hx_edge *edge, const struct hx_path_end *mine, const struct hx_path_end *theirs)
{
    int mine_first = net->rank < edge->peer;
    const struct hx_path_end *a = mine_first ? mine : theirs, *b = mine_first ? theirs : mine;
    unsigned used_a = 0, used_b = 0; /* a bit for each interface */
    hx_status_t status = HX_SUCCESS;

    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n && status == HX_SUCCESS; k++) {
            unsigned of_a = 1u << a->rails[i]->interface, of_b = 1u << b->rails[k]->interface;
            if ((used_a & of_a) || (used_b & of_b) || a->rails[i]->network != b->rails[k]->network || is_mirror(a, i, b, k))
                continue;
            used_a |= of_a;
            used_b |= of_b;
            status = path_add(net, edge, &net->rails[mine_first ? i : k], theirs->rails[mine_first ? k : i]);
        }
    return edge->npaths == 0 ? path_across_networks(net, edge, mine, theirs) : status;
}
