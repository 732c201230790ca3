/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings in shared memory: the messages between ranks of one node. Each pair of ranks has rings of HX_RING_ENTRIES entries, one chunk each.
 *
 *   sender:    entry[number] = chunk;  full = number + 1 (release)      if number - taken < HX_RING_ENTRIES (acquire)
 *   receiver:  wait for full == number + 1 (acquire);  read the chunk;  taken = number + 1 (release)
 *
 * The numbers only grow. So no rank clears an entry, and the two cache lines have one writer each.
 */
#include "runtime/engine/engine.h"
#include "runtime/base/memcpy.h"
#include "runtime/base/probe.h"
#include "runtime/engine/shm_write.h"
#include "runtime/engine/signature.h"
#include <stdio.h>

/* Copy n bytes between the transfer's segments, from where it stands, and a chunk. */
static void segments_move(struct hx_engine *engine, struct hx_transfer *t, unsigned char *chunk, size_t n, int to_chunk)
{
    while (n) {
        const struct hx_segment *segment = &t->net.segments[t->segment];
        size_t part = segment->bytes - t->within < n ? segment->bytes - t->within : n;
        unsigned char *at = (unsigned char *)segment->base + t->within;
        if (to_chunk && part >= HX_SHARE_LEAST)
            hx_share(engine, chunk, at, part);
        else if (to_chunk)
            hx_memcpy(chunk, at, part);
        else
            hx_memcpy(at, chunk, part);
        chunk += part;
        n -= part;
        t->within += part;
        if (t->within == segment->bytes) {
            t->segment++;
            t->within = 0;
        }
    }
}

/* The sender has another call in mind, or another length: the transfer has failed. */
static __attribute__((noinline)) void transfer_differs(const struct hx_engine *engine, const struct hx_ring_entry *entry,
                                                       struct hx_transfer *t, int from)
{
    int sender = engine->node.ranks[from];
    char text[3 * HX_CALL_TEXT_BYTES];

    if (entry->stamp != t->stamp) {
        hx_stamps_tell(engine, t->stamp, sender, entry->stamp, text, sizeof(text));
    } else {
        snprintf(text, sizeof(text), "rank %d sent %llu bytes where rank %d expects %zu", sender,
                 (unsigned long long)(entry->left + t->net.completed_bytes), engine->members->rank, t->net.total_bytes);
    }
    hx_fail(HX_ERR_MISMATCH, "%s", text);
    hx_detail_keep(t->net.why);
    t->net.done = -HX_ERR_MISMATCH;
}

/* The number from which chunks are counted. It is above all numbers of earlier communicators in this ring, so their chunks are ignored. */
static uint64_t ring_base(const struct hx_engine *engine)
{
    return engine->first_call << HX_SLICE_BITS;
}

/* Move the chunks of the queue's first transfer for which there is room or data. Returns how many. */
static int ring_move(struct hx_engine *engine, struct hx_ring_queue *q, struct hx_transfer *t)
{
    const struct hx_node *node = &engine->node;
    struct hx_ring *ring = q->sending ? hx_node_ring(node, node->me, q->peer, q->ring)
                                      : hx_node_ring(node, q->peer, node->me, q->ring);
    int moved = 0;

    while (t->net.completed_bytes < t->net.total_bytes) {
        struct hx_ring_entry *entry = hx_ring_entry(node, ring, q->number);
        size_t left = t->net.total_bytes - t->net.completed_bytes;
        size_t n = left < node->shared->ring_chunk_bytes ? left : node->shared->ring_chunk_bytes;
        if (q->sending) {
            /* acquire pairs with the receiver's release of taken: it has read the entry's former chunk */
            uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
            if (taken < ring_base(engine)) /* left by an earlier communicator */
                taken = ring_base(engine);
            if (q->number - taken >= HX_RING_ENTRIES)
                break;
            entry->stamp = t->stamp;
            entry->left = left;
            segments_move(engine, t, entry->data, n, 1);
            atomic_store_explicit(&entry->full, ++q->number, memory_order_release);
        } else {
            /* acquire pairs with the sender's release of full: the chunk is there */
            if (atomic_load_explicit(&entry->full, memory_order_acquire) != q->number + 1)
                break;
            if (entry->stamp != t->stamp || entry->left != left) {
                transfer_differs(engine, entry, t, q->peer);
                break;
            }
            segments_move(engine, t, entry->data, n, 0);
            atomic_store_explicit(&ring->taken, ++q->number, memory_order_release);
        }
        t->net.completed_bytes += n;
        moved++;
    }
    if (moved) {
        hx_wake_fence();
        hx_wake(node->shared, hx_node_doorbell(node, q->peer));
    }
    return moved;
}

/* Returns the number of chunks moved. */
static int queue_progress(struct hx_engine *engine, struct hx_ring_queue *q)
{
    int moved = 0;

    while (q->head && q->head->net.done == 0) { /* else it has failed */
        struct hx_transfer *t = q->head;
        moved += ring_move(engine, q, t);
        if (t->net.completed_bytes < t->net.total_bytes)
            break;
        t->net.done = 1;
        HX_PROBE_DONE(&t->net);
        q->head = t->next;
    }
    return moved;
}

int hx_shm_rings_progress(struct hx_engine *engine)
{
    int moved = 0;

    for (int i = 0; i < engine->nactive;) {
        struct hx_ring_queue *q = &engine->queues[engine->active[i]];
        moved += queue_progress(engine, q);
        if (q->head) {
            i++;
        } else {
            q->active = 0;
            engine->active[i] = engine->active[--engine->nactive];
        }
    }
    return moved;
}

void hx_shm_ring_start(struct hx_engine *engine, struct hx_transfer *t, int peer, int ring)
{
    int sending = t->net.direction == HX_NET_SEND;
    struct hx_ring_queue *q = &engine->queues[(peer * HX_PAIR_RINGS + ring) * 2 + sending];

    q->peer = peer;
    q->ring = ring;
    q->sending = sending;
    if (q->number < ring_base(engine)) /* this is the first transfer */
        q->number = ring_base(engine);
    t->next = NULL;
    t->segment = 0;
    t->within = 0;
    if (sending) {
        engine->ring_messages++;
        engine->ring_bytes += t->net.total_bytes;
    }
    if (q->head) {
        q->tail->next = t;
        q->tail = t;
        return;
    }
    q->head = q->tail = t;
    queue_progress(engine, q);
    if (q->head && !q->active) {
        q->active = 1;
        engine->active[engine->nactive++] = (int)(q - engine->queues);
    }
}

void hx_shm_rings_cancel(struct hx_engine *engine)
{
    for (int i = 0; i < engine->nactive; i++) {
        struct hx_ring_queue *q = &engine->queues[engine->active[i]];
        q->head = NULL;
        q->active = 0;
    }
    engine->nactive = 0;
}
