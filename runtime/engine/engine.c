/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine's memory: its context, its ring queues, the plans that are bound. run.c runs them. */
#include "runtime/engine/engine.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void memory_free(struct hx_engine *engine)
{
    if (!engine->memory || !engine->process->net || !hx_registry.net->memory_remove(engine->process->net, engine->memory))
        free(engine->memory);
}

hx_status_t hx_engine_open(struct hx_engine *engine, struct hx_process *process, struct hx_members *members, int which)
{
    size_t queues = (size_t)members->local_n * HX_PAIR_RINGS * 2;
    hx_status_t status;

    engine->members = members;
    if (which == 0)
        members->blocking = engine;
    engine->context = hx_members_context(members, which);
    engine->prefix = engine->flow_prefix = hx_members_prefix(members, which, 64);
    if (process->net)
        engine->prefix = hx_members_prefix(members, which, hx_registry.net->match_bits(process->net) - HX_UNUSED_MATCH_BITS);
    engine->call = engine->first_call = engine->left_by_all = members->id.first_call;
    engine->turn_mask = SIZE_MAX;
    engine->blocks = which == 0;
    status = hx_node_open(&engine->node, process->shared, engine->context, members->local_n, members->local_me,
                          members->local_ranks, members->rows);
    if (status != HX_SUCCESS)
        return status;
    engine->process = process;
    engine->mine = hx_node_control(&engine->node, engine->node.me);
    engine->mine->pid = getpid();
    atomic_store_explicit(&engine->mine->waits_for, 0, memory_order_relaxed); /* left by an earlier communicator, like failed */
    atomic_store_explicit(&engine->mine->asked, 0, memory_order_relaxed); /* likewise */
    engine->asks.looked = atomic_load_explicit(&engine->mine->asks, memory_order_relaxed);
    atomic_store_explicit(&engine->mine->failed, 0, memory_order_relaxed);    /* others look at it only when all have agreed on this one */
    engine->passed = &process->shared->passed[process->shared->me].lines[HX_PASSED_STAMP].stamp;
    engine->queues = calloc(queues, sizeof(*engine->queues));
    engine->active = malloc(queues * sizeof(int));
    if (!engine->queues || !engine->active)
        return hx_fail(HX_ERR_NOMEM, "no memory for the ring queues of %d ranks", members->local_n);
    if (process->net) /* the slots of the whole node: a rank sends from those that others have filled, too */
        hx_registry.net->memory_add(process->net, engine->node.slots, hx_slots_bytes(process->shared), HX_MEMORY_SLOTS);
    return HX_SUCCESS;
}

uint64_t hx_engine_last_call(const struct hx_engine *engine)
{
    uint64_t last = engine->call;

    for (size_t i = 0; engine->queues && i < (size_t)engine->node.n * HX_PAIR_RINGS * 2; i++)
        if (engine->queues[i].number >> HX_SLICE_BITS > last)
            last = engine->queues[i].number >> HX_SLICE_BITS;
    return last;
}

/* Its pages are all its own: a provider that registers memory may keep them from the children of a fork. */
hx_status_t hx_engine_grow(struct hx_engine *engine, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = NULL;

    bytes = (bytes + page - 1) & ~(page - 1);
    if (posix_memalign(&memory, page, bytes))
        return HX_ERR_NOMEM;
    memory_free(engine);
    engine->memory = memory;
    engine->memory_bytes = bytes;
    if (engine->process->net)
        hx_registry.net->memory_add(engine->process->net, memory, bytes, HX_MEMORY_WORK);
    return HX_SUCCESS;
}

void hx_engine_forget_bound(struct hx_engine *engine)
{
    for (int i = 0; i < HX_BOUND_SETS * HX_BOUND_WAYS; i++)
        hx_bound_release(engine->cache[i / HX_BOUND_WAYS][i % HX_BOUND_WAYS]);
    memset(engine->cache, 0, sizeof(engine->cache));
    hx_adapt_free(engine); /* other plans may be chosen from now on */
}

void hx_engine_close(struct hx_engine *engine)
{
    hx_engine_forget_bound(engine);
    for (int i = 0; i < 3; i++)
        free(engine->spans[i]);
    memory_free(engine);
    free(engine->sources);
    free(engine->queues);
    free(engine->active);
    free(engine->pairs);
    free(engine->asks.answers);
    memset(engine, 0, sizeof(*engine));
}
