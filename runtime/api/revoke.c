/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revoked communicators, and their dead ranks. A rank that revokes a communicator records that in its row, as it records a failure
 * (runtime/engine/failure.h), and tells every member on another node. Ranks that wait look for failures ten times a second. Ranks that do
 * not wait look at the node's count of such records when they make a call.
 */
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/api/lock.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/liveness.h"

/* Members of other nodes get a control message, those of this node are woken. */
static void members_tell(const struct hx_comm *comm)
{
    const struct hx_process *process = &comm->world->process;
    const struct hx_shape *shape = comm->members.shape;

    for (int rank = 0; rank < comm->members.size && process->net; rank++)
        if (shape->node_of[rank] != shape->node_of[comm->members.rank])
            hx_failed_tell(&comm->engine, comm->members.ranks[rank]);
    hx_wake_fence();
    for (int i = 0; i < comm->members.local_n; i++)
        if (i != comm->members.local_me)
            hx_wake(process->shared, hx_node_doorbell(&comm->engine.node, i));
}

hx_status_t hx_comm_revoke(hx_comm_t *comm)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check_open(comm, "hx_comm_revoke")) != HX_SUCCESS || comm->members.failed == HX_ERR_REVOKED)
        return status;
    hx_recall("this rank has revoked the communicator (hx_comm_revoke)");
    hx_comm_break(comm, HX_ERR_REVOKED);
    members_tell(comm);
    return HX_SUCCESS;
}

hx_status_t hx_comm_failed(hx_comm_t *comm, int *ranks, int room, int *count)
{
    struct hx_shared *shared;
    hx_status_t status;
    int n = 0;

    HX_ENTER();
    if ((status = hx_comm_check_open(comm, "hx_comm_failed")) != HX_SUCCESS)
        return status;
    if (!count || room < 0 || (room > 0 && !ranks)) {
        hx_fail(HX_ERR_ARG, "hx_comm_failed: %s",
                !count ? "count is NULL" : room < 0 ? "room is negative" : "ranks is NULL, but room is not 0");
        return hx_comm_fail(comm, HX_ERR_ARG);
    }
    shared = comm->world->process.shared;
    hx_progress_all(&comm->world->process); /* reports of other nodes may have arrived */
    for (int rank = 0; rank < comm->members.size; rank++) {
        hx_watch_look_at(shared, comm->members.ranks[rank]);
        if (!atomic_load_explicit(&shared->table[comm->members.ranks[rank]].dead, memory_order_relaxed))
            continue;
        if (n < room)
            ranks[n] = rank;
        n++;
    }
    *count = n;
    return HX_SUCCESS;
}
