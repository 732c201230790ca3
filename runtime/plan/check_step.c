/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's steps: what each does to cells, values and clocks. */
#include "runtime/plan/check_run.h"
#include "runtime/plan/print.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- reports */

void hx_check_fault(struct hx_check_run *run, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(run->report, run->capacity, format, args);
    va_end(args);
    hx_check_stop(&run->store, HX_ERR_INTERNAL);
}

const char *hx_check_place(const struct hx_check_run *run, struct hx_check_where where, char text[HX_CHECK_PLACE_BYTES])
{
    const struct hx_plan *plan = run->calls[where.call].plans[where.rank];
    const struct hx_stage *stage = &plan->stages[where.stage];
    int n = snprintf(text, HX_CHECK_PLACE_BYTES, "call %d (%s), rank %d, stage %d (%s), slice %llu, step %u: ", where.call,
                     hx_coll_name(plan->coll), where.rank, where.stage, stage->algorithm, (unsigned long long)where.slice,
                     where.step);

    if (n < HX_CHECK_PLACE_BYTES && where.step < stage->nsteps)
        hx_explain_step(stage, &stage->steps[where.step], text + n, (size_t)(HX_CHECK_PLACE_BYTES - n));
    else if (n < HX_CHECK_PLACE_BYTES)
        snprintf(text + n, (size_t)(HX_CHECK_PLACE_BYTES - n), "end");
    return text;
}

const char *hx_check_where_place(const struct hx_check_run *run, uint32_t where, char text[HX_CHECK_PLACE_BYTES])
{
    return hx_check_place(run, *(struct hx_check_where *)hx_check_at(&run->store.wheres, where), text);
}

void hx_check_step_fault(struct hx_check_step *s, const char *format, ...)
{
    char place[HX_CHECK_PLACE_BYTES], what[480];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hx_check_fault(s->run, "%s: %s", hx_check_place(s->run, hx_check_here(s->stage, s->instance), place), what);
}

void hx_check_end_fault(struct hx_check_rank *r, const char *format, ...)
{
    char what[480];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hx_check_fault(r->run, "call %d (%s), rank %d, end: %s", r->call, hx_coll_name(r->plan->coll), r->rank, what);
}

/* ---- accesses */

void hx_check_step_access(struct hx_check_step *s, uint32_t cell, int writes, const char *what)
{
    const struct hx_check_access *before = (writes ? hx_check_write : hx_check_read)(&s->run->store, cell, &s->access);
    char place[HX_CHECK_PLACE_BYTES];

    if (before)
        hx_check_step_fault(s, "race: this %s of %s is not ordered with the access by %s%s", writes ? "write" : "read", what,
                            hx_check_where_place(s->run, before->where, place),
                            before->transfer == HX_CHECK_NONE ? "" : " (under way until its join)");
}

void hx_check_step_value(struct hx_check_step *s, uint32_t cell, size_t element, const char *what)
{
    uint32_t value = hx_check_cell_at(&s->run->store, cell)->value;
    const struct hx_check_value *v = hx_check_value_at(&s->run->store, value);

    if (value == 0)
        hx_check_step_fault(s, "reads element %zu of %s, which was never written", element, what);
    if (v->call != s->r->call)
        hx_check_step_fault(s, "reads element %zu of %s, left over from call %d", element, what, v->call);
    if (v->element != element)
        hx_check_step_fault(s, "element %u is at the place of element %zu of %s", v->element, element, what);
}

/* ---- copy, fetch, encode, decode and reduce */

/* The cells of one of the step's sources, which must be as many as its destination has. */
static const uint32_t *source_read(struct hx_check_step *s, int got, int n, const char *what)
{
    const uint32_t *cells = s->run->cells[1];

    if (got != n)
        hx_check_step_fault(s, "a source has %d elements, but the blocks of the step have %d", got, n);
    for (int i = 0; i < n; i++) {
        hx_check_step_access(s, cells[i], 0, what);
        hx_check_step_value(s, cells[i], s->run->elements[i], what);
    }
    return cells;
}

/* Fold one more source into run->fold. */
static void source_fold(struct hx_check_step *s, const uint32_t *cells, int n, int first)
{
    struct hx_check_store *store = &s->run->store;

    for (int i = 0; i < n; i++) {
        uint32_t value = hx_check_cell_at(store, cells[i])->value;
        int twice = first ? -1 : hx_check_value_overlap(store, s->run->fold[i], value);
        if (twice >= 0)
            hx_check_step_fault(s, "the contribution of rank %d to element %u is counted twice", twice, s->run->elements[i]);
        s->run->fold[i] = first ? value : hx_check_value_fold(store, s->run->fold[i], value);
    }
}

static void reduce_run(struct hx_check_step *s, int n)
{
    const struct hx_step *step = s->step;
    struct hx_check_run *run = s->run;
    uint32_t own = step->own != HX_NOWHERE ? step->tag : HX_CHECK_NONE, row = step->row;

    if (step->n < 2 || (own != HX_CHECK_NONE && own >= step->n) ||
        (step->src == HX_SLOT && step->n > (uint32_t)s->stage->stage->n))
        hx_check_step_fault(s, "a reduce of %u sources, own as %u", step->n, step->tag);
    for (uint32_t i = 0; i < step->n; i++) {
        enum hx_space space = i == own ? (enum hx_space)step->own : (enum hx_space)step->src;
        int got = hx_check_operand(s, space, i, i == own ? step->dst_row : row, run->cells[1]);
        if (i != own)
            row += step->nblocks;
        source_fold(s, source_read(s, got, n, "a source"), n, i == 0);
    }
    for (int i = 0; i < n; i++) {
        hx_check_step_access(s, run->cells[0][i], 1, "its destination");
        hx_check_value_round(&run->store, run->fold[i]);
        hx_check_cell_at(&run->store, run->cells[0][i])->value = run->fold[i];
    }
}

static void copy_run(struct hx_check_step *s, int n)
{
    uint32_t *to = s->run->cells[0];
    int got = s->step->op == HX_OP_FETCH
                  ? hx_check_fetched(s, s->run->cells[1])
                  : hx_check_operand(s, (enum hx_space)s->step->src, s->step->peer, s->step->row, s->run->cells[1]);
    const uint32_t *from = source_read(s, got, n, "its source");

    for (int i = 0; i < n; i++) {
        if (to[i] == from[i])
            continue; /* in place: the engine leaves a copy onto itself out */
        hx_check_step_access(s, to[i], 1, "its destination");
        uint32_t value = hx_check_cell_at(&s->run->store, from[i])->value;
        if (s->step->op == HX_OP_ENCODE)
            value = hx_check_value_encode(&s->run->store, value);
        hx_check_cell_at(&s->run->store, to[i])->value = value;
    }
}

static void data_run(struct hx_check_step *s)
{
    int n = hx_check_elements(s, s->run->elements), reduces = s->step->op == HX_OP_REDUCE, got;

    if (s->step->peer >= (uint32_t)s->stage->stage->n)
        hx_check_step_fault(s, "there is no member %u", s->step->peer);
    got = hx_check_operand(s, (enum hx_space)s->step->dst, reduces ? s->step->peer : (uint32_t)s->stage->stage->me,
                           hx_step_dst_row(s->step), s->run->cells[0]);
    if (got != n)
        hx_check_step_fault(s, "the destination has %d elements, but the blocks of the step have %d", got, n);
    (reduces ? reduce_run : copy_run)(s, n);
}

/* ---- flags */

/* A member's flag, which must be of this node. */
static struct hx_check_snapshot **flag_of(struct hx_check_step *s, uint32_t member, uint64_t slice)
{
    const struct hx_check_stage *theirs = hx_check_near(s, member, "flag");

    return &theirs->flags[s->step->tag * theirs->layout.nslices + slice];
}

static void publish_run(struct hx_check_step *s)
{
    struct hx_check_snapshot **flag;

    if (s->step->tag >= s->stage->stage->nflags || s->step->handle >= (uint32_t)s->stage->stage->n)
        hx_check_step_fault(s, "there is no such flag or member");
    if (s->step->own && s->instance->slice + s->stage->window >= s->stage->layout.nslices)
        return; /* it is awaited with lag only: the slice does not exist, and the engine may leave the step out */
    flag = flag_of(s, s->step->handle, s->instance->slice);
    if (*flag)
        hx_check_step_fault(s, "the flag is published twice");
    *flag = hx_check_release(&s->run->store, s->access.thread);
}

/* Have these members all raised the step's flag? Then what they did before is known. A range leaves the rank itself out. */
static int flags_acquire(struct hx_check_step *s, uint64_t slice)
{
    uint32_t first = s->step->peer, n = s->step->n;

    for (int pass = 0; pass < 2; pass++) /* first see whether all are there */
        for (uint32_t member = first; member < first + n; member++) {
            if (member == (uint32_t)s->stage->stage->me && n > 1)
                continue;
            struct hx_check_snapshot *flag = *flag_of(s, member, slice);
            if (!flag)
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
    uint64_t last = ((uint64_t)s->run->last + (uint64_t)s->r->call + s->instance->slice) % (uint64_t)stage->n;
    struct hx_check_snapshot **flag;

    if (s->step->tag >= stage->nflags || s->step->peer || s->step->n != (uint32_t)stage->n ||
        s->step->handle > stage->nsteps - 1 - s->instance->pc)
        hx_check_step_fault(s, "an election without such a flag, beyond the last step, or not of all members");
    flag = flag_of(s, (uint32_t)stage->me, s->instance->slice);
    if (!*flag)
        *flag = hx_check_release(&s->run->store, s->access.thread);
    if (last == (uint64_t)stage->me)
        return flags_acquire(s, s->instance->slice);
    s->instance->pc += s->step->handle;
    return 1;
}

static int await_run(struct hx_check_step *s)
{
    const struct hx_stage *stage = s->stage->stage;
    uint64_t before = s->step->own ? s->stage->window : 0;

    if (s->step->tag >= stage->nflags || s->step->peer >= (uint32_t)stage->n || s->step->n > (uint32_t)stage->n - s->step->peer)
        hx_check_step_fault(s, "there is no such flag or member");
    return s->instance->slice < before || flags_acquire(s, s->instance->slice - before);
}

/* ---- lengths */

int64_t hx_check_work_pair(const struct hx_plan *plan, uint64_t *i)
{
    uint64_t k = (*i)++;

    for (const struct hx_area *work = plan->work; work < plan->work + 2; work++) {
        uint64_t pairs = (uint64_t)(work->nrows ? work->nrows : plan->graph != NULL) * work->ncolumns;
        if (k < pairs && plan->graph)
            return work->columns[k];
        if (k < pairs)
            return (int64_t)((uint64_t)work->rows[k / work->ncolumns] * (uint64_t)plan->p + work->columns[k % work->ncolumns]);
        k -= pairs;
    }
    return -1;
}

/* All of HEARD must be there, each length in its place. */
static void learn_run(struct hx_check_step *s)
{
    uint64_t i = 0;

    for (int64_t x; (x = hx_check_work_pair(s->r->plan, &i)) >= 0;)
        for (size_t j = 0; j < sizeof(size_t); j++) {
            size_t at = (size_t)hx_layout_work_place(s->r->plan, (uint64_t)x) * sizeof(size_t) + j;
            uint32_t cell = hx_check_cell_of(&s->run->store, &s->r->heard, at);
            hx_check_step_access(s, cell, 0, "a length");
            hx_check_step_value(s, cell, (size_t)x * sizeof(size_t) + j, "lengths");
        }
    s->r->has_learnt = 1;
}

/* ---- one step */

/* A slot of a call is written, and a flag raised, when all ranks of the node have left the last call that used the same part of
 * the bank, or the same flags. Here there are as many flags as parts. The engine has the same rule. */
static int bank_free(struct hx_check_step *s)
{
    const struct hx_shape *shape = s->run->shape;
    int node = shape->node_of[s->r->rank], turns = hx_check_turns(s->run, s->r->call), since = s->r->call, kept;
    int writes = s->step->dst == HX_SLOT || s->step->op == HX_OP_PUBLISH;

    while (since > 0 && hx_check_turns(s->run, since - 1) == turns)
        since--;
    kept = (int)hx_bank_kept((uint64_t)(2 * turns), (uint64_t)(s->r->call - since));
    if (!writes || s->r->call < kept)
        return 1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < hx_shape_node_size(shape, node); i++) {
            struct hx_check_snapshot *end = hx_check_rank_at(s->run, s->r->call - kept, hx_shape_member(shape, node, i))->end;
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

static void (*const ops[HX_OPCODE_COUNT])(struct hx_check_step *) = {
    [HX_OP_COPY] = data_run, [HX_OP_FETCH] = data_run, [HX_OP_REDUCE] = data_run,
    [HX_OP_ENCODE] = data_run, [HX_OP_DECODE] = data_run, [HX_OP_SEND] = hx_check_transfer_run,
    [HX_OP_RECV] = hx_check_transfer_run, [HX_OP_PUBLISH] = publish_run, [HX_OP_LEARN] = learn_run};

int hx_check_step_run(struct hx_check_stage *stage, struct hx_check_instance *instance)
{
    const struct hx_stage *of = stage->stage;
    struct hx_check_step s = {.run = stage->of->run, .r = stage->of, .stage = stage, .instance = instance,
                              .step = &of->steps[instance->pc],
                              .access = {.thread = hx_check_thread(stage, instance), .transfer = HX_CHECK_NONE}};

    s.access.clock = s.run->store.threads[s.access.thread].clock[s.access.thread];
    if (s.step->op == HX_OP_JOIN)
        return hx_check_join_run(&s);
    if (s.step->op == HX_OP_AWAIT)
        return await_run(&s);
    if (s.step->op == HX_OP_ELECT)
        return elect_run(&s);
    if (!bank_free(&s))
        return 0;
    s.access.where = hx_check_where_new(&s.run->store, hx_check_here(stage, instance));
    if (s.r->learns && !s.r->has_learnt && of->share == HX_SHARE_SHORT && s.step->nblocks)
        hx_check_step_fault(&s, "no LEARN step has set the lengths of its blocks");
    if (!range_is_there(of, s.step))
        hx_check_step_fault(&s, "there are only %u blocks in a row, and %u picks", hx_stage_columns(of), of->npicks);
    if (s.step->op >= HX_OPCODE_COUNT || !ops[s.step->op])
        hx_check_step_fault(&s, "no such opcode");
    ops[s.step->op](&s);
    return 1;
}
