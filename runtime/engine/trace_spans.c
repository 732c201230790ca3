/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording spans for HX_TRACE: see trace_spans.h. */
#include "runtime/engine/trace_spans.h"

static _Thread_local struct hx_trace_open *thread_call; /* of this thread */

struct hx_event hx_event_of_call(const char *name, const struct hx_engine *engine, const struct hx_call_key *key, uint64_t count)
{
    return (struct hx_event){.name = name,
                             .amount = count,
                             .detail = hx_dtype_bytes(key->dtype),
                             .context = (int16_t)engine->context,
                             .peer = hx_coll_is_rooted(key->coll) ? key->root : -1,
                             .group = engine->members->ranks[0],
                             .size = engine->members->size,
                             .dtype = (int32_t)key->dtype,
                             .op = hx_coll_reduces(key->coll) ? (int32_t)key->op : -1,
                             .kind = HX_EVENT_CALL,
                             .coll = (uint8_t)key->coll,
                             .runs = key->count != 0};
}

void hx_trace_ended(struct hx_event event, const struct hx_engine *engine, hx_status_t status)
{
    event.status = (int8_t)status;
    event.call = engine->call;
    event.plan = event.runs && event.size > 1 && status != HX_ERR_ARG ? engine->traced_as : NULL; /* of what has run */
    hx_trace_add(engine->process->trace, event);
}

void hx_trace_call_begin(struct hx_trace_open *open, const char *name, const struct hx_engine *engine, const struct hx_call_key *key,
                         uint64_t count)
{
    struct hx_trace *trace = engine->process->trace;

    open->engine = NULL;
    if (thread_call || !trace)
        return;
    open->event = hx_event_of_call(name, engine, key, count);
    open->event.thread = hx_trace_thread();
    open->event.begin = hx_now_ns();
    open->engine = engine;
    open->trace = trace;
    open->next = trace->open;
    trace->open = thread_call = open;
}

void hx_trace_call_end(struct hx_trace_open *open, hx_status_t status)
{
    struct hx_trace_open **link;

    if (!open->engine)
        return;
    for (link = &open->trace->open; *link != open;)
        link = &(*link)->next;
    *link = open->next;
    thread_call = NULL;
    hx_trace_ended(open->event, open->engine, status);
}

void hx_trace_stage(const struct hx_run *run, const struct hx_instance *instance)
{
    const struct hx_stage *stage = instance->stage->stage;

    hx_trace_add(run->engine->process->trace,
                 (struct hx_event){.kind = HX_EVENT_STAGE, .begin = instance->since, .name = stage->algorithm, .scope = (uint8_t)stage->scope,
                                   .amount = instance->slice, .size = (int32_t)(instance->stage - run->bound->stages),
                                   .call = run->engine->call, .context = (int16_t)run->engine->context,
                                   .group = run->engine->members->ranks[0]});
}
