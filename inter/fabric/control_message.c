/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages: what ranks tell each other beside the messages of calls. They have a tag of their own. On each rail one receive
 * of any peer's control message is always posted. If one cannot be sent, the runtime is asked later to send everything again
 * (must_resend).
 *
 * The sender of a control message may be unknown here: a rank that opens its endpoints late sends its address to a gate (meeting.c). Before 1.18
 * libfabric's native TCP looks for the receive of a tagged message in a table, at the index that the sender has among the known addresses. An
 * unknown sender has -1, and there libfabric finds the last tagged receive of any sender, and takes memory behind it for a list. So there
 * control messages have no tag, and no tagged receive takes messages of any sender.
 */
#include "inter/fabric/fabric.h"
#include <stdlib.h>

#define MESSAGES_MAX 4 /* questions in flight to one peer, so that a silent peer is not flooded */
#define DELIVERIES_MAX 16 /* messages of deliver in flight to one peer: fewer than the replay filter (proof.c) remembers */

struct hx_chunk *hx_control_alloc(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, struct hx_path *path)
{
    struct hx_chunk *chunk = hx_chunk_alloc(net);

    if (!chunk)
        return NULL;
    chunk->kind = kind;
    chunk->edge = edge;
    chunk->path = path;
    return chunk;
}

ssize_t hx_control_inject(const struct hx_net *net, struct hx_edge *edge, const struct hx_path *path, enum hx_control_kind kind,
                          struct hx_packet *control)
{
    ssize_t rc;

    hx_proof_write(net, edge, kind, control);
    rc = fi_tinject(path->rail->ep, control, hx_control_bytes(kind), path->addr, hx_control_tag(kind));
    edge->control_sent[kind] += rc == 0;
    return rc;
}

static ssize_t control_post(struct hx_net *net, struct hx_edge *edge, enum hx_control_kind kind, struct hx_packet *control)
{
    struct hx_path *path = &edge->paths[0];
    size_t bytes = hx_control_bytes(kind);
    struct hx_bounce *bounce;
    struct hx_chunk *chunk;
    ssize_t rc;

    if (path->rail->sends_in_flight >= net->send_limit || !(bounce = hx_bounce_alloc(net, path->rail, bytes)))
        return -FI_EAGAIN;
    if (!(chunk = hx_control_alloc(net, HX_CHUNK_SEND_CONTROL, edge, path))) {
        hx_bounce_release(bounce);
        return -FI_EAGAIN;
    }
    chunk->control = kind;
    chunk->bytes = bytes;
    chunk->bounce = bounce;
    hx_proof_write(net, edge, kind, control);
    memcpy(bounce->base, control, bytes);
    if (kind == HX_CONTROL_MESSAGE && net->untagged_messages)
        rc = fi_send(path->rail->ep, bounce->base, bytes, hx_descriptor(bounce->registration), path->addr, &chunk->context);
    else
        rc = fi_tsend(path->rail->ep, bounce->base, bytes, hx_descriptor(bounce->registration), path->addr, hx_control_tag(kind),
                      &chunk->context);
    if (rc != 0) {
        hx_bounce_release(bounce);
        hx_chunk_release(net, chunk);
        return rc;
    }
    edge->control_sent[kind]++;
    edge->control_messages += kind == HX_CONTROL_MESSAGE;
    hx_path_posted(path, bytes, chunk);
    return 0;
}

/* If an injected message fails, the provider does not report its peer. The runtime needs to know the peers of its own messages. A rank that
 * waits for a credit, or for the writes of an invitation, asks the peer by such a message: dead_peer.c. */
ssize_t hx_control_send(struct hx_net *net, struct hx_edge *edge, enum hx_control_kind kind, struct hx_packet *control)
{
    struct hx_path *path = &edge->paths[0];
    int injected = kind != HX_CONTROL_MESSAGE && hx_control_bytes(kind) <= net->inject_bytes;
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND))
        return -FI_EAGAIN;
    rc = injected ? hx_control_inject(net, edge, path, kind, control) : control_post(net, edge, kind, control);
    if (injected && rc == 0)
        hx_path_posted(path, hx_control_bytes(kind), NULL);
    if (!hx_is_refusal(rc))
        return rc;
    hx_path_refuse(path, HX_POST_SEND);
    return -FI_EAGAIN;
}

/* ---- receiving */

static int mailbox_post(struct hx_net *net, struct hx_rail *rail, struct hx_edge *edge, enum hx_control_kind kind, struct hx_mailbox *box)
{
    struct hx_path *path = edge ? &edge->paths[0] : NULL;
    size_t bytes = hx_control_bytes(kind);
    struct hx_chunk *chunk;
    ssize_t rc;

    if (box->posted)
        return 0;
    if ((!box->bounce && !(box->bounce = hx_bounce_alloc(net, rail, bytes))) || (path && hx_path_is_refused(path, HX_POST_RECV)) ||
        !(chunk = hx_control_alloc(net, HX_CHUNK_RECV_CONTROL, edge, path)))
        return -FI_EAGAIN;
    chunk->control = kind;
    chunk->mailbox = box;
    if (kind == HX_CONTROL_MESSAGE && net->untagged_messages)
        rc = fi_recv(rail->ep, box->bounce->base, bytes, hx_descriptor(box->bounce->registration), FI_ADDR_UNSPEC, &chunk->context);
    else
        rc = fi_trecv(rail->ep, box->bounce->base, bytes, hx_descriptor(box->bounce->registration), path ? path->addr : FI_ADDR_UNSPEC,
                      hx_control_tag(kind), 0, &chunk->context);
    box->posted = rc == 0;
    if (box->posted) {
        rail->unread = 1;
        return 0;
    }
    hx_chunk_release(net, chunk);
    if (path)
        hx_path_refuse(path, HX_POST_RECV);
    return -FI_EAGAIN;
}

int hx_control_receive(struct hx_net *net, struct hx_rail *rail, struct hx_edge *edge, enum hx_control_kind kind)
{
    const int n = kind == HX_CONTROL_INVITE ? edge->invite_recvs : 1;
    struct hx_mailbox *boxes;
    int rc = 0;

    if (kind == HX_CONTROL_INVITE && !edge->invitations && !(edge->invitations = calloc((size_t)n, sizeof(*edge->invitations))))
        return -FI_EAGAIN;
    boxes = !edge ? &rail->mailbox : kind == HX_CONTROL_CREDIT ? &edge->credits : edge->invitations;
    for (int i = 0; i < n && rc == 0; i++)
        rc = mailbox_post(net, rail, edge, kind, &boxes[i]);
    return rc;
}

/* Another rank reports that it cannot reach this peer. That rank may itself be cut off, and its report may arrive late, after its network works
 * again. If the kernel of the peer's host answers, this rank can check by itself. Then the report only shortens that check. */
static void claim_heard(struct hx_net *net, struct hx_edge *edge)
{
    if (net->traits->kernel_answers) {
        edge->doubted = !edge->gone;
    } else {
        edge->silent = 1;
        hx_edge_mark_gone(net, edge);
    }
}

static void message_arrived(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    if (message->ndead < 0 || message->ndead > HX_MESSAGE_RANKS)
        return;
    for (int i = 0; i < message->ndead; i++) {
        const int rank = message->dead[i] < 0 ? HX_UNREACHABLE(message->dead[i]) : message->dead[i];
        if (rank >= net->nranks || !net->edges[rank])
            continue;
        if (message->dead[i] < 0)
            claim_heard(net, net->edges[rank]);
        else
            hx_edge_mark_gone(net, net->edges[rank]);
    }
    if (net->heard)
        net->heard(net->heard_arg, edge->peer, message);
}

/* The peer that has sent this control message. Its first one may be its address. only: no other peer may have sent it; NULL: any may. NULL:
 * the message is dropped. */
static struct hx_edge *sender_of(struct hx_net *net, enum hx_control_kind kind, const struct hx_edge *only, const struct hx_packet *control,
                                 size_t bytes)
{
    static const char *const names[HX_CONTROLS] = {"a credit", "an invitation", "a control message"};
    const int peer = hx_proof_sender(net, kind, control, bytes);
    struct hx_edge *edge = peer < 0 ? NULL : net->edges[peer] ? net->edges[peer] : hx_meeting_edge(net, peer);

    if (peer >= 0 && !edge && kind == HX_CONTROL_MESSAGE && control->message.kind == HX_MESSAGE_ADDRESS &&
        !(edge = hx_meeting_begin(net, peer, &control->message)))
        return NULL;
    if (edge && (!only || only == edge) && hx_proof_is_new(edge, kind, control))
        return edge;
    hx_forgery_note(net, names[kind], bytes == hx_control_bytes(kind) ? control->proof.from : -1);
    return NULL;
}

void hx_control_arrived(struct hx_net *net, struct hx_chunk *chunk, size_t bytes)
{
    enum hx_control_kind kind = chunk->control;
    struct hx_edge *edge = chunk->edge, *from;
    struct hx_packet control;

    memcpy(&control, chunk->mailbox->bounce->base, hx_control_bytes(kind));
    chunk->mailbox->posted = 0;
    hx_chunk_release(net, chunk);
    from = sender_of(net, kind, edge, &control, bytes);
    if (from)
        from->has_arrivals = 1;
    if (from && net->edges[from->peer] != from)
        hx_meeting_note(net, from->peer);
    if (from && kind == HX_CONTROL_CREDIT)
        hx_credit_arrived(net, from, &control.credit);
    else if (from && kind == HX_CONTROL_INVITE)
        hx_invite_arrived(net, from, &control.invitation);
    else if (from && control.message.kind == HX_MESSAGE_ADDRESS)
        hx_meeting_heard(net, from, &control.message);
    else if (from)
        message_arrived(net, from, &control.message);
    if (edge && hx_control_receive(net, edge->paths[0].rail, edge, kind) != 0)
        hx_edge_activate(net, edge);
}

/* ---- messages of the runtime */

void hx_control_message_listen(struct hx_net *net, hx_net_heard_t *heard, void *arg)
{
    net->heard = heard;
    net->heard_arg = arg;
}

static int message_send(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    struct hx_packet control = {.message = *message};

    /* errors other than a refusal appear in the edge's messages too */
    return hx_control_send(net, edge, HX_CONTROL_MESSAGE, &control) == -FI_EAGAIN ? -FI_EAGAIN : 0;
}

/* Would a message be lost? Nothing is sent to a peer that is gone, until something arrives from it: its network works again then. It stays
 * gone, but it learns that others continue without it. */
static int is_out_of_reach(const struct hx_edge *edge)
{
    return edge->gone && !edge->has_arrivals;
}

void hx_control_message_send(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct hx_edge *edge = net->edges[peer];

    if (!edge)
        hx_meeting_tell(net, peer);
    if (net->broken || !edge || is_out_of_reach(edge) || edge->must_resend || message_send(net, edge, message) == 0)
        return;
    edge->must_resend = 1;
    hx_edge_activate(net, edge);
}

int hx_control_message_deliver(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct hx_edge *edge = net->edges[peer];

    if (net->broken)
        return -1;
    if (!edge)
        return hx_meeting_deliver(net, peer);
    if (edge->gone)
        return -1;
    if (edge->control_messages >= DELIVERIES_MAX) /* the end of one of them wakes this rank */
        return 0;
    edge->paths[0].rail->unread = 1; /* a send may let the provider receive */
    if (message_send(net, edge, message) == 0)
        return 1;
    hx_edge_activate(net, edge);
    return 0;
}

int hx_control_message_ask(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    return edge->control_messages >= MESSAGES_MAX ? 0 : message_send(net, edge, message) == 0 ? 1 : -FI_EAGAIN;
}

int hx_control_message_continue(struct hx_net *net, struct hx_edge *edge)
{
    int must_resend = edge->must_resend;

    edge->must_resend = 0;
    if (must_resend && !is_out_of_reach(edge))
        net->heard(net->heard_arg, edge->peer, &(struct hx_control_message){.kind = HX_MESSAGE_ASKS});
    return edge->must_resend ? -FI_EAGAIN : 0;
}
