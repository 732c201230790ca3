/* SPDX-License-Identifier: BSD-3-Clause */
/* Where each rank is: see whereabouts.h. */
#include "runtime/engine/whereabouts.h"
#include "runtime/base/clock.h"
#include "runtime/engine/failure.h"
#include "runtime/base/process.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/signature.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define FRESH_NS SECOND_NS            /* a process whose line was renewed within this time still waits */
#define CERTAIN_NS (2 * SECOND_NS)    /* two ranks must wait for each other for so long: by then messages that were under way have
                                       * arrived */
#define ANSWER_NS (10 * SECOND_NS)    /* an answer is used for so long: the next one comes before */
#define BITS_OF(stamp) ((stamp) >> HX_SLICE_BITS)

enum { BLOCKS = 1, STUCK = 2 }; /* flags of a stand */

struct stand { /* what stands in a struct hx_stand */
    uint64_t beat, since, stamp; /* ns: when this was last renewed; since when the process waits in this call for this rank; the call's stamp */
    int32_t context, awaits;     /* the call's context; the rank of the job that it waits for, or -1 */
    uint64_t flags;
    struct hx_signature signature;
};

struct heard { /* what stands in a struct hx_heard */
    uint64_t at;  /* ns: when it came */
    int64_t rank; /* of the job */
    char text[HX_STAND_BYTES];
};

_Static_assert(sizeof(struct stand) == HX_STAND_WORDS * sizeof(uint64_t), "a stand fits as a whole");
_Static_assert(sizeof(struct heard) == HX_HEARD_WORDS * sizeof(uint64_t), "an answer fits as a whole");

struct sight { /* of a process of this node */
    uint64_t passed, since; /* the stamp of the last call that it has left; ns: since when this rank has seen that unchanged */
};

struct hx_whereabouts {
    int stands;               /* this process's line says that it waits */
    int late;                 /* the rank of another node that this process has asked */
    uint64_t late_since;      /* ns: since when that rank has not answered; 0: it has */
    struct { /* a rank of another node and this one wait for each other */
        int context;
        uint64_t call;        /* the call of this rank; 0: no such wait is known */
        int rank;             /* the other, of the job */
        char text[HX_STAND_BYTES];
    } crossing;
    struct sight sights[];    /* by row */
};

static uint64_t now_ns(void)
{
    return hx_clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* NULL: there is no memory, and nothing is known. */
static struct hx_whereabouts *whereabouts_of(struct hx_process *process)
{
    size_t n = (size_t)process->shared->n;

    if (!process->whereabouts)
        process->whereabouts = calloc(1, sizeof(struct hx_whereabouts) + n * sizeof(struct sight));
    return process->whereabouts;
}

void hx_whereabouts_forget(struct hx_process *process)
{
    free(process->whereabouts);
    process->whereabouts = NULL;
}

/* The row of a rank of the job, or -1: it is on another node. */
static int row_of(const struct hx_shared *shared, int rank)
{
    for (int row = 0; row < shared->n; row++)
        if (shared->ranks[row] == rank)
            return row;
    return -1;
}

/* For how long (ns) has the process in this row left no call, as far as this process has watched it? */
static uint64_t sight_ns(struct hx_process *process, int row)
{
    struct hx_whereabouts *all = whereabouts_of(process);
    uint64_t passed = atomic_load_explicit(&process->shared->passed[row].lines[HX_PASSED_STAMP].stamp, memory_order_relaxed);
    uint64_t now = now_ns();

    if (!all)
        return 0;
    if (all->sights[row].since == 0 || all->sights[row].passed != passed)
        all->sights[row] = (struct sight){passed, now};
    return now - all->sights[row].since;
}

/* ---- own line ------------------------------------------------------------------------------------------------ */

int hx_threads_count(void)
{
    return hx_process_stat(0, HX_PROCESS_THREADS);
}

/* Is it certain that this process enters no other call before the one in which it waits ends? Once that is certain it remains so. (Never in
 * the creation of a group: there call numbers do not tell which rank has entered which call. A non-blocking call may be preceded by a
 * barrier or by counts: while those are under way, the call itself has yet to be entered.) */
static int is_stuck(const struct hx_engine *engine)
{
    if (!engine->blocks || engine->pairs || engine->process->threads == 0 || hx_threads_count() != engine->process->threads)
        return 0;
    for (const struct hx_engine *active = engine->process->active; active; active = active->next_active)
        if (active->first != active->last || active->part != HX_PART_CALL)
            return 0;
    return 1;
}

/* Write n words that others may read meanwhile. The first is their time. */
static void words_store(_Atomic uint64_t *words, const void *from, size_t n)
{
    uint64_t values[HX_HEARD_WORDS];

    memcpy(values, from, n * sizeof(*values));
    atomic_store_explicit(&words[0], 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* pairs with the fence in words_read: a reader that sees a part of this also sees the time
                                                * changed */
    for (size_t i = 1; i < n; i++)
        atomic_store_explicit(&words[i], values[i], memory_order_relaxed);
    atomic_store_explicit(&words[0], values[0], memory_order_release); /* pairs with the acquire in words_read */
}

/* Read them. Returns 0 if nothing stands there, or if its process is writing it. */
static int words_read(_Atomic uint64_t *words, void *to, size_t n)
{
    uint64_t values[HX_HEARD_WORDS];

    values[0] = atomic_load_explicit(&words[0], memory_order_acquire); /* pairs with the release in words_store */
    for (size_t i = 1; i < n; i++)
        values[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire); /* pairs with the fence in words_store */
    memcpy(to, values, n * sizeof(*values));
    return values[0] && atomic_load_explicit(&words[0], memory_order_relaxed) == values[0];
}

static int stand_read(struct hx_stand *line, struct stand *out)
{
    return words_read(line->words, out, HX_STAND_WORDS);
}

void hx_stand_write(const struct hx_run *run, int awaited, int is_sure)
{
    const struct hx_engine *engine = run->engine;
    struct hx_shared *shared = engine->process->shared;
    struct hx_stand *line = &shared->doorbells[shared->me].stand;
    struct hx_whereabouts *all = whereabouts_of(engine->process);
    uint64_t now = now_ns();
    uint64_t blocks = engine->blocks ? BLOCKS : 0;
    struct stand before;

    if (!all)
        return;
    if (all->stands && stand_read(line, &before) && (before.flags & BLOCKS) == blocks && (is_sure || !(before.flags & STUCK)) &&
        before.context == engine->context && before.stamp == run->stamp && before.awaits == awaited)
        atomic_store_explicit(&line->words[0], now, memory_order_release); /* as in words_store */
    else
        words_store(line->words,
                    &(struct stand){now, now, run->stamp, engine->context, awaited,
                                    blocks | (is_sure && is_stuck(engine) ? STUCK : 0), run->bound->signature},
                    HX_STAND_WORDS);
    all->stands = 1;
    if (awaited >= 0 && row_of(shared, awaited) >= 0)
        sight_ns(engine->process, row_of(shared, awaited)); /* start to watch it */
}

void hx_stand_clear(struct hx_process *process)
{
    if (!process->whereabouts || !process->whereabouts->stands)
        return;
    process->whereabouts->stands = 0;
    atomic_store_explicit(&process->shared->doorbells[process->shared->me].stand.words[0], 0, memory_order_relaxed);
}

/* ---- others of this node ------------------------------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static int is_context_of(const struct hx_members *members, int context)
{
    return context / HX_COMM_CONTEXTS == hx_members_context(members, 0) / HX_COMM_CONTEXTS;
}

/* Write as text the call in which a rank waits. members: those of the communicator of the rank that asks; NULL: not known. */
static void call_tell(const struct hx_members *members, const struct stand *stand, char *text, size_t capacity)
{
    char what[HX_CALL_TEXT_BYTES];

    hx_signature_tell(&stand->signature, hx_coll_name((enum hx_coll)stand->signature.coll), what, sizeof(what));
    snprintf(text, capacity, "%s%s", what,
             !members                                           ? ""
             : stand->context == hx_members_context(members, 0) ? ""
             : is_context_of(members, stand->context)        ? ", a non-blocking call"
                                                          : ", of another communicator");
}

/* As call_tell; also tells which rank it waits for. */
static void stand_tell(const struct hx_members *members, const struct stand *stand, char *text, size_t capacity)
{
    char call[HX_CALL_TEXT_BYTES], whom[48] = "";

    call_tell(members, stand, call, sizeof(call));
    if (stand->awaits >= 0)
        snprintf(whom, sizeof(whom), ", waits for rank %d of the job", stand->awaits);
    snprintf(text, capacity, "is in %s%s", call, whom);
}

static void row_tell(struct hx_process *process, const struct hx_members *members, int row, char *text, size_t capacity)
{
    const struct hx_shared *shared = process->shared;
    char call[HX_CALL_TEXT_BYTES];
    struct stand stand;
    int waits = stand_read(&shared->doorbells[row].stand, &stand);
    uint64_t unmoved = sight_ns(process, row), now = now_ns(); /* after beat was read */

    if (hx_watch_has_finished(shared, row)) {
        snprintf(text, capacity, HX_HAS_FINISHED);
    } else if (waits && now - stand.beat < FRESH_NS) {
        stand_tell(members, &stand, text, capacity);
    } else if (waits && stand.flags & BLOCKS) {
        call_tell(members, &stand, call, sizeof(call));
        snprintf(text, capacity, "is in %s, but has not run for %.1f s: stopped, or busy in an operation of the program's", call,
                 seconds(now - stand.beat));
    } else if (unmoved < SECOND_NS) {
        snprintf(text, capacity, "is outside Hierax");
    } else {
        snprintf(text, capacity, "has been outside Hierax for at least %.1f s", seconds(unmoved));
    }
}

/* ---- those of other nodes ------------------------------------------------------------------------------------ */

/* Has any rank of this node got an answer about this rank of another node lately? *heard: that. */
static int heard_of(const struct hx_shared *shared, int rank, struct heard *heard)
{
    for (int row = 0; row < shared->n; row++)
        if (words_read(shared->doorbells[row].heard.words, heard, HX_HEARD_WORDS) && now_ns() - heard->at < ANSWER_NS && heard->rank == rank)
            return 1;
    return 0;
}

static void far_tell(struct hx_process *process, int rank, char *text, size_t capacity)
{
    const struct hx_whereabouts *all = process->whereabouts;
    struct heard heard;

    if (heard_of(process->shared, rank, &heard))
        snprintf(text, capacity, "%s", heard.text);
    else if (all && all->late == rank && all->late_since)
        snprintf(text, capacity, "has not answered for %.1f s: it is outside Hierax, or stopped", seconds(now_ns() - all->late_since));
    else
        snprintf(text, capacity, "does not answer: it is outside Hierax, or stopped");
}

void hx_stand_tell(const struct hx_engine *engine, int rank, char *text, size_t capacity)
{
    int job_rank = engine->members->ranks[rank], row = row_of(engine->process->shared, job_rank);

    text[0] = 0;
    if (row >= 0)
        row_tell(engine->process, engine->members, row, text, capacity);
    else
        far_tell(engine->process, job_rank, text, capacity);
}

void hx_stand_late(struct hx_process *process, int rank)
{
    struct hx_whereabouts *all = whereabouts_of(process);

    if (!all || (all->late == rank && all->late_since))
        return;
    all->late = rank;
    all->late_since = now_ns();
}

/* Has this rank entered that call? engine: NULL if it has entered no call in that context. */
static int has_entered(const struct hx_engine *engine, uint64_t call)
{
    return engine && BITS_OF(atomic_load_explicit(&engine->mine->entered, memory_order_relaxed)) >= call;
}

/* peer asks where this rank is. Returns 0 if it is in peer's call: then no answer is needed. */
static int self_answer(struct hx_process *process, const struct hx_members *members, const struct hx_engine *engine, int peer,
                       const struct hx_control_message *message, struct hx_control_message *answer)
{
    const struct hx_shared *shared = process->shared;
    int is_in = has_entered(engine, message->call), row;
    char call[HX_CALL_TEXT_BYTES], whom[HX_STAND_BYTES] = "";
    struct stand stand;

    if (!stand_read(&shared->doorbells[shared->me].stand, &stand) || now_ns() - stand.beat > FRESH_NS) {
        snprintf(answer->stands.text, sizeof(answer->stands.text), "%s",
                 members ? "is in Hierax, but not in this call" : "does not have this communicator");
        return !is_in;
    }
    call_tell(members, &stand, call, sizeof(call));
    if (stand.awaits >= 0 && stand.awaits != peer) {
        if ((row = row_of(shared, stand.awaits)) >= 0)
            row_tell(process, members, row, whom, sizeof(whom));
        else
            far_tell(process, stand.awaits, whom, sizeof(whom));
    }
    snprintf(answer->stands.text, sizeof(answer->stands.text), whom[0] ? "is in %s, waits for rank %d of the job, which %s" : "is in %s", call,
             stand.awaits, whom);
    answer->stands.crossed = members && !is_in && stand.flags & STUCK && stand.awaits == peer && now_ns() - stand.since >= CERTAIN_NS;
    answer->stands.context = stand.context;
    answer->stands.call = BITS_OF(stand.stamp);
    return 1;
}

void hx_stand_asked(struct hx_process *process, const struct hx_members *members, const struct hx_engine *engine, int peer,
                    const struct hx_control_message *message)
{
    struct hx_control_message answer = {.kind = HX_MESSAGE_STANDS, .rank = message->rank, .context = message->context, .call = message->call};
    const int is_of_other = message->rank != process->rank && message->context < 0; /* peer asks about another rank here */
    const int row = is_of_other ? row_of(process->shared, message->rank) : -1;

    if (row >= 0)
        row_tell(process, NULL, row, answer.stands.text, sizeof(answer.stands.text));
    else if (message->call == 0 || message->rank != process->rank || !self_answer(process, members, engine, peer, message, &answer))
        return;
    hx_registry.net->tell(process->net, peer, &answer);
}

/* peer says that it waits for this rank. If this rank certainly waits for peer too, note that, and tell peer at once: this rank's call is
 * about to fail, and after that peer would get no such answer. */
static void crossing_note(struct hx_process *process, const struct hx_members *members, const struct hx_engine *theirs, int peer,
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
    call_tell(members, &stand, answer.stands.text + 6, sizeof(answer.stands.text) - 6);
    hx_registry.net->tell(process->net, peer, &answer);
}

void hx_stand_heard(struct hx_process *process, const struct hx_members *members, const struct hx_engine *engine, int peer,
                    const struct hx_control_message *message)
{
    struct heard heard = {now_ns(), message->rank, ""};

    if (message->rank < 0 || message->rank >= process->size)
        return;
    snprintf(heard.text, sizeof(heard.text), "%.*s", (int)sizeof(heard.text) - 1, message->stands.text);
    words_store(process->shared->doorbells[process->shared->me].heard.words, &heard, HX_HEARD_WORDS);
    if (process->whereabouts)
        process->whereabouts->late_since = 0;
    if (message->stands.crossed && whereabouts_of(process) && message->rank == peer)
        crossing_note(process, members, engine, peer, message);
}

/* ---- ranks that wait for each other -------------------------------------------------------------------------- */

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
        row = row_of(shared, stand.awaits);
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

    words_store(shared->doorbells[shared->me].crossed.words, mine, HX_STAND_WORDS);
    call_tell(run->engine->members, mine, call, sizeof(call));
    return hx_fail(HX_ERR_MISMATCH, "%s, call %llu: ranks of the job make different calls and wait for each other: rank %d is in "
                                    "%s; rank %d "
                                    "%s", run->name, (unsigned long long)(run->engine->call - run->engine->first_call), run->engine->process->rank, call,
                   rank, text);
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
    row = row_of(shared, mine.awaits);
    if (row < 0 || BITS_OF(atomic_load_explicit(&engine->node.controls[row].entered, memory_order_relaxed)) >= engine->call ||
        (!waits_for_me(shared, engine->members, &mine, row, &theirs) && !has_crossed_me(shared, &mine, row, &theirs)))
        return HX_SUCCESS;
    stand_tell(engine->members, &theirs, text, sizeof(text));
    return crossed_fail(run, &mine, mine.awaits, text);
}
