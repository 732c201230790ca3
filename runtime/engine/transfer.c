/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: SEND and RECV of a plan. Between ranks of one node they pass through the sender's shared ring, chunk by
 * chunk; between nodes they are messages of the transport. */
#include "runtime/base/memcpy.h"
#include "runtime/engine/pairs.h"
#include "runtime/engine/shm_write.h"
#include "runtime/engine/signature.h"
#include "runtime/base/probe.h"
#include <stdio.h>
#include <stdlib.h>

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

int hx_transfer_progress(struct hx_engine *engine)
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

static void ring_start(struct hx_engine *engine, struct hx_transfer *t, int peer, int ring)
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

/* Point the transfer's segments at the step's range. Returns 0, or -1 when memory is exhausted. */
static int segments_set(struct hx_run *run, const struct hx_instance *instance, struct hx_transfer *t,
                        const struct hx_bound_step *step)
{
    const struct hx_operand *operand = step->op == HX_OP_SEND ? &step->src : &step->dst;
    const struct hx_step *plan_step = step->plan_step;
    unsigned char *base = hx_operand_at(run, operand);
    struct hx_segment *segments = t->first_segments;
    int n = 1;

    if (step->contiguous) {
        segments[0] = (struct hx_segment){base, step->bytes};
    } else {
        struct hx_span *spans = run->engine->spans[0];
        n = hx_layout_spans(&instance->stage->layout, operand->space, plan_step->block, plan_step->nblocks,
                            plan_step->row, instance->slice, spans, run->engine->span_capacity);
        if (n > 2) {
            if (n > t->more_capacity) {
                struct hx_segment *more = realloc(t->more_segments, (size_t)n * sizeof(*more));
                if (!more)
                    return -1;
                t->more_segments = more;
                t->more_capacity = n;
            }
            segments = t->more_segments;
        }
        for (int i = 0; i < n; i++)
            segments[i] = (struct hx_segment){base + spans[i].offset, spans[i].bytes};
    }
    t->net.segments = segments;
    t->net.nsegments = n;
    return 0;
}

void hx_transfer_start(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_bound_stage *bs = instance->stage;
    struct hx_transfer *t = &instance->transfers[step->handle];
    struct hx_engine *engine = run->engine;
    int rank = bs->stage->members[step->peer];
    const struct hx_control *here = bs->controls[step->peer];

    t->far = 0;
    t->net.done = step->bytes == 0; /* an empty piece is skipped on both sides */
    if (step->bytes == 0)
        return;
    if (segments_set(run, instance, t, step) < 0) {
        run->status = hx_fail(HX_ERR_NOMEM, "no memory for the segments of a message");
        return;
    }
    t->net.direction = step->op == HX_OP_SEND ? HX_NET_SEND : HX_NET_RECV;
    t->net.peer = engine->members->ranks[rank];
    t->net.total_bytes = step->bytes;
    t->net.completed_bytes = 0;
    uint64_t number = engine->pairs ? hx_pair_count(engine, rank, step->op == HX_OP_SEND) : engine->call;
    uint32_t stage = here ? HX_MATCH_STAGES / 2 + (uint32_t)bs->ring
                          : hx_plan_shared(run->bound->plan, (int)(bs - run->bound->stages), step->peer);
    t->net.match = hx_match_id(engine->prefix, number, stage, instance->slice, step->tag);
    t->net.flow = hx_flow_number(engine->flow_prefix, stage, instance->slice);
    t->net.signature = hx_signature_mix(run->bound->signature_bits, number, engine->members->id.generation);
    t->stamp = engine->pairs ? run->bound->signature_bits : run->stamp;
    HX_PROBE_POST(&t->net, number << HX_SLICE_BITS | instance->slice);
    if (here) { /* which needs no match id: only the trace does */
        ring_start(engine, t, engine->members->shape->local_of[rank], bs->ring + (int)(instance->slice % bs->window));
        return;
    }
    t->far = 1 + rank;
    hx_registry.net->post(engine->process->net, &t->net);
}

hx_status_t hx_transfer_failure(const struct hx_run *run, const struct hx_transfer *t)
{
    const struct hx_engine *engine = run->engine;
    char there[HX_CALL_TEXT_BYTES], text[3 * HX_CALL_TEXT_BYTES];
    uint64_t bits = t->net.theirs ^ t->net.signature ^ run->bound->signature_bits; /* if both are of one call, its number cancels out */

    if (t->net.theirs) {
        if (bits == hx_signature_bits(&engine->sent))
            hx_signature_tell(&engine->sent, hx_coll_name((enum hx_coll)engine->sent.coll), there, sizeof(there));
        else
            hx_stamp_tell(engine->mine, run->epoch | bits, there, sizeof(there)); /* likely a call that this rank makes too */
        hx_mismatch_describe(engine, run->stamp, t->far - 1, there, text, sizeof(text));
        hx_fail(HX_ERR_MISMATCH, "%s: %s", run->name, text);
        hx_detail_keep(engine->members->why);
        return HX_ERR_MISMATCH;
    }
    return (hx_status_t)-t->net.done;
}

int hx_transfer_next(const struct hx_run *run, struct hx_transfers *at)
{
    for (; at->stage < run->bound->nstages; at->stage++, at->slice = 0) {
        const struct hx_bound_stage *bs = &run->bound->stages[at->stage];
        for (; at->slice < bs->window; at->slice++, at->i = 0)
            if (at->i < bs->stage->ntransfers) {
                at->t = &bs->instances[at->slice].transfers[at->i++];
                return 1;
            }
    }
    return 0;
}

void hx_transfer_cancel_all(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    struct hx_net *net = engine->process->net;

    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);) {
        if (HX_TRACING && at.t->net.since && !at.t->net.done)
            HX_TRACE_MESSAGE(&at.t->net, 1);
        if (at.t->far && !at.t->net.done)
            hx_registry.net->cancel(net, &at.t->net);
    }
    /* all have been asked for: now the time runs for all of them */
    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at); at.t->net.done = 1)
        while (at.t->far && !at.t->net.done && !hx_registry.net->cancel(net, &at.t->net))
            hx_registry.net->progress(net);
    for (int i = 0; i < engine->nactive; i++) {
        struct hx_ring_queue *q = &engine->queues[engine->active[i]];
        q->head = NULL;
        q->active = 0;
    }
    engine->nactive = 0;
}
