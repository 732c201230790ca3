/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the records of a round with what Hierax promises: see faults.h. */
#include "faults.h"
#include "runtime/base/clock.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct round *round_;
static const struct record *records;
static int failures;

static __attribute__((format(printf, 1, 2))) void fail(const char *format, ...)
{
    char text[512];
    va_list args;

    if (failures++ == 0) {
        faults_tell(round_, text, sizeof(text));
        printf("FAIL %s\n", text);
    }
    va_start(args, format);
    printf("    ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

static const struct victim *victim_of(int rank)
{
    for (int i = 0; i < round_->nvictims; i++)
        if (round_->victims[i].rank == rank)
            return &round_->victims[i];
    return NULL;
}

/* When this rank died; < 0: it lives. */
static double death_of(int rank)
{
    return faults_is_deadly(round_) && victim_of(rank) && records[rank].struck ? records[rank].died_at : -1;
}

static const char *step_name(int step, char text[32])
{
    if (step == INIT || step == FINALIZE)
        return step == INIT ? "hx_init" : "hx_finalize";
    if (step >= 100)
        snprintf(text, 32, "creation of comm %d", step - 100);
    else if (step >= FINAL)
        snprintf(text, 32, "last call on comm %d", step - FINAL);
    else
        snprintf(text, 32, "step %d, hx_%s%s", step, round_->steps[step].wait_at < 0 ? "" : "i", faults_what(round_->steps[step].what));
    return text;
}

/* The group that the rank numbers in an event's detail refer to. */
static const struct group *numbers_of(int rank, const struct event *e)
{
    int comm = e->step == 103 ? 0 : e->step >= 100 ? round_->comms[e->comm].parent : e->comm;

    return faults_group(round_, comm < 0 ? 0 : comm, rank);
}

static int has_died_by(int who, double when)
{
    return death_of(who) >= 0 && when >= records[who].struck_at;
}

static int has_finished_by(int who, double when)
{
    const struct record *r = &records[who];
    const struct event *last = &r->events[r->nevents - 1];

    return r->nevents > 0 && last->step == FINALIZE && when >= last->from;
}

/* Check that each "rank N <what>" in the detail is true of rank N. Returns how many ranks are named. */
static int ranks_named(int rank, const struct event *e, const char *what, int (*is_true)(int who, double when))
{
    const struct group *group = numbers_of(rank, e);
    char step[32];
    int named = 0, at, end;

    for (const char *text = e->detail; (text = strstr(text, "rank ")); text += 5) {
        int of_job, who;
        if (sscanf(text, "rank %d%n", &at, &end) != 1)
            continue;
        of_job = strncmp(text + end, " of the job", 11) == 0;
        if (strncmp(text + end + (of_job ? 11 : 0), what, strlen(what)))
            continue;
        who = of_job || !group || at >= group->n ? at : group->ranks[at];
        named++;
        if (who < 0 || who >= round_->size || !is_true(who, e->to))
            fail("rank %d, %s: says of rank %d that it%s, and that is not so: %s", rank, step_name(e->step, step), who, what, e->detail);
    }
    return named;
}

/* Check that no living rank is reported as dead, and that no rank that goes on is reported as finished. */
static void names_judge(int rank, const struct event *e)
{
    ranks_named(rank, e, " has died", has_died_by);
    ranks_named(rank, e, " has finished", has_finished_by);
}

/* Is one of the comm's ranks dead, or the maker of the wrong call? */
static int has_victim(const struct group *group)
{
    for (int i = 0; group && i < group->n; i++)
        if (victim_of(group->ranks[i]) && (!faults_is_deadly(round_) || death_of(group->ranks[i]) >= 0))
            return 1;
    return 0;
}

static const struct group *group_of(int rank, const struct event *e)
{
    return faults_group(round_, e->comm < 0 ? 0 : e->step >= 100 && e->step != 103 ? round_->comms[e->comm].parent : e->comm, rank);
}

/* A rank may wait for another that first waits for its whole time limit on another communicator. */
static int any_waited_long(void)
{
    for (int r = 0; r < round_->size; r++)
        for (int i = 0; i < records[r].nevents; i++)
            if (records[r].events[i].to - records[r].events[i].from > LIMIT_S / 2)
                return 1;
    return 0;
}

/* Does the detail name a dead rank, in whatever words? */
static int names_dead(const struct event *e)
{
    char name[32];

    if (strstr(e->detail, "has died")) /* that is checked above */
        return 1;
    for (int who = 0; who < round_->size; who++) {
        snprintf(name, sizeof(name), "rank %d of the job", who);
        if (death_of(who) >= 0 && strstr(e->detail, name))
            return 1;
    }
    return 0;
}

/* May a wrong call lead to this status on another rank? The rank that made it may be in hx_finalize when others come to wait for it. */
static int is_of_wrong_call(const struct event *e)
{
    return e->status == HX_ERR_MISMATCH || e->status == HX_ERR_TIMEOUT ||
           (e->status == HX_ERR_PEER_DEAD && strstr(e->detail, " has finished"));
}

static void status_judge(int rank, const struct event *e)
{
    enum how how = round_->kind->how;
    const struct group *group = group_of(rank, e);
    int touched = has_victim(group), ok;
    char step[32];

    if (e->status == HX_SUCCESS)
        return;
    names_judge(rank, e);
    if (!touched && how == CALLS_WRONG && e->status == HX_ERR_TIMEOUT && any_waited_long())
        return;
    if (!touched && how == STOPS_LONG && e->status == HX_ERR_TIMEOUT)
        return;
    if (how == STOPS_AND_DIES && round_->victims[0].stop_s > LIMIT_S && e->status == HX_ERR_TIMEOUT)
        return;
    ok = touched && (faults_is_deadly(round_) ? e->status == HX_ERR_PEER_DEAD
                     : how == CALLS_WRONG     ? is_of_wrong_call(e)
                                              : how == STOPS_LONG && e->status == HX_ERR_TIMEOUT);
    if (!ok)
        fail("rank %d, %s, comm %d%s: %s after %.1f s: %s", rank, step_name(e->step, step), e->comm, touched ? "" : " without the victim",
             hx_strerror((hx_status_t)e->status), e->to - e->from, e->detail);
    else if (faults_is_deadly(round_) && e->status == HX_ERR_PEER_DEAD && !names_dead(e))
        fail("rank %d, %s: names no dead rank: %s", rank, step_name(e->step, step), e->detail);
}

static void events_judge(int rank)
{
    const struct record *r = &records[rank];
    char step[32];

    for (const struct event *e = r->events; e < r->events + r->nevents; e++) {
        double limit = LIMIT_S + MARGIN_S + (victim_of(rank) ? r->stopped_s : 0);
        if (e->is_wrong)
            fail("rank %d, %s, comm %d: HX_SUCCESS with wrong data", rank, step_name(e->step, step), e->comm);
        if (e->to - e->from > limit)
            fail("rank %d, %s, comm %d: took %.1f s, status %d: %s", rank, step_name(e->step, step), e->comm, e->to - e->from, e->status,
                 e->detail);
        if (victim_of(rank) || (e->step == INIT && round_->kind->where == IN_INIT))
            names_judge(rank, e);
        else
            status_judge(rank, e);
    }
    if (r->ended_by_itself)
        fail("rank %d has ended by itself in %s, wait status %x", rank, step_name(r->doing, step), (unsigned)r->ended_by_itself);
    if (!r->done && death_of(rank) < 0)
        fail("rank %d hangs in %s since %.1f s", rank, step_name(r->doing, step), hx_now_s() - r->doing_since);
}

/* Do all ranks wait for the victim in the call that it makes wrongly or leaves out? If not, some may return without noticing. */
static int all_wait(void)
{
    enum what what = round_->steps[round_->victims[0].step].what;

    return what == BARRIER || what == ALLREDUCE || what == ALLGATHER || what == REDUCE_SCATTER || what == ALLTOALL;
}

/* Check that each survivor knows of each failed communicator that it has failed. */
static void knowledge_judge(int rank)
{
    const struct record *r = &records[rank];
    enum where where = round_->kind->where;

    if (victim_of(rank) || where == IN_FINALIZE || where == IN_INIT || round_->kind->how == NOTHING || round_->kind->how == STOPS_BRIEFLY ||
        round_->kind->how == STOPS_LONG)
        return;
    for (int comm = 0; comm < COMMS; comm++) {
        const struct group *group = faults_group(round_, comm, rank);
        int succeeded = 0;
        if (!group || !has_victim(group) ||
            (round_->kind->how == CALLS_WRONG && (comm != round_->steps[round_->victims[0].step].comm || !all_wait())))
            continue;
        for (const struct event *e = r->events; e < r->events + r->nevents; e++)
            succeeded |= e->step == FINAL + comm && e->status == HX_SUCCESS;
        if (succeeded)
            fail("rank %d: comm %d lives on with a rank that %s", rank, comm,
                 round_->kind->how == CALLS_WRONG ? "has made another call" : "is dead");
    }
}

/* A fault in hx_init: a rank that got no world communicator must be told why. */
static void init_judge(int rank)
{
    const struct record *r = &records[rank];
    char name[24];

    snprintf(name, sizeof(name), "rank %d ", round_->victims[0].rank);
    if (round_->kind->where != IN_INIT || victim_of(rank) || r->nevents == 0 || r->events[0].status == HX_SUCCESS)
        return;
    if (!strcasestr(r->events[0].detail, name)) /* with any status: a rank that dies before it has met anybody is only missing */
        fail("rank %d, hx_init: status %d after %.1f s does not name the dead: %s", rank, r->events[0].status,
             r->events[0].to - r->events[0].from, r->events[0].detail);
}

static void events_print(void)
{
    for (int rank = 0; rank < round_->size; rank++)
        for (const struct event *e = records[rank].events; e < records[rank].events + records[rank].nevents; e++) {
            char step[32];
            if (e->status != HX_SUCCESS || e->is_wrong)
                printf("        rank %d, comm %d, %s: %d%s, %.2f s..%.2f s: %s\n", rank, e->comm, step_name(e->step, step), e->status,
                       e->is_wrong ? " WRONG" : "", e->from - records[0].events[0].from, e->to - records[0].events[0].from, e->detail);
        }
}

int faults_judge(const struct round *round, const struct record *all)
{
    round_ = round;
    records = all;
    failures = 0;
    for (int rank = 0; rank < round->size; rank++) {
        events_judge(rank);
        knowledge_judge(rank);
        init_judge(rank);
    }
    if (failures)
        events_print();
    return failures;
}
