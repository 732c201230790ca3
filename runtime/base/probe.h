/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes: each point of interest is one macro. It is a USDT probe of the provider "hierax", which is a nop until a tool attaches
 * (bpftrace -e 'usdt:PATH/libhierax.so:hierax:wait_end { ... }'). With HX_TRACE it is also a record of the trace.
 *
 *   probe         arguments
 *   call_begin    name of the public function (char *), collective (enum hx_coll), count (elements, as hx_call_key has it), datatype,
 *                 operation, root, number of the call in its context, context
 *   call_end      name, status
 *   stage_begin   algorithm (char *), slice        (not of a blocking call of one slice, whose stages are over before a
 *   stage_end     algorithm, slice                  debugger could tell, unless HX_TRACE is set)
 *   wait_begin    what is waited on: a number alike at its end
 *   wait_end      the same, status
 *   send_post     rank in the job it goes to, bytes
 *   recv_post     rank in the job it comes from, bytes
 *   send_done     rank, bytes: the memory may be written again
 *   recv_done     rank, bytes: the data is there
 *
 * A call that needs counts or a barrier first has several plans to run, each between a call_begin and a call_end.
 */
#pragma once

#include "runtime/base/trace.h"

#ifdef HAVE_SDT
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define HX_USDT(...) STAP_PROBEV(hierax, __VA_ARGS__)
#else
#define HX_USDT(...) ((void)0)
#endif

#define HX_TRACING __builtin_expect(hx_traces != 0, 0) /* then each probe looks whether its own world is recorded */

/* A plan begins to run, and has run. traced: HX_TRACING, or 0 where it cannot be. */
#define HX_PROBE_CALL_BEGIN(traced, engine, bound, name)                                                               \
    do {                                                                                                               \
        HX_USDT(call_begin, name, (bound)->key.coll, (bound)->key.count, (bound)->key.dtype, (bound)->key.op,      \
                (bound)->key.root, (engine)->call, (engine)->context);                                                \
        if (traced)                                                                                                    \
            (engine)->traced_as = (bound)->traced_as;                                                                  \
    } while (0)
#define HX_PROBE_CALL_END(name, status) HX_USDT(call_end, name, status)

/* A slice of a stage of run's plan begins, and has ended. */
#define HX_PROBE_STAGE_BEGIN(instance)                                                                                 \
    do {                                                                                                               \
        HX_USDT(stage_begin, (instance)->stage->stage->algorithm, (instance)->slice);                                  \
        if (HX_TRACING)                                                                                                \
            (instance)->since = hx_now_ns();                                                                        \
    } while (0)
#define HX_PROBE_STAGE_END(run, instance)                                                                              \
    do {                                                                                                               \
        HX_USDT(stage_end, (instance)->stage->stage->algorithm, (instance)->slice);                                    \
        if (HX_TRACING)                                                                                                \
            hx_trace_stage(run, instance);                                                                             \
    } while (0)

/* The first look was in vain; the wait is over. since: a uint64_t of the waiting function. */
#define HX_PROBE_WAIT_BEGIN(ctx, since)                                                                                \
    do {                                                                                                               \
        HX_USDT(wait_begin, ctx);                                                                                      \
        if (HX_TRACING)                                                                                                \
            (since) = hx_now_ns();                                                                                  \
    } while (0)
#define HX_PROBE_WAIT_END(trace, ctx, since, status)                                                                    \
    do {                                                                                                               \
        HX_USDT(wait_end, ctx, status);                                                                                \
        if (HX_TRACING && (since))                                                                                     \
            hx_trace_wait(trace, since);                                                                               \
    } while (0)
/* At the end of a look that was in vain: 0, and for which rank of the job this thread waits (-1: none in particular) is
 * noted. */
#define HX_PROBE_IN_VAIN(trace, awaited) (HX_TRACING ? hx_trace_in_vain(trace, awaited) : 0)

/* The span of a message. unfinished: it never came. */
#define HX_TRACE_MESSAGE(op, unfinished)                                                                                                        \
    hx_trace_add((op)->trace,                                                                                                                   \
                 (struct hx_event){.kind = (op)->direction == HX_NET_SEND ? HX_EVENT_SEND : HX_EVENT_RECV, .begin = (op)->since,                \
                                   .peer = (op)->peer, .amount = (op)->total_bytes, .detail = (op)->match, .call = (op)->number,                \
                                   .open = (unfinished)})
/* A message, of net or of a ring. A message without this probe is not recorded. counted: what tells it from others of the same match id, alike on both sides. */
#define HX_PROBE_POST(world_trace, op, counted)                                                                          \
    do {                                                                                                               \
        if ((op)->direction == HX_NET_SEND)                                                                            \
            HX_USDT(send_post, (op)->peer, (op)->total_bytes);                                                         \
        else                                                                                                           \
            HX_USDT(recv_post, (op)->peer, (op)->total_bytes);                                                         \
        if (HX_TRACING) {                                                                                              \
            (op)->trace = (world_trace);                                                                               \
            (op)->number = (counted);                                                                                  \
            (op)->since = hx_now_ns();                                                                              \
        }                                                                                                              \
    } while (0)
#define HX_PROBE_DONE(op)                                                                                              \
    do {                                                                                                               \
        if ((op)->direction == HX_NET_SEND)                                                                            \
            HX_USDT(send_done, (op)->peer, (op)->total_bytes);                                                         \
        else                                                                                                           \
            HX_USDT(recv_done, (op)->peer, (op)->total_bytes);                                                         \
        if (HX_TRACING)                                                                                                \
            HX_TRACE_MESSAGE(op, 0);                                                                                           \
    } while (0)
