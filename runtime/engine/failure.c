/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed communicators on one node, and the questions that ranks ask other nodes: see failure.h. */
#include "runtime/engine/failure.h"

static const struct hx_failure revocation = {HX_ERR_REVOKED, -1, "a rank has revoked this communicator (hx_comm_revoke)"};

static void revocation_note(const struct hx_engine *blocking)
{
    if (atomic_load_explicit(&blocking->mine->failed, memory_order_relaxed) == HX_REVOKED)
        return;
    atomic_store_explicit(&blocking->mine->failed, HX_REVOKED, memory_order_relaxed); /* no other data depends on it */
    /* release pairs with the acquire in hx_failure_revoked */
    atomic_fetch_add_explicit(&blocking->node.shared->header->revocations, 1, memory_order_release);
}

int hx_failure_revoked(const struct hx_engine *engine, uint32_t *seen)
{
    const struct hx_node *node = &engine->members->blocking->node;
    /* acquire pairs with the release in revocation_note */
    const uint32_t now = atomic_load_explicit(&node->shared->header->revocations, memory_order_acquire);

    if (now == *seen)
        return 0;
    *seen = now;
    for (int i = 0; i < node->n; i++)
        if (atomic_load_explicit(&hx_node_control(node, i)->failed, memory_order_relaxed) == HX_REVOKED)
            return 1;
    return 0;
}

void hx_failure_note(const struct hx_engine *engine, const struct hx_failure *failure)
{
    const struct hx_engine *blocking = engine->members->blocking;
    const struct hx_node *node = &blocking->node;

    if (failure->status == HX_ERR_REVOKED) {
        revocation_note(blocking);
        return;
    }
    if (atomic_load_explicit(&blocking->mine->failed, memory_order_relaxed) != HX_WORKS)
        return;
    node->failures[node->rows[node->me]] = *failure;
    /* pairs with the acquire in hx_failure_of */
    atomic_store_explicit(&blocking->mine->failed, HX_FAILED, memory_order_release);
}

const struct hx_failure *hx_failure_of(const struct hx_engine *engine, int i)
{
    const struct hx_node *node = &engine->members->blocking->node;

    switch (atomic_load_explicit(&hx_node_control(node, i)->failed, memory_order_acquire)) {
    case HX_WORKS: return NULL;
    case HX_REVOKED: return &revocation;
    default: return &node->failures[node->rows[i]];
    }
}

const struct hx_failure *hx_failure_look(const struct hx_engine *engine, hx_status_t but)
{
    const struct hx_failure *found = NULL;

    for (int i = 0; i < engine->node.n; i++) {
        const struct hx_failure *failure = hx_failure_of(engine, i);
        if (!failure || failure->status == (int32_t)but)
            continue;
        if (!found || failure->status == HX_ERR_REVOKED) /* which stands above all others */
            found = failure;
    }
    if (found)
        hx_failure_note(engine, found);
    return found;
}

struct hx_control_message hx_failure_question(const struct hx_run *run, int late)
{
    const struct hx_engine *engine = run->engine;

    return (struct hx_control_message){.kind = HX_MESSAGE_ASKS, .rank = late, .context = engine->context,
                                       .generation = engine->members->id.generation, .call = engine->pairs ? 0 : engine->call,
                                       .signature = run->bound->signature};
}
