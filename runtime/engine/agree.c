/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreements: see agree.h, which has the rules A1 to A5. */
#include "runtime/engine/agree.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MOST 8          /* ranks of other nodes that are asked at once */
#define LEFT UINT64_MAX       /* the part of a rank that has freed the communicator */
#define DECIDED UINT64_C(1)
#define HELD_FOR_DEAD INT_MIN   /* as a step's result: the others have decided without this rank */
#define NO_RANK (-1)

struct far_part { /* the part of a member on another node, by its last message */
    uint64_t state, words[HX_AGREE_WORDS];
};

struct hx_agree {
    uint32_t number;   /* of the last agreement begun, from 1 */
    int is_open;       /* a thread waits in it */
    int coordinator;   /* those below have died or left */
    int told;          /* the coordinator to which mine was sent, in this state */
    uint64_t told_state;
    int told_deaths;   /* of members on this node, that members on other nodes know */
    struct hx_process *process;
    struct hx_members *members;
    struct hx_agree_line *mine;
    struct far_part *parts; /* [size]; of members on other nodes */
    struct hx_wait_clock wait_clock;
    int result;
    /* a proposal of another node, until all of its messages are here */
    uint64_t arriving, arrived; /* its state; a bit for each message */
    uint64_t value[HX_AGREE_WORDS];
    uint64_t *said;             /* [words] its members */
};

/* ---- parts ---------------------------------------------------------------------------------------------------- */

static uint64_t part_of(uint32_t number, int accepted)
{
    return (uint64_t)number << 32 | (uint64_t)(accepted + 1) << 1;
}

static uint32_t number_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

static int accepted_in(uint64_t state) /* the rank with the accepted proposal, or NO_RANK */
{
    return (int)((state & UINT32_MAX) >> 1) - 1;
}

static int has_decided(uint64_t state, uint32_t number)
{
    return number_of(state) > number || (number_of(state) == number && (state & DECIDED));
}

static size_t member_words(const struct hx_members *members)
{
    return ((size_t)members->size + 63) / 64;
}

static struct hx_agree *agree_of(struct hx_process *process, struct hx_members *members)
{
    const size_t size = (size_t)members->size, words = member_words(members);
    struct hx_agree *a = members->agree;

    if (a || !members->blocking || !members->blocking->mine)
        return a;
    if (!(a = calloc(1, sizeof(*a) + size * sizeof(*a->parts) + words * sizeof(uint64_t))))
        return NULL;
    a->process = process;
    a->members = members;
    a->parts = (struct far_part *)(void *)(a + 1);
    a->said = (uint64_t *)(void *)(a->parts + size);
    a->told = NO_RANK;
    a->mine = hx_node_agreement(&members->blocking->node, members->local_me);
    atomic_store_explicit(&a->mine->state, 0, memory_order_relaxed); /* left by an earlier communicator */
    /* pairs with the acquire in state_read */
    atomic_store_explicit(&a->mine->generation, UINT64_C(1) + members->id.generation, memory_order_release);
    return members->agree = a;
}

/* The place of a member among those of this node, or -1. */
static int near_of(const struct hx_members *members, int rank)
{
    const struct hx_shape *shape = members->shape;

    return shape->node_of[rank] == shape->node_of[members->rank] ? shape->local_of[rank] : -1;
}

static uint64_t state_read(const struct hx_members *members, struct hx_agree_line *line)
{
    /* acquire pairs with the release in agree_of, and below with that in publish */
    if (atomic_load_explicit(&line->generation, memory_order_acquire) != UINT64_C(1) + members->id.generation)
        return 0;
    return atomic_load_explicit(&line->state, memory_order_acquire);
}

static uint64_t state_mine(const struct hx_agree *a)
{
    return state_read(a->members, a->mine);
}

/* The part of a member, as far as this rank knows it. words, value and members may be NULL. */
static uint64_t part_read(const struct hx_agree *a, int rank, const uint64_t **words, const uint64_t **value, const uint64_t **members)
{
    const int near = near_of(a->members, rank);
    struct hx_agree_line *line = near >= 0 ? hx_node_agreement(&a->members->blocking->node, near) : NULL;

    if (words)
        *words = line ? line->words : a->parts[rank].words;
    if (value)
        *value = line ? line->value : a->value;
    if (members)
        *members = line ? line->members : a->said;
    return line ? state_read(a->members, line) : a->parts[rank].state;
}

/* Has the member died, or left the communicator or the job? Then it publishes no more. */
static int is_gone(const struct hx_agree *a, int rank)
{
    const struct hx_shared *shared = a->process->shared;
    const struct hx_job_entry *entry = &shared->table[a->members->ranks[rank]];
    const struct hx_comm_id *id = &a->members->id;
    const int near = near_of(a->members, rank), row = near >= 0 ? a->members->rows[near] : -1;

    if (rank == a->members->rank)
        return 0;
    if (atomic_load_explicit(&entry->dead, memory_order_relaxed) || atomic_load_explicit(&entry->finished, memory_order_relaxed))
        return 1;
    if (near < 0)
        return a->parts[rank].state == LEFT;
    /* acquire pairs with the release in hx_number_leave */
    return hx_watch_has_finished(shared, row) ||
           atomic_load_explicit(hx_shared_closed(shared, row, id->number), memory_order_acquire) > id->first_call;
}

/* ---- telling -------------------------------------------------------------------------------------------------- */

static struct hx_control_message message_of(const struct hx_members *members, int asks)
{
    struct hx_agree_line *line = hx_node_agreement(&members->blocking->node, members->local_me);
    struct hx_control_message message = {.kind = HX_MESSAGE_AGREE, .status = asks, .context = members->blocking->context,
                                         .generation = members->id.generation, .agree.state = state_read(members, line)};

    memcpy(message.agree.words, line->words, sizeof(line->words));
    memcpy(message.agree.value, line->value, sizeof(line->value));
    return message;
}

void hx_agree_tell(const struct hx_process *process, const struct hx_members *members, int rank)
{
    const struct hx_agree_line *line = hx_node_agreement(&members->blocking->node, members->local_me);
    struct hx_control_message message = message_of(members, 0);
    const size_t words = member_words(members), each = HX_MESSAGE_AGREE_MEMBERS;

    if (accepted_in(message.agree.state) == members->rank) /* a proposal */
        message.agree.of = (uint32_t)((words + each - 1) / each);
    for (uint32_t at = 0; at == 0 || at < message.agree.of; at++) {
        const size_t from = at * each, n = words - from < each ? words - from : each;
        message.agree.at = at;
        if (message.agree.of)
            memcpy(message.agree.members, line->members + from, n * sizeof(uint64_t));
        hx_registry.net->tell(process->net, members->ranks[rank], &message);
    }
}

void hx_agree_left_tell(const struct hx_process *process, int peer, const struct hx_control_message *message)
{
    const struct hx_control_message left = {.kind = HX_MESSAGE_AGREE, .context = message->context, .generation = message->generation,
                                            .agree.state = LEFT};

    if (message->agree.state != LEFT)
        hx_registry.net->tell(process->net, peer, &left);
}

/* Tell the members on other nodes, with all deaths that this rank knows. */
static void others_tell(const struct hx_agree *a)
{
    for (int rank = 0; rank < a->members->size && a->process->net; rank++)
        if (near_of(a->members, rank) < 0 && !is_gone(a, rank))
            a->process->owner->tell(a->members->blocking, a->members->ranks[rank]);
}

static void publish(const struct hx_agree *a, uint64_t state)
{
    const struct hx_members *members = a->members;
    const struct hx_node *node = &members->blocking->node;

    atomic_store_explicit(&a->mine->state, state, memory_order_release); /* pairs with the acquire in state_read */
    hx_wake_fence();
    for (int i = 0; i < members->local_n; i++)
        if (i != members->local_me)
            hx_wake(node->shared, hx_node_doorbell(node, i));
}

/* ---- hearing -------------------------------------------------------------------------------------------------- */

/* A message with a part of a proposal. Returns 1 once all of them are here. */
static int proposal_heard(struct hx_agree *a, const struct hx_control_message *message)
{
    const size_t words = member_words(a->members), each = HX_MESSAGE_AGREE_MEMBERS, from = message->agree.at * each;
    const uint64_t all = message->agree.of < 64 ? (UINT64_C(1) << message->agree.of) - 1 : UINT64_MAX;
    const uint64_t proposal = message->agree.state & ~DECIDED;

    if (message->agree.of != (words + each - 1) / each || message->agree.of > 64 || message->agree.at >= message->agree.of)
        return 0;
    if (a->arriving > proposal)
        return 0;
    if (a->arriving < proposal) {
        a->arriving = proposal;
        a->arrived = 0;
        memcpy(a->value, message->agree.value, sizeof(a->value));
    }
    memcpy(a->said + from, message->agree.members, (words - from < each ? words - from : each) * sizeof(uint64_t));
    a->arrived |= UINT64_C(1) << message->agree.at;
    return a->arrived == all;
}

void hx_agree_heard(struct hx_process *process, struct hx_members *members, int rank, const struct hx_control_message *message)
{
    struct hx_agree *a = agree_of(process, members);
    const uint64_t theirs = message->agree.state;
    uint64_t mine;

    if (!a || near_of(members, rank) >= 0) /* without memory nothing is known of others: the wait ends at HX_TIMEOUT */
        return;
    if (theirs > a->parts[rank].state && (theirs == LEFT || accepted_in(theirs) != rank || proposal_heard(a, message))) {
        a->parts[rank].state = theirs;
        memcpy(a->parts[rank].words, message->agree.words, sizeof(message->agree.words));
    }
    mine = state_mine(a);
    if (theirs != LEFT && (message->status || (!has_decided(theirs, number_of(mine)) && has_decided(mine, number_of(theirs)))))
        hx_agree_tell(process, members, rank);
}

/* ---- the rules ------------------------------------------------------------------------------------------------ */

static int decide(const struct hx_agree *a)
{
    const uint64_t state = state_mine(a);

    if (accepted_in(state) == NO_RANK)
        return HELD_FOR_DEAD;
    publish(a, state | DECIDED);
    return 1;
}

/* A2: the words of all that are there. Returns 0 if not all have given them. */
static int combine(const struct hx_agree *a)
{
    struct hx_agree_line *mine = a->mine;
    const uint64_t *words;

    for (int rank = 0; rank < a->members->size; rank++) {
        const uint64_t state = is_gone(a, rank) ? UINT64_MAX : part_read(a, rank, NULL, NULL, NULL);
        if (number_of(state) < a->number)
            return 0;
        if (state != UINT64_MAX && has_decided(state, a->number))
            return HELD_FOR_DEAD;
    }
    memcpy(mine->value, mine->words, sizeof(mine->value));
    memset(mine->members, 0, member_words(a->members) * sizeof(uint64_t));
    for (int rank = 0; rank < a->members->size; rank++) {
        const uint64_t state = part_read(a, rank, &words, NULL, NULL);
        if (is_gone(a, rank) || number_of(state) != a->number)
            continue;
        mine->value[0] &= words[0];
        for (int i = 1; i < HX_AGREE_WORDS; i++)
            mine->value[i] = words[i] < mine->value[i] ? words[i] : mine->value[i];
        mine->members[rank / 64] |= UINT64_C(1) << (rank % 64);
    }
    return 1;
}

/* Has a member that is there yet to accept this rank's proposal? */
static int is_awaited(const struct hx_agree *a, int rank)
{
    const uint64_t state = part_read(a, rank, NULL, NULL, NULL);

    return rank != a->members->rank && !has_decided(state, a->number) && state != part_of(a->number, a->members->rank) && !is_gone(a, rank);
}

static int coordinator_step(const struct hx_agree *a)
{
    const int me = a->members->rank;
    const int accepted = accepted_in(state_mine(a));
    int ready;

    if (accepted != me) {
        if (accepted == NO_RANK && (ready = combine(a)) != 1)
            return ready;
        publish(a, part_of(a->number, me));
        others_tell(a);
    }
    for (int rank = 0; rank < a->members->size; rank++)
        if (is_awaited(a, rank))
            return 0;
    decide(a);
    others_tell(a);
    return 1;
}

static int member_step(struct hx_agree *a)
{
    const int far = near_of(a->members, a->coordinator) < 0;
    const uint64_t *value, *members, state = part_read(a, a->coordinator, NULL, &value, &members);
    const int is_here = !far || a->arriving == (state & ~DECIDED); /* else a higher rank's proposal has replaced it */
    uint64_t mine = state_mine(a);

    if (is_here && number_of(state) == a->number && accepted_in(state) == a->coordinator && accepted_in(mine) < a->coordinator) { /* A3 */
        memcpy(a->mine->value, value, sizeof(a->mine->value));
        memcpy(a->mine->members, members, member_words(a->members) * sizeof(uint64_t));
        publish(a, mine = part_of(a->number, a->coordinator));
    }
    if (has_decided(state, a->number)) /* A5 */
        return decide(a);
    if (far && (a->told != a->coordinator || a->told_state != mine)) {
        a->process->owner->tell(a->members->blocking, a->members->ranks[a->coordinator]);
        a->told = a->coordinator;
        a->told_state = mine;
    }
    return 0;
}

static int step(struct hx_agree *a)
{
    while (is_gone(a, a->coordinator))
        a->coordinator++;
    return a->coordinator == a->members->rank ? coordinator_step(a) : member_step(a);
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

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
    return (a->result = step(a)) != 0;
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
    const int me = a->members->rank;

    if (a->coordinator != me)
        return rank == a->coordinator;
    return is_awaited(a, rank) && (accepted_in(state_mine(a)) == me || number_of(part_read(a, rank, NULL, NULL, NULL)) < a->number);
}

/* Is it likely that this rank soon waits for that member? If the coordinator's node has gone, all of its ranks have died at once. */
static int may_wait_for(const struct hx_agree *a, int rank)
{
    return a->coordinator != a->members->rank && rank > a->coordinator && !is_gone(a, rank);
}

/* The ranks of a node find its dead long before other ranks do. The first of them tells all others, each tells its coordinator. */
static void deaths_tell(struct hx_agree *a)
{
    const struct hx_members *members = a->members;
    const struct hx_job_entry *table = a->process->shared->table;
    int deaths = 0, first = 1;

    for (int i = 0; i < members->local_n; i++) {
        const int rank = members->local_ranks[i];
        deaths += atomic_load_explicit(&table[members->ranks[rank]].dead, memory_order_relaxed) != 0;
        first &= rank >= members->rank || is_gone(a, rank);
    }
    if (deaths == a->told_deaths || !a->process->net)
        return;
    a->told_deaths = deaths;
    if (first)
        others_tell(a);
    else if (near_of(members, a->coordinator) < 0)
        a->process->owner->tell(members->blocking, members->ranks[a->coordinator]);
}

/* The wait is long: have those for which it waits died? */
static void slow(void *ctx)
{
    struct hx_agree *a = ctx;
    const struct hx_control_message question = message_of(a->members, 1);
    int asked = 0;

    hx_watch_look(a->process->shared);
    deaths_tell(a);
    for (int rank = 0; rank < a->members->size; rank++) {
        const int job_rank = a->members->ranks[rank];
        if (!waits_for(a, rank) && !may_wait_for(a, rank))
            continue;
        if (near_of(a->members, rank) >= 0)
            hx_watch_look_at(a->process->shared, job_rank);
        else if (asked++ < ASKED_MOST)
            hx_late_ask(a->process, job_rank, &question, a->wait_clock.waited);
    }
}

static hx_status_t late_fail(const struct hx_agree *a, const char *name)
{
    int rank = 0;

    while (rank < a->members->size - 1 && !waits_for(a, rank))
        rank++;
    return hx_fail(HX_ERR_TIMEOUT, "%s: waited %g s (%s) for rank %d, which has not made this call; call hx_comm_revoke so that "
                   "all ranks come here", name, *a->members->timeout_s, a->members->timeout_by, rank);
}

/* A1 */
static void give(struct hx_agree *a, const uint64_t *words)
{
    if (a->number != 0 && !has_decided(state_mine(a), a->number))
        return; /* it goes on with the one that has timed out */
    a->number++;
    memcpy(a->mine->words, words, sizeof(a->mine->words));
    publish(a, part_of(a->number, NO_RANK));
    a->told = NO_RANK;
}

hx_status_t hx_agree_begin(struct hx_process *process, struct hx_members *members, const struct hx_agreement *agreement)
{
    struct hx_agree *a = agree_of(process, members);
    uint64_t words[HX_AGREE_WORDS];

    if (!a)
        return hx_fail(HX_ERR_NOMEM, "%s: no memory for %d ranks", agreement->name, members->size);
    if (a->is_open)
        return hx_fail(HX_ERR_STATE, "%s: another thread is in such a call on this communicator", agreement->name);
    memcpy(words, agreement->words, sizeof(words));
    words[0] = (words[0] & UINT32_MAX) | (uint64_t)~(1u << agreement->kind) << 32; /* by AND, the kinds that are there become 0 */
    give(a, words);
    a->is_open = 1;
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

hx_status_t hx_agree_end(const struct hx_members *members, hx_status_t waited, struct hx_agreement *agreement)
{
    struct hx_agree *a = members->agree;

    a->is_open = 0;
    hx_stand_clear(a->process);
    if (waited == HX_ERR_TIMEOUT)
        return late_fail(a, agreement->name);
    if (a->result == HELD_FOR_DEAD)
        return hx_fail(HX_ERR_PEER_DEAD, "%s: the other ranks hold this rank for dead", agreement->name);
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
