/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: cut into chunks at the same offsets on both sides, posted as far as credits, posted receives and the provider
 * allow. What is refused waits in a queue of its edge, so one slow peer holds up nobody else, and is tried again
 * after the completion queue has been read. Long sends wait in queues of their flows, short ones for none of these.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/probe.h"
#include "inter/fabric/stripe.h"

/* Results of send_continue */
#define WAIT_CREDIT 1 /* the peer's next credit message goes on with it, or the end of a send */
#define WAIT_ROOM 2   /* to be tried again; short messages go on */

static void queue_push(struct hx_op_queue *queue, struct hx_net_op *op)
{
    op->next = NULL;
    if (!queue->head)
        queue->head = op;
    else
        queue->tail->next = op;
    queue->tail = op;
}

static void queue_pop(struct hx_op_queue *queue)
{
    queue->head = queue->head->next;
}

void hx_op_queue_remove(struct hx_op_queue *queue, const struct hx_net_op *op)
{
    struct hx_net_op *before = NULL;

    for (struct hx_net_op *i = queue->head; i; before = i, i = i->next) {
        if (i != op)
            continue;
        if (!before)
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

/* ---- the end of a message; of one that fails (cancel.c) op->state holds the status */

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

/* A large one's flow exists from its post on. */
struct hx_op_queue *hx_op_queue_of(struct hx_edge *edge, const struct hx_net_op *op)
{
    if (op->direction == HX_NET_RECV)
        return &edge->recvs;
    if (op->written)
        return &edge->writes;
    return hx_op_is_large(op) ? &hx_flow_of(edge, op->flow)->large : &edge->eager;
}

/* ---- posting chunks */

static uint64_t tag_of(const struct hx_net_op *op, size_t offset)
{
    uint64_t number = offset / op->chunk_bytes;

    return op->match << HX_CHUNK_BITS | (number & ((1 << HX_CHUNK_BITS) - 1));
}

/* The completion data that a chunk is sent with: its proof. */
static uint32_t data_of(const struct hx_net *net, const struct hx_net_op *op, size_t offset)
{
    return hx_proof_data(net, net->rank, op->peer, op->match, offset / op->chunk_bytes, op->signature);
}

/* Must this chunk be copied through a slot? If not, *registration is the one under which it goes, where it needs one. Short messages are
 * copied even where their own memory could be registered: that would pin more than a copy saves. */
static int bounces(struct hx_net *net, struct hx_path *path, const struct hx_net_op *op, const void *buffer, size_t bytes,
                   const struct hx_registration **registration)
{
    if (!buffer)
        return 1;
    if (!net->register_local && op->direction == HX_NET_SEND)
        return hx_path_takes(net, path, bytes, 0) != HX_TAKES_ALL;
    if (!net->register_local)
        return net->refers == HX_REFERS_NEVER || (net->refers == HX_REFERS_WITH_ROOM && !hx_op_is_large(op));
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
    pieces->n = hx_segments_pieces(op, offset, bytes, pieces->at, net->pieces_most);
    chunk->bounce = NULL;
    chunk->registration = NULL;
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
            hx_segments_gather(op, offset, chunk->bounce->base, bytes);
    }
    chunk->kind = op->direction == HX_NET_SEND ? HX_CHUNK_SEND : op->written ? HX_CHUNK_TARGET : HX_CHUNK_RECV;
    chunk->op = op;
    chunk->edge = edge;
    chunk->path = path;
    chunk->offset = offset;
    chunk->bytes = bytes;
    chunk->tag = tag_of(op, offset);
    return chunk;
}

void hx_chunk_drop(struct hx_net *net, struct hx_chunk *chunk)
{
    if (chunk->bounce) {
        hx_bounce_release(chunk->path->rail, chunk->bounce, chunk->bytes);
        net->count.bounced_bytes -= chunk->bytes;
    }
    hx_chunk_release(net, chunk);
}

int hx_chunk_refused(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, ssize_t rc)
{
    if (hx_is_refusal(rc) || (rc == -FI_EMFILE && net->strangers > 0)) { /* strangers will make room */
        net->count.again++;
        hx_path_refuse(path, hx_op_post(op));
        return -FI_EAGAIN;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s rank %d of the job over %s: %s", op->direction == HX_NET_SEND ? "sending to" : "receiving from",
            op->peer, net->info->fabric_attr->prov_name, fi_strerror((int)-rc));
    hx_message_fail(net, op, HX_ERR_TRANSPORT);
    return 0;
}

static ssize_t chunk_inject(struct hx_net *net, struct hx_path *path, struct hx_net_op *op, size_t bytes)
{
    uint8_t packed[HX_INJECT_LIMIT];
    const void *buffer = hx_contiguous(op, op->posted_bytes, bytes);
    ssize_t rc;

    if (!buffer) {
        hx_segments_gather(op, op->posted_bytes, packed, bytes);
        buffer = packed;
    }
    rc = fi_tinjectdata(path->rail->ep, buffer, bytes, data_of(net, op, op->posted_bytes), path->addr, tag_of(op, op->posted_bytes));
    if (rc == 0) {
        hx_path_posted(path, bytes, NULL);
        op->posted_bytes += bytes;
        hx_message_advance(net, op, bytes);
    }
    return rc;
}

/* One piece goes by the plain call; more are of memory that needs no descriptor. */
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

static ssize_t chunk_send(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, struct hx_net_op *op,
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
    path->rail->sends_in_flight++;
    op->posted_bytes += bytes;
    return 0;
}

/* Is there room for a long message's chunk? 0, or how it waits. */
static int room_await(struct hx_net *net, struct hx_edge *edge, struct hx_path *path, size_t bytes)
{
    enum hx_takes takes = net->register_local ? HX_TAKES_ALL : hx_path_takes(net, path, bytes, 1);

    edge->lacks_room |= takes == HX_TAKES_LATER;
    net->lacks_room |= takes == HX_TAKES_SOON;
    return takes == HX_TAKES_LATER ? WAIT_CREDIT : takes == HX_TAKES_SOON ? WAIT_ROOM : 0;
}

/* 0: wholly posted or failed; WAIT_CREDIT; WAIT_ROOM; -FI_EAGAIN. */
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
            if ((int64_t)(flow->sent - flow->acknowledged) >= HX_GRANT * edge->npaths)
                return WAIT_CREDIT;
            if (hx_credit_listen(net, edge) != 0)
                return -FI_EAGAIN;
            if ((rc = room_await(net, edge, path, bytes)) != 0)
                return (int)rc;
        }
        rc = bytes <= net->inject_bytes ? chunk_inject(net, path, op, bytes) : chunk_send(net, edge, path, op, bytes);
        if (rc != 0)
            return hx_chunk_refused(net, path, op, rc);
        path->rail->unread = 1;
        net->count.chunks_sent++;
        if (flow)
            flow->sent++;
    }
    return 0;
}

static ssize_t chunk_receive(struct hx_net *net, struct hx_edge *edge, struct hx_chunk *chunk, struct hx_pieces *pieces)
{
    struct hx_rail *rail = chunk->path->rail;
    struct fi_msg_tagged message;

    if (chunk->kind == HX_CHUNK_TARGET)
        return hx_invite_send(net, edge, chunk, pieces->at[0].iov_base);
    if (net->sink)
        pieces->at[pieces->n++] = (struct iovec){net->sink, hx_chunk_bytes_most(net)};
    message = message_of(chunk, pieces);
    if (pieces->n > 1)
        return fi_trecvmsg(rail->ep, &message, rail->info->rx_attr->op_flags);
    return fi_trecv(rail->ep, pieces->at[0].iov_base, chunk->bytes, hx_descriptor(chunk->registration), message.addr, message.tag, 0,
                    message.context);
}

int hx_recv_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    while (op->posted_bytes < op->total_bytes && hx_op_status(op) == 0 &&
           op->posted_bytes < (op->in_order + HX_RECV_WINDOW * (size_t)edge->npaths) * op->chunk_bytes) {
        size_t bytes = hx_op_chunk_bytes_at(op, op->posted_bytes);
        struct hx_path *path = hx_chunk_path(edge, op, op->posted_bytes), *used = op->written ? &edge->paths[0] : path;
        struct hx_pieces pieces;
        struct hx_chunk *chunk;
        ssize_t rc;

        if (edge->early && (rc = hx_early_take(net, edge, op, tag_of(op, op->posted_bytes), bytes)) != 0) {
            if (rc < 0)
                return (int)rc;
            continue;
        }
        if (net->recvs_in_flight >= net->recv_limit || hx_path_is_refused(used, hx_op_post(op)))
            return -FI_EAGAIN;
        chunk = hx_chunk_make(net, edge, path, op, op->posted_bytes, bytes, &pieces);
        if (!chunk)
            return -FI_EAGAIN;
        rc = chunk_receive(net, edge, chunk, &pieces);
        if (rc != 0) {
            hx_chunk_drop(net, chunk);
            return hx_chunk_refused(net, used, op, rc);
        }
        used->rail->unread = 1;
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

/* Refused, it keeps its place among what is in flight, and is tried when its edge is. */
static int chunk_again(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_net_op *op = chunk->op;
    struct hx_pieces pieces = {.n = 1};
    ssize_t rc = -FI_EAGAIN;

    if (chunk->bounce)
        pieces.at[0] = (struct iovec){chunk->bounce->base, chunk->bytes};
    else
        pieces.n = hx_segments_pieces(op, chunk->offset, chunk->bytes, pieces.at, net->pieces_most);
    if (!hx_path_is_refused(chunk->path, HX_POST_RECV))
        rc = chunk_receive(net, chunk->edge, chunk, &pieces);
    if (rc != 0)
        return hx_chunk_refused(net, chunk->path, op, rc);
    chunk->kind = HX_CHUNK_RECV;
    chunk->edge->again--;
    chunk->path->rail->unread = 1;
    return 0;
}

void hx_recv_again(struct hx_net *net, struct hx_chunk *chunk)
{
    chunk->kind = HX_CHUNK_AGAIN;
    chunk->edge->again++;
    if (chunk_again(net, chunk) != 0)
        hx_edge_activate(net, chunk->edge);
}

struct again {
    const struct hx_edge *edge;
    int refused;
};

static void edge_again(struct hx_net *net, struct hx_chunk *chunk, void *arg)
{
    struct again *again = arg;

    if (chunk->kind == HX_CHUNK_AGAIN && chunk->edge == again->edge)
        again->refused |= chunk_again(net, chunk) != 0;
}

static void message_refuse(struct hx_net_op *op, hx_status_t status)
{
    op->done = -(int)status;
    hx_detail_keep(op->why);
}

void hx_message_post(struct hx_net *net, struct hx_net_op *op)
{
    struct hx_edge *edge = net->edges[op->peer];
    struct hx_op_queue *queue;
    int rc;

    op->done = 0;
    op->state = NULL;
    op->posted_bytes = op->completed_bytes = op->total_bytes = 0;
    op->theirs = op->doubt = 0;
    op->give_up = 0;
    for (int i = 0; i < op->nsegments; i++)
        op->total_bytes += op->segments[i].bytes;
    if (net->broken) {
        hx_recall(net->why);
        message_refuse(op, net->broken);
        return;
    }
    if (!edge || op->total_bytes == 0 || op->match >> net->match_bits || hx_match_is_credit(op->match)) {
        message_refuse(op, hx_fail(HX_ERR_INTERNAL, "no message of %zu bytes with match id %#llx to rank %d of the job", op->total_bytes,
                                   (unsigned long long)op->match, op->peer));
        return;
    }
    op->written = edge->write_bytes > 0 && op->total_bytes >= edge->write_bytes;
    if (hx_op_pays_credits(op) && !hx_flow_of(edge, op->flow)) {
        message_refuse(op, hx_fail(HX_ERR_NOMEM, "no memory for messages to rank %d of the job", op->peer));
        return;
    }
    op->chunk_bytes = hx_chunk_bytes(net, edge, op->total_bytes);
    op->in_order = 0;
    op->ahead = 0;
    queue = hx_op_queue_of(edge, op);
    if (op->direction == HX_NET_RECV) {
        rc = queue->head ? -FI_EAGAIN : hx_recv_continue(net, edge, op);
    } else if (op->written) {
        queue_push(queue, op);
        if (hx_writes_continue(net, edge) != 0)
            hx_edge_activate(net, edge);
        return;
    } else {
        rc = queue->head ? WAIT_CREDIT : send_continue(net, edge, op);
    }
    if (rc != 0 && op->direction == HX_NET_RECV)
        hx_recv_wait(net, edge, op);
    else if (rc != 0)
        queue_push(queue, op);
    if (rc == -FI_EAGAIN || rc == WAIT_ROOM)
        hx_edge_activate(net, edge);
}

/* ---- trying again */

/* A flow that waits for its credit is no reason to try the edge again: the credit is. */
static int flow_retry(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    struct hx_net_op *op;
    int rc;

    while ((op = flow->large.head)) {
        rc = send_continue(net, edge, op);
        if (rc != 0)
            return rc == WAIT_CREDIT ? 0 : rc;
        if (flow->large.head == op)
            queue_pop(&flow->large);
    }
    return 0;
}

/* What is refused holds up nothing of another kind: receives may wait for others to end which end by this edge's sends only. */
static int edge_retry(struct hx_net *net, struct hx_edge *edge)
{
    struct hx_net_op *op;
    int refused = 0;

    if (edge->credit_bounce)
        refused |= hx_credit_listen(net, edge) != 0;
    for (struct hx_flow *flow = edge->flows; flow; flow = flow->next)
        if (hx_credit_is_due(edge, flow))
            refused |= hx_credit_tell(net, edge, flow) != 0;
    refused |= hx_writes_continue(net, edge) != 0;
    refused |= hx_control_message_continue(net, edge) != 0;
    if (edge->again > 0) {
        struct again again = {edge, 0};
        hx_chunks_visit(net, edge_again, &again);
        refused |= again.refused;
    }
    while ((op = edge->recvs.head)) {
        if (hx_recv_continue(net, edge, op) != 0) {
            refused = 1;
            break;
        }
        if (edge->recvs.head == op) { /* else it has failed and taken itself out */
            queue_pop(&edge->recvs);
            op->state = NULL;
        }
    }
    while ((op = edge->eager.head)) {
        if (send_continue(net, edge, op) != 0) {
            refused = 1;
            break;
        }
        if (edge->eager.head == op)
            queue_pop(&edge->eager);
    }
    for (struct hx_flow *flow = edge->flows, *next; flow; flow = next) {
        next = flow->next; /* sending moves it to the front of the list */
        refused |= flow_retry(net, edge, flow) != 0;
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
