/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses on the wire: what a peer needs to reach this endpoint and what both must agree on, checked before it is
 * used. */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "topo/place.h"
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_MAGIC 0x31464c48u /* "HLF1" read as little endian: a foreign byte order does not pass either */
#define ADDRESS_VERSION 9

struct address_blob {
    uint32_t magic;
    uint32_t checksum; /* of all that follows */
    uint16_t version;
    uint16_t nrails;
    uint32_t chunk_bytes;
    uint16_t grant;
    uint16_t rails_bytes;
    uint32_t write_bytes; /* see struct hx_net */
    uint32_t seat; /* struct hx_net_seat */
    uint32_t link_mbits; /* of an interface; 0: not known */
    uint16_t links;      /* see struct hx_net */
    uint16_t match_bits; /* of a match id */
    char provider[20];
    uint64_t host; /* hx_topo_network_id */
    uint8_t rails[]; /* the first choice first: a struct rail_blob each, and its name; aligned to 8 bytes */
};

struct rail_blob {
    uint32_t network; /* see struct hx_nic */
    uint16_t name_bytes;
    uint8_t interface; /* a number for each of this rank */
    uint8_t address;   /* see struct hx_nic */
    uint8_t name[]; /* as fi_getname gave it */
};
#define BLOB_MAX_BYTES (sizeof(struct address_blob) + 512)
#define FILES_SPARE 8        /* for the program */
#define CONNECTIONS_LEAST 32 /* connections that any job may use */
#define BLOB_ALIGNED __attribute__((aligned(8)))

static uint32_t checksum(const void *data, size_t bytes) /* FNV-1a */
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 16777619u;
    return hash;
}

static uint32_t blob_checksum(const struct address_blob *blob)
{
    return checksum(&blob->version, sizeof(*blob) - offsetof(struct address_blob, version) + blob->rails_bytes);
}

/* What the peer must agree on; no rail is filled in. */
static void blob_own(const struct hx_net *net, struct address_blob *blob)
{
    *blob = (struct address_blob){.magic = ADDRESS_MAGIC, .version = ADDRESS_VERSION,
                                  .chunk_bytes = (uint32_t)net->chunk_bytes, .grant = HX_GRANT,
                                  .write_bytes = (uint32_t)net->write_bytes,
                                  .seat = (uint32_t)net->seat,
                                  .host = hx_topo_network_id(),
                                  .link_mbits = (uint32_t)(net->link_bits / 1000000), .links = (uint16_t)net->links,
                                  .match_bits = (uint16_t)net->match_bits};
    strncpy(blob->provider, net->info->fabric_attr->prov_name, sizeof(blob->provider) - 1);
}

static const struct rail_blob *rail_next(const struct rail_blob *rail)
{
    return (const struct rail_blob *)((const uint8_t *)rail + sizeof(*rail) + ((rail->name_bytes + 7) & ~7u));
}

static uint8_t interface_number(const struct hx_net *net, int rail)
{
    int i = 0;

    while (strcmp(net->rails[i].info->domain_attr->name, net->rails[rail].info->domain_attr->name) != 0)
        i++;
    return (uint8_t)i;
}

/* As many rails as the capacity holds. */
hx_status_t hx_address_get(struct hx_net *net, void *out, size_t *bytes)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED = {0};
    struct address_blob *blob = (struct address_blob *)buffer;
    uint8_t *at = blob->rails, *end = buffer + (*bytes < BLOB_MAX_BYTES ? *bytes : BLOB_MAX_BYTES);

    blob_own(net, blob);
    for (int i = 0; i < net->nrails; i++, blob->nrails++) {
        uint8_t name[256];
        size_t name_bytes = sizeof(name), padded;
        int rc = fi_getname(&net->rails[i].ep->fid, name, &name_bytes);
        if (rc != 0)
            return hx_fail(HX_ERR_TRANSPORT, "fi_getname: %s", fi_strerror(-rc));
        net->rails[i].spot = hx_spot_of(name, name_bytes);
        padded = (name_bytes + 7) & ~(size_t)7;
        if (end - at < (ptrdiff_t)(sizeof(struct rail_blob) + padded))
            break;
        struct rail_blob *rail = (struct rail_blob *)at;
        rail->network = hx_offer_network(net->rails[i].info);
        rail->name_bytes = (uint16_t)name_bytes;
        rail->interface = interface_number(net, i);
        rail->address = net->rails[i].address;
        memcpy(rail->name, name, name_bytes);
        at += sizeof(*rail) + padded;
    }
    hx_sockets_guard(net); /* their listeners */
    hx_strangers_expect(net);
    if (blob->nrails == 0)
        return hx_fail(HX_ERR_INTERNAL, "a network address does not fit into %zu bytes", *bytes);
    net->nrails_told = blob->nrails;
    blob->rails_bytes = (uint16_t)(at - blob->rails);
    blob->checksum = blob_checksum(blob);
    *bytes = sizeof(*blob) + blob->rails_bytes;
    memcpy(out, blob, *bytes);
    free(net->told);
    net->told = malloc(*bytes);
    if (!net->told)
        return hx_fail(HX_ERR_NOMEM, "no memory for a network address");
    memcpy(net->told, blob, *bytes);
    return HX_SUCCESS;
}

static int rails_are_whole(const struct address_blob *blob)
{
    size_t at = 0;

    for (int i = 0; i < blob->nrails; i++) {
        const struct rail_blob *rail = (const struct rail_blob *)(blob->rails + at);
        if (blob->rails_bytes - at < sizeof(*rail) || rail->name_bytes > blob->rails_bytes - at - sizeof(*rail) ||
            rail->interface >= HX_RAILS_MAX)
            return 0;
        at += sizeof(*rail) + ((rail->name_bytes + 7) & ~7u);
        if (at > blob->rails_bytes)
            return 0;
    }
    return at == blob->rails_bytes && blob->nrails >= 1 && blob->nrails <= HX_RAILS_MAX;
}

/* A peer's blob, copied to where it is aligned. */
static hx_status_t blob_read(int peer, const void *data, size_t bytes, uint8_t buffer[BLOB_MAX_BYTES])
{
    const struct address_blob *blob = (const struct address_blob *)buffer;

    memcpy(buffer, data, bytes < BLOB_MAX_BYTES ? bytes : BLOB_MAX_BYTES);
    if (bytes < sizeof(*blob) || bytes > BLOB_MAX_BYTES || blob->magic != ADDRESS_MAGIC)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d (%zu bytes) is not an address of Hierax", peer, bytes);
    if (blob->version != ADDRESS_VERSION)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d has version %u, this is version %u", peer,
                       blob->version, ADDRESS_VERSION);
    if (bytes != sizeof(*blob) + blob->rails_bytes || blob->checksum != blob_checksum(blob) ||
        !memchr(blob->provider, 0, sizeof(blob->provider)) || !rails_are_whole(blob))
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d is damaged", peer);
    return HX_SUCCESS;
}

static hx_status_t blobs_agree(int a, const struct address_blob *of_a, int b, const struct address_blob *of_b)
{
    if (strcmp(of_a->provider, of_b->provider) != 0)
        return hx_fail(HX_ERR_TRANSPORT, "rank %d uses libfabric provider %s, rank %d uses %s; set HX_PROVIDER", a,
                       of_a->provider, b, of_b->provider);
    if (of_a->chunk_bytes != of_b->chunk_bytes || of_a->grant != of_b->grant)
        return hx_fail(HX_ERR_TRANSPORT, "rank %d sends chunks of %u bytes and grants %u, rank %d %u and %u", a,
                       of_a->chunk_bytes, of_a->grant, b, of_b->chunk_bytes, of_b->grant);
    if (of_a->match_bits != of_b->match_bits)
        return hx_fail(HX_ERR_TRANSPORT, "provider %s has match ids of %u bits on rank %d, and of %u on rank %d: use one version of libfabric",
                       of_a->provider, of_a->match_bits, a, of_b->match_bits, b);
    return HX_SUCCESS;
}

hx_status_t hx_address_agree(int a, const void *of_a, size_t a_bytes, int b, const void *of_b, size_t b_bytes)
{
    uint8_t buffer_a[BLOB_MAX_BYTES] BLOB_ALIGNED, buffer_b[BLOB_MAX_BYTES] BLOB_ALIGNED;
    hx_status_t status = blob_read(a, of_a, a_bytes, buffer_a);

    if (status == HX_SUCCESS)
        status = blob_read(b, of_b, b_bytes, buffer_b);
    return status != HX_SUCCESS ? status
                                : blobs_agree(a, (const struct address_blob *)buffer_a, b,
                                              (const struct address_blob *)buffer_b);
}

void hx_address_profile(const struct hx_net *net, const void *address, size_t bytes, struct hx_net_profile *out)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED;
    const struct address_blob *blob = (const struct address_blob *)buffer;

    if (blob_read(0, address, bytes, buffer) == HX_SUCCESS && blob->links > 0)
        hx_profile_cost(net->info, blob->links, blob->nrails, blob->link_mbits * 1e6, out);
    else /* not after start-up, where all compare theirs with it */
        hx_profile_cost(net->info, 1, 1, 0, out);
}

const void *hx_ip_of(const void *name, size_t bytes, size_t *length)
{
    const struct sockaddr *address = name;

    if (name && bytes >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET) {
        *length = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)name)->sin_addr;
    }
    if (name && bytes >= sizeof(struct sockaddr_in6) && address->sa_family == AF_INET6) {
        *length = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)name)->sin6_addr;
    }
    *length = 0;
    return NULL;
}

struct ip {
    const void *address;
    size_t length;
};

static struct ip ip_of_rail(const struct hx_rail *rail)
{
    struct ip ip;

    ip.address = hx_ip_of(rail->info->src_addr, rail->info->src_addrlen, &ip.length);
    return ip;
}

static struct ip ip_of_peer(const struct rail_blob *rail)
{
    struct ip ip;

    ip.address = hx_ip_of(rail->name, rail->name_bytes, &ip.length);
    return ip;
}

static int ip_compare(struct ip a, struct ip b)
{
    if (a.length != b.length)
        return a.length < b.length ? -1 : 1;
    return a.length > 0 ? memcmp(a.address, b.address, a.length) : 0;
}

static int is_of_this_host(const struct hx_rail *rail, const struct rail_blob *peer)
{
    struct ip own = ip_of_rail(rail);

    return own.length > 0 && ip_compare(own, ip_of_peer(peer)) == 0;
}

/* libfabric's sockets provider leaves the head of a message in TCP's receive buffer until all of its 24 bytes are
 * there. Over loopback, where one segment of up to 64 KiB can take more than half of the buffer, TCP closes its window
 * until that segment has been read to the end: when it ends within a head, both wait for ever. Buffers long enough for
 * several segments prevent it, but FI_SOCKETS_MAX_BUF_SZ gives them to accepted connections only. So send nothing over
 * an accepted connection: make one of our own, by a first message, before we hear of the peer's. */
static void keep_moving(const struct hx_net *net, struct hx_edge *edge, const struct hx_path *path, const struct rail_blob *peer)
{
    struct hx_credit none = {.sum = 0};

    if (strcmp(path->rail->info->fabric_attr->prov_name, "sockets") == 0 && is_of_this_host(path->rail, peer))
        hx_credit_inject(net, edge, path, &none);
}

/* ---- connecting */

/* A provider over sockets opens one for each peer when messages flow, and reports no error when it cannot. So check the limit beforehand.
 * Only warn, since a job of many ranks may never use all connections. */
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

/* The scope of an IPv6 link-local address is the number of an interface, and each host numbers its own. */
static const void *name_from_here(const struct hx_rail *rail, const struct rail_blob *to, struct sockaddr_in6 *scoped)
{
    struct sockaddr_in6 own;

    if (ip_of_peer(to).length != sizeof(struct in6_addr) || ip_of_rail(rail).length != sizeof(struct in6_addr))
        return to->name;
    memcpy(scoped, to->name, sizeof(*scoped));
    memcpy(&own, rail->info->src_addr, sizeof(own));
    if (!IN6_IS_ADDR_LINKLOCAL(&scoped->sin6_addr))
        return to->name;
    scoped->sin6_scope_id = own.sin6_scope_id;
    return scoped;
}

static hx_status_t path_add(struct hx_net *net, struct hx_edge *edge, struct hx_rail *rail, const struct rail_blob *to)
{
    struct hx_path *path = &edge->paths[edge->npaths++];
    struct sockaddr_in6 scoped;
    int rc;

    path->rail = rail;
    path->spot = hx_spot_of(to->name, to->name_bytes);
    path->host = hx_host_of(to->name, to->name_bytes);
    hx_status_t status = files_reserve(net);
    if (status != HX_SUCCESS)
        return status;
    rc = fi_av_insert(rail->av, name_from_here(rail, to, &scoped), 1, &path->addr, 0, NULL);
    if (rc != 1)
        return hx_fail(HX_ERR_TRANSPORT, "fi_av_insert of libfabric provider %s on %s does not take the address of rank %d of the job: %s%s",
                       rail->info->fabric_attr->prov_name, rail->info->domain_attr->name, edge->peer,
                       rc < 0 ? fi_strerror(-rc) : "it gives no reason",
                       hx_provider_is_efa(rail->info) ? " (is the rank in another subnet or availability zone?)" : "");
    keep_moving(net, edge, path, to);
    return HX_SUCCESS;
}

/* Which of n addresses has `place` smaller ones? */
static int by_address(const struct ip *ips, int n, int place)
{
    for (int i = 0; i < n; i++) {
        int smaller = 0;
        for (int k = 0; k < n; k++) {
            int order = ip_compare(ips[k], ips[i]);
            smaller += order < 0 || (order == 0 && k < i);
        }
        if (smaller == place)
            return i;
    }
    return 0;
}

/* Both ends of a path, as each describes itself in its address. */
struct end {
    const struct rail_blob *rails[HX_RAILS_MAX];
    int n;
    uint64_t host;
};

static void end_read(const struct address_blob *blob, struct end *end)
{
    const struct rail_blob *rail = (const struct rail_blob *)blob->rails;

    *end = (struct end){.n = blob->nrails, .host = blob->host};
    for (int i = 0; i < end->n; i++, rail = rail_next(rail))
        end->rails[i] = rail;
}

/* If two hosts have the same address, they cannot reach each other by it: it is that of a container bridge or of a tunnel. */
static int is_mirror(const struct end *a, int i, const struct end *b, int k)
{
    struct ip ip = ip_of_peer(a->rails[i]);

    return a->host != 0 && b->host != 0 && a->host != b->host && ip.length > 0 && ip_compare(ip, ip_of_peer(b->rails[k])) == 0;
}

static int is_usable(const struct end *end, int i, const struct end *other)
{
    for (int k = 0; k < other->n; k++)
        if (is_mirror(end, i, other, k))
            return 0;
    return 1;
}

/* For each interface the first address that can be used. Returns their number. */
static int firsts_find(const struct end *end, const struct end *other, int places[HX_RAILS_MAX], struct ip ips[HX_RAILS_MAX])
{
    int n = 0;

    for (int i = 0; i < end->n; i++) {
        int is_first = is_usable(end, i, other);
        for (int k = 0; k < end->n; k++)
            is_first &= end->rails[k]->interface != end->rails[i]->interface || end->rails[k]->address >= end->rails[i]->address ||
                        !is_usable(end, k, other);
        if (!is_first)
            continue;
        places[n] = i;
        ips[n++] = ip_of_peer(end->rails[i]);
    }
    return n;
}

/* Without a network in common there may be ways between their networks: likely from the first by address to the first,
 * from the second to the second, as planes of a fabric are numbered. The seats of two nodes that face each other (lanes)
 * take these in turn. */
static hx_status_t way_make(struct hx_net *net, struct hx_edge *edge, const struct end *mine, const struct end *theirs, uint32_t their_seat)
{
    uint32_t own_seat = (uint32_t)net->seat, seat = own_seat > their_seat ? own_seat : their_seat;
    struct ip own[HX_RAILS_MAX], other[HX_RAILS_MAX];
    int places[HX_RAILS_MAX], their_places[HX_RAILS_MAX];
    int n = firsts_find(mine, theirs, places, own), m = firsts_find(theirs, mine, their_places, other);

    if (n == 0 || m == 0) {
        char text[INET6_ADDRSTRLEN] = "";
        struct ip ip = ip_of_peer(mine->rails[0]);
        if (ip.length > 0)
            inet_ntop(ip.length == sizeof(struct in_addr) ? AF_INET : AF_INET6, ip.address, text, sizeof(text));
        return hx_fail(HX_ERR_TRANSPORT, "rank %d and rank %d are on different hosts that have the same address %s; name another "
                                         "interface or network in HX_NIC", net->rank, edge->peer, text);
    }
    int place = (int)(seat % (uint32_t)(n < m ? n : m));
    return path_add(net, edge, &net->rails[places[by_address(own, n, place)]], theirs->rails[their_places[by_address(other, m, place)]]);
}

/* Make a path for each pair of interfaces that have addresses in the same network. Both ends use the order of the lower rank, so they find
 * the same paths. */
static hx_status_t paths_make(struct hx_net *net, struct hx_edge *edge, const struct end *mine, const struct end *theirs, uint32_t their_seat)
{
    int mine_first = net->rank < edge->peer;
    const struct end *a = mine_first ? mine : theirs, *b = mine_first ? theirs : mine;
    unsigned used_a = 0, used_b = 0; /* interfaces, a bit each */
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
    return edge->npaths == 0 ? way_make(net, edge, mine, theirs, their_seat) : status;
}

hx_status_t hx_address_connect(struct hx_net *net, int peer, const void *data, size_t bytes)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED;
    const struct address_blob *blob = (const struct address_blob *)buffer;
    struct address_blob own;
    struct end mine, theirs;
    struct hx_edge *edge;
    hx_status_t status;
    int npaths;

    if (peer < 0 || peer >= net->nranks || peer == net->rank)
        return hx_fail(HX_ERR_INTERNAL, "rank %d cannot connect to rank %d of %d", net->rank, peer, net->nranks);
    if (net->edges[peer])
        return HX_SUCCESS;
    if (net->nrails_told == 0)
        return hx_fail(HX_ERR_INTERNAL, "rank %d connects before it has published its address", net->rank);
    blob_own(net, &own);
    if ((status = blob_read(peer, data, bytes, buffer)) != HX_SUCCESS ||
        (status = blobs_agree(peer, blob, net->rank, &own)) != HX_SUCCESS)
        return status;
    npaths = net->nrails_told < blob->nrails ? net->nrails_told : blob->nrails;
    edge = calloc(1, sizeof(*edge) + (size_t)npaths * sizeof(edge->paths[0]));
    if (!edge)
        return hx_fail(HX_ERR_NOMEM, "no memory for the connection to rank %d", peer);
    edge->peer = peer;
    if (own.write_bytes > 0 && blob->write_bytes > 0)
        edge->write_bytes = own.write_bytes > blob->write_bytes ? own.write_bytes : blob->write_bytes;
    end_read(blob, &theirs);
    end_read(net->told, &mine);
    status = paths_make(net, edge, &mine, &theirs, blob->seat);
    if (status != HX_SUCCESS) {
        free(edge);
        return status;
    }
    hx_listens_reserve(net, edge->write_bytes > 0 ? 2 : 1); /* for credits, and for invitations */
    net->edges[peer] = edge;
    return HX_SUCCESS;
}
