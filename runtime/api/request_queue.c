/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's other engines, in turn, and the requests that each has yet to run: see call.h. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/api/trace_write.h"
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
    struct hx_call_key key = first->call.key;
    const void *in = first->call.in;
    void *out = first->call.out;
    struct hx_bound *bound;
    hx_status_t status;

    engine->part = HX_PART_CALL;
    if (!hx_call_key_awaits_all(&key) && hx_engine_is_far_ahead(engine)) {
        engine->part = HX_PART_BARRIER;
        key = hx_call_key_barrier(HX_FOR_ORDER);
    } else if (first->call.root_knows && !first->root_counts.done) {
        struct hx_call counts = hx_root_counts_call(&first->root_counts, &first->call);
        engine->part = HX_PART_COUNTS;
        key = counts.key;
        in = counts.in;
        out = counts.out;
    }
    if ((status = hx_bind(engine, key, &bound)) != HX_SUCCESS)
        return hx_comm_break(hx_comm_of(engine), status);
    if (key.coll == HX_COLL_BARRIER)
        in = out = &engine->token;
    else if (engine->part == HX_PART_CALL)
        hx_inplace_copy_begin(&first->call, first->inplace_copy, &in, &out);
    if (hx_coll_has_pair_counts(key.coll)) {
        struct hx_pair_counts pair_counts = hx_call_pair_counts(&first->call, first->inplace_copy);
        hx_bound_set_pair_counts(engine, bound, &pair_counts);
    }
    hx_run_begin(engine, bound, first->call.name, in, out);
    return HX_SUCCESS;
}

/* engine: where it has run. */
static void request_end(struct hx_request *request, const struct hx_engine *engine, hx_status_t status)
{
    hx_notify(&request->call.comm->world->process.waiter);
    if (HX_TRACING)
        hx_trace_background(request, engine, status);
    request->status = status;
    request->state = HX_REQUEST_DONE;
}

static void first_end(struct hx_engine *engine)
{
    struct hx_request *first = engine->first;
    hx_status_t status = HX_SUCCESS;

    if (engine->part == HX_PART_BARRIER)
        return;
    if (engine->part == HX_PART_COUNTS) {
        status = hx_root_counts_apply(&first->root_counts, &first->call);
        if (engine->members->failed || (status == HX_SUCCESS && first->call.key.count))
            return;
    } else {
        hx_inplace_copy_end(&first->call, first->inplace_copy);
    }
    engine->first = first->next;
    request_end(first, engine, status == HX_SUCCESS ? hx_root_counts_compare(&first->root_counts, &first->call) : status);
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

void hx_requests_progress(struct hx_process *process)
{
    struct hx_engine **link = &process->active, *engine;

    while ((engine = *link)) {
        engine_advance(engine);
        if (engine->first)
            link = &engine->next_active;
        else
            *link = engine->next_active;
    }
}

void hx_requests_fail(struct hx_comm *comm)
{
    for (int i = 0; i < HX_CONCURRENT; i++) {
        struct hx_engine *engine = comm->others[i];
        if (!engine)
            continue;
        if (engine->running != HX_IDLE)
            hx_run_cancel(&engine->run);
        engine->running = HX_IDLE;
        for (; engine->first; engine->first = engine->first->next)
            request_end(engine->first, engine, comm->members.failed);
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
    int n = 0;

    for (int i = 0; i < HX_CONCURRENT; i++)
        if (comm->others[i])
            for (const struct hx_request *request = comm->others[i]->first; request; request = request->next)
                n++;
    return n;
}
