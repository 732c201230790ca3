/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's ranks: their stages, threads and memory; the start of each call's data, and the results that the call must leave
 * behind. */
#include "runtime/plan/check_run.h"
#include "runtime/plan/graph.h"
#include <string.h>

static void memory_open(struct hx_check_run *run, struct hx_check_memory *memory, const char *name, int rank, size_t bytes)
{
    *memory = (struct hx_check_memory){name, rank, bytes, hx_check_alloc(&run->store, bytes, sizeof(uint32_t))};
}

static void slices_open(struct hx_check_run *run, struct hx_check_stage *stage)
{
    struct hx_check_store *store = &run->store;
    size_t nslices = stage->layout.nslices;

    stage->instances = hx_check_alloc(store, stage->window, sizeof(*stage->instances));
    stage->flags = hx_check_alloc(store, stage->stage->nflags * nslices, sizeof(*stage->flags));
    stage->ends = hx_check_alloc(store, nslices, sizeof(*stage->ends));
    stage->scratch = hx_check_alloc(store, stage->window, sizeof(*stage->scratch));
    for (unsigned w = 0; w < stage->window; w++) {
        stage->instances[w].transfers = hx_check_alloc(store, stage->stage->ntransfers, sizeof(uint32_t));
        stage->instances[w].ordinals = hx_check_alloc(store, 2 * (size_t)stage->stage->n, sizeof(uint32_t));
        memory_open(run, &stage->scratch[w], "scratch", stage->of->rank, stage->layout.scratch_bytes);
    }
}

/* Returns the window of a stage. */
static unsigned stage_measure(const struct hx_check_call *call, const struct hx_sizes *sizes, const struct hx_plan *plan,
                              const struct hx_stage *stage, struct hx_layout *layout)
{
    unsigned wanted = (unsigned)(stage->coarse ? call->window_coarse : call->window_fine);

    hx_layout_init(layout, plan, stage, sizes);
    return layout->nslices < wanted ? (unsigned)layout->nslices : wanted;
}

/* Geometry only, so that the number of threads is known before the store is opened. */
static uint32_t threads_count(const struct hx_check_call *call, int rank)
{
    const struct hx_plan *plan = call->plans[rank];
    struct hx_layout layout;
    uint32_t threads = 0;

    for (int s = 0; s < plan->nstages; s++)
        threads += stage_measure(call, &call->sizes, plan, &plan->stages[s], &layout);
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

static void stage_open(struct hx_check_rank *r, int idx, uint32_t *thread, size_t *slots)
{
    struct hx_check_run *run = r->run;
    struct hx_check_stage *stage = &r->stages[idx];
    const struct hx_stage *of = &r->plan->stages[idx];

    stage->of = r;
    stage->stage = of;
    stage->window = stage_measure(&run->calls[r->call], &r->sizes, r->plan, of, &stage->layout);
    stage->max_spans = hx_layout_max_spans(of);
    stage->whole = stage->layout;
    stage->whole.plan = &r->whole;
    stage->whole.sizes.places = NULL;
    stage->whole.sizes.pair_counts = stage->layout.sizes.pair_counts ? &r->numbered : NULL;
    stage->first_thread = *thread;
    *thread += stage->window;
    stage->slot_offset = *slots;
    *slots += stage->window * stage->layout.slot_bytes;
    stage->peers = hx_check_alloc(&run->store, (size_t)of->n, sizeof(int));
    slices_open(run, stage);
    if (of->me < 0 || of->me >= of->n || of->members[of->me] != r->rank)
        hx_check_fault(run, "call %d, rank %d, stage %d (%s): the rank is not in its own place among the members", r->call,
                       r->rank, idx, of->algorithm);
    for (int i = 0; i < of->n; i++) {
        int peer = of->members[i];
        stage->peers[i] =
            peer >= 0 && peer < run->shape->nranks ? peer_stage(r->plan, idx, run->calls[r->call].plans[peer], i) : -1;
        if (stage->peers[i] < 0)
            hx_check_fault(run, "call %d, rank %d, stage %d (%s): rank %d has no such stage", r->call, r->rank, idx,
                           of->algorithm, peer);
    }
}

static int uses_rings(const struct hx_stage *stage)
{
    return stage->ntransfers && stage->scope != HX_SCOPE_INTER;
}

/* As bind gives them out: the stages' rings one after the other, one for each place in the window. */
static void rings_assign(struct hx_check_rank *r)
{
    int rings = 0;

    for (int s = 0; s < r->plan->nstages; s++) {
        r->stages[s].ring = rings;
        rings += uses_rings(r->stages[s].stage) ? (int)r->stages[s].window : 0;
    }
    if (rings > HX_PAIR_RINGS || r->plan->nflags > HX_NODE_FLAGS)
        hx_check_fault(r->run, "call %d, rank %d: needs %d rings to a rank of its node (at most %d) and %u flags (at most %d)",
                       r->call, r->rank, rings, HX_PAIR_RINGS, r->plan->nflags, HX_NODE_FLAGS);
}

/* The slots, flags and rings of a stage must be in the same places on all members of a node. */
static void places_compare(struct hx_check_rank *r)
{
    for (int s = 0; s < r->plan->nstages; s++) {
        const struct hx_check_stage *mine = &r->stages[s];
        const struct hx_stage *stage = mine->stage;
        int shares = stage->uses_slot || stage->nflags || uses_rings(stage);
        for (uint32_t i = 0; i < (uint32_t)stage->n && shares; i++) {
            const struct hx_check_stage *theirs = hx_check_peer(mine, i);
            if (hx_check_same_node(theirs->of, r) &&
                (theirs->slot_offset != mine->slot_offset || theirs->layout.slot_bytes != mine->layout.slot_bytes ||
                 theirs->stage->first_flag != stage->first_flag || theirs->stage->nflags != stage->nflags ||
                 theirs->ring != mine->ring))
                hx_check_fault(r->run,
                               "call %d, rank %d, stage %d (%s): its slot, flags or rings have other places than those of rank %d",
                               r->call, r->rank, s, stage->algorithm, theirs->of->rank);
        }
    }
}

/* The lengths that the rank sends and receives, and the lengths of other ranks' blocks that it knows when it has learnt them. */
static void pair_counts_open(struct hx_check_rank *r, const struct hx_pair_counts *all)
{
    const struct hx_plan *plan = r->plan;
    size_t *heard = r->learns ? hx_check_alloc(&r->run->store, r->heard.bytes, 1) : NULL;
    uint64_t i = 0;

    r->pair_counts = all[plan->rank];
    for (int64_t x; heard && (x = hx_check_work_pair(plan, &i)) >= 0;)
        heard[hx_layout_work_place(plan, (uint64_t)x)] =
            plan->graph ? all[plan->graph->from[x]].sent[(uint32_t)x - plan->graph->start[plan->graph->from[x]]] : all[x / plan->p].sent[x % plan->p];
    r->sizes.heard = heard;
    r->numbered = r->pair_counts;
    r->numbered.sent_at = NULL;
    r->sizes.pair_counts = &r->pair_counts;
}

/* Returns the bytes of its slots. */
static size_t rank_open(struct hx_check_rank *r)
{
    struct hx_check_run *run = r->run;
    const struct hx_check_call *of = &run->calls[r->call];
    const struct hx_plan *plan = r->plan = of->plans[r->rank];
    size_t in_bytes, out_bytes, slots = 0;
    uint32_t thread = (uint32_t)run->shape->nranks;

    r->sizes = of->sizes;
    for (int s = 0; s < plan->nstages; s++) {
        r->learns |= plan->stages[s].share == HX_SHARE_COUNTS;
        for (uint32_t i = 0; i < plan->stages[s].nsteps; i++)
            run->fetches |= plan->stages[s].steps[i].op == HX_OP_FETCH;
    }
    if (r->learns) {
        memory_open(run, &r->counts, "counts", r->rank, hx_layout_space_bytes(plan, &r->sizes, HX_COUNTS));
        memory_open(run, &r->heard, "heard", r->rank, hx_layout_space_bytes(plan, &r->sizes, HX_HEARD));
    }
    if (of->pair_counts)
        pair_counts_open(r, of->pair_counts);
    in_bytes = hx_layout_space_bytes(plan, &r->sizes, HX_IN);
    out_bytes = hx_layout_space_bytes(plan, &r->sizes, HX_OUT);
    r->whole = *plan;
    r->whole.in_block = 0;
    r->whole.in_nblocks = (uint32_t)plan->nblocks;
    for (int i = 0; i < r->rank; i++)
        thread += threads_count(of, i);
    if (of->in_place && hx_coll_gives(plan->coll) == HX_HOLDS_OWN) /* IN is OUT's own block */
        r->in_base = hx_layout_out_place(plan, &r->sizes, (uint32_t)plan->in_block);
    if (of->in_place) {
        size_t end = r->in_base + in_bytes;
        memory_open(run, &r->user[0], "in and out", r->rank, end > out_bytes ? end : out_bytes);
    } else {
        memory_open(run, &r->user[0], "in", r->rank, in_bytes);
        memory_open(run, &r->user[1], "out", r->rank, out_bytes);
    }
    memory_open(run, &r->work, "work", r->rank, hx_layout_space_bytes(plan, &r->sizes, HX_WORK));
    r->stages = hx_check_alloc(&run->store, (size_t)plan->nstages, sizeof(*r->stages));
    for (int s = 0; s < plan->nstages; s++)
        stage_open(r, s, &thread, &slots);
    rings_assign(r);
    return slots;
}

/* Room for the operands of any step, and for what each call makes of the vector. */
static void buffers_open(struct hx_check_run *run)
{
    size_t most = 1, spans = 1, n = (size_t)run->shape->nranks;
    struct hx_check_store *store = &run->store;

    for (int c = 0; c < run->ncalls; c++)
        for (size_t r = 0; r < n; r++) {
            const struct hx_check_call *call = &run->calls[c];
            const uint64_t nblocks = call->plans[r]->nblocks;
            struct hx_extent last = nblocks ? hx_layout_extent(call->plans[r], &call->sizes, nblocks - 1) : (struct hx_extent){0, 0};
            most = last.start + last.length > most ? last.start + last.length : most;
            if (hx_coll_has_pair_counts(call->plans[r]->coll) && most < (nblocks > n ? nblocks : n) * sizeof(size_t))
                most = (nblocks > n ? nblocks : n) * sizeof(size_t); /* lengths */
            for (int s = 0; s < call->plans[r]->nstages; s++) {
                size_t of = (size_t)hx_layout_max_spans(&call->plans[r]->stages[s]);
                spans = of > spans ? of : spans;
            }
        }
    run->spans = hx_check_alloc(store, spans, sizeof(*run->spans));
    for (int i = 0; i < 2; i++)
        run->cells[i] = hx_check_alloc(store, most, sizeof(uint32_t));
    run->elements = hx_check_alloc(store, most, sizeof(uint32_t));
    run->fold = hx_check_alloc(store, most, sizeof(uint32_t));
    for (int c = 0; c < run->ncalls; c++) {
        run->expressions[c] = hx_check_alloc(store, most, sizeof(uint64_t));
        run->ranks[c] = hx_check_alloc(store, n, sizeof(*run->ranks[c]));
    }
}

void hx_check_run_open(struct hx_check_run *run)
{
    struct hx_check_store *store = &run->store;
    int n = run->shape->nranks;
    uint32_t most = 0;

    for (int c = 0; c < run->ncalls; c++) {
        uint32_t threads = 0;
        for (int r = 0; r < n; r++)
            threads += threads_count(&run->calls[c], r);
        most = threads > most ? threads : most;
    }
    hx_check_store_open(store, n, (uint32_t)n + most);
    run->slots = hx_check_alloc(store, (size_t)n, sizeof(*run->slots));
    run->at = hx_check_alloc(store, (size_t)n, sizeof(int));
    run->buckets = hx_check_alloc(store, HX_CHECK_BUCKETS, sizeof(uint32_t));
    run->expressions = hx_check_alloc(store, (size_t)run->ncalls, sizeof(*run->expressions));
    run->ranks = hx_check_alloc(store, (size_t)run->ncalls, sizeof(*run->ranks));
    buffers_open(run);
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < run->ncalls; c++) {
            struct hx_check_rank *r = hx_check_rank_at(run, c, i);
            r->run = run;
            r->call = c;
            r->rank = i;
            size_t slots = rank_open(r);
            run->part_bytes = slots > run->part_bytes ? slots : run->part_bytes;
        }
    }
    for (int i = 0; i < n; i++)
        for (int bank = 0; bank < 2; bank++)
            memory_open(run, &run->slots[i][bank], "slot", i, HX_CHECK_TURNS_MAX * run->part_bytes);
    for (int c = 0; c < run->ncalls; c++)
        for (int i = 0; i < n; i++)
            places_compare(hx_check_rank_at(run, c, i));
}

/* ---- a call of one rank */

void hx_check_call_begin(struct hx_check_rank *r)
{
    struct hx_check_store *store = &r->run->store;
    struct hx_check_thread *thread = &store->threads[r->rank];
    struct hx_check_access access = {(uint32_t)r->rank, thread->clock[r->rank], HX_CHECK_NONE, 0};

    r->entered = access.clock;
    for (uint32_t block = 0; block < r->plan->in_nblocks; block++) {
        struct hx_extent elements = hx_layout_extent(r->plan, &r->sizes, r->plan->in_block + block);
        size_t at = r->in_base + hx_layout_in_place(r->plan, &r->sizes, block);
        for (size_t i = 0; i < elements.length; i++)
            hx_check_input(store, hx_check_cell_of(store, &r->user[0], at + i), &access, r->call, r->rank, elements.start + i);
    }
    for (size_t i = 0, first = r->plan->in_block * sizeof(size_t); i < r->counts.bytes; i++) /* a number for each byte of a length */
        hx_check_input(store, hx_check_cell_of(store, &r->counts, i), &access, r->call, r->rank, first + i);
    thread->dirty = 1;
    r->entry = hx_check_release(store, (uint32_t)r->rank);
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

/* Check block number `block` of OUT. */
static void result_check(struct hx_check_rank *r, uint32_t block)
{
    const struct hx_check_call *of = &r->run->calls[r->call];
    struct hx_check_store *store = &r->run->store;
    const struct hx_plan *plan = r->plan;
    struct hx_extent elements = hx_layout_extent(plan, &r->sizes, hx_plan_out_block(plan, block));
    size_t at = hx_layout_out_place(plan, &r->sizes, block);
    int wanted = hx_coll_contributors(plan->coll, plan->p, r->rank), is_scan = hx_coll_is_scan(plan->coll), wrong;

    for (size_t i = 0; i < elements.length; i++) {
        uint32_t cell = hx_check_cell_of(store, &r->user[!of->in_place], at + i);
        uint32_t value = hx_check_cell_at(store, cell)->value, element = (uint32_t)(elements.start + i);
        const struct hx_check_value *v = hx_check_value_at(store, value);
        uint64_t *expression = &r->run->expressions[r->call][element];

        if (value == 0 || v->call != r->call)
            hx_check_end_fault(r, "element %u of out was never written", element);
        if (v->element != element)
            hx_check_end_fault(r, "element %u of out holds element %u", element, v->element);
        if ((wrong = contributor_wrong(store, plan, value, wanted)) >= 0)
            hx_check_end_fault(r, "element %u of out holds %d contributions of %d; rank %d is %s", element,
                               hx_check_value_count(store, value), wanted, wrong,
                               !hx_check_value_has(store, value, wrong) ? "missing" : "too many");
        if ((of->rank_order || is_scan) && !v->ordered)
            hx_check_end_fault(r, "element %u of out was not folded in rank order", element);
        if (!is_scan && !of->exact && *expression && *expression != v->expression)
            hx_check_end_fault(r, "element %u of out was folded in another order than on a lower rank: not equal bit by bit",
                               element);
        *expression = v->expression;
        if (of->roundings && v->roundings > *of->roundings)
            *of->roundings = v->roundings;
        if (of->codings && v->codings > *of->codings)
            *of->codings = v->codings;
    }
}

/* The caller may write its buffers again: no rank still reads them. */
static void buffers_return(struct hx_check_rank *r)
{
    struct hx_check_store *store = &r->run->store;
    struct hx_check_where end = {r->call, r->rank, 0, r->stages[0].layout.nslices - 1, r->stages[0].stage->nsteps};
    struct hx_check_access access = {(uint32_t)r->rank, store->threads[r->rank].clock[r->rank], HX_CHECK_NONE,
                                     hx_check_where_new(store, end)};
    char place[HX_CHECK_PLACE_BYTES];

    for (struct hx_check_memory *memory = r->user; memory < r->user + 2; memory++)
        for (size_t i = 0; i < memory->bytes; i++) {
            const struct hx_check_access *before = memory->cells[i] ? hx_check_write(store, memory->cells[i], &access) : NULL;
            if (before)
                hx_check_end_fault(r, "race: byte %zu of %s, which is the caller's again, may still be accessed by %s", i,
                                   memory->name, hx_check_where_place(r->run, before->where, place));
        }
}

void hx_check_call_end(struct hx_check_rank *r)
{
    const uint32_t *known = r->run->store.threads[r->rank].clock;
    int awaits_all = r->run->calls[r->call].barrier || hx_layout_awaits_all(r->plan, &r->sizes);

    for (uint32_t i = 0; i < r->plan->out_nblocks; i++)
        result_check(r, i);
    if (r->run->fetches)
        buffers_return(r);
    for (int q = 0; q < r->run->shape->nranks && awaits_all; q++) {
        uint32_t entered = hx_check_rank_at(r->run, r->call, q)->entered;
        if (!entered || known[q] < entered)
            hx_check_end_fault(r, "rank %d may not have entered the call", q);
    }
}
