/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks: start, progress, end. See p2p.h. */
#include "runtime/engine/p2p.h"
#include "runtime/base/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the state ------------------------------------------------------------------------------------------------ */

struct hx_p2p *hx_p2p_of(struct hx_process *process)
{
    struct hx_p2p *p2p = process->p2p;

    if (p2p)
        return p2p;
    p2p = calloc(1, sizeof(*p2p));
    if (p2p && !(p2p->peers = calloc((size_t)process->size, sizeof(struct hx_p2p_peer *)))) {
        free(p2p);
        p2p = NULL;
    }
    if (!p2p) {
        hx_fail(HX_ERR_NOMEM, "no memory for messages between %d ranks", process->size);
        return NULL;
    }
    p2p->process = process;
    return process->p2p = p2p;
}

struct hx_p2p_peer *hx_p2p_peer(struct hx_p2p *p2p, int rank)
{
    const struct hx_shared *shared = p2p->process->shared;
    struct hx_p2p_peer *peer = p2p->peers[rank];

    if (peer)
        return peer;
    if (!(peer = calloc(1, sizeof(*peer)))) {
        hx_fail(HX_ERR_NOMEM, "no memory for messages with rank %d of the job", rank);
        return NULL;
    }
    peer->rank = rank;
    peer->row = -1;
    for (int row = 0; row < shared->n; row++)
        if (shared->ranks[row] == rank)
            peer->row = row;
    if (peer->row >= 0) {
        peer->to = hx_p2p_ring(shared, shared->me, peer->row);
        peer->from = hx_p2p_ring(shared, peer->row, shared->me);
    }
    return p2p->peers[rank] = peer;
}

static void packets_free(struct hx_p2p_peer *peer)
{
    for (struct hx_p2p_packet *packet; (packet = peer->packets); free(packet))
        peer->packets = packet->next;
}

void hx_p2p_close(struct hx_process *process)
{
    struct hx_p2p *p2p = process->p2p;

    for (int rank = 0; p2p && rank < process->size; rank++) {
        if (!p2p->peers[rank])
            continue;
        hx_p2p_arrivals_drop(p2p, p2p->peers[rank], NULL);
        packets_free(p2p->peers[rank]);
        free(p2p->peers[rank]);
    }
    if (p2p)
        free(p2p->peers);
    free(p2p);
    process->p2p = NULL;
}

/* ---- lists ---------------------------------------------------------------------------------------------------- */

static void list_remove(struct hx_p2p_call *call)
{
    if (call->previous)
        call->previous->next = call->next;
    else
        call->list->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    else
        call->list->last = call->previous;
}

void hx_p2p_list_move(struct hx_p2p_call *call, struct hx_p2p_list *list)
{
    if (call->list)
        list_remove(call);
    call->list = list;
    call->next = NULL;
    if (!list)
        return;
    call->previous = list->last;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
}

struct hx_p2p_call *hx_p2p_list_find(const struct hx_p2p_list *list, uint64_t id)
{
    struct hx_p2p_call *call = list->first;

    while (call && call->id != id)
        call = call->next;
    return call;
}

/* ---- records that leave --------------------------------------------------------------------------------------- */

static int record_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    return peer->row >= 0 ? hx_p2p_ring_send(p2p, peer, record) : hx_p2p_net_send(p2p, peer, record);
}

/* Send what can be sent. Returns how many records have left. */
static int peer_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    struct hx_p2p_record *record;
    int left = 0;

    while ((record = peer->first) && record_send(p2p, peer, record)) {
        peer->first = record->next;
        if (!peer->first)
            peer->last = NULL;
        record->queued = 0;
        left++;
        hx_p2p_left(p2p, peer, record);
    }
    return left;
}

void hx_p2p_push(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    record->next = NULL;
    record->queued = 1;
    if (peer->last)
        peer->last->next = record;
    else
        peer->first = record;
    peer->last = record;
    if (peer->first == record)
        peer_send(p2p, peer);
    if (peer->first && !peer->busy) {
        peer->busy = 1;
        peer->next_busy = p2p->busy;
        p2p->busy = peer;
    }
}

static void record_drop(struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    struct hx_p2p_record **link = &peer->first, *before = NULL;

    if (!record->queued)
        return;
    for (; *link != record; link = &(*link)->next)
        before = *link;
    *link = record->next;
    if (peer->last == record)
        peer->last = before;
    record->queued = 0;
}

void hx_p2p_left(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    struct hx_p2p_call *call = record->call;

    (void)peer;
    if (!call || call->state == HX_P2P_MOVES || record->head.kind == HX_P2P_READY || record->head.kind == HX_P2P_CLEAR)
        return;
    hx_p2p_end(p2p, call, call->status); /* its last byte, or DONE */
}

void hx_p2p_reply(struct hx_p2p *p2p, struct hx_p2p_call *call, enum hx_p2p_kind kind, uint64_t id)
{
    if (kind == HX_P2P_DONE) {
        hx_p2p_list_move(call, NULL);
        call->state = HX_P2P_REPLIES;
    }
    call->record = (struct hx_p2p_record){.head = {.kind = kind, .id = id}, .call = call};
    hx_p2p_push(p2p, call->peer, &call->record);
}

/* ---- start and end -------------------------------------------------------------------------------------------- */

void hx_p2p_end(struct hx_p2p *p2p, struct hx_p2p_call *call, hx_status_t status)
{
    hx_p2p_list_move(call, NULL);
    if (call->arrival)
        call->arrival->call = NULL;
    call->arrival = NULL;
    *call->all_link = call->all_next;
    if (call->all_next)
        call->all_next->all_link = call->all_link;
    call->state = HX_P2P_ENDED;
    call->status = status;
    p2p->process->moves++;
    hx_notify(&p2p->process->waiter);
    if (status == HX_SUCCESS && call->sending) {
        p2p->messages_sent++;
        p2p->bytes_sent += call->bytes;
    } else if (status == HX_SUCCESS) {
        p2p->messages_received++;
        p2p->bytes_received += call->bytes;
    }
    if (call->ended)
        call->ended(call);
}

/* The receiver's report may be late: it only makes fewer messages eager. */
static int has_credit(const struct hx_p2p *p2p, struct hx_p2p_peer *peer, size_t cost)
{
    if (peer->eager_sent - peer->eager_freed + cost <= HX_P2P_CREDIT)
        return 1;
    if (peer->rank == p2p->process->rank)
        peer->eager_freed = peer->freed;
    else if (peer->row >= 0) /* relaxed: no other data depends on it */
        peer->eager_freed = atomic_load_explicit(&peer->to->freed, memory_order_relaxed);
    return peer->eager_sent - peer->eager_freed + cost <= HX_P2P_CREDIT;
}

/* No other message between the two ranks has it while this one is under way. */
static uint64_t match_of(uint64_t id)
{
    const uint64_t bits = id % ((UINT64_C(1) << HX_UNUSED_MATCH_BITS) - 1); /* never all set */

    return hx_match_id(HX_P2P_CONTEXT, bits >> 26, (uint32_t)(bits >> 16), bits >> 10, (uint32_t)bits);
}

static void send_start(struct hx_p2p *p2p, struct hx_p2p_call *call)
{
    struct hx_p2p_peer *peer = call->peer;
    const struct hx_process *process = p2p->process;
    const size_t cost = call->bytes + sizeof(struct hx_p2p_head);
    const int copies = peer->row >= 0 && process->job.single_copy;
    const int is_eager = call->bytes <= (copies ? HX_P2P_COPY_BYTES : HX_P2P_EAGER_BYTES) && has_credit(p2p, peer, cost);
    struct hx_p2p_head *head = &call->record.head;

    call->id = ++peer->sent_id;
    call->record = (struct hx_p2p_record){.call = call};
    *head = (struct hx_p2p_head){.kind = is_eager ? HX_P2P_EAGER : HX_P2P_READY, .tag = call->tag, .id = call->id, .bytes = call->bytes,
                                 .dtype = call->dtype, .number = call->members->id.number, .generation = call->members->id.generation};
    if (is_eager) {
        call->state = HX_P2P_LEAVES;
        peer->eager_sent += cost;
    } else {
        call->state = HX_P2P_OFFERED;
        hx_p2p_list_move(call, &peer->offered);
    }
    if (peer->rank == process->rank || (!is_eager && copies && call->bytes > HX_P2P_COPY_BYTES))
        head->address = (uint64_t)(uintptr_t)call->base;
    else if (peer->row < 0)
        head->address = match_of(call->id);
    hx_p2p_push(p2p, peer, &call->record);
}

void hx_p2p_start(struct hx_process *process, struct hx_p2p_call *call)
{
    struct hx_p2p *p2p = hx_p2p_of(process);
    struct hx_p2p_peer *peer = p2p ? hx_p2p_peer(p2p, call->members->ranks[call->rank]) : NULL;

    call->state = HX_P2P_ENDED;
    call->status = HX_ERR_NOMEM;
    call->peer = peer;
    call->why[0] = '\0';
    call->moved = call->seen_moved = 0;
    call->list = NULL;
    call->next = call->previous = NULL;
    call->arrival = NULL;
    call->record.queued = call->warned = 0;
    call->wait_clock = (struct hx_wait_clock){0};
    if (!peer) {
        hx_detail_keep(call->why);
        return;
    }
    call->status = HX_SUCCESS;
    call->all_next = p2p->all;
    call->all_link = &p2p->all;
    if (p2p->all)
        p2p->all->all_link = &call->all_next;
    p2p->all = call;
    if (call->sending)
        send_start(p2p, call);
    else
        hx_p2p_receive(p2p, call);
}

void hx_p2p_cancel(struct hx_p2p *p2p, struct hx_p2p_call *call, hx_status_t status, const char *why)
{
    if (call->state == HX_P2P_ENDED)
        return;
    record_drop(call->peer, &call->record);
    if (call->state == HX_P2P_MOVES)
        hx_p2p_net_cancel(p2p, &call->op);
    if (!call->why[0])
        snprintf(call->why, sizeof(call->why), "%s", why);
    hx_p2p_end(p2p, call, status);
}

void hx_p2p_fail(struct hx_p2p *p2p, const struct hx_members *members, hx_status_t status, const char *why)
{
    for (struct hx_p2p_call *call = p2p ? p2p->all : NULL, *next; call; call = next) {
        next = call->all_next;
        if (call->members != members)
            continue;
        hx_p2p_cancel(p2p, call, status, why);
    }
}

void hx_p2p_forget(struct hx_p2p *p2p, const struct hx_comm_id *id)
{
    for (int rank = 0; p2p && rank < p2p->process->size; rank++)
        if (p2p->peers[rank])
            hx_p2p_arrivals_drop(p2p, p2p->peers[rank], id);
}

/* ---- progress ------------------------------------------------------------------------------------------------- */

static int busy_send(struct hx_p2p *p2p)
{
    struct hx_p2p_peer *peer = p2p->busy, *next;
    int left = 0;

    p2p->busy = NULL;
    for (; peer; peer = next) {
        next = peer->next_busy;
        left += peer_send(p2p, peer);
        peer->busy = peer->first != NULL;
        if (peer->busy) {
            peer->next_busy = p2p->busy;
            p2p->busy = peer;
        }
    }
    return left;
}

int hx_p2p_progress(struct hx_process *process)
{
    struct hx_p2p *p2p = process->p2p;
    int moved = 0;

    if (!hx_p2p_is_due(process))
        return 0;
    moved += hx_p2p_ring_receive(p2p);
    if (process->net)
        moved += hx_p2p_net_receive(p2p);
    moved += busy_send(p2p);
    if (moved)
        hx_notify(&process->waiter);
    process->moves += (uint64_t)moved;
    return moved;
}
