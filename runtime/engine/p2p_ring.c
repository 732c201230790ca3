/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks of a node: a ring for each ordered pair of processes.
 *
 *   cells   | stamp head [bytes] | stamp head | ...     one record each, in order
 *   data    | bytes of a record | bytes of a later one | ... free ...
 *
 * A record and at most HX_P2P_SHORT_BYTES of a message are in one line of the processor. So a short message makes one journey from
 * cache to cache. Longer parts of messages stand in the data. There they do not wrap: if a part does not fit before the end, it begins at the
 * start. Both sides count alike, and their counts only grow.
 *
 * The receiver tells the sender what it has taken without a fence. It looks whether the sender sleeps once for each quarter of the ring:
 * a sender that waits for room has filled more than that. A message of this process to itself goes straight to the receiving side.
 */
#include "runtime/engine/p2p.h"
#include "runtime/base/memcpy.h"
#include <string.h>

#define UNIT ((size_t)64)
#define PARTS 8        /* a record's bytes take at most this part of the data */
#define QUARTER 4
#define IDLE_LOOKS 256 /* in vain: then the sender must say that it has written again */

static size_t cell_of(const struct hx_shared *shared, uint64_t record)
{
    return record & (hx_p2p_cells(shared) - 1);
}

static unsigned char *data_of(const struct hx_shared *shared, struct hx_p2p_ring *ring)
{
    return (unsigned char *)&ring->cells[hx_p2p_cells(shared)];
}

/* The begin of a part of so many bytes, if `at` bytes have been used. */
static uint64_t part_begin(const struct hx_shared *shared, uint64_t at, size_t bytes)
{
    const size_t rest = shared->p2p_bytes - (at & (shared->p2p_bytes - 1));

    return rest < bytes ? at + rest : at;
}

static uint64_t part_end(uint64_t begin, size_t bytes)
{
    return begin + ((bytes + UNIT - 1) & ~(UNIT - 1));
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

static int fits(const struct hx_shared *shared, const struct hx_p2p_peer *peer, uint64_t end)
{
    return peer->written - peer->written_taken < hx_p2p_cells(shared) && end - peer->written_bytes_taken <= shared->p2p_bytes;
}

/* Room for a record whose data end there? */
static int has_room(const struct hx_shared *shared, struct hx_p2p_peer *peer, uint64_t end)
{
    if (fits(shared, peer, end))
        return 1;
    /* acquire pairs with the receiver's release: it has read what stood there */
    peer->written_taken = atomic_load_explicit(&peer->to->taken, memory_order_acquire);
    peer->written_bytes_taken = atomic_load_explicit(&peer->to->taken_bytes, memory_order_acquire);
    return fits(shared, peer, end);
}

/* The receiver looks at this ring, and is awake. */
static void news_tell(const struct hx_shared *shared, int row)
{
    _Atomic uint64_t *news = &hx_p2p_news(shared, row)[shared->me / 64];
    const uint64_t bit = UINT64_C(1) << (shared->me % 64);

    hx_wake_fence(); /* also before the bit is read: pairs with the fence in ring_leave */
    if (!(atomic_load_explicit(news, memory_order_relaxed) & bit)) {
        atomic_fetch_or_explicit(news, bit, memory_order_relaxed);
        hx_wake_fence();
    }
    hx_wake(shared, &shared->doorbells[row]);
}

static int self_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    struct hx_p2p_head head = record->head;

    if (head.kind == HX_P2P_EAGER)
        head.here_bytes = (uint32_t)head.bytes;
    return hx_p2p_arrived(p2p, peer, &head, record->call ? record->call->base : NULL);
}

/* Write one record. Returns 0 if there is no room. */
static int record_write(const struct hx_shared *shared, struct hx_p2p_peer *peer, const struct hx_p2p_head *head, const unsigned char *data)
{
    const size_t bytes = head->here_bytes;
    const int is_short = bytes <= HX_P2P_SHORT_BYTES;
    const uint64_t begin = is_short ? peer->written_bytes : part_begin(shared, peer->written_bytes, bytes);
    const uint64_t end = is_short ? begin : part_end(begin, bytes);
    struct hx_p2p_cell *cell = &peer->to->cells[cell_of(shared, peer->written)];

    if (!has_room(shared, peer, end))
        return 0;
    cell->head = *head;
    if (bytes)
        hx_memcpy(is_short ? cell->data : data_of(shared, peer->to) + (begin & (shared->p2p_bytes - 1)), data, bytes);
    peer->written_bytes = end;
    peer->written++;
    atomic_store_explicit(&cell->stamp, (uint32_t)peer->written, memory_order_release); /* acquire: next_is_written */
    news_tell(shared, peer->row); /* the receiver copies while this rank writes the next one */
    return 1;
}

int hx_p2p_ring_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record)
{
    const struct hx_shared *shared = p2p->process->shared;
    struct hx_p2p_call *call = record->call;
    struct hx_p2p_head head = record->head;
    const int carries = head.kind == HX_P2P_EAGER || head.kind == HX_P2P_DATA;
    const size_t most = shared->p2p_bytes / PARTS;

    if (peer->rank == p2p->process->rank)
        return self_send(p2p, peer, record);
    head.here_bytes = 0;
    do {
        if (carries) {
            const size_t left = call->bytes - call->moved;
            head.here_bytes = (uint32_t)(left < most ? left : most);
            head.kind = call->moved ? HX_P2P_DATA : head.kind;
        }
        if (!record_write(shared, peer, &head, carries ? call->base + call->moved : NULL))
            return 0;
        if (carries)
            call->moved += head.here_bytes;
    } while (carries && call->moved < call->bytes);
    return 1;
}

/* ---- receiving ------------------------------------------------------------------------------------------------- */

static const struct hx_p2p_cell *next_of(const struct hx_shared *shared, const struct hx_p2p_peer *peer)
{
    return &peer->from->cells[cell_of(shared, peer->read)];
}

static int next_is_written(const struct hx_shared *shared, const struct hx_p2p_peer *peer)
{
    /* acquire pairs with the release in record_write */
    return atomic_load_explicit(&next_of(shared, peer)->stamp, memory_order_acquire) == (uint32_t)(peer->read + 1);
}

/* The sender may have slept since there was no room. */
static void taken_tell(const struct hx_shared *shared, struct hx_p2p_peer *peer)
{
    if (peer->read - peer->read_told < hx_p2p_cells(shared) / QUARTER && peer->read_bytes - peer->read_bytes_told < shared->p2p_bytes / QUARTER)
        return;
    peer->read_told = peer->read;
    peer->read_bytes_told = peer->read_bytes;
    hx_wake_fence();
    hx_wake(shared, &shared->doorbells[peer->row]);
}

/* Take the next record, which is there. Returns 0 if there is no memory for it. */
static int record_read(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_cell *cell)
{
    const struct hx_shared *shared = p2p->process->shared;
    const struct hx_p2p_head head = cell->head;
    const size_t bytes = head.here_bytes;
    const int is_short = bytes <= HX_P2P_SHORT_BYTES;
    const uint64_t begin = is_short ? peer->read_bytes : part_begin(shared, peer->read_bytes, bytes);

    if (!hx_p2p_arrived(p2p, peer, &head, is_short ? cell->data : data_of(shared, peer->from) + (begin & (shared->p2p_bytes - 1))))
        return 0;
    peer->read_bytes = is_short ? begin : part_end(begin, bytes);
    peer->read++;
    /* release pairs with the acquire in has_room: this rank has read the record */
    atomic_store_explicit(&peer->from->taken, peer->read, memory_order_release);
    atomic_store_explicit(&peer->from->taken_bytes, peer->read_bytes, memory_order_release);
    taken_tell(shared, peer);
    return 1;
}

/* Take all records of this ring. Returns how many. */
static int ring_read(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    const struct hx_shared *shared = p2p->process->shared;
    int records = 0;

    while (next_is_written(shared, peer) && record_read(p2p, peer, next_of(shared, peer)))
        records++;
    return records;
}

/* From now on, look at this ring only when its sender says so. Returns 0 if a record has arrived meanwhile. */
static int ring_leave(const struct hx_shared *shared, struct hx_p2p_peer *peer)
{
    _Atomic uint64_t *news = &hx_p2p_news(shared, shared->me)[peer->row / 64];
    const uint64_t bit = UINT64_C(1) << (peer->row % 64);

    peer->idle = 0;
    atomic_fetch_and_explicit(news, ~bit, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with the fence in news_tell */
    if (!next_is_written(shared, peer))
        return 1;
    atomic_fetch_or_explicit(news, bit, memory_order_relaxed);
    return 0;
}

static int ring_look(struct hx_p2p *p2p, struct hx_p2p_peer *peer)
{
    const struct hx_shared *shared = p2p->process->shared;

    if (!next_is_written(shared, peer) && (++peer->idle < IDLE_LOOKS || ring_leave(shared, peer)))
        return 0;
    peer->idle = 0;
    return ring_read(p2p, peer);
}

int hx_p2p_ring_receive(struct hx_p2p *p2p)
{
    const struct hx_shared *shared = p2p->process->shared;
    const _Atomic uint64_t *news = hx_p2p_news(shared, shared->me);
    int records = 0;

    for (int i = 0; i < hx_p2p_news_words(shared); i++)
        for (uint64_t bits = atomic_load_explicit(&news[i], memory_order_relaxed); bits; bits &= bits - 1) {
            struct hx_p2p_peer *peer = hx_p2p_peer(p2p, shared->ranks[64 * i + __builtin_ctzll(bits)]);
            if (peer)
                records += ring_look(p2p, peer);
        }
    return records;
}
