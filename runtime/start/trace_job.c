/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_TRACE in a job: made ready before the ranks meet, begun by all at once, written at the end. */
#include "runtime/api/trace_write.h"
#include "runtime/start/startup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

hx_status_t hx_trace_prepare(struct hx_world *world)
{
    struct hx_trace *trace;

    if (!world->process.env->trace)
        return HX_SUCCESS;
    world->trace = trace = calloc(1, sizeof(*trace));
    if (!trace)
        return hx_fail(HX_ERR_NOMEM, "HX_TRACE: no memory");
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
    hx_trace_write(world);
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
