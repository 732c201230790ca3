/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording spans for HX_TRACE: see trace.h. */
#include "runtime/base/trace.h"
#include "runtime/api/call.h"
#include "runtime/base/log.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct hx_trace *hx_trace;
static _Thread_local struct hx_trace_open *thread_call; /* of this thread */
static _Thread_local int thread_number = -1;
static _Thread_local int thread_awaits = -1; /* rank of the job */

uint64_t hx_trace_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t); /* in user space, some 25 ns */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

char *hx_trace_path(const char *setting, int rank)
{
    const char *mark = strstr(setting, "%r");
    size_t bytes = strlen(setting) + 16;
    char *path = malloc(bytes);

    if (path && mark)
        snprintf(path, bytes, "%.*s%d%s", (int)(mark - setting), setting, rank, mark + 2);
    else if (path)
        snprintf(path, bytes, "%s.%d", setting, rank);
    return path;
}

hx_status_t hx_trace_prepare(struct hx_world *world)
{
    struct hx_trace *trace;

    if (!world->process.env->trace)
        return HX_SUCCESS;
    world->trace = trace = calloc(1, sizeof(*trace));
    if (!trace)
        return hx_fail(HX_ERR_NOMEM, "HX_TRACE: no memory");
    trace->world = world;
    trace->capacity = (uint64_t)world->process.env->trace_bytes / sizeof(struct hx_event);
    trace->path = hx_trace_path(world->process.env->trace, world->process.rank);
    trace->events = malloc(trace->capacity * sizeof(struct hx_event));
    if (!trace->path || !trace->events)
        return hx_fail(HX_ERR_NOMEM, "HX_TRACE: no memory for %lld bytes (HX_TRACE_BYTES)",
                       (long long)world->process.env->trace_bytes);
    memset(trace->events, 1, trace->capacity * sizeof(struct hx_event)); /* so that no page is missing later */
    if (!(trace->file = fopen(trace->path, "we")))
        return hx_fail(HX_ERR_ENV, "HX_TRACE: cannot write %s: %s", trace->path, strerror(errno));
    return HX_SUCCESS;
}

hx_status_t hx_trace_begin(struct hx_world *world)
{
    struct hx_trace *trace = world->trace;
    hx_status_t status;

    if (!trace)
        return HX_SUCCESS;
    if ((status = hx_clock_align(world, &trace->first, &trace->origin)) != HX_SUCCESS)
        return status;
    hx_comm_forget_bound(world->comms); /* what is bound is bound to run untraced */
    hx_trace = trace;
    return HX_SUCCESS;
}

void hx_trace_end(struct hx_world *world, int orderly)
{
    struct hx_trace *trace = hx_trace;
    int64_t origin;

    if (!trace)
        return;
    hx_trace = NULL; /* what follows is no call of the program */
    if (orderly &&
        (hx_clock_align(world, &trace->last, &origin) != HX_SUCCESS || hx_barrier(world->comms) != HX_SUCCESS))
        trace->last.at = 0;
    hx_trace_write(trace);
}

void hx_trace_release(struct hx_world *world)
{
    struct hx_trace *trace = world->trace;

    if (!trace)
        return;
    hx_trace = NULL;
    for (int i = 0; i < trace->nplans; i++)
        free(trace->plans[i]);
    free(trace->plans);
    free(trace->events);
    free(trace->path);
    if (trace->file)
        fclose(trace->file);
    free(trace);
    world->trace = NULL;
}

const char *hx_trace_keep(const char *plan)
{
    struct hx_trace *trace = hx_trace;
    char **plans, *copy;

    for (int i = 0; i < trace->nplans; i++)
        if (!strcmp(trace->plans[i], plan))
            return trace->plans[i];
    if (!(plans = realloc(trace->plans, (size_t)(trace->nplans + 1) * sizeof(*plans))))
        return "";
    trace->plans = plans;
    if (!(copy = strdup(plan)))
        return "";
    return trace->plans[trace->nplans++] = copy;
}

/* ---- spans --------------------------------------------------------------------------------------------------- */

static struct hx_event *event_new(enum hx_event_kind kind, uint64_t begin)
{
    struct hx_event *event = &hx_trace->events[hx_trace->recorded++ % hx_trace->capacity];

    *event = (struct hx_event){.kind = kind, .begin = begin, .end = hx_trace_now()};
    return event;
}

static uint8_t this_thread(void)
{
    if (thread_number < 0)
        thread_number = hx_trace->threads < 255 ? hx_trace->threads++ : 255;
    return (uint8_t)thread_number;
}

struct hx_event hx_event_of_call(const char *name, const struct hx_engine *engine, const struct hx_call_key *key,
                                 uint64_t count)
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

struct hx_event hx_event_of_request(const struct hx_request *request, const struct hx_engine *engine)
{
    const struct hx_call *call = &request->call;
    struct hx_event event = hx_event_of_call(call->name, engine, &call->key, hx_call_amount(call));

    event.kind = HX_EVENT_BACKGROUND;
    event.begin = request->since;
    return event;
}

/* It has ended; of what has run, tell the plan. */
static void call_record(struct hx_event *event, const struct hx_engine *engine, hx_status_t status)
{
    event->end = hx_trace_now();
    event->status = (int8_t)status;
    event->call = engine->call;
    event->plan = event->runs && event->size > 1 && status != HX_ERR_ARG ? engine->traced_as : NULL;
    hx_trace->events[hx_trace->recorded++ % hx_trace->capacity] = *event;
}

void hx_trace_call_begin(struct hx_trace_open *open, const char *name, const struct hx_engine *engine,
                         const struct hx_call_key *key, uint64_t count)
{
    open->engine = NULL;
    if (thread_call)
        return;
    open->event = hx_event_of_call(name, engine, key, count);
    open->event.thread = this_thread();
    open->event.begin = hx_trace_now();
    open->engine = engine;
    open->next = hx_trace->open;
    hx_trace->open = thread_call = open;
}

void hx_trace_call_end(struct hx_trace_open *open, hx_status_t status)
{
    struct hx_trace_open **link = &hx_trace->open;

    if (!open->engine)
        return;
    while (*link != open)
        link = &(*link)->next;
    *link = open->next;
    thread_call = NULL;
    call_record(&open->event, open->engine, status);
}

void hx_trace_background(const struct hx_request *request, const struct hx_engine *engine, hx_status_t status)
{
    struct hx_event event = hx_event_of_request(request, engine);

    call_record(&event, engine, status);
}

int hx_trace_in_vain(int awaited)
{
    thread_awaits = awaited;
    return 0;
}

void hx_trace_wait(uint64_t since)
{
    struct hx_event *event = event_new(HX_EVENT_WAIT, since);

    event->peer = thread_awaits;
    event->thread = this_thread();
    thread_awaits = -1;
}

void hx_trace_stage(const struct hx_run *run, const struct hx_instance *instance)
{
    struct hx_event *event = event_new(HX_EVENT_STAGE, instance->since);
    const struct hx_stage *stage = instance->stage->stage;

    event->name = stage->algorithm;
    event->scope = (uint8_t)stage->scope;
    event->amount = instance->slice;
    event->size = (int32_t)(instance->stage - run->bound->stages);
    event->call = run->engine->call;
    event->context = (int16_t)run->engine->context;
    event->group = run->engine->members->ranks[0];
}

void hx_trace_message(const struct hx_net_op *op, int open)
{
    struct hx_event *event = event_new(op->direction == HX_NET_SEND ? HX_EVENT_SEND : HX_EVENT_RECV, op->since);

    event->peer = op->peer;
    event->amount = op->total_bytes;
    event->detail = op->match;
    event->call = op->number;
    event->open = (uint8_t)open;
}
