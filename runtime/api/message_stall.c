/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks that wait long: what ends them. As runtime/engine/stall.c does for collectives, but only the other
 * rank of the message matters: if it waits in vain itself, it fails, and its failure ends this wait too. */
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/base/log.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/signature.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include <stdio.h>
#include <string.h>

#define PATIENCE_NS 5e9 /* then a warning, */
#define PATIENCE_PART 4 /* or after this part of HX_TIMEOUT, if that is less */

static struct hx_comm *comm_of(const struct hx_p2p_call *message)
{
    return (struct hx_comm *)(void *)message->members;
}

static int job_rank_of(const struct hx_p2p_call *message)
{
    return message->members->ranks[message->rank];
}

/* "hx_recv of 8 bytes from rank 2, tag 7". Parts of other public functions have no tag of the program. */
static void message_tell(const struct hx_p2p_call *message, char *text, size_t capacity)
{
    int n = message->state == HX_P2P_IDLE /* a probe */
                ? snprintf(text, capacity, "%s from rank %d", message->name, message->rank)
                : snprintf(text, capacity, "%s of %zu bytes %s rank %d", message->name, message->bytes, message->sending ? "to" : "from",
                           message->rank);

    if (message->tag >= 0 && (size_t)n < capacity)
        snprintf(text + n, capacity - (size_t)n, ", tag %d", message->tag);
}

/* The thread's last detail says why: the communicator fails, and all messages that wait in it. Tell the ranks of other nodes that may wait for
 * it. */
static void comm_break(const struct hx_p2p_call *message, hx_status_t status)
{
    struct hx_comm *comm = comm_of(message);
    const struct hx_process *process = &comm->world->process;
    const int size = comm->members.size;
    unsigned char peers[size];

    memset(peers, 0, (size_t)size);
    for (const struct hx_p2p_call *call = process->p2p->all; call; call = call->all_next)
        if (call->members == &comm->members && call->peer->row < 0)
            peers[call->rank] = 1;
    hx_comm_break(comm, status);
    for (int rank = 0; rank < size; rank++)
        if (peers[rank])
            hx_failed_tell(&comm->engine, comm->members.ranks[rank]);
}

static hx_status_t fail(const struct hx_p2p_call *message, hx_status_t status, const char *why)
{
    char what[192];

    message_tell(message, what, sizeof(what));
    return hx_fail(status, "%s: %s", what, why);
}

/* Another rank has failed in this communicator. */
static hx_status_t elsewhere(const struct hx_p2p_call *message, const struct hx_failure *failure)
{
    char what[192];

    message_tell(message, what, sizeof(what));
    if (failure->status == HX_ERR_REVOKED)
        return hx_fail(HX_ERR_REVOKED, "%s: %s", what, failure->text);
    return hx_fail((hx_status_t)failure->status, "%s: rank %d has failed in this communicator: %s", what, failure->rank,
                   failure->text);
}

static struct hx_control_message question(const struct hx_p2p_call *message)
{
    const struct hx_engine *engine = message->members->blocking;

    return (struct hx_control_message){.kind = HX_MESSAGE_ASKS, .rank = job_rank_of(message), .context = engine->context,
                                       .generation = message->members->id.generation, .call = HX_P2P_CALL,
                                       .signature = hx_signature_of_message(message->sending, message->rank, message->tag)};
}

/* The other rank is gone, but it may have sent before. Has the message arrived now? */
static int has_arrived(const struct hx_p2p_call *message)
{
    struct hx_process *process = &comm_of(message)->world->process;

    hx_p2p_progress(process);
    return message->state == HX_P2P_ENDED ||
           (message->state == HX_P2P_IDLE && hx_p2p_find(process, message->members, message->rank, message->tag));
}

static hx_status_t death(const struct hx_p2p_call *message)
{
    const struct hx_process *process = &comm_of(message)->world->process;
    const int rank = job_rank_of(message);
    char end[HX_END_BYTES], text[HX_END_BYTES + 32];

    hx_watch_look(process->shared);
    if (message->peer->row < 0) {
        const struct hx_control_message asks = question(message);
        hx_late_ask(&comm_of(message)->world->process, rank, &asks, message->wait_clock.waited);
    }
    if (!atomic_load_explicit(&process->shared->table[rank].dead, memory_order_relaxed) || has_arrived(message))
        return HX_SUCCESS;
    snprintf(text, sizeof(text), "rank %d %s", message->rank, hx_watch_end(process->shared, rank, end));
    return fail(message, HX_ERR_PEER_DEAD, text);
}

/* Is a rank of another node in hx_finalize, and has all that it sent before been taken? Bytes of the message may still be under way. */
static int has_finished_elsewhere(const struct hx_p2p_call *message)
{
    const struct hx_p2p_peer *peer = message->peer;
    const int waits = message->state == HX_P2P_IDLE || message->state == HX_P2P_OFFERED || (message->state == HX_P2P_POSTED && !message->arrival);

    return waits && peer->finished && peer->taken >= peer->finished - 1;
}

/* Has the other rank left this communicator, or Hierax? */
static const char *has_left(const struct hx_p2p_call *message)
{
    const struct hx_shared *shared = comm_of(message)->world->process.shared;
    const struct hx_comm_id *id = &message->members->id;
    const int row = message->peer->row;

    if (row < 0)
        return has_finished_elsewhere(message) ? HX_HAS_FINISHED : NULL;
    if (row == shared->me)
        return NULL;
    if (hx_watch_has_finished(shared, row))
        return HX_HAS_FINISHED;
    /* acquire pairs with the release in hx_number_leave: what that rank has sent before is in the ring */
    return atomic_load_explicit(hx_shared_closed(shared, row, id->number), memory_order_acquire) > id->first_call
               ? "has freed this communicator" : NULL;
}

static hx_status_t departure(const struct hx_p2p_call *message)
{
    const char *why = has_left(message);
    char text[96];

    if (!why)
        return HX_SUCCESS;
    if (has_arrived(message) || hx_failure_look(message->members->blocking, HX_SUCCESS))
        return HX_SUCCESS;
    snprintf(text, sizeof(text), "rank %d %s", message->rank, why);
    return fail(message, strcmp(why, HX_HAS_FINISHED) ? HX_ERR_MISMATCH : HX_ERR_PEER_DEAD, text);
}

/* The order matters as in stall.c: the reason of another rank's failure comes before its death, a death before failures by it. */
static hx_status_t reason(const struct hx_p2p_call *message)
{
    const struct hx_engine *engine = message->members->blocking;
    const struct hx_failure *failure = hx_failure_look(engine, HX_ERR_PEER_DEAD);
    hx_status_t status = failure ? HX_SUCCESS : death(message);

    if (!failure && status == HX_SUCCESS)
        failure = hx_failure_look(engine, HX_SUCCESS);
    if (failure)
        return elsewhere(message, failure);
    return status == HX_SUCCESS ? departure(message) : status;
}

static void warn(struct hx_p2p_call *message)
{
    const double limit = *message->members->timeout_s * 1e9 / PATIENCE_PART;
    char what[192], where[HX_STAND_BYTES];

    if (message->warned || (double)message->wait_clock.waited < (limit > 0 && limit < PATIENCE_NS ? limit : PATIENCE_NS))
        return;
    message->warned = 1;
    message_tell(message, what, sizeof(what));
    hx_stand_tell(message->members->blocking, message->rank, where, sizeof(where));
    hx_warn("%s, has waited for %.1f s; rank %d %s", what, (double)message->wait_clock.waited / 1e9, message->rank, where);
}

void hx_message_stall(struct hx_p2p_call *message)
{
    struct hx_comm *comm = comm_of(message);
    hx_status_t status;

    if (message->moved != message->seen_moved)
        hx_wait_clock_renew(&message->wait_clock);
    message->seen_moved = message->moved;
    if (comm->members.failed) {
        hx_p2p_cancel(comm->world->process.p2p, message, comm->members.failed, comm->members.detail);
        return;
    }
    if (message->state == HX_P2P_MOVES && message->op.done < 0) {
        hx_recall(message->why);
        comm_break(message, (hx_status_t)-message->op.done);
        return;
    }
    hx_stand_write_message(&comm->world->process, message->members->blocking->context, job_rank_of(message),
                           hx_signature_of_message(message->sending, message->rank, message->tag));
    if ((status = reason(message)) != HX_SUCCESS)
        comm_break(message, status);
    else if (message->state != HX_P2P_ENDED)
        warn(message);
}

hx_status_t hx_message_probe(struct hx_p2p_call *probe)
{
    hx_status_t status;

    probe->state = HX_P2P_IDLE;
    if ((status = reason(probe)) == HX_SUCCESS || comm_of(probe)->members.failed)
        return comm_of(probe)->members.failed;
    hx_progress_all(&comm_of(probe)->world->process); /* a message that it sent before its end is here now: the next look finds it */
    if (!hx_p2p_find(&comm_of(probe)->world->process, probe->members, probe->rank, probe->tag))
        comm_break(probe, status);
    return comm_of(probe)->members.failed;
}

void hx_message_late(struct hx_p2p_call *message)
{
    char what[192], where[HX_STAND_BYTES];

    if (message->state == HX_P2P_ENDED)
        return;
    message_tell(message, what, sizeof(what));
    hx_stand_tell(message->members->blocking, message->rank, where, sizeof(where));
    hx_fail(HX_ERR_TIMEOUT, "%s: waited %g s (%s); rank %d %s", what, *message->members->timeout_s, message->members->timeout_by,
            message->rank, where);
    comm_break(message, HX_ERR_TIMEOUT);
}
