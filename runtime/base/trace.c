/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of recorded spans: see trace.h. */
#include "runtime/base/trace.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int hx_traces;
static int threads; /* of this process that have been recorded */
static _Thread_local int thread_number = -1;
static _Thread_local int thread_awaits = -1; /* a rank of the world that waits_in records */
static _Thread_local const struct hx_trace *waits_in;

char *hx_trace_path(const char *setting, int rank, uint64_t generation)
{
    const char *mark = strstr(setting, "%r");
    size_t bytes = strlen(setting) + 40;
    char *path = malloc(bytes), grown[24] = "";

    if (generation > 0)
        snprintf(grown, sizeof(grown), ".g%" PRIu64, generation);
    if (path && mark)
        snprintf(path, bytes, "%.*s%d%s%s", (int)(mark - setting), setting, rank, mark + 2, grown);
    else if (path)
        snprintf(path, bytes, "%s.%d%s", setting, rank, grown);
    return path;
}

const char *hx_trace_keep(struct hx_trace *trace, const char *plan)
{
    char **plans, *copy;

    if (!trace)
        return NULL;
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

void hx_trace_add(struct hx_trace *trace, struct hx_event event)
{
    if (!trace)
        return;
    event.end = hx_now_ns(); /* in user space, some 25 ns */
    trace->events[trace->recorded++ % trace->capacity] = event;
}

uint8_t hx_trace_thread(void)
{
    if (thread_number < 0)
        thread_number = threads < 255 ? threads++ : 255;
    return (uint8_t)thread_number;
}

void hx_trace_wait(struct hx_trace *trace, uint64_t since)
{
    hx_trace_add(trace, (struct hx_event){.kind = HX_EVENT_WAIT, .begin = since, .peer = waits_in == trace ? thread_awaits : -1,
                                          .thread = hx_trace_thread()});
    thread_awaits = -1;
}

int hx_trace_in_vain(const struct hx_trace *trace, int awaited)
{
    thread_awaits = awaited;
    waits_in = trace;
    return 0;
}
