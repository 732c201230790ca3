/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that wait for each other in different calls: see whereabouts.h. */
#include "runtime/engine/signature.h"
#include "runtime/engine/stand.h"
#include <stdio.h>

void hx_crossing_note(struct hx_process *process, const struct hx_members *members, const struct hx_engine *theirs, int peer,
                          const struct hx_control_message *message)
{
    struct hx_whereabouts *all = process->whereabouts;
    const struct hx_shared *shared = process->shared;
    struct hx_control_message answer = {.kind = HX_MESSAGE_STANDS, .rank = process->rank, .context = message->stands.context,
                                        .call = message->stands.call};
    struct stand stand;

    if (!members || !stand_read(&shared->doorbells[shared->me].stand, &stand) || !(stand.flags & STUCK) || stand.awaits != peer ||
        stand.context != message->context || BITS_OF(stand.stamp) != message->call ||
        has_entered(theirs, message->stands.call) ||
        (all->crossing.context == stand.context && all->crossing.call == message->call))
        return;
    all->crossing.context = stand.context;
    all->crossing.call = message->call;
    all->crossing.rank = peer;
    snprintf(all->crossing.text, sizeof(all->crossing.text), "%.*s", (int)sizeof(message->stands.text) - 1, message->stands.text);
    answer.stands.crossed = 1;
    answer.stands.context = stand.context;
    answer.stands.call = message->call;
    snprintf(answer.stands.text, sizeof(answer.stands.text), "is in ");
    hx_stand_call(members, &stand, answer.stands.text + 6, sizeof(answer.stands.text) - 6);
    hx_registry.net->tell(process->net, peer, &answer);
}

/* Have all ranks waited at the same time for so long that it is certain? began: when the last of them began; until: when the line of the
 * first that stopped was last renewed. */
static int is_certain(uint64_t began, uint64_t until)
{
    return until >= began + CERTAIN_NS;
}

/* Follow the ranks from the one in this row: each waits for the next, in a call that it cannot leave. Do they lead back to this rank? If
 * the circle has more than two ranks, all of their calls must be of this communicator: else this rank's call may be right, and the wrong one may be
 * between others. *first: the line of this row. */
static int waits_for_me(const struct hx_shared *shared, const struct hx_members *members, const struct stand *mine, int row, struct stand *first)
{
    uint64_t began = mine->since, until = mine->beat;
    struct stand stand;
    int all_here = 1;

    for (int i = 0; i < shared->n && row >= 0 && row != shared->me; i++) {
        if (!stand_read(&shared->doorbells[row].stand, &stand) || !(stand.flags & STUCK) || now_ns() - stand.beat > FRESH_NS ||
            stand.awaits < 0)
            return 0;
        if (i == 0)
            *first = stand;
        began = stand.since > began ? stand.since : began;
        until = stand.beat < until ? stand.beat : until;
        all_here &= is_context_of(members, stand.context);
        row = hx_stand_row(shared, stand.awaits);
        if (row == shared->me)
            return (all_here || i == 0) && is_certain(began, until);
    }
    return 0;
}

/* Has the rank in this row found that it and this rank, in this rank's present call, wait for each other? That rank may be elsewhere by
 * now. */
static int has_crossed_me(const struct hx_shared *shared, const struct stand *mine, int row, struct stand *theirs)
{
    return stand_read(&shared->doorbells[row].crossed, theirs) && theirs->awaits == shared->ranks[shared->me] &&
           is_certain(theirs->since > mine->since ? theirs->since : mine->since, theirs->beat);
}

static hx_status_t crossed_fail(const struct hx_run *run, const struct stand *mine, int rank, const char *text)
{
    const struct hx_shared *shared = run->engine->process->shared;
    char call[HX_CALL_TEXT_BYTES];

    hx_words_store(shared->doorbells[shared->me].crossed.words, mine, HX_STAND_WORDS);
    hx_stand_call(run->engine->members, mine, call, sizeof(call));
    return hx_fail(HX_ERR_MISMATCH, "%s, call %llu: ranks of the job make different calls and wait for each other: rank %d is in %s; "
                                    "rank %d %s", run->name, (unsigned long long)(run->engine->call - run->engine->first_call),
                   run->engine->process->rank, call, rank, text);
}

hx_status_t hx_stand_cross(const struct hx_run *run)
{
    const struct hx_engine *engine = run->engine;
    const struct hx_shared *shared = engine->process->shared;
    const struct hx_whereabouts *all = engine->process->whereabouts;
    char text[HX_STAND_BYTES];
    struct stand mine, theirs;
    int row;

    if (!all || !stand_read(&shared->doorbells[shared->me].stand, &mine) || mine.awaits < 0 || !(mine.flags & STUCK) || mine.context != engine->context)
        return HX_SUCCESS;
    if (all->crossing.call == engine->call && all->crossing.context == engine->context)
        return crossed_fail(run, &mine, all->crossing.rank, all->crossing.text);
    row = hx_stand_row(shared, mine.awaits);
    if (row < 0 || BITS_OF(atomic_load_explicit(&engine->node.controls[row].entered, memory_order_relaxed)) >= engine->call ||
        (!waits_for_me(shared, engine->members, &mine, row, &theirs) && !has_crossed_me(shared, &mine, row, &theirs)))
        return HX_SUCCESS;
    hx_stand_text(engine->members, &theirs, text, sizeof(text));
    return crossed_fail(run, &mine, mine.awaits, text);
}
