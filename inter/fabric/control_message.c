/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages: what ranks tell each other beside the messages of calls. They have a tag of their own. On each rail one receive
 * of any peer's control message is always posted. If one cannot be sent, the runtime is asked later to send everything again
 * (must_resend).
 */
#include "inter/fabric/fabric.h"

#define MESSAGES_MAX 4 /* questions in flight to one peer, so that a silent peer is not flooded */

struct message { /* as it is sent */
    struct hx_proof proof;
    struct hx_control_message message;
};

struct hx_chunk *hx_control_alloc(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, struct hx_path *path)
{
    struct hx_chunk *chunk = hx_chunk_alloc(net);

    if (!chunk)
        return NULL;
    chunk->kind = kind;
    chunk->edge = edge;
    chunk->path = path;
    chunk->op = NULL;
    chunk->bounce = NULL;
    chunk->registration = NULL;
    return chunk;
}

ssize_t hx_control_send(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, enum hx_control_kind control, void *message,
                        size_t bytes)
{
    struct hx_path *path = &edge->paths[0];
    struct hx_chunk *chunk;
    ssize_t rc;

    if (path->rail->sends_in_flight >= net->send_limit || !(chunk = hx_control_alloc(net, kind, edge, path)))
        return -FI_EAGAIN;
    chunk->bytes = bytes;
    chunk->bounce = hx_bounce_alloc(net, path->rail, bytes);
    if (!chunk->bounce) {
        hx_chunk_release(net, chunk);
        return -FI_EAGAIN;
    }
    hx_proof_write(net, edge, control, message, bytes);
    memcpy(chunk->bounce->base, message, bytes);
    rc = fi_tsend(path->rail->ep, chunk->bounce->base, bytes, hx_descriptor(chunk->bounce->registration), path->addr,
                  hx_control_tag(control), &chunk->context);
    if (rc != 0) {
        hx_bounce_release(path->rail, chunk->bounce, bytes);
        hx_chunk_release(net, chunk);
        return rc;
    }
    edge->control_sent[control]++;
    hx_path_posted(path, bytes, chunk);
    path->rail->sends_in_flight++;
    path->rail->unread = 1;
    return 0;
}

int hx_control_receive(struct hx_net *net, enum hx_chunk_kind kind, struct hx_edge *edge, enum hx_control_kind control,
                       const struct hx_bounce *bounce, size_t bytes)
{
    struct hx_path *path = &edge->paths[0];
    struct hx_chunk *chunk = hx_path_is_refused(path, HX_POST_RECV) ? NULL : hx_control_alloc(net, kind, edge, path);

    if (!chunk)
        return -FI_EAGAIN;
    if (fi_trecv(path->rail->ep, bounce->base, bytes, hx_descriptor(bounce->registration), path->addr, hx_control_tag(control), 0,
                 &chunk->context) != 0) {
        hx_chunk_release(net, chunk);
        hx_path_refuse(path, HX_POST_RECV);
        return -FI_EAGAIN;
    }
    path->rail->unread = 1;
    return 0;
}

/* ---- receiving */

void hx_control_message_receive(struct hx_net *net, struct hx_rail *rail)
{
    struct hx_chunk *chunk;

    if (!rail->control_bounce && !(rail->control_bounce = hx_bounce_alloc(net, rail, sizeof(struct message))))
        return;
    if (!(chunk = hx_control_alloc(net, HX_CHUNK_RECV_CONTROL, NULL, NULL)))
        return;
    chunk->offset = (size_t)(rail - net->rails);
    rail->control_posted = fi_trecv(rail->ep, rail->control_bounce->base, sizeof(struct message), hx_descriptor(rail->control_bounce->registration),
                           FI_ADDR_UNSPEC, hx_control_tag(HX_CONTROL_MESSAGE), 0, &chunk->context) == 0;
    if (!rail->control_posted)
        hx_chunk_release(net, chunk);
}

void hx_control_message_arrived(struct hx_net *net, struct hx_chunk *chunk, size_t bytes)
{
    struct hx_rail *rail = &net->rails[chunk->offset];
    struct message message = *(const struct message *)rail->control_bounce->base;
    const struct hx_edge *from;

    hx_chunk_release(net, chunk);
    rail->control_posted = 0;
    from = hx_proof_check(net, HX_CONTROL_MESSAGE, NULL, &message, bytes, sizeof(message));
    if (!from || message.message.ndead < 0 || message.message.ndead > HX_MESSAGE_RANKS)
        return;
    net->edges[from->peer]->has_arrivals = 1;
    for (int i = 0; i < message.message.ndead; i++)
        if (message.message.dead[i] >= 0 && message.message.dead[i] < net->nranks && net->edges[message.message.dead[i]])
            hx_edge_mark_gone(net, net->edges[message.message.dead[i]]);
    if (net->heard)
        net->heard(net->heard_arg, from->peer, &message.message);
}

void hx_control_message_listen(struct hx_net *net, hx_net_heard_t *heard, void *arg)
{
    net->heard = heard;
    net->heard_arg = arg;
}

/* ---- sending */

static int message_send(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    struct message sent = {.message = *message};
    struct hx_path *path = &edge->paths[0];
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND))
        return -FI_EAGAIN;
    rc = hx_control_send(net, HX_CHUNK_SEND_CONTROL, edge, HX_CONTROL_MESSAGE, &sent, sizeof(sent));
    if (hx_is_refusal(rc)) {
        hx_path_refuse(path, HX_POST_SEND);
        return -FI_EAGAIN;
    }
    edge->control_messages += rc == 0; /* other errors appear in the edge's messages too */
    return 0;
}

void hx_control_message_send(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct hx_edge *edge = net->edges[peer];

    if (net->broken || !edge || edge->gone || edge->must_resend || message_send(net, edge, message) == 0)
        return;
    edge->must_resend = 1;
    hx_edge_activate(net, edge);
}

int hx_control_message_ask(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    return edge->control_messages >= MESSAGES_MAX ? 0 : message_send(net, edge, message);
}

int hx_control_message_continue(struct hx_net *net, struct hx_edge *edge)
{
    int must_resend = edge->must_resend;

    edge->must_resend = 0;
    if (must_resend && !edge->gone)
        net->heard(net->heard_arg, edge->peer, &(struct hx_control_message){.kind = HX_MESSAGE_ASKS});
    return edge->must_resend ? -FI_EAGAIN : 0;
}
