/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_TRACE: what this rank did when, for ui.perfetto.dev. Spans are recorded as they end, in a ring of fixed size that drops the oldest. They
 * are written as JSON at hx_finalize, and when a call fails. probe.h has the points where they are recorded. Each world of a process has a trace
 * of its own, since a rank is of a world.
 *
 *   trace.c                      the ring, and spans of waits
 *   runtime/engine/trace_spans.c  spans of calls and stages
 *   runtime/api/trace_write.c    the file, and spans of non-blocking calls
 *   runtime/start/trace_job.c    begin and end, and how far the nodes' clocks are from rank 0's
 *
 * One thread at a time is in Hierax (lock.h), so nothing here is atomic.
 */
#pragma once

#include "runtime/base/clock.h"
#include <stdio.h>

struct hx_engine;

enum hx_event_kind { HX_EVENT_CALL, HX_EVENT_BACKGROUND, HX_EVENT_WAIT, HX_EVENT_STAGE, HX_EVENT_SEND, HX_EVENT_RECV };

struct hx_event {
    uint64_t begin, end; /* ns of this rank's clock */
    const char *name;    /* CALL, BACKGROUND: the public function; STAGE: the algorithm */
    const char *plan;    /* CALL, BACKGROUND: NULL: none was needed */
    uint64_t call;       /* its number in the context; of a message: as both sides count it */
    uint64_t amount;     /* CALL, BACKGROUND: elements; STAGE: slice; messages: bytes */
    uint64_t detail;     /* CALL, BACKGROUND: bytes of one element; messages: match id */
    /* WAIT, messages: a rank of the job, -1: none in particular; CALL, BACKGROUND: the root, -1: none */
    int32_t peer;
    int32_t group;       /* CALL, BACKGROUND, STAGE: the job's rank of rank 0 of the communicator */
    int32_t size;        /* CALL, BACKGROUND: ranks of the communicator; STAGE: which of the plan */
    int32_t dtype, op;   /* op -1: none */
    int16_t context;
    uint8_t kind, coll, open; /* open: still under way when it was written */
    uint8_t runs;             /* CALL, BACKGROUND: ranks meet in it, though this one may have nothing to give */
    uint8_t scope;            /* STAGE: enum hx_scope */
    uint8_t thread;           /* CALL, WAIT: which of the process's threads, counted as they come */
    int8_t status;
};

struct hx_clock { /* of one node at one time; offset + its clock = rank 0's */
    int64_t at, offset, error; /* ns; error: at most so far from the truth */
};

struct hx_trace_open { /* a blocking call under way, on its thread's stack */
    struct hx_event event;
    const struct hx_engine *engine; /* NULL: it is not recorded */
    struct hx_trace *trace;
    struct hx_trace_open *next;
};

struct hx_trace {
    FILE *file;
    char *path;
    struct hx_event *events; /* [capacity] */
    uint64_t capacity, recorded; /* ever; the oldest are overwritten */
    struct hx_trace_open *open;
    char **plans; /* names that outlive their plans */
    int nplans;
    struct hx_clock first, last; /* this node's; last.at 0: not known yet */
    int64_t origin;              /* rank 0's clock when the trace began: the time 0 */
    uint64_t began, core_wait;   /* of this rank then: its clock, and hx_core_wait_ns; began 0: it has not begun */
    uint64_t process;            /* the same in all traces of a process */
    int ended;                   /* by hx_finalize */
};

extern int hx_traces; /* how many worlds of this process record now */

/* HX_TRACE's file of a rank: %r replaced, or the rank added; for a world that has grown the generation as well. To be freed; NULL: no
 * memory. */
char *hx_trace_path(const char *setting, int rank, uint64_t generation);

/* In all that follows, trace may be NULL: that world is not recorded. */

/* A name that lives as long as the trace; "" when memory is exhausted. */
const char *hx_trace_keep(struct hx_trace *trace, const char *plan);
/* Record a span that ends now. */
void hx_trace_add(struct hx_trace *trace, struct hx_event event);
/* The number of this thread, counted as they come. */
uint8_t hx_trace_thread(void);
/* The span of a wait. */
void hx_trace_wait(struct hx_trace *trace, uint64_t since);
/* This thread waits for this rank of the trace's world (-1: none in particular). Returns 0. */
int hx_trace_in_vain(const struct hx_trace *trace, int awaited);
