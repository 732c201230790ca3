/* SPDX-License-Identifier: BSD-3-Clause */
/* Bind: a plan and a count become offsets, once per (collective, count, type); a cache keeps the last ones. */
#include "comm.h"
#include <stdlib.h>
#include <string.h>

static int one_span(const struct hx_layout *layout, uint8_t space, const struct hx_step *step, uint32_t row, uint64_t slice,
                    size_t *offset)
{
    struct hx_span span = {0, 0};
    int n = hx_layout_spans(layout, (enum hx_space)space, step->block, step->nblocks, row, slice, &span, 1);
    *offset = span.offset;
    return n <= 1;
}

void hx_bind_step(const struct hx_bound_stage *bs, const struct hx_step *step, uint64_t slice, struct hx_bound_step *out)
{
    *out = (struct hx_bound_step){.op = step->op, .dst = step->dst, .src = step->src, .own = step->own, .peer = step->peer,
                                  .n = step->n, .tag = step->tag, .handle = step->handle, .contiguous = 1,
                                  .plan_step = step};
    if (step->nblocks == 0)
        return;
    out->bytes = hx_layout_bytes(&bs->layout, step->block, step->nblocks, slice);
    out->elements = out->bytes / bs->layout.elem_bytes;
    if (step->dst != HX_NOWHERE)
        out->contiguous &= one_span(&bs->layout, step->dst, step, hx_step_dst_row(step), slice, &out->dst_offset);
    if (step->src != HX_NOWHERE)
        out->contiguous &= one_span(&bs->layout, step->src, step, step->row, slice, &out->src_offset);
    if (step->op == HX_OP_REDUCE && step->own != HX_NOWHERE)
        out->contiguous &= one_span(&bs->layout, step->own, step, hx_step_dst_row(step), slice, &out->own_offset);
}

static unsigned min_window(unsigned window, uint64_t slices)
{
    return slices < window ? (unsigned)slices : window;
}

static int lags(const struct hx_step *step)
{
    return (step->op == HX_OP_AWAIT || step->op == HX_OP_PUBLISH) && step->own;
}

static hx_status_t stage_bind(struct hx_comm *comm, struct hx_bound *bound, int s, const struct hx_choice *choice,
                              const struct hx_sizes *sizes)
{
    struct hx_bound_stage *bs = &bound->stages[s];
    const struct hx_stage *stage = &bound->plan->stages[s];
    int *local = bound->local;

    for (int i = 0; i < s; i++)
        local += bound->plan->stages[i].n;
    hx_layout_init(&bs->layout, bound->plan, stage, sizes);
    bs->stage = stage;
    bs->window = min_window(stage->coarse ? choice->window_coarse : choice->window_fine, bs->layout.nslices);
    bs->local = local;
    for (int i = 0; i < stage->n; i++) {
        int rank = stage->members[i];
        local[i] = comm->shape->node_of[rank] == comm->shape->node_of[comm->rank] ? comm->shape->local_of[rank] : -1;
    }
    if (!(bs->instances = calloc(bs->window, sizeof(*bs->instances))))
        return HX_ERR_NOMEM;
    for (unsigned w = 0; w < bs->window && stage->ntransfers; w++)
        if (!(bs->instances[w].transfers = calloc(stage->ntransfers, sizeof(struct hx_transfer))))
            return HX_ERR_NOMEM;
    bs->nsteps = stage->nsteps;
    if (bs->layout.nslices == 1) {
        if (!(bs->steps = malloc((stage->nsteps + 1) * sizeof(*bs->steps))))
            return HX_ERR_NOMEM;
        bs->nsteps = 0;
        for (uint32_t i = 0; i < stage->nsteps; i++)
            if (!lags(&stage->steps[i]))
                hx_bind_step(bs, &stage->steps[i], 0, &bs->steps[bs->nsteps++]);
    }
    return HX_SUCCESS;
}

/* Does all that ever stands in a slot of this stage fit in the line of a flag? */
static int slot_is_tiny(const struct hx_bound_stage *bs)
{
    struct hx_span span = {0, 0};

    return bs->stage->uses_slot && bs->layout.nslices == 1 &&
           hx_layout_spans(&bs->layout, HX_SLOT, 0, bs->stage->nblocks, 0, 0, &span, 1) == 1 &&
           span.offset + span.bytes <= HX_INLINE_BYTES;
}

/* Give every stage its part of the bank of slots, of the scratch memory and of the ring channels. */
static hx_status_t places_assign(struct hx_comm *comm, struct hx_bound *bound)
{
    size_t slots = 0;
    int channel = 0;

    bound->scratch_bytes = 0;
    for (int s = 0; s < bound->nstages; s++) {
        struct hx_bound_stage *bs = &bound->stages[s];
        bs->scratch_offset = bound->scratch_bytes;
        bound->scratch_bytes += bs->window * bs->layout.scratch_bytes;
        bs->channel = channel;
        if (bs->stage->ntransfers && bs->stage->scope != HX_SCOPE_INTER)
            channel += (int)bs->window;
        bs->tiny_slot = slot_is_tiny(bs);
        bs->slot_offset = slots;
        if (!bs->tiny_slot)
            slots += bs->window * bs->layout.slot_bytes;
    }
    if (slots > comm->node->bank_bytes)
        return hx_fail(HX_ERR_INTERNAL, "plan %s of %s needs %zu bytes of slots, there are %zu", bound->plan->name,
                       hx_coll_name(bound->plan->coll), slots, comm->node->bank_bytes);
    if (channel > HX_RING_CHANNELS || bound->plan->nflags > HX_NODE_FLAGS)
        return hx_fail(HX_ERR_INTERNAL, "plan %s of %s needs %d ring channels and %u flags, there are %d and %d",
                       bound->plan->name, hx_coll_name(bound->plan->coll), channel, bound->plan->nflags, HX_RING_CHANNELS,
                       HX_NODE_FLAGS);
    return HX_SUCCESS;
}

void hx_bound_release(struct hx_bound *bound)
{
    if (!bound)
        return;
    for (int s = 0; bound->stages && s < bound->nstages; s++) {
        struct hx_bound_stage *bs = &bound->stages[s];
        for (unsigned w = 0; bs->instances && w < bs->window; w++) {
            struct hx_transfer *transfers = bs->instances[w].transfers;
            for (uint32_t i = 0; transfers && i < bs->stage->ntransfers; i++)
                free(transfers[i].more_segments);
            free(transfers);
        }
        for (uint32_t i = 0; bs->steps && i < bs->nsteps; i++)
            free(bs->steps[i].sources);
        free(bs->instances);
        free(bs->steps);
    }
    hx_plan_release(bound->plan);
    free(bound->stages);
    free(bound->local);
    free(bound);
}

/* Slots of the only slice stand still: write down where they are. */
static hx_status_t slots_fix(struct hx_comm *comm, struct hx_bound *bound)
{
    for (int s = 0; s < bound->nstages; s++) {
        struct hx_bound_stage *bs = &bound->stages[s];
        for (uint32_t i = 0; bs->steps && i < bs->nsteps; i++) {
            struct hx_bound_step *step = &bs->steps[i];
            for (unsigned parity = 0; step->contiguous && parity < 2; parity++) {
                if (step->dst == HX_SLOT)
                    step->dst_slot[parity] = hx_slot_address(comm->node, bs, parity, (uint32_t)bs->stage->me, 0) + step->dst_offset;
                if (step->src == HX_SLOT && step->op == HX_OP_COPY)
                    step->src_slot[parity] = hx_slot_address(comm->node, bs, parity, step->peer, 0) + step->src_offset;
            }
            if (step->op != HX_OP_REDUCE || step->src != HX_SLOT || !step->contiguous)
                continue;
            if (!(step->sources = malloc(2 * step->n * sizeof(*step->sources))))
                return hx_fail(HX_ERR_NOMEM, "no memory for the %u sources of a reduce", step->n);
            for (uint32_t j = 0; j < 2 * step->n; j++)
                step->sources[j] = hx_slot_address(comm->node, bs, j / step->n, j % step->n, 0) + step->src_offset;
        }
    }
    return HX_SUCCESS;
}

static hx_status_t memory_reserve(struct hx_engine *engine, const struct hx_bound *bound)
{
    size_t bytes = bound->work_bytes + bound->scratch_bytes;

    if (bytes > engine->memory_bytes) {
        void *memory = NULL;
        if (posix_memalign(&memory, 4096, bytes))
            return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of scratch", bytes);
        free(engine->memory);
        engine->memory = memory;
        engine->memory_bytes = bytes;
    }
    if (bound->max_spans > engine->span_capacity) {
        for (int i = 0; i < 3; i++) {
            struct hx_span *spans = realloc(engine->spans[i], (size_t)bound->max_spans * sizeof(*spans));
            if (!spans)
                return hx_fail(HX_ERR_NOMEM, "no memory for %d spans", bound->max_spans);
            engine->spans[i] = spans;
        }
        engine->span_capacity = bound->max_spans;
    }
    if (bound->max_sources > engine->source_capacity) {
        const void **sources = realloc(engine->sources, (size_t)bound->max_sources * sizeof(*sources));
        if (!sources)
            return hx_fail(HX_ERR_NOMEM, "no memory for %d sources", bound->max_sources);
        engine->sources = sources;
        engine->source_capacity = bound->max_sources;
    }
    return HX_SUCCESS;
}

static void maxima_take(struct hx_bound *bound)
{
    for (int s = 0; s < bound->nstages; s++) {
        const struct hx_stage *stage = bound->stages[s].stage;
        int spans = hx_layout_max_spans(stage);
        bound->max_spans = spans > bound->max_spans ? spans : bound->max_spans;
        for (uint32_t i = 0; i < stage->nsteps; i++) {
            bound->writes_slot |= stage->steps[i].dst == HX_SLOT;
            if (stage->steps[i].op == HX_OP_REDUCE && (int)stage->steps[i].n > bound->max_sources)
                bound->max_sources = (int)stage->steps[i].n;
        }
    }
}

static hx_status_t bound_new(struct hx_comm *comm, const struct hx_call *call, struct hx_bound **out)
{
    struct hx_choice choice = {0};
    hx_status_t status = hx_registry.planner->choose(comm->planner, call->coll, call->root, call->count, call->elem_bytes, &choice);
    struct hx_bound *bound;
    int members = 0;

    if (status != HX_SUCCESS)
        return status;
    struct hx_sizes sizes = {call->count, call->elem_bytes, choice.fine_slices, choice.coarse_slices};
    if (!(bound = calloc(1, sizeof(*bound)))) {
        hx_plan_release(choice.plan);
        return hx_fail(HX_ERR_NOMEM, "no memory to bind a plan");
    }
    *bound = (struct hx_bound){.coll = call->coll, .root = call->root, .count = call->count, .elem_bytes = call->elem_bytes,
                               .plan = choice.plan, .nstages = choice.plan->nstages};
    for (int s = 0; s < bound->nstages; s++)
        members += choice.plan->stages[s].n;
    bound->stages = calloc((size_t)bound->nstages, sizeof(*bound->stages));
    bound->local = malloc((size_t)members * sizeof(int));
    status = bound->stages && bound->local ? HX_SUCCESS : HX_ERR_NOMEM;
    for (int s = 0; status == HX_SUCCESS && s < bound->nstages; s++)
        status = stage_bind(comm, bound, s, &choice, &sizes);
    if (status == HX_ERR_NOMEM)
        hx_fail(status, "no memory to bind plan %s", bound->plan->name);
    if (status == HX_SUCCESS)
        status = places_assign(comm, bound);
    if (status == HX_SUCCESS) {
        maxima_take(bound);
        bound->work_bytes = (hx_layout_space_bytes(bound->plan, &sizes, HX_WORK) + 63) & ~(size_t)63;
        bound->one_slice = sizes.fine_slices == 1;
        for (int s = 1; s < bound->nstages; s++) /* stages of one level run side by side */
            bound->one_slice &= bound->stages[s].stage->level > bound->stages[s - 1].stage->level;
        status = memory_reserve(&comm->engine, bound);
        if (status == HX_SUCCESS)
            status = slots_fix(comm, bound);
    }
    if (status != HX_SUCCESS) {
        hx_bound_release(bound);
        return status;
    }
    comm->engine.plans_bound++;
    *out = bound;
    return HX_SUCCESS;
}

hx_status_t hx_bind(struct hx_comm *comm, const struct hx_call *call, struct hx_bound **bound)
{
    uint64_t key = (call->count * 0x9e3779b97f4a7c15u) ^ ((uint64_t)call->coll << 61) ^ ((uint64_t)call->elem_bytes << 57) ^
                   ((uint64_t)call->root * 0xff51afd7ed558ccdu);
    struct hx_bound **entry = &comm->engine.cache[(key >> 58) % HX_BOUND_CACHE], *fresh = NULL;
    hx_status_t status;

    if (*entry && hx_bound_fits(*entry, call)) {
        comm->engine.last = *bound = *entry;
        return HX_SUCCESS;
    }
    if ((status = bound_new(comm, call, &fresh)) != HX_SUCCESS)
        return status;
    hx_bound_release(*entry);
    comm->engine.last = *entry = *bound = fresh;
    return HX_SUCCESS;
}
