/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting, stopping, and what a communicator can be asked. */
#include "call.h"
#include "handle.h"
#include "lock.h"
#include "probe.h"
#include "startup.h"
#include "trace.h"
#include <string.h>

struct hx_world *hx_world;
static int finalized;

hx_status_t hx_init_with(const hx_config_t *config, hx_comm_t **world)
{
    hx_status_t status;

    if (!world)
        return hx_fail(HX_ERR_ARG, "hx_init: world is NULL");
    *world = NULL;
    if (hx_world || finalized)
        return hx_fail(HX_ERR_STATE, "hx_init: Hierax %s in this process",
                       finalized ? "has been finalized" : "is started already");
    if ((status = hx_world_open(config, &hx_world)) != HX_SUCCESS)
        return status;
    if ((status = hx_tuning_share(hx_world)) != HX_SUCCESS || (status = hx_ring_order_share(hx_world)) != HX_SUCCESS ||
        (status = hx_trace_begin(hx_world)) != HX_SUCCESS) {
        hx_world_close(hx_world, !hx_world->comms->failed);
        hx_world = NULL;
        return status;
    }
    memset(hx_world->stats.colls, 0, sizeof(hx_world->stats.colls)); /* those of the program count */
    *world = hx_world->comms;
    hx_progress_thread_start(hx_world);
    return HX_SUCCESS;
}

hx_status_t hx_init(hx_comm_t **world)
{
    return hx_init_with(NULL, world);
}

hx_status_t hx_finalize(void)
{
    struct hx_world *world = hx_world;
    hx_status_t status = HX_SUCCESS;
    int failed = 0;

    if (!world)
        return hx_fail(HX_ERR_STATE, "hx_finalize: Hierax is not started");
    struct hx_call barrier = hx_call_barrier("hx_finalize", world->comms);
    hx_lock();
    for (struct hx_comm *comm = world->comms; comm && status == HX_SUCCESS; comm = comm->next) {
        if (comm->requests && !comm->failed)
            status = hx_comm_fail(comm,
                                  hx_fail(HX_ERR_STATE, "hx_finalize: %d requests are not freed, %d of them active",
                                          comm->requests, hx_requests_active(comm)));
        failed |= comm->failed != HX_SUCCESS;
    }
    if (status != HX_SUCCESS && HX_TRACING)
        hx_trace_write(hx_trace);
    hx_unlock();
    if (status != HX_SUCCESS)
        return status;
    if (world->env->stats)
        hx_stats_tell(world, failed);
    if (!failed)
        status = hx_call_make(&barrier, HX_BLOCKING, NULL);
    hx_progress_thread_end(world);
    hx_trace_end(world, status == HX_SUCCESS && !failed);
    hx_world = NULL;
    hx_world_close(world, status == HX_SUCCESS && !failed);
    finalized = 1;
    return status;
}

int hx_rank(const hx_comm_t *comm)
{
    return comm && !hx_handle_freed(comm) ? comm->rank : -1;
}

int hx_size(const hx_comm_t *comm)
{
    return comm && !hx_handle_freed(comm) ? comm->size : -1;
}

const char *hx_error_detail(const hx_comm_t *comm)
{
    return comm && !hx_handle_freed(comm) ? comm->detail : hx_last_detail();
}

