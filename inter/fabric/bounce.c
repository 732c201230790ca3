/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounce buffers: memory of the endpoint itself. They come from blocks that are kept until the endpoints close, so a steady state
 * allocates and registers nothing. If the provider needs local registration, each block is registered once, as a whole, for its
 * rail.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)2 << 20) /* one huge page, if the kernel has any */

struct hx_bounce_block {
    struct hx_bounce_block *next;
    void *base;
    size_t bytes;
    struct hx_registration registration;
    struct hx_bounce bounces[];
};

static void memlock_text(char *text, size_t capacity)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text, capacity, "locked memory is limited to %llu KiB: set ulimit -l unlimited", (unsigned long long)limit.rlim_cur >> 10);
    else
        snprintf(text, capacity, "ulimit -l is unlimited");
}

int hx_rail_register(struct hx_rail *rail, void *base, size_t bytes, struct hx_registration *out)
{
    int mode = rail->info->domain_attr->mr_mode;
    uint64_t key = mode & FI_MR_PROV_KEY ? 0 : ++rail->next_key, access = FI_SEND | FI_RECV;
    struct fid_mr *made;
    int rc;

    if (rail->info->caps & FI_RMA)
        access |= FI_WRITE | FI_REMOTE_WRITE;
    rc = fi_mr_reg(rail->domain, base, bytes, access, 0, key, 0, &made, NULL);

    if (rc == 0 && (mode & FI_MR_ENDPOINT)) {
        rc = fi_mr_bind(made, &rail->ep->fid, 0);
        if (rc == 0)
            rc = fi_mr_enable(made);
        if (rc != 0)
            fi_close(&made->fid);
    }
    if (rc == 0)
        *out = (struct hx_registration){made, base, bytes};
    return rc;
}

/* The mapping is aligned, so that one huge page can hold it. */
static void *block_map(size_t bytes)
{
    uint8_t *raw = mmap(NULL, bytes + BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *base;

    if (raw == MAP_FAILED)
        return NULL;
    base = (uint8_t *)(((uintptr_t)raw + BLOCK_BYTES - 1) & ~(uintptr_t)(BLOCK_BYTES - 1));
    if (base > raw)
        munmap(raw, (size_t)(base - raw));
    munmap(base + bytes, BLOCK_BYTES - (size_t)(base - raw));
    return base;
}

/* Fails for the first block only: later failures are harmless, because bounce buffers in use are released. */
static int block_register(struct hx_rail *rail, struct hx_bounce_block *block, int is_first)
{
    int rc = hx_rail_register(rail, block->base, block->bytes, &block->registration);
    char limit[96];

    memlock_text(limit, sizeof(limit));
    if (rc != 0 && is_first)
        hx_fail(HX_ERR_NOMEM, "registering %zu bytes with %s: %s; %s", block->bytes, rail->info->fabric_attr->prov_name,
                fi_strerror(-rc), limit);
    return rc;
}

/* 0, or libfabric's error. */
static int pool_grow(struct hx_rail *rail, struct hx_bounce_pool *pool, int registered)
{
    size_t least = pool->bounce_bytes < 4096 ? 8192 : BLOCK_BYTES; /* for control messages; for others */
    size_t bytes = pool->bounce_bytes * 4 > least ? pool->bounce_bytes * 4 : least, count = bytes / pool->bounce_bytes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct hx_bounce_block *block = calloc(1, sizeof(*block) + count * sizeof(block->bounces[0]));
    int rc;

    if (!block)
        return -FI_ENOMEM;
    block->bytes = (bytes + page - 1) & ~(page - 1);
    block->base = block_map(block->bytes);
    rc = !block->base ? -FI_ENOMEM : registered ? block_register(rail, block, !pool->blocks) : 0;
    if (rc != 0) {
        if (block->base)
            munmap(block->base, block->bytes);
        free(block);
        return rc;
    }
    for (size_t i = count; i-- > 0;) {
        block->bounces[i] = (struct hx_bounce){.base = (uint8_t *)block->base + i * pool->bounce_bytes,
                                               .registration = &block->registration, .next = pool->free, .pool = pool};
        pool->free = &block->bounces[i];
    }
    block->next = pool->blocks;
    pool->blocks = block;
    pool->block_bounces = count;
    pool->bounces += count;
    return 0;
}

hx_status_t hx_bounce_prepare(const struct hx_net *net, struct hx_rail *rail)
{
    int rc = 0;

    for (int i = 0; net->register_local && rc == 0 && i < HX_BOUNCE_KINDS; i++)
        rc = pool_grow(rail, &rail->bounces[i], 1);
    return rc == 0 ? HX_SUCCESS : HX_ERR_NOMEM;
}

size_t hx_endpoint_pins(const struct fi_info *info)
{
    const struct hx_provider_traits *traits = hx_provider_traits(info);
    const size_t offered = info->rx_attr->size, recvs = traits->recvs > 0 && traits->recvs < offered ? traits->recvs : offered;

    if (traits->packet_bytes == 0)
        return 0;
    return traits->packet_bytes * (info->tx_attr->size + recvs) + (HX_BOUNCE_KINDS - 1) * BLOCK_BYTES; /* those for control messages are few */
}

/* Over TCP a message that is longer than its receive breaks its connection. Messages of other communicators on that connection are
 * then lost without an error. So each receive ends with a sink, which takes the rest of the longest message and is never read. */
int hx_sink_is_needed(const struct hx_net *net)
{
    return net->traits->breaks_on_excess && net->info->rx_attr->iov_limit > 1;
}

hx_status_t hx_sink_prepare(struct hx_net *net)
{
    const size_t bytes = hx_chunk_bytes_most(net);
    void *sink = NULL;

    if (hx_sink_is_needed(net))
        sink = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sink == MAP_FAILED)
        return hx_fail(HX_ERR_NOMEM, "no address space for %zu bytes that receives of %s may need", bytes,
                       net->info->fabric_attr->prov_name);
    net->sink = sink;
    return HX_SUCCESS;
}

static struct hx_bounce_pool *pool_for(struct hx_rail *rail, size_t bytes)
{
    struct hx_bounce_pool *pool = rail->bounces;

    while (pool->bounce_bytes < bytes)
        pool++;
    return pool;
}

static int any_is_full(const struct hx_net *net)
{
    int full = 0;

    for (int i = 0; i < net->nrails * HX_BOUNCE_KINDS; i++)
        full |= net->rails[i / HX_BOUNCE_KINDS].bounces[i % HX_BOUNCE_KINDS].is_full;
    return full;
}

/* A pool that could not grow once keeps its size: an attempt for each message would cost too much. */
static int pool_grow_or_stay(const struct hx_net *net, struct hx_rail *rail, struct hx_bounce_pool *pool)
{
    int rc = pool->is_full ? -FI_ENOMEM : pool_grow(rail, pool, net->register_local);
    char limit[96];

    if (rc == 0 || pool->is_full || pool->bounces == 0)
        return rc;
    if (!any_is_full(net)) {
        memlock_text(limit, sizeof(limit));
        hx_warn("%s registers no more bounce buffers (%s): long messages wait for each other; %s", rail->info->fabric_attr->prov_name,
                fi_strerror(-rc), limit);
    }
    pool->is_full = 1;
    return rc;
}

struct hx_bounce *hx_bounce_alloc(const struct hx_net *net, struct hx_rail *rail, size_t bytes)
{
    struct hx_bounce_pool *pool = pool_for(rail, bytes);
    struct hx_bounce *bounce;

    if (!pool->free && pool_grow_or_stay(net, rail, pool) != 0)
        return NULL;
    bounce = pool->free;
    pool->free = bounce->next;
    return bounce;
}

/* If receives held all bounce buffers on every rank, no rank could send, and no receive would end. So receives leave half a block
 * to sends. Once the pool is full they leave half of the pool. */
static size_t receives_max(const struct hx_bounce_pool *pool)
{
    return pool->is_full ? pool->bounces / 2 : pool->bounces - pool->block_bounces / 2;
}

struct hx_bounce *hx_bounce_alloc_receive(const struct hx_net *net, struct hx_rail *rail, size_t bytes)
{
    struct hx_bounce_pool *pool = pool_for(rail, bytes);
    struct hx_bounce *bounce;

    if (pool->receives >= receives_max(pool) && pool_grow_or_stay(net, rail, pool) != 0)
        return NULL;
    bounce = hx_bounce_alloc(net, rail, bytes);
    if (bounce) {
        bounce->receives = 1;
        pool->receives++;
    }
    return bounce;
}

void hx_bounce_end_receive(struct hx_bounce *bounce)
{
    bounce->pool->receives -= (size_t)bounce->receives;
    bounce->receives = 0;
}

void hx_bounce_release(struct hx_bounce *bounce)
{
    hx_bounce_end_receive(bounce);
    bounce->next = bounce->pool->free;
    bounce->pool->free = bounce;
}

void hx_bounce_close(struct hx_net *net)
{
    if (net->sink)
        munmap(net->sink, hx_chunk_bytes_most(net));
    for (int i = 0; i < net->nrails * HX_BOUNCE_KINDS; i++) {
        const struct hx_bounce_pool *pool = &net->rails[i / HX_BOUNCE_KINDS].bounces[i % HX_BOUNCE_KINDS];
        for (struct hx_bounce_block *block = pool->blocks, *next; block; block = next) {
            next = block->next;
            if (block->registration.mr)
                fi_close(&block->registration.mr->fid);
            munmap(block->base, block->bytes);
            free(block);
        }
    }
}
