/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages: what ranks tell each other beside the messages of calls (runtime/ports/transport.h), under a tag of their own. On each rail one receive, from
 * anybody, is posted all the time.
 */
#include "inter/fabric/fabric.h"

#define MESSAGES_MAX 4 /* on their way to one peer: one that does not answer must not be flooded */

struct message { /* as it is sent */
    struct hx_proof proof;
    struct hx_control_message message;
};

/* ---- hearing */

void hx_control_message_receive(struct hx_net *net, struct hx_rail *rail)
{
    struct hx_chunk *chunk;

    if (!rail->control_bounce && !(rail->control_bounce = hx_bounce_alloc(net, rail, sizeof(struct message))))
        return;
    if (!(chunk = hx_control_alloc(net, HX_CHUNK_HEAR, NULL, NULL)))
        return;
    chunk->offset = (size_t)(rail - net->rails);
    rail->hears = fi_trecv(rail->ep, rail->control_bounce->base, sizeof(struct message), hx_descriptor(rail->control_bounce->registration),
                           FI_ADDR_UNSPEC, hx_control_tag(HX_CONTROL_MESSAGE), 0, &chunk->context) == 0;
    if (!rail->hears)
        hx_chunk_release(net, chunk);
}

void hx_control_message_arrived(struct hx_net *net, struct hx_chunk *chunk, size_t bytes)
{
    struct hx_rail *rail = &net->rails[chunk->offset];
    struct message message = *(const struct message *)rail->control_bounce->base;
    const struct hx_edge *from;

    hx_chunk_release(net, chunk);
    rail->hears = 0;
    from = hx_proof_check(net, HX_CONTROL_MESSAGE, NULL, &message, bytes, sizeof(message));
    if (!from || message.message.ndead < 0 || message.message.ndead > HX_MESSAGE_RANKS)
        return;
    net->edges[from->peer]->moved = 1;
    for (int i = 0; i < message.message.ndead; i++)
        if (message.message.dead[i] >= 0 && message.message.dead[i] < net->nranks && net->edges[message.message.dead[i]])
            hx_edge_lose(net, net->edges[message.message.dead[i]]);
    if (net->heard)
        net->heard(net->heard_arg, from->peer, &message.message);
}

void hx_control_message_listen(struct hx_net *net, hx_net_heard_t *heard, void *arg)
{
    net->heard = heard;
    net->heard_arg = arg;
}

/* ---- telling */

static int message_send(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    struct message said = {.message = *message};
    struct hx_path *path = &edge->paths[0];
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND))
        return -FI_EAGAIN;
    rc = hx_control_send(net, HX_CHUNK_MESSAGE, edge, HX_CONTROL_MESSAGE, &said, sizeof(said));
    if (hx_is_refusal(rc)) {
        hx_path_refuse(path, HX_POST_SEND);
        return -FI_EAGAIN;
    }
    edge->control_messages += rc == 0; /* a broken edge shows in its messages */
    return 0;
}

void hx_control_message_send(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct hx_edge *edge = net->edges[peer];

    if (net->broken || !edge || edge->gone || edge->owes || message_send(net, edge, message) == 0)
        return;
    edge->owes = 1;
    hx_edge_activate(net, edge);
}

int hx_control_message_ask(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    return edge->control_messages >= MESSAGES_MAX ? 0 : message_send(net, edge, message);
}

int hx_control_message_continue(struct hx_net *net, struct hx_edge *edge)
{
    int owes = edge->owes;

    edge->owes = 0;
    if (owes && !edge->gone)
        net->heard(net->heard_arg, edge->peer, &(struct hx_control_message){.kind = HX_MESSAGE_ASKS}); /* it is told all once more */
    return edge->owes ? -FI_EAGAIN : 0;
}
