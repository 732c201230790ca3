/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's other engines, in turn, and the requests that each has yet to run: see call.h. */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/engine/trace_spans.h"
#include <stdlib.h>

struct hx_engine *hx_engine_next(struct hx_comm *comm)
{
    int which = (int)(comm->started % HX_CONCURRENT);
    struct hx_engine **engine = &comm->others[which];

    if (!*engine) {
        if (!(*engine = calloc(1, sizeof(**engine)))) {
            hx_fail(HX_ERR_NOMEM, "no memory for a non-blocking call");
            return NULL;
        }
        if (hx_engine_open(*engine, &comm->world->process, &comm->members, 1 + which) != HX_SUCCESS) {
            hx_engine_close(*engine);
            free(*engine);
            *engine = NULL;
            return NULL;
        }
    }
    comm->started++;
    return *engine;
}

/* Begin what is next: the first call, or what is due before it. */
static hx_status_t engine_begin(struct hx_engine *engine)
{
    struct hx_request *first = engine->first;
    struct hx_prepared next = {.bound = NULL};
    hx_status_t status = hx_call_prepare(engine, &first->call, &next);

    if (status == HX_SUCCESS)
        hx_run_begin(engine, next.bound, first->call.name, next.in, next.out);
    return status;
}

void hx_request_end(struct hx_request *request, const struct hx_engine *engine, hx_status_t status)
{
    hx_notify(&request->call.comm->world->process.waiter);
    if (HX_TRACING)
        hx_trace_background(request, engine, status);
    request->status = status;
    if (request->group)
        hx_group_part_end(request, status);
    else if (request->commit)
        hx_commit_ran(request, status);
    else
        hx_request_settle(request, status);
}

void hx_request_settle(struct hx_request *request, hx_status_t status)
{
    hx_notify(&request->call.comm->world->process.waiter);
    if (request->ended)
        hx_group_settle(request, status);
    if (request->notice)
        hx_notice_due(request, status);
    else
        hx_request_done(request);
}

static void first_end(struct hx_engine *engine)
{
    struct hx_request *first = engine->first;
    hx_status_t status;

    if (!hx_call_has_ended(engine, &first->call, &status) || engine->members->failed)
        return;
    engine->first = first->next;
    hx_request_end(first, engine, status);
}

/* Until it must wait, has nothing left to do, or has failed. */
static void engine_advance(struct hx_engine *engine)
{
    while (engine->first) {
        if (engine->running == HX_IDLE && engine_begin(engine) != HX_SUCCESS)
            return;
        if (!hx_run_advance(engine))
            return;
        engine->running = HX_IDLE;
        if (hx_run_end(&engine->run) != HX_SUCCESS)
            return;
        first_end(engine);
    }
}

/* Returns whether the engine has more to do. */
static int engine_progress(struct hx_engine *engine)
{
    engine_advance(engine);
    return engine->first || (engine == engine->members->blocking && hx_commits_progress(hx_comm_of(engine)));
}

static void process_progress(struct hx_process *process)
{
    struct hx_engine **link = &process->active, *engine;

    hx_p2p_progress(process);
    while ((engine = *link)) {
        if (engine_progress(engine))
            link = &engine->next_active;
        else
            *link = engine->next_active;
    }
}

/* Those of the network; notifies threads that may wait for them. */
static int network_progress(struct hx_process *process)
{
    int events = process->net ? hx_registry.net->progress(process->net) : 0;

    if (events > 0)
        hx_notify(&process->waiter);
    return events;
}

/* This thread is in a call of one world. It also moves the calls of the other worlds, for which other ranks may wait. Nothing wakes this
 * thread for them, so it naps as long as there are any. Errors of their networks are found by calls of their own. */
static __attribute__((noinline)) void others_progress(struct hx_process *process)
{
    int naps = 0;

    for (struct hx_world *world = hx_world; world; world = world->older) {
        if (&world->process == process)
            continue;
        network_progress(&world->process);
        process_progress(&world->process);
        naps |= hx_calls_are_active(&world->process);
    }
    process->waiter.naps = naps;
}

void hx_requests_progress(struct hx_process *process)
{
    process_progress(process);
    if (process->has_others)
        others_progress(process);
}

int hx_progress_all(struct hx_process *process)
{
    const int events = network_progress(process);

    hx_requests_progress(process);
    return events;
}

static int idle_look(void *ctx)
{
    const struct hx_engine *engine = ctx;

    hx_progress_all(engine->process);
    return engine->running == HX_IDLE;
}

hx_status_t hx_engine_await(struct hx_engine *engine)
{
    if (engine->running != HX_IDLE) { /* that call has a time limit of its own */
        engine->awaiting++;
        hx_wait_until(&engine->process->waiter, &(struct hx_wait){.look = idle_look, .ctx = engine, .wait_clock = &(struct hx_wait_clock){0}});
        engine->awaiting--;
        hx_notify(&engine->process->waiter);
    }
    return engine->members->failed;
}

static int left_look(void *ctx)
{
    return ((const struct hx_engine *)ctx)->awaiting == 0;
}

void hx_engine_leave(struct hx_engine *engine)
{
    if (engine->awaiting)
        hx_wait_until(&engine->process->waiter, &(struct hx_wait){.look = left_look, .ctx = engine, .wait_clock = &(struct hx_wait_clock){0}});
}

void hx_requests_fail(struct hx_comm *comm)
{
    hx_p2p_fail(comm->world->process.p2p, &comm->members, comm->members.failed, comm->members.detail);
    for (int i = 0; i < HX_CONCURRENT; i++) {
        struct hx_engine *engine = comm->others[i];
        if (!engine)
            continue;
        if (engine->running != HX_IDLE)
            hx_run_cancel(&engine->run);
        engine->running = HX_IDLE;
        while (engine->first) {
            struct hx_request *first = engine->first;
            engine->first = first->next;
            hx_request_end(first, engine, comm->members.failed); /* which may release it */
        }
    }
}

void hx_requests_forget(struct hx_engine *engine)
{
    struct hx_engine **link = engine->process ? &engine->process->active : NULL; /* NULL: never opened */

    if (!link)
        return;
    while (*link && *link != engine)
        link = &(*link)->next_active;
    if (*link)
        *link = engine->next_active;
}

int hx_requests_active(const struct hx_comm *comm)
{
    int n = hx_messages_active(comm);

    for (int i = 0; i < HX_CONCURRENT; i++)
        if (comm->others[i])
            for (const struct hx_request *request = comm->others[i]->first; request; request = request->next)
                n++;
    return n;
}
