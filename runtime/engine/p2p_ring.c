/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks of a node: a ring of bytes for each ordered pair of processes.
 *
 *   | record: head 64 bytes, then data, filled up to 64 | record | ... | free ...
 *   ^ taken                                                             ^ written
 *
 * A record does not wrap: if it does not fit before the end, a PAD record fills the rest. Both counts only grow. After a record
 * the sender sets its bit in the receiver's news, so a receiver looks at one word, not at all rings. A message of this process to itself goes
 * straight to the receiving side.
 */
#include "runtime/engine/p2p.h"
#include "runtime/base/memcpy.h"
#include <string.h>

#define UNIT ((size_t)64)
#define PARTS 8 /* a record takes at most this part of the ring */

_Static_assert(sizeof(struct hx_p2p_head) <= UNIT, "a head fits its place");

static size_t record_bytes(size_t data)
{
    return UNIT + ((data + UNIT - 1) & ~(UNIT - 1));
}

/* Room for a record with so many bytes of data, at *at. NULL: there is none now. */
static unsigned char *room(const struct hx_shared *shared, struct hx_p2p_ring *ring, uint64_t *at, size_t data)
{
    /* acquire pairs with the receiver's release: it has read what stood there */
    const uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
    const size_t bytes = record_bytes(data), within = *at & (shared->p2p_bytes - 1), rest = shared->p2p_bytes - within;
    const size_t pad = rest < bytes ? rest : 0;

    if (*at + pad + bytes - taken > shared->p2p_bytes)
        return NULL;
    if (pad) {
        const struct hx_p2p_head head = {.kind = HX_P2P_PAD, .here_bytes = (uint32_t)(pad - UNIT)};
        memcpy(ring->data + within, &head, sizeof(head));
        *at += pad;
    }
    return ring->data + (*at & (shared->p2p_bytes - 1));
}

static void news_tell(const struct hx_shared *shared, int row)
{
    const int me = shared->me;

    atomic_fetch_or_explicit(&hx_p2p_news(shared, row)[me / 64], UINT64_C(1) << (me % 64), memory_order_release);
    hx_wake_fence();
    hx_wake(shared, &shared->doorbells[row]);
}

static int self_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    struct hx_p2p_head head = record->head;

    if (head.kind == HX_P2P_EAGER)
        head.here_bytes = (uint32_t)head.bytes;
    return hx_p2p_arrived(p2p, peer, &head, record->call ? record->call->base : NULL);
}

int hx_p2p_ring_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    const struct hx_shared *shared = p2p->process->shared;
    struct hx_p2p_ring *ring = hx_p2p_ring(shared, shared->me, peer->row);
    struct hx_p2p_call *call = record->call;
    struct hx_p2p_head head = record->head;
    const int carries = head.kind == HX_P2P_EAGER || head.kind == HX_P2P_DATA;
    const size_t most = shared->p2p_bytes / PARTS - UNIT;
    int whole = 0;

    if (peer->rank == p2p->process->rank)
        return self_send(p2p, peer, record);
    while (!whole) {
        /* relaxed: only this process writes it */
        uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
        const size_t left = carries ? call->bytes - call->moved : 0, data = left < most ? left : most;
        unsigned char *to = room(shared, ring, &at, data);
        if (!to)
            break;
        head.here_bytes = (uint32_t)data;
        if (carries && call->moved)
            head.kind = HX_P2P_DATA;
        memcpy(to, &head, sizeof(head));
        if (data)
            hx_memcpy(to + UNIT, call->base + call->moved, data);
        if (carries)
            call->moved += data;
        whole = !carries || call->moved == call->bytes;
        /* release pairs with the acquire in ring_read */
        atomic_store_explicit(&ring->written, at + record_bytes(data), memory_order_release);
        news_tell(shared, peer->row); /* the receiver copies while this rank writes the next one */
    }
    return whole;
}

/* Take all records of this row. Returns how many. */
static int ring_read(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    struct hx_shared *shared = p2p->process->shared;
    struct hx_p2p_ring *ring = hx_p2p_ring(shared, peer->row, shared->me);
    uint64_t at = atomic_load_explicit(&ring->taken, memory_order_relaxed); /* only this process writes it */
    struct hx_p2p_head head;
    int records = 0;

    /* acquire pairs with the release in hx_p2p_ring_send: the records are there */
    while (at < atomic_load_explicit(&ring->written, memory_order_acquire)) {
        const unsigned char *record = ring->data + (at & (shared->p2p_bytes - 1));
        memcpy(&head, record, sizeof(head));
        if (!hx_p2p_arrived(p2p, peer, &head, record + UNIT)) { /* no memory: come back */
            atomic_fetch_or_explicit(&hx_p2p_news(shared, shared->me)[peer->row / 64], UINT64_C(1) << (peer->row % 64),
                                     memory_order_relaxed);
            break;
        }
        at += record_bytes(head.here_bytes);
        /* release pairs with the acquire in room: this rank has read the record */
        atomic_store_explicit(&ring->taken, at, memory_order_release);
        records++;
    }
    if (records) {
        hx_wake_fence();
        hx_wake(shared, &shared->doorbells[peer->row]);
    }
    return records;
}

int hx_p2p_ring_receive(struct hx_p2p *p2p)
{
    const struct hx_shared *shared = p2p->process->shared;
    _Atomic uint64_t *news = hx_p2p_news(shared, shared->me);
    int records = 0;

    for (int i = 0; i < hx_p2p_news_words(shared); i++) {
        if (atomic_load_explicit(&news[i], memory_order_relaxed) == 0)
            continue;
        /* acquire pairs with the release in news_tell */
        for (uint64_t bits = atomic_exchange_explicit(&news[i], 0, memory_order_acquire); bits; bits &= bits - 1) {
            struct hx_p2p_peer *peer = hx_p2p_peer(p2p, shared->ranks[64 * i + __builtin_ctzll(bits)]);
            if (peer)
                records += ring_read(p2p, peer);
        }
    }
    return records;
}
