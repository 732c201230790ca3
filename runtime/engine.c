/* SPDX-License-Identifier: BSD-3-Clause */
/* An engine's memory: its context, its ring queues, the plans that are bound. run.c runs them. */
#include "comm.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hx_status_t hx_engine_open(struct hx_engine *engine, struct hx_comm *comm, int context, uint64_t first_call)
{
    size_t queues = (size_t)comm->local_n * HX_RING_CHANNELS * 2;
    hx_status_t status;

    engine->comm = comm;
    engine->context = context;
    engine->call = engine->first_call = first_call;
    status = hx_node_open(&engine->node, comm->world->shared, engine->context, comm->local_n, comm->local_me,
                          comm->local_ranks, comm->rows);
    if (status != HX_SUCCESS)
        return status;
    engine->world = comm->world;
    engine->mine = hx_node_control(&engine->node, engine->node.me);
    engine->mine->pid = getpid();
    engine->queues = calloc(queues, sizeof(*engine->queues));
    engine->active = malloc(queues * sizeof(int));
    if (!engine->queues || !engine->active)
        return hx_fail(HX_ERR_NOMEM, "no memory for the ring queues of %d ranks", comm->local_n);
    return HX_SUCCESS;
}

void hx_engine_forget_bound(struct hx_engine *engine)
{
    for (int i = 0; i < HX_BOUND_SETS * HX_BOUND_WAYS; i++)
        hx_bound_release(engine->cache[i / HX_BOUND_WAYS][i % HX_BOUND_WAYS]);
    memset(engine->cache, 0, sizeof(engine->cache));
}

void hx_engine_close(struct hx_engine *engine)
{
    hx_engine_forget_bound(engine);
    for (int i = 0; i < 3; i++)
        free(engine->spans[i]);
    free(engine->memory);
    free(engine->sources);
    free(engine->queues);
    free(engine->active);
    free(engine->pairs);
    memset(engine, 0, sizeof(*engine));
}
