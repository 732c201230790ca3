/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of the completion queue and of the event queue: what they mean, and which messages fail by them.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <stdio.h>
#include <string.h>

/* Over TCP, requests on a broken connection end with one of these errors. */
static int connection_is_gone(int err)
{
    return err == FI_ECANCELED || err == FI_ECONNRESET || err == FI_ECONNABORTED || err == FI_ENOTCONN ||
           err == FI_ECONNREFUSED || err == FI_EHOSTUNREACH || err == FI_EIO;
}

/* What an error tells about the peer. NEVER_REACHED: it may be alive. UNREACHABLE: it was reachable before. */
enum { REACHABLE, NEVER_REACHED, UNREACHABLE, PROCESS_ENDED };

/* What an EFA device's code means to a user; "" for other codes and providers. edge: NULL if unknown. *gone: what it tells about
 * the peer. Instead of code 13 libfabric reports 4124 after a handshake (since 1.22), else 4126 (since 2.1). */
static const char *error_meaning(const struct hx_net *net, const struct hx_edge *edge, int err, int prov_errno, int *gone)
{
    *gone = 0;
    if (!hx_provider_is_efa(net->info)) {
        *gone = connection_is_gone(err) ? UNREACHABLE : 0;
        return "";
    }
    switch (prov_errno) {
    case 13:
    case 15:
    case 4124:
    case 4126:
        *gone = !edge || edge->has_traffic ? UNREACHABLE : NEVER_REACHED;
        if (edge && edge->has_traffic)
            return " (the peer is silent or unreachable, and was not before: it has died, or the network to it has failed)";
        return " (the peer is silent or unreachable: does its security group admit all traffic of this one's? Is it in another subnet or "
               "availability zone? Has it died?)";
    case 8:
    case 9:
    case 14: *gone = PROCESS_ENDED; return " (the peer's process has gone)";
    case 10: return " (the receiver was not ready for too long)";
    case 4112: return " (locked memory is exhausted: see ulimit -l)";
    case 4127: return " (the peer has given it up)";
    default: return "";
    }
}

/* edge: NULL if the message was injected, because then the provider does not report its peer. */
static hx_status_t failure_report(const struct hx_net *net, struct hx_edge *edge, const struct hx_rail *rail, int sending,
                                const struct fi_cq_err_entry *error)
{
    char text[128] = "", doing[64] = "sending a short message";
    const char *what = fi_cq_strerror(rail->cq, error->prov_errno, error->err_data, text, sizeof(text));
    int gone;
    const char *meaning = error_meaning(net, edge, error->err, error->prov_errno, &gone);
    hx_status_t status = gone > NEVER_REACHED && edge ? HX_ERR_PEER_DEAD : error->err == FI_ETRUNC ? HX_ERR_MISMATCH : HX_ERR_TRANSPORT;

    if (status == HX_ERR_MISMATCH)
        meaning = " (it sent more than is expected here)";
    if (status == HX_ERR_PEER_DEAD && hx_edge_accepts(net, edge)) {
        status = HX_ERR_TRANSPORT;
        meaning = " (the connection has broken, but the peer lives: something between the two hosts, or another process, has ended it)";
    }
    if (edge)
        snprintf(doing, sizeof(doing), "%s rank %d of the job", sending ? "sending to" : "receiving from", edge->peer);
    return hx_fail(status, "%s over %s failed: %s; provider code %d, %s%s", doing, net->info->fabric_attr->prov_name,
                   fi_strerror(error->err), error->prov_errno, what ? what : "", meaning);
}

/* EFA numbers the messages to a peer. If one fails, the peer receives no later ones, control messages included. The peer notices
 * only if this endpoint is closed, so close it. Remote writes have no numbers, but nothing reports a missing one. */
static int loses_message(const struct hx_net *net, const struct fi_cq_err_entry *error)
{
    int gone;

    if (!hx_provider_is_efa(net->info))
        return 0;
    error_meaning(net, NULL, error->err, error->prov_errno, &gone);
    return !gone;
}

static void loss_break(struct hx_net *net, hx_status_t status)
{
    if (net->breaking)
        return;
    hx_detail_keep(net->why);
    net->breaking = status;
}

/* The request is never used again: before libfabric 2.4, EFA reports each failed packet of a send with the same context. */
static struct hx_net_op *failed_send_end(struct hx_net *net, struct hx_chunk *chunk, size_t *bytes)
{
    struct hx_net_op *op = hx_chunk_detach(net, chunk, bytes);

    chunk->kind = HX_CHUNK_FAILED_SEND;
    return op;
}

struct failing {
    const struct hx_edge *edge;
    hx_status_t status;
};

static void chunk_op_fail(struct hx_net *net, struct hx_chunk *chunk, void *arg)
{
    const struct failing *failing = arg;

    if (chunk->edge == failing->edge && chunk->op)
        hx_message_fail(net, chunk->op, failing->status);
}

/* No message reaches this peer: fail all messages that would wait for it for ever. */
static void edge_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status)
{
    hx_chunks_visit(net, chunk_op_fail, &(struct failing){edge, status});
    while (edge->recvs.head)
        hx_message_fail(net, edge->recvs.head, status);
    while (edge->eager.head)
        hx_message_fail(net, edge->eager.head, status);
    hx_writes_fail(net, edge, status);
    hx_flows_fail(net, edge, status);
}

/* A control message could not be sent. In this way a device reports that the peer is gone. Over TCP liveness.c finds that out. */
static void control_send_fail(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    size_t bytes;
    int gone;

    edge->control_messages--;
    if (*error_meaning(net, edge, error->err, error->prov_errno, &gone) != 0 && gone > NEVER_REACHED)
        hx_edge_mark_gone(net, edge);
    else if (gone == NEVER_REACHED)
        edge_fail(net, edge, failure_report(net, edge, chunk->path->rail, 1, error));
    edge->process_ended |= gone == PROCESS_ENDED;
    chunk->path->rail->sends_in_flight--;
    if (loses_message(net, error))
        loss_break(net, failure_report(net, edge, chunk->path->rail, 1, error));
    failed_send_end(net, chunk, &bytes);
}

static void chunk_fail(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_rail *rail = chunk->path->rail;
    enum hx_chunk_kind kind = chunk->kind;
    int sent = kind == HX_CHUNK_SEND || kind == HX_CHUNK_SEND_INVITE || kind == HX_CHUNK_SEND_CREDIT;
    int hole = sent && loses_message(net, error), ends_op, ends_writes, ends_flows;
    hx_status_t status = HX_SUCCESS;
    struct hx_net_op *op;
    size_t bytes;
    int gone;

    error_meaning(net, edge, error->err, error->prov_errno, &gone);
    edge->process_ended |= gone == PROCESS_ENDED;
    rail->sends_in_flight -= (size_t)sent;
    if (kind == HX_CHUNK_RECV) {
        net->recvs_in_flight--;
        edge->recvs_in_flight--;
    }
    if (kind == HX_CHUNK_RECV_CREDIT)
        edge->credit_posted = 0;
    if (kind == HX_CHUNK_RECV_INVITE)
        edge->invite_posted = 0;
    if (kind == HX_CHUNK_SEND_CREDIT)
        hx_credits_resend(net, edge);
    op = sent ? failed_send_end(net, chunk, &bytes) : hx_chunk_end(net, chunk, &bytes); /* before hx_message_fail */
    ends_op = op && !op->failed; /* else this rank has cancelled it */
    ends_writes = (kind == HX_CHUNK_SEND_INVITE || kind == HX_CHUNK_RECV_INVITE) && hx_writes_are_pending(net, edge);
    ends_flows = kind == HX_CHUNK_RECV_CREDIT && hx_flows_are_pending(edge);
    if (ends_op || ends_writes || ends_flows || hole)
        status = failure_report(net, edge, rail, sent, error);
    if (hole)
        loss_break(net, status);
    if (ends_op)
        hx_message_fail(net, op, status);
    if (op)
        hx_message_advance(net, op, bytes);
    if (ends_writes)
        hx_writes_fail(net, edge, status);
    if (ends_flows)
        hx_flows_fail(net, edge, status);
}

/* A message was longer than its receive. Returns 1 if it was forged: then the receive is posted again. If the provider does not
 * report the completion data of such a message, the message counts as genuine. */
static int recv_truncated(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    uint32_t data = (uint32_t)error->data;

    if (chunk->kind == HX_CHUNK_RECV) {
        if (!chunk->op || (data == 0 && !hx_provider_is_native_tcp(net->info)) ||
            hx_recv_check(net, chunk->op, chunk->offset, data))
            return 0;
        hx_recv_repost(net, chunk);
        return 1;
    }
    if (chunk->kind != HX_CHUNK_RECV_CREDIT && chunk->kind != HX_CHUNK_RECV_INVITE)
        return 0;
    if (chunk->kind == HX_CHUNK_RECV_CREDIT)
        edge->credit_posted = 0;
    else
        edge->invite_posted = 0;
    hx_chunk_release(net, chunk);
    hx_forgery_note(net, "a control message", edge->peer);
    hx_edge_activate(net, edge);
    return 1;
}


int hx_error_read(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_err_entry error;
    struct hx_chunk *chunk;
    char text[128] = "";
    int gone;

    memset(&error, 0, sizeof(error));
    if (fi_cq_readerr(rail->cq, &error, 0) != 1)
        return 0;
    chunk = error.op_context;
    if (!chunk) { /* of an injected message */
        const char *what = fi_cq_strerror(rail->cq, error.prov_errno, error.err_data, text, sizeof(text));
        const char *meaning = error_meaning(net, NULL, error.err, error.prov_errno, &gone);
        hx_warn("%s reports an error that belongs to no message: %s; provider code %d, %s%s", net->info->fabric_attr->prov_name, fi_strerror(error.err),
                error.prov_errno, what ? what : "", meaning);
        if (loses_message(net, &error))
            loss_break(net, failure_report(net, NULL, rail, 1, &error));
        else if (*meaning != '\0' && gone == UNREACHABLE)
            hx_liveness_note_loss(net, error.prov_errno, what ? what : "");
    } else if (chunk->kind == HX_CHUNK_FAILED_SEND) {
        return 0;
    } else if (chunk->kind == HX_CHUNK_PEEK) {
        hx_unexpected_none(net, chunk);
        return 0;
    } else if (chunk->kind == HX_CHUNK_UNEXPECTED) {
        hx_unexpected_complete(net, chunk, 0, 0);
    } else if (chunk->kind == HX_CHUNK_SEND_CONTROL) {
        control_send_fail(net, chunk, &error);
        return 0;
    } else if (chunk->kind == HX_CHUNK_RECV_CONTROL) {
        net->rails[chunk->offset].control_posted = 0;
        hx_chunk_release(net, chunk);
        if (error.err == FI_ETRUNC)
            hx_forgery_note(net, "a control message", -1);
        return 0;
    } else if (error.err != FI_ETRUNC || !recv_truncated(net, chunk, &error)) {
        chunk_fail(net, chunk, &error);
    }
    return 1;
}

static int rail_events_read(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_eq_err_entry error;
    uint64_t buffer[32];
    uint32_t event;
    ssize_t rc = fi_eq_read(rail->eq, &event, buffer, sizeof(buffer), 0);
    const char *meaning;
    int gone;

    if (rc != -FI_EAVAIL)
        return 0;
    memset(&error, 0, sizeof(error));
    if (fi_eq_readerr(rail->eq, &error, 0) < 0)
        return 0;
    meaning = error_meaning(net, NULL, error.err, error.prov_errno, &gone);
    if (*meaning != '\0' && gone) { /* EFA before libfabric 2.3, of a handshake. Messages to the peer will fail */
        hx_warn("%s on %s: %s (provider code %d)%s", rail->info->fabric_attr->prov_name, rail->info->domain_attr->name,
                fi_strerror(error.err), error.prov_errno, meaning);
        return 0;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s endpoint of rank %d of the job on %s failed: %s (provider code %d)%s",
            rail->info->fabric_attr->prov_name, net->rank, rail->info->domain_attr->name, fi_strerror(error.err),
            error.prov_errno, meaning);
    hx_net_break(net, HX_ERR_TRANSPORT);
    return -(int)HX_ERR_TRANSPORT;
}

int hx_events_read(struct hx_net *net)
{
    int rc = 0;

    for (int i = 0; i < net->nrails && rc == 0; i++)
        rc = rail_events_read(net, &net->rails[i]);
    return rc;
}
