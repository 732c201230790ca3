/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs bound plans: enters a call, runs it, leaves it. There are two executors. Both issue steps by hx_step_issue, which either does the step
 * or says that it must wait:
 *   run_inline     one slice: walk each stage to its end, waiting where a step must
 *   hx_slices_run  a window of slices of each stage: run_slices.c
 */
#include "runtime/engine/run.h"
#include "runtime/engine/trace_spans.h"
#include "runtime/engine/awaited.h"
#include "runtime/engine/p2p.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include "runtime/engine/shared_alloc.h"

#define NET_LOOK_EVERY 16 /* looks at shared memory per look at the network, when only peers may need our progress */

int hx_run_move_others(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    struct hx_process *process = engine->process;
    int moved = engine->nactive ? hx_shm_rings_progress(engine) : 0;

    hx_asks_look(run);
    if (moved)
        hx_wait_clock_renew(&engine->wait_clock);
    /* we may be waiting for a message */
    int ours = !run->waits || run->waits->instance->stage->stage->ntransfers || hx_p2p_wants_network(process);

    /* Without endpoints a poll is short. It must see soon that another rank wants to reach this one. */
    if (process->net && (ours || !process->waiter.net || engine->net_looks++ % NET_LOOK_EVERY == 0)) {
        int events = hx_registry.net->progress(process->net);
        if (events < 0 && engine->members->local_n < engine->members->size) {
            hx_recall(hx_registry.net->why(process->net));
            run->status = (hx_status_t)-events;
        }
        moved |= events > 0;
    }
    if (process->active || hx_p2p_is_due(process) || process->has_others)
        process->owner->pump(process);
    if (moved)
        hx_notify(&process->waiter);
    return moved;
}

/* ---- executors ----------------------------------------------------------------------------------------------- */

static int inline_look(void *ctx)
{
    struct hx_run *run = ctx;
    struct hx_process *process = run->engine->process;

    if (process->net || run->engine->nactive || process->active || process->p2p || process->has_others)
        hx_run_move_others(run);
    else
        hx_asks_look(run);
    if (hx_step_issue(run, run->waits->instance, run->waits) || run->status != HX_SUCCESS)
        return 1;
    if (run->waits->op == HX_OP_AWAIT && run->waits->instance->stage->mate != HX_NO_MATE)
        process->waiter.awaited = hx_mate_awaited(run, run->waits->instance, run->waits);
    return HX_PROBE_IN_VAIN(run->engine->process->trace, hx_awaited_rank(run));
}

struct hx_wait hx_run_wait_of(struct hx_run *run, int (*look)(void *))
{
    return (struct hx_wait){look, hx_stall_tell, run, *run->engine->members->timeout_s, &run->engine->wait_clock};
}

int hx_run_wait_ended(struct hx_run *run, hx_status_t status)
{
    if (status == HX_SUCCESS)
        atomic_store_explicit(&run->engine->mine->waits_for, 0, memory_order_relaxed);
    if (run->engine->process->whereabouts)
        hx_stand_clear(run->engine->process);
    if (status == HX_ERR_TIMEOUT && run->status == HX_SUCCESS)
        run->status = hx_awaited_fail(run);
    return run->status == HX_SUCCESS;
}

/* The wait function: only a step that cannot go on comes here, or a call that cannot begin (which naps). */
static __attribute__((noinline)) int run_wait(struct hx_run *run, int (*look)(void *), int naps)
{
    const struct hx_wait wait = hx_run_wait_of(run, look);

    run->engine->wait_clock = (struct hx_wait_clock){.naps = naps};
    return hx_run_wait_ended(run, hx_wait_until(&run->engine->process->waiter, &wait));
}

static inline __attribute__((always_inline)) void run_inline(struct hx_run *run)
{
    const struct hx_bound_step *step = run->bound->steps, *end = run->bound->steps_end;

    for (; step < end; step++) {
        if (hx_step_issue(run, step->instance, step))
            continue;
        if (step->op == HX_OP_ELECT && run->status == HX_SUCCESS) {
            step += step->handle;
            continue;
        }
        run->waits = step;
        if (run->status != HX_SUCCESS || !run_wait(run, inline_look, 0))
            return;
    }
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

/* How many calls before this one is the last call that all must have left before this one writes what others of its node read? */
static uint64_t calls_kept(const struct hx_engine *engine, const struct hx_bound *bound)
{
    if (bound->kept == UINT64_MAX || bound->turn_bytes == 0)
        return bound->kept;
    return hx_bank_kept(bound->kept, engine->call - engine->turns_since);
}

/* A member of this node that is not far enough: it has not left the call that all must have left before this call writes. -1: none. */
static int slots_user(struct hx_engine *engine, const struct hx_bound *bound)
{
    const struct hx_node *node = &engine->node;
    uint64_t least = engine->call - 1, kept = calls_kept(engine, bound);

    if (engine->call - engine->left_by_all <= kept)
        return -1;
    for (int i = 0; i < node->n; i++) {
        /* acquire pairs with the release in left_tell: all reads of member i in that call are over */
        uint64_t left = atomic_load_explicit(&hx_node_control(node, i)->left, memory_order_acquire) >> HX_SLICE_BITS;
        if (i == node->me)
            continue;
        if (engine->call > left + kept)
            return i;
        least = left < least ? left : least;
    }
    engine->left_by_all = least;
    return -1;
}

/* The same, as a rank of the job. */
static int slots_awaited(const struct hx_run *run)
{
    int user = slots_user(run->engine, run->bound);

    return user < 0 ? -1 : run->engine->members->ranks[run->engine->node.ranks[user]];
}

static int slots_look(void *ctx)
{
    struct hx_run *run = ctx;

    hx_run_move_others(run);
    return slots_user(run->engine, run->bound) < 0 || run->status != HX_SUCCESS || HX_PROBE_IN_VAIN(run->engine->process->trace, slots_awaited(run));
}

/* From now on this rank reads nothing that others have written for the call. Pairs with the acquire in slots_user. */
static inline void left_tell(const struct hx_run *run)
{
    atomic_store_explicit(&run->engine->mine->left, run->stamp, memory_order_release);
}

/* A call that does not await all has ended here. Ranks that wait for this rank to leave it (slots_look) are woken. */
static __attribute__((noinline)) void leave_ahead(const struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    const struct hx_node *node = &engine->node;

    left_tell(run);
    engine->ahead += engine->ahead < HX_CALLS_AHEAD; /* no higher: if a program on one node only broadcasts, nothing resets
                                                      * it */
    hx_wake_fence();
    for (int i = 0; i < node->n; i++)
        hx_wake(node->shared, hx_node_doorbell(node, i));
}

static __attribute__((noinline)) void average(const struct hx_run *run)
{
    const struct hx_bound *bound = run->bound;
    const struct hx_members *members = run->engine->members;
    size_t bytes = hx_layout_space_bytes(bound->plan, &bound->sizes, HX_OUT);
    int contributors = hx_coll_contributors(bound->key.coll, members->size, members->rank);

    if (contributors > 1) /* of a scan there may be one, whose input is the result as it is, or none */
        hx_scale_inverse(run->base[HX_OUT], bytes / bound->elem_bytes, bound->key.dtype, contributors);
}

/* Choose the call's part of the bank. */
static void bank_take(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    const struct hx_bound *bound = run->bound;

    run->base[HX_SLOT] = (unsigned char *)engine->node.base + hx_bank_turn(&engine->node, bound, engine->call);
    if (bound->turn_mask != engine->turn_mask) {
        engine->turn_mask = bound->turn_mask;
        engine->turns_since = engine->call;
    }
}

/* Enter a call. Returns 0 when its slots may not be written yet. */
static inline __attribute__((always_inline)) int run_enter(struct hx_run *run, struct hx_engine *engine, struct hx_bound *bound,
                                                           const char *name, const void *in, void *out, int traced)
{
    uint64_t call = ++engine->call;

    HX_PROBE_CALL_BEGIN(traced, engine, bound, name);
    run->engine = engine;
    run->name = name;
    run->bound = bound;
    run->epoch = call << HX_SLICE_BITS;
    run->stamp = run->epoch | bound->signature_bits;
    run->turn = (unsigned)call & (engine->node.shared->calls_kept - 1);
    run->flag_turn = run->turn * sizeof(struct hx_flag);
    run->status = HX_SUCCESS;
    run->waits = NULL;
    run->base[HX_IN] = (unsigned char *)(uintptr_t)in;
    run->base[HX_OUT] = out;
    run->base[HX_WORK] = engine->memory;
    run->base[HX_SCRATCH] = engine->memory + bound->work_bytes;
    run->base[HX_TINY_SLOT] = (unsigned char *)engine->node.base + run->flag_turn;
    atomic_store_explicit(&engine->mine->entered, run->stamp, memory_order_relaxed);
    if (bound->turn_bytes)
        bank_take(run);
    /* if all have left the call before the last, any call may write */
    return call - engine->left_by_all <= HX_BANKS || slots_user(engine, bound) < 0;
}

void hx_run_cancel(struct hx_run *run)
{
    hx_stall_end(run);
    hx_transfer_cancel_all(run);
    hx_fetch_withdraw(run->engine->mine);
}

static __attribute__((noinline)) hx_status_t run_fail(struct hx_run *run)
{
    if (run->engine->members->why[0])
        hx_recall(run->engine->members->why);
    if (run->status == HX_ERR_PEER_DEAD)
        hx_stall_name(run);
    run->engine->process->owner->broken(run);
    return run->status;
}

static inline __attribute__((always_inline)) hx_status_t run_leave(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;

    HX_PROBE_CALL_END(run->name, run->status);
    if (run->status != HX_SUCCESS)
        return run_fail(run);
    if (run->bound->awaits_all) {
        left_tell(run);
        engine->ahead = 0;
        engine->left_by_all = engine->call - 1; /* all have entered this one */
    } else {
        leave_ahead(run);
    }
    atomic_store_explicit(engine->passed, run->stamp, memory_order_relaxed);
    if (run->bound->key.op == HX_AVG)
        average(run);
    return HX_SUCCESS;
}

/* A call that is not on the fast path may offer IN and OUT, or have lengths to learn. */
static void buffers_tell(struct hx_run *run)
{
    for (int i = 0; i < 2 && run->bound->offers; i++) { /* an offer's flag publishes them */
        uintptr_t address = (uintptr_t)run->base[i ? HX_OUT : HX_IN];
        atomic_store_explicit(&run->engine->mine->buffers[i], address, memory_order_relaxed);
        hx_shared_alloc_tell(run->engine->process, run->engine->mine, i, address);
    }
    run->base[HX_COUNTS] = (unsigned char *)(uintptr_t)run->bound->pair_counts.sent;
    run->base[HX_HEARD] = (unsigned char *)run->bound->heard;
}

/* More than one slice, or traced, or with lengths to learn, or buffers to offer. */
static __attribute__((noinline)) hx_status_t run_at_length(struct hx_engine *engine, struct hx_bound *bound, const char *name,
                                                           const void *in, void *out)
{
    struct hx_trace_open open;
    struct hx_run run;
    hx_status_t status;

    open.engine = NULL;
    if (HX_TRACING)
        hx_trace_call_begin(&open, name, engine, &bound->key, bound->key.count);
    engine->running = HX_RUNS;
    if (run_enter(&run, engine, bound, name, in, out, HX_TRACING) || run_wait(&run, slots_look, 1)) {
        buffers_tell(&run);
        if (bound->runs_inline)
            run_inline(&run);
        else
            hx_slices_run(&run);
    }
    status = run_leave(&run);
    engine->running = HX_IDLE;
    hx_notify(&engine->process->waiter);
    if (HX_TRACING)
        hx_trace_call_end(&open, status);
    return status;
}

static inline __attribute__((always_inline)) hx_status_t run_fast(struct hx_engine *engine, struct hx_bound *bound, const char *name,
                                                                  const void *in, void *out)
{
    struct hx_run run;
    hx_status_t status;

    engine->running = HX_RUNS;
    if (run_enter(&run, engine, bound, name, in, out, 0) || run_wait(&run, slots_look, 1))
        run_inline(&run);
    status = run_leave(&run);
    engine->running = HX_IDLE;
    hx_notify(&engine->process->waiter);
    return status;
}

hx_status_t hx_run_plan(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out)
{
    return bound->is_short ? run_fast(engine, bound, name, in, out) : run_at_length(engine, bound, name, in, out);
}

hx_status_t hx_engine_run(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out)
{
    if (bound->fast_path)
        return run_fast(engine, bound, name, in, out);
    return bound->has_rival ? hx_adapt_run(engine, bound, name, in, out) : run_at_length(engine, bound, name, in, out);
}

hx_status_t hx_run_end(struct hx_run *run)
{
    return run_leave(run);
}

void hx_run_begin(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out)
{
    engine->running = run_enter(&engine->run, engine, bound, name, in, out, HX_TRACING) ? HX_RUNS : HX_AWAITS_SLOTS;
    engine->wait_clock = (struct hx_wait_clock){.naps = engine->running == HX_AWAITS_SLOTS};
    buffers_tell(&engine->run);
    hx_slices_begin(&engine->run);
}

int hx_run_advance(struct hx_engine *engine)
{
    struct hx_run *run = &engine->run;
    uint64_t moves = engine->process->moves;

    if (engine->running == HX_AWAITS_SLOTS && slots_user(engine, run->bound) >= 0 && run->status == HX_SUCCESS)
        return 0;
    engine->running = HX_RUNS;
    engine->wait_clock.naps = 0;
    do {
        if (hx_slices_finished(run->bound))
            return 1;
        hx_asks_look(run);
        if (engine->nactive)
            engine->process->moves += (uint64_t)hx_shm_rings_progress(engine);
    } while (hx_slices_advance(run) && run->status == HX_SUCCESS && ++engine->process->moves);
    if (engine->process->moves != moves)
        hx_wait_clock_renew(&engine->wait_clock);
    return run->status != HX_SUCCESS;
}
