/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor of several slices: a window of slices of each stage is under way. It issues what can be issued, oldest slice first, and waits
 * when nothing can. */
#include "runtime/engine/awaited.h"
#include "runtime/engine/run.h"
#include "runtime/engine/trace_spans.h"

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
        if (hx_step_issue(run, instance, step))
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

int hx_slices_advance(struct hx_run *run)
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
    int moved = hx_run_move_others(run);

    if (hx_slices_advance(run)) {
        hx_wait_clock_renew(&run->engine->wait_clock);
        return 1;
    }
    return moved || run->status != HX_SUCCESS || HX_PROBE_IN_VAIN(run->engine->process->trace, hx_awaited_rank(run));
}

int hx_slices_finished(const struct hx_bound *bound)
{
    for (int s = 0; s < bound->nstages; s++)
        if (bound->stages[s].finished < bound->stages[s].layout.nslices)
            return 0;
    return 1;
}

void hx_slices_begin(struct hx_run *run)
{
    for (int s = 0; s < run->bound->nstages; s++)
        run->bound->stages[s].started = run->bound->stages[s].finished = 0;
    run->waits = NULL;
}

/* A message of another call may move and end a wait. Then the wait's time goes on. */
void hx_slices_run(struct hx_run *run)
{
    const struct hx_wait wait = hx_run_wait_of(run, progress_look);
    hx_status_t status;

    run->engine->wait_clock = (struct hx_wait_clock){0};
    hx_slices_begin(run);
    while (run->status == HX_SUCCESS && !hx_slices_finished(run->bound)) {
        status = hx_wait_until(&run->engine->process->waiter, &wait);
        if (!hx_run_wait_ended(run, status == HX_SUCCESS ? hx_wait_check(&wait) : status))
            return;
    }
}
