/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the members in agreements, and how members learn them: see agree_state.h. */
#include "runtime/engine/agree.h"
#include "runtime/engine/agree_state.h"
#include <stdlib.h>
#include <string.h>

struct hx_agree *hx_agree_of(struct hx_process *process, struct hx_members *members)
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

/* ---- lines: members of this node ------------------------------------------------------------------------------- */

static struct part line_read(const struct hx_members *members, struct hx_agree_line *line)
{
    struct part part = {0};

    /* acquire pairs with the release in hx_agree_of, and below with that in hx_agree_publish */
    if (atomic_load_explicit(&line->generation, memory_order_acquire) != UINT64_C(1) + members->id.generation)
        return part;
    part.promise = atomic_load_explicit(&line->promise, memory_order_acquire); /* first: see agree.h */
    part.state = atomic_load_explicit(&line->state, memory_order_acquire);
    part.decided = atomic_load_explicit(&line->decided, memory_order_acquire);
    return part;
}

struct part hx_agree_part_mine(const struct hx_agree *a)
{
    return line_read(a->members, a->mine);
}

struct hx_agree_line *hx_agree_line_of(const struct hx_agree *a, int rank)
{
    const int near = near_of(a->members, rank);

    return near >= 0 ? hx_node_agreement(&a->members->blocking->node, near) : NULL;
}

struct part hx_agree_part_of(const struct hx_agree *a, int rank)
{
    struct hx_agree_line *line = hx_agree_line_of(a, rank);

    return line ? line_read(a->members, line) : a->parts[rank].part;
}

void hx_agree_publish(const struct hx_agree *a, _Atomic uint64_t *which, uint64_t place)
{
    const struct hx_members *members = a->members;
    const struct hx_node *node = &members->blocking->node;

    atomic_store_explicit(which, place, memory_order_release); /* pairs with the acquire in line_read */
    hx_wake_fence();
    for (int i = 0; i < members->local_n; i++)
        if (i != members->local_me)
            hx_wake(node->shared, hx_node_doorbell(node, i));
}

/* ---- telling members of other nodes ---------------------------------------------------------------------------- */

struct hx_control_message hx_agree_message(const struct hx_members *members, int asks)
{
    struct hx_agree_line *line = hx_node_agreement(&members->blocking->node, members->local_me);
    const struct part part = line_read(members, line);
    struct hx_control_message message = {.kind = HX_MESSAGE_AGREE, .status = asks, .context = members->blocking->context,
                                         .generation = members->id.generation,
                                         .agree = {.promise = part.promise, .state = part.state, .decided = part.decided}};

    memcpy(message.agree.words, line->words, sizeof(line->words));
    memcpy(message.agree.value, line->value, sizeof(line->value));
    message.agree.over = members->agree ? hx_agree_census(members->agree).over : 0;
    return message;
}

/* A proposal goes with its members, except to its own rank, and to ranks that are not in this one's group (A3). */
void hx_agree_tell(const struct hx_process *process, const struct hx_members *members, int rank)
{
    const struct hx_agree_line *line = hx_node_agreement(&members->blocking->node, members->local_me);
    struct hx_control_message message = hx_agree_message(members, 0);
    const size_t words = member_words(members), each = HX_MESSAGE_AGREE_MEMBERS;
    const int accepted = rank_of(message.agree.state);

    if (members->agree && hx_agree_is_gone(members->agree, rank))
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
    return members->agree ? hx_agree_part_mine(members->agree).decided : 0;
}

void hx_agree_left_tell(const struct hx_process *process, int peer, const struct hx_control_message *message, const uint64_t *decided)
{
    const struct hx_control_message left = {.kind = HX_MESSAGE_AGREE, .context = message->context, .generation = message->generation,
                                            .agree = {.promise = decided ? LEFT : LEFT_UNKNOWN, .decided = decided ? *decided : 0}};

    if (message->agree.promise < LEFT_UNKNOWN)
        hx_registry.net->tell(process->net, peer, &left);
}

void hx_agree_others_tell(const struct hx_agree *a)
{
    for (int rank = 0; rank < a->members->size && a->process->net; rank++)
        if (near_of(a->members, rank) < 0 && !hx_agree_is_gone(a, rank))
            a->process->owner->tell(a->members->blocking, a->members->ranks[rank]);
}

/* ---- their messages ---------------------------------------------------------------------------------------------- */

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
    struct hx_agree *a = hx_agree_of(process, members);
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
    if (message->status && members->failed == HX_ERR_MISMATCH) /* so this rank may never come to the agreement */
        process->owner->tell(members->blocking, members->ranks[rank]);
    if (message->agree.promise < LEFT_UNKNOWN &&
        (message->status || number_of(message->agree.decided) < number_of(hx_agree_part_mine(a).decided)))
        hx_agree_tell(process, members, rank);
}
