/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's schedule: every rank goes as far as it can, call by call, as the engine would. A rank that then still waits,
 * waits for ever. */
#include "runtime/plan/check_run.h"
#include "runtime/plan/graph.h"
#include <stdio.h>
#include <stdlib.h>
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

static void slice_start(struct hx_check_rank *r, struct hx_check_stage *stage)
{
    uint64_t slice = stage->started++;
    struct hx_check_instance *instance = &stage->instances[slice % stage->window];
    uint32_t thread = hx_check_thread(stage, instance);

    instance->slice = slice;
    instance->pc = 0;
    memset(instance->transfers, 0, stage->stage->ntransfers * sizeof(uint32_t));
    memset(instance->ordinals, 0, 2 * (size_t)stage->stage->n * sizeof(uint32_t));
    hx_check_acquire(&r->run->store, thread, r->entry);
    for (int i = 0; i < r->plan->nstages; i++) {
        const struct hx_check_stage *other = &r->stages[i];
        if (other->stage->level != stage->stage->after)
            continue;
        uint64_t end = hx_slices_needed(&stage->layout, &other->layout, slice), each = other->layout.nslices / stage->layout.nslices;
        for (uint64_t k = end - (each ? each : 1); k < end; k++)
            hx_check_acquire(&r->run->store, thread, other->ends[k]);
    }
}

/* A slice is at its end: all its transfers must have been joined. */
static void slice_finish(struct hx_check_stage *stage, struct hx_check_instance *instance)
{
    struct hx_check_rank *r = stage->of;

    for (uint32_t h = 0; h < stage->stage->ntransfers; h++) {
        uint32_t id = instance->transfers[h];
        if (id && (id == HX_CHECK_NONE || hx_check_transfer_at(&r->run->store, id)->join_clock))
            continue;
        hx_check_fault(r->run, "call %d (%s), rank %d, stage %d (%s), slice %llu, end: transfer %u was not %s", r->call,
                       hx_coll_name(r->plan->coll), r->rank, (int)(stage - r->stages), stage->stage->algorithm,
                       (unsigned long long)instance->slice, h, id ? "joined" : "started");
    }
    stage->ends[instance->slice] = hx_check_release(&r->run->store, hx_check_thread(stage, instance));
    stage->finished++;
}

/* Go on with the slices of a stage, oldest first; none overtakes an older one. Returns whether anything was done. */
static int stage_advance(struct hx_check_rank *r, struct hx_check_stage *stage)
{
    int moved = 0;

    for (; may_start(r, stage); moved = 1)
        slice_start(r, stage);
    for (uint64_t slice = stage->finished; slice < stage->started; slice++) {
        struct hx_check_instance *instance = &stage->instances[slice % stage->window];
        uint32_t before = stage->instances[(slice - 1) % stage->window].pc;
        uint32_t limit = hx_slice_limit(slice, stage->finished, stage->stage->nsteps, before);
        for (; instance->pc < limit && hx_check_step_run(stage, instance); moved = 1)
            instance->pc++;
        if (instance->pc == stage->stage->nsteps && slice == stage->finished) {
            slice_finish(stage, instance);
            moved = 1;
        }
    }
    return moved;
}

static int rank_advance(struct hx_check_run *run, int rank)
{
    int moved = 0, finished = 1;
    struct hx_check_rank *r;

    if (run->at[rank] == run->ncalls)
        return 0;
    r = hx_check_rank_at(run, run->at[rank], rank);
    if (!r->entry)
        hx_check_call_begin(r);
    for (int s = 0; s < r->plan->nstages; s++) {
        moved |= stage_advance(r, &r->stages[s]);
        finished &= r->stages[s].finished == r->stages[s].layout.nslices;
    }
    if (!finished)
        return moved;
    for (int s = 0; s < r->plan->nstages; s++)
        for (uint64_t k = 0; k < r->stages[s].layout.nslices; k++)
            hx_check_acquire(&run->store, (uint32_t)rank, r->stages[s].ends[k]);
    hx_check_call_end(r);
    r->end = hx_check_release(&run->store, (uint32_t)rank);
    run->at[rank]++;
    return 1;
}

/* Append which rank waits, and for what. */
static int waiting_tell(const struct hx_check_run *run, const struct hx_check_stage *stage, char *text, size_t capacity)
{
    const struct hx_check_instance *instance = &stage->instances[stage->finished % stage->window];
    const struct hx_step *step = &stage->stage->steps[instance->pc];
    char place[HX_CHECK_PLACE_BYTES], partners[80] = "";

    for (uint32_t h = step->handle; step->op == HX_OP_JOIN && h < step->handle + step->n && !partners[0]; h++) {
        uint32_t id = instance->transfers[h];
        const struct hx_check_transfer *t = hx_check_transfer_at(&run->store, id == HX_CHECK_NONE ? 0 : id);
        if (t->n && t->partner == HX_CHECK_NONE)
            snprintf(partners, sizeof partners, " (%s rank %d, round %u)", t->sends ? "send to" : "receive from",
                     t->sends ? t->receiver : t->sender, t->tag);
    }
    return snprintf(text, capacity, "\n  %s%s", hx_check_place(run, hx_check_here(stage, instance), place), partners);
}

/* Everybody waits, or everybody is at the end. */
static void deadlock_find(struct hx_check_run *run)
{
    char text[1500] = "";
    size_t n = 0;
    int waiting = 0, stuck = 0;

    for (int rank = 0; rank < run->shape->nranks; rank++) {
        struct hx_check_rank *r = run->at[rank] < run->ncalls ? hx_check_rank_at(run, run->at[rank], rank) : NULL;
        stuck |= r != NULL;
        for (int s = 0; r && s < r->plan->nstages; s++) {
            if (r->stages[s].started == r->stages[s].finished)
                continue;
            waiting++;
            if (n <= sizeof text - 420)
                n += (size_t)waiting_tell(run, &r->stages[s], text + n, sizeof text - n);
        }
    }
    if (stuck)
        hx_check_fault(run, "deadlock: %d steps wait forever:%s", waiting, text);
}

static void calls_check(struct hx_check_run *run)
{
    for (int c = 0; c < run->ncalls; c++) {
        const struct hx_check_call *call = &run->calls[c];
        const struct hx_sizes *sizes = &call->sizes;
        const struct hx_plan *first = call->plans[0];
        if (sizes->elem_bytes != 1 || !sizes->fine_slices || !sizes->coarse_slices ||
            sizes->fine_slices % sizes->coarse_slices || call->window_fine < 1 || call->window_coarse < 1 ||
            call->window_fine >= HX_MATCH_SLICES || call->window_coarse >= HX_MATCH_SLICES)
            hx_check_fault(run, "call %d: bad sizes or windows", c);
        for (int r = 0; r < run->shape->nranks; r++) {
            const struct hx_plan *plan = call->plans[r];
            if (plan->p != run->shape->nranks || plan->rank != r || plan->coll != first->coll || plan->root != first->root)
                hx_check_fault(run, "call %d, rank %d: the plan is of another rank, shape, collective or root", c, r);
        }
        if (first->coll == HX_COLL_BCAST && !call->in_place)
            hx_check_fault(run, "call %d: a broadcast has one buffer", c);
    }
}

/* One run, in which the last of an election's members are these. */
static hx_status_t check_once(struct hx_check_run *run)
{
    if (setjmp(run->store.stop))
        return run->store.status;
    calls_check(run);
    hx_check_run_open(run);
    for (int moved = 1; moved;) {
        moved = 0;
        for (int rank = 0; rank < run->shape->nranks; rank++)
            moved |= rank_advance(run, rank);
    }
    deadlock_find(run);
    return HX_SUCCESS;
}

/* The size of the largest stage that elects one of its members; 1 if no stage does. */
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
    for (int last = 0; last < members && status == HX_SUCCESS; last += apart) {
        struct hx_check_run run = {.shape = shape, .calls = calls, .ncalls = ncalls, .report = report, .capacity = capacity,
                                   .last = last};
        status = check_once(&run);
        if (status == HX_ERR_NOMEM)
            snprintf(report, capacity, "no memory to check %d ranks", shape->nranks);
        hx_check_store_close(&run.store);
    }
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

/* ---- pair counts to check plans with: every pair of ranks another length, every third none; blocks stand apart, in OUT in the opposite
 * order */

static size_t length(uint64_t count, int from, int to)
{
    return (from + 2 * to) % 3 == 0 && from != to ? 0 : (size_t)((uint64_t)(5 * from + 3 * to) % (count + 1));
}

/* The blocks that a rank sends, by ascending peer; or that it receives, by descending peer. */
static void side_fill(size_t *lengths, size_t *at, int n, int rank, int sends, uint64_t count)
{
    size_t end = 0;

    for (int i = 0; i < n; i++) {
        int other = sends ? i : n - 1 - i;
        lengths[other] = sends ? length(count, rank, other) : length(count, other, rank);
        at[other] = end + (size_t)(other % 2);
        end = at[other] + lengths[other];
    }
}

static struct hx_pair_counts *pairs_new(int n, uint64_t count)
{
    size_t p = (size_t)n, entries = 4 * p * p;
    struct hx_pair_counts *pair_counts = malloc(p * sizeof(*pair_counts) + entries * sizeof(size_t));
    size_t *next = (size_t *)(void *)(pair_counts + p);

    for (int rank = 0; pair_counts && rank < n; rank++, next += 4 * p) {
        side_fill(next, next + p, n, rank, 1, count);
        side_fill(next + 2 * p, next + 3 * p, n, rank, 0, count);
        pair_counts[rank] = (struct hx_pair_counts){n, n, next, next + p, next + 2 * p, next + 3 * p};
    }
    return pair_counts;
}

/* The edges from a rank one after the other, those to it in the opposite order. */
static struct hx_pair_counts *graph_counts_new(const struct hx_graph *graph, uint64_t count)
{
    struct hx_pair_counts *pair_counts = malloc((size_t)graph->p * sizeof(*pair_counts) + 4 * (size_t)graph->nedges * sizeof(size_t));
    size_t *next = (size_t *)(void *)(pair_counts + graph->p);

    for (int rank = 0; pair_counts && rank < graph->p; rank++) {
        const uint32_t first = graph->start[rank], *in = graph->in + graph->in_start[rank];
        const int sent = (int)(graph->start[rank + 1] - first), received = (int)(graph->in_start[rank + 1] - graph->in_start[rank]);
        struct hx_pair_counts *of = &pair_counts[rank];
        size_t *lengths = next, *at = next + sent, *in_lengths = next + 2 * sent, *in_at = in_lengths + received, end = 0;
        for (int i = 0; i < sent; i++, end += lengths[i - 1] + 1) {
            lengths[i] = length(count, (int)first + i, (int)graph->to[first + (uint32_t)i]);
            at[i] = end;
        }
        end = 0;
        for (int i = received - 1; i >= 0; end += in_lengths[i--] + 1) {
            in_lengths[i] = length(count, (int)in[i], rank);
            in_at[i] = end;
        }
        *of = (struct hx_pair_counts){sent, received, lengths, at, in_lengths, in_at};
        next = in_at + received;
    }
    return pair_counts;
}

struct hx_pair_counts *hx_check_pair_counts_new(int n, const struct hx_graph *graph, uint64_t count)
{
    return graph ? graph_counts_new(graph, count) : pairs_new(n, count);
}

void hx_check_pair_counts_free(struct hx_pair_counts *pair_counts)
{
    free(pair_counts);
}
