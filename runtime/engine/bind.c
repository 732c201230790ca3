/* SPDX-License-Identifier: BSD-3-Clause */
/* Bind: a plan is given its place in memory, once per call key; a cache keeps the last ones. Steps: bind_step.c. */
#include "runtime/base/probe.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/signature.h"
#include <stdlib.h>
#include <string.h>

#define FOLD_BYTES ((size_t)8192) /* results of the program's own operation, that stay in the cache */

/* Does all that ever stands in a slot of this stage fit in the line of a flag? There it is aligned to 8 bytes. All ranks of the node must
 * say the same, and domains have their blocks in other orders: never, where there are such. */
static int slot_is_tiny(const struct hx_bound_stage *bs)
{
    struct hx_span span;

    if (!bs->stage->uses_slot || bs->stage->charge_start || bs->stage->share == HX_SHARE_SHORT || bs->layout.nslices > 1 || (bs->reduces_by_spans && bs->layout.sizes.elem_bytes % 16 == 0))
        return 0;
    span = hx_layout_slot_span(&bs->layout);
    return span.bytes > 0 && span.offset + span.bytes <= HX_INLINE_BYTES;
}

static hx_status_t stage_bind(const struct hx_engine *engine, struct hx_bound *bound, int s, const struct hx_choice *choice,
                              const struct hx_sizes *sizes)
{
    struct hx_bound_stage *bs = &bound->stages[s];
    const struct hx_stage *stage = &bound->plan->stages[s];
    const struct hx_node *node = &engine->node;
    const struct hx_shape *shape = engine->members->shape;

    hx_layout_init(&bs->layout, bound->plan, stage, sizes);
    bs->stage = stage;
    bs->me = (uint32_t)stage->me;
    bs->mate = HX_NO_MATE;
    bs->reduces_by_spans = bound->user.fn != NULL;
    if (stage->wire) {
        bs->encode = hx_wire_encoder(stage->wire, bound->key.dtype);
        bs->decode = hx_wire_decoder(stage->wire, bound->key.dtype);
    }
    bs->window = stage->coarse ? choice->window_coarse : choice->window_fine;
    if (bs->layout.nslices < bs->window)
        bs->window = (unsigned)bs->layout.nslices;
    bs->tiny_slot = slot_is_tiny(bs);
    bs->controls = calloc((size_t)stage->n, sizeof(*bs->controls));
    bs->doorbells = calloc((size_t)stage->n, sizeof(*bs->doorbells));
    bs->slot_offsets = calloc((size_t)stage->n, sizeof(*bs->slot_offsets));
    if (!bs->controls || !bs->doorbells || !bs->slot_offsets)
        return HX_ERR_NOMEM;
    for (int i = 0; i < stage->n; i++) {
        int local = shape->local_of[stage->members[i]];
        if (shape->node_of[stage->members[i]] != shape->node_of[engine->members->rank])
            continue;
        size_t row = (size_t)node->rows[local];
        if (node->rows[local] == node->shared->mate && !engine->process->net) /* looks at the network are too long to be counted */
            bs->mate = (uint32_t)i;
        bs->controls[i] = hx_node_control(node, local);
        bs->doorbells[i] = hx_node_doorbell(node, local);
        bs->slot_offsets[i] = row * (bs->tiny_slot ? sizeof(struct hx_control) : 2 * node->shared->bank_bytes);
    }
    if (!(bs->instances = calloc(bs->window, sizeof(*bs->instances))))
        return HX_ERR_NOMEM;
    for (unsigned w = 0; w < bs->window; w++) {
        bs->instances[w].stage = bs;
        bs->instances[w].transfers = calloc(stage->ntransfers + 1, sizeof(struct hx_transfer));
        if (!bs->instances[w].transfers)
            return HX_ERR_NOMEM;
        for (uint32_t i = 0; i < stage->ntransfers; i++)
            bs->instances[w].transfers[i].net.why = engine->members->why;
    }
    bs->nsteps = bs->streams_from = stage->nsteps;
    return HX_SUCCESS;
}

/* Give every stage its part of the bank of slots, of the scratch memory and of the rings. */
static hx_status_t places_assign(const struct hx_node *node, const struct hx_choice *choice, struct hx_bound *bound)
{
    size_t slots = 0, turns = choice->turns > 0 ? choice->turns : 1;
    int ring = 0;

    bound->scratch_bytes = 0;
    for (int s = 0; s < bound->nstages; s++) {
        struct hx_bound_stage *bs = &bound->stages[s];
        bs->scratch_offset = bound->scratch_bytes;
        bound->scratch_bytes += bs->window * bs->layout.scratch_bytes;
        bs->ring = ring;
        if (bs->stage->ntransfers && bs->stage->scope != HX_SCOPE_INTER)
            ring += (int)bs->window;
        bs->slot_offset = slots;
        if (!bs->tiny_slot)
            slots += bs->window * bs->layout.slot_bytes;
    }
    if (turns > node->shared->calls_kept / 2)
        turns = node->shared->calls_kept / 2;
    while (turns > 1 && turns * slots > node->shared->bank_bytes) /* rounded blocks may fill more here than on the fullest node */
        turns /= 2;
    /* parts as long as they can be: plans of as many parts share no memory in calls with different parts */
    bound->turn_bytes = slots ? node->shared->bank_bytes / turns : 0;
    bound->turn_mask = turns - 1;
    bound->rings = ring;
    if (slots > node->shared->bank_bytes)
        return hx_fail(HX_ERR_INTERNAL, "plan %s of %s needs %zu bytes of slots, but there are %zu", bound->plan->name,
                       hx_coll_name(bound->plan->coll), slots, node->shared->bank_bytes);
    if (ring > HX_PAIR_RINGS || bound->plan->nflags > HX_NODE_FLAGS)
        return hx_fail(HX_ERR_INTERNAL, "plan %s of %s needs %d rings to a rank of its node and %u flags, but there are %d and %d",
                       bound->plan->name, hx_coll_name(bound->plan->coll), ring, bound->plan->nflags,
                       HX_PAIR_RINGS, HX_NODE_FLAGS);
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
        free(bs->instances);
        free(bs->controls);
        free(bs->doorbells);
        free(bs->slot_offsets);
    }
    for (struct hx_bound_step *step = bound->steps; step < bound->steps_end; step++)
        free(step->sources);
    hx_bound_release(bound->rival);
    free(bound->starts);
    free(bound->heard);
    hx_plan_release(bound->plan);
    free(bound->steps);
    free(bound->stages);
    free(bound);
}

static hx_status_t memory_reserve(struct hx_engine *engine, const struct hx_bound *bound)
{
    size_t bytes = bound->work_bytes + bound->scratch_bytes + 2 * bound->fold_bytes;

    if (bytes > engine->memory_bytes && hx_engine_grow(engine, bytes) != HX_SUCCESS)
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of scratch", bytes);
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

/* After how many calls does a step write the same memory again, if all use their banks alike? */
static uint64_t calls_kept(const struct hx_node *node, const struct hx_bound *bound, const struct hx_bound_stage *bs, const struct hx_step *step)
{
    if (step->dst == HX_SLOT && !bs->tiny_slot)
        return 2 * (bound->turn_mask + 1);
    return step->dst == HX_SLOT || step->op == HX_OP_PUBLISH || step->op == HX_OP_ELECT ? node->shared->calls_kept : UINT64_MAX;
}

static void bounds_take(const struct hx_node *node, struct hx_bound *bound)
{
    bound->kept = UINT64_MAX;
    for (int s = 0; s < bound->nstages; s++) {
        const struct hx_stage *stage = bound->stages[s].stage;
        int spans = hx_layout_max_spans(stage);
        bound->max_spans = spans > bound->max_spans ? spans : bound->max_spans;
        for (uint32_t i = 0; i < stage->nsteps; i++) {
            uint64_t kept = calls_kept(node, bound, &bound->stages[s], &stage->steps[i]);
            bound->kept = kept < bound->kept ? kept : bound->kept;
            if (stage->steps[i].op == HX_OP_REDUCE && (int)stage->steps[i].n > bound->max_sources)
                bound->max_sources = (int)stage->steps[i].n;
        }
    }
}

static hx_status_t bound_fill(struct hx_engine *engine, struct hx_bound *bound, const struct hx_choice *choice)
{
    struct hx_sizes sizes = {.count = bound->key.count * bound->per_element, .elem_bytes = bound->elem_bytes,
                             .fine_slices = choice->fine_slices, .coarse_slices = choice->coarse_slices,
                             .starts = bound->starts, .places = bound->places, .limit = choice->limit};
    size_t heard_bytes = 0; /* at least one, if the plan has lengths to learn: of a graph perhaps none of this rank's */
    hx_status_t status;

    for (int s = 0; s < bound->nstages && !heard_bytes; s++)
        if (bound->plan->stages[s].share == HX_SHARE_COUNTS)
            heard_bytes = hx_layout_space_bytes(bound->plan, &sizes, HX_HEARD) + 1;
    bound->sizes = sizes;
    bound->stages = calloc((size_t)(unsigned)bound->nstages, sizeof(*bound->stages));
    bound->heard = heard_bytes ? malloc(heard_bytes) : NULL;
    status = bound->stages && !heard_bytes == !bound->heard ? HX_SUCCESS : HX_ERR_NOMEM;
    for (int s = 0; status == HX_SUCCESS && s < bound->nstages; s++)
        status = stage_bind(engine, bound, s, choice, &sizes);
    if (status != HX_SUCCESS)
        return hx_fail(status, "no memory to bind plan %s", bound->plan->name);
    if ((status = places_assign(&engine->node, choice, bound)) != HX_SUCCESS)
        return status;
    bounds_take(&engine->node, bound);
    hx_bind_streams(engine, bound);
    if (bound->user.fn)
        bound->fold_bytes = ((FOLD_BYTES > bound->elem_bytes ? FOLD_BYTES : bound->elem_bytes) + 63) & ~(size_t)63;
    bound->work_bytes = (hx_layout_space_bytes(bound->plan, &sizes, HX_WORK) + 63) & ~(size_t)63;
    bound->runs_inline = sizes.fine_slices == 1 && !HX_TRACING;
    bound->awaits_all = hx_layout_awaits_all(bound->plan, &sizes);
    for (int s = 1; s < bound->nstages; s++) /* stages of one level run side by side */
        bound->runs_inline &= bound->stages[s].stage->level > bound->stages[s - 1].stage->level;
    for (int s = 0; s < bound->nstages; s++)
        bound->offers |= bound->stages[s].stage->offers;
    bound->fast_path = bound->is_short = bound->runs_inline && !bound->heard && !bound->offers;
    bound->traced_as = HX_TRACING ? hx_trace_keep(engine->process->trace, bound->plan->name) : NULL;
    status = hx_bind_steps(&engine->node, bound);
    return status == HX_SUCCESS ? memory_reserve(engine, bound) : status;
}

/* Keep what the caller's arrays say. */
static hx_status_t blocks_bind(struct hx_bound *bound, const struct hx_blocks *blocks)
{
    size_t n = (size_t)bound->plan->p;

    bound->key.blocks.counts = bound->key.blocks.displs = NULL;
    if (!blocks->counts)
        return HX_SUCCESS;
    if (!(bound->starts = malloc((2 * n + 1) * sizeof(*bound->starts))))
        return hx_fail(HX_ERR_NOMEM, "no memory for the blocks of %zu ranks", n);
    bound->starts[0] = 0;
    for (size_t r = 0; r < n; r++)
        bound->starts[r + 1] = bound->starts[r] + blocks->counts[r] * bound->per_element;
    if (!blocks->displs)
        return HX_SUCCESS;
    bound->places = bound->starts + n + 1;
    for (size_t r = 0; r < n; r++)
        bound->places[r] = blocks->displs[r] * bound->per_element;
    return HX_SUCCESS;
}

int hx_bound_fits_blocks(const struct hx_bound *bound, const struct hx_blocks *blocks)
{
    if (!bound->places != !blocks->displs)
        return 0;
    for (int r = 0; r < bound->plan->p; r++)
        if (bound->starts[r + 1] - bound->starts[r] != blocks->counts[r] * bound->per_element ||
            (bound->places && bound->places[r] != blocks->displs[r] * bound->per_element))
            return 0;
    return 1;
}

/* The bytes of a plan's unit. If nothing is reduced, elements of the program's own types are cut. So slices stay short even if
 * the elements are long. */
static uint32_t unit_bytes(struct hx_call_key key)
{
    size_t bytes = hx_dtype_bytes(key.dtype);

    if (hx_is_user((unsigned)key.dtype) && !hx_coll_reduces(key.coll) && !hx_coll_has_pair_counts(key.coll))
        bytes = bytes % 16 == 0 ? 16 : bytes & -bytes;
    return (uint32_t)bytes;
}

hx_status_t hx_bind_plan(struct hx_engine *engine, struct hx_call_key key, const struct hx_choice *choice, struct hx_bound **out)
{
    struct hx_bound *bound = malloc(sizeof(*bound));
    hx_status_t status;

    if (!bound) {
        hx_plan_release(choice->plan);
        return hx_fail(HX_ERR_NOMEM, "no memory to bind a plan");
    }
    *bound = (struct hx_bound){.key = key, .elem_bytes = unit_bytes(key), .plan = choice->plan, .nstages = choice->plan->nstages,
                               .per_element = hx_dtype_bytes(key.dtype) / unit_bytes(key),
                               .kernel = hx_reduce_kernel(key.dtype, key.op), .user = hx_user_op(key.op)};
    if ((status = blocks_bind(bound, &key.blocks)) != HX_SUCCESS ||
        (status = bound_fill(engine, bound, choice)) != HX_SUCCESS) {
        hx_bound_release(bound);
        return status;
    }
    bound->signature = hx_signature_of(&key, bound->plan->p, hx_coll_has_pair_counts(key.coll));
    bound->signature_bits = hx_signature_bits(&bound->signature);
    hx_signature_keep(engine->mine, &bound->signature);
    engine->plans_bound++;
    *out = bound;
    return HX_SUCCESS;
}

int hx_signature_find(const struct hx_engine *engine, hx_signature_match_t *match, void *arg, struct hx_signature *out)
{
    for (int i = 0; i < HX_BOUND_SETS * HX_BOUND_WAYS; i++) {
        const struct hx_bound *bound = engine->cache[i / HX_BOUND_WAYS][i % HX_BOUND_WAYS];
        if (bound && match(&bound->signature, arg)) {
            *out = bound->signature;
            return 1;
        }
    }
    for (unsigned i = 0; i < HX_SIGNATURES; i++) { /* groups are created by plans that are not in the cache */
        *out = hx_signature_kept(engine->mine, i);
        if (match(out, arg))
            return 1;
    }
    return 0;
}

static struct hx_traits traits_of(const struct hx_call_key *key, struct hx_graph *graph)
{
    struct hx_user_op op = hx_user_op(key->op);
    struct hx_traits traits = hx_traits_of(key->dtype);

    if (op.fn)
        traits = (struct hx_traits){.folding = op.commutative ? HX_FOLDS_ALIKE : HX_FOLDS_IN_ORDER, .numbers = HX_NUMBERS_OWN};
    traits.shared_alloc = key->shared_alloc;
    traits.wire = hx_call_key_wire(key);
    traits.wire_elem_bytes = (uint32_t)hx_dtype_bytes(key->dtype);
    traits.graph = key->purpose == HX_FOR_NEIGHBORS ? graph : NULL;
    if (key->wire && key->purpose == HX_FOR_CALL)
        traits.exact_because = hx_wire_lack(key->dtype, key->op);
    return traits;
}

static hx_status_t bound_new(struct hx_engine *engine, struct hx_call_key key, struct hx_bound **out)
{
    struct hx_choice choice = {0};
    uint32_t unit = unit_bytes(key);
    const struct hx_traits traits = traits_of(&key, engine->members->graph);
    hx_status_t status = hx_registry.planner->choose(engine->members->planner, key.coll, key.root, traits,
                                                     key.count * (hx_dtype_bytes(key.dtype) / unit), unit, &choice);

    if (status != HX_SUCCESS || (status = hx_bind_plan(engine, key, &choice, out)) != HX_SUCCESS)
        return status;
    if ((status = hx_adapt_bind(engine, *out, &choice, traits)) != HX_SUCCESS)
        hx_bound_release(*out);
    return status;
}

hx_status_t hx_bind(struct hx_engine *engine, struct hx_call_key key, struct hx_bound **bound)
{
    struct hx_bound **set = hx_bound_set(engine, key), *found = NULL;
    hx_status_t status;
    /* HX_STATS and HX_CHECK: hx_bound_find finds nothing, so that all calls are counted, and compared */
    int first = engine->process->env->stats > 0 || engine->process->env->check, way = first;

    while (way < HX_BOUND_WAYS - 1 && set[way] && !hx_bound_fits(set[way], key))
        way++;
    if (hx_bound_fits(set[way], key)) {
        found = set[way];
    } else {
        if ((status = bound_new(engine, key, &found)) != HX_SUCCESS)
            return status;
        hx_bound_release(set[way]);
    }
    memmove(set + first + 1, set + first, (size_t)(way - first) * sizeof(*set));
    *bound = set[first] = found;
    return HX_SUCCESS;
}
