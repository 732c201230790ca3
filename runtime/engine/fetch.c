/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FETCH: single copy. The kernel reads from the buffers of a member of this node (cross-memory attach, process_vm_readv), and the
 * member puts nothing into a slot. This is one pass over the data instead of two, at the price of a system call. Memory of hx_alloc
 * is mapped here as well and copied without a system call (shared_alloc.c).
 * A member publishes its process and buffers in its control line, by its flag. It does not leave the call before the readers have
 * confirmed that they have read: the plan has steps for this, and the checker proves it. If the kernel refuses to read memory,
 * for example of memfd_secret or of a device, the reader asks the owner for the data (fetch_ask.c). Only a call that fails, for example by
 * HX_TIMEOUT, leaves earlier. Then the member clears the buffers in its line before the caller may write there. A reader that finds
 * them cleared after it has read fails too.
 */
#include "runtime/engine/failure.h"
#include "runtime/engine/fetch.h"
#include "runtime/base/log.h"
#include "runtime/base/memcpy.h"
#include "runtime/base/process.h"
#include "runtime/base/stream.h"
#include "runtime/engine/shared_alloc.h"
#include "runtime/engine/stall.h"
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINE_MAX_PIDS 64 /* a process and its ancestors; of the rest none is looked for */
#define PIECES 64                       /* in one system call */
#define PIECES_BYTES ((size_t)1 << 30)  /* likewise: the kernel reads less than 2 GiB at once */

struct pieces {
    struct iovec to[PIECES], from[PIECES];
    unsigned long n;
    size_t bytes;
    struct hx_view view; /* the part of its memory that is mapped here */
    size_t viewed;       /* bytes copied from there */
    int refused;         /* the kernel has refused to read some */
};

void hx_fetch_withdraw(struct hx_control *mine)
{
    for (int i = 0; i < 2; i++) /* release pairs with the acquire in given_up: who finds 0 finds the failure noted before */
        atomic_store_explicit(&mine->buffers[i], 0, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst); /* before what the caller writes there; pairs with the fence in given_up */
}

/* May what has been read have been written by the caller of a failed call? */
static int given_up(const struct hx_control *theirs, int buffer)
{
    atomic_thread_fence(memory_order_seq_cst); /* after what was read */
    return atomic_load_explicit(&theirs->buffers[buffer], memory_order_acquire) == 0; /* pairs with the release in hx_fetch_withdraw */
}

/* It tells why before it withdraws its buffers. */
static hx_status_t given_up_fail(const struct hx_run *run, int rank)
{
    const struct hx_failure *failure = hx_failure_look(run->engine, HX_SUCCESS);

    if (failure)
        return hx_stall_elsewhere(run, failure);
    return hx_fail(HX_ERR_STATE, "%s: rank %d of the job has left the call with an error", run->name, rank);
}

/* A rank that has failed may have ended since. Then the reason is its failure, not its end. */
static hx_status_t ended_fail(const struct hx_run *run, int rank, int pid)
{
    const struct hx_failure *failure = hx_failure_look(run->engine, HX_ERR_PEER_DEAD);

    if (failure)
        return hx_stall_elsewhere(run, failure);
    return hx_fail(HX_ERR_PEER_DEAD, "%s: rank %d of the job, process %d, has ended", run->name, rank, pid);
}

static void pieces_read(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step, struct pieces *p)
{
    const struct hx_stage *stage = instance->stage->stage;
    const struct hx_control *theirs = instance->stage->controls[step->peer];
    int rank = run->engine->members->ranks[stage->members[step->peer]];
    int reads = p->n > 0 && run->status == HX_SUCCESS;
    ssize_t got = reads ? process_vm_readv(theirs->pid, p->to, p->n, p->from, p->n, 0) : 0;
    int error = errno;

    run->engine->fetches += (uint64_t)reads;
    run->engine->fetched_bytes += reads ? p->bytes : 0;
    run->engine->shared_alloc_bytes += p->viewed;
    if (run->status != HX_SUCCESS || (!reads && !p->viewed))
        ;
    else if (got < 0 && error == ESRCH)
        run->status = ended_fail(run, rank, theirs->pid);
    else if (given_up(theirs, step->src.space == HX_OUT))
        run->status = given_up_fail(run, rank);
    else if (reads && got != (ssize_t)p->bytes && run->bound->rings < HX_PAIR_RINGS)
        p->refused = 1;
    else if (reads && got != (ssize_t)p->bytes)
        run->status = hx_fail(HX_ERR_NOMEM, "%s: cannot read %zu bytes of rank %d of the job, process %d: %s", run->name, p->bytes,
                              rank, theirs->pid, got < 0 ? strerror(error) : "its buffer is shorter than the buffer of this call");
    p->n = 0;
    p->bytes = p->viewed = 0;
}

static void piece_add(struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step, struct pieces *p,
                      unsigned char *to, uintptr_t from, size_t bytes)
{
    if (from >= p->view.first && from < p->view.end && bytes <= p->view.end - from) {
        if (step->streams && !hx_reduces_in_place(run))
            run->engine->streamed_bytes += hx_stream(to, (const void *)(from + p->view.delta), bytes);
        else
            hx_memcpy(to, (const void *)(from + p->view.delta), bytes);
        p->viewed += bytes;
        return;
    }
    for (size_t most; bytes; to += most, from += most, bytes -= most) {
        most = bytes < PIECES_BYTES - p->bytes ? bytes : PIECES_BYTES - p->bytes;
        p->to[p->n] = (struct iovec){to, most};
        p->from[p->n++] = (struct iovec){(void *)from, most}; /* an address in another process */
        p->bytes += most;
        if (p->n == PIECES || p->bytes == PIECES_BYTES)
            pieces_read(run, instance, step, p);
    }
}

/* The pieces of a step, one after the other. */
struct parts {
    unsigned char *to;
    uintptr_t from;
    size_t bytes; /* of the next one, if it is the only one; else 0 */
    struct hx_walk into, out_of;
};

static struct parts parts_of(const struct hx_run *run, const struct hx_instance *instance, const struct hx_bound_step *step)
{
    struct hx_engine *engine = run->engine;
    const struct hx_bound_stage *bs = instance->stage;
    const struct hx_control *theirs = bs->controls[step->peer];
    struct parts parts = {.to = hx_operand_at(run, &step->dst)};

    parts.from = atomic_load_explicit(&theirs->buffers[step->src.space == HX_OUT], memory_order_relaxed) + step->src.offset;
    if (step->contiguous) {
        parts.bytes = step->bytes;
        return parts;
    }
    parts.into.spans = engine->spans[0];
    parts.out_of.spans = engine->spans[1];
    parts.into.n = hx_layout_spans(&bs->layout, step->dst.space, step->plan_step->block, step->plan_step->nblocks, step->plan_step->row,
                                   instance->slice, engine->spans[0], engine->span_capacity);
    hx_layout_spans_of(&bs->layout, bs->stage->members[step->peer], step->src.space, step->plan_step->block, step->plan_step->nblocks,
                       instance->slice, engine->spans[1], engine->span_capacity);
    return parts;
}

/* Returns the bytes of the next piece; 0: there is none. */
static size_t part_next(struct parts *parts, unsigned char **to, uintptr_t *from)
{
    size_t bytes = parts->bytes;

    *to = parts->to;
    *from = parts->from;
    parts->bytes = 0;
    if (bytes || parts->into.i == parts->into.n)
        return bytes;
    bytes = hx_walk_left(&parts->into) < hx_walk_left(&parts->out_of) ? hx_walk_left(&parts->into) : hx_walk_left(&parts->out_of);
    *to += hx_walk_at(&parts->into);
    *from += hx_walk_at(&parts->out_of);
    hx_walk_advance(&parts->into, bytes);
    hx_walk_advance(&parts->out_of, bytes);
    return bytes;
}

/* Ask for one piece after the other: cursor - 1 have arrived. Returns 1 when all have. */
static int parts_ask(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_asks *asks = &run->engine->asks;

    for (;;) {
        struct parts parts = parts_of(run, instance, step);
        unsigned char *to;
        uintptr_t from;
        size_t bytes = 0;

        if (asks->reader) {
            if (asks->reader != instance || !hx_ask_ended(run))
                return 0;
            instance->cursor++;
        }
        for (uint32_t i = 0; i < instance->cursor; i++)
            bytes = part_next(&parts, &to, &from);
        if (!bytes)
            break;
        hx_ask(run, instance, step, to, from, bytes);
    }
    instance->cursor = 0;
    return 1;
}

int hx_data_fetch(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_engine *engine = run->engine;
    const struct hx_control *theirs = instance->stage->controls[step->peer];
    struct pieces pieces; /* too long to be cleared */
    struct parts parts;
    unsigned char *to;
    uintptr_t from;

    if (instance->cursor)
        return parts_ask(run, instance, step);
    parts = parts_of(run, instance, step);
    pieces.view = hx_peer_map_view(engine->process, (int)(theirs - engine->node.controls), theirs, step->src.space == HX_OUT);
    pieces.n = 0;
    pieces.bytes = pieces.viewed = 0;
    pieces.refused = 0;
    for (size_t bytes; !pieces.refused && (bytes = part_next(&parts, &to, &from));)
        piece_add(run, instance, step, &pieces, to, from, bytes);
    pieces_read(run, instance, step, &pieces);
    if (!pieces.refused || run->status != HX_SUCCESS)
        return run->status == HX_SUCCESS;
    run->engine->asks.refused++;
    instance->cursor = 1;
    return parts_ask(run, instance, step);
}

/* ---- does it work here? -------------------------------------------------------------------------------------------- */

static uint64_t number; /* that the others of the node try to read */
static int offers; /* segments of this process whose ranks may read */

/* One number per process: processes of several namespaces may have the same pid, and the same address. */
static uint64_t number_of(const struct hx_doorbell *whose, int place)
{
    return (whose->number ^ (uint64_t)whose->pid << 32) + (uint64_t)(place + 1) * 0x9e3779b97f4a7c15u;
}

/* The nearest common ancestor of all ranks of this node: its pid. As a rule it is a launcher's process; it may be this process. 0: this
 * process sees none, because the ranks are in several pid namespaces, there is no /proc, or a launcher outside the namespace has started
 * each rank. */
static int ancestor_of_node(const struct hx_shared *shared)
{
    const struct hx_doorbell *mine = &shared->doorbells[shared->me];
    int line[LINE_MAX_PIDS], n = 0, nearest = 0;

    for (int pid = getpid(); pid > 0 && n < LINE_MAX_PIDS; pid = hx_process_stat(pid, HX_PROCESS_PARENT))
        line[n++] = pid;
    for (int i = 0; i < shared->n; i++) {
        const struct hx_doorbell *theirs = &shared->doorbells[i];
        int found = -1, pid = theirs->pid;

        if (theirs->pid_space == 0 || theirs->pid_space != mine->pid_space)
            return 0;
        for (int steps = 0; found < 0 && pid > 0 && steps < LINE_MAX_PIDS; steps++, pid = hx_process_stat(pid, HX_PROCESS_PARENT))
            for (int k = nearest; found < 0 && k < n; k++)
                if (line[k] == pid)
                    found = k;
        if (found < 0)
            return 0;
        nearest = found;
    }
    return line[nearest];
}

void hx_fetch_offer(struct hx_shared *shared)
{
    struct hx_doorbell *mine = &shared->doorbells[shared->me];
    int ancestor;

    if (shared->n == 1)
        return;
    /* Yama lets only ancestors read; without Yama this has no effect. It allows the process named, and all that descend from it: the ranks
     * and what their launcher starts, not every process of this user. That process must live as long as the ranks. */
    ancestor = ancestor_of_node(shared);
    shared->offered = prctl(PR_SET_PTRACER, ancestor > 0 ? (unsigned long)ancestor : PR_SET_PTRACER_ANY, 0, 0, 0) == 0;
    offers += shared->offered;
    mine->number = (uintptr_t)&number;
    number = number_of(mine, shared->me);
}

void hx_fetch_end(struct hx_shared *shared)
{
    if (!shared || !shared->offered)
        return;
    shared->offered = 0;
    if (--offers == 0)
        prctl(PR_SET_PTRACER, 0, 0, 0, 0);
}

void hx_fetch_try(struct hx_shared *shared)
{
    for (int i = 0; i < shared->n && shared->n > 1; i++) {
        const struct hx_doorbell *theirs = &shared->doorbells[i];
        uint64_t got;
        struct iovec to = {&got, sizeof(got)}, from = {(void *)theirs->number, sizeof(got)};
        const uint64_t space = shared->doorbells[shared->me].pid_space;
        const int apart = space && theirs->pid_space && theirs->pid_space != space;
        const int refused = !apart && process_vm_readv(theirs->pid, &to, 1, &from, 1, 0) != sizeof(got);
        if (!apart && !refused && got == number_of(theirs, i))
            continue;
        hx_info("no single copy: cannot read the memory of rank %d, process %d: %s", shared->ranks[i], theirs->pid,
                apart ? "it is in another pid namespace, for example in another container"
                      : refused ? strerror(errno) : "this process id belongs to another process");
        atomic_store_explicit(&shared->header->no_fetch, 1, memory_order_relaxed); /* arrived publishes it */
        return;
    }
}
