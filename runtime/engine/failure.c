/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed communicators on one node, and the questions that ranks ask other nodes: see failure.h. */
#include "runtime/engine/failure.h"
#include <stdio.h>

#define REVOKER_BIT 2 /* a row's word says who has revoked, from this bit on */

static int is_revoked(int32_t failed)
{
    return (failed & ((1 << REVOKER_BIT) - 1)) == HX_REVOKED;
}

static void revocation_note(const struct hx_engine *blocking, int revoker)
{
    if (is_revoked(atomic_load_explicit(&blocking->mine->failed, memory_order_relaxed)))
        return;
    /* relaxed: no other data depends on it */
    atomic_store_explicit(&blocking->mine->failed, HX_REVOKED | revoker << REVOKER_BIT, memory_order_relaxed);
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
        if (is_revoked(atomic_load_explicit(&hx_node_control(node, i)->failed, memory_order_relaxed)))
            return 1;
    return 0;
}

void hx_failure_note(const struct hx_engine *engine, const struct hx_failure *failure)
{
    const struct hx_engine *blocking = engine->members->blocking;
    const struct hx_node *node = &blocking->node;

    if (failure->status == HX_ERR_REVOKED) {
        revocation_note(blocking, failure->rank);
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
    static _Thread_local struct hx_failure revocation;
    const struct hx_node *node = &engine->members->blocking->node;
    const int32_t failed = atomic_load_explicit(&hx_node_control(node, i)->failed, memory_order_acquire);

    if (!is_revoked(failed))
        return failed == HX_WORKS ? NULL : &node->failures[node->rows[i]];
    revocation.status = HX_ERR_REVOKED;
    revocation.rank = failed >> REVOKER_BIT;
    snprintf(revocation.text, sizeof(revocation.text), "rank %d has revoked this communicator (hx_comm_revoke)", revocation.rank);
    return &revocation;
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
