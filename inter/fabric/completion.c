/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: read a batch, advance each message, then retry what was refused. */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BATCH 16
#define IDLE_ROUNDS 1024    /* progress calls without a completion between polls for unexpected messages */
#define LOOK_INTERVAL 64    /* progress calls between calls of hx_strangers_check */
#define EVENT_INTERVAL 4096 /* progress calls between reads of the event queue: only a broken device writes to it */

static void send_done(struct hx_net *net, struct hx_chunk *chunk)
{
    size_t bytes = chunk->bytes;
    struct hx_net_op *op;

    hx_edge_note_traffic(net, chunk->edge);
    op = hx_chunk_end(net, chunk);
    if (op) /* else it was cancelled */
        hx_message_advance(net, op, bytes);
}

unsigned hx_op_note_chunk(struct hx_net_op *op, size_t number)
{
    unsigned more = 0;

    op->ahead |= UINT64_C(1) << (number - op->in_order);
    for (; op->ahead & 1; more++)
        op->ahead >>= 1;
    op->in_order += more;
    return more;
}

/* This does not check the flag FI_REMOTE_CQ_DATA, because the sockets provider omits it for unexpected messages. */
int hx_recv_check(struct hx_net *net, struct hx_net_op *op, size_t offset, uint32_t data)
{
    uint64_t chunk = offset / op->chunk_bytes;

    if (op->failed || data == hx_proof_data(net, op->peer, net->rank, op->match, chunk, op->signature))
        return 1;
    hx_forgery_note(net, "a message", op->peer);
    op->doubt = data != 0 ? data : 1;
    op->doubt_chunk = chunk;
    op->doubt_is_asked = 0;
    return 0;
}

void hx_recv_arrived(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t offset, size_t bytes,
                     size_t came, void *data)
{
    const unsigned more = op->written ? 0 : hx_op_note_chunk(op, offset / op->chunk_bytes);

    hx_edge_note_traffic(net, edge);
    edge->has_arrivals = 1;
    if (hx_op_pays_credits(op)) { /* counts only up to the first missing chunk: objects.h */
        struct hx_flow *flow = hx_flow_of(edge, op->flow);
        flow->received += more;
        if (hx_credit_is_due(edge, flow) && hx_credit_send(net, edge, flow) != 0)
            hx_edge_activate(net, edge);
    }
    if (data && !op->failed)
        hx_segments_copy(op, offset, data, came < bytes ? came : bytes, HX_NET_RECV);
    if (came != bytes) {
        hx_fail(HX_ERR_MISMATCH, "rank %d of the job sent %zu bytes where rank %d of the job expects %zu (match id %#llx)", edge->peer, came,
                net->rank, bytes, (unsigned long long)op->match);
        hx_message_fail(net, op, HX_ERR_MISMATCH);
    }
    hx_message_advance(net, op, bytes);
}

static void recv_done(struct hx_net *net, struct hx_chunk *chunk, size_t came)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_net_op *op = chunk->op;

    hx_recvs_ended(net, edge, 1);
    if (!op) { /* it was cancelled */
        hx_chunk_end(net, chunk);
        return;
    }
    chunk->op = NULL; /* if the message fails now, this chunk must not be cancelled */
    hx_recv_arrived(net, edge, op, chunk->offset, chunk->bytes, came, chunk->bounce ? chunk->bounce->base : NULL);
    hx_chunk_end(net, chunk);
    if (op->done == 0 && !op->failed && !op->queued && hx_recv_continue(net, edge, op) != 0)
        hx_recv_enqueue(net, edge, op);
}

/* Others are still to come for this target. */
static void write_note(struct hx_net *net, struct hx_chunk *chunk)
{
    chunk->left--;
    if (chunk->op) /* else it was cancelled */
        hx_recvs_ended(net, chunk->edge, 1);
    hx_edge_note_traffic(net, chunk->edge);
    chunk->edge->has_arrivals = 1;
}

/* A peer has written into a write target. number: the encrypted number of its invitation. */
static void write_arrived(struct hx_net *net, uint64_t number)
{
    struct hx_chunk *chunk = number <= UINT32_MAX ? hx_chunk_numbered(net, hx_number_decrypt(net, (uint32_t)number)) : NULL;

    if (!chunk || chunk->kind != HX_CHUNK_TARGET)
        hx_forgery_note(net, "a remote write", -1);
    else if (chunk->left > 1)
        write_note(net, chunk);
    else if (chunk->op)
        recv_done(net, chunk, chunk->bytes);
    else /* cancelled */
        hx_chunk_end(net, chunk);
}

/* Returns whether a message has advanced. Control messages of the runtime do not count. */
static int completion_handle(struct hx_net *net, const struct fi_cq_tagged_entry *entry)
{
    struct hx_chunk *chunk = entry->op_context;
    int is_message;

    if (entry->flags & FI_REMOTE_WRITE) { /* not FI_REMOTE_CQ_DATA: some providers report that to the writer too */
        write_arrived(net, entry->data);
        return 1;
    }
    is_message = chunk->control == HX_CONTROL_MESSAGE;
    switch (chunk->kind) {
    case HX_CHUNK_SEND: send_done(net, chunk); break;
    case HX_CHUNK_RECV:
        if (!chunk->op || hx_recv_check(net, chunk->op, chunk->offset, (uint32_t)entry->data))
            recv_done(net, chunk, entry->len);
        else
            hx_recv_repost(net, chunk);
        break;
    case HX_CHUNK_PEEK: hx_unexpected_found(net, chunk, entry->tag, entry->len); break;
    case HX_CHUNK_UNEXPECTED: hx_unexpected_complete(net, chunk, 1, (uint32_t)entry->data); break;
    case HX_CHUNK_SEND_CONTROL:
        chunk->edge->control_messages -= is_message;
        hx_chunk_end(net, chunk);
        return !is_message;
    case HX_CHUNK_RECV_CONTROL: hx_control_arrived(net, chunk, entry->len); return !is_message;
    case HX_CHUNK_REPOST:
    case HX_CHUNK_TARGET:
    case HX_CHUNK_FAILED_SEND:
    case HX_CHUNK_FREE: break;
    }
    return 1;
}

/* Returns the number of completions, or -hx_status_t. */
static int rail_progress(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_tagged_entry entries[BATCH];
    int handled = 0;
    ssize_t n;

    do {
        rail->unread = 0;
        rail->reads++;
        errno = 0; /* see strangers.c */
        n = fi_cq_read(rail->cq, entries, BATCH);
        if (n == -FI_EAVAIL) {
            handled += hx_error_read(net, rail);
        } else if (n < 0 && n != -FI_EAGAIN && n != -FI_EINTR) {
            hx_fail(HX_ERR_TRANSPORT, "reading completions of %s on %s: %s", rail->info->fabric_attr->prov_name,
                    rail->info->domain_attr->name, fi_strerror((int)-n));
            hx_net_break(net, HX_ERR_TRANSPORT);
            return -(int)HX_ERR_TRANSPORT;
        }
        for (ssize_t i = 0; i < n; i++)
            handled += completion_handle(net, &entries[i]);
    } while (n == BATCH || n == -FI_EAVAIL);
    return handled;
}

static int breaks(struct hx_net *net)
{
    if (net->breaking)
        hx_net_break(net, net->breaking);
    return net->broken != HX_SUCCESS;
}

int hx_net_progress(struct hx_net *net)
{
    int handled = 0;

    if (breaks(net))
        return -(int)net->broken;
    for (int i = 0; i < net->nrails; i++) {
        int rc = rail_progress(net, &net->rails[i]);
        if (rc < 0)
            return rc;
        handled += rc;
        hx_control_receive(net, &net->rails[i], NULL, HX_CONTROL_MESSAGE);
    }
    if (breaks(net)) /* now, because the program may never call again */
        return -(int)net->broken;
    if (net->unmet)
        hx_meetings_continue(net);
    if (net->active)
        hx_edges_retry(net);
    if (net->unguarded)
        hx_sockets_guard(net);
    net->idle = handled != 0 ? 0 : net->idle + 1;
    if (net->idle >= IDLE_ROUNDS) {
        net->idle = 0;
        hx_unexpected_peek(net);
    }
    if (++net->rounds % LOOK_INTERVAL == 0)
        hx_strangers_check(net);
    if (net->rounds % EVENT_INTERVAL == 0 && hx_events_read(net) != 0)
        return -(int)HX_ERR_TRANSPORT;
    return handled;
}
