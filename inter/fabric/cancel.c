/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that fail or are cancelled. Once such a message is done, the provider never touches its memory again. A receive can be
 * cancelled if no part of it has arrived. If a part has arrived, this rank waits some seconds for the rest, unless the peer is gone. Requests on bounce
 * buffers may end by themselves. Providers can hardly ever cancel a send from the caller's memory, but over TCP such a send has
 * left at once (tcp_space.c). If the rest does not arrive, this rank ends its connections to the peer: the peer's network may be cut, or the
 * peer may be stopped. If nothing helps, this rank closes its endpoints.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <math.h>
#include <stdio.h>

#define CANCEL_SECONDS 0.2 /* how long a cancelled message may take to leave the provider */
#define REST_SECONDS 5.0   /* how long the rest of a chunk may take after a part has been received */

/* ---- one message */

/* May this request go on after its message has failed? Devices cannot cancel sends or writes. A send from a bounce buffer may go
 * on: a late peer gets what was sent. A peer may still write into a bounce buffer, because nothing reads it. The same holds for
 * memory of the runtime. */
static int may_be_abandoned(const struct hx_net *net, const struct hx_chunk *chunk)
{
    if (chunk->kind == HX_CHUNK_RECV) /* it ends when it is cancelled, or when the rest has arrived */
        return chunk->bounce != NULL;
    return (chunk->kind == HX_CHUNK_SEND || chunk->kind == HX_CHUNK_TARGET) &&
           (chunk->bounce || hx_region_is_internal(net, chunk->registration));
}

/* The message of this write target has failed. The memory stays in use until the peer certainly writes no more. */
static void target_abandon(struct hx_net *net, struct hx_chunk *chunk)
{
    hx_recvs_ended(net, chunk->edge, chunk->left);
    if (chunk->bounce)
        hx_bounce_end_receive(chunk->bounce);
    if (chunk->edge->process_ended)
        hx_chunk_end(net, chunk);
}

static void chunk_cancel(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_net_op *op = chunk->op;
    size_t bytes = chunk->bytes;

    if (chunk->kind == HX_CHUNK_REPOST) { /* nothing is posted */
        chunk->edge->reposts--;
        hx_recvs_ended(net, chunk->edge, 1);
        hx_chunk_drop(net, chunk);
        hx_message_advance(net, op, bytes);
    } else if (may_be_abandoned(net, chunk) || (chunk->kind == HX_CHUNK_TARGET && chunk->edge->process_ended)) {
        chunk->op = NULL;
        if (chunk->kind == HX_CHUNK_TARGET)
            target_abandon(net, chunk);
        else if (chunk->kind == HX_CHUNK_RECV)
            fi_cancel(&chunk->path->rail->ep->fid, &chunk->context);
        hx_message_advance(net, op, bytes);
    } else if (chunk->kind != HX_CHUNK_TARGET) {
        fi_cancel(&chunk->path->rail->ep->fid, &chunk->context);
    } else {
        if (!net->breaking) {
            snprintf(net->why, sizeof(net->why),
                     "rank %d of the job can still write into a buffer that rank %d of the job takes back: Hierax closes this network "
                     "endpoint", chunk->edge->peer, net->rank);
            hx_warn("%s", net->why);
        }
        net->breaking = HX_ERR_TRANSPORT; /* not the message's status: that one tells nothing about other peers */
    }
}

void hx_message_fail(struct hx_net *net, struct hx_net_op *op, hx_status_t status)
{
    struct hx_edge *edge = net->edges[op->peer];

    if (op->failed || op->done != 0)
        return;
    hx_op_queue_remove(hx_op_queue_of(edge, op), op);
    op->failed = status;
    op->queued = 0;
    if (op->theirs == 0) /* else the caller reports more */
        hx_detail_keep(op->why);
    if (op->completed_bytes == op->posted_bytes)
        op->done = -(int)status;
    else
        for (struct hx_chunk *chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
            if (chunk->op == op)
                chunk_cancel(net, chunk);
}

void hx_queue_fail(struct hx_net *net, struct hx_op_queue *queue, hx_status_t status)
{
    while (queue->head)
        hx_message_fail(net, queue->head, status);
}

int hx_message_mismatches(struct hx_net *net, struct hx_net_op *op, uint32_t theirs)
{
    if (theirs == op->signature || op->signature == 0)
        return 0;
    if ((op->theirs = theirs) == 0)
        hx_fail(HX_ERR_MISMATCH, "rank %d of the job sent a message without the signature of its call", op->peer);
    hx_message_fail(net, op, HX_ERR_MISMATCH);
    return 1;
}

/* The provider has not cancelled the message in time: end the connections to its peer. If they have ended before, close the endpoints. */
static void given_up(struct hx_net *net, struct hx_net_op *op)
{
    if (!op->is_cut_off) {
        op->is_cut_off = 1;
        op->give_up = hx_deadline(REST_SECONDS); /* it ends at once, but what ends before may hold up this rank */
        hx_peer_disconnect(net, net->edges[op->peer]);
        return;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s does not cancel a message %s rank %d of the job: Hierax closes this network endpoint",
            net->info->fabric_attr->prov_name, op->direction == HX_NET_SEND ? "to" : "from", op->peer);
    hx_net_break(net, HX_ERR_TRANSPORT);
}

/* How long an operation may take from now on to leave the provider. A peer that lives sends the rest of its message. */
static double give_up_in(const struct hx_net *net, const struct hx_net_op *op, int is_lost)
{
    return hx_deadline(op->direction == HX_NET_RECV && !is_lost && !net->edges[op->peer]->gone ? REST_SECONDS : CANCEL_SECONDS);
}

int hx_message_cancel(struct hx_net *net, struct hx_net_op *op, int is_lost)
{
    if (net->broken || op->done != 0 || hx_meeting_cancel(net, op))
        return 1;
    if (op->give_up > 0) {
        if (!op->is_cut_off) /* the peer may be found gone meanwhile */
            op->give_up = fmin(op->give_up, give_up_in(net, op, is_lost));
        if (hx_deadline_passed(op->give_up))
            given_up(net, op);
        return net->broken != HX_SUCCESS;
    }
    op->give_up = give_up_in(net, op, is_lost);
    if (op->direction == HX_NET_RECV && hx_op_pays_credits(op)) /* the peer may still send the rest: return its credits */
        hx_flow_of(net->edges[op->peer], op->flow)->received +=
            (op->total_bytes + op->chunk_bytes - 1) / op->chunk_bytes - op->in_order;
    hx_message_fail(net, op, HX_ERR_TRANSPORT);
    return op->done != 0;
}

/* ---- all of them */

static void message_break(struct hx_net_op *op, hx_status_t why)
{
    op->done = -(int)why;
    hx_detail_keep(op->why);
}

static void queue_break(struct hx_op_queue *queue, hx_status_t why)
{
    for (struct hx_net_op *op = queue->head, *next; op; op = next) {
        next = op->next;
        message_break(op, why);
    }
    queue->head = NULL;
}

void hx_net_break_soon(struct hx_net *net, hx_status_t why)
{
    if (net->breaking)
        return;
    hx_detail_keep(net->why);
    net->breaking = why;
}

void hx_net_break(struct hx_net *net, hx_status_t why)
{
    struct hx_chunk *chunk;

    if (net->broken)
        return;
    net->broken = why;
    hx_detail_keep(net->why);
    hx_recall(net->why);
    for (chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
        if (chunk->kind == HX_CHUNK_RECV) /* the close may take longer than this rank waits */
            fi_cancel(&chunk->path->rail->ep->fid, &chunk->context);
    hx_endpoints_close(net);
    hx_meetings_break(net, why);
    for (chunk = NULL; (chunk = hx_chunk_next(net, chunk)); chunk->op = NULL)
        if (chunk->op)
            message_break(chunk->op, chunk->op->failed ? chunk->op->failed : why);
    for (int i = 0; i < net->nranks; i++)
        if (net->edges[i]) {
            queue_break(&net->edges[i]->recvs, why);
            queue_break(&net->edges[i]->eager, why);
            queue_break(&net->edges[i]->writes, why);
            for (struct hx_flow *flow = net->edges[i]->flows; flow; flow = flow->next)
                queue_break(&flow->large, why);
        }
}

/* ---- registrations in use */

static int is_in_use(const struct hx_net *net, const struct hx_registration *first, size_t n)
{
    for (struct hx_chunk *chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
        if (chunk->registration >= first && chunk->registration < first + n)
            return 1;
    return 0;
}

int hx_registrations_drain(struct hx_net *net, const struct hx_registration *first, size_t n)
{
    double give_up = hx_deadline(CANCEL_SECONDS);

    while (!net->broken && is_in_use(net, first, n)) {
        hx_net_progress(net);
        if (hx_deadline_passed(give_up))
            return 0;
    }
    return !net->broken || hx_endpoints_close(net);
}
