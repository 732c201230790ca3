/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as ranks exchange them: how to reach this endpoint, and what both ends must agree on. Each is checked before use. */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "topo/place.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_MAGIC 0x31464c48u /* "HLF1" read as little endian, so another byte order is refused too */
#define ADDRESS_VERSION 11

struct address_blob {
    uint32_t magic;
    uint32_t checksum; /* of everything that follows */
    uint16_t version;
    uint8_t nrails;
    uint8_t grant;
    uint32_t chunk_bytes;
    uint16_t rails_bytes;
    uint16_t seat; /* struct hx_net_seat */
    uint32_t write_bytes; /* see struct hx_net */
    uint32_t link_mbits; /* of an interface; 0: unknown */
    uint8_t links;       /* see struct hx_net */
    uint8_t match_bits;  /* of a match id */
    uint16_t refused;    /* see struct hx_net; likewise */
    struct hx_refusal refusal;
    char provider[20];
    uint64_t host; /* hx_topo_network_id */
    uint8_t rails[]; /* the first choice first: a struct hx_rail_address each; aligned to 8 bytes */
};

#define BLOB_MAX_BYTES (sizeof(struct address_blob) + 512)
#define BLOB_ALIGNED __attribute__((aligned(8)))

static uint32_t blob_checksum(const struct address_blob *blob)
{
    const size_t begin = offsetof(struct address_blob, version);

    return (uint32_t)hx_fnv(HX_FNV_START, &blob->version, sizeof(*blob) - begin + blob->rails_bytes);
}

static size_t rail_bytes(size_t name_bytes)
{
    return sizeof(struct hx_rail_address) + ((name_bytes + 7) & ~(size_t)7);
}

static uint8_t interface_number(const struct hx_net *net, int rail)
{
    int i = 0;

    while (net->rails[i].copy != net->rails[rail].copy ||
           strcmp(net->rails[i].info->domain_attr->name, net->rails[rail].info->domain_attr->name) != 0)
        i++;
    return (uint8_t)i;
}

/* Writes as many rails as fit. */
hx_status_t hx_address_get(struct hx_net *net, void *out, size_t *bytes)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED = {0};
    struct address_blob *blob = (struct address_blob *)buffer;
    uint8_t *at = blob->rails, *end = buffer + (*bytes < BLOB_MAX_BYTES ? *bytes : BLOB_MAX_BYTES);

    *blob = (struct address_blob){.magic = ADDRESS_MAGIC, .version = ADDRESS_VERSION, .chunk_bytes = (uint32_t)net->chunk_bytes,
                                  .grant = HX_GRANT, .write_bytes = (uint32_t)net->write_bytes, .seat = (uint16_t)net->seat,
                                  .host = hx_topo_network_id(), .link_mbits = (uint32_t)(net->link_bits / 1000000),
                                  .links = (uint8_t)net->links, .match_bits = (uint8_t)net->match_bits,
                                  .refused = (uint16_t)net->refused, .refusal = net->refusal};
    strncpy(blob->provider, net->info->fabric_attr->prov_name, sizeof(blob->provider) - 1);
    for (int i = 0; i < net->nrails; i++, blob->nrails++) {
        uint8_t name[256];
        size_t name_bytes = sizeof(name);
        int rc = fi_getname(&net->rails[i].ep->fid, name, &name_bytes);
        if (rc != 0)
            return hx_fail(HX_ERR_TRANSPORT, "fi_getname: %s", fi_strerror(-rc));
        net->rails[i].address_hash = hx_address_hash(name, name_bytes);
        if (end - at < (ptrdiff_t)rail_bytes(name_bytes))
            break;
        struct hx_rail_address *rail = (struct hx_rail_address *)at;
        rail->network = hx_offer_network(net->rails[i].info);
        rail->name_bytes = (uint16_t)name_bytes;
        rail->interface = interface_number(net, i);
        rail->address = net->rails[i].address;
        memcpy(rail->name, name, name_bytes);
        at += rail_bytes(name_bytes);
    }
    hx_sockets_guard(net); /* their listeners */
    hx_strangers_prepare(net);
    if (blob->nrails == 0)
        return hx_fail(HX_ERR_INTERNAL, "a network address does not fit into %zu bytes", *bytes);
    net->nrails_published = blob->nrails;
    blob->rails_bytes = (uint16_t)(at - blob->rails);
    blob->checksum = blob_checksum(blob);
    *bytes = sizeof(*blob) + blob->rails_bytes;
    memcpy(out, blob, *bytes);
    free(net->own_address);
    net->own_address = malloc(*bytes);
    if (!net->own_address)
        return hx_fail(HX_ERR_NOMEM, "no memory for a network address");
    memcpy(net->own_address, blob, *bytes);
    return HX_SUCCESS;
}

static int rails_are_whole(const struct address_blob *blob)
{
    size_t at = 0;

    for (int i = 0; i < blob->nrails; i++) {
        const struct hx_rail_address *rail = (const struct hx_rail_address *)(blob->rails + at);
        if (blob->rails_bytes - at < sizeof(*rail) || blob->rails_bytes - at < rail_bytes(rail->name_bytes) ||
            rail->interface >= HX_RAILS_MAX)
            return 0;
        at += rail_bytes(rail->name_bytes);
    }
    return at == blob->rails_bytes && blob->nrails >= 1 && blob->nrails <= HX_RAILS_MAX;
}

/* Copies the peer's address, because it may be unaligned. */
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
        return hx_fail(HX_ERR_TRANSPORT, "chunks differ: rank %d has %u of %u bytes, rank %d has %u of %u bytes. "
                       "Use the same versions of Hierax and libfabric on all hosts",
                       a, of_a->grant, of_a->chunk_bytes, b, of_b->grant, of_b->chunk_bytes);
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

void hx_address_refusals(int rank, const void *address, size_t bytes, struct hx_net_refusals *all)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED;
    const struct address_blob *blob = (const struct address_blob *)buffer;

    if (blob_read(rank, address, bytes, buffer) == HX_SUCCESS)
        hx_refusals_add(all, rank, &blob->refusal, blob->refused);
}

static void end_read(const struct address_blob *blob, struct hx_path_end *end)
{
    const uint8_t *at = blob->rails;

    *end = (struct hx_path_end){.n = blob->nrails, .seat = blob->seat, .host = blob->host};
    for (int i = 0; i < end->n; i++, at += rail_bytes(end->rails[i - 1]->name_bytes))
        end->rails[i] = (const struct hx_rail_address *)at;
}

/* Without further addresses of the same endpoint. */
static int endpoints_count(const struct address_blob *blob)
{
    struct hx_path_end end;
    int n = 0;

    end_read(blob, &end);
    for (int i = 0; i < end.n; i++)
        n += end.rails[i]->interface == i;
    return n;
}

void hx_address_profile(const struct hx_net *net, const void *address, size_t bytes, struct hx_net_profile *out)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED;
    const struct address_blob *blob = (const struct address_blob *)buffer;
    const char *provider = net->is_open ? net->info->fabric_attr->prov_name : net->provider;

    if (blob_read(0, address, bytes, buffer) == HX_SUCCESS && blob->links > 0)
        hx_profile_cost(provider, blob->links, endpoints_count(blob), blob->link_mbits * 1e6, out);
    else /* never after start-up: there all ranks have checked this address */
        hx_profile_cost(provider, 1, 1, 0, out);
}

hx_status_t hx_edge_make(struct hx_net *net, int peer, const void *data, size_t bytes, struct hx_edge **out)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED;
    const struct address_blob *blob = (const struct address_blob *)buffer, *own = net->own_address;
    struct hx_path_end mine, theirs;
    struct hx_edge *edge;
    hx_status_t status;
    int npaths;

    if (net->nrails_published == 0)
        return hx_fail(HX_ERR_INTERNAL, "rank %d connects before it has published its address", net->rank);
    if ((status = blob_read(peer, data, bytes, buffer)) != HX_SUCCESS ||
        (status = blobs_agree(peer, blob, net->rank, own)) != HX_SUCCESS)
        return status;
    npaths = net->nrails_published < blob->nrails ? net->nrails_published : blob->nrails;
    edge = calloc(1, sizeof(*edge) + (size_t)npaths * sizeof(edge->paths[0]));
    if (!edge)
        return hx_fail(HX_ERR_NOMEM, "no memory for the connection to rank %d", peer);
    edge->peer = peer;
    if (own->write_bytes > 0 && blob->write_bytes > 0)
        edge->write_bytes = own->write_bytes > blob->write_bytes ? own->write_bytes : blob->write_bytes;
    end_read(blob, &theirs);
    end_read(own, &mine);
    status = hx_paths_make(net, edge, &mine, &theirs);
    edge->stripe_bytes = net->traits->stripe_bytes > 0 ? net->traits->stripe_bytes : (size_t)edge->npaths * HX_STRIPE_BYTES;
    if (status != HX_SUCCESS) {
        free(edge);
        return status;
    }
    /* Each edge needs one receive for credits and one for invitations. More are for devices that have plenty. */
    edge->invite_recvs = net->reserved_recvs < net->rx_size / 4 ? HX_INVITE_RECVS : 1;
    hx_recvs_reserve(net, 1 + (edge->write_bytes > 0 ? (size_t)edge->invite_recvs : 0));
    *out = edge;
    return HX_SUCCESS;
}

hx_status_t hx_address_connect(struct hx_net *net, int peer, const void *data, size_t bytes)
{
    if (peer < 0 || peer >= net->nranks || peer == net->rank)
        return hx_fail(HX_ERR_INTERNAL, "rank %d cannot connect to rank %d of %d", net->rank, peer, net->nranks);
    return net->edges[peer] ? HX_SUCCESS : hx_edge_make(net, peer, data, bytes, &net->edges[peer]);
}

hx_status_t hx_address_adopt(struct hx_net *net, int peer, const void *data, size_t bytes)
{
    uint8_t buffer[BLOB_MAX_BYTES] BLOB_ALIGNED;
    const struct address_blob *blob = (const struct address_blob *)buffer;
    hx_status_t status = blob_read(peer, data, bytes, buffer);

    if (status != HX_SUCCESS)
        return status;
    if (net->is_open)
        return HX_SUCCESS;
    memcpy(net->provider, blob->provider, sizeof(net->provider));
    net->match_bits = blob->match_bits;
    snprintf(net->text, sizeof(net->text), "libfabric provider %s; this rank has no endpoint yet: HX_ENDPOINTS", net->provider);
    return HX_SUCCESS;
}
