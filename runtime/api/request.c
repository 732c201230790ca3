/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes, starts and releases requests. request_queue.c runs them, request_wait.c waits for them. */
#include "runtime/api/request_wait.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/base/user_table.h"
#include "runtime/engine/trace_spans.h"
#include <stdlib.h>
#include <string.h>

void hx_request_release(struct hx_request *request)
{
    struct hx_comm *comm = request->call.comm;

    hx_root_counts_close(&request->call);
    hx_user_let_go((unsigned)request->call.key.dtype);
    hx_user_let_go((unsigned)request->call.key.op);
    free(request->call.memory);
    free(request->call.kept_counts);
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
    if ((call->keeps_counts && (status = hx_pair_counts_keep(&request->call)) != HX_SUCCESS && hx_comm_break(call->comm, status)) ||
        (status = hx_root_counts_open(&request->call)) != HX_SUCCESS ||
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

/* The same for a function that may release the request (releases: 1). Fails while another function waits for the request or tests it. */
static hx_status_t last_check(hx_request_t *request, const char *name, int releases)
{
    const hx_status_t status = handle_check(request, name);

    if (status == HX_SUCCESS && request->held && releases)
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_STATE, "%s: the request of %s is in use: another call waits for it or tests it",
                                                        name, request->call.name));
    return status == HX_SUCCESS ? hx_request_check(request, name) : status;
}

hx_status_t hx_request_completes_check(hx_request_t *request, const char *name)
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
    if (request->commit) { /* the other ranks may agree about it */
        request->held++;   /* meanwhile another thread may have the lock */
        hx_commit_await(request);
        request->held--;
    }
    hx_request_release(request);
    return HX_SUCCESS;
}
