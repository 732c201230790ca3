/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: how they are built and released. All share the process's endpoint, segment and doorbell. Each has a number of its own,
 * which selects its contexts in the segment and its match ids. comm_create.c describes how the members of a new communicator agree on a
 * number, number.h when the number is free again.
 */
#include "runtime/api/comm.h"
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/base/handle.h"
#include "runtime/api/lock.h"
#include "runtime/api/number.h"
#include "runtime/engine/agree.h"
#include "runtime/plan/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------------------------------------- */

/* Members, shape, and places on this node. */
static hx_status_t members_set(struct hx_comm *comm, const int *ranks, int n)
{
    struct hx_members *members = &comm->members;
    const struct hx_world *world = comm->world;
    const struct hx_shared *shared = world->process.shared;
    int *nodes = malloc((size_t)n * (1 + HX_SHAPE_LEVELS) * sizeof(int)), row = 0; /* nodes, then places */

    members->ranks = malloc(((size_t)n + 2 * (size_t)shared->n) * sizeof(int)); /* also those of this node, and their rows */
    if (!nodes || !members->ranks) {
        free(nodes);
        return hx_fail(HX_ERR_NOMEM, "no memory for the %d ranks of a communicator", n);
    }
    members->local_ranks = members->ranks + n;
    members->rows = members->local_ranks + shared->n;
    for (int i = 0; i < n; i++) {
        members->ranks[i] = ranks ? ranks[i] : i;
        nodes[i] = shared->table[members->ranks[i]].node;
        for (int k = 0; k < HX_SHAPE_LEVELS; k++)
            nodes[n + i * HX_SHAPE_LEVELS + k] = shared->table[members->ranks[i]].place[k];
        if (nodes[i] != shared->table[world->process.rank].node)
            continue;
        for (row = 0; shared->ranks[row] != members->ranks[i];)
            row++;
        if (row == shared->me) {
            members->rank = i;
            members->local_me = members->local_n;
        }
        members->local_ranks[members->local_n] = i;
        members->rows[members->local_n++] = row;
    }
    int made = (members->shape = hx_shape_from_nodes(nodes, n)) && hx_shape_set_levels(members->shape, nodes + n, HX_SHAPE_LEVELS) == 0;
    free(nodes);
    if (made && (!ranks || hx_shape_inherit(members->shape, world->comms->members.shape, ranks) == 0))
        return HX_SUCCESS;
    return hx_fail(HX_ERR_NOMEM, "no memory for the shape of %d ranks", n);
}

void hx_world_profile(const struct hx_world *world, struct hx_net_profile *out)
{
    const struct hx_job_entry *rank0 = &world->process.shared->table[0];

    *out = (struct hx_net_profile){.provider = NULL};
    if (world->process.net)
        hx_registry.net->profile(world->process.net, rank0->address, rank0->address_bytes, out);
    if (world->process.env->nodes)
        hx_profile_emulate(out);
}

static hx_status_t comm_plan(struct hx_comm *comm)
{
    struct hx_world *world = comm->world;
    struct hx_net_profile profile;
    hx_status_t status;

    hx_world_profile(world, &profile);
    status = hx_registry.planner->open(world->process.env, comm->members.shape, comm->members.rank, &world->process.job,
                                       world->process.net ? &profile : NULL, &comm->members.planner);
    if (status == HX_SUCCESS)
        hx_registry.planner->tuning_use(comm->members.planner, world->tuning, world->tuning_bytes);
    if (status == HX_SUCCESS && comm == world->comms)
        hx_registry.planner->quiet(comm->members.planner, !world->process.env->explain_world);
    return status;
}

static hx_status_t comm_fill(struct hx_comm *comm, const int *ranks, int n)
{
    hx_status_t status = members_set(comm, ranks, n);

    if (status == HX_SUCCESS)
        status = hx_engine_open(&comm->engine, &comm->world->process, &comm->members, 0);
    return status == HX_SUCCESS ? comm_plan(comm) : status;
}

hx_status_t hx_comm_make(struct hx_world *world, const int *ranks, int n, const struct hx_comm_id *id, struct hx_comm **out)
{
    struct hx_comm **link = world->comms ? &world->comms->next : &world->comms; /* the world communicator stays the first */
    struct hx_comm *comm = calloc(1, sizeof(*comm));
    hx_status_t status;

    if (!comm)
        return hx_fail(HX_ERR_NOMEM, "no memory for a communicator");
    comm->world = world;
    comm->members.id = *id;
    comm->members.size = n;
    hx_comm_choose(comm, hx_choices_of_job(world->process.env));
    world->numbers->comms[id->number] = comm;
    world->numbers->generations[id->number] = id->generation;
    comm->next = *link;
    comm->link = link;
    *link = comm;
    if (comm->next)
        comm->next->link = &comm->next;
    status = hx_comm_show(comm) ? comm_fill(comm, ranks, n) : hx_fail(HX_ERR_NOMEM, "no memory for a communicator");
    if (status != HX_SUCCESS)
        hx_comm_release(comm);
    else
        *out = comm;
    return status;
}

/* Make the network forget comm. No message of comm is under way, unless it has failed. Returns nonzero if devices may still read or write
 * its slots. */
static int network_forget(const struct hx_comm *comm, int failed)
{
    const struct hx_world *world = comm->world;
    const struct hx_net_ops *net = hx_registry.net;
    const struct hx_engine *first = &comm->engine;
    const uint64_t matches = UINT64_C(1) << HX_UNUSED_MATCH_BITS;
    int busy = 0;

    if (!world->process.net || !first->members)
        return 0;
    for (int i = 0; i < comm->members.size && comm->members.local_n < comm->members.size; i++)
        if (comm->members.shape->node_of[i] != comm->members.shape->node_of[comm->members.rank])
            net->forget(world->process.net, comm->members.ranks[i], first->flow_prefix * HX_CONTEXT_FLOWS, HX_COMM_CONTEXTS * HX_CONTEXT_FLOWS,
                        first->prefix * matches, HX_COMM_CONTEXTS * matches);
    for (int i = 0; i < HX_COMM_CONTEXTS && failed; i++) {
        const struct hx_engine *engine = i == 0 ? first : comm->others[i - 1];
        if (engine && engine->node.slots)
            busy |= net->memory_remove(world->process.net, engine->node.slots);
    }
    return busy;
}

void hx_comm_release(struct hx_comm *comm)
{
    int failed = hx_failed_keep(comm), busy;
    uint64_t last_call = comm->members.id.first_call;

    *comm->link = comm->next;
    if (comm->next)
        comm->next->link = comm->link;
    hx_comm_hide(comm);
    comm->world->numbers->agreed[comm->members.id.number] = hx_agree_last(&comm->members);
    comm->world->numbers->comms[comm->members.id.number] = NULL; /* before the network makes progress: control messages that arrive must not find a
                                                          * communicator that is being closed */
    hx_p2p_forget(comm->world->process.p2p, &comm->members.id);
    busy = network_forget(comm, failed);
    hx_counters_keep(comm);
    for (int i = 0; i < HX_COMM_CONTEXTS; i++) {
        struct hx_engine *engine = i == 0 ? &comm->engine : comm->others[i - 1];
        if (engine) {
            uint64_t last = hx_engine_last_call(engine);
            last_call = last > last_call ? last : last_call;
            hx_requests_forget(engine);
            hx_engine_close(engine);
        }
        if (i > 0)
            free(engine);
    }
    if (!busy) /* if busy, its number is never used again */
        hx_number_leave(comm, last_call, failed);
    if (comm->members.planner)
        hx_registry.planner->close(comm->members.planner);
    hx_graph_release(comm->members.graph);
    hx_shape_free(comm->members.shape);
    free(comm->members.ranks);
    free(comm->members.agree);
    free(comm->inplace_copy);
    free(comm->undo.memory);
    hx_group_drop(comm);
    hx_handle_free(comm, sizeof(*comm), "this communicator of %d ranks has been freed", comm->members.size);
}

void hx_comm_forget_bound(struct hx_comm *comm)
{
    hx_engine_forget_bound(&comm->engine);
    for (int i = 0; i < HX_CONCURRENT; i++)
        if (comm->others[i])
            hx_engine_forget_bound(comm->others[i]);
}

hx_status_t hx_comm_replan(struct hx_comm *comm)
{
    hx_comm_forget_bound(comm);
    hx_registry.planner->close(comm->members.planner);
    comm->members.planner = NULL;
    return comm_plan(comm);
}

/* ---- free ---------------------------------------------------------------------------------------------------- */

void hx_comm_let_go(struct hx_comm *comm)
{
    if (comm->freed && comm->requests == 0)
        hx_comm_release(comm);
}

/* One of several worlds of this process. */
static hx_status_t world_free(struct hx_world *world)
{
    hx_status_t status;

    if (!hx_world->older)
        return hx_comm_fail(world->comms, hx_fail(HX_ERR_STATE, "hx_comm_free: the world communicator is freed by hx_finalize"));
    if ((status = hx_notice_refuse("hx_comm_free")) != HX_SUCCESS)
        return status;
    hx_unlock();
    status = world->finalize(world);
    hx_lock();
    return status;
}

/* Other ranks may still be in calls of comm. All that they need of this rank is already in the segment or with the network. */
hx_status_t hx_comm_free(hx_comm_t *comm)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check_open(comm, "hx_comm_free")) != HX_SUCCESS)
        return status;
    if (comm == comm->world->comms)
        return world_free(comm->world);
    if ((status = hx_meetings_refuse(comm, "hx_comm_free")) != HX_SUCCESS)
        return status;
    if (comm->messages && !comm->members.failed)
        return hx_comm_fail(comm, hx_fail(HX_ERR_STATE, "hx_comm_free: %d threads are in hx_send or hx_recv on this communicator", comm->messages));
    if (!comm->members.failed && (status = hx_group_refuse(comm, "hx_comm_free")) != HX_SUCCESS)
        return status;
    hx_comm_hide(comm);
    hx_engine_await(&comm->engine); /* calls of other threads */
    hx_engine_leave(&comm->engine);
    comm->freed = 1;
    hx_comm_let_go(comm);
    return HX_SUCCESS;
}
