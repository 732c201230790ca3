/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of recorded spans: see trace.h. */
#include "runtime/base/trace.h"
#include <stdlib.h>
#include <string.h>

struct hx_trace *hx_trace;
static _Thread_local int thread_number = -1;
static _Thread_local int thread_awaits = -1; /* rank of the job */

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

void hx_trace_add(struct hx_event event)
{
    event.end = hx_now_ns(); /* in user space, some 25 ns */
    hx_trace->events[hx_trace->recorded++ % hx_trace->capacity] = event;
}

uint8_t hx_trace_thread(void)
{
    if (thread_number < 0)
        thread_number = hx_trace->threads < 255 ? hx_trace->threads++ : 255;
    return (uint8_t)thread_number;
}

void hx_trace_wait(uint64_t since)
{
    hx_trace_add((struct hx_event){.kind = HX_EVENT_WAIT, .begin = since, .peer = thread_awaits, .thread = hx_trace_thread()});
    thread_awaits = -1;
}

int hx_trace_in_vain(int awaited)
{
    thread_awaits = awaited;
    return 0;
}
