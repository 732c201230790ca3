/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: cut into chunks at the same offsets on both sides, posted as far as credits, windows and the provider
 * allow. What is refused waits in a queue of its edge, so one slow peer holds up nobody else, and is tried again
 * after the completion queue has been read. Long sends wait in queues of their flows, short ones for none of these.
 */
#include "fabric.h"
#include "runtime/error.h"
#include "runtime/probe.h"
#include <time.h>

#define CANCEL_SECONDS 0.2 /* how long a cancelled message may take to leave the provider; then the endpoint is closed */
#define WAIT_CREDIT 1 /* result of send_continue: the peer's next credit message goes on with it */

static void queue_push(struct hx_op_queue *queue, struct hx_net_op *op)
{
    op->next = NULL;
    if (queue->head == NULL)
        queue->head = op;
    else
        queue->tail->next = op;
    queue->tail = op;
}

static void queue_pop(struct hx_op_queue *queue)
{
    queue->head = queue->head->next;
}

static void queue_remove(struct hx_op_queue *queue, const struct hx_net_op *op)
{
    struct hx_net_op *before = NULL;

    for (struct hx_net_op *i = queue->head; i != NULL; before = i, i = i->next) {
        if (i != op)
            continue;
        if (before == NULL)
            queue->head = i->next;
        else
            before->next = i->next;
        if (queue->tail == i)
            queue->tail = before;
        return;
    }
}

void hx_edge_activate(struct hx_net *net, struct hx_edge *edge)
{
    if (edge->active)
        return;
    edge->active = 1;
    edge->next_active = net->active;
    net->active = edge;
}

/* ---- the end of a message; op->state holds the status it has failed with */

static void message_end(struct hx_net *net, struct hx_net_op *op)
{
    if (op->direction == HX_NET_SEND) {
        net->count.messages_sent++;
        net->count.bytes_sent += op->total_bytes;
    } else {
        net->count.messages_received++;
        net->count.bytes_received += op->total_bytes;
    }
    op->done = 1;
    HX_PROBE_DONE(op);
}

void hx_message_advance(struct hx_net *net, struct hx_net_op *op, size_t bytes)
{
    op->completed_bytes += bytes;
    if (hx_op_status(op) != 0) {
        if (op->completed_bytes == op->posted_bytes)
            op->done = -hx_op_status(op);
    } else if (op->completed_bytes == op->total_bytes) {
        message_end(net, op);
    }
}

static void chunk_cancel(struct hx_net *net, struct hx_chunk *chunk, void *op)
{
    if (chunk->op == op)
        fi_cancel(&net->ep->fid, &chunk->context);
}

/* Where a message waits for its turn. (A large one's flow exists from its post on.) */
static struct hx_op_queue *queue_of(struct hx_edge *edge, const struct hx_net_op *op)
{
    if (op->direction == HX_NET_RECV)
        return &edge->recvs;
    return hx_op_is_large(op) ? &hx_flow_of(edge, op->match)->large : &edge->eager;
}

void hx_message_fail(struct hx_net *net, struct hx_net_op *op, hx_status_t status)
{
    struct hx_edge *edge = net->edges[op->peer];

    if (hx_op_status(op) != 0 || op->done != 0)
        return;
    queue_remove(queue_of(edge, op), op);
    op->state = (void *)(uintptr_t)status;
    if (op->completed_bytes == op->posted_bytes)
        op->done = -(int)status;
    else
        hx_chunks_visit(net, chunk_cancel, op);
}

/* ---- posting chunks */

static size_t next_chunk_bytes(const struct hx_net *net, const struct hx_net_op *op)
{
    size_t left = op->total_bytes - op->posted_bytes;

    return left < net->chunk_bytes ? left : net->chunk_bytes;
}

static uint64_t next_tag(const struct hx_net *net, const struct hx_net_op *op)
{
    uint64_t number = op->posted_bytes / net->chunk_bytes;

    return op->match << HX_CHUNK_BITS | (number & ((1 << HX_CHUNK_BITS) - 1));
}

/* A request for the next chunk, bounced where it must be. NULL: no memory now. */
static struct hx_chunk *next_chunk(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t bytes,
                                   void **buffer)
{
    struct hx_chunk *chunk = hx_chunk_alloc(net);

    if (chunk == NULL)
        return NULL;
    *buffer = hx_contiguous(op, op->posted_bytes, bytes);
    chunk->slot = NULL;
    if (net->register_local || *buffer == NULL) {
        chunk->slot = hx_slot_alloc(net, bytes);
        if (chunk->slot == NULL) {
            hx_chunk_release(net, chunk);
            return NULL;
        }
        *buffer = chunk->slot->base;
        net->count.bounced_bytes += bytes;
    }
    chunk->kind = op->direction == HX_NET_SEND ? HX_CHUNK_SEND : HX_CHUNK_RECV;
    chunk->op = op;
    chunk->edge = edge;
    chunk->offset = op->posted_bytes;
    chunk->bytes = bytes;
    chunk->tag = next_tag(net, op);
    return chunk;
}

static void chunk_drop(struct hx_net *net, struct hx_chunk *chunk)
{
    if (chunk->slot != NULL) {
        hx_slot_release(net, chunk->slot, chunk->bytes);
        net->count.bounced_bytes -= chunk->bytes;
    }
    hx_chunk_release(net, chunk);
}

/* The provider's refusal: -FI_EAGAIN to try again, or the message has failed and 0 ends its turn. */
static int refused(struct hx_net *net, struct hx_net_op *op, ssize_t rc)
{
    if (rc == -FI_EAGAIN || rc == -FI_ENOMEM || rc == -FI_ENOBUFS) {
        net->count.again++;
        net->edges[op->peer]->refused_at = net->reads;
        return -FI_EAGAIN;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s rank %d over %s: %s", op->direction == HX_NET_SEND ? "sending to" : "receiving from",
            op->peer, net->info->fabric_attr->prov_name, fi_strerror((int)-rc));
    hx_message_fail(net, op, HX_ERR_TRANSPORT);
    return 0;
}

static ssize_t chunk_inject(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t bytes)
{
    uint8_t packed[HX_INJECT_LIMIT];
    const void *buffer = hx_contiguous(op, op->posted_bytes, bytes);
    ssize_t rc;

    if (buffer == NULL) {
        hx_segments_gather(op, op->posted_bytes, packed, bytes);
        buffer = packed;
    }
    rc = fi_tinject(net->ep, buffer, bytes, edge->addr, next_tag(net, op));
    if (rc == 0) {
        op->posted_bytes += bytes;
        hx_message_advance(net, op, bytes);
    }
    return rc;
}

static ssize_t chunk_send(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t bytes)
{
    struct hx_chunk *chunk;
    void *buffer;
    ssize_t rc;

    if (net->sends_in_flight >= net->send_limit)
        return -FI_EAGAIN;
    chunk = next_chunk(net, edge, op, bytes, &buffer);
    if (chunk == NULL)
        return -FI_EAGAIN;
    if (chunk->slot != NULL)
        hx_segments_gather(op, op->posted_bytes, buffer, bytes);
    rc = fi_tsend(net->ep, buffer, bytes, chunk->slot ? chunk->slot->desc : NULL, edge->addr, chunk->tag,
                  &chunk->context);
    if (rc != 0) {
        chunk_drop(net, chunk);
        return rc;
    }
    net->sends_in_flight++;
    op->posted_bytes += bytes;
    return 0;
}

/* 0: wholly posted or failed; WAIT_CREDIT; -FI_EAGAIN. */
static int send_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    struct hx_flow *flow = hx_op_is_large(op) ? hx_flow_of(edge, op->match) : NULL;

    while (op->posted_bytes < op->total_bytes) {
        size_t bytes = next_chunk_bytes(net, op);
        ssize_t rc;

        if (hx_edge_is_refused(net, edge))
            return -FI_EAGAIN;
        if (flow != NULL) {
            if ((int64_t)(flow->sent - flow->acknowledged) >= HX_GRANT)
                return WAIT_CREDIT;
            if (hx_credit_listen(net, edge, flow) != 0)
                return -FI_EAGAIN;
        }
        rc = bytes <= net->inject_bytes ? chunk_inject(net, edge, op, bytes) : chunk_send(net, edge, op, bytes);
        if (rc != 0)
            return refused(net, op, rc);
        net->unread = 1;
        net->count.chunks_sent++;
        if (flow != NULL)
            flow->sent++;
    }
    return 0;
}

int hx_recv_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    while (op->posted_bytes < op->total_bytes && hx_op_status(op) == 0 &&
           op->posted_bytes - op->completed_bytes < HX_RECV_WINDOW * net->chunk_bytes) {
        size_t bytes = next_chunk_bytes(net, op);
        struct hx_chunk *chunk;
        void *buffer;
        ssize_t rc;

        if (edge->early != NULL && (rc = hx_early_take(net, edge, op, next_tag(net, op), bytes)) != 0) {
            if (rc < 0)
                return (int)rc;
            continue;
        }
        if (net->recvs_in_flight >= HX_RECV_LIMIT || hx_edge_is_refused(net, edge))
            return -FI_EAGAIN;
        chunk = next_chunk(net, edge, op, bytes, &buffer);
        if (chunk == NULL)
            return -FI_EAGAIN;
        rc = fi_trecv(net->ep, buffer, bytes, chunk->slot ? chunk->slot->desc : NULL, edge->addr, chunk->tag, 0,
                      &chunk->context);
        if (rc != 0) {
            chunk_drop(net, chunk);
            return refused(net, op, rc);
        }
        net->unread = 1;
        net->recvs_in_flight++;
        edge->recvs_in_flight++;
        op->posted_bytes += bytes;
    }
    return 0;
}

void hx_recv_wait(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    op->state = (void *)HX_OP_QUEUED;
    queue_push(&edge->recvs, op);
    hx_edge_activate(net, edge);
}

void hx_message_post(struct hx_net *net, struct hx_net_op *op)
{
    struct hx_edge *edge = net->edges[op->peer];
    struct hx_op_queue *queue;
    int rc;

    op->done = 0;
    op->state = NULL;
    op->posted_bytes = op->completed_bytes = op->total_bytes = 0;
    for (int i = 0; i < op->nsegments; i++)
        op->total_bytes += op->segments[i].bytes;
    if (net->broken || edge == NULL || op->total_bytes == 0 || op->match >> HX_MATCH_BITS ||
        hx_match_is_credit(op->match)) {
        op->done =
            -(int)(net->broken ? HX_ERR_TRANSPORT
                               : hx_fail(HX_ERR_INTERNAL, "no message of %zu bytes with match id %#llx to rank %d",
                                         op->total_bytes, (unsigned long long)op->match, op->peer));
        return;
    }
    if (hx_op_is_large(op) && hx_flow_of(edge, op->match) == NULL) {
        op->done = -(int)hx_fail(HX_ERR_NOMEM, "no memory for messages to rank %d", op->peer);
        return;
    }
    queue = queue_of(edge, op);
    if (op->direction == HX_NET_RECV) {
        rc = queue->head != NULL ? -FI_EAGAIN : hx_recv_continue(net, edge, op);
    } else {
        rc = queue->head != NULL ? WAIT_CREDIT : send_continue(net, edge, op);
    }
    if (rc != 0 && op->direction == HX_NET_RECV)
        hx_recv_wait(net, edge, op);
    else if (rc != 0)
        queue_push(queue, op);
    if (rc == -FI_EAGAIN)
        hx_edge_activate(net, edge);
}

/* ---- trying again */

/* A flow that waits for its credit is no reason to try the edge again: the credit is. */
static int flow_retry(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    struct hx_net_op *op;
    int rc;

    while ((op = flow->large.head) != NULL) {
        rc = send_continue(net, edge, op);
        if (rc != 0)
            return rc == WAIT_CREDIT ? 0 : rc;
        if (flow->large.head == op)
            queue_pop(&flow->large);
    }
    return 0;
}

static int edge_retry(struct hx_net *net, struct hx_edge *edge)
{
    struct hx_net_op *op;
    int rc;

    for (struct hx_flow *flow = edge->flows; flow != NULL; flow = flow->next)
        if ((flow->credit_slot != NULL && hx_credit_listen(net, edge, flow) != 0) ||
            (hx_credit_is_due(flow) && hx_credit_tell(net, edge, flow) != 0))
            return -FI_EAGAIN;
    while ((op = edge->recvs.head) != NULL) {
        rc = hx_recv_continue(net, edge, op);
        if (rc != 0)
            return rc;
        if (edge->recvs.head == op) { /* else it has failed and taken itself out */
            queue_pop(&edge->recvs);
            op->state = NULL;
        }
    }
    while ((op = edge->eager.head) != NULL) {
        rc = send_continue(net, edge, op);
        if (rc != 0)
            return rc;
        if (edge->eager.head == op)
            queue_pop(&edge->eager);
    }
    for (struct hx_flow *flow = edge->flows, *next; flow != NULL; flow = next) {
        next = flow->next; /* sending moves it to the front of the list */
        if ((rc = flow_retry(net, edge, flow)) != 0)
            return rc;
    }
    return 0;
}

void hx_edges_retry(struct hx_net *net)
{
    struct hx_edge *edge = net->active, *next;

    net->active = NULL;
    for (; edge != NULL; edge = next) {
        next = edge->next_active;
        edge->active = 0;
        if (edge_retry(net, edge) == -FI_EAGAIN)
            hx_edge_activate(net, edge);
    }
}

/* ---- taking back */

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void queue_fail(struct hx_op_queue *queue)
{
    for (struct hx_net_op *op = queue->head, *next; op != NULL; op = next) {
        next = op->next;
        op->done = -(int)HX_ERR_TRANSPORT;
    }
    queue->head = NULL;
}

static void chunk_break(struct hx_net *net, struct hx_chunk *chunk, void *arg)
{
    (void)net;
    (void)arg;
    if (chunk->op != NULL)
        chunk->op->done = -(int)HX_ERR_TRANSPORT;
    chunk->op = NULL;
}

void hx_net_break(struct hx_net *net)
{
    if (net->broken)
        return;
    net->broken = 1;
    fi_close(&net->ep->fid);
    net->ep = NULL;
    hx_chunks_visit(net, chunk_break, NULL);
    for (int i = 0; i < net->nranks; i++)
        if (net->edges[i] != NULL) {
            queue_fail(&net->edges[i]->recvs);
            queue_fail(&net->edges[i]->eager);
            for (struct hx_flow *flow = net->edges[i]->flows; flow != NULL; flow = flow->next)
                queue_fail(&flow->large);
        }
}

void hx_message_cancel(struct hx_net *net, struct hx_net_op *op)
{
    double give_up = seconds_now() + CANCEL_SECONDS;

    if (net->broken || op->done != 0)
        return;
    if (op->direction == HX_NET_RECV &&
        hx_op_is_large(op)) /* what the peer may still send must not cost it credits for ever */
        hx_flow_of(net->edges[op->peer], op->match)->received +=
            (op->total_bytes - op->completed_bytes + net->chunk_bytes - 1) / net->chunk_bytes;
    hx_message_fail(net, op, HX_ERR_TRANSPORT);
    while (op->done == 0 && !net->broken) {
        hx_progress(net);
        if (op->done == 0 && seconds_now() > give_up) {
            hx_fail(HX_ERR_TRANSPORT, "%s does not take back a message %s rank %d: endpoint closed",
                    net->info->fabric_attr->prov_name, op->direction == HX_NET_SEND ? "to" : "from", op->peer);
            hx_net_break(net);
        }
    }
}
