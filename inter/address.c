/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses on the wire: what a peer needs to reach this endpoint and what both must agree on, checked before it is
 * used. */
#include "fabric.h"
#include "runtime/error.h"
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

hx_status_t hx_address_get(struct hx_net *net, void *out, size_t *bytes)
{
    uint8_t buffer[sizeof(struct address_blob) + 512] __attribute__((aligned(8))) = {0};
    struct address_blob *blob = (struct address_blob *)buffer;
    size_t name_bytes = sizeof(buffer) - sizeof(*blob), total;
    int rc = fi_getname(&net->ep->fid, blob->name, &name_bytes);

    if (rc != 0)
        return hx_fail(HX_ERR_TRANSPORT, "fi_getname: %s", fi_strerror(-rc));
    total = sizeof(*blob) + name_bytes;
    if (*bytes < total)
        return hx_fail(HX_ERR_INTERNAL, "network address needs %zu bytes, %zu given", total, *bytes);
    blob->magic = ADDRESS_MAGIC;
    blob->version = ADDRESS_VERSION;
    blob->name_bytes = (uint16_t)name_bytes;
    blob->chunk_bytes = (uint32_t)net->chunk_bytes;
    blob->grant = HX_GRANT;
    strncpy(blob->provider, net->info->fabric_attr->prov_name, sizeof(blob->provider) - 1);
    blob->checksum = blob_checksum(blob);
    memcpy(out, blob, total);
    *bytes = total;
    return HX_SUCCESS;
}

static hx_status_t blob_check(const struct hx_net *net, int peer, const struct address_blob *blob, size_t bytes)
{
    const char *provider = net->info->fabric_attr->prov_name;

    if (bytes < sizeof(*blob) || blob->magic != ADDRESS_MAGIC)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d is no address of hierax (%zu bytes)", peer, bytes);
    if (blob->version != ADDRESS_VERSION)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d has version %u, this is version %u", peer,
                       blob->version, ADDRESS_VERSION);
    if (bytes != sizeof(*blob) + blob->name_bytes || blob->checksum != blob_checksum(blob) ||
        memchr(blob->provider, 0, sizeof(blob->provider)) == NULL)
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d is damaged", peer);
    if (strcmp(blob->provider, provider) != 0)
        return hx_fail(HX_ERR_TRANSPORT, "rank %d uses libfabric provider %s, rank %d uses %s; set HX_PROVIDER", peer,
                       blob->provider, net->rank, provider);
    if (blob->chunk_bytes != net->chunk_bytes || blob->grant != HX_GRANT)
        return hx_fail(HX_ERR_TRANSPORT, "rank %d sends chunks of %u bytes and grants %u, rank %d %zu and %d", peer,
                       blob->chunk_bytes, blob->grant, net->rank, net->chunk_bytes, HX_GRANT);
    return HX_SUCCESS;
}

hx_status_t hx_address_connect(struct hx_net *net, int peer, const void *data, size_t bytes)
{
    uint8_t buffer[sizeof(struct address_blob) + 512] __attribute__((aligned(8)));
    const struct address_blob *blob = (const struct address_blob *)buffer;
    struct hx_edge *edge;
    hx_status_t status;

    if (peer < 0 || peer >= net->nranks || peer == net->rank)
        return hx_fail(HX_ERR_INTERNAL, "rank %d cannot connect to rank %d of %d", net->rank, peer, net->nranks);
    if (net->edges[peer] != NULL)
        return HX_SUCCESS;
    if (bytes > sizeof(buffer))
        return hx_fail(HX_ERR_TRANSPORT, "network address of rank %d is no address of hierax (%zu bytes)", peer, bytes);
    memcpy(buffer, data, bytes); /* the caller's blob may lie at any alignment */
    status = blob_check(net, peer, blob, bytes);
    if (status != HX_SUCCESS)
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
    return HX_SUCCESS;
}
