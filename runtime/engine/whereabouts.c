/* SPDX-License-Identifier: BSD-3-Clause */
/* The whereabouts of ranks: see whereabouts.h. */
#include "runtime/engine/stand.h"
#include "runtime/engine/failure.h"
#include "runtime/base/process.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/signature.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATES_MOST 4 /* that a text names */

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
    if (process->whereabouts)
        free(process->whereabouts->losses);
    free(process->whereabouts);
    process->whereabouts = NULL;
}

int hx_stand_row(const struct hx_shared *shared, int rank)
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

/* Is it certain that this process enters no other call before the one in which it waits ends? Once that is certain it remains so. (Never in
 * the creation of a group: there call numbers do not tell which rank has entered which call. A non-blocking call may be preceded by a
 * barrier or by counts: while those are under way, the call itself has yet to be entered.) */
static int is_stuck(const struct hx_engine *engine)
{
    if (!engine->blocks || engine->pairs || engine->process->threads == 0 ||
        hx_process_stat(0, HX_PROCESS_THREADS) != engine->process->threads)
        return 0;
    for (const struct hx_engine *active = engine->process->active; active; active = active->next_active)
        if (active->first != active->last || active->part != HX_PART_CALL)
            return 0;
    return 1;
}

void hx_words_store(_Atomic uint64_t *words, const void *from, size_t n)
{
    uint64_t values[HX_HEARD_WORDS];

    memcpy(values, from, n * sizeof(*values));
    atomic_store_explicit(&words[0], 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* pairs with the fence in hx_words_read: a reader that sees a part of this also sees the time
                                                * changed */
    for (size_t i = 1; i < n; i++)
        atomic_store_explicit(&words[i], values[i], memory_order_relaxed);
    atomic_store_explicit(&words[0], values[0], memory_order_release); /* pairs with the acquire in hx_words_read */
}

int hx_words_read(_Atomic uint64_t *words, void *to, size_t n)
{
    uint64_t values[HX_HEARD_WORDS];

    values[0] = atomic_load_explicit(&words[0], memory_order_acquire); /* pairs with the release in hx_words_store */
    for (size_t i = 1; i < n; i++)
        values[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire); /* pairs with the fence in hx_words_store */
    memcpy(to, values, n * sizeof(*values));
    return values[0] && atomic_load_explicit(&words[0], memory_order_relaxed) == values[0];
}

/* Publish mine. sure: the engine of the call, if the call cannot end before the awaited rank has entered it; else NULL. */
static void line_write(struct hx_process *process, struct stand mine, const struct hx_engine *sure)
{
    struct hx_shared *shared = process->shared;
    struct hx_stand *line = &shared->doorbells[shared->me].stand;
    struct hx_whereabouts *all = whereabouts_of(process);
    struct stand before;

    if (!all)
        return;
    mine.beat = mine.since = now_ns();
    if (all->stands && stand_read(line, &before) && (before.flags & BLOCKS) == mine.flags && (sure || !(before.flags & STUCK)) &&
        before.context == mine.context && before.stamp == mine.stamp && before.awaits == mine.awaits) {
        atomic_store_explicit(&line->words[0], mine.beat, memory_order_release); /* as in hx_words_store */
    } else {
        mine.flags |= sure && is_stuck(sure) ? STUCK : 0;
        hx_words_store(line->words, &mine, HX_STAND_WORDS);
    }
    all->stands = 1;
    if (mine.awaits >= 0 && hx_stand_row(shared, mine.awaits) >= 0)
        sight_ns(process, hx_stand_row(shared, mine.awaits)); /* start to watch it */
}

void hx_stand_write(const struct hx_run *run, int awaited, int is_sure)
{
    const struct hx_engine *engine = run->engine;

    line_write(engine->process, (struct stand){.stamp = run->stamp, .context = engine->context, .awaits = awaited,
                                               .flags = engine->blocks ? BLOCKS : 0, .signature = run->bound->signature},
               is_sure ? engine : NULL);
}

void hx_stand_write_message(struct hx_process *process, int context, int awaited, struct hx_signature signature)
{
    line_write(process, (struct stand){.stamp = hx_signature_bits(&signature), .context = context, .awaits = awaited, .signature = signature},
               NULL);
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

void hx_stand_call(const struct hx_members *members, const struct stand *stand, char *text, size_t capacity)
{
    char what[HX_CALL_TEXT_BYTES];

    hx_signature_tell(&stand->signature, hx_coll_name((enum hx_coll)stand->signature.coll), what, sizeof(what));
    snprintf(text, capacity, "%s%s", what,
             !members                                           ? ""
             : stand->context == hx_members_context(members, 0) ? ""
             : is_context_of(members, stand->context)        ? ", a non-blocking call"
                                                          : ", of another communicator");
}

void hx_stand_text(const struct hx_members *members, const struct stand *stand, char *text, size_t capacity)
{
    char call[HX_CALL_TEXT_BYTES], whom[48] = "";

    hx_stand_call(members, stand, call, sizeof(call));
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
        hx_stand_text(members, &stand, text, capacity);
    } else if (waits && stand.flags & BLOCKS) {
        hx_stand_call(members, &stand, call, sizeof(call));
        snprintf(text, capacity, "is in %s, but has not run for %.1f s: it is stopped, or in an operation of hx_op_create", call,
                 seconds(now - stand.beat));
    } else if (unmoved < SECOND_NS) {
        snprintf(text, capacity, "is outside Hierax");
    } else {
        snprintf(text, capacity, "has been outside Hierax for at least %.1f s", seconds(unmoved));
    }
}

/* ---- those of other nodes ------------------------------------------------------------------------------------ */

/* Has any rank of this node got an answer about this rank of another node lately? *heard: that answer. */
static int heard_of(const struct hx_shared *shared, int rank, struct heard *heard)
{
    for (int row = 0; row < shared->n; row++)
        if (hx_words_read(shared->doorbells[row].heard.words, heard, HX_HEARD_WORDS) && now_ns() - heard->at < ANSWER_NS &&
            heard->rank == rank)
            return 1;
    return 0;
}

/* Does this node lack the address of that rank? Then only the ranks of its node that have opened endpoints can help: text names some of them. */
static int gates_tell(const struct hx_process *process, int rank, char *text, size_t capacity)
{
    const struct hx_job_entry *table = process->shared->table;
    size_t used = 0;
    int n = 0;

    if (atomic_load_explicit(&table[rank].address_state, memory_order_relaxed) != HX_ADDRESS_NONE)
        return 0;
    for (int i = 0; i < process->size && n < GATES_MOST; i++)
        if (table[i].node == table[rank].node && !atomic_load_explicit(&table[i].dead, memory_order_relaxed) &&
            atomic_load_explicit(&table[i].address_state, memory_order_relaxed) == HX_ADDRESS_THERE)
            used += (size_t)snprintf(text + used, capacity - used, "%s%d", n++ ? ", " : "is not connected, and the ranks of its node "
                                     "that have network endpoints (HX_ENDPOINTS) do not answer: ", i);
    return n > 0;
}

static void far_tell(struct hx_process *process, int rank, char *text, size_t capacity)
{
    const struct hx_whereabouts *all = process->whereabouts;
    struct heard heard;

    if (heard_of(process->shared, rank, &heard))
        snprintf(text, capacity, "%s", heard.text);
    else if (gates_tell(process, rank, text, capacity))
        return;
    else if (all && all->late == rank && all->late_since)
        snprintf(text, capacity, "has not answered for %.1f s: it is outside Hierax, or stopped", seconds(now_ns() - all->late_since));
    else
        snprintf(text, capacity, "does not answer: it is outside Hierax, or stopped");
}

void hx_stand_tell(const struct hx_engine *engine, int rank, char *text, size_t capacity)
{
    int job_rank = engine->members->ranks[rank], row = hx_stand_row(engine->process->shared, job_rank);

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

uint64_t hx_stand_lost(struct hx_process *process, int rank, int has_way)
{
    struct hx_whereabouts *all = whereabouts_of(process);
    struct loss *loss;

    if (!all || (!all->losses && (has_way || !(all->losses = calloc((size_t)process->size, sizeof(*all->losses))))))
        return 0;
    loss = &all->losses[process->shared->table[rank].node];
    if (has_way)
        *loss = (struct loss){0};
    else
        loss->ns += hx_clock_counted(&loss->seen, now_ns());
    return loss->ns;
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
    hx_stand_call(members, &stand, call, sizeof(call));
    if (stand.awaits >= 0 && stand.awaits != peer) {
        if ((row = hx_stand_row(shared, stand.awaits)) >= 0)
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
    const int row = is_of_other ? hx_stand_row(process->shared, message->rank) : -1;

    if (row >= 0)
        row_tell(process, NULL, row, answer.stands.text, sizeof(answer.stands.text));
    else if (message->call == 0 || message->rank != process->rank || !self_answer(process, members, engine, peer, message, &answer))
        return;
    hx_registry.net->tell(process->net, peer, &answer);
}

void hx_stand_heard(struct hx_process *process, const struct hx_members *members, const struct hx_engine *engine, int peer,
                    const struct hx_control_message *message)
{
    struct heard heard = {now_ns(), message->rank, ""};

    if (message->rank < 0 || message->rank >= process->size)
        return;
    snprintf(heard.text, sizeof(heard.text), "%.*s", (int)sizeof(heard.text) - 1, message->stands.text);
    hx_words_store(process->shared->doorbells[process->shared->me].heard.words, &heard, HX_HEARD_WORDS);
    if (process->whereabouts)
        process->whereabouts->late_since = 0;
    if (message->stands.crossed && whereabouts_of(process) && message->rank == peer)
        hx_crossing_note(process, members, engine, peer, message);
}
