/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that create no more groups with each other: see pairs.h. */
#include "runtime/engine/pairs.h"

#define OUT_OF_STEP UINT64_MAX /* as the count of messages received: no more groups; the count of messages sent then holds the status */

static int is_near(const struct hx_engine *engine, int rank)
{
    const struct hx_shape *shape = engine->members->shape;

    return shape->node_of[rank] == shape->node_of[engine->members->rank];
}

/* The ring from one rank of this node to another. The receiver writes its first line. */
static struct hx_ring *ring_of(const struct hx_engine *engine, int from, int to)
{
    const int *local_of = engine->members->shape->local_of;

    return hx_node_ring(&engine->node, local_of[from], local_of[to], 0);
}

void hx_pair_lose(struct hx_engine *engine, int rank, hx_status_t status)
{
    if (engine->pairs[2 * rank] == OUT_OF_STEP)
        return;
    engine->pairs[2 * rank] = OUT_OF_STEP;
    engine->pairs[2 * rank + 1] = status;
    if (!is_near(engine, rank))
        return;
    /* relaxed: no other data depends on the status */
    atomic_store_explicit(&ring_of(engine, rank, engine->members->rank)->refused, status, memory_order_relaxed);
}

hx_status_t hx_pair_lost(const struct hx_engine *engine, int rank)
{
    if (engine->pairs[2 * rank] == OUT_OF_STEP)
        return (hx_status_t)engine->pairs[2 * rank + 1];
    if (!is_near(engine, rank))
        return HX_SUCCESS;
    return (hx_status_t)atomic_load_explicit(&ring_of(engine, engine->members->rank, rank)->refused, memory_order_relaxed);
}

uint64_t hx_pair_count(struct hx_engine *engine, int rank, int sends)
{
    uint64_t *pair = &engine->pairs[2 * rank];

    return pair[0] == OUT_OF_STEP ? OUT_OF_STEP : pair[sends]++;
}
