/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: both sides cut them into chunks at the same offsets. Chunks are posted as far as credits, posted receives and the
 * provider allow. A refused message waits in a queue of its edge, so a slow peer blocks no other, and is retried after a read of
 * the completion queue. Long sends wait in the queue of their flow, so they do not block short ones.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/probe.h"

/* Results of send_continue: what the message waits for. */
#define WAIT_CREDIT 1 /* a credit, or the end of another send */
#define WAIT_SPACE 2  /* space in the connection: try again soon */

static void queue_push(struct hx_op_queue *queue, struct hx_net_op *op)
{
    op->next = NULL;
    if (!queue->head)
        queue->head = op;
    else
        queue->tail->next = op;
    queue->tail = op;
}

void hx_op_queue_remove(struct hx_op_queue *queue, const struct hx_net_op *op)
{
    struct hx_net_op *before = NULL;

    for (struct hx_net_op **link = &queue->head; *link; before = *link, link = &before->next) {
        if (*link != op)
            continue;
        *link = op->next;
        if (queue->tail == op)
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

/* ---- the end of a message */

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
    if (op->failed) {
        if (op->completed_bytes == op->posted_bytes)
            op->done = -(int)op->failed;
    } else if (op->completed_bytes == op->total_bytes) {
        message_end(net, op);
    }
}

/* The flow of a long message exists since its post. */
struct hx_op_queue *hx_op_queue_of(struct hx_edge *edge, const struct hx_net_op *op)
{
    if (op->direction == HX_NET_RECV)
        return &edge->recvs;
    if (op->written)
        return &edge->writes;
    return hx_op_is_large(op) ? &hx_flow_of(edge, op->flow)->large : &edge->eager;
}

/* ---- posting chunks */

/* Does the connection have space for a long message's chunk? 0, or what to wait for. */
static int space_await(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, size_t bytes)
{
    enum hx_send_mode takes = net->register_local ? HX_SEND_DIRECT : hx_path_send_mode(net, path, bytes, 1);

    edge->waits_for_send |= takes == HX_SEND_LATER;
    net->retry_before_sleep |= takes == HX_SEND_SOON;
    return takes == HX_SEND_LATER ? WAIT_CREDIT : takes == HX_SEND_SOON ? WAIT_SPACE : 0;
}

/* 0: wholly posted or failed; WAIT_CREDIT; WAIT_SPACE; -FI_EAGAIN. */
static int send_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    struct hx_flow *flow = hx_op_is_large(op) ? hx_flow_of(edge, op->flow) : NULL;

    while (op->posted_bytes < op->total_bytes) {
        size_t bytes = hx_op_chunk_bytes_at(op, op->posted_bytes);
        struct hx_path *path = hx_chunk_path(edge, op, op->posted_bytes);
        ssize_t rc;

        if (hx_path_is_refused(path, HX_POST_SEND))
            return -FI_EAGAIN;
        if (flow) {
            if ((int64_t)(flow->sent - flow->acknowledged) >= (int64_t)hx_edge_window(edge, HX_GRANT))
                return WAIT_CREDIT;
            if (hx_control_receive(net, edge->paths[0].rail, edge, HX_CONTROL_CREDIT) != 0)
                return -FI_EAGAIN;
            if ((rc = space_await(net, edge, path, bytes)) != 0)
                return (int)rc;
        }
        rc = bytes <= net->inject_bytes ? hx_chunk_inject(net, path, op, bytes) : hx_chunk_send(net, edge, path, op, bytes);
        if (rc != 0)
            return hx_chunk_refused(net, path, op, rc);
        path->rail->unread = 1;
        net->count.chunks_sent++;
        if (flow)
            flow->sent++;
    }
    return 0;
}

int hx_recv_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    if (op->written)
        return hx_invites_continue(net, edge, op);
    while (op->posted_bytes < op->total_bytes && !op->failed &&
           op->posted_bytes < (op->in_order + hx_edge_window(edge, HX_RECV_WINDOW)) * op->chunk_bytes) {
        size_t bytes = hx_op_chunk_bytes_at(op, op->posted_bytes);
        struct hx_path *path = hx_chunk_path(edge, op, op->posted_bytes);
        struct hx_pieces pieces;
        struct hx_chunk *chunk;
        ssize_t rc;

        if (edge->unexpected && (rc = hx_unexpected_take(net, edge, op, hx_chunk_tag(op, op->posted_bytes), bytes)) != 0) {
            if (rc < 0)
                return (int)rc;
            continue;
        }
        if (net->recvs_in_flight >= net->recv_limit || hx_path_is_refused(path, HX_POST_RECV))
            return -FI_EAGAIN;
        chunk = hx_chunk_make(net, edge, path, op, op->posted_bytes, bytes, &pieces);
        if (!chunk)
            return -FI_EAGAIN;
        rc = hx_chunk_receive(net, chunk, &pieces);
        if (rc != 0) {
            hx_chunk_drop(net, chunk);
            return hx_chunk_refused(net, path, op, rc);
        }
        path->rail->unread = 1;
        hx_recvs_count(net, edge, 1);
        op->posted_bytes += bytes;
    }
    return 0;
}

void hx_recv_enqueue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    op->queued = 1;
    queue_push(&edge->recvs, op);
    hx_edge_activate(net, edge);
}

void hx_recv_repost(struct hx_net *net, struct hx_chunk *chunk)
{
    chunk->kind = HX_CHUNK_REPOST;
    chunk->edge->reposts++;
    if (hx_chunk_repost(net, chunk) != 0)
        hx_edge_activate(net, chunk->edge);
}

static hx_status_t message_check(const struct hx_net *net, const struct hx_net_op *op)
{
    if (net->broken) {
        hx_recall(net->why);
        return net->broken;
    }
    if (op->total_bytes == 0 || op->match >> net->match_bits || hx_match_is_credit(op->match))
        return hx_fail(HX_ERR_INTERNAL, "no message of %zu bytes with match id %#llx to rank %d of the job", op->total_bytes,
                       (unsigned long long)op->match, op->peer);
    return HX_SUCCESS;
}

void hx_message_post(struct hx_net *net, struct hx_net_op *op)
{
    struct hx_edge *edge = net->edges[op->peer];
    struct hx_op_queue *queue;
    hx_status_t status;
    int rc;

    op->done = 0;
    op->failed = HX_SUCCESS;
    op->queued = 0;
    op->posted_bytes = op->completed_bytes = op->total_bytes = op->in_order = 0;
    op->ahead = 0;
    op->theirs = op->doubt = 0;
    op->give_up = 0;
    op->is_cut_off = 0;
    for (int i = 0; i < op->nsegments; i++)
        op->total_bytes += op->segments[i].bytes;
    op->written = 0;
    status = message_check(net, op);
    if (status == HX_SUCCESS && !edge) {
        hx_meeting_post(net, op);
        return;
    }
    op->written = status == HX_SUCCESS && edge->write_bytes > 0 && op->total_bytes >= edge->write_bytes;
    if (status == HX_SUCCESS && hx_op_pays_credits(op) && !hx_flow_of(edge, op->flow))
        status = hx_fail(HX_ERR_NOMEM, "no memory for messages to rank %d of the job", op->peer);
    if (status != HX_SUCCESS) {
        op->done = -(int)status;
        hx_detail_keep(op->why);
        return;
    }
    op->chunk_bytes = hx_chunk_bytes(net, edge, op->total_bytes);
    queue = hx_op_queue_of(edge, op);
    if (op->direction == HX_NET_RECV) {
        rc = queue->head ? -FI_EAGAIN : hx_recv_continue(net, edge, op);
        if (rc != 0)
            hx_recv_enqueue(net, edge, op);
        return;
    }
    rc = op->written || queue->head ? WAIT_CREDIT : send_continue(net, edge, op);
    if (rc != 0)
        queue_push(queue, op);
    if (op->written)
        rc = hx_writes_continue(net, edge);
    if (rc == -FI_EAGAIN || rc == WAIT_SPACE)
        hx_edge_activate(net, edge);
}

/* ---- trying again */

/* A message that waits for a credit needs no retry: the credit's arrival continues it. */
static int queue_retry(struct hx_net *net, struct hx_edge *edge, struct hx_op_queue *queue)
{
    struct hx_net_op *op;

    while ((op = queue->head)) {
        int rc = op->direction == HX_NET_RECV ? hx_recv_continue(net, edge, op) : send_continue(net, edge, op);
        if (rc != 0)
            return rc != WAIT_CREDIT;
        if (queue->head == op) { /* else it has failed and left the queue */
            queue->head = op->next;
            op->queued = 0;
        }
    }
    return 0;
}

static int edge_repost(struct hx_net *net, struct hx_edge *edge)
{
    int refused = 0;

    for (struct hx_chunk *chunk = NULL; edge->reposts > 0 && (chunk = hx_chunk_next(net, chunk));)
        if (chunk->kind == HX_CHUNK_REPOST && chunk->edge == edge)
            refused |= hx_chunk_repost(net, chunk) != 0;
    return refused;
}

/* A refusal of one kind does not stop the others: posted receives may depend on this edge's sends. */
static int edge_retry(struct hx_net *net, struct hx_edge *edge)
{
    int refused = 0;

    if (edge->credits.bounce)
        refused |= hx_control_receive(net, edge->paths[0].rail, edge, HX_CONTROL_CREDIT) != 0;
    for (struct hx_flow *flow = edge->flows; flow; flow = flow->next)
        if (hx_credit_is_due(edge, flow))
            refused |= hx_credit_send(net, edge, flow) != 0;
    refused |= hx_writes_continue(net, edge) != 0;
    refused |= hx_control_message_continue(net, edge) != 0;
    refused |= edge_repost(net, edge);
    refused |= queue_retry(net, edge, &edge->recvs);
    refused |= queue_retry(net, edge, &edge->eager);
    for (struct hx_flow *flow = edge->flows, *next; flow; flow = next) {
        next = flow->next; /* sending moves it to the front of the list */
        refused |= queue_retry(net, edge, &flow->large);
    }
    return refused;
}

void hx_edges_retry(struct hx_net *net)
{
    struct hx_edge *edge = net->active, *next;

    net->active = NULL;
    for (; edge; edge = next) {
        next = edge->next_active;
        edge->active = 0;
        if (edge_retry(net, edge))
            hx_edge_activate(net, edge);
    }
}
