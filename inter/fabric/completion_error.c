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

/* The peer's state, as an error shows it. NEVER_REACHED: it may be alive. UNREACHABLE: it was reachable before. */
enum peer_state { REACHABLE, NEVER_REACHED, UNREACHABLE, PROCESS_ENDED };

#define SILENT " (the peer is silent or unreachable: does its security group admit all traffic of this one's? Is it in another " \
               "subnet or availability zone? Has it died?)"

struct meaning {
    int code; /* of an EFA device */
    enum peer_state peer;
    const char *text; /* for a user */
};

/* Instead of code 13 libfabric reports 4124 after a handshake (since 1.22), else 4126 (since 2.1). edge: NULL if unknown. */
static struct meaning meaning_of(const struct hx_net *net, const struct hx_edge *edge, int err, int code)
{
    static const struct meaning meanings[] = {
        {8, PROCESS_ENDED, " (the peer's process has gone)"},
        {9, PROCESS_ENDED, " (the peer's process has gone)"},
        {10, REACHABLE, " (the receiver was not ready for too long)"},
        {13, UNREACHABLE, SILENT},
        {14, REACHABLE, " (the peer's device does not know this rank's address)"}, /* of writes only: the peer lives */
        {15, UNREACHABLE, SILENT},
        {4112, REACHABLE, " (locked memory is exhausted: see ulimit -l)"},
        {4124, UNREACHABLE, SILENT},
        {4126, UNREACHABLE, SILENT},
        {4127, REACHABLE, " (the peer has cancelled it)"},
    };
    const int has_codes = net->traits->has_device_codes;
    struct meaning meaning = {code, !has_codes && connection_is_gone(err) ? UNREACHABLE : REACHABLE, ""};

    for (size_t i = 0; has_codes && i < sizeof(meanings) / sizeof(*meanings); i++)
        if (meanings[i].code == code)
            meaning = meanings[i];
    if (has_codes && edge && meaning.peer == UNREACHABLE) {
        if (!edge->has_traffic)
            meaning.peer = NEVER_REACHED;
        else
            meaning.text = " (the peer is silent or unreachable, and was not before: it has died, or the network to it has failed)";
    }
    return meaning;
}

/* edge: NULL if the message was injected, because then the provider does not report its peer. */
static hx_status_t failure_report(const struct hx_net *net, struct hx_edge *edge, const struct hx_rail *rail, int sending,
                                const struct fi_cq_err_entry *error)
{
    char text[128] = "", doing[64] = "sending a short message";
    const char *what = fi_cq_strerror(rail->cq, error->prov_errno, error->err_data, text, sizeof(text));
    struct meaning meaning = meaning_of(net, edge, error->err, error->prov_errno);
    hx_status_t status = meaning.peer > NEVER_REACHED && edge ? HX_ERR_PEER_DEAD : error->err == FI_ETRUNC ? HX_ERR_MISMATCH : HX_ERR_TRANSPORT;

    if (status == HX_ERR_MISMATCH)
        meaning.text = " (it sent more than is expected here)";
    if (status == HX_ERR_PEER_DEAD && hx_edge_accepts(net, edge)) {
        status = HX_ERR_TRANSPORT;
        meaning.text = " (the connection has broken, but the peer lives: something between the two hosts, or another process, has ended it)";
    }
    if (edge)
        snprintf(doing, sizeof(doing), "%s rank %d of the job", sending ? "sending to" : "receiving from", edge->peer);
    return hx_fail(status, "%s over %s failed: %s; provider code %d, %s%s", doing, net->info->fabric_attr->prov_name,
                   fi_strerror(error->err), error->prov_errno, what ? what : "", meaning.text);
}

/* EFA numbers the messages to a peer. If one fails, the peer receives no later ones, control messages included. The peer notices
 * only if this endpoint is closed, so close it. Remote writes have no numbers, but nothing reports a missing one. */
static int loses_message(const struct hx_net *net, const struct fi_cq_err_entry *error)
{
    return net->traits->numbers_messages && meaning_of(net, NULL, error->err, error->prov_errno).peer == REACHABLE;
}

/* The request is never used again: before libfabric 2.4, EFA reports each failed packet of a send with the same context. */
static struct hx_net_op *failed_send_end(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_net_op *op = hx_chunk_detach(net, chunk);

    chunk->kind = HX_CHUNK_FAILED_SEND;
    return op;
}

/* No message reaches this peer: fail all messages that would wait for it for ever. */
static void edge_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status)
{
    for (struct hx_chunk *chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
        if (chunk->edge == edge && chunk->op)
            hx_message_fail(net, chunk->op, status);
    hx_queue_fail(net, &edge->recvs, status);
    hx_queue_fail(net, &edge->eager, status);
    hx_writes_fail(net, edge, status);
    hx_flows_fail(net, edge, status);
}

/* A message of the runtime could not be sent. So a device reports that the peer is gone. Over TCP dead_peer.c finds that out. */
static void control_send_fail(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct meaning meaning = meaning_of(net, chunk->edge, error->err, error->prov_errno);

    chunk->edge->control_messages--;
    if (*meaning.text != '\0' && meaning.peer > NEVER_REACHED)
        hx_edge_mark_gone(net, chunk->edge);
    else if (meaning.peer == NEVER_REACHED)
        edge_fail(net, chunk->edge, failure_report(net, chunk->edge, chunk->path->rail, 1, error));
}

static void chunk_fail(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_rail *rail = chunk->path->rail;
    const int is_control = chunk->kind == HX_CHUNK_SEND_CONTROL || chunk->kind == HX_CHUNK_RECV_CONTROL;
    const int sent = chunk->kind == HX_CHUNK_SEND || chunk->kind == HX_CHUNK_SEND_CONTROL;
    const enum hx_control_kind control = is_control ? chunk->control : HX_CONTROLS;
    int hole = sent && loses_message(net, error), ends_op, ends_writes, ends_flows;
    hx_status_t status = HX_SUCCESS;
    const size_t bytes = chunk->bytes;
    struct hx_net_op *op;

    edge->process_ended |= meaning_of(net, edge, error->err, error->prov_errno).peer == PROCESS_ENDED;
    if (chunk->kind == HX_CHUNK_RECV)
        hx_recvs_ended(net, edge, 1);
    else if (chunk->kind == HX_CHUNK_RECV_CONTROL)
        chunk->mailbox->posted = 0;
    else if (control == HX_CONTROL_CREDIT)
        hx_credits_resend(net, edge);
    else if (control == HX_CONTROL_MESSAGE)
        control_send_fail(net, chunk, error);
    op = sent ? failed_send_end(net, chunk) : hx_chunk_end(net, chunk); /* before hx_message_fail */
    ends_op = op && !op->failed; /* else this rank has cancelled it */
    ends_writes = control == HX_CONTROL_INVITE && hx_writes_are_pending(net, edge);
    ends_flows = control == HX_CONTROL_CREDIT && !sent && hx_flows_are_pending(edge);
    if (ends_op || ends_writes || ends_flows || hole)
        status = failure_report(net, edge, rail, sent, error);
    if (hole)
        hx_net_break_soon(net, status);
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
        if (!chunk->op || (data == 0 && !net->traits->reports_excess_data) ||
            hx_recv_check(net, chunk->op, chunk->offset, data))
            return 0;
        hx_recv_repost(net, chunk);
        return 1;
    }
    if (chunk->kind != HX_CHUNK_RECV_CONTROL)
        return 0;
    chunk->mailbox->posted = 0;
    hx_chunk_release(net, chunk);
    hx_forgery_note(net, "a control message", edge ? edge->peer : -1);
    if (edge)
        hx_edge_activate(net, edge);
    return 1;
}

/* An injected message has failed. */
static void inject_fail(struct hx_net *net, struct hx_rail *rail, const struct fi_cq_err_entry *error)
{
    char text[128] = "";
    const char *what = fi_cq_strerror(rail->cq, error->prov_errno, error->err_data, text, sizeof(text));
    struct meaning meaning = meaning_of(net, NULL, error->err, error->prov_errno);

    hx_warn("%s reports an error that belongs to no message: %s; provider code %d, %s%s", net->info->fabric_attr->prov_name,
            fi_strerror(error->err), error->prov_errno, what ? what : "", meaning.text);
    if (loses_message(net, error))
        hx_net_break_soon(net, failure_report(net, NULL, rail, 1, error));
    else if (*meaning.text != '\0' && meaning.peer == UNREACHABLE)
        hx_loss_note(net, error->prov_errno, what ? what : "");
}

int hx_error_read(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_err_entry error = {0};
    struct hx_chunk *chunk;

    if (fi_cq_readerr(rail->cq, &error, 0) != 1)
        return 0;
    chunk = error.op_context;
    if (!chunk) {
        inject_fail(net, rail, &error);
    } else if (chunk->kind == HX_CHUNK_FAILED_SEND) {
        return 0;
    } else if (chunk->kind == HX_CHUNK_PEEK) {
        hx_unexpected_none(net, chunk);
        return 0;
    } else if (chunk->kind == HX_CHUNK_UNEXPECTED) {
        hx_unexpected_complete(net, chunk, 0, 0);
    } else if (error.err == FI_ETRUNC && recv_truncated(net, chunk, &error)) {
        return 1;
    } else if (!chunk->edge) { /* the receive of control messages of any peer */
        chunk->mailbox->posted = 0;
        hx_chunk_release(net, chunk);
    } else {
        chunk_fail(net, chunk, &error);
    }
    return 1;
}

static int rail_events_read(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_eq_err_entry error = {0};
    uint64_t buffer[32];
    uint32_t event;
    ssize_t rc = rail->eq ? fi_eq_read(rail->eq, &event, buffer, sizeof(buffer), 0) : 0;
    struct meaning meaning;

    if (rc != -FI_EAVAIL || fi_eq_readerr(rail->eq, &error, 0) < 0)
        return 0;
    meaning = meaning_of(net, NULL, error.err, error.prov_errno);
    if (*meaning.text != '\0' && meaning.peer != REACHABLE) { /* EFA before libfabric 2.3, of a handshake. Messages to the peer will fail */
        hx_warn("%s on %s: %s (provider code %d)%s", rail->info->fabric_attr->prov_name, rail->info->domain_attr->name,
                fi_strerror(error.err), error.prov_errno, meaning.text);
        return 0;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s endpoint of rank %d of the job on %s failed: %s (provider code %d)%s",
            rail->info->fabric_attr->prov_name, net->rank, rail->info->domain_attr->name, fi_strerror(error.err),
            error.prov_errno, meaning.text);
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
