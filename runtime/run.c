/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two executors. Both issue steps by step_issue, which either does the step or says that it must wait:
 *   run_inline    one slice: walk each stage to its end, waiting where a step must
 *   run_progress  a window of slices per stage: issue what can be issued, oldest slice first, wait when nothing can
 */
#include "comm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NET_LOOK_EVERY 16 /* looks at shared memory per look at the network, when only the peers may need our progress */

/* ---- steps -------------------------------------------------------------------------------------------------------- */

/* Have members [cursor, end) of an AWAIT all reached the epoch? */
static inline int flags_reached(struct hx_run *run, const struct hx_bound_stage *bs, struct hx_instance *instance,
                                const struct hx_bound_step *step)
{
    struct hx_control *controls = run->comm->node->controls;
    uint64_t epoch = run->epoch + instance->slice + 1;

    if (step->own) { /* lag */
        if (instance->slice < bs->window)
            return 1;
        epoch -= bs->window;
    }
    uint32_t flag = bs->stage->first_flag + step->tag, me = (uint32_t)bs->stage->me, end = step->peer + step->n;
    for (uint32_t member = step->peer + instance->cursor; member < end; member++) {
        if (member == me)
            continue;
        /* acquire pairs with the release in flag_publish: the member's slot is as it was published */
        if (atomic_load_explicit(&controls[bs->local[member]].flags[run->parity][flag].epoch, memory_order_acquire) < epoch) {
            instance->cursor = member - step->peer;
            return 0;
        }
    }
    return 1;
}

static inline void flag_publish(struct hx_run *run, const struct hx_bound_stage *bs, const struct hx_instance *instance,
                                const struct hx_bound_step *step)
{
    struct hx_node *node = run->comm->node;
    struct hx_flag *flag = &node->controls[node->me].flags[run->parity][bs->stage->first_flag + step->tag];

    /* release pairs with the acquire in flags_reached */
    atomic_store_explicit(&flag->epoch, run->epoch + instance->slice + 1, memory_order_release);
    hx_wake_fence();
    for (uint32_t i = 0; i < step->n; i++)
        hx_wake(node, bs->local[step->peer + i]);
}

static int transfers_done(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    for (; instance->cursor < step->n; instance->cursor++) {
        const struct hx_transfer *t = &instance->transfers[step->handle + instance->cursor];
        if (t->net.done == 0)
            return 0;
        if (t->net.done < 0) {
            run->status = (hx_status_t)-t->net.done;
            return 0;
        }
    }
    return 1;
}

/* Issue one step. Returns 0 when it must wait, or when run->status has become an error. */
static inline __attribute__((always_inline)) int step_issue_here(struct hx_run *run, struct hx_bound_stage *bs, struct hx_instance *instance,
                             const struct hx_bound_step *step)
{
    switch ((enum hx_opcode)step->op) {
    case HX_OP_COPY:
    case HX_OP_REDUCE:
        hx_data_move(run, bs, instance, step);
        return 1;
    case HX_OP_SEND:
    case HX_OP_RECV:
        hx_transfer_start(run, bs, instance, step, step->plan_step);
        return run->status == HX_SUCCESS;
    case HX_OP_JOIN:
        return transfers_done(run, instance, step);
    case HX_OP_PUBLISH:
        flag_publish(run, bs, instance, step);
        return 1;
    case HX_OP_AWAIT:
        return flags_reached(run, bs, instance, step);
    case HX_OPCODE_COUNT:
        break;
    }
    run->status = hx_fail(HX_ERR_INTERNAL, "opcode %d in plan %s", step->op, run->bound->plan->name);
    return 0;
}

static int step_issue(struct hx_run *run, struct hx_bound_stage *bs, struct hx_instance *instance,
                      const struct hx_bound_step *step)
{
    return step_issue_here(run, bs, instance, step);
}

/* The step at the instance's pc, with addresses. */
static inline const struct hx_bound_step *step_fetch(struct hx_bound_stage *bs, struct hx_instance *instance,
                                                     struct hx_bound_step *storage)
{
    if (bs->steps)
        return &bs->steps[instance->pc];
    hx_bind_step(bs, &bs->stage->steps[instance->pc], instance->slice, storage);
    return storage;
}

/* Let rings and network move. Returns nonzero when something moved. */
static int world_progress(struct hx_run *run)
{
    struct hx_comm *comm = run->comm;
    int moved = comm->engine.nactive ? hx_transfer_progress(comm) : 0;

    if (comm->net && (run->at == NULL || run->at->stage->ntransfers || run->net_looks++ % NET_LOOK_EVERY == 0)) {
        int events = hx_registry.net->progress(comm->net);
        if (events < 0)
            run->status = (hx_status_t)-events;
        moved |= events;
    }
    return moved;
}

/* ---- executors ---------------------------------------------------------------------------------------------------- */

static int inline_look(void *ctx)
{
    struct hx_run *run = ctx;
    struct hx_bound_step storage;

    if (run->comm->net || run->comm->engine.nactive)
        world_progress(run);
    return step_issue(run, run->at, run->instance, step_fetch(run->at, run->instance, &storage)) ||
           run->status != HX_SUCCESS;
}

static int wait_for(struct hx_run *run, int (*look)(void *))
{
    struct hx_comm *comm = run->comm;
    hx_status_t status = hx_wait_until(&comm->waiter, look, hx_stall_tell, run, comm->env->timeout);

    if (status == HX_ERR_TIMEOUT && run->status == HX_SUCCESS)
        run->status = hx_stall_fail(run);
    return run->status == HX_SUCCESS;
}

static void run_inline(struct hx_run *run)
{
    for (int s = 0; s < run->bound->nstages; s++) {
        struct hx_bound_stage *bs = &run->bound->stages[s];
        struct hx_instance *instance = &bs->instances[0];
        uint32_t nsteps = bs->nsteps;

        instance->slice = 0;
        run->at = bs;
        run->instance = instance;
        for (uint32_t pc = 0; pc < nsteps; pc++) {
            instance->cursor = 0;
            if (step_issue_here(run, bs, instance, &bs->steps[pc]))
                continue;
            instance->pc = pc;
            if (run->status != HX_SUCCESS || !wait_for(run, inline_look))
                return;
        }
    }
}

/* May this stage begin its next slice: room in its window, and all that it is made of finished by the stages it comes after? */
static int slice_ready(const struct hx_bound *bound, const struct hx_bound_stage *bs)
{
    uint64_t k = bs->started, ours = bs->layout.nslices;

    if (k >= ours || k - bs->finished >= bs->window)
        return 0;
    for (const struct hx_bound_stage *before = bound->stages; before < bs; before++) {
        /* slices of `before` within our first k + 1 slices; the finer count is a multiple of the coarser */
        uint64_t theirs = before->layout.nslices;
        uint64_t needed = theirs >= ours ? (k + 1) * (theirs / ours) : k / (ours / theirs) + 1;
        if (before->stage->level == bs->stage->after && before->finished < needed)
            return 0;
    }
    return 1;
}

/* Issue steps of one slice until one must wait, never overtaking the slice before at the same step. Returns steps issued. */
static uint32_t instance_advance(struct hx_run *run, struct hx_bound_stage *bs, struct hx_instance *instance)
{
    uint32_t limit = bs->nsteps, first = instance->pc;
    struct hx_bound_step storage;

    if (instance->slice > bs->finished)
        limit = bs->instances[(instance->slice - 1) % bs->window].pc;
    while (instance->pc < limit && step_issue(run, bs, instance, step_fetch(bs, instance, &storage))) {
        instance->pc++;
        instance->cursor = 0;
    }
    return instance->pc - first;
}

static int stage_advance(struct hx_run *run, struct hx_bound_stage *bs)
{
    uint32_t issued = 0;

    while (slice_ready(run->bound, bs)) {
        struct hx_instance *fresh = &bs->instances[bs->started % bs->window];
        fresh->slice = bs->started++;
        fresh->pc = fresh->cursor = 0;
        issued++;
        if (bs->started - bs->finished > 1)
            break; /* older slices first */
    }
    for (uint64_t k = bs->finished; k < bs->started && run->status == HX_SUCCESS; k++) {
        issued += instance_advance(run, bs, &bs->instances[k % bs->window]);
        if (k == bs->finished && bs->instances[k % bs->window].pc == bs->nsteps)
            bs->finished++;
    }
    return (int)issued;
}

static int progress_look(void *ctx)
{
    struct hx_run *run = ctx;
    int issued = world_progress(run);

    for (int s = run->bound->nstages - 1; s >= 0 && run->status == HX_SUCCESS; s--) /* later stages first: they free slots */
        issued |= stage_advance(run, &run->bound->stages[s]);
    return issued || run->status != HX_SUCCESS;
}

static int all_finished(const struct hx_bound *bound)
{
    for (int s = 0; s < bound->nstages; s++)
        if (bound->stages[s].finished < bound->stages[s].layout.nslices)
            return 0;
    return 1;
}

static void run_progress(struct hx_run *run)
{
    for (int s = 0; s < run->bound->nstages; s++)
        run->bound->stages[s].started = run->bound->stages[s].finished = 0;
    run->at = NULL;
    while (run->status == HX_SUCCESS && !all_finished(run->bound))
        if (!wait_for(run, progress_look))
            return;
}

/* ---- entry -------------------------------------------------------------------------------------------------------- */

int hx_engine_is_far_ahead(const struct hx_comm *comm)
{
    return comm->net && comm->engine.ahead >= HX_CALLS_AHEAD;
}

/* Have all ranks of this node left the call before the last, whose slots are now written anew? */
static int slots_free_look(void *ctx)
{
    struct hx_run *run = ctx;
    const struct hx_node *node = run->comm->node;

    world_progress(run);
    for (int i = 0; i < node->n; i++) /* acquire pairs with the release in call_leave: what i read then, it has read */
        if (i != node->me && atomic_load_explicit(&node->controls[i].left, memory_order_acquire) + 2 < run->comm->engine.call)
            return run->status != HX_SUCCESS;
    return 1;
}

/* The call has ended here. After one that awaited nobody others may wait for just that. */
static void call_leave(const struct hx_run *run)
{
    struct hx_engine *engine = &run->comm->engine;
    struct hx_node *node = run->comm->node;

    atomic_store_explicit(&node->controls[node->me].left, engine->call, memory_order_release);
    engine->ahead = run->bound->plan->awaits_all ? 0 : engine->ahead + 1;
    if (run->bound->plan->awaits_all)
        return;
    hx_wake_fence();
    for (int i = 0; i < node->n; i++)
        hx_wake(node, i);
}

hx_status_t hx_engine_run(struct hx_comm *comm, const struct hx_call *call)
{
    struct hx_engine *engine = &comm->engine;
    struct hx_run run;
    hx_status_t status;

    run.bound = engine->last;
    if ((!run.bound || !hx_bound_fits(run.bound, call)) && (status = hx_bind(comm, call, &run.bound)) != HX_SUCCESS)
        return status;
    engine->call++;
    run.comm = comm;
    run.call = call;
    run.epoch = engine->call << HX_SLICE_BITS;
    run.parity = engine->call & 1;
    run.status = HX_SUCCESS;
    run.net_looks = 0;
    run.base[HX_IN] = (unsigned char *)(uintptr_t)call->in;
    run.base[HX_OUT] = call->out;
    run.base[HX_WORK] = engine->memory;
    run.base[HX_SCRATCH] = engine->memory + run.bound->work_bytes;
    atomic_store_explicit(&comm->node->controls[comm->node->me].entered, engine->call, memory_order_relaxed);
    run.at = NULL;
    if (!(engine->ahead && run.bound->writes_slot) || wait_for(&run, slots_free_look)) {
        if (run.bound->one_slice)
            run_inline(&run);
        else
            run_progress(&run);
    }
    if (run.status != HX_SUCCESS)
        hx_transfer_cancel_all(&run);
    else
        call_leave(&run);
    return run.status;
}

hx_status_t hx_engine_open(struct hx_comm *comm)
{
    size_t queues = (size_t)comm->node->n * HX_RING_CHANNELS * 2;

    comm->engine.queues = calloc(queues, sizeof(*comm->engine.queues));
    comm->engine.active = malloc(queues * sizeof(int));
    if (!comm->engine.queues || !comm->engine.active)
        return hx_fail(HX_ERR_NOMEM, "no memory for the ring queues of %d ranks", comm->node->n);
    return HX_SUCCESS;
}

void hx_engine_close(struct hx_comm *comm)
{
    struct hx_engine *engine = &comm->engine;

    for (int i = 0; i < HX_BOUND_CACHE; i++)
        hx_bound_release(engine->cache[i]);
    for (int i = 0; i < 3; i++)
        free(engine->spans[i]);
    free(engine->memory);
    free(engine->sources);
    free(engine->queues);
    free(engine->active);
    memset(engine, 0, sizeof(*engine));
}
