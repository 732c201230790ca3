/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and stopping: the worlds of this process, the public calls that open and close them. grow.c has those that let more ranks in. */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/base/handle.h"
#include "runtime/base/process.h"
#include "runtime/api/lock.h"
#include "runtime/start/job_map.h"
#include "runtime/start/startup.h"
#include "runtime/engine/liveness.h"
#include "runtime/engine/trace_spans.h"
#include "runtime/engine/whereabouts.h"
#include <string.h>

/* In a child made by fork: it shares sockets and doorbells with its parent, whose calls it would disturb. */
static void forget_worlds(void)
{
    for (const struct hx_world *world = hx_world; world; world = world->older) {
        if (world->process.net)
            hx_registry.net->close_in_child(world->process.net);
        if (world->boot)
            hx_boot_close_in_child(world->boot);
    }
    hx_boot_forget_in_child();
    hx_world_forget(!hx_world && !hx_world_ended() ? NULL : "works in the process that called hx_init only, not in its child made by fork");
}

static void forget_at_fork(void)
{
    pthread_atfork(NULL, NULL, forget_worlds);
}

/* Calls of the program that are still open in world. */
static hx_status_t world_refuse(struct hx_world *world, const char *name)
{
    hx_status_t status = HX_SUCCESS;

    for (struct hx_comm *comm = world->comms; comm && status == HX_SUCCESS; comm = comm->next) {
        if ((status = hx_meetings_refuse(comm, name)) == HX_SUCCESS && !comm->members.failed && (status = hx_group_refuse(comm, name)) == HX_SUCCESS && comm->requests)
            status = hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "%s: %d requests are not freed, %d of them active", name, comm->requests,
                                                hx_requests_active(comm)));
    }
    if (status != HX_SUCCESS && HX_TRACING)
        hx_trace_write(world);
    return status;
}

/* All ranks of world meet for the last time, unless it has failed. Then release it. *stays: it is still open, because HX_CHECK has found that
 * ranks make different calls. If the program has gone on without a rank that died, this death causes no error. */
static hx_status_t world_close(struct hx_world *world, const char *name, int *stays)
{
    const int failed = world->comms->members.failed != HX_SUCCESS; /* the world communicator's: what has failed in others not all ranks know */
    const int went_on = world->went_on || world != hx_world;
    void *token = &world->comms->engine.token;
    hx_status_t status = HX_SUCCESS;

    *stays = 0;
    hx_watch_set(world->process.shared, HX_LIFE_LEAVING);
    hx_registry.planner->quiet(world->comms->members.planner, 1); /* the program has not made the calls that follow */
    if (world->process.env->stats)
        hx_stats_tell(world, failed);
    if (!failed)
        status = hx_call_make(&(struct hx_call){.name = name, .comm = world->comms, .in = token, .out = token,
                                               .key = hx_call_key_barrier(HX_FOR_FINALIZE)}, HX_BLOCKING, NULL);
    if (status == HX_ERR_MISMATCH && !world->comms->members.failed) { /* by HX_CHECK: the others go on */
        if (HX_TRACING)
            hx_trace_write(world);
        hx_watch_set(world->process.shared, HX_LIFE_HERE);
        hx_registry.planner->quiet(world->comms->members.planner, !world->process.env->explain_world);
        *stays = 1;
        return status;
    }
    hx_progress_thread_end(world);
    for (struct hx_comm *comm = world->comms; comm; comm = comm->next)
        hx_commits_drop(comm);
    hx_notices_tell(world); /* of requests of communicators that have failed */
    hx_trace_end(world, status == HX_SUCCESS && !failed);
    hx_world_end(world, "has been finalized in this process");
    hx_world_close(world, status == HX_SUCCESS && !failed);
    return status == HX_ERR_PEER_DEAD && went_on ? HX_SUCCESS : status;
}

/* hx_comm_free of a world communicator, without the lock. */
static hx_status_t world_finalize(struct hx_world *world)
{
    hx_status_t status;
    int stays;

    hx_lock();
    status = world_refuse(world, "hx_comm_free");
    hx_unlock();
    return status == HX_SUCCESS ? world_close(world, "hx_comm_free", &stays) : status;
}

hx_status_t hx_world_begin_open(struct hx_opening *opening, hx_comm_t **out)
{
    static pthread_once_t at_fork = PTHREAD_ONCE_INIT;
    const int threads = hx_process_stat(0, HX_PROCESS_THREADS);
    struct hx_world *world;
    hx_status_t status;

    pthread_once(&at_fork, forget_at_fork);
    if ((status = hx_world_open(opening, &world)) != HX_SUCCESS)
        return status;
    world->finalize = world_finalize;
    hx_world_begin(world);
    if ((status = hx_tuning_share(world)) != HX_SUCCESS || (status = hx_net_constants_share(world)) != HX_SUCCESS ||
        (status = hx_node_groups_share(world)) != HX_SUCCESS || (status = hx_ring_order_share(world)) != HX_SUCCESS ||
        (status = hx_job_map_log(world)) != HX_SUCCESS || (status = hx_trace_begin(world)) != HX_SUCCESS) {
        const int orderly = !world->comms->members.failed;
        hx_comm_break(world->comms, status); /* the others may wait in it */
        hx_world_end(world, NULL);
        hx_world_close(world, orderly);
        return status;
    }
    memset(world->stats.colls, 0, sizeof(world->stats.colls)); /* those of the program count */
    *out = world->comms;
    hx_progress_thread_start(world);
    world->process.threads = threads == 1 ? hx_process_stat(0, HX_PROCESS_THREADS) : 0;
    return HX_SUCCESS;
}

hx_status_t hx_init_with(const hx_config_t *config, hx_comm_t **world)
{
    struct hx_opening opening = {.config = config};

    if (!world)
        return hx_fail(HX_ERR_ARG, "hx_init: world is NULL");
    *world = NULL;
    if (hx_world || hx_world_is_parents())
        return hx_fail(HX_ERR_STATE, "hx_init: Hierax %s", hx_world ? "is started already in this process" : hx_world_ended());
    return hx_world_begin_open(&opening, world);
}

hx_status_t hx_init(hx_comm_t **world)
{
    return hx_init_with(NULL, world);
}

hx_status_t hx_finalize(void)
{
    hx_status_t status = HX_SUCCESS, one;
    int stays;

    if (!hx_world)
        return hx_fail(HX_ERR_STATE, "hx_finalize: Hierax %s", hx_world_ended() ? hx_world_ended() : "is not started");
    if (hx_is_folding())
        return hx_folding_refuse();
    if ((status = hx_notice_refuse("hx_finalize")) != HX_SUCCESS)
        return status;
    hx_lock();
    for (struct hx_world *world = hx_world; world && status == HX_SUCCESS; world = world->older)
        status = world_refuse(world, "hx_finalize");
    hx_unlock();
    if (status != HX_SUCCESS)
        return status;
    while (hx_world) { /* the oldest first: all processes are in these worlds in this order */
        struct hx_world *oldest = hx_world;
        while (oldest->older)
            oldest = oldest->older;
        if ((one = world_close(oldest, "hx_finalize", &stays)) != HX_SUCCESS && status == HX_SUCCESS)
            status = one;
        if (stays)
            break;
    }
    return status;
}
