/* SPDX-License-Identifier: BSD-3-Clause */
/* Stalls: what ends a long wait. A rank that waits looks for dead ranks, for failures that others have recorded, and for ranks that make
 * different calls; and it tells its node for which rank of another node it waits. */
#include "runtime/engine/stall.h"
#include "runtime/engine/awaited.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/pairs.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/whereabouts.h"
#include "runtime/engine/signature.h"
#include <stdio.h>

#define MATE_NS UINT64_C(2000000000) /* after so long a rank also asks another rank of the late rank's node. Such waits are rare */

/* A message that has failed ends the call, whatever else the call waits for. Other messages may never come, because their senders may wait
 * for the failed one. */
static hx_status_t failure(const struct hx_run *run)
{
    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);)
        if (at.t->net.done < 0)
            return hx_transfer_failure(run, at.t);
    return HX_SUCCESS;
}

struct dropped {
    const struct hx_run *run;
    struct hx_net_op *op;
};

/* A chunk for this message was dropped because its proof was wrong. Is the proof that of a call with this signature? */
static int explains(const struct hx_signature *signature, void *arg)
{
    const struct dropped *d = arg;
    const struct hx_process *process = d->run->engine->process;
    uint32_t theirs = d->op->signature ^ (uint32_t)d->run->bound->signature_bits ^ hx_signature_bits(signature);

    if (hx_registry.net->proof(process->net, d->op->peer, process->rank, d->op->match, d->op->doubt_chunk, theirs) != d->op->doubt)
        return 0;
    d->op->theirs = theirs;
    return 1;
}

/* A chunk was dropped: ask the peer whether it has sent it. The peer knows its own calls, and learns of this one. If the peer has not sent
 * it, the chunk was forged, and the doubt is forgotten. If the chunk is of a call that this rank makes too, no answer is needed. */
static hx_status_t doubt(const struct hx_run *run, struct hx_transfer *t)
{
    const struct hx_engine *engine = run->engine;
    struct hx_control_message question = hx_failure_question(run, t->net.peer);
    struct dropped dropped = {run, &t->net};
    struct hx_signature found;
    int known;

    if (!t->net.doubt_is_asked) {
        question.doubt.match = t->net.match;
        question.doubt.chunk = t->net.doubt_chunk;
        question.doubt.proof = t->net.doubt;
        question.doubt.mix = t->net.signature ^ (uint32_t)run->bound->signature_bits;
        hx_registry.net->tell(engine->process->net, t->net.peer, &question);
        t->net.doubt_is_asked = 1;
    }
    known = explains(&engine->sent, &dropped) || hx_signature_find(engine, explains, &dropped, &found);
    return known ? hx_transfer_failure(run, t) : HX_SUCCESS;
}

static hx_status_t doubts(const struct hx_run *run)
{
    hx_status_t status = HX_SUCCESS;

    for (struct hx_transfers at = {0}; status == HX_SUCCESS && hx_transfer_next(run, &at);)
        if (at.t->far && !at.t->net.done && at.t->net.doubt)
            status = doubt(run, at.t);
    return status;
}

/* The rank of the communicator that was found dead first, among the ranks that take part in the call; or -1. Only the members of
 * a group take part in its creation. */
static int dead_member(const struct hx_run *run)
{
    const struct hx_engine *engine = run->engine;
    const struct hx_shared *shared = engine->process->shared;
    const struct hx_stage *stage = run->bound->stages[0].stage;
    int member;

    if (!engine->pairs)
        return hx_watch_dead(shared, engine->members->ranks, engine->members->size);
    member = hx_watch_dead(shared, stage->members, stage->n); /* here members are also ranks of the job */
    return member < 0 ? -1 : stage->members[member];
}

/* Fail because a rank that dead_member or finished_member has found enters no more calls. */
static hx_status_t absence_fail(const struct hx_run *run, int rank, const char *why)
{
    const struct hx_engine *engine = run->engine;

    if (engine->pairs)
        return hx_fail(HX_ERR_PEER_DEAD, "%s: rank %d of the job %s", run->name, rank, why);
    return hx_fail(HX_ERR_PEER_DEAD, "%s, call %llu: rank %d %s", run->name, (unsigned long long)(engine->call - engine->first_call), rank, why);
}

/* Likewise for a rank that dead_member has found: it may have called hx_finalize before its process ended. */
static hx_status_t death_fail(const struct hx_run *run, int rank)
{
    const struct hx_engine *engine = run->engine;
    char end[HX_END_BYTES];

    return absence_fail(run, rank, hx_watch_end(engine->process->shared, engine->pairs ? rank : engine->members->ranks[rank], end));
}

static int is_addressed(const struct hx_process *process, int rank)
{
    /* relaxed, because the address is not read */
    return atomic_load_explicit(&process->shared->table[rank].address_state, memory_order_relaxed) == HX_ADDRESS_THERE;
}

/* The next living rank on the node of rank that has an address. It sees whether rank lives. -1: there is none. */
static int mate_of(const struct hx_process *process, int rank)
{
    const struct hx_job_entry *table = process->shared->table;

    for (int i = 1; i < process->size; i++) {
        int other = (rank + i) % process->size;
        if (table[other].node == table[rank].node && !atomic_load_explicit(&table[other].dead, memory_order_relaxed) &&
            is_addressed(process, other))
            return other;
    }
    return -1;
}

static void peer_ask(const struct hx_process *process, int rank, const struct hx_control_message *question)
{
    if (hx_registry.net->ask(process->net, rank, question))
        hx_watch_tell_gone(process->shared, process->net, rank);
}

void hx_late_ask(struct hx_process *process, int rank, const struct hx_control_message *question, uint64_t waited_ns)
{
    const struct hx_control_message lives = {.kind = HX_MESSAGE_ASKS, .rank = rank, .context = -1};
    const int is_known = is_addressed(process, rank), mate = is_known && waited_ns <= MATE_NS ? -1 : mate_of(process, rank);
    const double silent_ns = 1e9 * process->env->silent;

    peer_ask(process, rank, question);
    hx_stand_late(process, rank);
    if (mate >= 0)
        peer_ask(process, mate, &lives);
    if ((double)hx_stand_lost(process, rank, is_known || mate >= 0) > silent_ns && (double)waited_ns > silent_ns)
        hx_watch_tell(process->shared, rank, 0);
}

/* Fail if a rank of the call has died. No rank can finish such a call: even a rank that does not wait for the dead one may wait for a rank
 * that does. Otherwise ask after the rank for which this one waits. */
static hx_status_t death(const struct hx_run *run)
{
    const struct hx_engine *engine = run->engine;
    struct hx_process *process = engine->process;
    int far = process->net ? hx_awaited_far(run) : -1, dead;

    hx_watch_look(process->shared);
    if (far >= 0) {
        const struct hx_control_message question = hx_failure_question(run, far);
        hx_late_ask(process, far, &question, engine->wait_clock.waited);
    }
    dead = dead_member(run);
    return dead < 0 ? HX_SUCCESS : death_fail(run, dead);
}

/* A rank of this node that has called hx_finalize and has not entered this call, as a rank of the communicator; or -1. It never will, so
 * the call cannot end. In the creation of a group entered calls are not counted. There the rank must be the one that this rank waits for in
 * two looks running, because its last message may come between two looks. */
static int finished_member(const struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    const struct hx_node *node = &engine->node;
    const int before = engine->awaits_finished, awaited = engine->pairs ? hx_awaited_rank(run) : -1;

    engine->awaits_finished = 0;
    if (hx_watch_has_finished(node->shared, node->shared->me)) /* this call is a part of hx_finalize: the others will enter it */
        return -1;
    for (int i = 0; i < node->n; i++) {
        if (!hx_watch_has_finished(node->shared, node->rows[i]))
            continue;
        if (engine->pairs && node->ranks[i] == awaited)
            engine->awaits_finished = 1 + awaited;
        else if (!engine->pairs && hx_awaited_is_outside(run, i))
            return node->ranks[i];
    }
    return engine->awaits_finished == before ? before - 1 : -1;
}

/* Fail because the communicator has failed on another rank. After a time-out the other rank's text names only the ranks that its own node
 * waits for; the missing rank may be on this node, so name those too. */
hx_status_t hx_stall_elsewhere(const struct hx_run *run, const struct hx_failure *failure)
{
    char here[HX_ABSENT_BYTES] = "";

    if (failure->rank == run->engine->members->rank || failure->status == HX_ERR_REVOKED) /* this rank has found the failure itself when another rank asked */
        return hx_fail((hx_status_t)failure->status, "%s: %s", run->name, failure->text);
    if (failure->status == HX_ERR_TIMEOUT && !run->engine->pairs)
        hx_awaited_describe(run, here, sizeof(here));
    return hx_fail((hx_status_t)failure->status, "%s, call %llu: %s%srank %d has failed in this communicator: %s", run->name,
                   (unsigned long long)(run->engine->call - run->engine->first_call), here, here[0] ? "; " : "", failure->rank,
                   failure->text);
}

/* Has a member of this group failed in this group, or in another group with this rank? Two looks running must find it: the other group may
 * come after this one, and then the member's last message for this group may arrive between two looks. */
static hx_status_t refusal(const struct hx_run *run)
{
    const struct hx_stage *stage = run->bound->stages[0].stage; /* its members are the same as ranks of the job */
    struct hx_engine *engine = run->engine;
    const int before = engine->refused;
    hx_status_t status;

    engine->refused = 0;
    for (int i = 0; i < stage->n; i++) {
        if (i == stage->me || (status = hx_pair_lost(engine, stage->members[i])) == HX_SUCCESS)
            continue;
        engine->refused = 1 + stage->members[i];
        if (engine->refused != before)
            return HX_SUCCESS;
        return hx_fail(status, "%s: rank %d of the job has failed in another hx_comm_group call with this rank: %s", run->name, stage->members[i],
                       hx_strerror(status));
    }
    return HX_SUCCESS;
}

/* Fail if the call is known to be unable to end. The order matters. If a rank has failed for another reason than a death, report that
 * reason: the rank may have ended since. If it has failed because of a death, report the death itself, which names the dead rank. */
static hx_status_t reason(const struct hx_run *run)
{
    const struct hx_failure *failure = hx_failure_look(run->engine, HX_ERR_PEER_DEAD);
    hx_status_t status = failure ? HX_SUCCESS : death(run);
    int finished;

    if (run->engine->pairs && status == HX_SUCCESS)
        status = refusal(run);
    if (!failure && status == HX_SUCCESS)
        status = (finished = finished_member(run)) < 0 ? HX_SUCCESS : absence_fail(run, finished, HX_HAS_FINISHED);
    if (!failure && status == HX_SUCCESS)
        failure = hx_failure_look(run->engine, HX_SUCCESS);
    return failure ? hx_stall_elsewhere(run, failure) : status;
}

/* Has member i of this node freed the communicator without entering this call? Then it never will. (hx_finalize frees all communicators in
 * the end; finished_member reports that case.) */
static int is_freed_by(const struct hx_run *run, int i)
{
    const struct hx_engine *engine = run->engine;
    const struct hx_comm_id *id = &engine->members->id;
    /* acquire pairs with the release in hx_number_leave: `entered` is then the last call of that rank */
    uint64_t closed =
        atomic_load_explicit(hx_shared_closed(engine->process->shared, engine->node.rows[i], id->number), memory_order_acquire);

    return !engine->pairs && closed > id->first_call && hx_awaited_is_outside(run, i) &&
           !hx_watch_has_finished(engine->node.shared, engine->node.rows[i]);
}

/* Fail if a rank of this node has freed the communicator without a failure: it makes fewer calls than this rank. (If it had failed before
 * it freed the communicator, its failure is visible now, and the next look reports that.) */
static hx_status_t freed(const struct hx_run *run)
{
    for (int i = 0; i < run->engine->node.n; i++)
        if (is_freed_by(run, i) && !hx_failure_look(run->engine, HX_SUCCESS))
            return hx_fail(HX_ERR_MISMATCH, "%s, call %llu: rank %d has freed this communicator before this call", run->name,
                           (unsigned long long)(run->engine->call - run->engine->first_call), run->engine->node.ranks[i]);
    return HX_SUCCESS;
}

/* Does the call wait because a rank of this node makes a different call, now or in the call before? Then run->status is HX_ERR_MISMATCH. */
static void compare(struct hx_run *run)
{
    const struct hx_node *node = &run->engine->node;
    uint64_t before = atomic_load_explicit(&run->engine->mine->left, memory_order_relaxed);

    for (int i = 0; i < node->n; i++) {
        struct hx_control *control = hx_node_control(node, i);
        uint64_t entered = atomic_load_explicit(&control->entered, memory_order_relaxed);
        uint64_t left = atomic_load_explicit(&control->left, memory_order_relaxed);
        int rank = node->ranks[i];
        if (hx_stamp_differs(run, run->stamp, rank, entered) || hx_stamp_differs(run, run->stamp, rank, left) ||
            hx_stamp_differs(run, before, rank, entered) || hx_stamp_differs(run, before, rank, left))
            return;
    }
}

/* Tell the ranks of other nodes with which this call has messages why it has failed: they may wait for these. */
static void pass_on(const struct hx_run *run)
{
    const struct hx_engine *engine = run->engine;
    int last = -1; /* rank that got the failure last: a stage's messages often go to one rank */

    for (const struct hx_bound_stage *bs = run->bound->stages; bs < run->bound->stages + run->bound->nstages; bs++)
        for (uint32_t i = 0; i < bs->stage->nsteps; i++) {
            const struct hx_step *step = &bs->stage->steps[i];
            int rank;
            if ((step->op != HX_OP_SEND && step->op != HX_OP_RECV) || bs->controls[step->peer])
                continue;
            rank = engine->members->ranks[bs->stage->members[step->peer]];
            if (rank != last)
                engine->process->owner->tell(engine, rank);
            last = rank;
        }
}

static int message_met_death(const struct hx_run *run)
{
    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);)
        if (at.t->far && at.t->net.done == -HX_ERR_PEER_DEAD)
            return 1;
    return 0;
}

void hx_stall_name(const struct hx_run *run)
{
    int dead = message_met_death(run) ? dead_member(run) : -1; /* else the detail names it already */

    if (dead >= 0)
        death_fail(run, dead);
}

void hx_stall_end(const struct hx_run *run)
{
    int known = dead_member(run) >= 0; /* if so, a peer whose connection breaks may only have left the job because of that death */

    for (struct hx_transfers at = {0}; !known && hx_transfer_next(run, &at);)
        if (at.t->far && at.t->net.done == -HX_ERR_PEER_DEAD)
            hx_watch_tell_gone(run->engine->process->shared, run->engine->process->net, at.t->net.peer);
    if (run->engine->process->net)
        pass_on(run);
}

/* Bytes moved in messages of the call. They show progress within long messages. */
static uint64_t bytes_moved(const struct hx_run *run)
{
    uint64_t bytes = 0;

    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);)
        bytes += at.t->net.completed_bytes;
    return bytes;
}

void hx_stall_tell(void *ctx)
{
    struct hx_run *run = ctx;
    const struct hx_node *node = &run->engine->node;
    uint64_t bytes = bytes_moved(run);

    if (bytes != run->engine->bytes_moved)
        hx_wait_clock_renew(&run->engine->wait_clock);
    run->engine->bytes_moved = bytes;

    if (run->status == HX_SUCCESS && (run->status = run->engine->members->failed) != HX_SUCCESS)
        hx_recall(run->engine->members->detail); /* another thread's call has failed: ranks that know this do not enter this call */
    if (run->status == HX_SUCCESS)
        run->status = failure(run);
    if (run->status == HX_SUCCESS && run->engine->process->net)
        run->status = doubts(run);
    if (run->status == HX_SUCCESS) /* before the search for deaths: a rank may have ended because of this error */
        compare(run);
    if (run->status == HX_SUCCESS) {
        int is_sure, rank = hx_awaited_by(run, &is_sure);
        hx_stand_write(run, rank, is_sure);
        run->status = reason(run);
        if (run->status == HX_SUCCESS)
            run->status = freed(run);
        if (run->status == HX_SUCCESS)
            run->status = hx_stand_cross(run);
        if (run->status != HX_SUCCESS)
            hx_detail_keep(run->engine->members->why); /* another thread may end the call */
        else
            hx_awaited_warn(run);
    }
    atomic_store_explicit(&hx_node_control(node, node->me)->waits_for, 1 + hx_awaited_remote(run), memory_order_relaxed);
}

