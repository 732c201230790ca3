/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the runtime has told to be its own (segment, scratch): where the provider asks for registration, long messages go
 * straight from it and into it instead of through bounce buffers. What a user passes is never among it, since nobody tells when
 * that is unmapped.
 *
 * A region is registered in blocks, each when it is first used, and for the rail that uses it: what no message touches is not
 * pinned. Each block reaches one chunk into the next, so that a chunk is always within one.
 */
#include "fabric.h"
#include "runtime/log.h"
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)2 << 20)

struct hx_region {
    struct hx_region *next;
    uint8_t *base;
    size_t bytes, nblocks;
    int refused;           /* the provider did not register a block: bounce */
    struct fid_mr *mrs[];  /* [rails][nblocks], NULL: not yet */
};

void hx_region_add(struct hx_net *net, void *base, size_t bytes)
{
    size_t nblocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    struct hx_region *region;

    if (!net->register_local)
        return;
    for (region = net->regions; region != NULL; region = region->next)
        if (region->base == base)
            return;
    region = calloc(1, sizeof(*region) + (size_t)net->nrails * nblocks * sizeof(region->mrs[0]));
    if (region == NULL)
        return; /* it bounces */
    region->base = base;
    region->bytes = bytes;
    region->nblocks = nblocks;
    region->next = net->regions;
    net->regions = region;
}

static void region_close(const struct hx_net *net, struct hx_region *region)
{
    for (size_t i = 0; i < (size_t)net->nrails * region->nblocks; i++)
        if (region->mrs[i] != NULL)
            fi_close(&region->mrs[i]->fid);
    free(region);
}

void hx_region_remove(struct hx_net *net, const void *base)
{
    for (struct hx_region **at = &net->regions, *region; (region = *at) != NULL; at = &region->next) {
        if (region->base != base)
            continue;
        *at = region->next;
        region_close(net, region);
        return;
    }
}

void hx_regions_close(struct hx_net *net)
{
    for (struct hx_region *region; (region = net->regions) != NULL;) {
        net->regions = region->next;
        region_close(net, region);
    }
}

static int block_register(struct hx_region *region, size_t block, size_t chunk_bytes, struct hx_rail *rail, struct fid_mr **mr)
{
    size_t at = block * BLOCK_BYTES, bytes = BLOCK_BYTES + chunk_bytes;
    int rc = hx_rail_register(rail, region->base + at, bytes < region->bytes - at ? bytes : region->bytes - at, mr);

    if (rc == 0)
        return 0;
    region->refused = 1;
    hx_info("%s does not register memory of Hierax (%s): what stands there is copied through bounce buffers",
            rail->info->fabric_attr->prov_name, fi_strerror(-rc));
    return -1;
}

/* The last used stands first: a call's chunks come from one or two. */
static struct hx_region *region_of(struct hx_net *net, const uint8_t *at)
{
    for (struct hx_region **link = &net->regions, *region; (region = *link) != NULL; link = &region->next) {
        if (at < region->base || at >= region->base + region->bytes)
            continue;
        *link = region->next;
        region->next = net->regions;
        net->regions = region;
        return region;
    }
    return NULL;
}

int hx_region_find(struct hx_net *net, struct hx_rail *rail, const void *buffer, size_t bytes, void **desc)
{
    const uint8_t *at = buffer;
    struct hx_region *region = region_of(net, at);
    struct fid_mr **mr;

    if (region == NULL || region->refused || bytes > region->bytes - (size_t)(at - region->base))
        return 0;
    size_t block = (size_t)(at - region->base) / BLOCK_BYTES;
    mr = &region->mrs[(size_t)(rail - net->rails) * region->nblocks + block];
    if (*mr == NULL && block_register(region, block, net->chunk_bytes, rail, mr) != 0)
        return 0;
    *desc = fi_mr_desc(*mr);
    return 1;
}
