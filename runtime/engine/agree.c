/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of agreements: begin, wait, ask late members, end. See agree_state.h. */
#include "runtime/engine/agree.h"
#include "runtime/engine/agree_state.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include <string.h>

#define ASKED_MOST 8 /* ranks of other nodes that are asked at once */

/* Returns nonzero when the agreement has ended. */
static int advance(struct hx_agree *a)
{
    struct hx_process *process = a->process;
    const int events = process->net ? hx_registry.net->progress(process->net) : 0;

    if (events > 0)
        hx_notify(&process->waiter);
    if (events < 0 && a->members->local_n < a->members->size) {
        hx_recall(hx_registry.net->why(process->net));
        a->result = events; /* -hx_status_t; HX_ERR_ARG is none of the network's */
        return 1;
    }
    return (a->result = hx_agree_step(a)) != 0;
}

static int look(void *ctx)
{
    struct hx_agree *a = ctx;

    a->process->owner->pump(a->process);
    return advance(a);
}

/* Does this rank wait for that member? */
static int waits_for(const struct hx_agree *a, int rank)
{
    return a->coordinator == a->members->rank ? hx_agree_is_awaited(a, rank) : rank == a->coordinator;
}

/* May this rank soon wait for that member, or may that member have decided? The next coordinator may be any member, since all ranks of a node
 * may die at once. A member that follows this rank's coordinator or a higher one is not asked again: if it learns of a decision, it sends it
 * to this rank (followers_tell). */
static int may_wait_for(const struct hx_agree *a, int rank)
{
    return a->coordinator != a->members->rank && rank > a->coordinator && rank != a->members->rank && !hx_agree_is_gone(a, rank) &&
           hx_agree_part_of(a, rank).promise < place_of(a->number, a->coordinator);
}

/* Returns 1 if that takes a message: the member is on another node. */
static int member_ask(const struct hx_agree *a, int rank, const struct hx_control_message *question)
{
    const int job_rank = a->members->ranks[rank];

    if (near_of(a->members, rank) >= 0) {
        hx_watch_look_at(a->process->shared, job_rank);
        return 0;
    }
    a->parts[rank].knows = number_of(question->agree.promise);
    hx_late_ask(a->process, job_rank, question, a->wait_clock.waited);
    return 1;
}

/* The ranks of a node find its dead long before other ranks do. The first of them tells all others. Each tells its coordinator what it knows. */
static void deaths_tell(struct hx_agree *a)
{
    const struct hx_members *members = a->members;
    unsigned deaths = 0, near = 0;
    int first = 1;

    for (int rank = 0; rank < members->size; rank++)
        deaths += (unsigned)hx_agree_is_gone(a, rank) + (unsigned)hx_agree_is_over(a, rank);
    for (int i = 0; i < members->local_n; i++) {
        near += (unsigned)hx_agree_is_gone(a, members->local_ranks[i]);
        first &= members->local_ranks[i] >= members->rank || hx_agree_is_gone(a, members->local_ranks[i]);
    }
    if (deaths == a->told_deaths || !a->process->net)
        return;
    if ((near != a->near_deaths && first) || a->coordinator == members->rank)
        hx_agree_others_tell(a);
    else if (near_of(members, a->coordinator) < 0)
        a->process->owner->tell(members->blocking, members->ranks[a->coordinator]);
    a->told_deaths = deaths;
    a->near_deaths = near;
}

/* A member asks its coordinator each time, and a few of the others in turn. So members that do not answer do not keep it from asking the rest. */
static void others_ask(struct hx_agree *a)
{
    const struct hx_control_message question = hx_agree_message(a->members, 1);
    const int size = a->members->size, me = a->members->rank;
    int asked = a->coordinator != me && member_ask(a, a->coordinator, &question), i = 0;

    for (; i < size && asked < ASKED_MOST; i++) {
        const int rank = (a->asks_from + i) % size;
        if (a->coordinator == me ? hx_agree_is_awaited(a, rank) : may_wait_for(a, rank))
            asked += member_ask(a, rank, &question);
    }
    a->asks_from = (a->asks_from + i) % size;
}

/* For ranks that wait for this one: it is in the agreement. */
static void stand_write(const struct hx_agree *a)
{
    const int awaited = a->coordinator == a->members->rank ? -1 : a->members->ranks[a->coordinator];

    hx_stand_write_message(a->process, a->members->blocking->context, awaited, (struct hx_signature){.purpose = (int16_t)a->purpose});
}

/* The wait is long: look for deaths and for decisions, and ask members. */
static void slow(void *ctx)
{
    struct hx_agree *a = ctx;

    stand_write(a);
    hx_watch_look(a->process->shared);
    deaths_tell(a);
    a->is_hopeless = hx_agree_quorum(a) == MINORITY;
    for (int rank = 0; rank < a->members->size; rank++)
        if (rank != a->members->rank && has_decided(hx_agree_part_of(a, rank), a->number))
            a->decider = rank;
    others_ask(a);
}

static hx_status_t late_fail(const struct hx_agree *a, const char *name)
{
    int rank = 0;

    while (rank < a->members->size - 1 && !waits_for(a, rank))
        rank++;
    return hx_fail(HX_ERR_TIMEOUT, "%s: waited %g s (%s) for rank %d, which has not made this call; call hx_comm_revoke so that "
                   "all ranks come here", name, *a->members->timeout_s, a->members->timeout_by, rank);
}

static hx_status_t minority_fail(const struct hx_agree *a, const char *name)
{
    const struct census census = hx_agree_census(a);
    const int size = a->members->size, lost = size - census.here - (int)census.over;

    return hx_fail(HX_ERR_MINORITY, "%s: only %d of %d ranks can be reached. %d others cannot, and may still run. End this process, or "
                   "start it again as a new member when the network works. HX_QUORUM=any lets each part continue", name, census.here, size, lost);
}

/* A1 */
static void give(struct hx_agree *a, const uint64_t *words)
{
    if (a->number != 0 && !has_decided(hx_agree_part_mine(a), a->number))
        return; /* it goes on with the one that has timed out */
    a->number++;
    a->wanted = a->decider = NO_RANK;
    a->needs_over = 0;
    memcpy(a->mine->words, words, sizeof(a->mine->words));
    hx_agree_publish(a, &a->mine->state, place_of(a->number, NO_RANK));
    a->told = NO_RANK;
}

hx_status_t hx_agree_begin(struct hx_process *process, struct hx_members *members, const struct hx_agreement *agreement)
{
    static const enum hx_purpose purposes[] = {[HX_AGREE_COMMIT] = HX_FOR_COMMIT, [HX_AGREE_GROW] = HX_FOR_GROW, [HX_AGREE_FLAGS] = HX_FOR_AGREE,
                                               [HX_AGREE_MEMBERS] = HX_FOR_SHRINK, [HX_AGREE_MADE] = HX_FOR_SHRINK};
    struct hx_agree *a = hx_agree_of(process, members);
    uint64_t words[HX_AGREE_WORDS];

    if (!a)
        return hx_fail(HX_ERR_NOMEM, "%s: no memory for %d ranks", agreement->name, members->size);
    if (a->is_open)
        return hx_fail(HX_ERR_STATE, "%s: another thread is in such a call on this communicator", agreement->name);
    memcpy(words, agreement->words, sizeof(words));
    words[0] = (words[0] & UINT32_MAX) | (uint64_t)~(1u << agreement->kind) << 32; /* by AND, the kinds that are there become 0 */
    give(a, words);
    a->purpose = purposes[agreement->kind];
    a->is_open = 1;
    a->is_hopeless = 0;
    a->wait_clock = (struct hx_wait_clock){0};
    return HX_SUCCESS;
}

int hx_agree_is_open(const struct hx_members *members)
{
    return members->agree && members->agree->is_open;
}

int hx_agree_advance(const struct hx_members *members)
{
    return advance(members->agree);
}

struct hx_wait_clock *hx_agree_clock(const struct hx_members *members)
{
    return &members->agree->wait_clock;
}

void hx_agree_slow(const struct hx_members *members)
{
    slow(members->agree);
}

/* This rank may live on. Ranks that do not know why it fails must not wait for it: it is gone for them. */
static void step_out(struct hx_agree *a)
{
    if (a->out)
        return;
    a->out = a->result;
    hx_agree_publish(a, &a->mine->promise, LEFT_UNKNOWN);
    hx_agree_others_tell(a); /* also what this rank knows of others */
}

hx_status_t hx_agree_end(const struct hx_members *members, hx_status_t waited, struct hx_agreement *agreement)
{
    struct hx_agree *a = members->agree;

    a->is_open = 0;
    hx_stand_clear(a->process);
    if (waited == HX_ERR_TIMEOUT)
        return late_fail(a, agreement->name);
    if (waited != HX_SUCCESS)
        return waited;
    if (a->result == HELD_FOR_DEAD || a->result == MINORITY)
        step_out(a);
    if (a->result == HELD_FOR_DEAD)
        return hx_fail(HX_ERR_PEER_DEAD, "%s: the other ranks treat this rank as dead", agreement->name);
    if (a->result == MINORITY)
        return minority_fail(a, agreement->name);
    if (a->result < 0)
        return (hx_status_t)-a->result;
    memcpy(agreement->words, a->mine->value, sizeof(agreement->words));
    agreement->kinds = ~(unsigned)(agreement->words[0] >> 32);
    agreement->words[0] &= UINT32_MAX;
    agreement->members = a->mine->members;
    return HX_SUCCESS;
}

hx_status_t hx_agree(struct hx_process *process, struct hx_members *members, struct hx_agreement *agreement)
{
    hx_status_t status = hx_agree_begin(process, members, agreement);
    struct hx_agree *a = members->agree;

    if (status != HX_SUCCESS)
        return status;
    status = hx_wait_until(&process->waiter, &(struct hx_wait){look, slow, a, *members->timeout_s, &a->wait_clock});
    return hx_agree_end(members, status, agreement);
}
