/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_TRACE in a job: made ready before the ranks meet, begun by all at once, written at the end. It is also written when it begins: so a rank
 * that is killed leaves a file that tells which rank it was.
 *
 * Clocks: each kernel counts its own nanoseconds. Rank 0 exchanges a few messages with the first rank of every other
 * node:
 *
 *   rank 0       t0 ------\            /------ t1         the offset is (t0 + t1) / 2 - t, wrong by at most (t1 - t0) / 2;
 *   first rank             \--- t ----/                   of all exchanges the shortest counts
 *
 * Then rank 0 broadcasts the offsets. Ranks that share memory share a kernel, and so its clock.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/base/process.h"
#include "runtime/base/trace.h"
#include "runtime/start/startup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXCHANGES 16

struct transfer {
    struct hx_world *world;
    struct hx_net_op op;
    int failed;
};

static int transfer_look(void *ctx)
{
    struct transfer *t = ctx;
    int events = hx_progress_all(&t->world->process);

    t->failed = events < 0 ? -events : 0;
    return t->op.done || t->failed;
}

/* One word to or from a rank on another node. */
static hx_status_t word_move(struct hx_world *world, enum hx_net_direction direction, int peer, uint32_t round,
                             uint64_t *word)
{
    struct hx_segment segment = {word, sizeof(*word)};
    struct transfer t = {.world = world};
    hx_status_t status;

    /* call 0 of context 0 is never made */
    t.op = (struct hx_net_op){.direction = direction, .peer = peer, .segments = &segment, .nsegments = 1,
                              .match = hx_match_id(0, 0, HX_MATCH_STAGES / 2, 0, round)};
    hx_registry.net->post(world->process.net, &t.op);
    status = hx_wait_until(&world->process.waiter,
                           &(struct hx_wait){.look = transfer_look, .ctx = &t, .timeout_s = world->process.env->timeout,
                                             .wait_clock = &(struct hx_wait_clock){0}});
    if (status == HX_ERR_TIMEOUT)
        hx_fail(status, "HX_TRACE: no answer from rank %d within %g s (HX_TIMEOUT) while clocks are compared", peer,
                world->process.env->timeout);
    else if (t.failed || t.op.done < 0)
        status = (hx_status_t)(t.failed ? t.failed : -t.op.done);
    while (!t.op.done && !hx_op_cancel(&world->process, &t.op))
        hx_registry.net->progress(world->process.net);
    return status;
}

static hx_status_t ask(struct hx_world *world, int peer, struct hx_clock *clock)
{
    hx_status_t status = HX_SUCCESS;

    clock->error = INT64_MAX;
    for (uint32_t i = 0; i < EXCHANGES && status == HX_SUCCESS; i++) {
        int64_t sent = (int64_t)hx_now_ns(), came;
        uint64_t theirs = 0;
        status = word_move(world, HX_NET_SEND, peer, 2 * i, &theirs);
        if (status == HX_SUCCESS)
            status = word_move(world, HX_NET_RECV, peer, 2 * i + 1, &theirs);
        came = (int64_t)hx_now_ns();
        if ((came - sent + 1) / 2 < clock->error)
            *clock = (struct hx_clock){.at = (int64_t)theirs, .offset = sent + (came - sent) / 2 - (int64_t)theirs,
                                       .error = (came - sent + 1) / 2};
    }
    return status;
}

static hx_status_t answer(struct hx_world *world)
{
    hx_status_t status = HX_SUCCESS;
    uint64_t word;

    for (uint32_t i = 0; i < EXCHANGES && status == HX_SUCCESS; i++) {
        status = word_move(world, HX_NET_RECV, 0, 2 * i, &word);
        word = hx_now_ns();
        if (status == HX_SUCCESS)
            status = word_move(world, HX_NET_SEND, 0, 2 * i + 1, &word);
    }
    return status;
}

static hx_status_t clock_align(struct hx_world *world, struct hx_clock *clock, int64_t *origin)
{
    const struct hx_shape *shape = world->comms->members.shape;
    /* of each node; that of rank 0's node is the time itself */
    struct hx_clock *clocks = calloc((size_t)shape->nnodes, sizeof(*clocks));
    hx_status_t status =
        clocks ? HX_SUCCESS : hx_fail(HX_ERR_NOMEM, "HX_TRACE: no memory for the clocks of %d nodes", shape->nnodes);
    int node = shape->node_of[world->process.rank];

    if (status == HX_SUCCESS && world->process.rank == 0)
        for (int i = 1; i < shape->nnodes && status == HX_SUCCESS; i++)
            status = ask(world, hx_shape_member(shape, i, 0), &clocks[i]);
    else if (status == HX_SUCCESS && node > 0 && hx_shape_member(shape, node, 0) == world->process.rank)
        status = answer(world);
    if (status == HX_SUCCESS) {
        clocks[0].at = (int64_t)hx_now_ns();
        status = hx_bcast(clocks, (size_t)shape->nnodes * sizeof(*clocks), HX_BYTE, 0, world->comms);
    }
    if (status == HX_SUCCESS) {
        *clock = clocks[node];
        *origin = clocks[0].at;
    }
    free(clocks);
    return status;
}

/* No other process of any host has the same key. */
static uint64_t process_key(void)
{
    static uint64_t key;

    if (key == 0 && getrandom(&key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
        key = hx_now_ns() << 22 ^ (uint64_t)getpid();
    return key;
}

hx_status_t hx_trace_prepare(struct hx_world *world)
{
    struct hx_trace *trace;

    if (!world->process.env->trace)
        return HX_SUCCESS;
    world->trace = trace = calloc(1, sizeof(*trace));
    if (!trace)
        return hx_fail(HX_ERR_NOMEM, "HX_TRACE: no memory");
    trace->process = process_key();
    trace->capacity = (uint64_t)world->process.env->trace_bytes / sizeof(struct hx_event);
    trace->path = hx_trace_path(world->process.env->trace, world->process.rank, world->generation);
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
    if ((status = clock_align(world, &trace->first, &trace->origin)) != HX_SUCCESS)
        return status;
    hx_comm_forget_bound(world->comms); /* the plans bound so far run untraced */
    trace->began = hx_now_ns();
    trace->core_wait = hx_core_wait_ns();
    hx_lock(); /* other threads may record other worlds, or write the traces in hx_abort */
    world->process.trace = trace;
    hx_traces++;
    hx_trace_write(world);
    hx_unlock();
    return HX_SUCCESS;
}

void hx_trace_end(struct hx_world *world, int orderly)
{
    struct hx_trace *trace = world->process.trace;
    int64_t origin;

    if (!trace)
        return;
    hx_lock();
    world->process.trace = NULL; /* the calls that follow are not the program's */
    hx_traces--;
    hx_unlock();
    if (orderly &&
        (clock_align(world, &trace->last, &origin) != HX_SUCCESS || hx_barrier(world->comms) != HX_SUCCESS))
        trace->last.at = 0;
    hx_lock();
    trace->ended = 1;
    hx_trace_write(world);
    hx_unlock();
}

/* A world that has not started leaves no file behind. A file that is none, as a pipe or a device, stays. */
static void file_close(const struct hx_trace *trace)
{
    struct stat is;

    if (trace->began == 0 && fstat(fileno(trace->file), &is) == 0 && S_ISREG(is.st_mode))
        unlink(trace->path);
    fclose(trace->file);
}

void hx_trace_release(struct hx_world *world)
{
    struct hx_trace *trace = world->trace;

    if (!trace)
        return;
    for (int i = 0; i < trace->nplans; i++)
        free(trace->plans[i]);
    free(trace->plans);
    if (trace->file)
        file_close(trace);
    free(trace->events);
    free(trace->path);
    free(trace);
    world->trace = NULL;
}
