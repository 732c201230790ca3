/* SPDX-License-Identifier: BSD-3-Clause */
/* The world that grow.c and join.c open: see grow.h. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include "runtime/base/log.h"
#include "runtime/start/grow.h"

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

int hx_growth_begin(void)
{
    return pthread_mutex_trylock(&opening) == 0;
}

void hx_growth_end(void)
{
    pthread_mutex_unlock(&opening);
}

/* Messages name the rank in the newest world. */
static void log_restore(void)
{
    if (hx_world)
        hx_log_configure((enum hx_log_level)hx_world->process.env->log, hx_world->process.rank);
}

hx_status_t hx_growth_open(const struct hx_session *session, struct hx_boot *boot, const struct hx_comm *from, struct hx_world **world,
                           int *culprit)
{
    struct hx_opening how = {.boot = boot, .from = from, .generation = session->generation, .node = session->node, .seconds = session->seconds,
                             .culprit = -1};
    hx_comm_t *comm = NULL;
    hx_status_t status = hx_world_begin_open(&how, &comm);

    *culprit = how.culprit;
    *world = comm ? comm->world : NULL;
    if (status == HX_SUCCESS)
        status = hx_barrier(comm);
    if (!*world)
        log_restore();
    return status;
}

void hx_growth_keep(struct hx_world *world)
{
    struct hx_boot *boot = world->boot;

    hx_lock(); /* hx_abort uses the boot */
    world->boot = NULL;
    hx_world_started(world);
    hx_unlock();
    hx_boot_close(boot, 1);
}

void hx_growth_drop(struct hx_world *world, hx_status_t why)
{
    if (!world)
        return;
    hx_lock();
    hx_comm_break(world->comms, why);
    hx_unlock();
    hx_progress_thread_end(world);
    hx_trace_end(world, 0);
    hx_world_end(world, NULL);
    hx_world_close(world, 0);
    log_restore();
}
