/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of a state that differ move in pieces. Each piece is a message to the rank that lacks the entry from one of the ranks that hold
 * it. Sources take turns, so a receiver gets pieces from several of them at once. If a rank of the receiver's node holds the entry, only
 * the ranks of that node send it.
 *
 * All ranks know the same list of pieces, and each rank goes through its own pieces in this order. At most WINDOW of them are under way. The
 * first piece of the list that has not ended is always under way on both sides, so no two ranks wait for each other.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/api/state.h"
#include "runtime/engine/signature.h"
#include "runtime/engine/whereabouts.h"
#include <stdlib.h>
#include <string.h>

#define WINDOW 32
#define PIECE_LEAST ((size_t)64 << 10) /* shorter entries come from one source */
#define PIECE_MOST ((size_t)4 << 20)
#define PIECE_ALIGN ((size_t)64)

struct slot {
    struct hx_p2p_call call;
    int used;
    uint64_t order;
};

struct transfer {
    struct hx_state *state;
    struct slot *slots; /* [WINDOW] */
    uint64_t started;
    int active;
    /* the next piece: of this entry, for this receiver */
    size_t entry, offset, piece_bytes;
    int receiver;
    int *sources, nsources; /* of that entry for that receiver; 0: still to be found */
    size_t turn;
    /* for the report */
    unsigned char *met; /* [ranks]: this one has sent to this rank */
    size_t counted_received, counted_sent; /* 1 + the last entry that is counted */
};

/* ---- the list of pieces --------------------------------------------------------------------------------------- */

/* Ranks that send this entry to this receiver. near: only those of its node. */
static int sources_add(struct transfer *t, int near)
{
    const struct hx_state *state = t->state;
    const int *node_of = state->comm->members.shape->node_of;
    int n = 0;

    for (int rank = 0; rank < state->comm->members.size; rank++)
        if (hx_state_holds(state, rank, t->entry) && state->all[rank].mode != HX_STATE_RECEIVE_ONLY &&
            (!near || node_of[rank] == node_of[t->receiver]))
            t->sources[n++] = rank;
    return n;
}

static void sources_find(struct transfer *t)
{
    const size_t bytes = t->state->entries[t->entry]->bytes, most = (bytes + PIECE_LEAST - 1) / PIECE_LEAST;
    size_t share;

    if (!(t->nsources = sources_add(t, 1)))
        t->nsources = sources_add(t, 0);
    share = most < (size_t)t->nsources ? most : (size_t)t->nsources;
    share = ((bytes + share - 1) / share + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    t->piece_bytes = share < PIECE_MOST ? share : PIECE_MOST;
    t->offset = 0;
    t->turn = t->entry + (size_t)t->receiver; /* small entries have different sources too */
}

/* Let t stand at an entry and a rank that lacks it. Returns 0 behind the last one. */
static int receiver_find(struct transfer *t)
{
    for (; t->entry < t->state->n; t->entry++, t->receiver = 0)
        for (; t->receiver < t->state->comm->members.size; t->receiver++)
            if (!hx_state_holds(t->state, t->receiver, t->entry))
                return 1;
    return 0;
}

struct piece {
    size_t entry, offset, bytes;
    int source, receiver;
};

static int piece_next(struct transfer *t, struct piece *piece)
{
    if (!receiver_find(t))
        return 0;
    if (!t->nsources)
        sources_find(t);
    *piece = (struct piece){t->entry, t->offset, t->state->entries[t->entry]->bytes - t->offset,
                            t->sources[t->turn++ % (size_t)t->nsources], t->receiver};
    if (piece->bytes > t->piece_bytes) {
        piece->bytes = t->piece_bytes;
    } else {
        t->receiver++;
        t->nsources = 0;
    }
    t->offset += piece->bytes;
    return 1;
}

/* The next piece that this rank sends or receives. */
static int piece_next_mine(struct transfer *t, struct piece *piece)
{
    const int me = t->state->comm->members.rank;

    while (piece_next(t, piece))
        if (piece->source == me || piece->receiver == me)
            return 1;
    return 0;
}

/* ---- messages ------------------------------------------------------------------------------------------------- */

static void piece_count(struct transfer *t, const struct piece *piece, int sending)
{
    hx_state_report_t *report = &t->state->report;
    size_t *counted = sending ? &t->counted_sent : &t->counted_received;

    *(sending ? &report->bytes_sent : &report->bytes_received) += piece->bytes;
    *(sending ? &report->entries_sent : &report->entries_received) += *counted != piece->entry + 1;
    *counted = piece->entry + 1;
    if (!sending && !t->met[piece->source]) {
        t->met[piece->source] = 1;
        report->sources++;
    }
}

static void piece_start(struct transfer *t, const struct piece *piece)
{
    struct hx_comm *comm = t->state->comm;
    const int sending = piece->source == comm->members.rank;
    struct slot *slot = t->slots;

    while (slot->used)
        slot++;
    slot->used = 1;
    slot->order = t->started++;
    t->active++;
    slot->call = (struct hx_p2p_call){.members = &comm->members, .name = "hx_state_sync", .sending = sending, .tag = HX_TAG_STATE_SYNC,
                                      .rank = sending ? piece->receiver : piece->source, .dtype = hx_dtype_code(HX_BYTE),
                                      .base = (unsigned char *)t->state->entries[piece->entry]->address + piece->offset,
                                      .bytes = piece->bytes};
    hx_p2p_start(&comm->world->process, &slot->call);
    piece_count(t, piece, sending);
}

/* Free the slots of messages that have ended. An error of one fails the communicator, which ends the others. */
static hx_status_t slots_free(struct transfer *t)
{
    struct hx_comm *comm = t->state->comm;

    for (struct slot *slot = t->slots; slot < t->slots + WINDOW; slot++) {
        if (!slot->used || slot->call.state != HX_P2P_ENDED)
            continue;
        slot->used = 0;
        t->active--;
        if (slot->call.status == HX_SUCCESS || comm->members.failed)
            continue;
        hx_recall(slot->call.why);
        hx_comm_break(comm, slot->call.status);
    }
    return comm->members.failed;
}

static int ended_look(void *ctx)
{
    const struct transfer *t = ctx;

    hx_messages_progress(t->state->comm);
    for (const struct slot *slot = t->slots; slot < t->slots + WINDOW; slot++)
        if (slot->used && slot->call.state == HX_P2P_ENDED)
            return 1;
    return 0;
}

static void ended_stall(void *ctx)
{
    struct transfer *t = ctx;

    for (struct slot *slot = t->slots; slot < t->slots + WINDOW; slot++)
        if (slot->used && slot->call.state != HX_P2P_ENDED)
            hx_message_stall(&slot->call);
}

/* Until a message ends. The one that has been under way longest tells how long this takes. */
static void slots_await(struct transfer *t)
{
    struct hx_comm *comm = t->state->comm;
    struct slot *oldest = NULL;
    struct hx_wait wait = {.look = ended_look, .slow = ended_stall, .ctx = t, .timeout_s = *comm->members.timeout_s};

    for (struct slot *slot = t->slots; slot < t->slots + WINDOW; slot++)
        if (slot->used && (!oldest || slot->order < oldest->order))
            oldest = slot;
    wait.wait_clock = &oldest->call.wait_clock;
    if (hx_wait_until(&comm->world->process.waiter, &wait) != HX_SUCCESS)
        hx_message_late(&oldest->call);
}

/* Blocking. No message is under way when it returns. */
static hx_status_t pieces_move(struct transfer *t)
{
    struct hx_comm *comm = t->state->comm;
    int more = comm->members.failed == HX_SUCCESS;
    struct piece piece;

    comm->messages++;
    do {
        while (more && t->active < WINDOW && (more = piece_next_mine(t, &piece)))
            piece_start(t, &piece);
        if (t->active)
            slots_await(t);
        more = slots_free(t) == HX_SUCCESS && more;
    } while (more || t->active);
    comm->messages--;
    hx_stand_clear(&comm->world->process);
    return comm->members.failed;
}

hx_status_t hx_state_transfer(struct hx_state *state)
{
    const size_t size = (size_t)state->comm->members.size;
    struct transfer t = {.state = state, .slots = calloc(WINDOW, sizeof(*t.slots)), .sources = calloc(size, sizeof(*t.sources)),
                         .met = calloc(size, 1)};
    hx_status_t status = t.slots && t.sources && t.met ? pieces_move(&t) : hx_state_no_memory(state->comm, "the messages");

    free(t.slots);
    free(t.sources);
    free(t.met);
    return status;
}
