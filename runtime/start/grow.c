/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_comm_grow, hx_comm_wait_size: the members' side of a world that grows. join.c is the newcomers' side; lobby.h has the picture.
 *
 *   1  rank 0 asks the store for the waiting processes, and admits them. All members get its answer by a broadcast in comm. While no process waits,
 *      there is one each second, so that no member waits for long without a sign
 *   2  each member connects to the session. They agree (agree.h) whether all have: from then on the session notices each death
 *   3  members and newcomers open a world as hx_init does, and meet once in it
 *   4  the members agree whether that has succeeded on all of them. If it has not, they drop the new world, and begin again with other
 *      newcomers: those that come within the time, or wait then already
 *
 * All members take part in each agreement, also a member whose broadcast has failed. So all that are alive return the same. If ranks make
 * different calls, they do not meet in an agreement. A rank that finds this fails, and the others see its failure while they wait.
 * A newcomer learns in step 3 that it is in. If step 4 then fails, the first call of its new world does.
 */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/engine/agree.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/signature.h"
#include "runtime/start/grow.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN_SECONDS 1.0     /* between two broadcasts */
#define START_SECONDS 10.0   /* for the start of a world: newcomers that do not go on by then are left out */
#define BACK_SECONDS 2.0     /* in which the other newcomers of a start that has failed wait in the store again */
#define VISIT_SECONDS 5.0    /* for the store's answer. The other members wait meanwhile: at most a half, */
#define VISIT_SHARE 0.5      /* and with the turn three quarters, of the time that their call may wait */
#define TURN_SHARE 0.25
#define PAUSE_NS 5000000     /* between two questions */

enum { GO, AGAIN, OVER };

struct notice { /* of rank 0 to all members */
    int32_t state, status;
    int32_t waiting;
    struct hx_session session;
    char text[400]; /* of status */
};

struct growth {
    const char *name;
    enum hx_purpose purpose;
    struct hx_comm *comm;
    int n;           /* the caller's arguments */
    double seconds;
    struct hx_lobby_place place;
    const char *secret;
    int most;        /* newcomers to admit; 0: only count */
    int least;       /* wait for so many; hx_comm_wait_size sets it after the checks */
    double deadline; /* clock.h: until then newcomers may come */
    double limit;    /* no start of a world begins later */
    struct hx_visit *visit; /* rank 0's */
    int reached;     /* the store has answered */
};

/* The limit for the start of a larger world. */
static double start_seconds(const struct growth *g)
{
    const double timeout = g->comm->world->process.env->timeout, seconds = fmax(g->deadline - hx_clock_awake(), START_SECONDS);

    return timeout > 0 ? fmin(timeout, seconds) : seconds;
}

/* At most `seconds`, and this share of the time that calls on the communicator may wait. */
static double share_of_timeout(const struct growth *g, double seconds, double share)
{
    const double timeout = *g->comm->members.timeout_s;

    return timeout > 0 ? fmin(seconds, share * timeout) : seconds;
}

/* ---- rank 0 asks the store --------------------------------------------------------------------------------------- */

/* How many nodes HX_NODES emulates: "3,1,2" or "4/2". 0: none. */
static int nodes_of(const char *text)
{
    int n = 1;

    if (!text)
        return 0;
    for (const char *c = text; *c; c++)
        n += *c == ',';
    return n > 1 ? n : atoi(text);
}

/* One question, or one try to connect. Returns whether there is no need for another. */
static int store_ask(struct growth *g, struct notice *notice)
{
    const struct hx_members *members = &g->comm->members;
    const struct hx_world *world = g->comm->world;
    hx_status_t status = HX_SUCCESS;
    int refused = 0;

    if (!g->visit)
        status = hx_visit_open(&g->place, g->secret, share_of_timeout(g, VISIT_SECONDS, VISIT_SHARE), &refused, &g->visit);
    if (status == HX_SUCCESS)
        status = hx_visit_count(g->visit, members->size, world->generation, &notice->waiting);
    if (status == HX_SUCCESS && g->most && notice->waiting >= g->least) {
        status = hx_visit_admit(g->visit, g->most, members->size, world->generation, nodes_of(world->process.env->nodes), &notice->session);
        notice->session.seconds = start_seconds(g);
        notice->state = status == HX_SUCCESS && notice->session.count > 0 ? GO : AGAIN;
    } else if (status == HX_SUCCESS && notice->waiting >= g->least) {
        notice->state = OVER;
    }
    notice->status = (int32_t)status;
    snprintf(notice->text, sizeof(notice->text), "%s", status == HX_SUCCESS ? "" : hx_last_detail());
    g->reached |= status == HX_SUCCESS;
    if (status == HX_SUCCESS)
        return notice->state != AGAIN;
    refused |= g->visit && !hx_visit_is_lost(g->visit);
    hx_visit_close(g->visit); /* the store may be started again */
    g->visit = NULL;
    return refused;
}

/* Ask for a second, or until the time is up. Other threads can use Hierax meanwhile. */
static void turn_take(struct growth *g, struct notice *notice)
{
    const double until = fmin(hx_deadline(share_of_timeout(g, TURN_SECONDS, TURN_SHARE)), g->deadline);
    int settled;

    hx_fail_hold();
    for (;;) {
        hx_unlock();
        settled = store_ask(g, notice);
        if (!settled && !hx_deadline_passed(until))
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        hx_lock();
        if (settled || hx_deadline_passed(until))
            break;
        hx_progress_all(&g->comm->world->process);
    }
    hx_fail_release(0);
    if (!settled && !hx_deadline_passed(g->deadline))
        notice->status = HX_SUCCESS; /* there will be another turn */
    else if (notice->status != HX_SUCCESS && g->reached && !settled)
        notice->status = HX_SUCCESS; /* the store is being started again, and the time is over */
    if (notice->state == AGAIN && (settled || hx_deadline_passed(g->deadline)))
        notice->state = OVER;
}

/* ---- all members ------------------------------------------------------------------------------------------------- */

static hx_status_t notice_share(const struct growth *g, struct notice *notice)
{
    const struct hx_call_key key = hx_call_key_of(HX_COLL_BCAST, HX_BYTE, HX_SUM, 0, sizeof(*notice));

    return hx_call_inner(g->name, g->comm, hx_call_key_for(g->purpose, hx_about_growth(g->n, g->seconds), key), notice, notice);
}

/* The members agree on the worst status of each kind. */
struct outcome {
    hx_status_t comm;  /* the communicator has failed, or a member has died or gone elsewhere */
    hx_status_t world; /* the new world could not start */
};

/* The first member that is not in the agreement, or -1. */
static int missing(const struct hx_members *members, const struct hx_agreement *agreement)
{
    for (int rank = 0; rank < members->size; rank++)
        if (!hx_agreed_has(agreement, rank))
            return rank;
    return -1;
}

struct meeting { /* a member waits for the others */
    struct hx_comm *comm;
    const struct hx_failure *failure; /* of a member that does not come; NULL: none as far as this member knows */
};

/* Has a member made a different call, or revoked the communicator? Then it may not come to this agreement. */
static const struct hx_failure *absence(const struct hx_comm *comm)
{
    const struct hx_failure *failure = hx_failure_look(&comm->engine, HX_SUCCESS);

    return failure && (failure->status == HX_ERR_MISMATCH || failure->status == HX_ERR_REVOKED) ? failure : NULL;
}

static hx_status_t absence_fail(const struct growth *g, const struct hx_failure *failure)
{
    const int is_named = strncmp(failure->text, g->name, strlen(g->name)) == 0; /* it is the other rank's error in this function */

    return hx_fail((hx_status_t)failure->status, "%s%s%s", is_named ? "" : g->name, is_named ? "" : ": ", failure->text);
}

static int meeting_look(void *ctx)
{
    struct meeting *meeting = ctx;

    meeting->comm->world->process.owner->pump(&meeting->comm->world->process);
    if (hx_agree_advance(&meeting->comm->members))
        return 1;
    meeting->failure = absence(meeting->comm);
    return meeting->failure != NULL;
}

static void meeting_slow(void *ctx)
{
    hx_agree_slow(&((const struct meeting *)ctx)->comm->members);
}

static hx_status_t meet(const struct growth *g, struct hx_agreement *agreement)
{
    struct hx_process *process = &g->comm->world->process;
    struct hx_members *members = &g->comm->members;
    struct meeting meeting = {.comm = g->comm};
    hx_status_t status = hx_agree_begin(process, members, agreement);

    if (status != HX_SUCCESS)
        return status;
    status = hx_wait_until(&process->waiter, &(struct hx_wait){meeting_look, meeting_slow, &meeting, *members->timeout_s, hx_agree_clock(members)});
    if (meeting.failure)
        status = absence_fail(g, meeting.failure);
    return hx_agree_end(members, status, agreement);
}

/* mine: in, of this member; out, of all. Agreements find the least, so complements go in. Returns the status of comm. */
static hx_status_t agree(const struct growth *g, struct outcome *mine)
{
    struct hx_comm *comm = g->comm;
    struct hx_agreement agreement = {.name = g->name, .kind = HX_AGREE_GROW};
    const struct hx_failure *failure;
    hx_status_t status;

    hx_commits_await(comm);
    agreement.words[1] = ~(uint64_t)mine->comm;
    agreement.words[2] = ~(uint64_t)mine->world;
    status = meet(g, &agreement);
    if (status == HX_SUCCESS && (agreement.kinds != 1u << HX_AGREE_GROW || missing(&comm->members, &agreement) >= 0) && (failure = absence(comm)))
        status = absence_fail(g, failure);
    else if (status == HX_SUCCESS && agreement.kinds != 1u << HX_AGREE_GROW)
        status = hx_fail(HX_ERR_REVOKED, "%s: another rank is in hx_comm_agree or hx_comm_shrink", g->name);
    else if (status == HX_SUCCESS && missing(&comm->members, &agreement) >= 0)
        status = hx_fail(HX_ERR_PEER_DEAD, "%s: rank %d has died or is gone", g->name, missing(&comm->members, &agreement));
    else if (status == HX_SUCCESS && (status = (hx_status_t)~agreement.words[1]) != HX_SUCCESS)
        hx_fail(status, "%s: it has failed on another rank: %s", g->name, hx_strerror(status));
    *mine = (struct outcome){status, (hx_status_t)~agreement.words[2]};
    if (status != HX_SUCCESS && !comm->members.failed)
        hx_comm_break(comm, status);
    return status;
}

/* Steps 3 and 4, and the first half of 2. *outcome: that of all members, as agree returns it. */
static void session_open(const struct growth *g, struct hx_session *session, struct outcome *outcome, hx_comm_t **bigger)
{
    struct hx_world *world = NULL;
    struct hx_boot *boot = NULL;
    int culprit;

    session->rank = g->comm->members.rank;
    session->node = g->comm->world->emulated_node;
    hx_fail_hold();
    hx_unlock();
    outcome->world = hx_boot_open_session(&g->place, g->secret, session, session->seconds, &boot);
    hx_lock();
    if (agree(g, outcome) == HX_SUCCESS && outcome->world == HX_SUCCESS) {
        hx_unlock();
        outcome->world = hx_growth_open(session, boot, g->comm, &world, &culprit);
        hx_lock();
        boot = NULL;
        agree(g, outcome);
    }
    hx_fail_release(0);
    hx_unlock();
    hx_boot_close(boot, 0);
    if (outcome->comm == HX_SUCCESS && outcome->world == HX_SUCCESS) {
        hx_growth_keep(world);
        *bigger = world->comms;
    } else {
        hx_growth_drop(world, outcome->comm != HX_SUCCESS ? outcome->comm : outcome->world);
    }
    hx_lock();
}

/* No member meets the newcomers of this session. They wait for members until one has been there, and has left: then they wait in the store
 * again. */
static void session_abandon(const struct growth *g, struct hx_session *session)
{
    struct hx_boot *boot = NULL;

    session->rank = g->comm->members.rank;
    hx_fail_hold();
    hx_unlock();
    if (hx_boot_open_session(&g->place, g->secret, session, VISIT_SECONDS, &boot) == HX_SUCCESS)
        hx_boot_close(boot, 0);
    hx_lock();
    hx_fail_release(0);
}

static hx_status_t grow(struct growth *g, hx_comm_t **bigger)
{
    struct notice notice;
    struct outcome outcome;

    do {
        notice = (struct notice){.state = AGAIN};
        if (g->comm->members.rank == 0)
            turn_take(g, &notice);
        outcome = (struct outcome){notice_share(g, &notice), HX_SUCCESS};
        if (outcome.comm != HX_SUCCESS && notice.state == GO && g->comm->members.rank == 0)
            session_abandon(g, &notice.session);
        if (outcome.comm == HX_ERR_MISMATCH)
            return outcome.comm;
        if (outcome.comm == HX_SUCCESS && notice.state == GO)
            session_open(g, &notice.session, &outcome, bigger);
        else
            agree(g, &outcome);
        if (outcome.comm != HX_SUCCESS)
            return g->comm->members.failed;
        if (notice.state == GO && outcome.world == HX_SUCCESS)
            return HX_SUCCESS;
        if (notice.state == GO && notice.session.count > 1)
            g->deadline = fmax(g->deadline, fmin(hx_clock_awake() + BACK_SECONDS, g->limit));
        if (notice.state == GO && g->comm->members.rank == 0)
            hx_warn("%s: generation %llu could not start with %d newcomers: %s", g->name, (unsigned long long)notice.session.generation,
                    notice.session.count, hx_last_detail());
    } while (notice.state != OVER);
    if (notice.status != HX_SUCCESS)
        return hx_comm_fail(g->comm, hx_fail((hx_status_t)notice.status, "%s: %s", g->name, notice.text));
    g->least = notice.waiting; /* of hx_comm_wait_size */
    return HX_SUCCESS;
}

static hx_status_t growth_check(struct growth *g, double seconds, const void *out, const char *out_name)
{
    struct hx_comm *comm = g->comm;
    hx_status_t status = hx_comm_check(comm, g->name);
    const struct hx_env *env;

    if (status != HX_SUCCESS)
        return status;
    if (!out)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: %s is NULL", g->name, out_name));
    if (g->least && g->most < 1)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: n is %d; choose 1 or more", g->name, g->most));
    if (!(seconds >= 0) || isinf(seconds))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: seconds is %g; choose 0 or more", g->name, seconds));
    if ((status = hx_notice_refuse(g->name)) != HX_SUCCESS || (status = hx_group_refuse(comm, g->name)) != HX_SUCCESS)
        return status;
    env = comm->world->process.env;
    if (!env->store)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ENV, "%s: HX_STORE is not set: it is host:port/name, the address of coll_store and one of its "
                                                      "names", g->name));
    if ((status = hx_lobby_place_parse("HX_STORE=", env->store, &g->place)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    g->secret = env->secret ? env->secret : "";
    g->deadline = hx_clock_awake() + seconds;
    g->limit = fmax(g->deadline, hx_clock_awake() + START_SECONDS) + BACK_SECONDS;
    return HX_SUCCESS;
}

/* Returns the number of processes that wait in g->least. */
static hx_status_t growth_run(struct growth *g, hx_comm_t **bigger)
{
    hx_status_t status;

    if (!hx_growth_begin())
        return hx_comm_fail(g->comm, hx_fail(HX_ERR_STATE, "%s: another thread is in hx_join or hx_comm_grow", g->name));
    g->comm->meetings++;
    status = grow(g, bigger);
    g->comm->meetings--;
    hx_visit_close(g->visit);
    hx_growth_end();
    return status;
}

hx_status_t hx_comm_grow(hx_comm_t *comm, int n, double seconds, hx_comm_t **bigger)
{
    struct growth g = {.name = "hx_comm_grow", .purpose = HX_FOR_GROW, .comm = comm, .n = n, .seconds = seconds, .most = n, .least = 1};
    hx_status_t status;

    if (bigger)
        *bigger = NULL;
    HX_ENTER();
    if ((status = growth_check(&g, seconds, bigger, "bigger")) != HX_SUCCESS)
        return status;
    return growth_run(&g, bigger);
}

hx_status_t hx_comm_wait_size(hx_comm_t *comm, int least, double seconds, int *size)
{
    struct growth g = {.name = "hx_comm_wait_size", .purpose = HX_FOR_WAIT_SIZE, .comm = comm, .n = least, .seconds = seconds};
    hx_status_t status;

    HX_ENTER();
    if ((status = growth_check(&g, seconds, size, "size")) != HX_SUCCESS)
        return status;
    g.least = least > comm->members.size ? least - comm->members.size : 0;
    if ((status = growth_run(&g, NULL)) == HX_SUCCESS)
        *size = comm->members.size + g.least;
    return status;
}
