/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions: memory of the runtime (segment, scratch, memory of hx_alloc). If the provider needs registration, long messages use it
 * without bounce buffers. Other memory of the program is never registered, because the program may unmap it at any time.
 *
 * A region is registered in blocks, each on its first use by a rail. Blocks that no long message uses are not pinned. Each block
 * overlaps the next by one chunk, so a chunk is always within one block.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/log.h"
#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK_BYTES ((size_t)2 << 20) /* at least */
#define BLOCKS_MAX 1024               /* devices limit the number of registrations */

struct hx_region {
    struct hx_region *next;
    uint8_t *base;
    size_t bytes, block_bytes, nblocks;
    enum hx_net_memory kind;
    int refused;          /* the provider has refused a block: ask no more */
    struct hx_registration registrations[]; /* [rails][nblocks], mr NULL: not yet */
};

/* Large, so that the overlap is a small part. */
static size_t block_bytes_for(const struct hx_net *net, size_t bytes)
{
    size_t block = BLOCK_BYTES;

    while (block < 4 * net->chunk_bytes || block < bytes / BLOCKS_MAX)
        block *= 2;
    return block;
}

void hx_region_add(struct hx_net *net, void *base, size_t bytes, enum hx_net_memory kind)
{
    size_t block_bytes = block_bytes_for(net, bytes), nblocks = (bytes + block_bytes - 1) / block_bytes;
    struct hx_region *region;

    if (net->is_open && !net->register_local)
        return;
    for (region = net->regions; region; region = region->next)
        if (region->base == base)
            return;
    region = calloc(1, sizeof(*region) + (size_t)net->nrails * nblocks * sizeof(region->registrations[0]));
    if (!region)
        return; /* its messages use bounce buffers */
    *region = (struct hx_region){.next = net->regions, .base = base, .bytes = bytes, .block_bytes = block_bytes,
                                 .nblocks = nblocks, .kind = kind};
    net->regions = region;
}

static void region_close(const struct hx_net *net, struct hx_region *region)
{
    for (size_t i = 0; i < (size_t)net->nrails * region->nblocks; i++)
        if (region->registrations[i].mr)
            fi_close(&region->registrations[i].mr->fid);
    free(region);
}

int hx_region_remove(struct hx_net *net, const void *base)
{
    for (struct hx_region **at = &net->regions, *region; (region = *at); at = &region->next) {
        if (region->base != base)
            continue;
        if (!hx_registrations_drain(net, region->registrations, (size_t)net->nrails * region->nblocks))
            return 1;
        for (at = &net->regions; *at != region;) /* progress may have changed their order */
            at = &(*at)->next;
        *at = region->next;
        region_close(net, region);
        return 0;
    }
    return 0;
}

void hx_regions_reopen(struct hx_net *net)
{
    struct hx_region *before = net->regions, *region;

    net->regions = NULL;
    while ((region = before)) {
        before = region->next;
        if (net->register_local)
            hx_region_add(net, region->base, region->bytes, region->kind);
        free(region); /* it has no registrations */
    }
}

void hx_regions_close(struct hx_net *net)
{
    for (struct hx_region *region; (region = net->regions);) {
        net->regions = region->next;
        region_close(net, region);
    }
}

static int block_register(struct hx_region *region, size_t block, size_t chunk_bytes, struct hx_rail *rail,
                          struct hx_registration *out)
{
    size_t at = block * region->block_bytes, most = region->bytes - at;
    size_t bytes = region->block_bytes + chunk_bytes < most ? region->block_bytes + chunk_bytes : most;
    int rc = hx_rail_register(rail, region->base + at, bytes, out);

    if (rc == 0) {
        if (region->kind != HX_MEMORY_WORK) /* rdma-core hides registered memory from children. Children need this memory */
            madvise(region->base + at, bytes, MADV_DOFORK);
        return 0;
    }
    region->refused = 1;
    hx_info("%s cannot register memory of Hierax (%s): its data is copied through bounce buffers",
            rail->info->fabric_attr->prov_name, fi_strerror(-rc));
    return -1;
}

/* Moves the region to the front: the chunks of a call are in one or two regions. */
static struct hx_region *region_of(struct hx_net *net, const uint8_t *at)
{
    for (struct hx_region **link = &net->regions, *region; (region = *link); link = &region->next) {
        if (at < region->base || at >= region->base + region->bytes)
            continue;
        *link = region->next;
        region->next = net->regions;
        net->regions = region;
        return region;
    }
    return NULL;
}

int hx_region_is_internal(const struct hx_net *net, const struct hx_registration *registration)
{
    const struct hx_region *region = net->regions;

    while (region && (registration < region->registrations ||
                              registration >= region->registrations + (size_t)net->nrails * region->nblocks))
        region = region->next;
    return region && region->kind != HX_MEMORY_PROGRAM;
}

const struct hx_registration *hx_region_find(struct hx_net *net, struct hx_rail *rail, const void *buffer, size_t bytes)
{
    const uint8_t *at = buffer;
    struct hx_region *region = region_of(net, at);
    struct hx_registration *found;

    if (!region || bytes > region->bytes - (size_t)(at - region->base))
        return NULL;
    size_t block = (size_t)(at - region->base) / region->block_bytes;
    found = &region->registrations[(size_t)(rail - net->rails) * region->nblocks + block];
    if (!found->mr && (region->refused || block_register(region, block, net->chunk_bytes, rail, found) != 0))
        return NULL;
    return found;
}
