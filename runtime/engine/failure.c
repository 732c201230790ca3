/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed communicators on one node, and the questions that ranks ask other nodes: see failure.h. */
#include "runtime/engine/failure.h"

void hx_failure_note(const struct hx_engine *engine, const struct hx_failure *failure)
{
    const struct hx_engine *blocking = engine->members->blocking;
    const struct hx_node *node = &blocking->node;

    if (atomic_load_explicit(&blocking->mine->failed, memory_order_relaxed))
        return;
    node->failures[node->rows[node->me]] = *failure;
    /* pairs with the acquire in hx_failure_of */
    atomic_store_explicit(&blocking->mine->failed, 1, memory_order_release);
}

const struct hx_failure *hx_failure_of(const struct hx_engine *engine, int i)
{
    const struct hx_node *node = &engine->members->blocking->node;

    return atomic_load_explicit(&hx_node_control(node, i)->failed, memory_order_acquire) ? &node->failures[node->rows[i]] : NULL;
}

const struct hx_failure *hx_failure_look(const struct hx_engine *engine, hx_status_t but)
{
    for (int i = 0; i < engine->node.n; i++) {
        const struct hx_failure *failure = hx_failure_of(engine, i);
        if (!failure || failure->status == (int32_t)but)
            continue;
        hx_failure_note(engine, failure);
        return failure;
    }
    return NULL;
}

struct hx_control_message hx_failure_question(const struct hx_run *run, int late)
{
    const struct hx_engine *engine = run->engine;

    return (struct hx_control_message){.kind = HX_MESSAGE_ASKS, .rank = late, .context = engine->context,
                                       .generation = engine->members->id.generation, .call = engine->pairs ? 0 : engine->call,
                                       .signature = run->bound->signature};
}
