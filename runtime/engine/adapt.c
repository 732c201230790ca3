/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_ADAPT: blocking calls on one node change over between the plan that was chosen and its rival, whichever is faster as the program
 * calls (rivalry.h). All ranks must change at the same call. So what decides is the same on all: the order of an engine's blocking calls,
 * their signatures, and times that an all-reduce has made equal after each look and trial. The table below is kept by signature and by the order
 * of calls, not with bound plans: which of these are forgotten differs between ranks.
 * Calls that do not block take no part: how long one takes depends on when the program looks. They use the plan that was chosen.
 */
#include "runtime/base/clock.h"
#include "runtime/engine/rivalry.h"
#include "runtime/engine/run.h"
#include "runtime/engine/signature.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS 16
#define WAYS 4
#define WARM_MOST 16

/* One kind of call. Its signature is the same on all ranks, unlike its key: a datatype of the program's own has a number on each rank. */
struct hx_kind {
    struct hx_signature signature;
    int shared_alloc;
    uint64_t used;   /* the last call; 0: never */
    uint64_t number; /* how many kinds had a place in the table before, and 1 */
    struct hx_rivalry rivalry;
};

struct hx_adapt {
    struct hx_kind kinds[SETS][WAYS];
    uint64_t number;
};

uint64_t (*hx_adapt_extra_ns)(const struct hx_bound *bound);

/* May calls of this kind change over? The same on all ranks. */
static int takes_part(const struct hx_engine *engine, const struct hx_bound *bound)
{
    const struct hx_members *members = engine->members;

    return engine->process->env->adapt && engine == members->blocking && members->local_n == members->size &&
           bound->key.purpose == HX_FOR_CALL && !hx_coll_has_pair_counts(bound->key.coll);
}

static hx_status_t rival_choose(const struct hx_engine *engine, const struct hx_bound *bound, uint32_t number, struct hx_choice *choice)
{
    return hx_registry.planner->rival(engine->members->planner, bound->plan, bound->traits, bound->sizes.count, bound->elem_bytes, number, choice);
}

/* Calls of a plan that fill all parts of both banks: the same on all ranks. If there are more parts than WARM_MOST, all are short. */
static uint32_t warm_of(const struct hx_choice *choice)
{
    const uint32_t turns = choice->turns ? choice->turns : 1, all = choice->slot_bytes ? HX_BANKS * turns : 0;

    return all < WARM_MOST ? all : WARM_MOST;
}

hx_status_t hx_adapt_bind(struct hx_engine *engine, struct hx_bound *bound, const struct hx_choice *chosen, struct hx_traits traits)
{
    struct hx_choice choice = {0};
    hx_status_t status;

    bound->traits = traits;
    if (!takes_part(engine, bound))
        return HX_SUCCESS;
    if ((status = rival_choose(engine, bound, 0, &choice)) != HX_SUCCESS || !choice.plan)
        return status;
    hx_plan_release(choice.plan); /* it is bound when it is tried */
    bound->has_rival = 1;
    bound->warm[0] = warm_of(chosen);
    bound->fast_path = 0;
    if (!engine->adapt && !(engine->adapt = calloc(1, sizeof(*engine->adapt))))
        return hx_fail(HX_ERR_NOMEM, "no memory for the times of calls (HX_ADAPT)");
    return HX_SUCCESS;
}

void hx_adapt_free(struct hx_engine *engine)
{
    free(engine->adapt);
    engine->adapt = NULL;
}

/* The state of this kind of call. A new one takes the place of that of its set that was used longest ago. */
static struct hx_kind *kind_of(struct hx_engine *engine, const struct hx_bound *bound)
{
    struct hx_kind *set = engine->adapt->kinds[bound->signature_bits % SETS], *oldest = set;

    for (struct hx_kind *kind = set; kind < set + WAYS; kind++) {
        if (kind->used && kind->shared_alloc == bound->key.shared_alloc &&
            !memcmp(&kind->signature, &bound->signature, sizeof(kind->signature)))
            return kind;
        if (kind->used < oldest->used)
            oldest = kind;
    }
    *oldest = (struct hx_kind){.signature = bound->signature, .shared_alloc = bound->key.shared_alloc, .number = ++engine->adapt->number};
    hx_rivalry_begin(&oldest->rivalry);
    return oldest;
}

/* The key with the blocks' arrays, as the caller had them. words: memory for two entries for each rank. */
static struct hx_call_key key_of(const struct hx_bound *bound, size_t *words)
{
    const size_t n = (size_t)bound->plan->p;
    struct hx_call_key key = bound->key;

    if (!bound->starts)
        return key;
    key.blocks.counts = words;
    key.blocks.displs = bound->places ? words + n : NULL;
    for (size_t r = 0; r < n; r++) {
        words[r] = (bound->starts[r + 1] - bound->starts[r]) / bound->per_element;
        words[n + r] = bound->places ? bound->places[r] / bound->per_element : 0;
    }
    return key;
}

/* Bind this rival, unless it is. */
static hx_status_t rival_bind(struct hx_engine *engine, struct hx_bound *bound, uint32_t number)
{
    struct hx_choice choice = {0};
    size_t *words;
    hx_status_t status;

    if (bound->rival && bound->rival_number == number)
        return HX_SUCCESS;
    if (bound->rival)
        hx_bound_release(bound->rival);
    bound->rival = NULL;
    bound->rival_number = number;
    if ((status = rival_choose(engine, bound, number, &choice)) != HX_SUCCESS)
        return status;
    if (!choice.plan)
        return hx_fail(HX_ERR_INTERNAL, "the rival of plan %s of %s is lost", bound->plan->name, hx_coll_name(bound->key.coll));
    if (!(words = malloc(2 * (size_t)bound->plan->p * sizeof(*words)))) {
        hx_plan_release(choice.plan);
        return hx_fail(HX_ERR_NOMEM, "no memory to bind a plan");
    }
    bound->warm[1] = warm_of(&choice);
    status = hx_bind_plan(engine, key_of(bound, words), &choice, &bound->rival);
    free(words);
    return status;
}

/* A call that cannot begin: the communicator fails, so no rank waits for it. */
static hx_status_t adapt_fail(struct hx_engine *engine, const char *name, hx_status_t status)
{
    struct hx_bound nothing = {0}; /* of no stage: no message is under way */
    struct hx_run run = {.engine = engine, .name = name, .bound = &nothing, .status = status};

    engine->process->owner->broken(&run);
    return status;
}

#define NAME_BYTES sizeof(((struct hx_plan *)0)->name)

/* HX_EXPLAIN: the calls of this kind that follow use another plan. */
static void explain(const struct hx_engine *engine, const struct hx_kind *kind, char names[2][NAME_BYTES], uint32_t used_ns, uint32_t other_ns)
{
    const int in_use = kind->rivalry.in_use;
    char call[HX_CALL_TEXT_BYTES];

    if (!engine->process->env->explain || engine->members->rank > 0)
        return;
    hx_signature_tell(&kind->signature, hx_coll_name((enum hx_coll)kind->signature.coll), call, sizeof(call));
    fprintf(stderr, "hierax plan: %s: from now on %s, which took %.1f us; %s took %.1f us (HX_ADAPT)\n", call, names[in_use], other_ns / 1e3,
            names[!in_use], used_ns / 1e3);
}

/* The end of a look or trial: all ranks decide alike, by the longest time of each call. */
static hx_status_t agree(struct hx_engine *engine, struct hx_kind *kind, const struct hx_bound *plans[2], const char *name)
{
    const struct hx_call_key key = hx_call_key_for(HX_FOR_ADAPT, 0, hx_call_key_of(HX_COLL_ALLREDUCE, HX_UINT32, HX_MAX, 0, (size_t)kind->rivalry.timed));
    char names[2][NAME_BYTES]; /* the cache may forget the plans now */
    struct hx_bound *bound;
    uint32_t used_ns, other_ns;
    hx_status_t status;

    for (int i = 0; i < 2; i++)
        memcpy(names[i], plans[i]->plan->name, sizeof(names[i]));
    if ((status = hx_bind(engine, key, &bound)) != HX_SUCCESS)
        return adapt_fail(engine, name, status);
    if ((status = hx_engine_run(engine, bound, name, kind->rivalry.ns, kind->rivalry.ns)) != HX_SUCCESS)
        return status;
    engine->adapt_trials += kind->rivalry.timed == HX_TRIAL_CALLS;
    if (hx_rivalry_decide(&kind->rivalry, &used_ns, &other_ns)) {
        engine->adapt_changes++;
        explain(engine, kind, names, used_ns, other_ns);
    }
    return HX_SUCCESS;
}

/* ns of a call on this rank. Which plan is in use may not depend on a read that the kernel refuses. */
static uint32_t call_ns(const struct hx_engine *engine, const struct hx_bound *bound, uint64_t start)
{
    const uint64_t ns = hx_now_ns() - start + (hx_adapt_extra_ns ? hx_adapt_extra_ns(bound) : 0);

    if (engine->asks.last_call == engine->call)
        return HX_NS_NEVER;
    return ns < HX_NS_NEVER ? (uint32_t)ns : HX_NS_NEVER - 1;
}

hx_status_t hx_adapt_run(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out)
{
    struct hx_kind *kind = bound->kind && bound->kind->number == bound->kind_number ? bound->kind : kind_of(engine, bound);
    struct hx_rivalry *rivalry = &kind->rivalry;
    enum hx_rivalry_now now;
    hx_status_t status;
    uint64_t start;
    int by_rival;

    if ((rivalry->in_use || !rivalry->until) && (status = rival_bind(engine, bound, rivalry->rival)) != HX_SUCCESS)
        return adapt_fail(engine, name, status);
    now = hx_rivalry_next(rivalry, bound->warm, &by_rival);
    start = now == HX_RIVALRY_PLAIN ? 0 : hx_now_ns();
    bound->kind = kind;
    bound->kind_number = kind->number;
    kind->used = engine->call + 1;
    status = hx_run_plan(engine, by_rival ? bound->rival : bound, name, in, out);
    if (now == HX_RIVALRY_PLAIN || status != HX_SUCCESS)
        return status;
    rivalry->ns[rivalry->timed - 1] = call_ns(engine, by_rival ? bound->rival : bound, start);
    if (now == HX_RIVALRY_TIMED)
        return HX_SUCCESS;
    return agree(engine, kind, (const struct hx_bound *[2]){bound, bound->rival}, name);
}
