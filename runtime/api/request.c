/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: made, started, waited for. request_queue.c runs them. */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/engine/agree.h"
#include "runtime/api/lock.h"
#include "runtime/base/user_table.h"
#include "runtime/engine/awaited.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/trace_spans.h"
#include "runtime/engine/whereabouts.h"
#include <stdlib.h>
#include <string.h>

void hx_request_release(struct hx_request *request)
{
    struct hx_comm *comm = request->call.comm;

    hx_root_counts_close(&request->call);
    hx_user_let_go((unsigned)request->call.key.dtype);
    hx_user_let_go((unsigned)request->call.key.op);
    free(request->call.memory);
    free(request->undo.memory);
    hx_notice_detach(request);
    hx_request_fd_close(request);
    free(request->message);
    hx_request_retire(request);
    comm->requests--;
    hx_comm_let_go(comm);
}

/* Give the request to the next engine. Errors: HX_ERR_NOMEM; the communicator has failed then: the other ranks start the call, this one
 * cannot. */
static hx_status_t engine_take(struct hx_request *request)
{
    struct hx_comm *comm = request->call.comm;
    struct hx_engine *engine = hx_engine_next(comm);

    if (!engine)
        return hx_comm_break(comm, HX_ERR_NOMEM);
    request->engine = engine;
    request->next = NULL;
    if (engine->first) {
        engine->last->next = request;
    } else {
        engine->first = request;
        engine->next_active = comm->world->process.active;
        comm->world->process.active = engine;
    }
    engine->last = request;
    return HX_SUCCESS;
}

hx_status_t hx_request_start(struct hx_request *request)
{
    struct hx_comm *comm = request->call.comm;
    hx_status_t status = HX_SUCCESS;

    request->since = HX_TRACING ? hx_now_ns() : 0;
    hx_request_fd_clear(request);
    if (request->message) {
        hx_message_start(request);
        return HX_SUCCESS;
    }
    request->call.key = hx_call_key_on(comm, request->call.key); /* all ranks start in the same order: alike */
    request->status = request->call.counted ? hx_root_counts_compare(&request->call) : HX_SUCCESS;
    if (request->call.key.count && comm->world->process.env->stats)
        hx_stats_start(&request->call);
    if (comm->members.size == 1)
        request->status = hx_call_alone(&request->call);
    if (comm->members.size == 1 || request->call.key.count == 0) {
        if (HX_TRACING)
            hx_trace_background(request, &comm->engine, request->status);
        hx_request_done(request);
        return HX_SUCCESS;
    }
    request->state = HX_REQUEST_ACTIVE;
    if (!request->group && hx_commits(&request->call) && (status = hx_commit_enter(request)) != HX_SUCCESS)
        hx_comm_break(comm, status); /* as in engine_take */
    if (status == HX_SUCCESS)
        status = engine_take(request);
    if (status != HX_SUCCESS && !request->commit) {
        request->state = HX_REQUEST_INACTIVE;
        return status;
    }
    if (status != HX_SUCCESS)
        hx_commit_ran(request, status);
    hx_requests_progress(&comm->world->process);
    if (comm->world->has_thread && comm->world->process.active)
        pthread_cond_signal(&comm->world->work);
    return HX_SUCCESS;
}

hx_status_t hx_request_new(const struct hx_call *call, int persistent, hx_request_t **out)
{
    struct hx_request *request = hx_request_alloc();
    int copies = call->inplace_copy != HX_INPLACE_COPY_NOTHING && call->key.count && call->comm->members.size > 1;
    void *memory = request && copies ? hx_inplace_copy_new(call->inplace_copy_bytes) : NULL;
    struct hx_p2p_call *message = call->message ? malloc(sizeof(*message)) : NULL;
    hx_status_t status = HX_SUCCESS;

    if (!request || (!memory && copies) || (!message && call->message)) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for a request and an in-place copy of %zu bytes", call->name, call->inplace_copy_bytes);
        if (request)
            hx_request_retire(request);
        free(memory);
        free(message);
        return hx_comm_break(call->comm, HX_ERR_NOMEM);
    }
    if (message)
        memcpy(message, call->message, sizeof(*message));
    *request = (struct hx_request){.call = *call, .persistent = persistent, .message = message, .fd = -1};
    request->call.memory = memory;
    call->comm->requests++;
    hx_user_hold((unsigned)call->key.dtype);
    hx_user_hold((unsigned)call->key.op);
    if ((status = hx_root_counts_open(&request->call)) != HX_SUCCESS ||
        (!persistent && (status = hx_request_start(request)) != HX_SUCCESS)) {
        hx_request_release(request);
        return status;
    }
    *out = request;
    return HX_SUCCESS;
}

static hx_status_t handle_check(const hx_request_t *request, const char *name)
{
    if (hx_world_ended())
        return hx_fail(HX_ERR_STATE, "%s: Hierax %s", name, hx_world_ended());
    if (!request)
        return hx_fail(HX_ERR_ARG, "%s: the request is NULL", name);
    return hx_request_released(request, name);
}

hx_status_t hx_request_check(hx_request_t *request, const char *name)
{
    hx_status_t status = handle_check(request, name);

    if (status == HX_SUCCESS && request->notice)
        hx_notice_settle(request);
    return status;
}

/* The same for a function that releases the request, or may do so: not while another function of this or another thread does. */
static hx_status_t last_check(hx_request_t *request, const char *name, int releases)
{
    const hx_status_t status = handle_check(request, name);

    if (status == HX_SUCCESS && request->held && releases)
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_STATE, "%s: the request of %s is in use: another call waits for it or tests it",
                                                        name, request->call.name));
    return status == HX_SUCCESS ? hx_request_check(request, name) : status;
}

static hx_status_t completes_check(hx_request_t *request, const char *name)
{
    return last_check(request, name, request && request->state != HX_REQUEST_RELEASED && !request->persistent);
}

hx_status_t hx_start(hx_request_t *request)
{
    hx_status_t status;
    struct hx_comm *comm;

    HX_ENTER();
    if ((status = hx_request_check(request, "hx_start")) != HX_SUCCESS)
        return status;
    comm = request->call.comm;
    if (comm->members.failed)
        return comm->members.failed;
    if ((status = hx_group_refuse(comm, "hx_start")) != HX_SUCCESS)
        return status;
    if (!request->persistent)
        return hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "hx_start: a request of %s is not persistent: it has started already",
                                          request->call.name));
    if (request->state != HX_REQUEST_INACTIVE)
        return hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "hx_start: the request of %s is active: call hx_wait first",
                                          request->call.name));
    return hx_request_start(request);
}

/* The request is done: return its status. A request that is not persistent is released. */
static hx_status_t request_finish(hx_request_t *request)
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

/* The engine whose first run the request waits for; NULL: the request is not active, or a message, or the members agree about it. */
static struct hx_engine *engine_of(struct hx_request *waiting)
{
    const struct hx_request *request = due_of(waiting);

    if (request->state != HX_REQUEST_ACTIVE || request->message || request->commit == HX_COMMIT_RAN || request->commit == HX_COMMIT_OPEN)
        return NULL;
    if (request->blocks)
        return &request->call.comm->engine;
    return request->parts ? hx_group_engine(request) : request->engine;
}

struct wait {
    struct hx_request *request;
    int blocks;
    uint64_t moves; /* of all calls, when the wait began */
    struct hx_wait_clock clock; /* for a callback */
};

/* HX_TRACE: the rank of the job for which the request waits, or -1. */
static int request_awaited(struct hx_request *request)
{
    const struct hx_engine *engine = engine_of(request);

    return engine && engine->running == HX_RUNS ? hx_awaited_rank(&engine->run) : -1;
}

static void wait_tell(void *ctx)
{
    const struct wait *wait = ctx;
    struct hx_engine *engine = engine_of(wait->request);

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
    const struct wait *wait = ctx;

    wait_tell(ctx);
    if (due_of(wait->request)->commit == HX_COMMIT_OPEN)
        hx_agree_slow(&wait->request->call.comm->members);
}

/* There was progress, with so many events of the network. If another rank reports that the communicator has failed, do not wait. */
static void failures_look(struct wait *wait, int events)
{
    struct hx_comm *comm = wait->request->call.comm;

    if (events < 0)
        network_failed(comm, events);
    if (comm->engine.mine && atomic_load_explicit(&comm->engine.mine->failed, memory_order_relaxed))
        wait_tell(wait);
}

static int wait_look(void *ctx)
{
    struct wait *wait = ctx;
    const struct hx_world *world = wait->request->call.comm->world;
    const struct hx_process *process = &world->process;

    failures_look(wait, hx_progress_all(&wait->request->call.comm->world->process));
    return wait->request->state != HX_REQUEST_ACTIVE || process->moves != wait->moves || hx_notices_wait(world) ||
           HX_PROBE_IN_VAIN(request_awaited(wait->request));
}

/* The request is active. Its time is that of its engine's call under way, its own or one before it. */
static struct hx_wait wait_for(struct wait *wait)
{
    struct hx_request *request = wait->request;
    struct hx_engine *engine = engine_of(request);
    struct hx_wait_clock *clock = request->message                               ? &request->message->wait_clock
                                  : engine                                       ? &engine->wait_clock
                                  : due_of(request)->commit == HX_COMMIT_OPEN ? hx_agree_clock(&request->call.comm->members)
                                                                                 : &wait->clock;

    return (struct hx_wait){wait_look, wait_slow, wait,
                            clock == &wait->clock ? 0 : *request->call.comm->members.timeout_s, clock};
}

static void request_late(struct hx_request *request)
{
    struct hx_engine *engine = engine_of(request);

    if (request->message && request->state == HX_REQUEST_ACTIVE)
        hx_message_late(request->message);
    if (request->state == HX_REQUEST_ACTIVE && due_of(request)->commit == HX_COMMIT_OPEN)
        hx_commits_late(request->call.comm);
    if (engine && engine->running != HX_IDLE) {
        hx_awaited_fail(&engine->run);
        hx_comm_break(request->call.comm, HX_ERR_TIMEOUT);
    }
}

/* There was progress, with so many events of the network: is the request active now, and in time? */
static int request_goes_on(struct hx_request *request, int blocks, int events)
{
    struct wait wait = {.request = request, .blocks = blocks};

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
    if ((status = completes_check(request, "hx_test")) != HX_SUCCESS)
        return status;
    if (!done)
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_ARG, "hx_test: done is NULL"));
    request->held++;
    events = hx_progress_all(&request->call.comm->world->process);
    hx_notices_tell(request->call.comm->world);
    *done = !request_goes_on(request, 0, events);
    request->held--;
    /* inactive: the caller has already received its status */
    return request->state == HX_REQUEST_DONE ? request_finish(request) : HX_SUCCESS;
}

/* ---- those for which perhaps no thread waits -------------------------------------------------------------------- */

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
    struct wait wait = {.request = NULL};

    for (const struct hx_engine *engine = process->active; engine; engine = engine->next_active)
        if ((wait.request = first_watched(engine)) || (wait.request = first_committing(engine)))
            failures_look(&wait, events);
    for (const struct hx_p2p_call *message = process->p2p ? process->p2p->all : NULL, *next; message; message = next) {
        next = message->all_next;
        if (!(wait.request = watched_message(message)))
            continue;
        failures_look(&wait, events);
        if (wait.request->call.comm->members.failed)
            return; /* next may have ended too */
    }
}

void hx_requests_check(const struct hx_process *process)
{
    struct hx_request *request;

    for (const struct hx_engine *engine = process->active; engine; engine = engine->next_active)
        if ((request = first_watched(engine)) || (request = first_committing(engine)))
            request_goes_on(request, 0, 0);
    for (const struct hx_p2p_call *message = process->p2p ? process->p2p->all : NULL, *next; message; message = next) {
        request = watched_message(message);
        next = message->all_next;
        if (!request)
            continue;
        request_goes_on(request, 0, 0);
        if (request->call.comm->members.failed)
            return; /* next may have ended too */
    }
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Wait a while, and call callbacks that are due. */
static void request_look(hx_request_t *request)
{
    struct hx_world *world = request->call.comm->world;
    struct wait wait = {.request = request, .blocks = 1, .moves = world->process.moves};
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
    hx_status_t status = completes_check(request, "hx_wait");
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
    return request_finish(request);
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

/* ---- lists: NULL and inactive entries are skipped, as MPI does ------------------------------------------------ */

static hx_status_t list_check(const char *name, int n, hx_request_t *const *requests)
{
    if (n < 0 || (n > 0 && !requests))
        return hx_fail(HX_ERR_ARG, "%s: %d requests%s", name, n, n < 0 ? "; choose 0 or more" : ", but the list is NULL");
    return HX_SUCCESS;
}

/* The same, and are all entries requests? */
static hx_status_t entries_check(const char *name, int n, hx_request_t *const *requests)
{
    hx_status_t status = list_check(name, n, requests);

    for (int i = 0; i < n && status == HX_SUCCESS; i++)
        if (requests[i])
            status = completes_check(requests[i], name);
    return status;
}

static void entries_hold(int n, hx_request_t *const *requests, int more)
{
    for (int i = 0; i < n; i++)
        if (requests[i])
            requests[i]->held += more;
}

static int is_started(const hx_request_t *request)
{
    return request && request->state != HX_REQUEST_INACTIVE && request->state != HX_REQUEST_RELEASED; /* released: it stands in the list twice */
}

static hx_status_t entry_finish(hx_request_t **entry)
{
    hx_request_t *request = *entry;

    if (!request->persistent)
        *entry = NULL;
    return request_finish(request);
}

hx_status_t hx_waitall(int n, hx_request_t **requests)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = list_check("hx_waitall", n, requests)) != HX_SUCCESS || (status = hx_notice_refuse("hx_waitall")) != HX_SUCCESS)
        return status;
    for (int i = 0; i < n; i++) {
        hx_status_t one = requests[i] ? hx_request_released(requests[i], "hx_waitall") : HX_SUCCESS;
        int persistent = requests[i] && one == HX_SUCCESS && requests[i]->persistent;
        if (requests[i] && one == HX_SUCCESS)
            one = hx_request_wait(requests[i]);
        if (status == HX_SUCCESS)
            status = one;
        if (!persistent)
            requests[i] = NULL;
    }
    return status;
}

hx_status_t hx_testall(int n, hx_request_t **requests, int *done)
{
    hx_status_t status, one;
    struct hx_world *world = NULL;
    int events = 0;

    HX_ENTER();
    if ((status = entries_check("hx_testall", n, requests)) != HX_SUCCESS)
        return status;
    if (!done)
        return hx_fail(HX_ERR_ARG, "hx_testall: done is NULL");
    *done = 1;
    entries_hold(n, requests, 1);
    for (int i = 0; i < n; i++) {
        if (!requests[i])
            continue;
        if (requests[i]->call.comm->world != world) {
            world = requests[i]->call.comm->world;
            events = hx_progress_all(&world->process);
            hx_notices_tell(world);
        }
        *done &= !request_goes_on(requests[i], 0, events);
    }
    entries_hold(n, requests, -1);
    for (int i = 0; *done && i < n; i++)
        if (is_started(requests[i]) && (one = entry_finish(&requests[i])) != HX_SUCCESS && status == HX_SUCCESS)
            status = one;
    return status;
}

struct any { /* a wait for any of these */
    hx_request_t **requests;
    int n, blocks;
    int done; /* the first of them that is done; n: none */
    struct hx_wait_clock wait_clock;
};

static int any_look(void *ctx)
{
    struct any *any = ctx;
    struct hx_world *world = NULL;
    int events = 0, notices_wait = 0;

    any->wait_clock.naps = 0;
    for (any->done = 0; any->done < any->n; any->done++) {
        struct wait wait = {.request = any->requests[any->done], .blocks = any->blocks};
        if (!is_started(wait.request))
            continue;
        if (wait.request->call.comm->world != world) {
            world = wait.request->call.comm->world;
            events = hx_progress_all(&world->process);
            notices_wait |= hx_notices_wait(world);
        }
        failures_look(&wait, events);
        if (wait.request->state == HX_REQUEST_DONE)
            return 1;
        any->wait_clock.naps |= engine_of(wait.request) && engine_of(wait.request)->wait_clock.naps;
    }
    return notices_wait;
}

/* The time-out is for each call. */
static void any_tell(void *ctx)
{
    const struct any *any = ctx;

    for (int i = 0; i < any->n; i++)
        if (any->requests[i])
            request_goes_on(any->requests[i], any->blocks, 0);
}

hx_status_t hx_waitany(int n, hx_request_t **requests, int *index)
{
    struct any any = {.requests = requests, .n = n};
    const struct hx_wait wait = {.look = any_look, .slow = any_tell, .ctx = &any, .wait_clock = &any.wait_clock};
    struct hx_world *world = NULL;
    hx_status_t status;
    int started = 0;

    HX_ENTER();
    if ((status = entries_check("hx_waitany", n, requests)) != HX_SUCCESS || (status = hx_notice_refuse("hx_waitany")) != HX_SUCCESS)
        return status;
    if (!index)
        return hx_fail(HX_ERR_ARG, "hx_waitany: index is NULL");
    *index = HX_UNDEFINED;
    for (int i = 0; i < n; i++)
        started += is_started(requests[i]);
    if (started == 0)
        return HX_SUCCESS;
    any.blocks = started == 1; /* else the end of another call may end this wait */
    entries_hold(n, requests, 1);
    do {
        for (int i = 0; i < n; i++)
            if (requests[i])
                hx_notices_tell((world = requests[i]->call.comm->world));
        hx_wait_until(&world->process.waiter, &wait);
    } while (any.done == n);
    entries_hold(n, requests, -1);
    hx_stand_clear(&world->process);
    *index = any.done;
    return entry_finish(&requests[any.done]);
}

hx_status_t hx_request_free(hx_request_t *request)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = handle_check(request, "hx_request_free")) != HX_SUCCESS)
        return status;
    if (hx_notice_is_told(request))
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_STATE, "hx_request_free: called from the callback of this request of %s; "
                                                        "call it when the callback has returned", request->call.name));
    if ((status = last_check(request, "hx_request_free", 1)) != HX_SUCCESS)
        return status;
    if (request->state != HX_REQUEST_INACTIVE && !request->call.comm->members.failed) /* however far it is by now */
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_STATE, "hx_request_free: the request of %s is active: call hx_wait first",
                                                        request->call.name));
    if (request->commit) /* the other ranks may agree about it */
        hx_commit_await(request);
    hx_request_release(request);
    return HX_SUCCESS;
}
