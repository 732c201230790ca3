/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the endpoint's own: bounce buffers (bounces) and requests (chunks). Both come from blocks that are kept
 * until the endpoints close, so a steady state allocates and registers nothing. Where the provider wants local
 * registration each block is registered once, as a whole, for the rail that it serves.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/memcpy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)2 << 20) /* one huge page, where there are any */
#define CHUNKS_PER_BLOCK 256

struct hx_bounce_block {
    struct hx_bounce_block *next;
    void *base;
    size_t bytes;
    struct hx_registration registration;
    struct hx_bounce bounces[];
};

struct hx_chunk_block {
    struct hx_chunk_block *next;
    uint32_t first; /* its chunks' numbers */
    struct hx_chunk chunks[CHUNKS_PER_BLOCK];
};

static void memlock_text(char *text, size_t capacity)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text, capacity, "locked memory is limited to %llu KiB: set ulimit -l unlimited", (unsigned long long)limit.rlim_cur >> 10);
    else
        snprintf(text, capacity, "ulimit -l is unlimited");
}

static void registration_fail(const struct hx_rail *rail, size_t bytes, int rc)
{
    char limit[96];

    memlock_text(limit, sizeof(limit));
    hx_fail(HX_ERR_NOMEM, "registering %zu bytes with %s: %s; %s", bytes, rail->info->fabric_attr->prov_name, fi_strerror(-rc), limit);
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
        *out = (struct hx_registration){made, base};
    return rc;
}

static int block_register(struct hx_rail *rail, struct hx_bounce_block *block, int first)
{
    int rc = hx_rail_register(rail, block->base, block->bytes, &block->registration);

    if (rc != 0 && first) /* else some of what is in use comes back */
        registration_fail(rail, block->bytes, rc);
    return rc;
}

/* Map aligned to its size class, so that one huge page can hold it. */
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

/* 0, or what libfabric says. */
static int pool_grow(struct hx_rail *rail, struct hx_bounce_pool *pool, int registered)
{
    size_t bytes = pool->bounce_bytes * 4 > BLOCK_BYTES ? pool->bounce_bytes * 4 : BLOCK_BYTES, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t count = bytes / pool->bounce_bytes;
    struct hx_bounce_block *block;
    int rc;

    if (pool->bounce_bytes < 4096) { /* control: a page or two */
        bytes = 8192;
        count = bytes / pool->bounce_bytes;
    }
    bytes = (bytes + page - 1) & ~(page - 1);
    block = calloc(1, sizeof(*block) + count * sizeof(block->bounces[0]));
    if (!block)
        return -FI_ENOMEM;
    block->bytes = bytes;
    block->base = block_map(bytes);
    rc = !block->base ? -FI_ENOMEM : registered ? block_register(rail, block, !pool->blocks) : 0;
    if (rc != 0) {
        if (block->base)
            munmap(block->base, bytes);
        free(block);
        return rc;
    }
    for (size_t i = count; i-- > 0;) {
        block->bounces[i].base = (uint8_t *)block->base + i * pool->bounce_bytes;
        block->bounces[i].registration = &block->registration;
        block->bounces[i].next = pool->free;
        pool->free = &block->bounces[i];
    }
    block->next = pool->blocks;
    pool->blocks = block;
    pool->block_bounces = count;
    pool->bounces += count;
    return 0;
}

int hx_bounce_prepare(const struct hx_net *net, struct hx_rail *rail)
{
    int rc = 0;

    for (int i = 0; net->register_local && rc == 0 && i < HX_BOUNCE_KINDS; i++)
        rc = pool_grow(rail, &rail->bounces[i], 1);
    return rc;
}

/* Over TCP a message that is longer than its receive breaks its connection. Messages of other communicators on that connection are then
 * lost without an error. So each receive ends with a sink: room for the longest message, which nobody reads. */
int hx_sink_is_needed(const struct hx_net *net)
{
    return hx_net_is_tcp(net) && net->info->rx_attr->iov_limit > 1;
}

int hx_sink_prepare(struct hx_net *net)
{
    const size_t bytes = hx_chunk_bytes_most(net);

    if (!hx_sink_is_needed(net))
        return 0;
    net->sink = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (net->sink != MAP_FAILED)
        return 0;
    net->sink = NULL;
    hx_fail(HX_ERR_NOMEM, "no address space for %zu bytes that receives of %s may need", bytes, net->info->fabric_attr->prov_name);
    return -1;
}

static struct hx_bounce_pool *pool_for(struct hx_rail *rail, size_t bytes)
{
    struct hx_bounce_pool *pool = rail->bounces;

    while (pool->bounce_bytes < bytes)
        pool++;
    return pool;
}

static int is_first_full(const struct hx_net *net)
{
    for (int i = 0; i < net->nrails * HX_BOUNCE_KINDS; i++)
        if (net->rails[i / HX_BOUNCE_KINDS].bounces[i % HX_BOUNCE_KINDS].is_full)
            return 0;
    return 1;
}

/* Once a pool could not grow it stays as it is: to try for each message would cost more than it might gain. */
static int pool_grow_or_stay(const struct hx_net *net, struct hx_rail *rail, struct hx_bounce_pool *pool)
{
    int rc = pool->is_full ? -FI_ENOMEM : pool_grow(rail, pool, net->register_local);
    char limit[96];

    if (rc == 0 || pool->is_full || pool->bounces == 0)
        return rc;
    if (is_first_full(net)) {
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

/* Receives that hold all slots would end by the peers' sends only, and these, by the same, have no slot. So some are left to sends as
 * long as the pool grows, since it is seen to be full too late; and then half. */
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

void hx_bounce_leave(struct hx_rail *rail, struct hx_bounce *bounce, size_t bytes)
{
    pool_for(rail, bytes)->receives -= (size_t)bounce->receives;
    bounce->receives = 0;
}

void hx_bounce_release(struct hx_rail *rail, struct hx_bounce *bounce, size_t bytes)
{
    struct hx_bounce_pool *pool = pool_for(rail, bytes);

    hx_bounce_leave(rail, bounce, bytes);
    bounce->next = pool->free;
    pool->free = bounce;
}

/* ---- chunks */

struct hx_chunk *hx_chunk_alloc(struct hx_net *net)
{
    struct hx_chunk *chunk;

    if (!net->free_chunks) {
        struct hx_chunk_block *block = calloc(1, sizeof(*block));
        if (!block)
            return NULL;
        block->next = net->chunk_blocks;
        block->first = block->next ? block->next->first + CHUNKS_PER_BLOCK : 0;
        net->chunk_blocks = block;
        for (uint32_t i = CHUNKS_PER_BLOCK; i-- > 0;) {
            block->chunks[i].number = block->first + i;
            hx_chunk_release(net, &block->chunks[i]);
        }
    }
    chunk = net->free_chunks;
    net->free_chunks = chunk->next;
    chunk->order = 0;
    return chunk;
}

struct hx_chunk *hx_control_alloc(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, struct hx_path *path)
{
    struct hx_chunk *chunk = hx_chunk_alloc(net);

    if (!chunk)
        return NULL;
    chunk->kind = kind;
    chunk->edge = edge;
    chunk->path = path;
    chunk->op = NULL;
    chunk->bounce = NULL;
    chunk->registration = NULL;
    return chunk;
}

ssize_t hx_control_send(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, enum hx_control_kind control, void *message,
                        size_t bytes)
{
    struct hx_path *path = &edge->paths[0];
    struct hx_chunk *chunk;
    ssize_t rc;

    if (path->rail->sends_in_flight >= net->send_limit || !(chunk = hx_control_alloc(net, kind, edge, path)))
        return -FI_EAGAIN;
    chunk->bytes = bytes;
    chunk->bounce = hx_bounce_alloc(net, path->rail, bytes);
    if (!chunk->bounce) {
        hx_chunk_release(net, chunk);
        return -FI_EAGAIN;
    }
    hx_proof_write(net, edge, control, message, bytes);
    memcpy(chunk->bounce->base, message, bytes);
    rc = fi_tsend(path->rail->ep, chunk->bounce->base, bytes, hx_descriptor(chunk->bounce->registration), path->addr,
                  hx_control_tag(control), &chunk->context);
    if (rc != 0) {
        hx_bounce_release(path->rail, chunk->bounce, bytes);
        hx_chunk_release(net, chunk);
        return rc;
    }
    edge->said[control]++;
    hx_path_posted(path, bytes, chunk);
    path->rail->sends_in_flight++;
    path->rail->unread = 1;
    return 0;
}

int hx_control_receive(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, enum hx_control_kind control,
                       const struct hx_bounce *bounce, size_t bytes)
{
    struct hx_path *path = &edge->paths[0];
    struct hx_chunk *chunk = hx_path_is_refused(path, HX_POST_RECV) ? NULL : hx_control_alloc(net, kind, edge, path);

    if (!chunk)
        return -FI_EAGAIN;
    if (fi_trecv(path->rail->ep, bounce->base, bytes, hx_descriptor(bounce->registration), path->addr, hx_control_tag(control), 0,
                 &chunk->context) != 0) {
        hx_chunk_release(net, chunk);
        hx_path_refuse(path, HX_POST_RECV);
        return -FI_EAGAIN;
    }
    path->rail->unread = 1;
    return 0;
}

void hx_chunk_release(struct hx_net *net, struct hx_chunk *chunk)
{
    chunk->kind = HX_CHUNK_FREE;
    chunk->next = net->free_chunks;
    net->free_chunks = chunk;
}

struct hx_chunk *hx_chunk_numbered(const struct hx_net *net, uint64_t number)
{
    struct hx_chunk_block *block = net->chunk_blocks;

    while (block && number < block->first)
        block = block->next;
    return block && number - block->first < CHUNKS_PER_BLOCK ? &block->chunks[number - block->first] : NULL;
}

void hx_chunks_visit(struct hx_net *net, hx_chunk_visit_t *visit, void *arg)
{
    for (struct hx_chunk_block *block = net->chunk_blocks; block; block = block->next)
        for (int i = 0; i < CHUNKS_PER_BLOCK; i++)
            if (block->chunks[i].kind != HX_CHUNK_FREE)
                visit(net, &block->chunks[i], arg);
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
    for (struct hx_chunk_block *block = net->chunk_blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
}

/* ---- a message's segments */

/* The segment that holds the byte at *offset, which becomes the offset within it. */
static const struct hx_segment *segment_at(const struct hx_net_op *op, size_t *offset)
{
    const struct hx_segment *segment = op->segments;

    while (*offset >= segment->bytes)
        *offset -= segment++->bytes;
    return segment;
}

void *hx_contiguous(const struct hx_net_op *op, size_t offset, size_t bytes)
{
    const struct hx_segment *segment = segment_at(op, &offset);

    return offset + bytes <= segment->bytes ? (uint8_t *)segment->base + offset : NULL;
}

size_t hx_segments_pieces(const struct hx_net_op *op, size_t offset, size_t bytes, struct iovec *pieces, size_t most)
{
    size_t n = 0;

    for (const struct hx_segment *segment = segment_at(op, &offset); bytes > 0; segment++, offset = 0) {
        const size_t part = segment->bytes - offset < bytes ? segment->bytes - offset : bytes;
        if (part == 0)
            continue;
        if (n == most)
            return 0;
        pieces[n++] = (struct iovec){(uint8_t *)segment->base + offset, part};
        bytes -= part;
    }
    return n;
}

void hx_segments_gather(const struct hx_net_op *op, size_t offset, void *to, size_t bytes)
{
    for (const struct hx_segment *segment = segment_at(op, &offset); bytes > 0; segment++, offset = 0) {
        size_t part = segment->bytes - offset < bytes ? segment->bytes - offset : bytes;
        hx_memcpy(to, (const uint8_t *)segment->base + offset, part);
        to = (uint8_t *)to + part;
        bytes -= part;
    }
}

void hx_segments_scatter(const struct hx_net_op *op, size_t offset, const void *from, size_t bytes)
{
    for (const struct hx_segment *segment = segment_at(op, &offset); bytes > 0; segment++, offset = 0) {
        size_t part = segment->bytes - offset < bytes ? segment->bytes - offset : bytes;
        hx_memcpy((uint8_t *)segment->base + offset, from, part);
        from = (const uint8_t *)from + part;
        bytes -= part;
    }
}
