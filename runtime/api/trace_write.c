/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_TRACE's file, in Chrome's JSON format of events: a node is a process, a rank a thread of it. Spans of one track
 * must nest, as calls and waits of a program's thread do. Stages, messages and non-blocking calls overlap: they have
 * tracks of their own, each span on the first that is free.
 */
#include "runtime/api/call.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/engine/trace_spans.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRACK_THREADS, TRACK_BACKGROUND, TRACK_STAGES, TRACK_MESSAGES, TRACK_KINDS };

struct track {
    int kind, number; /* of its kind */
    uint64_t end;     /* of its last span */
};

struct writer {
    const struct hx_world *world;
    FILE *out;
    int pid;
    struct hx_event *events;
    uint64_t n;
    struct track *tracks;
    int ntracks, of_kind[TRACK_KINDS], no_memory;
    const char *separator;
};

static int track_kind(const struct hx_event *event)
{
    static const int kinds[] = {[HX_EVENT_CALL] = TRACK_THREADS,  [HX_EVENT_BACKGROUND] = TRACK_BACKGROUND,
                                [HX_EVENT_WAIT] = TRACK_THREADS,  [HX_EVENT_STAGE] = TRACK_STAGES,
                                [HX_EVENT_SEND] = TRACK_MESSAGES, [HX_EVENT_RECV] = TRACK_MESSAGES};

    return kinds[event->kind];
}

/* Begin an event of this phase. tid -1: it is of the process. */
static void event_begin(struct writer *w, const char *phase, int tid)
{
    fprintf(w->out, "%s{\"ph\":\"%s\",\"pid\":%d", w->separator, phase, w->pid);
    if (tid >= 0)
        fprintf(w->out, ",\"tid\":%d", tid);
    w->separator = ",\n";
}

/* Tracks count from 0: the first is the rank's. No other rank has such a number. */
static int tid_of(const struct writer *w, int track)
{
    return w->world->process.rank + 1 + track * w->world->process.size;
}

static void track_name(struct writer *w, int idx)
{
    static const char *const names[] = {"thread", "non-blocking", "stages", "messages"};
    const struct track *track = &w->tracks[idx];
    int rank = w->world->process.rank;

    event_begin(w, "M", tid_of(w, idx));
    fprintf(w->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"rank %d", rank);
    if (track->kind != TRACK_THREADS || track->number)
        fprintf(w->out, " %s", names[track->kind]);
    if (track->number)
        fprintf(w->out, " %d", track->number + 1);
    fputs("\"}}", w->out);
    event_begin(w, "M", tid_of(w, idx));
    fprintf(w->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRId64 "}}",
            ((int64_t)rank << 16) + (track->kind << 12) + track->number);
}

/* The track for a span that begins no sooner than those before. */
static int track_of(struct writer *w, const struct hx_event *event)
{
    int kind = track_kind(event), i = 0;

    for (; i < w->ntracks; i++)
        if (w->tracks[i].kind == kind &&
            (kind == TRACK_THREADS ? w->tracks[i].number == event->thread : w->tracks[i].end <= event->begin))
            break;
    if (i == w->ntracks) {
        struct track *more = realloc(w->tracks, (size_t)(w->ntracks + 1) * sizeof(*more));
        if (!more) {
            w->no_memory = 1;
            return 0;
        }
        w->tracks = more;
        more[w->ntracks++] = (struct track){.kind = kind, .number = kind == TRACK_THREADS ? event->thread : w->of_kind[kind]++};
        track_name(w, i);
    }
    w->tracks[i].end = event->end;
    return i;
}

/* ---- time ---------------------------------------------------------------------------------------------------- */

/* Nanoseconds of rank 0's clock since the trace began; between two comparisons the clocks drift apart evenly. */
static int64_t aligned(const struct hx_trace *trace, uint64_t time)
{
    const struct hx_clock *first = &trace->first, *last = &trace->last;
    int64_t t = (int64_t)time, offset = first->offset;

    if (last->at > first->at)
        offset += (int64_t)((double)(last->offset - first->offset) * (double)(t - first->at) / (double)(last->at - first->at));
    return t + offset - trace->origin;
}

/* Without a comparison at the end, since a call has failed, another node's clock (ours, and that of rank 0's node, has no error) may have
 * drifted since the first: two of quartz by up to 100 us in a second. */
static int64_t clock_error(const struct hx_trace *trace)
{
    const struct hx_clock *first = &trace->first, *last = &trace->last;

    if (!last->at)
        return first->error ? first->error + ((int64_t)hx_now_ns() - first->at) / 10000 : 0;
    return last->error > first->error ? last->error : first->error;
}

/* "key":microseconds, whatever the locale's decimal point is. */
static void time_write(FILE *out, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    fprintf(out, ",\"%s\":%s%" PRIu64 ".%03d", key, ns < 0 ? "-" : "", size / 1000, (int)(size % 1000));
}

/* ---- spans --------------------------------------------------------------------------------------------------- */

static void call_write(FILE *out, const struct hx_event *e)
{
    const char *dtype = hx_dtype_name((hx_dtype_t)e->dtype), *op = e->op >= 0 ? hx_op_name((hx_op_t)e->op) : NULL;

    fprintf(out,
            "\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"collective\":\"%s\",\"count\":%" PRIu64
            ",\"dtype\":\"%s\",\"bytes\":%" PRIu64,
            e->kind == HX_EVENT_CALL ? "call" : "background", e->name, hx_coll_name((enum hx_coll)e->coll), e->amount,
            dtype ? dtype : "user-defined", e->amount * e->detail);
    if (e->op >= 0)
        fprintf(out, ",\"op\":\"%s\"", op ? op : "user-defined");
    if (e->peer >= 0)
        fprintf(out, ",\"root\":%d", e->peer);
    if (e->plan)
        fprintf(out, ",\"algorithm\":\"%s\"", e->plan);
    if (e->status)
        fprintf(out, ",\"status\":\"%s\"", hx_strerror((hx_status_t)e->status));
    fprintf(out, ",\"size\":%d,\"group\":%d,\"context\":%d,\"sequence\":%" PRIu64, e->size, e->group, e->context, e->call);
}

static void stage_write(FILE *out, const struct hx_event *e)
{
    fprintf(out,
            "\"cat\":\"stage\",\"name\":\"%s %s\",\"args\":{\"stage\":%d,\"slice\":%" PRIu64
            ",\"group\":%d,\"context\":%d,\"sequence\":%" PRIu64,
            e->scope == HX_SCOPE_INTRA       ? "intra"
                : e->scope == HX_SCOPE_INTER ? "inter"
                                             : "flat",
            e->name, e->size, e->amount, e->group, e->context, e->call);
}

static void message_write(FILE *out, const struct hx_event *e)
{
    fprintf(out, "\"cat\":\"message\",\"name\":\"%s %d\",\"args\":{\"rank\":%d,\"bytes\":%" PRIu64 ",\"match\":%" PRIu64,
            e->kind == HX_EVENT_SEND ? "send to" : "receive from", e->peer, e->peer, e->amount, e->detail);
}

/* An arrow begins where a message is sent, and ends where it arrives. */
static void arrow_write(struct writer *w, const struct hx_event *e, int tid)
{
    int me = w->world->process.rank, sends = e->kind == HX_EVENT_SEND;
    int64_t at = aligned(w->world->trace, sends ? e->begin : e->end);

    event_begin(w, sends ? "s" : "f\",\"bp\":\"e", tid);
    fprintf(w->out, ",\"cat\":\"message\",\"name\":\"message\",\"id\":\"%d-%d-%" PRIx64 "-%" PRIx64 "\"",
            sends ? me : e->peer, sends ? e->peer : me, e->call, e->detail);
    time_write(w->out, "ts", sends ? at : at - 1); /* within the span */
    fputc('}', w->out);
}

static void event_write(struct writer *w, struct hx_event *e)
{
    int64_t begin, end;
    int tid;

    e->end += e->end <= e->begin; /* never empty: an arrow needs a span to begin or end in */
    tid = tid_of(w, track_of(w, e));
    begin = aligned(w->world->trace, e->begin);
    end = aligned(w->world->trace, e->end);
    event_begin(w, "X", tid);
    time_write(w->out, "ts", begin);
    time_write(w->out, "dur", end - begin);
    fputc(',', w->out);
    if (track_kind(e) == TRACK_MESSAGES)
        message_write(w->out, e);
    else if (e->kind == HX_EVENT_STAGE)
        stage_write(w->out, e);
    else if (e->kind == HX_EVENT_WAIT && e->peer >= 0)
        fprintf(w->out, "\"cat\":\"wait\",\"name\":\"wait for rank %d\",\"args\":{\"rank\":%d", e->peer, e->peer);
    else if (e->kind == HX_EVENT_WAIT)
        fputs("\"cat\":\"wait\",\"name\":\"wait\",\"args\":{\"rank\":-1", w->out);
    else
        call_write(w->out, e);
    fprintf(w->out, "%s}}", e->open ? ",\"unfinished\":true" : "");
    if (track_kind(e) == TRACK_MESSAGES && !e->open)
        arrow_write(w, e, tid);
}

/* ---- non-blocking calls ---------------------------------------------------------------------------------------- */

static struct hx_event event_of_request(const struct hx_request *request, const struct hx_engine *engine)
{
    const struct hx_call *call = &request->call;
    struct hx_event event = hx_event_of_call(call->name, engine, &call->key, hx_call_amount(call));

    event.kind = HX_EVENT_BACKGROUND;
    event.begin = request->since;
    return event;
}

void hx_trace_background(const struct hx_request *request, const struct hx_engine *engine, hx_status_t status)
{
    hx_trace_ended(event_of_request(request, engine), engine, status);
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

/* A call under way. */
static void open_add(struct writer *w, struct hx_event event, const struct hx_engine *engine)
{
    struct hx_event *more = realloc(w->events, (w->n + 1) * sizeof(*more));

    w->no_memory |= !more;
    if (!more)
        return;
    event.end = hx_now_ns();
    event.call = engine->call;
    event.plan = event.size > 1 ? engine->traced_as : NULL;
    event.open = 1;
    w->events = more;
    more[w->n++] = event;
}

static int by_begin(const void *a, const void *b)
{
    const struct hx_event *l = a, *r = b;

    if (l->begin != r->begin)
        return l->begin < r->begin ? -1 : 1;
    return l->end > r->end ? -1 : l->end < r->end; /* a span that contains the other comes first */
}

/* Copies, and calls under way, in the order of their beginnings. Returns how many are missing. */
static uint64_t events_sort(struct writer *w)
{
    const struct hx_trace *trace = w->world->trace;
    uint64_t kept = trace->recorded < trace->capacity ? trace->recorded : trace->capacity;

    if (!(w->events = malloc((kept + 1) * sizeof(*w->events)))) {
        w->no_memory = 1;
        return 0;
    }
    memcpy(w->events, trace->events, kept * sizeof(*w->events));
    w->n = kept;
    for (const struct hx_trace_open *open = trace->open; open; open = open->next)
        open_add(w, open->event, open->engine);
    for (const struct hx_comm *comm = w->world->comms; comm; comm = comm->next)
        for (int i = 0; i < HX_CONCURRENT; i++) /* an engine's requests after the first have not begun */
            for (const struct hx_request *r = comm->others[i] ? comm->others[i]->first : NULL; r; r = r->next)
                open_add(w, event_of_request(r, comm->others[i]), comm->others[i]);
    qsort(w->events, w->n, sizeof(*w->events), by_begin);
    return trace->recorded - kept;
}

static void head_write(struct writer *w, uint64_t dropped)
{
    const struct hx_world *world = w->world;
    const struct hx_trace *trace = world->trace;
    int node = w->pid - 1;

    fprintf(w->out,
            "{\"otherData\":{\"hierax\":\"%s\",\"ranks\":%d,\"generation\":%" PRIu64 ",\"origin_ns\":%" PRId64
            ",\"traces\":[{\"rank\":%d,\"node\":%d,\"process\":\"%016" PRIx64 "\",\"ended\":%s,"
            "\"dropped\":%" PRIu64 ",\"clock_offset_ns\":%" PRId64 ",\"clock_error_ns\":%" PRId64
            ",\"traced_ns\":%" PRIu64 ",\"core_wait_ns\":%" PRIu64 "}]},\n"
            "\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n",
            hx_version(), world->process.size, world->generation, trace->origin, world->process.rank, node, trace->process,
            trace->ended ? "true" : "false", dropped, trace->first.offset,
            clock_error(trace), hx_now_ns() - trace->began, hx_core_wait_ns() - trace->core_wait);
    event_begin(w, "M", -1);
    fprintf(w->out, ",\"name\":\"process_name\",\"args\":{\"name\":\"node %d\"}}", node);
    if (!dropped)
        return;
    event_begin(w, "i\",\"s\":\"t", tid_of(w, 0));
    time_write(w->out, "ts", aligned(trace, w->n ? w->events[0].begin : 0));
    fprintf(w->out, ",\"cat\":\"lost\",\"name\":\"%" PRIu64 " earlier records lost (HX_TRACE_BYTES)\"}", dropped);
}

void hx_trace_write(const struct hx_world *world)
{
    const struct hx_trace *trace = world->trace;
    struct writer w = {.world = world, .separator = "", .pid = 1 + world->comms->members.shape->node_of[world->process.rank]};
    uint64_t dropped;

    if (!trace || trace->began == 0)
        return;
    w.out = trace->file;
    dropped = events_sort(&w);
    if (dropped && world->process.rank == 0) /* the file of each other rank reports its own loss */
        hx_warn("HX_TRACE: rank 0 lost the oldest %" PRIu64 " of %" PRIu64 " records: raise HX_TRACE_BYTES (%" PRId64 ")", dropped,
                trace->recorded, world->process.env->trace_bytes);
    errno = 0;
    rewind(w.out);
    if (ftruncate(fileno(w.out), 0) != 0)
        errno = 0; /* a pipe, or a device */
    w.tracks = calloc(1, sizeof(*w.tracks));
    if (w.tracks) {
        w.ntracks = w.of_kind[TRACK_THREADS] = 1;
        head_write(&w, dropped);
        track_name(&w, 0);
    }
    for (uint64_t i = 0; w.tracks && i < w.n; i++)
        event_write(&w, &w.events[i]);
    fputs("\n]}\n", w.out);
    if (w.no_memory || !w.tracks)
        hx_warn("HX_TRACE: no memory to write all of %s", trace->path);
    if (fflush(w.out) != 0 || ferror(w.out))
        hx_warn("HX_TRACE: writing %s: %s", trace->path, strerror(errno));
    free(w.events);
    free(w.tracks);
}
