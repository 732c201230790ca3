/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two executors. Both issue steps by step_issue, which either does the step or says that it must wait:
 *   run_inline    one slice: walk each stage to its end, waiting where a step must
 *   run_progress  a window of slices per stage: issue what can be issued, oldest slice first, wait when nothing can
 */
#include "runtime/engine/flags.h"
#include "runtime/engine/trace_spans.h"
#include "runtime/engine/awaited.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include "runtime/engine/shared_alloc.h"

#define NET_LOOK_EVERY 16 /* looks at shared memory per look at the network, when only peers may need our progress */

/* ---- steps --------------------------------------------------------------------------------------------------- */

static int transfers_done(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    for (; instance->cursor < step->n; instance->cursor++) {
        const struct hx_transfer *t = &instance->transfers[step->handle + instance->cursor];
        if (t->net.done == 0)
            return 0;
        if (t->net.done < 0) {
            run->status = hx_transfer_failure(run, t);
            return 0;
        }
    }
    instance->cursor = 0;
    return 1;
}

/* Issue one step. Returns 0 when it must wait, when it is an election and another's, or when run->status has become an error. Inline,
 * since a small call is little else than this. */
static inline __attribute__((always_inline)) int step_issue(struct hx_run *run, struct hx_instance *instance,
                                                            const struct hx_bound_step *step)
{
    switch (step->op) {
    case HX_OP_COPY:
        hx_data_copy(run, instance, step);
        return 1;
    case HX_OP_STREAM:
        hx_data_stream(run, instance, step);
        return 1;
    case HX_OP_FETCH:
        hx_data_fetch(run, instance, step);
        return run->status == HX_SUCCESS;
    case HX_OP_REDUCE:
        hx_data_reduce(run, instance, step);
        return 1;
    case HX_OP_SEND:
    case HX_OP_RECV:
        hx_transfer_start(run, instance, step);
        return run->status == HX_SUCCESS;
    case HX_OP_JOIN:
        return transfers_done(run, instance, step);
    case HX_OP_PUBLISH:
        hx_flag_publish(run, instance, step);
        return 1;
    case HX_OP_ELECT:
        return hx_is_elected(run, instance, step);
    case HX_OP_AWAIT:
        return hx_flags_reached(run, instance, step);
    case HX_OP_LEARN:
        run->status = hx_bound_learn(run);
        return run->status == HX_SUCCESS;
    }
    __builtin_unreachable(); /* the builder makes no others */
}

/* The step at the instance's pc, with addresses: those written down, or for this slice only, in *storage. */
static inline const struct hx_bound_step *step_at_pc(const struct hx_run *run, const struct hx_instance *instance,
                                                     struct hx_bound_step *storage)
{
    const struct hx_bound_stage *bs = instance->stage;

    if (bs->steps)
        return &bs->steps[instance->pc];
    hx_bind_step(&run->engine->node, bs, &bs->stage->steps[instance->pc], instance->slice, storage);
    hx_bind_stream(bs, instance->pc, storage);
    return storage;
}

/* Let rings, network and other calls move. Returns nonzero when something moved. */
static int world_progress(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    struct hx_process *process = engine->process;
    int moved = engine->nactive ? hx_transfer_progress(engine) : 0;

    if (moved)
        hx_wait_clock_renew(&engine->wait_clock);
    int ours = !run->waits || run->waits->instance->stage->stage->ntransfers; /* we may be waiting for a message */

    if (process->net && (ours || engine->net_looks++ % NET_LOOK_EVERY == 0)) {
        int events = hx_registry.net->progress(process->net);
        if (events < 0 && engine->members->local_n < engine->members->size) {
            hx_recall(hx_registry.net->why(process->net));
            run->status = (hx_status_t)-events;
        }
        moved |= events > 0;
    }
    if (process->active)
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

    if (process->net || run->engine->nactive || process->active)
        world_progress(run);
    if (step_issue(run, run->waits->instance, run->waits) || run->status != HX_SUCCESS)
        return 1;
    if (run->waits->op == HX_OP_AWAIT && run->waits->instance->stage->mate != HX_NO_MATE)
        process->waiter.awaited = hx_mate_awaited(run, run->waits->instance, run->waits);
    return HX_PROBE_IN_VAIN(hx_awaited_rank(run));
}

static struct hx_wait wait_of(struct hx_run *run, int (*look)(void *))
{
    return (struct hx_wait){look, hx_stall_tell, run, run->engine->process->env->timeout, &run->engine->wait_clock};
}

static int wait_ended(struct hx_run *run, hx_status_t status)
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
    const struct hx_wait wait = wait_of(run, look);

    run->engine->wait_clock = (struct hx_wait_clock){.naps = naps};
    return wait_ended(run, hx_wait_until(&run->engine->process->waiter, &wait));
}

static inline __attribute__((always_inline)) void run_inline(struct hx_run *run)
{
    const struct hx_bound_step *step = run->bound->steps, *end = run->bound->steps_end;

    for (; step < end; step++) {
        if (step_issue(run, step->instance, step))
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

/* May this stage begin its next slice? */
static int slice_ready(const struct hx_bound *bound, const struct hx_bound_stage *bs)
{
    if (!hx_slice_has_room(&bs->layout, bs->window, bs->started, bs->finished))
        return 0;
    for (const struct hx_bound_stage *before = bound->stages; before < bs; before++)
        if (before->stage->level == bs->stage->after && before->finished < hx_slices_needed(&bs->layout, &before->layout, bs->started))
            return 0;
    return 1;
}

/* Issue steps of one slice until one must wait, never overtaking the slice before it. Returns steps issued. */
static uint32_t instance_advance(struct hx_run *run, struct hx_bound_stage *bs, struct hx_instance *instance)
{
    const uint32_t before = bs->instances[(instance->slice - 1) % bs->window].pc, first = instance->pc;
    const uint32_t limit = hx_slice_limit(instance->slice, bs->finished, bs->nsteps, before);
    struct hx_bound_step storage;

    for (; instance->pc < limit; instance->pc++) {
        const struct hx_bound_step *step = step_at_pc(run, instance, &storage);
        if (step_issue(run, instance, step))
            continue;
        if (step->op != HX_OP_ELECT || run->status != HX_SUCCESS)
            break;
        instance->pc += step->handle;
    }
    return instance->pc - first;
}

static int stage_advance(struct hx_run *run, struct hx_bound_stage *bs)
{
    uint32_t issued = 0;

    while (slice_ready(run->bound, bs)) {
        struct hx_instance *fresh = &bs->instances[bs->started % bs->window];
        fresh->slice = bs->started++;
        fresh->pc = 0;
        HX_PROBE_STAGE_BEGIN(fresh);
        issued++;
        if (bs->started - bs->finished > 1)
            break; /* older slices first */
    }
    for (uint64_t k = bs->finished; k < bs->started && run->status == HX_SUCCESS; k++) {
        issued += instance_advance(run, bs, &bs->instances[k % bs->window]);
        if (k == bs->finished && bs->instances[k % bs->window].pc == bs->nsteps) {
            HX_PROBE_STAGE_END(run, &bs->instances[k % bs->window]);
            bs->finished++;
        }
    }
    return (int)issued;
}

static int stages_advance(struct hx_run *run)
{
    int issued = 0;

    /* later stages first: they free slots */
    for (int s = run->bound->nstages - 1; s >= 0 && run->status == HX_SUCCESS; s--)
        issued |= stage_advance(run, &run->bound->stages[s]);
    return issued;
}

static int progress_look(void *ctx)
{
    struct hx_run *run = ctx;
    int moved = world_progress(run);

    if (stages_advance(run)) {
        hx_wait_clock_renew(&run->engine->wait_clock);
        return 1;
    }
    return moved || run->status != HX_SUCCESS || HX_PROBE_IN_VAIN(hx_awaited_rank(run));
}

static int all_finished(const struct hx_bound *bound)
{
    for (int s = 0; s < bound->nstages; s++)
        if (bound->stages[s].finished < bound->stages[s].layout.nslices)
            return 0;
    return 1;
}

static void stages_begin(struct hx_run *run)
{
    for (int s = 0; s < run->bound->nstages; s++)
        run->bound->stages[s].started = run->bound->stages[s].finished = 0;
    run->waits = NULL;
}

/* What moves and ends a wait may be other calls' messages: the time goes on. */
static void run_progress(struct hx_run *run)
{
    const struct hx_wait wait = wait_of(run, progress_look);
    hx_status_t status;

    run->engine->wait_clock = (struct hx_wait_clock){0};
    stages_begin(run);
    while (run->status == HX_SUCCESS && !all_finished(run->bound)) {
        status = hx_wait_until(&run->engine->process->waiter, &wait);
        if (!wait_ended(run, status == HX_SUCCESS ? hx_wait_check(&wait) : status))
            return;
    }
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

/* Must this call wait before it writes what others of its node read? */
static inline int writes_too_early(const struct hx_engine *engine, const struct hx_bound *bound)
{
    return engine->call - engine->left_by_all > bound->kept;
}

/* A member of this node that is not far enough: it has not left the call that all must have left before this call writes. -1: none. */
static int slots_user(struct hx_engine *engine, const struct hx_bound *bound)
{
    const struct hx_node *node = &engine->node;
    uint64_t least = engine->call - 1;

    if (!writes_too_early(engine, bound))
        return -1;
    for (int i = 0; i < node->n; i++) {
        /* acquire pairs with the release in left_tell: all reads of member i in that call are over */
        uint64_t left = atomic_load_explicit(&hx_node_control(node, i)->left, memory_order_acquire) >> HX_SLICE_BITS;
        if (i == node->me)
            continue;
        if (engine->call > left + bound->kept)
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

    world_progress(run);
    return slots_user(run->engine, run->bound) < 0 || run->status != HX_SUCCESS || HX_PROBE_IN_VAIN(slots_awaited(run));
}

/* Other ranks may still look at flags of this call, and at those of the call before if that one awaited all. The next calls raise the same
 * flags again, so the stamps of these two calls are kept here. The stamps that they overwrite are no longer needed: no rank is in those
 * calls any more. If the call before awaited all, every rank had left the one before that; if this call raises flags, its `kept` ensures
 * it. */
static void stamps_keep(const struct hx_run *run)
{
    const struct hx_engine *engine = run->engine;
    uint64_t before = atomic_load_explicit(&engine->mine->left, memory_order_relaxed);

    if (engine->ahead == 0)
        atomic_store_explicit(&engine->mine->stamps[(before >> HX_SLICE_BITS) % HX_STAMPS], before, memory_order_relaxed);
    if (run->bound->kept <= HX_STAMPS)
        atomic_store_explicit(&engine->mine->stamps[engine->call % HX_STAMPS], run->stamp, memory_order_relaxed);
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

    stamps_keep(run);
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
    run->parity = call & 1;
    run->status = HX_SUCCESS;
    run->waits = NULL;
    run->base[HX_IN] = (unsigned char *)(uintptr_t)in;
    run->base[HX_OUT] = out;
    run->base[HX_WORK] = engine->memory;
    run->base[HX_SCRATCH] = engine->memory + bound->work_bytes;
    run->base[HX_SLOT] = (unsigned char *)engine->node.base + (call >> 1 & bound->turn_mask) * bound->turn_bytes;
    atomic_store_explicit(&engine->mine->entered, run->stamp, memory_order_relaxed);
    return !writes_too_early(engine, bound) || slots_user(engine, bound) < 0;
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

/* Of a call that is not on the fast path: where the lengths of an all-to-all with counts stand, and, for the others, IN and OUT. */
static void buffers_tell(struct hx_run *run)
{
    for (int i = 0; i < 2; i++) { /* an offer's flag publishes them */
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
    struct hx_trace_open open = {.engine = NULL};
    struct hx_run run;
    hx_status_t status;

    if (HX_TRACING)
        hx_trace_call_begin(&open, name, engine, &bound->key, bound->key.count);
    engine->running = HX_RUNS;
    if (run_enter(&run, engine, bound, name, in, out, HX_TRACING) || run_wait(&run, slots_look, 1)) {
        buffers_tell(&run);
        if (bound->runs_inline)
            run_inline(&run);
        else
            run_progress(&run);
    }
    status = run_leave(&run);
    engine->running = HX_IDLE;
    hx_notify(&engine->process->waiter);
    if (HX_TRACING)
        hx_trace_call_end(&open, status);
    return status;
}

hx_status_t hx_engine_run(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out)
{
    struct hx_run run;
    hx_status_t status;

    if (!bound->fast_path)
        return run_at_length(engine, bound, name, in, out);
    engine->running = HX_RUNS;
    if (run_enter(&run, engine, bound, name, in, out, 0) || run_wait(&run, slots_look, 1))
        run_inline(&run);
    status = run_leave(&run);
    engine->running = HX_IDLE;
    hx_notify(&engine->process->waiter);
    return status;
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
    stages_begin(&engine->run);
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
        if (all_finished(run->bound))
            return 1;
        if (engine->nactive)
            engine->process->moves += (uint64_t)hx_transfer_progress(engine);
    } while (stages_advance(run) && run->status == HX_SUCCESS && ++engine->process->moves);
    if (engine->process->moves != moves)
        hx_wait_clock_renew(&engine->wait_clock);
    return run->status != HX_SUCCESS;
}
