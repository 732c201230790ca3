/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's ranks: their stages, threads and memory; where each call's data begins, and what it must leave
 * behind. */
#include "runtime/plan/check_run.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int memory_open(struct hx_check_run *run, struct hx_check_memory *memory, const char *name, int rank,
                       size_t bytes)
{
    *memory = (struct hx_check_memory){name, rank, bytes, hx_check_alloc(&run->store, bytes * sizeof(uint32_t))};
    return memory->cells ? 0 : -1;
}

static int slices_open(struct hx_check_run *run, struct hx_check_stage *stage, int rank)
{
    size_t nslices = stage->layout.nslices;

    stage->instances = hx_check_alloc(&run->store, stage->window * sizeof(*stage->instances));
    stage->flags = hx_check_alloc(&run->store, stage->stage->nflags * nslices * sizeof(*stage->flags));
    stage->ends = hx_check_alloc(&run->store, nslices * sizeof(*stage->ends));
    stage->scratch = hx_check_alloc(&run->store, stage->window * sizeof(*stage->scratch));
    if (!stage->instances || !stage->flags || !stage->ends || !stage->scratch)
        return -1;
    for (unsigned w = 0; w < stage->window; w++) {
        stage->instances[w].transfers = hx_check_alloc(&run->store, stage->stage->ntransfers * sizeof(uint32_t));
        stage->instances[w].ordinals = hx_check_alloc(&run->store, 2 * (size_t)stage->stage->n * sizeof(uint32_t));
        if (!stage->instances[w].transfers || !stage->instances[w].ordinals ||
            memory_open(run, &stage->scratch[w], "scratch", rank, stage->layout.scratch_bytes))
            return -1;
    }
    return 0;
}

/* Geometry only, so that the number of threads is known before the store is opened. */
static void stage_measure(const struct hx_check_call *call, const struct hx_sizes *sizes, const struct hx_plan *plan,
                          const struct hx_stage *stage, struct hx_layout *layout, unsigned *window)
{
    unsigned wanted = (unsigned)(stage->coarse ? call->window_coarse : call->window_fine);

    hx_layout_init(layout, plan, stage, sizes);
    *window = layout->nslices < wanted ? (unsigned)layout->nslices : wanted;
}

static uint32_t threads_count(const struct hx_shape *shape, const struct hx_check_call *call, int rank)
{
    const struct hx_plan *plan = call->plans[rank];
    uint32_t threads = 0;

    (void)shape;
    for (int s = 0; s < plan->nstages; s++) {
        struct hx_layout layout;
        unsigned window;
        stage_measure(call, &call->sizes, plan, &plan->stages[s], &layout, &window);
        threads += window;
    }
    return threads;
}

static int same_group(const struct hx_stage *x, const struct hx_stage *y)
{
    return x->level == y->level && x->coarse == y->coarse && x->n == y->n &&
           !memcmp(x->members, y->members, (size_t)x->n * sizeof(int));
}

/* The stage of another rank's plan that this one meets: of the same level and members, and as many of these before
 * it. */
static int peer_stage(const struct hx_plan *plan, int s, const struct hx_plan *theirs, int member)
{
    const struct hx_stage *stage = &plan->stages[s];
    int before = 0;

    for (int i = 0; i < s; i++)
        before += same_group(&plan->stages[i], stage);
    for (int i = 0; i < theirs->nstages; i++)
        if (same_group(&theirs->stages[i], stage) && before-- == 0)
            return theirs->stages[i].me == member ? i : -1;
    return -1;
}

static hx_status_t stage_open(struct hx_check_run *run, int call, int rank, int idx, uint32_t *thread, size_t *slots)
{
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    struct hx_check_stage *stage = &r->stages[idx];
    const struct hx_stage *of = &r->plan->stages[idx];

    stage->stage = of;
    stage_measure(&run->calls[call], &r->sizes, r->plan, of, &stage->layout, &stage->window);
    stage->max_spans = hx_layout_max_spans(of);
    stage->whole = stage->layout;
    stage->whole.plan = &r->whole;
    stage->whole.places = NULL;
    stage->whole.pair_counts = stage->layout.pair_counts ? &r->numbered : NULL;
    stage->first_thread = *thread;
    *thread += stage->window;
    stage->slot_offset = *slots;
    *slots += stage->window * stage->layout.slot_bytes;
    if (!(stage->peers = hx_check_alloc(&run->store, (size_t)of->n * sizeof(int))) || slices_open(run, stage, rank))
        return HX_ERR_NOMEM;
    if (of->me < 0 || of->me >= of->n || of->members[of->me] != rank) {
        hx_check_fault(run, "call %d, rank %d, stage %d (%s): is not its own member", call, rank, idx, of->algorithm);
        return HX_ERR_INTERNAL;
    }
    for (int i = 0; i < of->n; i++) {
        int peer = of->members[i];
        stage->peers[i] =
            peer >= 0 && peer < run->shape->nranks ? peer_stage(r->plan, idx, run->calls[call].plans[peer], i) : -1;
        if (stage->peers[i] < 0) {
            hx_check_fault(run, "call %d, rank %d, stage %d (%s): rank %d has no such stage", call, rank, idx,
                           of->algorithm, peer);
            return HX_ERR_INTERNAL;
        }
    }
    return HX_SUCCESS;
}

static int uses_rings(const struct hx_stage *stage)
{
    return stage->ntransfers && stage->scope != HX_SCOPE_INTER;
}

/* As bind gives them out: the stages' rings one after the other, one for each place in the window. */
static hx_status_t rings_assign(struct hx_check_run *run, int call, int rank)
{
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    int rings = 0;

    for (int s = 0; s < r->plan->nstages; s++) {
        r->stages[s].ring = rings;
        rings += uses_rings(r->stages[s].stage) ? (int)r->stages[s].window : 0;
    }
    if (rings <= HX_PAIR_RINGS && r->plan->nflags <= HX_NODE_FLAGS)
        return HX_SUCCESS;
    hx_check_fault(run, "call %d, rank %d: needs %d rings to a rank of its node of %d, and %u flags of %d", call, rank, rings,
                   HX_PAIR_RINGS, r->plan->nflags, HX_NODE_FLAGS);
    return HX_ERR_INTERNAL;
}

/* Where the slots, flags and rings of a stage stand must be the same on all members of a node. */
static hx_status_t places_compare(struct hx_check_run *run, int call, int rank)
{
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);

    for (int s = 0; s < r->plan->nstages; s++) {
        const struct hx_check_stage *stage = &r->stages[s];
        int shares = stage->stage->uses_slot || stage->stage->nflags || uses_rings(stage->stage);
        for (int i = 0; i < stage->stage->n && shares; i++) {
            int peer = stage->stage->members[i];
            const struct hx_check_stage *theirs = &hx_check_rank_at(run, call, peer)->stages[stage->peers[i]];
            if (run->shape->node_of[peer] != run->shape->node_of[rank])
                continue;
            if (theirs->slot_offset == stage->slot_offset && theirs->layout.slot_bytes == stage->layout.slot_bytes &&
                theirs->stage->first_flag == stage->stage->first_flag && theirs->stage->nflags == stage->stage->nflags &&
                theirs->ring == stage->ring)
                continue;
            hx_check_fault(run,
                           "call %d, rank %d, stage %d (%s): its slot, flags or rings stand elsewhere than those of rank %d",
                           call, rank, s, stage->stage->algorithm, peer);
            return HX_ERR_INTERNAL;
        }
    }
    return HX_SUCCESS;
}

/* What the rank sends and receives, and what it knows when it has learnt how long others' blocks are. */
static int pair_counts_open(struct hx_check_run *run, const struct hx_pair_counts *all, struct hx_check_rank *r)
{
    const struct hx_plan *plan = r->plan;
    size_t *heard = r->learns ? hx_check_alloc(&run->store, r->heard.bytes) : NULL;

    r->pair_counts = all[plan->rank];
    for (const struct hx_area *work = plan->work; heard && work < plan->work + 2; work++)
        for (uint64_t i = 0; i < (uint64_t)work->nrows * work->ncolumns; i++) {
            uint32_t from = work->rows[i / work->ncolumns], to = work->columns[i % work->ncolumns];
            heard[hx_layout_work_place(plan, (uint64_t)from * (uint64_t)plan->p + to)] = all[from].sent[to];
        }
    r->sizes.heard = heard;
    r->numbered = r->pair_counts;
    r->numbered.sent_at = NULL;
    r->sizes.pair_counts = &r->pair_counts;
    return r->learns && !heard;
}

static hx_status_t rank_open(struct hx_check_run *run, int call, int rank, size_t *slots)
{
    const struct hx_check_call *of = &run->calls[call];
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    const struct hx_plan *plan = of->plans[rank];
    size_t in_bytes, out_bytes;
    uint32_t thread = (uint32_t)run->shape->nranks;
    hx_status_t status = HX_SUCCESS;

    r->plan = plan;
    r->sizes = of->sizes;
    for (int s = 0; s < plan->nstages; s++) {
        r->learns |= plan->stages[s].share == HX_SHARE_COUNTS;
        for (uint32_t i = 0; i < plan->stages[s].nsteps; i++)
            run->fetches |= plan->stages[s].steps[i].op == HX_OP_FETCH;
    }
    if (r->learns && (memory_open(run, &r->counts, "counts", rank, hx_layout_space_bytes(plan, &r->sizes, HX_COUNTS)) ||
                      memory_open(run, &r->heard, "heard", rank, hx_layout_space_bytes(plan, &r->sizes, HX_HEARD))))
        return HX_ERR_NOMEM;
    if (of->pair_counts && pair_counts_open(run, of->pair_counts, r))
        return HX_ERR_NOMEM;
    in_bytes = hx_layout_space_bytes(plan, &r->sizes, HX_IN);
    out_bytes = hx_layout_space_bytes(plan, &r->sizes, HX_OUT);
    r->whole = *plan;
    r->whole.in_block = 0;
    r->whole.in_nblocks = (uint32_t)plan->nblocks;
    for (int i = 0; i < rank; i++)
        thread += threads_count(run->shape, of, i);
    if (of->in_place && (plan->coll == HX_COLL_ALLGATHER || plan->coll == HX_COLL_GATHER)) /* IN is OUT's own block */
        r->in_base = hx_layout_out_place(plan, &r->sizes, (uint32_t)plan->in_block);
    if (of->in_place) {
        size_t end = r->in_base + in_bytes;
        if (memory_open(run, &r->user[0], "in and out", rank, end > out_bytes ? end : out_bytes))
            return HX_ERR_NOMEM;
    } else if (memory_open(run, &r->user[0], "in", rank, in_bytes) ||
               memory_open(run, &r->user[1], "out", rank, out_bytes)) {
        return HX_ERR_NOMEM;
    }
    if (memory_open(run, &r->work, "work", rank, hx_layout_space_bytes(plan, &r->sizes, HX_WORK)) ||
        !(r->stages = hx_check_alloc(&run->store, (size_t)plan->nstages * sizeof(*r->stages))))
        return HX_ERR_NOMEM;
    *slots = 0;
    for (int s = 0; s < plan->nstages && status == HX_SUCCESS; s++)
        status = stage_open(run, call, rank, s, &thread, slots);
    return status == HX_SUCCESS ? rings_assign(run, call, rank) : status;
}

static hx_status_t buffers_open(struct hx_check_run *run)
{
    size_t most = 1, spans = 1;
    struct hx_check_store *store = &run->store;

    for (int c = 0; c < run->ncalls; c++)
        for (int r = 0; r < run->shape->nranks; r++) {
            const struct hx_check_call *call = &run->calls[c];
            size_t whole = call->pair_counts ? call->plans[r]->nblocks * call->sizes.count : hx_layout_vector(call->plans[r], &call->sizes);
            most = whole > most ? whole : most;
            if (hx_coll_has_pair_counts(call->plans[r]->coll) && most < (size_t)run->shape->nranks * sizeof(size_t))
                most = (size_t)run->shape->nranks * sizeof(size_t); /* lengths */
            for (int s = 0; s < call->plans[r]->nstages; s++) {
                size_t n = (size_t)hx_layout_max_spans(&call->plans[r]->stages[s]);
                spans = n > spans ? n : spans;
            }
        }
    run->spans = hx_check_alloc(store, spans * sizeof(*run->spans));
    for (int i = 0; i < 2; i++)
        run->cells[i] = hx_check_alloc(store, most * sizeof(uint32_t));
    run->elements = hx_check_alloc(store, most * sizeof(uint32_t));
    run->fold = hx_check_alloc(store, most * sizeof(uint32_t));
    for (int c = 0; c < run->ncalls; c++) {
        run->expressions[c] = hx_check_alloc(store, most * sizeof(uint64_t));
        run->ranks[c] = hx_check_alloc(store, (size_t)run->shape->nranks * sizeof(*run->ranks[c]));
    }
    return store->status;
}

hx_status_t hx_check_run_open(struct hx_check_run *run, const struct hx_shape *shape, const struct hx_check_call *calls,
                              int ncalls)
{
    struct hx_check_store *store = &run->store;
    uint32_t most = 0;
    hx_status_t status;

    for (int c = 0; c < ncalls; c++) {
        uint32_t threads = 0;
        for (int r = 0; r < shape->nranks; r++)
            threads += threads_count(shape, &calls[c], r);
        most = threads > most ? threads : most;
    }
    run->shape = shape;
    run->calls = calls;
    run->ncalls = ncalls;
    if ((status = hx_check_store_open(store, shape->nranks, (uint32_t)shape->nranks + most)) != HX_SUCCESS)
        return status;
    run->slots = hx_check_alloc(store, (size_t)shape->nranks * sizeof(*run->slots));
    run->at = hx_check_alloc(store, (size_t)shape->nranks * sizeof(int));
    run->buckets = hx_check_alloc(store, HX_CHECK_BUCKETS * sizeof(uint32_t));
    run->expressions = hx_check_alloc(store, (size_t)ncalls * sizeof(*run->expressions));
    run->ranks = hx_check_alloc(store, (size_t)ncalls * sizeof(*run->ranks));
    if (store->status != HX_SUCCESS || buffers_open(run) != HX_SUCCESS)
        return HX_ERR_NOMEM;
    for (int r = 0; r < shape->nranks; r++) {
        size_t room[2] = {0, 0};
        for (int c = 0; c < ncalls && status == HX_SUCCESS; c++) {
            size_t slots = 0;
            status = rank_open(run, c, r, &slots);
            room[c % 2] = slots > room[c % 2] ? slots : room[c % 2];
        }
        for (int bank = 0; bank < 2 && status == HX_SUCCESS; bank++)
            if (memory_open(run, &run->slots[r][bank], "slot", r, room[bank]))
                status = HX_ERR_NOMEM;
    }
    for (int c = 0; c < ncalls; c++)
        for (int r = 0; r < shape->nranks && status == HX_SUCCESS; r++)
            status = places_compare(run, c, r);
    return status;
}

/* ---- a call of one rank */

void hx_check_call_begin(struct hx_check_run *run, int call, int rank)
{
    struct hx_check_store *store = &run->store;
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    struct hx_check_access access = {(uint32_t)rank, store->threads[rank].clock[rank], HX_CHECK_NONE, 0};

    r->entered = access.clock;
    for (uint32_t block = 0; block < r->plan->in_nblocks; block++) {
        struct hx_extent elements = hx_layout_extent(r->plan, &r->sizes, r->plan->in_block + block);
        size_t at = r->in_base + hx_layout_in_place(r->plan, &r->sizes, block);
        for (size_t i = 0; i < elements.length; i++) {
            uint32_t cell = hx_check_cell_of(store, &r->user[0], at + i);
            hx_check_write(store, cell, &access);
            hx_check_cell_at(store, cell)->value = hx_check_value_input(store, call, rank, (uint32_t)(elements.start + i));
        }
    }
    for (size_t i = 0; i < r->counts.bytes; i++) { /* a number for each byte of a length, as for elements of 8 to a block */
        uint32_t cell = hx_check_cell_of(store, &r->counts, i), element = (uint32_t)((size_t)rank * r->counts.bytes + i);
        hx_check_write(store, cell, &access);
        hx_check_cell_at(store, cell)->value = hx_check_value_input(store, call, rank, element);
    }
    store->threads[rank].dirty = 1;
    r->entry = hx_check_release(store, (uint32_t)rank);
}

/* To each element of a result the first n ranks contribute, or, where nothing is reduced, one: only the right rank has input for
 * this element. A rank that is missing or too many, or -1. */
static int contributor_wrong(struct hx_check_store *store, const struct hx_plan *plan, uint32_t value, int n)
{
    if (!hx_coll_reduces(plan->coll))
        return hx_check_value_count(store, value) == 1 ? -1 : hx_check_value_at(store, value)->high;
    for (int rank = 0; rank < plan->p; rank++)
        if (hx_check_value_has(store, value, rank) != (rank < n))
            return rank;
    return -1;
}

static void result_fault(struct hx_check_run *run, int call, int rank, uint32_t element, const char *format, ...)
{
    const struct hx_plan *plan = run->calls[call].plans[rank];
    char what[160];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hx_check_fault(run, "call %d (%s), rank %d, end: element %u of out %s", call, hx_coll_name(plan->coll), rank, element, what);
}

/* Of number `block` of OUT's blocks. */
static void result_check(struct hx_check_run *run, int call, int rank, uint32_t block)
{
    const struct hx_check_call *of = &run->calls[call];
    struct hx_check_store *store = &run->store;
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    const struct hx_plan *plan = r->plan;
    struct hx_extent elements = hx_layout_extent(plan, &r->sizes, plan->out_block + block * (uint64_t)plan->out_stride);
    size_t at = r->out_base + hx_layout_out_place(plan, &r->sizes, block);

    for (size_t i = 0; i < elements.length && !run->faulty; i++) {
        uint32_t cell = hx_check_cell_of(store, &r->user[!of->in_place], at + i);
        uint32_t value = hx_check_cell_at(store, cell)->value, element = (uint32_t)(elements.start + i);
        const struct hx_check_value *v = hx_check_value_at(store, value);
        uint64_t *expression = &run->expressions[call][element];
        int wanted = hx_coll_contributors(plan->coll, plan->p, rank), wrong = -1;

        if (value == 0 || v->call != call) {
            result_fault(run, call, rank, element, "was never written");
        } else if (v->element != element) {
            result_fault(run, call, rank, element, "holds element %u", v->element);
        } else if ((wrong = contributor_wrong(store, plan, value, wanted)) >= 0) {
            result_fault(run, call, rank, element, "holds %d contributions of %d; rank %d is %s", hx_check_value_count(store, value),
                         wanted, wrong, !hx_check_value_has(store, value, wrong) ? "missing" : "too many");
        } else if ((of->rank_order || hx_coll_is_scan(plan->coll)) && !v->ordered) {
            result_fault(run, call, rank, element, "was not folded in rank order");
        } else if (!hx_coll_is_scan(plan->coll) && !of->exact && *expression && *expression != v->expression) {
            result_fault(run, call, rank, element, "was folded in another order than on a lower rank: not equal bit by bit");
        }
        *expression = v->expression;
        if (of->roundings && v->roundings > *of->roundings)
            *of->roundings = v->roundings;
    }
}

/* The caller may write its buffers again: nobody still reads them. */
static void buffers_return(struct hx_check_run *run, int call, int rank)
{
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    struct hx_check_where end = {call, rank, 0, r->stages[0].layout.nslices - 1, r->stages[0].stage->nsteps};
    struct hx_check_access access = {(uint32_t)rank, run->store.threads[rank].clock[rank], HX_CHECK_NONE,
                                     hx_check_where_new(&run->store, &end)};

    for (struct hx_check_memory *memory = r->user; memory < r->user + 2 && !run->faulty; memory++)
        for (size_t i = 0; i < memory->bytes && !run->faulty; i++) {
            const struct hx_check_access *before = memory->cells[i] ? hx_check_write(&run->store, memory->cells[i], &access) : NULL;
            char place[320];
            if (!before)
                continue;
            hx_check_place(run, hx_check_where_at(&run->store, before->where), place, sizeof place);
            hx_check_fault(run, "call %d (%s), rank %d, end: race: byte %zu of %s, which is the caller's again, may still be accessed by %s",
                           call, hx_coll_name(r->plan->coll), rank, i, memory->name, place);
        }
}

void hx_check_call_end(struct hx_check_run *run, int call, int rank)
{
    struct hx_check_rank *r = hx_check_rank_at(run, call, rank);
    const uint32_t *known = run->store.threads[rank].clock;
    int awaits_all;

    for (uint32_t i = 0; i < r->plan->out_nblocks; i++)
        result_check(run, call, rank, i);
    if (run->fetches)
        buffers_return(run, call, rank);
    awaits_all = run->calls[call].barrier || hx_layout_awaits_all(r->plan, &r->sizes);
    for (int q = 0; q < run->shape->nranks && awaits_all; q++) {
        uint32_t entered = hx_check_rank_at(run, call, q)->entered;
        if (!entered || known[q] < entered)
            hx_check_fault(run, "call %d (%s), rank %d, end: rank %d may not have entered the call", call,
                           hx_coll_name(r->plan->coll), rank, q);
    }
}
