/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks: records that have arrived, and the receives that they are for. See p2p.h. */
#include "runtime/engine/failure.h"
#include "runtime/engine/p2p.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memcpy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

static int is_of(const struct hx_p2p_head *head, const struct hx_comm_id *id)
{
    return head->number == id->number && head->generation == id->generation;
}

/* ---- credit --------------------------------------------------------------------------------------------------- */

/* An eager message has been given to a receive, or dropped. */
static void credit_return(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_head *head)
{
    const struct hx_shared *shared = p2p->process->shared;

    if (head->kind != HX_P2P_EAGER)
        return;
    peer->freed += head->bytes + sizeof(struct hx_p2p_head);
    if (peer->row >= 0) {
        atomic_store_explicit(&hx_p2p_ring(shared, peer->row, shared->me)->freed, peer->freed, memory_order_relaxed);
    } else if (peer->freed - peer->freed_told >= HX_P2P_CREDIT / 2) {
        hx_p2p_credit_tell(p2p, peer);
    }
}

/* ---- a message meets its receive ------------------------------------------------------------------------------ */

static const char *dtype_tell(int32_t code, char text[40])
{
    if (code < 0)
        snprintf(text, 40, "elements of %d bytes", -code);
    else
        snprintf(text, 40, "%s", hx_dtype_name((hx_dtype_t)code));
    return text;
}

/* Only this receive fails: later messages are in order. */
static void differs(struct hx_p2p_call *call, const struct hx_p2p_head *head)
{
    char theirs[40], mine[40];

    call->status = HX_ERR_MISMATCH;
    hx_fail(HX_ERR_MISMATCH, "%s: the message of rank %d with tag %d has %llu bytes of %s, but this receive is for %zu bytes of %s",
            call->name, call->rank, call->tag, (unsigned long long)head->bytes, dtype_tell(head->dtype, theirs), call->bytes,
            dtype_tell(call->dtype, mine));
    hx_detail_keep(call->why);
}

static int fits(const struct hx_p2p_call *call, const struct hx_p2p_head *head)
{
    return head->bytes == call->bytes && (head->bytes == 0 || head->dtype == call->dtype);
}

/* The sender of this process's own message is done. */
static void own_send_end(struct hx_p2p *p2p, struct hx_p2p_peer *peer, uint64_t id)
{
    struct hx_p2p_call *sender = hx_p2p_list_find(&peer->offered, id);

    if (sender)
        hx_p2p_end(p2p, sender, HX_SUCCESS);
}

/* Read the bytes from the sender's memory. Returns 1, or 0 if that is refused: then they must come as records. */
static int copy(struct hx_p2p *p2p, struct hx_p2p_call *call, const struct hx_p2p_head *head)
{
    const struct hx_doorbell *theirs = &p2p->process->shared->doorbells[call->peer->row];
    const size_t most = (size_t)1 << 30; /* the kernel reads less than 2 GiB at once */

    for (size_t at = 0; at < call->bytes;) {
        const size_t part = call->bytes - at < most ? call->bytes - at : most;
        struct iovec to = {call->base + at, part}, from = {(void *)(uintptr_t)(head->address + at), part};
        const ssize_t got = process_vm_readv(theirs->pid, &to, 1, &from, 1, 0);
        if (got <= 0)
            return 0;
        at += (size_t)got;
    }
    p2p->copied_bytes += call->bytes;
    return 1;
}

/* If the sender's call has failed meanwhile, its caller may have written what was read. */
static int sender_failed(const struct hx_p2p_call *call)
{
    const struct hx_members *members = call->members;

    atomic_thread_fence(memory_order_seq_cst); /* after what was read; the sender's failure was noted before its call returned */
    return hx_failure_of(members->blocking, members->shape->local_of[call->rank]) != NULL;
}

/* The receive has met a message whose bytes are still with the sender. */
static void rendezvous(struct hx_p2p *p2p, struct hx_p2p_call *call, const struct hx_p2p_head *head)
{
    struct hx_p2p_peer *peer = call->peer;

    call->id = head->id;
    if (peer->rank == p2p->process->rank) {
        if (call->status == HX_SUCCESS)
            hx_memcpy(call->base, (const void *)(uintptr_t)head->address, call->bytes);
        own_send_end(p2p, peer, head->id);
        hx_p2p_end(p2p, call, call->status);
    } else if (call->status != HX_SUCCESS || (peer->row >= 0 && head->address && copy(p2p, call, head))) {
        if (call->status == HX_SUCCESS && sender_failed(call))
            return; /* the wait finds the failure */
        hx_p2p_reply(p2p, call, HX_P2P_DONE, head->id);
    } else if (peer->row >= 0) {
        call->state = HX_P2P_ARRIVES;
        hx_p2p_list_move(call, &peer->arriving);
        hx_p2p_reply(p2p, call, HX_P2P_CLEAR, head->id);
    } else {
        hx_p2p_net_move(p2p, call, head);
        hx_p2p_reply(p2p, call, HX_P2P_CLEAR, head->id);
    }
}

/* The first bytes of an eager message, or all, are here. */
static void eager(struct hx_p2p *p2p, struct hx_p2p_call *call, const struct hx_p2p_head *head, const unsigned char *data)
{
    credit_return(p2p, call->peer, head);
    call->id = head->id;
    if (call->status != HX_SUCCESS) { /* the rest is dropped as it comes */
        hx_p2p_end(p2p, call, call->status);
        return;
    }
    if (call->peer->row < 0 && head->here_bytes < head->bytes) {
        hx_p2p_net_move(p2p, call, head);
        return;
    }
    hx_memcpy(call->base, data, head->here_bytes);
    call->moved = head->here_bytes;
    call->state = HX_P2P_ARRIVES;
    hx_p2p_list_move(call, &call->peer->arriving);
    if (call->moved == call->bytes)
        hx_p2p_end(p2p, call, HX_SUCCESS);
}

/* ---- messages without a receive ------------------------------------------------------------------------------- */

static void arrival_unlink(struct hx_p2p_peer *peer, struct hx_p2p_arrival *arrival)
{
    struct hx_p2p_arrival **link = &peer->arrivals, *before = NULL;

    for (; *link != arrival; link = &(*link)->next)
        before = *link;
    *link = arrival->next;
    if (peer->arrivals_last == arrival)
        peer->arrivals_last = before;
}

static void arrival_free(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_arrival *arrival)
{
    arrival_unlink(peer, arrival);
    if (arrival->moves) {
        hx_p2p_net_cancel(p2p, &arrival->op);
        p2p->arrivals_moving--;
    }
    free(arrival);
}

void hx_p2p_arrivals_drop(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_comm_id *id)
{
    for (struct hx_p2p_arrival *arrival = peer->arrivals, *next; arrival; arrival = next) {
        next = arrival->next;
        if (id && !is_of(&arrival->head, id))
            continue;
        if (id)
            credit_return(p2p, peer, &arrival->head);
        arrival_free(p2p, peer, arrival);
    }
}

static int arrival_keep(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_head *head, const unsigned char *data)
{
    const size_t bytes = head->kind == HX_P2P_EAGER ? head->bytes : 0;
    struct hx_p2p_arrival *arrival = malloc(sizeof(*arrival) + bytes);

    if (!arrival)
        return 0;
    memset(arrival, 0, sizeof(*arrival));
    arrival->head = *head;
    arrival->have = head->here_bytes;
    if (head->here_bytes)
        memcpy(arrival->data, data, head->here_bytes);
    if (peer->arrivals_last)
        peer->arrivals_last->next = arrival;
    else
        peer->arrivals = arrival;
    peer->arrivals_last = arrival;
    if (peer->row < 0 && arrival->have < bytes) {
        arrival->moves = 1;
        p2p->arrivals_moving++;
        hx_p2p_net_post(p2p, peer, &arrival->op, &arrival->segment, HX_NET_RECV, head, arrival->data, NULL);
    }
    return 1;
}

/* The whole message is here, and this receive takes it. */
static void arrival_take(struct hx_p2p *p2p, struct hx_p2p_call *call, struct hx_p2p_arrival *arrival)
{
    credit_return(p2p, call->peer, &arrival->head);
    if (call->status == HX_SUCCESS && call->bytes)
        hx_memcpy(call->base, arrival->data, call->bytes);
    arrival_free(p2p, call->peer, arrival);
    call->arrival = NULL;
    hx_p2p_end(p2p, call, call->status);
}

static int is_whole(const struct hx_p2p_arrival *arrival)
{
    return !arrival->moves && arrival->have == arrival->head.bytes;
}

void hx_p2p_arrival_whole(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_arrival *arrival)
{
    (void)peer;
    if (arrival->call && is_whole(arrival))
        arrival_take(p2p, arrival->call, arrival);
}

static struct hx_p2p_arrival *arrival_find(const struct hx_p2p_peer *peer, const struct hx_comm_id *id, int tag)
{
    struct hx_p2p_arrival *arrival = peer->arrivals;

    while (arrival && (arrival->call || arrival->head.tag != tag || !is_of(&arrival->head, id)))
        arrival = arrival->next;
    return arrival;
}

const struct hx_p2p_head *hx_p2p_find(struct hx_process *process, const struct hx_members *members, int rank, int tag)
{
    const struct hx_p2p_peer *peer = process->p2p ? process->p2p->peers[members->ranks[rank]] : NULL;
    const struct hx_p2p_arrival *arrival = peer ? arrival_find(peer, &members->id, tag) : NULL;

    return arrival ? &arrival->head : NULL;
}

void hx_p2p_receive(struct hx_p2p *p2p, struct hx_p2p_call *call)
{
    struct hx_p2p_peer *peer = call->peer;
    struct hx_p2p_arrival *arrival = arrival_find(peer, &call->members->id, call->tag);
    struct hx_p2p_head head;

    call->state = HX_P2P_POSTED;
    hx_p2p_list_move(call, arrival ? NULL : &peer->posted);
    if (!arrival)
        return;
    if (!fits(call, &arrival->head))
        differs(call, &arrival->head);
    if (arrival->head.kind == HX_P2P_READY) {
        head = arrival->head;
        arrival_free(p2p, peer, arrival);
        rendezvous(p2p, call, &head);
        return;
    }
    arrival->call = call;
    call->arrival = arrival;
    hx_p2p_arrival_whole(p2p, peer, arrival);
}

/* ---- records -------------------------------------------------------------------------------------------------- */

static int message_arrived(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_head *head, const unsigned char *data)
{
    struct hx_p2p_call *call = peer->posted.first;

    while (call && (call->tag != head->tag || !is_of(head, &call->members->id)))
        call = call->next;
    if (!call && p2p->process->owner->has_freed(p2p->process, head->number, head->generation)) {
        credit_return(p2p, peer, head);
        return 1;
    }
    if (!call)
        return arrival_keep(p2p, peer, head, data);
    hx_p2p_list_move(call, NULL);
    if (!fits(call, head))
        differs(call, head);
    if (head->kind == HX_P2P_READY)
        rendezvous(p2p, call, head);
    else
        eager(p2p, call, head, data);
    return 1;
}

/* The bytes go to a receive, or to a message that has none; or their message was cancelled or dropped. */
static void data_arrived(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_head *head, const unsigned char *data)
{
    struct hx_p2p_call *call = hx_p2p_list_find(&peer->arriving, head->id);
    struct hx_p2p_arrival *arrival = peer->arrivals;

    if (call && call->moved + head->here_bytes <= call->bytes) {
        hx_memcpy(call->base + call->moved, data, head->here_bytes);
        call->moved += head->here_bytes;
        if (call->moved == call->bytes)
            hx_p2p_end(p2p, call, HX_SUCCESS);
        return;
    }
    while (arrival && (arrival->head.id != head->id || arrival->head.kind != HX_P2P_EAGER))
        arrival = arrival->next;
    if (!arrival || arrival->have + head->here_bytes > arrival->head.bytes)
        return;
    hx_memcpy(arrival->data + arrival->have, data, head->here_bytes);
    arrival->have += head->here_bytes;
    hx_p2p_arrival_whole(p2p, peer, arrival);
}

/* The receiver is ready for the bytes of this send. */
static void clear_arrived(struct hx_p2p *p2p, struct hx_p2p_peer *peer, uint64_t id)
{
    struct hx_p2p_call *call = hx_p2p_list_find(&peer->offered, id);

    if (!call)
        return;
    if (peer->row < 0) {
        hx_p2p_net_move(p2p, call, &call->record.head);
        return;
    }
    hx_p2p_list_move(call, NULL);
    call->state = HX_P2P_LEAVES;
    call->record.head.kind = HX_P2P_DATA;
    hx_p2p_push(p2p, peer, &call->record);
}

int hx_p2p_arrived(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_head *head, const unsigned char *data)
{
    struct hx_p2p_call *call;

    switch ((enum hx_p2p_kind)head->kind) {
    case HX_P2P_EAGER:
    case HX_P2P_READY: return message_arrived(p2p, peer, head, data);
    case HX_P2P_DATA: data_arrived(p2p, peer, head, data); break;
    case HX_P2P_CLEAR: clear_arrived(p2p, peer, head->id); break;
    case HX_P2P_DONE:
        if ((call = hx_p2p_list_find(&peer->offered, head->id)))
            hx_p2p_end(p2p, call, HX_SUCCESS);
        break;
    case HX_P2P_CREDITS: break;
    }
    return 1;
}
