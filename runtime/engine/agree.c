/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreements: see agree.h, which has the rules A1 to A6. */
#include "runtime/engine/agree.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MOST 8          /* ranks of other nodes that are asked at once */
#define LEFT UINT64_MAX       /* the promise of a rank that has freed the communicator */
#define LEFT_UNKNOWN (LEFT - 1) /* the same, and it no longer knows what it has decided there */
#define NO_RANK (-1)
/* results of a step, besides 0: wait, and 1: decided, and minus the status of the network */
#define HELD_FOR_DEAD INT_MIN /* the others have decided without this rank */
#define MINORITY (INT_MIN + 1)

enum quorum { QUORUM_MAJORITY, QUORUM_ANY }; /* as HX_QUORUM names them */

/* The state that a member has published, as this rank knows it. Each is a place: a number of an agreement, and 1 + a rank. It only grows. */
struct part {
    uint64_t promise; /* which coordinator it follows */
    uint64_t state;   /* the proposal that it has accepted */
    uint64_t decided; /* the agreement that it has decided last, and by whose proposal */
};

struct far_part { /* of a member on another node, by its messages */
    struct part part;
    uint64_t words[HX_AGREE_WORDS];
    uint32_t over; /* how many members it knows to be over */
    uint32_t knows; /* the agreement of the promise that this rank has last sent to it */
};

struct hx_agree {
    uint32_t number;   /* of the last agreement begun, from 1 */
    int is_open;       /* a thread waits in it */
    int is_hopeless;   /* the ranks that are left may not go on */
    int coordinator;   /* those below are gone */
    int wanted;        /* the proposal that this rank has accepted is still to come from it; NO_RANK: from none */
    uint32_t needs_over; /* members have to know that so many are over before this coordinator goes on; 0: they need not */
    int decider;       /* a member that has decided; NO_RANK: none was found by slow, or in a message */
    int asks_from;     /* the first member to be asked when the wait is long again */
    int told;          /* the coordinator to which mine was sent, in this state */
    uint64_t told_state;
    unsigned told_deaths, near_deaths; /* of all members, and of those on this node, that members on other nodes know */
    struct hx_process *process;
    struct hx_members *members;
    struct hx_agree_line *mine;
    struct far_part *parts; /* [size]; of members on other nodes */
    struct hx_wait_clock wait_clock;
    int result;
    /* the highest proposal of a lower rank that has arrived from other nodes */
    uint64_t arriving, arrived; /* its place; a bit for each of its messages */
    int is_here;                /* all of them have arrived */
    uint64_t value[HX_AGREE_WORDS];
    uint64_t *said;             /* [words] its members */
};

/* ---- parts ---------------------------------------------------------------------------------------------------- */

static uint64_t place_of(uint32_t number, int rank)
{
    return (uint64_t)number << 32 | (uint64_t)(rank + 1);
}

static uint32_t number_of(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

static int rank_of(uint64_t place) /* or NO_RANK */
{
    return (int)(uint32_t)place - 1;
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
    a->told = a->wanted = a->decider = NO_RANK;
    a->mine = hx_node_agreement(&members->blocking->node, members->local_me);
    atomic_store_explicit(&a->mine->promise, 0, memory_order_relaxed); /* left by an earlier communicator */
    atomic_store_explicit(&a->mine->state, 0, memory_order_relaxed);
    atomic_store_explicit(&a->mine->decided, 0, memory_order_relaxed);
    /* pairs with the acquire in line_read */
    atomic_store_explicit(&a->mine->generation, UINT64_C(1) + members->id.generation, memory_order_release);
    return members->agree = a;
}

/* The place of a member among those of this node, or -1. */
static int near_of(const struct hx_members *members, int rank)
{
    const struct hx_shape *shape = members->shape;

    return shape->node_of[rank] == shape->node_of[members->rank] ? shape->local_of[rank] : -1;
}

static struct part line_read(const struct hx_members *members, struct hx_agree_line *line)
{
    struct part part = {0};

    /* acquire pairs with the release in agree_of, and below with that in publish */
    if (atomic_load_explicit(&line->generation, memory_order_acquire) != UINT64_C(1) + members->id.generation)
        return part;
    part.promise = atomic_load_explicit(&line->promise, memory_order_acquire); /* first: see agree.h */
    part.state = atomic_load_explicit(&line->state, memory_order_acquire);
    part.decided = atomic_load_explicit(&line->decided, memory_order_acquire);
    return part;
}

static struct part part_mine(const struct hx_agree *a)
{
    return line_read(a->members, a->mine);
}

static struct hx_agree_line *line_of(const struct hx_agree *a, int rank) /* NULL: it is on another node */
{
    const int near = near_of(a->members, rank);

    return near >= 0 ? hx_node_agreement(&a->members->blocking->node, near) : NULL;
}

static struct part part_of(const struct hx_agree *a, int rank)
{
    struct hx_agree_line *line = line_of(a, rank);

    return line ? line_read(a->members, line) : a->parts[rank].part;
}

static int has_decided(struct part part, uint32_t number)
{
    return number_of(part.decided) >= number;
}

/* The rank whose proposal this is, in this agreement, or NO_RANK */
static int accepted_in(const struct hx_agree *a, struct part part)
{
    return number_of(part.state) == a->number ? rank_of(part.state) : NO_RANK;
}

/* ---- gone and over --------------------------------------------------------------------------------------------- */

/* Has a member of this node freed the communicator? */
static int has_closed(const struct hx_agree *a, int near)
{
    const struct hx_comm_id *id = &a->members->id;

    /* acquire pairs with the release in hx_number_leave */
    return atomic_load_explicit(hx_shared_closed(a->process->shared, a->members->rows[near], id->number), memory_order_acquire) > id->first_call;
}

/* Is it certain that the member takes no further step, and was it not left unknown what it has decided? */
static int is_over(const struct hx_agree *a, int rank)
{
    const struct hx_shared *shared = a->process->shared;
    const struct hx_job_entry *entry = &shared->table[a->members->ranks[rank]];
    const int near = near_of(a->members, rank);

    if (rank == a->members->rank)
        return 0;
    /* acquire pairs with the release in hx_watch_tell */
    if (atomic_load_explicit(&entry->ended, memory_order_acquire) || atomic_load_explicit(&entry->finished, memory_order_relaxed))
        return 1;
    if (near < 0)
        return a->parts[rank].part.promise == LEFT;
    return hx_watch_has_finished(shared, a->members->rows[near]) ||
           (has_closed(a, near) &&
            atomic_load_explicit(&line_of(a, rank)->generation, memory_order_acquire) <= UINT64_C(1) + a->members->id.generation);
}

/* Has the member died, or left the communicator or the job? Or do this rank and that member not reach each other? */
static int is_gone(const struct hx_agree *a, int rank)
{
    const struct hx_job_entry *entry = &a->process->shared->table[a->members->ranks[rank]];
    const int near = near_of(a->members, rank);
    uint64_t promise;

    if (rank == a->members->rank)
        return 0;
    /* acquire pairs with the release in hx_watch_tell */
    if (atomic_load_explicit(&entry->dead, memory_order_acquire) || is_over(a, rank) || (near >= 0 && has_closed(a, near)))
        return 1;
    promise = part_of(a, rank).promise;
    return promise >= LEFT_UNKNOWN || (number_of(promise) == a->number && rank_of(promise) > a->members->rank); /* it holds this one for gone */
}

struct census {
    int here; /* members that are not gone */
    uint32_t over;
};

static struct census census_take(const struct hx_agree *a)
{
    struct census census = {0, 0};

    for (int rank = 0; rank < a->members->size; rank++) {
        const int gone = is_gone(a, rank); /* once: a rank that ends now is here, or over, and not both */
        census.here += !gone;
        census.over += gone && is_over(a, rank);
    }
    return census;
}

/* Does a member have yet to know that so many are over? Those of this node see what this one sees. */
static int is_ignorant(const struct hx_agree *a, int rank, uint32_t over)
{
    return near_of(a->members, rank) < 0 && !is_gone(a, rank) && a->parts[rank].over < over;
}

/* A6: may the members that are here agree? Returns 1, 0: it is not certain yet, or MINORITY. */
static int quorum(struct hx_agree *a)
{
    const int size = a->members->size;
    const struct census census = census_take(a);

    a->needs_over = 0;
    if (census.here == size || 2 * census.here > size || (2 * census.here == size && !is_gone(a, 0)) ||
        a->process->env->quorum == QUORUM_ANY)
        return 1;
    if (census.here + (int)census.over < size)
        return MINORITY;
    for (int rank = 0; rank < size; rank++)
        if (is_ignorant(a, rank, census.over)) {
            a->needs_over = census.over;
            return 0;
        }
    return 1;
}

/* ---- telling -------------------------------------------------------------------------------------------------- */

static struct hx_control_message message_of(const struct hx_members *members, int asks)
{
    struct hx_agree_line *line = hx_node_agreement(&members->blocking->node, members->local_me);
    const struct part part = line_read(members, line);
    struct hx_control_message message = {.kind = HX_MESSAGE_AGREE, .status = asks, .context = members->blocking->context,
                                         .generation = members->id.generation,
                                         .agree = {.promise = part.promise, .state = part.state, .decided = part.decided}};

    memcpy(message.agree.words, line->words, sizeof(line->words));
    memcpy(message.agree.value, line->value, sizeof(line->value));
    message.agree.over = members->agree ? census_take(members->agree).over : 0;
    return message;
}

/* A proposal goes with its members, except to its own rank, and to ranks that are not in this one's group (A3). */
void hx_agree_tell(const struct hx_process *process, const struct hx_members *members, int rank)
{
    const struct hx_agree_line *line = hx_node_agreement(&members->blocking->node, members->local_me);
    struct hx_control_message message = message_of(members, 0);
    const size_t words = member_words(members), each = HX_MESSAGE_AGREE_MEMBERS;
    const int accepted = rank_of(message.agree.state);

    if (members->agree && is_gone(members->agree, rank))
        message.agree.state = 0;
    else if (accepted != NO_RANK && accepted != rank && members->agree)
        message.agree.of = (uint32_t)((words + each - 1) / each);
    for (uint32_t at = 0; at == 0 || at < message.agree.of; at++) {
        const size_t from = at * each, n = words - from < each ? words - from : each;
        message.agree.at = at;
        if (message.agree.of)
            memcpy(message.agree.members, line->members + from, n * sizeof(uint64_t));
        hx_registry.net->tell(process->net, members->ranks[rank], &message);
    }
    if (members->agree)
        members->agree->parts[rank].knows = number_of(message.agree.promise);
}

uint64_t hx_agree_last(const struct hx_members *members)
{
    return members->agree ? part_mine(members->agree).decided : 0;
}

void hx_agree_left_tell(const struct hx_process *process, int peer, const struct hx_control_message *message, const uint64_t *decided)
{
    const struct hx_control_message left = {.kind = HX_MESSAGE_AGREE, .context = message->context, .generation = message->generation,
                                            .agree = {.promise = decided ? LEFT : LEFT_UNKNOWN, .decided = decided ? *decided : 0}};

    if (message->agree.promise < LEFT_UNKNOWN)
        hx_registry.net->tell(process->net, peer, &left);
}

/* Tell the members on other nodes, with all deaths that this rank knows. */
static void others_tell(const struct hx_agree *a)
{
    for (int rank = 0; rank < a->members->size && a->process->net; rank++)
        if (near_of(a->members, rank) < 0 && !is_gone(a, rank))
            a->process->owner->tell(a->members->blocking, a->members->ranks[rank]);
}

static void publish(const struct hx_agree *a, _Atomic uint64_t *which, uint64_t place)
{
    const struct hx_members *members = a->members;
    const struct hx_node *node = &members->blocking->node;

    atomic_store_explicit(which, place, memory_order_release); /* pairs with the acquire in line_read */
    hx_wake_fence();
    for (int i = 0; i < members->local_n; i++)
        if (i != members->local_me)
            hx_wake(node->shared, hx_node_doorbell(node, i));
}

/* ---- hearing -------------------------------------------------------------------------------------------------- */

/* A message with a part of a proposal. Those of higher ranks are never accepted here. */
static void proposal_heard(struct hx_agree *a, const struct hx_control_message *message)
{
    const size_t words = member_words(a->members), each = HX_MESSAGE_AGREE_MEMBERS, from = message->agree.at * each;
    const uint64_t all = message->agree.of < 64 ? (UINT64_C(1) << message->agree.of) - 1 : UINT64_MAX;
    const uint64_t proposal = message->agree.state;

    if (message->agree.of != (words + each - 1) / each || message->agree.of > 64 || message->agree.at >= message->agree.of ||
        a->arriving > proposal || rank_of(proposal) > a->members->rank)
        return;
    if (a->arriving < proposal) {
        a->arriving = proposal;
        a->arrived = 0;
        memcpy(a->value, message->agree.value, sizeof(a->value));
    }
    memcpy(a->said + from, message->agree.members, (words - from < each ? words - from : each) * sizeof(uint64_t));
    a->arrived |= UINT64_C(1) << message->agree.at;
    a->is_here = a->arrived == all;
}

static void raise_to(uint64_t *place, uint64_t to)
{
    *place = to > *place ? to : *place;
}

void hx_agree_heard(struct hx_process *process, struct hx_members *members, int rank, const struct hx_control_message *message)
{
    struct hx_agree *a = agree_of(process, members);
    struct far_part *theirs;

    if (!a || near_of(members, rank) >= 0) /* without memory nothing is known of others: the wait ends at HX_TIMEOUT */
        return;
    theirs = &a->parts[rank];
    if (message->agree.promise < LEFT_UNKNOWN && number_of(message->agree.promise) >= number_of(theirs->part.promise))
        memcpy(theirs->words, message->agree.words, sizeof(theirs->words));
    raise_to(&theirs->part.promise, message->agree.promise);
    raise_to(&theirs->part.state, message->agree.state);
    raise_to(&theirs->part.decided, message->agree.decided);
    theirs->over = message->agree.over > theirs->over ? message->agree.over : theirs->over;
    if (has_decided(theirs->part, a->number))
        a->decider = rank;
    if (message->agree.of > 0)
        proposal_heard(a, message);
    if (message->agree.promise < LEFT_UNKNOWN &&
        (message->status || number_of(message->agree.decided) < number_of(part_mine(a).decided)))
        hx_agree_tell(process, members, rank);
}

/* ---- the rules ------------------------------------------------------------------------------------------------ */

/* Tell the decision to those that ask this rank no more: they know that it follows the coordinator (may_wait_for). A coordinator tells all that
 * follow it. */
static void followers_tell(const struct hx_agree *a)
{
    for (int rank = 0; rank < a->members->size && a->process->net; rank++)
        if (near_of(a->members, rank) < 0 && !is_gone(a, rank) &&
            (a->coordinator == a->members->rank || a->parts[rank].knows == a->number))
            a->process->owner->tell(a->members->blocking, a->members->ranks[rank]);
}

/* A5: this member has decided. */
static int decide_too(const struct hx_agree *a, int member)
{
    const struct part theirs = part_of(a, member);

    if (number_of(theirs.decided) != a->number || accepted_in(a, part_mine(a)) < rank_of(theirs.decided))
        return HELD_FOR_DEAD;
    publish(a, &a->mine->decided, theirs.decided);
    if (member != a->coordinator)
        followers_tell(a);
    return 1;
}

/* The words of all that are here. */
static void combine(const struct hx_agree *a)
{
    struct hx_agree_line *mine = a->mine;

    memcpy(mine->value, mine->words, sizeof(mine->value));
    memset(mine->members, 0, member_words(a->members) * sizeof(uint64_t));
    for (int rank = 0; rank < a->members->size; rank++) {
        const struct hx_agree_line *line = line_of(a, rank);
        const uint64_t *words = line ? line->words : a->parts[rank].words;
        if (is_gone(a, rank))
            continue;
        mine->value[0] &= words[0];
        for (int i = 1; i < HX_AGREE_WORDS; i++)
            mine->value[i] = words[i] < mine->value[i] ? words[i] : mine->value[i];
        mine->members[rank / 64] |= UINT64_C(1) << (rank % 64);
    }
}

/* Take over the proposal that member has accepted. Returns 0 if it has yet to come. */
static int value_take(struct hx_agree *a, int member, int accepted)
{
    const struct hx_agree_line *line = line_of(a, member);
    const int is_here = line || (a->is_here && a->arriving == place_of(a->number, accepted));

    if (!is_here && a->arriving != place_of(a->number, accepted)) /* another one has replaced it */
        a->arriving = 0;
    a->wanted = is_here ? NO_RANK : member;
    if (!is_here)
        return 0;
    memcpy(a->mine->value, line ? line->value : a->value, sizeof(a->value));
    memcpy(a->mine->members, line ? line->members : a->said, member_words(a->members) * sizeof(uint64_t));
    return 1;
}

/* A2: all members that are here follow this rank. Find what it proposes. Returns 0 if it has to wait. */
static int gather(struct hx_agree *a)
{
    const uint64_t follows = place_of(a->number, a->members->rank);
    int member = a->members->rank, highest = accepted_in(a, part_mine(a)), may;

    for (int rank = 0; rank < a->members->size; rank++) {
        const struct part part = part_of(a, rank);
        if (is_gone(a, rank))
            continue;
        if (part.promise != follows)
            return 0;
        if (accepted_in(a, part) > highest) {
            highest = accepted_in(a, part);
            member = rank;
        }
    }
    if ((may = quorum(a)) != 1)
        return may;
    if (highest == NO_RANK)
        combine(a);
    else if (member != a->members->rank && !value_take(a, member, highest))
        return 0;
    atomic_thread_fence(memory_order_acquire); /* all reads of other lines end before the next look */
    for (int rank = 0; rank < a->members->size; rank++) { /* a member that has decided may have begun the next agreement */
        const struct part part = part_of(a, rank);
        if (!is_gone(a, rank) && (part.promise != follows || has_decided(part, a->number)))
            return 0;
    }
    return 1;
}

/* Has this coordinator to wait for that member? */
static int is_awaited(const struct hx_agree *a, int rank)
{
    const uint64_t self = place_of(a->number, a->members->rank);
    const struct part part = part_of(a, rank);

    if (rank == a->members->rank || is_gone(a, rank))
        return 0;
    if (rank == a->wanted || (a->needs_over && is_ignorant(a, rank, a->needs_over)))
        return 1;
    return accepted_in(a, part_mine(a)) == a->members->rank ? part.state != self : part.promise != self;
}

static int coordinator_step(struct hx_agree *a)
{
    const int me = a->members->rank;
    int ready;

    for (int rank = 0; rank < a->members->size; rank++)
        if (rank != me && has_decided(part_of(a, rank), a->number))
            return decide_too(a, rank);
    if (accepted_in(a, part_mine(a)) != me) {
        if ((ready = gather(a)) != 1)
            return ready;
        publish(a, &a->mine->state, place_of(a->number, me));
        others_tell(a);
    }
    for (int rank = 0; rank < a->members->size; rank++)
        if (is_awaited(a, rank))
            return 0;
    if ((ready = quorum(a)) != 1)
        return ready;
    publish(a, &a->mine->decided, place_of(a->number, me));
    others_tell(a);
    return 1;
}

static int member_step(struct hx_agree *a)
{
    const int far = near_of(a->members, a->coordinator) < 0;
    const struct part part = part_of(a, a->coordinator);
    struct part mine = part_mine(a);

    if (accepted_in(a, part) == a->coordinator && accepted_in(a, mine) < a->coordinator &&
        value_take(a, a->coordinator, a->coordinator)) { /* A3 */
        publish(a, &a->mine->state, place_of(a->number, a->coordinator));
        mine = part_mine(a);
    }
    if (has_decided(part, a->number))
        return decide_too(a, a->coordinator);
    if (a->decider != NO_RANK)
        return decide_too(a, a->decider);
    if (far && (a->told != a->coordinator || a->told_state != mine.state)) {
        a->process->owner->tell(a->members->blocking, a->members->ranks[a->coordinator]);
        a->told = a->coordinator;
        a->told_state = mine.state;
    }
    return a->is_hopeless ? MINORITY : 0;
}

static int step(struct hx_agree *a)
{
    uint64_t follows;

    for (; is_gone(a, a->coordinator); a->coordinator++)
        if (has_decided(part_of(a, a->coordinator), a->number))
            return decide_too(a, a->coordinator);
    follows = place_of(a->number, a->coordinator);
    if (part_mine(a).promise != follows) /* A1 */
        publish(a, &a->mine->promise, follows);
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
    return a->coordinator == a->members->rank ? is_awaited(a, rank) : rank == a->coordinator;
}

/* May this rank soon wait for that member, or has that member decided? If the coordinator's node has gone, all of its ranks have died at once. A
 * member that follows this rank's coordinator, or a higher one, need not be asked: if it learns of a decision, it tells (followers_tell). */
static int may_wait_for(const struct hx_agree *a, int rank)
{
    return a->coordinator != a->members->rank && rank > a->coordinator && rank != a->members->rank && !is_gone(a, rank) &&
           part_of(a, rank).promise < place_of(a->number, a->coordinator);
}

/* Returns whether that takes a message. */
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
        deaths += (unsigned)is_gone(a, rank) + (unsigned)is_over(a, rank);
    for (int i = 0; i < members->local_n; i++) {
        near += (unsigned)is_gone(a, members->local_ranks[i]);
        first &= members->local_ranks[i] >= members->rank || is_gone(a, members->local_ranks[i]);
    }
    if (deaths == a->told_deaths || !a->process->net)
        return;
    if ((near != a->near_deaths && first) || a->coordinator == members->rank)
        others_tell(a);
    else if (near_of(members, a->coordinator) < 0)
        a->process->owner->tell(members->blocking, members->ranks[a->coordinator]);
    a->told_deaths = deaths;
    a->near_deaths = near;
}

/* A member asks its coordinator each time, and a few of the others in turn. So those that do not answer do not keep it from asking the rest. */
static void others_ask(struct hx_agree *a)
{
    const struct hx_control_message question = message_of(a->members, 1);
    const int size = a->members->size, me = a->members->rank;
    int asked = a->coordinator != me && member_ask(a, a->coordinator, &question), i = 0;

    for (; i < size && asked < ASKED_MOST; i++) {
        const int rank = (a->asks_from + i) % size;
        if (a->coordinator == me ? is_awaited(a, rank) : may_wait_for(a, rank))
            asked += member_ask(a, rank, &question);
    }
    a->asks_from = (a->asks_from + i) % size;
}

/* The wait is long: have those for which it waits died? Has anyone decided? */
static void slow(void *ctx)
{
    struct hx_agree *a = ctx;

    hx_watch_look(a->process->shared);
    deaths_tell(a);
    a->is_hopeless = quorum(a) == MINORITY;
    for (int rank = 0; rank < a->members->size; rank++)
        if (rank != a->members->rank && has_decided(part_of(a, rank), a->number))
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
    const struct census census = census_take(a);
    const int size = a->members->size, lost = size - census.here - (int)census.over;

    others_tell(a); /* the ranks that are here learn what this one knows, and fail too */
    return hx_fail(HX_ERR_MINORITY, "%s: only %d of %d ranks can be reached. %d others cannot, and may still run. End this process, or "
                   "start it again as a new member when the network works. HX_QUORUM=any lets each part continue", name, census.here, size, lost);
}

/* A1 */
static void give(struct hx_agree *a, const uint64_t *words)
{
    if (a->number != 0 && !has_decided(part_mine(a), a->number))
        return; /* it goes on with the one that has timed out */
    a->number++;
    a->wanted = a->decider = NO_RANK;
    a->needs_over = 0;
    memcpy(a->mine->words, words, sizeof(a->mine->words));
    publish(a, &a->mine->state, place_of(a->number, NO_RANK));
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

hx_status_t hx_agree_end(const struct hx_members *members, hx_status_t waited, struct hx_agreement *agreement)
{
    struct hx_agree *a = members->agree;

    a->is_open = 0;
    hx_stand_clear(a->process);
    if (waited == HX_ERR_TIMEOUT)
        return late_fail(a, agreement->name);
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
