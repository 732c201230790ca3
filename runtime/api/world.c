/* SPDX-License-Identifier: BSD-3-Clause */
/* The world: is Hierax started, which communicators are open, and which have failed. */
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/api/lock.h"
#include "runtime/api/number.h"
#include "runtime/base/handle.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/trace_spans.h"
#include <search.h>
#include <stdio.h>

struct hx_world *hx_world;
struct hx_inside hx_inside = {.mutex = PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t hx_world_change = PTHREAD_MUTEX_INITIALIZER;
static const char *ended; /* why there is no world any more; NULL: there may be one */
static int is_parents;    /* for ever: this is a child made by fork */

const char *hx_world_ended(void)
{
    return ended;
}

/* A waiting call looks after other worlds, if there are any. */
static void others_count(void)
{
    for (struct hx_world *world = hx_world; world; world = world->older)
        world->process.has_others = hx_world->older != NULL;
}

void hx_world_end(struct hx_world *world, const char *why)
{
    struct hx_world **link = &hx_world;

    hx_lock();
    pthread_mutex_lock(&hx_world_change);
    while (*link && *link != world)
        link = &(*link)->older;
    if (*link)
        *link = world->older;
    if (!hx_world)
        ended = why;
    others_count();
    hx_waiter_part(&world->process.waiter);
    pthread_mutex_unlock(&hx_world_change);
    if (hx_inside.locked)
        hx_inside_unlock(&hx_inside);
}

void hx_world_begin(struct hx_world *world)
{
    const int others = hx_world != NULL;

    if (others)
        hx_lock();
    pthread_mutex_lock(&hx_world_change);
    ended = NULL;
    world->older = hx_world;
    hx_world = world;
    others_count();
    hx_waiter_join(&world->process.waiter, &hx_inside);
    pthread_mutex_unlock(&hx_world_change);
    if (others)
        hx_unlock();
}

int hx_world_is_parents(void)
{
    return is_parents;
}

void hx_world_forget(const char *why)
{
    pthread_mutex_init(&hx_world_change, NULL); /* a thread that the child does not have may hold it */
    is_parents |= why != NULL;
    if (why) {
        ended = why;
        hx_world = NULL;
    }
}

/* After hx_finalize no communicator is there. */
static int is_there(const hx_comm_t *comm)
{
    return comm && hx_world && !hx_handle_freed(comm);
}

int hx_rank(const hx_comm_t *comm)
{
    return is_there(comm) ? comm->members.rank : -1;
}

int hx_size(const hx_comm_t *comm)
{
    return is_there(comm) ? comm->members.size : -1;
}

const char *hx_error_detail(const hx_comm_t *comm)
{
    return is_there(comm) ? comm->members.detail : hx_last_detail();
}

/* ---- failure ------------------------------------------------------------------------------------------------- */

hx_status_t hx_comm_fail(struct hx_comm *comm, hx_status_t status)
{
    snprintf(comm->members.detail, sizeof(comm->members.detail), "%s", hx_last_detail());
    return status;
}

/* From now on every call fails. */
static void comm_break(struct hx_comm *comm, hx_status_t status)
{
    struct hx_failure failure = {.status = HX_SUCCESS};

    if (comm->members.failed && (status != HX_ERR_REVOKED || comm->members.failed == status))
        return;
    if (comm->engine.pairs) /* of groups: group_agree keeps which pairs are out of step */
        return;
    comm->members.failed = status;
    hx_comm_fail(comm, status); /* before others have to tell something */
    /* the arguments of the other ranks are right */
    hx_failure_keep(&failure, comm->members.rank, status == HX_ERR_ARG ? HX_ERR_MISMATCH : status);
    hx_failure_note(&comm->engine, &failure);
    hx_requests_fail(comm);
}

hx_status_t hx_comm_break(struct hx_comm *comm, hx_status_t status)
{
    comm_break(comm, status);
    if (HX_TRACING) /* the program may end without hx_finalize */
        hx_trace_write(comm->world);
    return status;
}

static void run_broken(struct hx_run *run)
{
    comm_break(hx_comm_of(run->engine), run->status);
    hx_run_cancel(run);
    if (HX_TRACING) /* with the operations that were cancelled */
        hx_trace_write(hx_comm_of(run->engine)->world);
}

/* The world communicator is freed last: before it is made, it is only about to be. */
static int number_is_freed(const struct hx_process *process, uint32_t number, uint32_t generation)
{
    const struct hx_comm_numbers *numbers = hx_world_of(process)->numbers;

    return number != HX_NUMBER_WORLD && number < HX_COMM_NUMBERS &&
           (numbers->generations[number] > generation || (numbers->generations[number] == generation && !numbers->comms[number]));
}

const struct hx_owner hx_world_owner = {.pump = hx_requests_progress, .broken = run_broken, .tell = hx_failed_tell,
                                        .has_freed = number_is_freed};

/* ---- those that are open -------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

int hx_comm_is_open(const struct hx_comm *comm)
{
    for (const struct hx_world *world = hx_world; world; world = world->older)
        if (tfind(comm, &world->open, by_address))
            return 1;
    return 0;
}

int hx_comm_show(struct hx_comm *comm)
{
    return tsearch(comm, &comm->world->open, by_address) != NULL;
}

void hx_comm_hide(const struct hx_comm *comm)
{
    tdelete(comm, &comm->world->open, by_address);
}

hx_status_t hx_comm_check_open(const struct hx_comm *comm, const char *name)
{
    if (!comm)
        return hx_fail(HX_ERR_ARG, "%s: the communicator is NULL", name);
    if (hx_handle_freed(comm))
        return hx_handle_check(comm, name);
    if (hx_world_ended())
        return hx_fail(HX_ERR_STATE, "%s: Hierax %s", name, hx_world_ended());
    return hx_comm_is_open(comm) ? HX_SUCCESS : hx_fail(HX_ERR_STATE, "%s: this communicator is not open", name);
}

hx_status_t hx_meetings_refuse(struct hx_comm *comm, const char *name)
{
    if (comm->meetings == 0)
        return HX_SUCCESS;
    return hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "%s: a thread is in hx_comm_agree, hx_comm_shrink, hx_comm_grow or hx_comm_wait_size on this "
                                                    "communicator", name));
}

/* Has another rank revoked it? A communicator that has failed is not waited in, so look at the network here. */
static void revocation_look(struct hx_comm *comm)
{
    const struct hx_failure *failure;

    if (comm->members.failed && comm->members.failed != HX_ERR_REVOKED)
        hx_progress_all(&comm->world->process);
    if (!comm->engine.mine || !hx_failure_revoked(&comm->engine, &comm->revocations_seen) || comm->members.failed == HX_ERR_REVOKED)
        return;
    failure = hx_failure_look(&comm->engine, HX_SUCCESS); /* it records who has revoked, for this rank too */
    hx_recall(failure ? failure->text : "");
    comm_break(comm, HX_ERR_REVOKED);
}

hx_status_t hx_comm_check(struct hx_comm *comm, const char *name)
{
    hx_status_t status = hx_comm_check_open(comm, name);

    if (status == HX_SUCCESS)
        revocation_look(comm);
    return status == HX_SUCCESS ? comm->members.failed : status; /* its detail tells why */
}
