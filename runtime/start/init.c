/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and stopping. */
#include "runtime/api/call.h"
#include "runtime/base/handle.h"
#include "runtime/base/process.h"
#include "runtime/api/lock.h"
#include "runtime/start/job_map.h"
#include "runtime/start/startup.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/trace_spans.h"
#include "runtime/engine/whereabouts.h"
#include <string.h>

/* In a child made by fork: it shares sockets and doorbell with its parent, whose calls it would disturb. */
static void forget_world(void)
{
    if (hx_world && hx_world->process.net)
        hx_registry.net->close_in_child(hx_world->process.net);
    if (hx_world)
        hx_boot_close_in_child(hx_world->boot);
    hx_boot_forget_in_child();
    hx_world_forget(!hx_world && !hx_world_ended() ? NULL : "works in the process that called hx_init only, not in its child made by fork");
}

static void forget_at_fork(void)
{
    pthread_atfork(NULL, NULL, forget_world);
}

hx_status_t hx_init_with(const hx_config_t *config, hx_comm_t **world)
{
    static pthread_once_t at_fork = PTHREAD_ONCE_INIT;
    const int threads = hx_process_stat(0, HX_PROCESS_THREADS);
    struct hx_world *opened;
    hx_status_t status;

    if (!world)
        return hx_fail(HX_ERR_ARG, "hx_init: world is NULL");
    *world = NULL;
    if (hx_world || hx_world_is_parents())
        return hx_fail(HX_ERR_STATE, "hx_init: Hierax %s", hx_world ? "is started already in this process" : hx_world_ended());
    pthread_once(&at_fork, forget_at_fork);
    if ((status = hx_world_open(config, &opened)) != HX_SUCCESS)
        return status;
    hx_world_begin(opened);
    if ((status = hx_tuning_share(hx_world)) != HX_SUCCESS || (status = hx_ring_order_share(hx_world)) != HX_SUCCESS ||
        (status = hx_job_map_log(hx_world)) != HX_SUCCESS || (status = hx_trace_begin(hx_world)) != HX_SUCCESS) {
        const int orderly = !hx_world->comms->members.failed;
        hx_comm_break(hx_world->comms, status); /* the others may wait in it */
        hx_world_set(NULL);
        hx_world_close(opened, orderly);
        return status;
    }
    memset(hx_world->stats.colls, 0, sizeof(hx_world->stats.colls)); /* those of the program count */
    *world = hx_world->comms;
    hx_progress_thread_start(hx_world);
    hx_world->process.threads = threads == 1 ? hx_process_stat(0, HX_PROCESS_THREADS) : 0;
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
    int failed;

    if (!world)
        return hx_fail(HX_ERR_STATE, "hx_finalize: Hierax %s", hx_world_ended() ? hx_world_ended() : "is not started");
    if (hx_is_folding())
        return hx_folding_refuse();
    if ((status = hx_notice_refuse("hx_finalize")) != HX_SUCCESS)
        return status;
    void *token = &world->comms->engine.token;
    hx_lock();
    for (struct hx_comm *comm = world->comms; comm && status == HX_SUCCESS; comm = comm->next) {
        if (!comm->members.failed && (status = hx_group_refuse(comm, "hx_finalize")) == HX_SUCCESS && comm->requests)
            status = hx_comm_fail(comm,
                                  hx_fail(HX_ERR_STATE, "hx_finalize: %d requests are not freed, %d of them active",
                                          comm->requests, hx_requests_active(comm)));
    }
    failed = world->comms->members.failed != HX_SUCCESS; /* the world communicator's: what has failed in others not all ranks know */
    if (status != HX_SUCCESS && HX_TRACING)
        hx_trace_write(world);
    hx_unlock();
    if (status != HX_SUCCESS)
        return status;
    hx_watch_set(world->process.shared, HX_LIFE_LEAVING);
    hx_registry.planner->quiet(world->comms->members.planner, 1); /* the program has not made the calls that follow */
    if (world->process.env->stats)
        hx_stats_tell(world, failed);
    if (!failed)
        status = hx_call_make((struct hx_call){.name = "hx_finalize", .comm = world->comms, .in = token, .out = token,
                                               .key = hx_call_key_barrier(HX_FOR_FINALIZE)}, HX_BLOCKING, NULL);
    if (status == HX_ERR_MISMATCH && !world->comms->members.failed) { /* by HX_CHECK: the others go on */
        if (HX_TRACING)
            hx_trace_write(world);
        hx_watch_set(world->process.shared, HX_LIFE_HERE);
        hx_registry.planner->quiet(world->comms->members.planner, !world->process.env->explain_world);
        return status;
    }
    hx_progress_thread_end(world);
    hx_notices_tell(world); /* of requests of communicators that have failed */
    hx_trace_end(world, status == HX_SUCCESS && !failed);
    hx_world_end("has been finalized in this process");
    hx_world_close(world, status == HX_SUCCESS && !failed);
    return status;
}
