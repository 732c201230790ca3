/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's steps: what each does to cells, values and clocks. */
#include "runtime/plan/check_run.h"
#include "runtime/plan/explain.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- reports */

void hx_check_fault(struct hx_check_run *run, const char *format, ...)
{
    va_list args;

    if (run->faulty++)
        return;
    va_start(args, format);
    vsnprintf(run->report, run->capacity, format, args);
    va_end(args);
}

void hx_check_place(const struct hx_check_run *run, const struct hx_check_where *where, char *text, size_t capacity)
{
    const struct hx_plan *plan = run->calls[where->call].plans[where->rank];
    const struct hx_stage *stage = &plan->stages[where->stage];
    int n = snprintf(text, capacity, "call %d (%s), rank %d, stage %d (%s), slice %llu, step %u: ", where->call,
                     hx_coll_name(plan->coll), where->rank, where->stage, stage->algorithm,
                     (unsigned long long)where->slice, where->step);

    if (n > 0 && (size_t)n < capacity && where->step < stage->nsteps)
        hx_explain_step(stage, &stage->steps[where->step], text + n, capacity - (size_t)n);
    else if (n > 0 && (size_t)n < capacity)
        snprintf(text + n, capacity - (size_t)n, "end");
}

static void here(const struct hx_check_step *s, struct hx_check_where *where)
{
    *where = (struct hx_check_where){s->call, s->rank, s->stage_idx, s->instance->slice, s->instance->pc};
}

void hx_check_step_fault(struct hx_check_step *s, const char *format, ...)
{
    struct hx_check_where where;
    char place[320], what[480];
    va_list args;

    here(s, &where);
    hx_check_place(s->run, &where, place, sizeof place);
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hx_check_fault(s->run, "%s: %s", place, what);
}

/* ---- accesses */

int hx_check_step_access(struct hx_check_step *s, uint32_t cell, int writes, const char *what)
{
    const struct hx_check_access *before;
    char place[320];

    before =
        writes ? hx_check_write(&s->run->store, cell, &s->access) : hx_check_read(&s->run->store, cell, &s->access);
    if (!before)
        return 0;
    hx_check_place(s->run, hx_check_where_at(&s->run->store, before->where), place, sizeof place);
    hx_check_step_fault(s, "race: %s %s what is accessed, in no order with this, by %s%s", writes ? "writes" : "reads",
                        what, place, before->transfer == HX_CHECK_NONE ? "" : " (under way until its join)");
    return -1;
}

int hx_check_step_value(struct hx_check_step *s, uint32_t cell, uint32_t element, const char *what)
{
    uint32_t value = hx_check_cell_at(&s->run->store, cell)->value;
    const struct hx_check_value *v = hx_check_value_at(&s->run->store, value);

    if (value == 0)
        hx_check_step_fault(s, "reads element %u of %s, which was never written", element, what);
    else if (v->call != s->call)
        hx_check_step_fault(s, "reads element %u of %s, left over from call %d", element, what, v->call);
    else if (v->element != element)
        hx_check_step_fault(s, "element %u stands where %u of %s belongs", v->element, element, what);
    else
        return 0;
    return -1;
}

/* ---- copy, fetch and reduce */

static int source_read(struct hx_check_step *s, const uint32_t *cells, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        if (hx_check_step_access(s, cells[i], 0, what) || hx_check_step_value(s, cells[i], s->run->elements[i], what))
            return -1;
    return 0;
}

/* Fold one more source into run->fold. */
static int source_fold(struct hx_check_step *s, const uint32_t *cells, int n, int first)
{
    struct hx_check_store *store = &s->run->store;

    for (int i = 0; i < n; i++) {
        uint32_t value = hx_check_cell_at(store, cells[i])->value;
        int twice = first ? -1 : hx_check_value_overlap(store, s->run->fold[i], value);
        if (twice >= 0) {
            hx_check_step_fault(s, "the contribution of rank %d to element %u is counted twice", twice,
                                s->run->elements[i]);
            return -1;
        }
        s->run->fold[i] = first ? value : hx_check_value_fold(store, s->run->fold[i], value);
    }
    return 0;
}

static void reduce_run(struct hx_check_step *s, int n)
{
    const struct hx_step *step = s->step;
    struct hx_check_run *run = s->run;
    uint32_t own = step->own != HX_NOWHERE ? step->tag : HX_CHECK_NONE, row = step->row;

    if (step->n < 2 || (own != HX_CHECK_NONE && own >= step->n) ||
        (step->src == HX_SLOT && step->n > (uint32_t)s->stage->stage->n)) {
        hx_check_step_fault(s, "a reduce of %u sources, own as %u", step->n, step->tag);
        return;
    }
    for (uint32_t i = 0; i < step->n; i++) {
        enum hx_space space = i == own ? (enum hx_space)step->own : (enum hx_space)step->src;
        int got = hx_check_operand(s, space, (int)i, i == own ? step->dst_row : row, run->cells[1]);
        if (i != own)
            row += step->nblocks;
        if (got != n && !run->faulty)
            hx_check_step_fault(s, "a source of %d elements for %d", got, n);
        if (run->faulty || source_read(s, run->cells[1], n, "a source") || source_fold(s, run->cells[1], n, i == 0))
            return;
    }
    for (int i = 0; i < n && !run->faulty; i++) {
        if (hx_check_step_access(s, run->cells[0][i], 1, "its destination"))
            return;
        hx_check_value_round(&run->store, run->fold[i]);
        hx_check_cell_at(&run->store, run->cells[0][i])->value = run->fold[i];
    }
}

static void copy_run(struct hx_check_step *s, int n)
{
    struct hx_check_run *run = s->run;
    int got = s->step->op == HX_OP_FETCH
                  ? hx_check_fetched(s, run->cells[1])
                  : hx_check_operand(s, (enum hx_space)s->step->src, (int)s->step->peer, s->step->row, run->cells[1]);

    if (got != n && !run->faulty)
        hx_check_step_fault(s, "a source of %d elements for %d", got, n);
    if (run->faulty || source_read(s, run->cells[1], n, "its source"))
        return;
    for (int i = 0; i < n; i++) {
        if (run->cells[0][i] == run->cells[1][i])
            continue; /* in place: the engine leaves a copy onto itself out */
        if (hx_check_step_access(s, run->cells[0][i], 1, "its destination"))
            return;
        hx_check_cell_at(&run->store, run->cells[0][i])->value = hx_check_cell_at(&run->store, run->cells[1][i])->value;
    }
}

void hx_check_data_run(struct hx_check_step *s)
{
    int n = hx_check_elements(s, s->run->elements), got;

    if (s->step->peer >= (uint32_t)s->stage->stage->n) {
        hx_check_step_fault(s, "there is no member %u", s->step->peer);
        return;
    }
    got = hx_check_operand(s, (enum hx_space)s->step->dst, s->step->op == HX_OP_REDUCE ? (int)s->step->peer : s->stage->stage->me,
                           hx_step_dst_row(s->step), s->run->cells[0]);
    if (s->run->faulty)
        return;
    if (got != n)
        hx_check_step_fault(s, "a destination of %d elements for %d", got, n);
    else if (s->step->op == HX_OP_COPY || s->step->op == HX_OP_FETCH)
        copy_run(s, n);
    else
        reduce_run(s, n);
}

/* ---- flags */

/* A member's flag, which must be of this node. */
static struct hx_check_snapshot **flag_of(struct hx_check_step *s, uint32_t member, uint64_t slice)
{
    int rank = s->stage->stage->members[member];
    struct hx_check_stage *theirs = &hx_check_rank_at(s->run, s->call, rank)->stages[s->stage->peers[member]];

    if (s->run->shape->node_of[rank] != s->run->shape->node_of[s->rank])
        hx_check_step_fault(s, "rank %d, whose flag it is, is on another node", rank);
    return &theirs->flags[s->step->tag * theirs->layout.nslices + slice];
}

static void publish_run(struct hx_check_step *s)
{
    struct hx_check_snapshot **flag;

    if (s->step->tag >= s->stage->stage->nflags || s->step->handle >= (uint32_t)s->stage->stage->n) {
        hx_check_step_fault(s, "there is no such flag or member");
        return;
    }
    if (s->step->own && s->instance->slice + s->stage->window >= s->stage->layout.nslices)
        return; /* who waits for it, waits with lag: there is no such slice, and the engine may leave the step out */
    flag = flag_of(s, s->step->handle, s->instance->slice);
    if (*flag)
        hx_check_step_fault(s, "the flag is published twice");
    else
        *flag = hx_check_release(&s->run->store, s->access.thread);
}

/* Have these members all raised the step's flag? Then what they did before is known. A range leaves the rank itself out. */
static int flags_acquire(struct hx_check_step *s, uint32_t first, uint32_t n, uint64_t slice)
{
    for (int pass = 0; pass < 2; pass++) /* first see whether all are there */
        for (uint32_t member = first; member < first + n; member++) {
            if (member == (uint32_t)s->stage->stage->me && n > 1)
                continue;
            struct hx_check_snapshot *flag = *flag_of(s, member, slice);
            if (s->run->faulty || (pass == 0 && !flag))
                return 0;
            if (pass)
                hx_check_acquire(&s->run->store, s->access.thread, flag);
        }
    return 1;
}

/* Any member may be the last: another one in each run of the checker, in each call and slice. It waits until it is. */
static int elect_run(struct hx_check_step *s)
{
    const struct hx_stage *stage = s->stage->stage;
    uint64_t last = ((uint64_t)s->run->last + (uint64_t)s->call + s->instance->slice) % (uint64_t)stage->n;
    struct hx_check_snapshot **flag;

    if (s->step->tag >= stage->nflags || s->step->peer || s->step->n != (uint32_t)stage->n ||
        s->step->handle > stage->nsteps - 1 - s->instance->pc) {
        hx_check_step_fault(s, "there is no such flag, there are no such steps, or it is not of all members");
        return 0;
    }
    flag = flag_of(s, (uint32_t)stage->me, s->instance->slice);
    if (!*flag)
        *flag = hx_check_release(&s->run->store, s->access.thread);
    if (last == (uint64_t)stage->me)
        return flags_acquire(s, 0, s->step->n, s->instance->slice);
    s->instance->pc += s->step->handle;
    return 1;
}

static int await_run(struct hx_check_step *s)
{
    uint64_t slice = s->instance->slice;
    const struct hx_stage *stage = s->stage->stage;

    if (s->step->tag >= stage->nflags || s->step->peer >= (uint32_t)stage->n ||
        s->step->n > (uint32_t)stage->n - s->step->peer) {
        hx_check_step_fault(s, "there is no such flag or member");
        return 0;
    }
    if (s->step->own && slice < s->stage->window)
        return 1;
    slice -= s->step->own ? s->stage->window : 0;
    return flags_acquire(s, s->step->peer, s->step->n, slice);
}

/* ---- lengths */

/* All of HEARD must be there, each length in its place. */
static void learn_run(struct hx_check_step *s)
{
    const struct hx_plan *plan = s->r->plan;

    for (const struct hx_area *work = plan->work; work < plan->work + 2; work++)
        for (uint64_t i = 0; i < (uint64_t)work->nrows * work->ncolumns; i++) {
            uint64_t x = (uint64_t)work->rows[i / work->ncolumns] * (uint64_t)plan->p + work->columns[i % work->ncolumns];
            size_t at = (size_t)hx_layout_work_place(plan, x) * sizeof(size_t);
            for (size_t j = 0; j < sizeof(size_t); j++) {
                uint32_t cell = hx_check_cell_of(&s->run->store, &s->r->heard, at + j);
                if (hx_check_step_access(s, cell, 0, "a length") ||
                    hx_check_step_value(s, cell, (uint32_t)(x * sizeof(size_t) + j), "lengths"))
                    return;
            }
        }
    s->r->has_learnt = 1;
}

/* ---- one step */

/* A slot of call c is written when all ranks of the node have left call c-2, which used the same bank. */
static int bank_free(struct hx_check_step *s)
{
    const struct hx_shape *shape = s->run->shape;
    int node = shape->node_of[s->rank];

    if (s->step->dst != HX_SLOT || s->call < 2)
        return 1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < hx_shape_node_size(shape, node); i++) {
            struct hx_check_snapshot *end = hx_check_rank_at(s->run, s->call - 2, hx_shape_member(shape, node, i))->end;
            if (!end)
                return 0;
            if (pass)
                hx_check_acquire(&s->run->store, s->access.thread, end);
        }
    return 1;
}

static int range_is_there(const struct hx_stage *stage, const struct hx_step *step)
{
    if (step->nblocks == 0 || step->block < stage->nblocks)
        return step->nblocks <= hx_stage_columns(stage);
    return (uint64_t)step->block + step->nblocks <= (uint64_t)stage->nblocks + stage->npicks;
}

int hx_check_step_run(struct hx_check_run *run, int call, int rank, int stage, struct hx_check_instance *instance)
{
    struct hx_check_step s = {.run = run,
                              .call = call,
                              .rank = rank,
                              .stage_idx = stage,
                              .r = hx_check_rank_at(run, call, rank),
                              .instance = instance};
    struct hx_check_where where;

    s.stage = &s.r->stages[stage];
    s.step = &s.stage->stage->steps[instance->pc];
    s.access.thread = s.stage->first_thread + (uint32_t)(instance->slice % s.stage->window);
    s.access.clock = run->store.threads[s.access.thread].clock[s.access.thread];
    s.access.transfer = HX_CHECK_NONE;
    if (s.step->op == HX_OP_JOIN)
        return hx_check_join_run(&s);
    if (s.step->op == HX_OP_AWAIT)
        return await_run(&s);
    if (s.step->op == HX_OP_ELECT)
        return elect_run(&s);
    if (!bank_free(&s))
        return 0;
    here(&s, &where);
    s.access.where = hx_check_where_new(&run->store, &where);
    if (s.r->learns && !s.r->has_learnt && s.stage->stage->share == HX_SHARE_SHORT && s.step->nblocks)
        hx_check_step_fault(&s, "how long its blocks are has not been learnt");
    if (!range_is_there(s.stage->stage, s.step))
        hx_check_step_fault(&s, "there are only %u blocks in a row, and %u picks", hx_stage_columns(s.stage->stage),
                            s.stage->stage->npicks);
    else if (s.step->op == HX_OP_COPY || s.step->op == HX_OP_FETCH || s.step->op == HX_OP_REDUCE)
        hx_check_data_run(&s);
    else if (s.step->op == HX_OP_SEND || s.step->op == HX_OP_RECV)
        hx_check_transfer_run(&s);
    else if (s.step->op == HX_OP_PUBLISH)
        publish_run(&s);
    else if (s.step->op == HX_OP_LEARN)
        learn_run(&s);
    else
        hx_check_step_fault(&s, "no such opcode");
    return !run->faulty;
}
