/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses on the wire: what a peer needs to reach this endpoint and what both must agree on, checked before it is
 * used. */
#include "fabric.h"
#include "runtime/error.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_MAGIC 0x31464c48u /* "HLF1" read as little endian: a foreign byte order does not pass either */
#define ADDRESS_VERSION 1

struct address_blob {
    uint32_t magic;
    uint32_t checksum; /* of all that follows */
    uint16_t version;
    uint16_t name_bytes;
    uint32_t chunk_bytes;
    uint32_t grant;
    char provider[64];
    uint8_t name[]; /* as fi_getname gave it */
};
#define BLOB_MAX_BYTES (sizeof(struct address_blob) + 512)

static uint32_t checksum(const void *data, size_t bytes) /* FNV-1a */
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 16777619u;
    return hash;
}

static uint32_t blob_checksum(const struct address_blob *blob)
{
    return checksum(&blob->version, sizeof(*blob) - offsetof(struct address_blob, version) + blob->name_bytes);
}

/* What the peer must agree on; the name is not filled in. */
static void blob_own(const struct hx_net *net, struct address_blob *blob)
{
    *blob = (struct address_blob){.magic = ADDRESS_MAGIC, .version = ADDRESS_VERSION,
                                  .chunk_bytes = (uint32_t)net->chunk_bytes, .grant = HX_GRANT};
    strncpy(blob->provider, net->info->fabric_attr->prov_name, sizeof(blob->provider) - 1);
}

hx_status_t hx_address_get(struct hx_net *net, void *out, size_t *bytes)
{
    uint8_t buffer[BLOB_MAX_BYTES] __attribute__((aligned(8))) = {0};
    struct address_blob *blob = (struct address_blob *)buffer;
    size_t name_bytes = sizeof(buffer) - sizeof(*blob), total;
    int rc = fi_getname(&net->ep->fid, blob->name, &name_bytes);

    if (rc != 0)
        return hx_fail(HX_ERR_TRANSPORT, "fi_getname: %s", fi_strerror(-rc));
    total = sizeof(*blob) + name_bytes;
    if (*bytes < total)
        return hx_fail(HX_ERR_INTERNAL, "network address needs %zu bytes, %zu given", total, *bytes);
    blob_own(net, blob);
    blob->name_bytes = (uint16_t)name_bytes;
    blob->checksum = blob_checksum(blob);
    memcpy(out, blob, total);
    *bytes = total;
    return HX_SUCCESS;
}

/* A peer's blob, copied to where it is aligned. */
static hx_status_t blob_read(int peer, const void *data, size_t bytes, uint8_t buffer[BLOB_MAX_BYTES])
{
    const struct address_blob *blob = (const struct address_blob *)buffer;

    memcpy(buffer, data, bytes < BLOB_MAX_BYTES ? bytes : BLOB_MAX_BYTES);
    if (bytes < sizeof(*blob) || bytes > BLOB_MAX_BYTES || blob->magic != ADDRESS_MAGIC)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d is no address of hierax (%zu bytes)", peer, bytes);
    if (blob->version != ADDRESS_VERSION)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d has version %u, this is version %u", peer,
                       blob->version, ADDRESS_VERSION);
    if (bytes != sizeof(*blob) + blob->name_bytes || blob->checksum != blob_checksum(blob) ||
        memchr(blob->provider, 0, sizeof(blob->provider)) == NULL)
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
    return HX_SUCCESS;
}

hx_status_t hx_address_agree(int a, const void *of_a, size_t a_bytes, int b, const void *of_b, size_t b_bytes)
{
    uint8_t buffer_a[BLOB_MAX_BYTES] __attribute__((aligned(8))), buffer_b[BLOB_MAX_BYTES] __attribute__((aligned(8)));
    hx_status_t status = blob_read(a, of_a, a_bytes, buffer_a);

    if (status == HX_SUCCESS)
        status = blob_read(b, of_b, b_bytes, buffer_b);
    return status != HX_SUCCESS ? status
                                : blobs_agree(a, (const struct address_blob *)buffer_a, b,
                                              (const struct address_blob *)buffer_b);
}

static int is_of_this_host(const struct hx_net *net, const void *name)
{
    const struct sockaddr *own = net->info->src_addr, *peer = name;

    if (own == NULL || own->sa_family != peer->sa_family)
        return 0;
    if (own->sa_family == AF_INET)
        return ((const struct sockaddr_in *)own)->sin_addr.s_addr == ((const struct sockaddr_in *)peer)->sin_addr.s_addr;
    return own->sa_family == AF_INET6 && memcmp(&((const struct sockaddr_in6 *)own)->sin6_addr,
                                                &((const struct sockaddr_in6 *)peer)->sin6_addr, 16) == 0;
}

/* libfabric's sockets provider leaves the head of a message in TCP's receive buffer until all of its 24 bytes are
 * there. Over loopback, where one segment of up to 64 KiB can take more than half of the buffer, TCP closes its window
 * until that segment has been read to the end: when it ends within a head, both wait for ever. Buffers long enough for
 * several segments prevent it, but FI_SOCKETS_MAX_BUF_SZ gives them to accepted connections only. So send nothing over
 * an accepted connection: make one of our own, by a first word, before we hear of the peer's. */
static void keep_moving(struct hx_net *net, struct hx_edge *edge, const void *name)
{
    struct hx_flow *flow;

    if (strcmp(net->info->fabric_attr->prov_name, "sockets") == 0 && is_of_this_host(net, name) &&
        (flow = hx_flow_of(edge, 0)) != NULL)
        hx_credit_tell(net, edge, flow);
}

hx_status_t hx_address_connect(struct hx_net *net, int peer, const void *data, size_t bytes)
{
    uint8_t buffer[BLOB_MAX_BYTES] __attribute__((aligned(8)));
    const struct address_blob *blob = (const struct address_blob *)buffer;
    struct address_blob own;
    struct hx_edge *edge;
    hx_status_t status;

    if (peer < 0 || peer >= net->nranks || peer == net->rank)
        return hx_fail(HX_ERR_INTERNAL, "rank %d cannot connect to rank %d of %d", net->rank, peer, net->nranks);
    if (net->edges[peer] != NULL)
        return HX_SUCCESS;
    blob_own(net, &own);
    if ((status = blob_read(peer, data, bytes, buffer)) != HX_SUCCESS ||
        (status = blobs_agree(peer, blob, net->rank, &own)) != HX_SUCCESS)
        return status;
    edge = calloc(1, sizeof(*edge));
    if (edge == NULL)
        return hx_fail(HX_ERR_NOMEM, "no memory for the connection to rank %d", peer);
    edge->peer = peer;
    if (fi_av_insert(net->av, blob->name, 1, &edge->addr, 0, NULL) != 1) {
        free(edge);
        return hx_fail(HX_ERR_TRANSPORT, "libfabric provider %s does not take the address of rank %d", blob->provider,
                       peer);
    }
    net->edges[peer] = edge;
    keep_moving(net, edge, blob->name);
    return HX_SUCCESS;
}
