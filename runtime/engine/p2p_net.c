/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks of different nodes. Each record is a control message of the transport. The provider may change
 * their order, so they are numbered, and the receiver puts them in order. If the receiver has not taken WINDOW of them, further ones wait
 * in the sender, in order: hx_send returns when its own has left, and hx_isend is done then. The receiver takes them in any call of Hierax,
 * also while it waits to send itself. Credit alone limits what it takes (p2p.h). So two ranks that both send first do not wait for each other.
 * A short message is in the control message itself. The bytes of a longer one are a message of the transport. The sender posts it
 * with the head if it is eager, else when CLEAR comes; the receiver posts it when the head comes, or with CLEAR.
 */
#include "runtime/engine/p2p.h"
#include "runtime/engine/engine.h"
#include <stdlib.h>
#include <string.h>

#define WINDOW 32 /* records that the receiver has not taken: fewer than the replay filter remembers (inter/fabric/proof.c) */

void hx_p2p_net_post(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_net_op *op, struct hx_segment *segment,
                     enum hx_net_direction direction, const struct hx_p2p_head *head, unsigned char *base, char *why)
{
    *segment = (struct hx_segment){base, head->bytes};
    /* eager messages are posted in the order of their heads, the others in the order of CLEAR */
    *op = (struct hx_net_op){.direction = direction, .peer = peer->rank, .match = head->address, .segments = segment,
                             .nsegments = 1, .why = why, .flow = hx_flow_number(HX_P2P_CONTEXT, 0, head->kind == HX_P2P_READY)};
    hx_registry.net->post(p2p->process->net, op);
}

void hx_p2p_net_move(struct hx_p2p *p2p, struct hx_p2p_call *call, const struct hx_p2p_head *head)
{
    call->state = HX_P2P_MOVES;
    hx_p2p_list_move(call, &p2p->moving);
    hx_p2p_net_post(p2p, call->peer, &call->op, &call->segment, call->sending ? HX_NET_SEND : HX_NET_RECV, head, call->base,
                    call->why);
}

void hx_p2p_net_cancel(struct hx_p2p *p2p, struct hx_net_op *op)
{
    while (!op->done && !hx_op_cancel(p2p->process, op))
        hx_registry.net->progress(p2p->process->net);
}

/* ---- sending -------------------------------------------------------------------------------------------------- */

int hx_p2p_net_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    struct hx_p2p_call *call = record->call;
    const int is_eager = record->head.kind == HX_P2P_EAGER, fits = is_eager && call->bytes <= HX_P2P_INLINE_BYTES;
    const int is_counted = record->head.kind != HX_P2P_CREDITS;
    struct hx_control_message message = {.kind = HX_MESSAGE_P2P, .context = -1};

    if (is_counted && peer->sequence - peer->sequence_taken >= WINDOW)
        return 0;
    message.p2p.sequence = is_counted ? peer->sequence + 1 : 0;
    message.p2p.head = record->head;
    message.p2p.freed = peer->freed;
    message.p2p.taken = peer->taken;
    if (fits && call->bytes) {
        message.p2p.head.here_bytes = (uint32_t)call->bytes;
        memcpy(message.p2p.data, call->base, call->bytes);
    }
    if (hx_registry.net->deliver(p2p->process->net, peer->rank, &message) == 0)
        return 0;
    peer->sequence += (uint64_t)is_counted; /* if peer has gone, the wait finds that */
    peer->freed_told = peer->freed;
    peer->taken_told = peer->taken;
    if (is_eager && !fits)
        hx_p2p_net_move(p2p, call, &record->head);
    return 1;
}

void hx_p2p_credit_tell(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    if (peer->credit.queued)
        return;
    peer->credit = (struct hx_p2p_record){.head = {.kind = HX_P2P_CREDITS}};
    if (!hx_p2p_net_send(p2p, peer, &peer->credit)) /* ahead of others, which may wait for the peer's */
        hx_p2p_push(p2p, peer, &peer->credit);
}

int64_t hx_p2p_sent_to(const struct hx_process *process, int rank)
{
    const struct hx_p2p_peer *peer = process->p2p ? process->p2p->peers[rank] : NULL;

    return !peer ? 0 : peer->first ? -1 : (int64_t)peer->sequence;
}

/* ---- receiving ------------------------------------------------------------------------------------------------ */

void hx_p2p_heard(struct hx_process *process, int peer_rank, const struct hx_control_message *message)
{
    struct hx_p2p *p2p = hx_p2p_of(process);
    struct hx_p2p_peer *peer = p2p ? hx_p2p_peer(p2p, peer_rank) : NULL;
    struct hx_p2p_packet **link = peer ? &peer->packets : NULL, *packet;
    const size_t bytes = message->p2p.head.here_bytes;

    if (!peer || bytes > HX_P2P_INLINE_BYTES)
        return;
    if (message->p2p.freed > peer->eager_freed)
        peer->eager_freed = message->p2p.freed;
    if (message->p2p.taken > peer->sequence_taken)
        peer->sequence_taken = message->p2p.taken;
    if (message->p2p.sequence <= peer->taken)
        return;
    while (*link && (*link)->sequence < message->p2p.sequence)
        link = &(*link)->next;
    if ((*link && (*link)->sequence == message->p2p.sequence) || !(packet = malloc(sizeof(*packet) + bytes)))
        return;
    *packet = (struct hx_p2p_packet){.next = *link, .sequence = message->p2p.sequence, .head = message->p2p.head};
    memcpy(packet->data, message->p2p.data, bytes);
    *link = packet;
    p2p->packets++;
}

static int packets_take(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    struct hx_p2p_packet *packet;
    int taken = 0;

    while ((packet = peer->packets) && packet->sequence == peer->taken + 1) {
        if (!hx_p2p_arrived(p2p, peer, &packet->head, packet->data))
            break;
        peer->taken++;
        peer->packets = packet->next;
        free(packet);
        p2p->packets--;
        taken++;
    }
    if (peer->taken - peer->taken_told >= WINDOW / 2)
        hx_p2p_credit_tell(p2p, peer);
    return taken;
}

static int arrivals_look(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    int ended = 0;

    for (struct hx_p2p_arrival *arrival = peer->arrivals, *next; arrival; arrival = next) {
        next = arrival->next;
        if (!arrival->moves || arrival->op.done <= 0)
            continue;
        arrival->moves = 0;
        p2p->arrivals_moving--;
        arrival->have = arrival->head.bytes;
        hx_p2p_arrival_whole(p2p, peer, arrival);
        ended++;
    }
    return ended;
}

static int calls_look(struct hx_p2p *p2p)
{
    int ended = 0;

    for (struct hx_p2p_call *call = p2p->moving.first, *next; call; call = next) {
        next = call->next;
        call->moved = call->op.completed_bytes;
        if (call->op.done <= 0 || call->record.queued) /* an error is for the wait */
            continue;
        hx_p2p_end(p2p, call, HX_SUCCESS);
        ended++;
    }
    return ended;
}

int hx_p2p_net_receive(struct hx_p2p *p2p)
{
    int moved = 0;

    for (int rank = 0; (p2p->packets || p2p->arrivals_moving) && rank < p2p->process->size; rank++)
        if (p2p->peers[rank] && p2p->peers[rank]->row < 0)
            moved += packets_take(p2p, p2p->peers[rank]) + (p2p->arrivals_moving ? arrivals_look(p2p, p2p->peers[rank]) : 0);
    return moved + calls_look(p2p);
}
