/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's schedule: every rank goes as far as it can, call by call, as the engine would; then whoever waits,
 * waits for ever. */
#include "runtime/plan/check.h"
#include "runtime/plan/check_run.h"
#include <stdio.h>
#include <string.h>

#define ALL_LAST 8 /* each of so many members is the last in every call and slice of some run; of more, in some call and slice */

static int may_start(const struct hx_check_rank *r, const struct hx_check_stage *stage)
{
    if (!hx_slice_has_room(&stage->layout, stage->window, stage->started, stage->finished))
        return 0;
    for (int i = 0; i < r->plan->nstages; i++) {
        const struct hx_check_stage *other = &r->stages[i];
        if (other->stage->level == stage->stage->after &&
            other->finished < hx_slices_needed(&stage->layout, &other->layout, stage->started))
            return 0;
    }
    return 1;
}

static void slice_start(struct hx_check_run *run, struct hx_check_rank *r, struct hx_check_stage *stage)
{
    uint64_t slice = stage->started++;
    uint32_t place = (uint32_t)(slice % stage->window);
    struct hx_check_instance *instance = &stage->instances[place];

    instance->active = 1;
    instance->slice = slice;
    instance->pc = 0;
    memset(instance->transfers, 0, stage->stage->ntransfers * sizeof(uint32_t));
    memset(instance->ordinals, 0, 2 * (size_t)stage->stage->n * sizeof(uint32_t));
    hx_check_acquire(&run->store, stage->first_thread + place, r->entry);
    for (int i = 0; i < r->plan->nstages; i++) {
        const struct hx_check_stage *other = &r->stages[i];
        if (other->stage->level != stage->stage->after)
            continue;
        uint64_t end = hx_slices_needed(&stage->layout, &other->layout, slice), each = other->layout.nslices / stage->layout.nslices;
        for (uint64_t k = end - (each ? each : 1); k < end; k++)
            hx_check_acquire(&run->store, stage->first_thread + place, other->ends[k]);
    }
}

/* A slice is at its end: all its transfers must have been joined. */
static void slice_finish(struct hx_check_run *run, int call, int rank, int idx, struct hx_check_instance *instance)
{
    struct hx_check_stage *stage = &hx_check_rank_at(run, call, rank)->stages[idx];

    for (uint32_t h = 0; h < stage->stage->ntransfers; h++) {
        uint32_t id = instance->transfers[h];
        if (id && (id == HX_CHECK_NONE || hx_check_transfer_at(&run->store, id)->join_clock))
            continue;
        hx_check_fault(run, "call %d (%s), rank %d, stage %d (%s), slice %llu, end: transfer %u was not %s", call,
                       hx_coll_name(run->calls[call].plans[rank]->coll), rank, idx, stage->stage->algorithm,
                       (unsigned long long)instance->slice, h, id ? "joined" : "started");
    }
    stage->ends[instance->slice] =
        hx_check_release(&run->store, stage->first_thread + (uint32_t)(instance->slice % stage->window));
    instance->active = 0;
    stage->finished++;
}

/* Go on with the slices of a stage, oldest first; none overtakes an older one. Returns whether anything was done. */
static int stage_advance(struct hx_check_run *run, int call, int rank, int idx)
{
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    struct hx_check_stage *stage = &r->stages[idx];
    int moved = 0;

    while (may_start(r, stage)) {
        slice_start(run, r, stage);
        moved = 1;
    }
    for (uint64_t slice = stage->finished; slice < stage->started && !run->faulty; slice++) {
        struct hx_check_instance *instance = &stage->instances[slice % stage->window];
        uint32_t limit = hx_slice_limit(slice, stage->finished, stage->stage->nsteps, stage->instances[(slice - 1) % stage->window].pc);
        while (instance->pc < limit && hx_check_step_run(run, call, rank, idx, instance)) {
            instance->pc++;
            moved = 1;
        }
        if (instance->pc == stage->stage->nsteps && slice == stage->finished && !run->faulty) {
            slice_finish(run, call, rank, idx, instance);
            moved = 1;
        }
    }
    return moved;
}

static int rank_advance(struct hx_check_run *run, int rank)
{
    int call = run->at[rank], moved = 0, finished = 1;
    struct hx_check_rank *r;

    if (call == run->ncalls)
        return 0;
    r = hx_check_rank_at(run, call, rank);
    if (!r->entry)
        hx_check_call_begin(run, call, rank);
    for (int s = 0; s < r->plan->nstages && !run->faulty; s++) {
        moved |= stage_advance(run, call, rank, s);
        finished &= r->stages[s].finished == r->stages[s].layout.nslices;
    }
    if (!finished || run->faulty)
        return moved;
    for (int s = 0; s < r->plan->nstages; s++)
        for (uint64_t k = 0; k < r->stages[s].layout.nslices; k++)
            hx_check_acquire(&run->store, (uint32_t)rank, r->stages[s].ends[k]);
    hx_check_call_end(run, call, rank);
    r->end = hx_check_release(&run->store, (uint32_t)rank);
    run->at[rank]++;
    return 1;
}

/* Everybody waits: say who, and for what. */
static void deadlock_report(struct hx_check_run *run)
{
    char text[1500];
    size_t n = 0;
    int waiting = 0;

    text[0] = 0;
    for (int rank = 0; rank < run->shape->nranks; rank++) {
        int call = run->at[rank];
        struct hx_check_rank *r = call < run->ncalls ? hx_check_rank_at(run, call, rank) : NULL;
        for (int s = 0; r && s < r->plan->nstages; s++) {
            const struct hx_check_stage *stage = &r->stages[s];
            if (stage->started == stage->finished)
                continue;
            const struct hx_check_instance *instance = &stage->instances[stage->finished % stage->window];
            struct hx_check_where where = {call, rank, s, instance->slice, instance->pc};
            char place[320], partners[80] = "";
            const struct hx_step *step = &stage->stage->steps[instance->pc];
            waiting++;
            if (n > sizeof text - 420)
                continue;
            hx_check_place(run, &where, place, sizeof place);
            for (uint32_t h = step->handle; step->op == HX_OP_JOIN && h < step->handle + step->n; h++) {
                uint32_t id = instance->transfers[h];
                const struct hx_check_transfer *t =
                    id && id != HX_CHECK_NONE ? hx_check_transfer_at(&run->store, id) : NULL;
                if (!t || t->partner != HX_CHECK_NONE)
                    continue;
                snprintf(partners, sizeof partners, " (%s rank %d, round %u)", t->sends ? "send to" : "receive from",
                         t->sends ? t->receiver : t->sender, t->tag);
                break;
            }
            n += (size_t)snprintf(text + n, sizeof text - n, "\n  %s%s", place, partners);
        }
    }
    hx_check_fault(run, "deadlock: %d steps wait for ever:%s", waiting, text);
}

static int calls_are_sane(struct hx_check_run *run, const struct hx_shape *shape, const struct hx_check_call *calls,
                          int ncalls)
{
    for (int c = 0; c < ncalls && !run->faulty; c++) {
        const struct hx_sizes *sizes = &calls[c].sizes;
        if (sizes->elem_bytes != 1 || !sizes->fine_slices || !sizes->coarse_slices ||
            sizes->fine_slices % sizes->coarse_slices || calls[c].window_fine < 1 || calls[c].window_coarse < 1 ||
            calls[c].window_fine >= HX_MATCH_SLICES || calls[c].window_coarse >= HX_MATCH_SLICES)
            hx_check_fault(run, "call %d: bad sizes or windows", c);
        for (int r = 0; r < shape->nranks && !run->faulty; r++)
            if (calls[c].plans[r]->p != shape->nranks || calls[c].plans[r]->rank != r ||
                calls[c].plans[r]->coll != calls[c].plans[0]->coll || calls[c].plans[r]->root != calls[c].plans[0]->root)
                hx_check_fault(run, "call %d, rank %d: the plan is of another rank, shape, collective or root", c, r);
        if (calls[c].plans[0]->coll == HX_COLL_BCAST && !calls[c].in_place)
            hx_check_fault(run, "call %d: a broadcast has one buffer", c);
    }
    return !run->faulty;
}

/* One run, in which the last of an election's members are these. */
static hx_status_t check_once(const struct hx_shape *shape, const struct hx_check_call *calls, int ncalls, int last, char *report,
                              size_t capacity)
{
    struct hx_check_run run = {.report = report, .capacity = capacity, .last = last};
    hx_status_t status;
    int moved = 1;

    if (!calls_are_sane(&run, shape, calls, ncalls))
        return HX_ERR_INTERNAL;
    status = hx_check_run_open(&run, shape, calls, ncalls);
    while (status == HX_SUCCESS && moved && !run.faulty) {
        moved = 0;
        for (int rank = 0; rank < shape->nranks && !run.faulty && run.store.status == HX_SUCCESS; rank++)
            moved |= rank_advance(&run, rank);
        status = run.store.status;
    }
    for (int rank = 0; status == HX_SUCCESS && !run.faulty && rank < shape->nranks; rank++)
        if (run.at[rank] < ncalls)
            deadlock_report(&run);
    if (status == HX_SUCCESS && run.faulty)
        status = HX_ERR_INTERNAL;
    if (status == HX_ERR_NOMEM)
        hx_check_fault(&run, "no memory to check %d ranks", shape->nranks);
    hx_check_store_close(&run.store);
    return status;
}

/* Of the largest stage that elects one of its members; 1 where none does. */
static int members_to_elect(const struct hx_shape *shape, const struct hx_check_call *calls, int ncalls)
{
    int most = 1;

    for (int c = 0; c < ncalls; c++)
        for (int r = 0; r < shape->nranks; r++)
            for (int s = 0; s < calls[c].plans[r]->nstages; s++) {
                const struct hx_stage *stage = &calls[c].plans[r]->stages[s];
                most = stage->elects && stage->n > most ? stage->n : most;
            }
    return most;
}

hx_status_t hx_check(const struct hx_shape *shape, const struct hx_check_call *calls, int ncalls, char *report,
                     size_t capacity)
{
    int members = members_to_elect(shape, calls, ncalls), apart = 1;
    hx_status_t status = HX_SUCCESS;

    if (capacity)
        report[0] = 0;
    if (members > ALL_LAST) /* those between are so in later calls and slices of the run before */
        apart = (calls[0].sizes.fine_slices < (uint64_t)members ? (int)calls[0].sizes.fine_slices : members) + ncalls - 1;
    for (int last = 0; last < members && status == HX_SUCCESS; last += apart)
        status = check_once(shape, calls, ncalls, last, report, capacity);
    return status;
}

void hx_check_sizes(struct hx_plan *const *plans, int nplans, int window_fine, int window_coarse, int sparse,
                    struct hx_sizes *sizes)
{
    uint64_t parts = 1, coarse = 1, ratio;
    int any_coarse = 0;

    for (int r = 0; r < nplans; r++)
        for (int s = 0; s < plans[r]->nstages; s++) {
            const struct hx_stage *stage = &plans[r]->stages[s];
            any_coarse |= stage->coarse;
            if (stage->split && stage->nblocks > parts)
                parts = stage->nblocks;
        }
    if (any_coarse)
        coarse = (uint64_t)window_coarse + 1;
    ratio = ((uint64_t)window_fine + coarse) / coarse;
    if (any_coarse && ratio < 2)
        ratio = 2;
    *sizes = (struct hx_sizes){.elem_bytes = 1, .coarse_slices = coarse, .fine_slices = ratio * coarse};
    sizes->count = sizes->fine_slices * parts * (sparse ? 1 : 3) / 2 + 1;
    if (plans[0]->partition == HX_PARTITION_EVEN)
        sizes->count *= plans[0]->nblocks;
    sizes->limit = sparse ? 0 : sizes->count; /* all blocks are short, or long */
    if (plans[0]->coll == HX_COLL_BARRIER) /* one token: a second would bring news that the first should have brought */
        *sizes = (struct hx_sizes){.count = 1, .elem_bytes = 1, .coarse_slices = 1, .fine_slices = 1};
}
