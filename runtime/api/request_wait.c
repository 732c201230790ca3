/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for one request, and checks requests with a callback or descriptor, for which perhaps no thread waits. */
#include "runtime/api/request_wait.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/base/probe.h"
#include "runtime/engine/agree.h"
#include "runtime/engine/awaited.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"

hx_status_t hx_request_finish(hx_request_t *request)
{
    hx_status_t status = request->status;

    request->state = HX_REQUEST_INACTIVE;
    if (!request->persistent)
        hx_request_release(request);
    return status;
}

/* The network has failed under comm's calls, if they need it. */
static void network_failed(struct hx_comm *comm, int events)
{
    if (comm->members.failed || comm->members.local_n == comm->members.size)
        return;
    hx_recall(hx_registry.net->why(comm->world->process.net));
    hx_comm_break(comm, (hx_status_t)-events);
}

/* The call for which the request waits: its own, or one that commits before. */
static struct hx_request *due_of(struct hx_request *request)
{
    return request->commit == HX_COMMIT_RAN || request->commit == HX_COMMIT_OPEN ? request->call.comm->commits.first : request;
}

struct hx_engine *hx_request_engine(struct hx_request *waiting)
{
    const struct hx_request *request = due_of(waiting);

    if (request->state != HX_REQUEST_ACTIVE || request->message || request->commit == HX_COMMIT_RAN || request->commit == HX_COMMIT_OPEN)
        return NULL;
    if (request->blocks)
        return &request->call.comm->engine;
    return request->parts ? hx_group_engine(request) : request->engine;
}

/* HX_TRACE: the rank of the job for which the request waits, or -1. */
static int request_awaited(struct hx_request *request)
{
    const struct hx_engine *engine = hx_request_engine(request);

    return engine && engine->running == HX_RUNS ? hx_awaited_rank(&engine->run) : -1;
}

static void wait_tell(void *ctx)
{
    const struct hx_request_wait *wait = ctx;
    struct hx_engine *engine = hx_request_engine(wait->request);

    if (wait->request->message && wait->request->message->state != HX_P2P_ENDED && wait->request->state == HX_REQUEST_ACTIVE)
        hx_message_stall(wait->request->message);
    if (!engine || engine->running == HX_IDLE)
        return;
    engine->blocks = wait->blocks;
    hx_stall_tell(&engine->run);
}

/* The wait is long. */
static void wait_slow(void *ctx)
{
    const struct hx_request_wait *wait = ctx;

    wait_tell(ctx);
    if (due_of(wait->request)->commit == HX_COMMIT_OPEN)
        hx_agree_slow(&wait->request->call.comm->members);
}

void hx_request_failures_look(struct hx_request_wait *wait, int events)
{
    struct hx_comm *comm = wait->request->call.comm;

    if (events < 0)
        network_failed(comm, events);
    if (comm->engine.mine && atomic_load_explicit(&comm->engine.mine->failed, memory_order_relaxed))
        wait_tell(wait);
}

static int wait_look(void *ctx)
{
    struct hx_request_wait *wait = ctx;
    const struct hx_world *world = wait->request->call.comm->world;
    const struct hx_process *process = &world->process;

    hx_request_failures_look(wait, hx_progress_all(&wait->request->call.comm->world->process));
    return wait->request->state != HX_REQUEST_ACTIVE || process->moves != wait->moves || hx_notices_wait(world) ||
           HX_PROBE_IN_VAIN(process->trace, request_awaited(wait->request));
}

/* The request is active. Its time is that of its engine's call under way, its own or one before it. */
static struct hx_wait wait_for(struct hx_request_wait *wait)
{
    struct hx_request *request = wait->request;
    struct hx_engine *engine = hx_request_engine(request);
    struct hx_wait_clock *clock = request->message                               ? &request->message->wait_clock
                                  : engine                                       ? &engine->wait_clock
                                  : due_of(request)->commit == HX_COMMIT_OPEN ? hx_agree_clock(&request->call.comm->members)
                                                                                 : &wait->clock;

    return (struct hx_wait){wait_look, wait_slow, wait,
                            clock == &wait->clock ? 0 : *request->call.comm->members.timeout_s, clock};
}

static void request_late(struct hx_request *request)
{
    struct hx_engine *engine = hx_request_engine(request);

    if (request->message && request->state == HX_REQUEST_ACTIVE)
        hx_message_late(request->message);
    if (request->state == HX_REQUEST_ACTIVE && due_of(request)->commit == HX_COMMIT_OPEN)
        hx_commits_late(request->call.comm);
    if (engine && engine->running != HX_IDLE) {
        hx_awaited_fail(&engine->run);
        hx_comm_break(request->call.comm, HX_ERR_TIMEOUT);
    }
}

int hx_request_goes_on(struct hx_request *request, int blocks, int events)
{
    struct hx_request_wait wait = {.request = request, .blocks = blocks};

    if (events < 0)
        network_failed(request->call.comm, events);
    if (request->state == HX_REQUEST_ACTIVE) {
        const struct hx_wait how = wait_for(&wait);
        if (hx_wait_check(&how) == HX_ERR_TIMEOUT)
            request_late(request);
    }
    return request->state == HX_REQUEST_ACTIVE;
}

hx_status_t hx_test(hx_request_t *request, int *done)
{
    hx_status_t status;
    int events;

    HX_ENTER();
    if ((status = hx_request_completes_check(request, "hx_test")) != HX_SUCCESS)
        return status;
    if (!done)
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_ARG, "hx_test: done is NULL"));
    request->held++;
    events = hx_progress_all(&request->call.comm->world->process);
    hx_notices_tell(request->call.comm->world);
    *done = !hx_request_goes_on(request, 0, events);
    request->held--;
    /* inactive: the caller has already received its status */
    return request->state == HX_REQUEST_DONE ? hx_request_finish(request) : HX_SUCCESS;
}

/* ---- requests with a callback or descriptor ---------------------------------------------------------------------- */

static int is_watched(const struct hx_request *request)
{
    return request->notice || request->fd >= 0;
}

/* Returns the first of the engine's requests, if one of them has a callback or descriptor; else NULL. */
static struct hx_request *first_watched(const struct hx_engine *engine)
{
    const struct hx_request *watched = engine->first;

    while (watched && !is_watched(watched->group ? watched->group : watched))
        watched = watched->next;
    return watched ? engine->first : NULL;
}

/* The same for calls that have yet to commit, if the engine stands for them. */
static struct hx_request *first_committing(const struct hx_engine *engine)
{
    const struct hx_commits *commits = &hx_comm_of(engine)->commits;
    const struct hx_request *watched = engine == engine->members->blocking ? commits->first : NULL;

    while (watched && !is_watched(watched))
        watched = watched->next_commit;
    return watched ? commits->first : NULL;
}

static struct hx_request *watched_message(const struct hx_p2p_call *message)
{
    struct hx_request *request = message->owner;

    return request && (request->notice || request->fd >= 0) ? request : NULL;
}

void hx_requests_look(const struct hx_process *process, int events)
{
    struct hx_request_wait wait = {.request = NULL};

    for (const struct hx_engine *engine = process->active; engine; engine = engine->next_active)
        if ((wait.request = first_watched(engine)) || (wait.request = first_committing(engine)))
            hx_request_failures_look(&wait, events);
    for (const struct hx_p2p_call *message = process->p2p ? process->p2p->all : NULL, *next; message; message = next) {
        next = message->all_next;
        if (!(wait.request = watched_message(message)))
            continue;
        hx_request_failures_look(&wait, events);
        if (wait.request->call.comm->members.failed)
            return; /* next may have ended too */
    }
}

void hx_requests_check(const struct hx_process *process)
{
    struct hx_request *request;

    for (const struct hx_engine *engine = process->active; engine; engine = engine->next_active)
        if ((request = first_watched(engine)) || (request = first_committing(engine)))
            hx_request_goes_on(request, 0, 0);
    for (const struct hx_p2p_call *message = process->p2p ? process->p2p->all : NULL, *next; message; message = next) {
        request = watched_message(message);
        next = message->all_next;
        if (!request)
            continue;
        hx_request_goes_on(request, 0, 0);
        if (request->call.comm->members.failed)
            return; /* next may have ended too */
    }
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Wait a while, and call callbacks that are due. */
static void request_look(hx_request_t *request)
{
    struct hx_world *world = request->call.comm->world;
    struct hx_request_wait wait = {.request = request, .blocks = 1, .moves = world->process.moves};
    const struct hx_wait how = wait_for(&wait);
    hx_status_t status;

    if (hx_notices_wait(world)) {
        hx_notices_tell(world);
        return;
    }
    status = hx_wait_until(&world->process.waiter, &how);
    if (request->state == HX_REQUEST_ACTIVE && (status != HX_SUCCESS || hx_wait_check(&how) != HX_SUCCESS))
        request_late(request);
}

hx_status_t hx_request_wait(hx_request_t *request)
{
    hx_status_t status = hx_request_completes_check(request, "hx_wait");
    struct hx_world *world;

    if (status != HX_SUCCESS || request->state == HX_REQUEST_INACTIVE)
        return status;
    world = request->call.comm->world;
    if (request->state == HX_REQUEST_ACTIVE && (status = hx_notice_refuse("hx_wait")) != HX_SUCCESS)
        return hx_comm_fail(request->call.comm, status);
    request->held++;
    while (request->state == HX_REQUEST_ACTIVE) /* the time-out is for a call in which nothing moves, whatever other calls do */
        request_look(request);
    request->held--;
    hx_stand_clear(&world->process);
    return hx_request_finish(request);
}

void hx_commit_await(hx_request_t *request)
{
    struct hx_process *process = &request->call.comm->world->process;

    while (request->commit)
        request_look(request);
    hx_stand_clear(process);
}

void hx_commits_await(struct hx_comm *comm)
{
    struct hx_request mark = {.call = {.comm = comm}, .state = HX_REQUEST_ACTIVE, .blocks = 1, .is_mark = 1, .fd = -1};

    if (!comm->commits.first)
        return;
    hx_commit_enter(&mark);
    hx_commit_ran(&mark, HX_SUCCESS);
    hx_commit_await(&mark);
}

hx_status_t hx_wait(hx_request_t *request)
{
    HX_ENTER();
    return hx_request_wait(request);
}
