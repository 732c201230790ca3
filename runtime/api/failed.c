/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed communicators, between nodes: see failed.h. */
#include "runtime/api/failed.h"
#include "runtime/api/number.h"
#include "runtime/engine/agree.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/p2p.h"
#include "runtime/engine/pairs.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/whereabouts.h"
#include "runtime/engine/signature.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- freed communicators ------------------------------------------------------------------------------------- */

#define HX_PAST 256 /* how many failures of freed communicators are kept: the newest ones */

struct hx_past { /* a communicator that had failed */
    struct hx_comm_id id;
    struct hx_failure failure;
};

int hx_failed_keep(struct hx_comm *comm)
{
    struct hx_world *world = comm->world;
    const struct hx_failure *failure = comm->engine.mine ? hx_failure_of(&comm->engine, comm->members.local_me) : NULL;

    if (failure && comm->members.local_n < comm->members.size) {
        if (!world->past)
            world->past = calloc(HX_PAST, sizeof(*world->past));
        if (world->past) /* without memory a rank that asks gets no answer */
            world->past[world->npast++ % HX_PAST] = (struct hx_past){comm->members.id, *failure};
    }
    return comm->members.failed || failure;
}

void hx_failed_forget(struct hx_world *world)
{
    free(world->past);
    world->past = NULL;
}

/* ---- telling others ------------------------------------------------------------------------------------------ */

/* The rank in a communicator of a rank of the job, or -1. */
static int rank_in(const int *ranks, int size, int job_rank)
{
    int rank = 0;

    while (rank < size && ranks[rank] != job_rank)
        rank++;
    return rank < size ? rank : -1;
}

static void abort_tell(const struct hx_process *process, int peer, int rank, const char *words)
{
    struct hx_control_message message = {.kind = HX_MESSAGE_ABORTED, .ndead = 1, .aborted.dead = rank};

    _Static_assert(sizeof(message.aborted.text) == HX_LAST_WORDS_BYTES, "the whole text fits");
    snprintf(message.aborted.text, sizeof(message.aborted.text), "%s", words);
    hx_registry.net->tell(process->net, peer, &message);
}

static void deaths_tell(const struct hx_process *process, int peer)
{
    const struct hx_job_entry *table = process->shared->table;
    const char *words;

    /* acquire pairs with the release in hx_watch_tell */
    if (atomic_load_explicit(&process->shared->header->deaths, memory_order_acquire) == 0)
        return;
    for (int rank = 0; rank < process->size;) {
        struct hx_control_message message = {.kind = HX_MESSAGE_DEAD};
        for (; rank < process->size && message.ndead < HX_MESSAGE_RANKS; rank++) {
            if (!atomic_load_explicit(&table[rank].dead, memory_order_relaxed))
                continue;
            if ((words = hx_watch_last_words(process->shared, rank)))
                abort_tell(process, peer, rank, words);
            else
                message.dead[message.ndead++] =
                    atomic_load_explicit(&table[rank].ended, memory_order_relaxed) ? rank : HX_UNREACHABLE(rank);
        }
        if (message.ndead)
            hx_registry.net->tell(process->net, peer, &message);
    }
}

static void failure_tell(const struct hx_process *process, int peer, const struct hx_comm_id *id, const struct hx_failure *failure)
{
    struct hx_control_message message = {.kind = HX_MESSAGE_FAILED, .rank = failure->rank, .status = failure->status,
                           .context = (int32_t)id->number * HX_COMM_CONTEXTS, .generation = id->generation};

    snprintf(message.text, sizeof(message.text), "%.*s", (int)sizeof(message.text) - 1, failure->text);
    hx_registry.net->tell(process->net, peer, &message);
}

static void comm_tell(const struct hx_comm *comm, int peer)
{
    const struct hx_failure *failure = hx_failure_of(&comm->engine, comm->members.local_me);
    struct hx_failure lost = {.rank = comm->world->process.rank}; /* a group with peer could not be created */

    if (failure && rank_in(comm->members.ranks, comm->members.size, peer) >= 0)
        failure_tell(&comm->world->process, peer, &comm->members.id, failure);
    if (comm->members.agree && rank_in(comm->members.ranks, comm->members.size, peer) >= 0)
        hx_agree_tell(&comm->world->process, &comm->members, rank_in(comm->members.ranks, comm->members.size, peer));
    if (comm->engine.pairs && (lost.status = (int32_t)hx_pair_lost(&comm->engine, peer)) != HX_SUCCESS)
        failure_tell(&comm->world->process, peer, &comm->members.id, &lost);
}

/* Tell peer, a rank of the job on another node, every death, and every failure of these communicators that both have. */
static void all_tell(const struct hx_world *world, const struct hx_comm *comm, const struct hx_comm *end, int peer)
{
    if (atomic_load_explicit(&world->process.shared->table[peer].dead, memory_order_relaxed))
        return;
    deaths_tell(&world->process, peer);
    for (; comm != end; comm = comm->next)
        comm_tell(comm, peer);
}

void hx_failed_tell(const struct hx_engine *engine, int peer)
{
    const struct hx_comm *comm = hx_comm_of(engine);

    all_tell(comm->world, comm, comm->next, peer);
}

/* This rank is in hx_finalize: it sends no more messages to peer than it has sent. */
static void finished_tell(const struct hx_world *world, int peer)
{
    const int64_t sent = hx_p2p_sent_to(&world->process, peer);

    hx_registry.net->tell(world->process.net, peer,
                          &(struct hx_control_message){.kind = HX_MESSAGE_FINISHED, .p2p.sequence = sent < 0 ? 0 : (uint64_t)sent + 1});
}

static void finished_heard(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    struct hx_p2p_peer *sender = world->process.p2p ? hx_p2p_peer(world->process.p2p, peer) : NULL;

    atomic_store_explicit(&world->process.shared->table[peer].finished, 1, memory_order_relaxed);
    if (sender && message->p2p.sequence > sender->finished)
        sender->finished = message->p2p.sequence;
}

void hx_failed_finish(const struct hx_world *world)
{
    const struct hx_job_entry *table = world->process.shared->table;

    for (int rank = 0; world->process.net && rank < world->process.size; rank++) {
        if (atomic_load_explicit(&table[rank].dead, memory_order_relaxed) || !hx_registry.net->has_met(world->process.net, rank))
            continue;
        all_tell(world, world->comms, NULL, rank);
        for (uint64_t i = 0; i < world->npast && i < HX_PAST; i++)
            failure_tell(&world->process, rank, &world->past[i].id, &world->past[i].failure);
        finished_tell(world, rank);
    }
}

/* The rank of another node to which this rank sends an abort. It has the same local rank as this one, if it opened endpoints at start. If it
 * did not, it is the first rank of its node, which always opens them. */
static int listener_of(const struct hx_world *world, int node)
{
    const struct hx_shape *shape = world->comms->members.shape;
    const int like = hx_shape_member(shape, node, shape->local_of[world->process.rank] % hx_shape_node_size(shape, node));

    return world->process.shared->table[like].opened_first ? like : hx_shape_member(shape, node, 0);
}

void hx_failed_abort(const struct hx_world *world)
{
    const int *node_of = world->comms->members.shape->node_of, rank = world->process.rank;

    for (int peer = 0; peer < world->process.size; peer++)
        if (node_of[peer] != node_of[rank] &&
            (peer == listener_of(world, node_of[peer]) || hx_registry.net->has_met(world->process.net, peer)))
            all_tell(world, world->comms, NULL, peer);
    hx_registry.net->drain(world->process.net);
}

static int is_known(uint32_t number)
{
    return number < HX_COMM_NUMBERS;
}

/* The last call that this rank has entered in a context that now belongs to no communicator. */
static uint64_t last_call_in(const struct hx_shared *shared, int context)
{
    struct hx_control *controls = shared->contexts[context]; /* NULL: this rank has entered no call there */

    return controls ? atomic_load_explicit(&controls[shared->me].entered, memory_order_relaxed) >> HX_SLICE_BITS : 0;
}

/* peer waits in a call of a communicator that this rank may have freed. If it had failed before, tell peer the failure. If peer makes a
 * call that this rank did not make before it freed the communicator, tell peer that. (If the number has been used again since, this rank
 * does not know whether it made that call: a message may still be on its way.) */
static void past_tell(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    const struct hx_comm_numbers *numbers = world->numbers;
    const struct hx_comm_id id = {.number = (uint32_t)message->context / HX_COMM_CONTEXTS, .generation = message->generation};
    struct hx_failure freed = {.status = HX_ERR_MISMATCH, .rank = -1};

    if (!is_known(id.number) || (numbers->comms[id.number] && numbers->comms[id.number]->members.id.generation == id.generation))
        return;
    for (uint64_t i = 0; i < world->npast && i < HX_PAST; i++)
        if (world->past[i].id.number == id.number && world->past[i].id.generation == id.generation) {
            failure_tell(&world->process, peer, &id, &world->past[i].failure);
            return;
        }
    if (numbers->comms[id.number] || numbers->generations[id.number] != id.generation ||
        message->call <= last_call_in(world->process.shared, message->context))
        return;
    snprintf(freed.text, sizeof(freed.text), "it has freed this communicator before this call");
    failure_tell(&world->process, peer, &id, &freed);
}

/* ---- hearing them -------------------------------------------------------------------------------------------- */

static void death_heard(const struct hx_world *world, int told)
{
    const struct hx_control_message question = {.kind = HX_MESSAGE_ASKS, .rank = world->process.rank, .context = -1};
    struct hx_shared *shared = world->process.shared;
    const int has_ended = told >= 0, rank = has_ended ? told : HX_UNREACHABLE(told);

    if (rank < 0 || rank >= world->process.size)
        return;
    if (shared->table[rank].node == shared->table[world->process.rank].node)
        return; /* the ranks of a node see each other's deaths themselves; this one may only have closed its endpoint */
    if (!has_ended && !hx_registry.net->ask(world->process.net, rank, &question))
        return; /* the rank that reports it may itself be cut off, so this rank checks by itself */
    hx_watch_tell(shared, rank, has_ended);
}

static void abort_heard(const struct hx_world *world, const struct hx_control_message *message)
{
    struct hx_shared *shared = world->process.shared;
    const int rank = message->aborted.dead;
    char text[HX_LAST_WORDS_BYTES];

    if (rank < 0 || rank >= world->process.size || shared->table[rank].node == shared->table[world->process.rank].node)
        return; /* as in death_heard */
    snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, message->aborted.text);
    hx_watch_tell_abort(shared, rank, text);
}

/* The open communicator of this context, if peer is a rank of it; else NULL. The generation is not checked. *engine: the engine of the
 * context; NULL: this rank has not used the context. */
static struct hx_comm *comm_of(const struct hx_world *world, int context, int peer, struct hx_engine **engine)
{
    uint32_t number = (uint32_t)context / HX_COMM_CONTEXTS, which = (uint32_t)context % HX_COMM_CONTEXTS;
    struct hx_comm *comm = is_known(number) ? world->numbers->comms[number] : NULL;

    *engine = NULL;
    if (!comm || rank_in(comm->members.ranks, comm->members.size, peer) < 0)
        return NULL;
    *engine = which == 0 ? &comm->engine : comm->others[which - 1];
    return comm;
}

/* The engine that a control message of peer is about; NULL: its communicator does not exist yet, or no longer. */
static struct hx_engine *engine_of(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    struct hx_engine *engine;
    const struct hx_comm *comm = comm_of(world, message->context, peer, &engine);

    return comm && comm->members.id.generation == message->generation ? engine : NULL;
}

static void failure_heard(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    struct hx_engine *engine = engine_of(world, peer, message);
    struct hx_failure failure = {.status = message->status, .rank = message->rank};

    if (!engine || engine != engine->members->blocking || !hx_status_is_error(message->status))
        return;
    if (engine->pairs) {
        hx_pair_lose(engine, peer, (hx_status_t)message->status);
        return;
    }
    if (failure.rank < 0) /* peer has freed the communicator, and no longer knows its rank there */
        failure.rank = rank_in(engine->members->ranks, engine->members->size, peer);
    snprintf(failure.text, sizeof(failure.text), "%.*s", (int)sizeof(message->text), message->text);
    hx_failure_note(engine, &failure);
}

struct dropped {
    const struct hx_world *world;
    const struct hx_control_message *message;
    int peer;
};

static int has_sent(const struct hx_signature *signature, void *arg)
{
    const struct dropped *d = arg;

    return hx_registry.net->proof(d->world->process.net, d->world->process.rank, d->peer, d->message->doubt.match, d->message->doubt.chunk,
                                  d->message->doubt.mix ^ hx_signature_bits(signature)) == d->message->doubt.proof;
}

/* peer has dropped a message, and asks whether this rank has sent it. If so, tell peer the call that sent it. Either way keep the
 * signature of peer's call: it may explain messages that this rank has dropped. */
static int sent_tell(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    struct hx_engine *engine = message->doubt.proof ? engine_of(world, peer, message) : NULL;
    struct dropped dropped = {world, message, peer};
    struct hx_control_message answer = {.kind = HX_MESSAGE_SENT, .context = message->context, .generation = message->generation};

    if (!engine)
        return 0;
    engine->sent = message->signature;
    if (!hx_signature_find(engine, has_sent, &dropped, &answer.signature))
        return 0;
    hx_registry.net->tell(world->process.net, peer, &answer);
    return 1;
}

static void sent_heard(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    struct hx_engine *engine = engine_of(world, peer, message);

    if (engine)
        engine->sent = message->signature; /* stall.c checks whether it explains the dropped message */
}

static void call_heard(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    struct hx_engine *engine = message->call ? engine_of(world, peer, message) : NULL;
    uint64_t theirs = message->call << HX_SLICE_BITS | hx_signature_bits(&message->signature), mine;
    struct hx_failure failure = {.status = HX_ERR_MISMATCH};
    char there[HX_CALL_TEXT_BYTES];

    if (!engine)
        return;
    mine = atomic_load_explicit(&engine->mine->entered, memory_order_relaxed);
    if (!hx_stamps_mismatch(engine, mine, theirs))
        mine = atomic_load_explicit(&engine->mine->left, memory_order_relaxed);
    if (!hx_stamps_mismatch(engine, mine, theirs))
        return;
    failure.rank = engine->members->rank;
    hx_signature_tell(&message->signature, hx_coll_name((enum hx_coll)message->signature.coll), there, sizeof(there));
    hx_mismatch_describe(engine, mine, rank_in(engine->members->ranks, engine->members->size, peer), there, failure.text,
                         sizeof(failure.text));
    hx_failure_note(engine, &failure);
}

/* If this rank is in hx_finalize, and peer waits in a call that this rank has not entered, tell peer that this rank never will. The same for a message. (Not for
 * calls on the world communicator: hx_finalize makes such calls itself, and this rank may be about to enter the next one.) */
static void finish_tell(const struct hx_world *world, int peer, const struct hx_control_message *message)
{
    const struct hx_engine *engine = message->call ? engine_of(world, peer, message) : NULL;
    struct hx_failure failure = {.status = HX_ERR_PEER_DEAD};

    if (message->call == HX_P2P_CALL && hx_watch_has_finished(world->process.shared, world->process.shared->me)) {
        finished_tell(world, peer);
        return;
    }
    if (!engine || engine == &world->comms->engine || !hx_watch_has_finished(world->process.shared, world->process.shared->me) ||
        atomic_load_explicit(&engine->mine->entered, memory_order_relaxed) >> HX_SLICE_BITS >= message->call)
        return;
    failure.rank = engine->members->rank;
    snprintf(failure.text, sizeof(failure.text), "rank %d " HX_HAS_FINISHED, failure.rank);
    failure_tell(&world->process, peer, &engine->members->id, &failure);
}

static void agree_heard(struct hx_world *world, int peer, const struct hx_control_message *message)
{
    const uint32_t number = (uint32_t)message->context / HX_COMM_CONTEXTS;
    struct hx_engine *engine;
    struct hx_comm *comm = comm_of(world, message->context, peer, &engine);

    if (comm && comm->members.id.generation == message->generation)
        hx_agree_heard(&world->process, &comm->members, rank_in(comm->members.ranks, comm->members.size, peer), message);
    else if (hx_world_owner.has_freed(&world->process, number, message->generation))
        hx_agree_left_tell(&world->process, peer, message,
                           world->numbers->generations[number] == message->generation ? &world->numbers->agreed[number] : NULL);
}

void hx_failed_heard(void *arg, int peer, const struct hx_control_message *message)
{
    const int context = message->kind == HX_MESSAGE_STANDS ? message->stands.context : message->context;
    struct hx_world *world = arg;
    struct hx_engine *engine;
    struct hx_comm *comm = comm_of(world, context, peer, &engine);

    switch ((enum hx_control_message_kind)message->kind) {
    case HX_MESSAGE_ASKS:
        hx_watch_look_at(world->process.shared, message->rank);
        if (!sent_tell(world, peer, message))
            call_heard(world, peer, message);
        all_tell(world, world->comms, NULL, peer);
        past_tell(world, peer, message);
        finish_tell(world, peer, message);
        hx_stand_asked(&world->process, comm ? &comm->members : NULL, engine, peer, message);
        break;
    case HX_MESSAGE_DEAD:
        for (int i = 0; i < message->ndead; i++)
            death_heard(world, message->dead[i]);
        break;
    case HX_MESSAGE_ABORTED: abort_heard(world, message); break;
    case HX_MESSAGE_FAILED: failure_heard(world, peer, message); break;
    case HX_MESSAGE_FINISHED: finished_heard(world, peer, message); break;
    case HX_MESSAGE_STANDS: hx_stand_heard(&world->process, comm ? &comm->members : NULL, engine, peer, message); break;
    case HX_MESSAGE_SENT: sent_heard(world, peer, message); break;
    case HX_MESSAGE_AGREE: agree_heard(world, peer, message); break;
    case HX_MESSAGE_ADDRESS: break; /* only the transport uses it */
    case HX_MESSAGE_P2P: hx_p2p_heard(&world->process, peer, message); break;
    }
}
