/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a member of an agreement, by the rules A1 to A5 of agree.h. See agree_state.h. */
#include "runtime/engine/agree_state.h"
#include <string.h>

/* Tell the decision to the members that no longer ask this rank, because they know that it follows the coordinator (may_wait_for). A
 * coordinator tells all members that are here. */
static void followers_tell(const struct hx_agree *a)
{
    for (int rank = 0; rank < a->members->size && a->process->net; rank++)
        if (near_of(a->members, rank) < 0 && !hx_agree_is_gone(a, rank) &&
            (a->coordinator == a->members->rank || a->parts[rank].knows == a->number))
            a->process->owner->tell(a->members->blocking, a->members->ranks[rank]);
}

/* A5: that member has decided. */
static int decide_too(const struct hx_agree *a, int member)
{
    const struct part theirs = hx_agree_part_of(a, member);

    if (number_of(theirs.decided) != a->number || accepted_in(a, hx_agree_part_mine(a)) < rank_of(theirs.decided))
        return HELD_FOR_DEAD;
    hx_agree_publish(a, &a->mine->decided, theirs.decided);
    if (member != a->coordinator)
        followers_tell(a);
    return 1;
}

/* Combine the words of all members that are here. */
static void combine(const struct hx_agree *a)
{
    struct hx_agree_line *mine = a->mine;

    memcpy(mine->value, mine->words, sizeof(mine->value));
    memset(mine->members, 0, member_words(a->members) * sizeof(uint64_t));
    for (int rank = 0; rank < a->members->size; rank++) {
        const struct hx_agree_line *line = hx_agree_line_of(a, rank);
        const uint64_t *words = line ? line->words : a->parts[rank].words;
        if (hx_agree_is_gone(a, rank))
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
    const struct hx_agree_line *line = hx_agree_line_of(a, member);
    const int is_here = line || (a->is_here && a->arriving == place_of(a->number, accepted));

    if (!is_here && a->arriving != place_of(a->number, accepted)) /* messages of another proposal have replaced its own */
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
    int member = a->members->rank, highest = accepted_in(a, hx_agree_part_mine(a)), may;

    for (int rank = 0; rank < a->members->size; rank++) {
        const struct part part = hx_agree_part_of(a, rank);
        if (hx_agree_is_gone(a, rank))
            continue;
        if (part.promise != follows)
            return 0;
        if (accepted_in(a, part) > highest) {
            highest = accepted_in(a, part);
            member = rank;
        }
    }
    if ((may = hx_agree_quorum(a)) != 1)
        return may;
    if (highest == NO_RANK)
        combine(a);
    else if (member != a->members->rank && !value_take(a, member, highest))
        return 0;
    atomic_thread_fence(memory_order_acquire); /* all reads of other lines end before the next look */
    for (int rank = 0; rank < a->members->size; rank++) { /* a member that has decided may have begun the next agreement */
        const struct part part = hx_agree_part_of(a, rank);
        if (!hx_agree_is_gone(a, rank) && (part.promise != follows || has_decided(part, a->number)))
            return 0;
    }
    return 1;
}

int hx_agree_is_awaited(const struct hx_agree *a, int rank)
{
    const uint64_t self = place_of(a->number, a->members->rank);
    const struct part part = hx_agree_part_of(a, rank);

    if (rank == a->members->rank || hx_agree_is_gone(a, rank))
        return 0;
    if (rank == a->wanted || (a->needs_over && hx_agree_is_ignorant(a, rank, a->needs_over)))
        return 1;
    return accepted_in(a, hx_agree_part_mine(a)) == a->members->rank ? part.state != self : part.promise != self;
}

static int coordinator_step(struct hx_agree *a)
{
    const int me = a->members->rank;
    int ready;

    for (int rank = 0; rank < a->members->size; rank++)
        if (rank != me && has_decided(hx_agree_part_of(a, rank), a->number))
            return decide_too(a, rank);
    if (accepted_in(a, hx_agree_part_mine(a)) != me) {
        if ((ready = gather(a)) != 1)
            return ready;
        hx_agree_publish(a, &a->mine->state, place_of(a->number, me));
        hx_agree_others_tell(a);
    }
    for (int rank = 0; rank < a->members->size; rank++)
        if (hx_agree_is_awaited(a, rank))
            return 0;
    if ((ready = hx_agree_quorum(a)) != 1)
        return ready;
    hx_agree_publish(a, &a->mine->decided, place_of(a->number, me));
    hx_agree_others_tell(a);
    return 1;
}

static int member_step(struct hx_agree *a)
{
    const int far = near_of(a->members, a->coordinator) < 0;
    const struct part part = hx_agree_part_of(a, a->coordinator);
    struct part mine = hx_agree_part_mine(a);

    if (accepted_in(a, part) == a->coordinator && accepted_in(a, mine) < a->coordinator &&
        value_take(a, a->coordinator, a->coordinator)) { /* A3 */
        hx_agree_publish(a, &a->mine->state, place_of(a->number, a->coordinator));
        mine = hx_agree_part_mine(a);
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

int hx_agree_step(struct hx_agree *a)
{
    uint64_t follows;

    if (a->out)
        return a->out;
    for (; hx_agree_is_gone(a, a->coordinator); a->coordinator++)
        if (has_decided(hx_agree_part_of(a, a->coordinator), a->number))
            return decide_too(a, a->coordinator);
    follows = place_of(a->number, a->coordinator);
    if (hx_agree_part_mine(a).promise != follows) /* A1 */
        hx_agree_publish(a, &a->mine->promise, follows);
    return a->coordinator == a->members->rank ? coordinator_step(a) : member_step(a);
}
