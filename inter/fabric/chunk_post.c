/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks: the requests that libfabric works on. message.c cuts messages into chunks. This file allocates a chunk, finds its memory
 * within the message, and posts it. Chunks come from blocks that are kept until the endpoints close, so a steady state allocates
 * nothing.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/memcpy.h"
#include <stdlib.h>

#define CHUNKS_PER_BLOCK 256

struct hx_chunk_block {
    struct hx_chunk_block *next;
    uint32_t first; /* number of its first chunk */
    struct hx_chunk chunks[CHUNKS_PER_BLOCK];
};

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
    chunk->left = 1;
    chunk->op = NULL;
    chunk->bounce = NULL;
    chunk->registration = NULL;
    return chunk;
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

/* From the newest block to the oldest. */
struct hx_chunk *hx_chunk_next(const struct hx_net *net, struct hx_chunk *last)
{
    uint32_t left = last ? last->number : net->chunk_blocks ? net->chunk_blocks->first + CHUNKS_PER_BLOCK : 0;

    for (struct hx_chunk *chunk = last; left > 0;) {
        left--;
        chunk = chunk && chunk->number % CHUNKS_PER_BLOCK > 0 ? chunk - 1 : hx_chunk_numbered(net, left);
        if (chunk->kind != HX_CHUNK_FREE)
            return chunk;
    }
    return NULL;
}

void hx_chunks_close(struct hx_net *net)
{
    for (struct hx_chunk_block *block = net->chunk_blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
}

/* ---- a message's segments */

/* The segment that holds the byte at *offset. *offset becomes the offset within that segment. */
static const struct hx_segment *segment_at(const struct hx_net_op *op, size_t *offset)
{
    const struct hx_segment *segment = op->segments;

    while (*offset >= segment->bytes)
        *offset -= segment++->bytes;
    return segment;
}

size_t hx_segment_rest(const struct hx_net_op *op, size_t offset)
{
    const struct hx_segment *segment = segment_at(op, &offset);

    return segment->bytes - offset;
}

static size_t segments_pieces(const struct hx_net_op *op, size_t offset, size_t bytes, struct iovec *pieces, size_t most)
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

void hx_segments_copy(const struct hx_net_op *op, size_t offset, void *memory, size_t bytes, enum hx_net_direction direction)
{
    uint8_t *at = memory;

    for (const struct hx_segment *segment = segment_at(op, &offset); bytes > 0; segment++, offset = 0) {
        const size_t part = segment->bytes - offset < bytes ? segment->bytes - offset : bytes;
        uint8_t *own = (uint8_t *)segment->base + offset;
        hx_memcpy(direction == HX_NET_SEND ? at : own, direction == HX_NET_SEND ? own : at, part);
        at += part;
        bytes -= part;
    }
}

/* ---- making and posting */

uint64_t hx_chunk_tag(const struct hx_net_op *op, size_t offset)
{
    uint64_t number = offset / op->chunk_bytes;

    return op->match << HX_CHUNK_BITS | (number & ((1 << HX_CHUNK_BITS) - 1));
}

/* The completion data of a sent chunk: its proof. */
static uint32_t data_of(const struct hx_net *net, const struct hx_net_op *op, size_t offset)
{
    return hx_proof_data(net, net->rank, op->peer, op->match, offset / op->chunk_bytes, op->signature);
}

/* EFA's packets of eager and medium messages arrive in its own buffers. The processor copies them into the receive while the
 * completion queue is read: rxr_pkt_copy_data_to_op_entry in libfabric 1.17, efa_rdm_pke_copy_payload_to_ope in 2.x. Both accept a
 * receive without a descriptor. For sends a descriptor is needed: without it, medium messages register their memory each time. */
static int is_copied_anyway(const struct hx_net *net, const struct hx_net_op *op, size_t bytes)
{
    return op->direction == HX_NET_RECV && !op->written && bytes <= net->traits->copies_recvs;
}

/* Must this chunk be copied through a bounce buffer? If not, *registration is the one of its memory, if it needs one. Short
 * messages are always copied if memory needs registration: pinning their own memory costs more than the copy. */
static int bounces(struct hx_net *net, struct hx_path *path, const struct hx_net_op *op, const void *buffer, size_t bytes,
                   const struct hx_registration **registration)
{
    if (!buffer)
        return 1;
    if (!net->register_local && op->direction == HX_NET_SEND)
        return hx_path_send_mode(net, path, bytes, 0) != HX_SEND_DIRECT;
    if (!net->register_local)
        return net->direct == HX_DIRECT_NEVER || (net->direct == HX_DIRECT_IF_SPACE && !hx_op_is_large(op));
    if (is_copied_anyway(net, op, bytes))
        return 0;
    if (hx_op_is_large(op))
        *registration = hx_region_find(net, path->rail, buffer, bytes);
    return !*registration;
}

struct hx_chunk *hx_chunk_make(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, struct hx_net_op *op, size_t offset,
                               size_t bytes, struct hx_pieces *pieces)
{
    struct hx_chunk *chunk = hx_chunk_alloc(net);

    if (!chunk)
        return NULL;
    pieces->n = segments_pieces(op, offset, bytes, pieces->at, net->pieces_most);
    if (bounces(net, path, op, pieces->n ? pieces->at[0].iov_base : NULL, bytes, &chunk->registration)) {
        chunk->bounce =
            op->direction == HX_NET_RECV ? hx_bounce_alloc_receive(net, path->rail, bytes) : hx_bounce_alloc(net, path->rail, bytes);
        if (!chunk->bounce) {
            hx_chunk_release(net, chunk);
            return NULL;
        }
        pieces->at[0] = (struct iovec){chunk->bounce->base, bytes};
        pieces->n = 1;
        chunk->registration = chunk->bounce->registration;
        net->count.bounced_bytes += bytes;
        if (op->direction == HX_NET_SEND)
            hx_segments_copy(op, offset, chunk->bounce->base, bytes, HX_NET_SEND);
    }
    chunk->kind = op->direction == HX_NET_SEND ? HX_CHUNK_SEND : op->written ? HX_CHUNK_TARGET : HX_CHUNK_RECV;
    chunk->op = op;
    chunk->edge = edge;
    chunk->path = path;
    chunk->offset = offset;
    chunk->bytes = bytes;
    chunk->tag = hx_chunk_tag(op, offset);
    return chunk;
}

void hx_chunk_drop(struct hx_net *net, struct hx_chunk *chunk)
{
    if (chunk->bounce) {
        hx_bounce_release(chunk->bounce);
        net->count.bounced_bytes -= chunk->bytes;
    }
    hx_chunk_release(net, chunk);
}

int hx_chunk_refused(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, ssize_t rc)
{
    if (hx_is_refusal(rc) || (rc == -FI_EMFILE && net->strangers > 0)) { /* descriptors of strangers will be closed */
        net->count.again++;
        hx_path_refuse(path, hx_op_post(op));
        return -FI_EAGAIN;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s rank %d of the job over %s: %s", op->direction == HX_NET_SEND ? "sending to" : "receiving from",
            op->peer, net->info->fabric_attr->prov_name, fi_strerror((int)-rc));
    hx_message_fail(net, op, HX_ERR_TRANSPORT);
    return 0;
}

ssize_t hx_chunk_inject(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, size_t bytes)
{
    uint8_t packed[HX_INJECT_LIMIT];
    struct iovec piece = {.iov_base = packed};
    ssize_t rc;

    if (segments_pieces(op, op->posted_bytes, bytes, &piece, 1) == 0) {
        hx_segments_copy(op, op->posted_bytes, packed, bytes, HX_NET_SEND);
        piece.iov_base = packed;
    }
    rc = fi_tinjectdata(path->rail->ep, piece.iov_base, bytes, data_of(net, op, op->posted_bytes), path->addr,
                        hx_chunk_tag(op, op->posted_bytes));
    if (rc == 0) {
        hx_path_posted(path, bytes, NULL);
        op->posted_bytes += bytes;
        hx_message_advance(net, op, bytes);
    }
    return rc;
}

/* For chunks of several pieces. Such memory needs no descriptor. */
static struct fi_msg_tagged message_of(struct hx_chunk *chunk, const struct hx_pieces *pieces)
{
    return (struct fi_msg_tagged){.msg_iov = pieces->at, .iov_count = pieces->n, .addr = chunk->path->addr, .tag = chunk->tag,
                                  .context = &chunk->context};
}

static ssize_t chunk_post_send(const struct hx_net *net, struct hx_chunk *chunk, const struct hx_pieces *pieces)
{
    struct fi_msg_tagged message = message_of(chunk, pieces);
    struct hx_rail *rail = chunk->path->rail;

    message.data = data_of(net, chunk->op, chunk->offset);

    if (pieces->n > 1)
        return fi_tsendmsg(rail->ep, &message, rail->info->tx_attr->op_flags | FI_REMOTE_CQ_DATA);
    return fi_tsenddata(rail->ep, pieces->at[0].iov_base, chunk->bytes, hx_descriptor(chunk->registration), message.data, message.addr,
                        message.tag, message.context);
}

ssize_t hx_chunk_send(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, struct hx_net_op *op,
                          size_t bytes)
{
    struct hx_pieces pieces;
    struct hx_chunk *chunk;
    ssize_t rc;

    if (path->rail->sends_in_flight >= net->send_limit)
        return -FI_EAGAIN;
    chunk = hx_chunk_make(net, edge, path, op, op->posted_bytes, bytes, &pieces);
    if (!chunk)
        return -FI_EAGAIN;
    if ((rc = chunk_post_send(net, chunk, &pieces)) != 0) {
        hx_chunk_drop(net, chunk);
        return rc;
    }
    hx_path_posted(path, bytes, chunk);
    op->posted_bytes += bytes;
    return 0;
}

ssize_t hx_chunk_receive(struct hx_net *net, struct hx_chunk *chunk, struct hx_pieces *pieces)
{
    struct hx_rail *rail = chunk->path->rail;
    struct fi_msg_tagged message;

    if (net->sink)
        pieces->at[pieces->n++] = (struct iovec){net->sink, hx_chunk_bytes_most(net)};
    message = message_of(chunk, pieces);
    if (pieces->n > 1)
        return fi_trecvmsg(rail->ep, &message, rail->info->rx_attr->op_flags);
    return fi_trecv(rail->ep, pieces->at[0].iov_base, chunk->bytes, hx_descriptor(chunk->registration), message.addr, message.tag, 0,
                    message.context);
}

struct hx_net_op *hx_chunk_detach(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_net_op *op = chunk->op;

    if (chunk->kind == HX_CHUNK_SEND || chunk->kind == HX_CHUNK_SEND_CONTROL)
        chunk->path->rail->sends_in_flight--;
    hx_path_ended(chunk->path, chunk);
    if (chunk->edge->waits_for_send) {
        chunk->edge->waits_for_send = 0;
        hx_edge_activate(net, chunk->edge);
    }
    if (chunk->bounce)
        hx_bounce_release(chunk->bounce);
    chunk->op = NULL;
    chunk->bounce = NULL;
    chunk->registration = NULL;
    return op;
}

struct hx_net_op *hx_chunk_end(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_net_op *op = hx_chunk_detach(net, chunk);

    hx_chunk_release(net, chunk);
    return op;
}

/* A refused chunk stays counted as in flight. hx_edges_retry tries it again. */
int hx_chunk_repost(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_net_op *op = chunk->op;
    struct hx_pieces pieces = {.n = 1};
    ssize_t rc = -FI_EAGAIN;

    if (chunk->bounce)
        pieces.at[0] = (struct iovec){chunk->bounce->base, chunk->bytes};
    else
        pieces.n = segments_pieces(op, chunk->offset, chunk->bytes, pieces.at, net->pieces_most);
    if (!hx_path_is_refused(chunk->path, HX_POST_RECV))
        rc = hx_chunk_receive(net, chunk, &pieces);
    if (rc != 0)
        return hx_chunk_refused(net, chunk->path, op, rc);
    chunk->kind = HX_CHUNK_RECV;
    chunk->edge->reposts--;
    chunk->path->rail->unread = 1;
    return 0;
}
