/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_TABLE: rank 0 reads the tuning tables and broadcasts the entries for this job, so that all ranks use the same ones. */
#include "runtime/api/call.h"
#include "runtime/base/log.h"
#include "runtime/start/startup.h"
#include <stdlib.h>

struct head { /* goes before the tuning */
    uint64_t bytes;
    struct hx_failure failure; /* why there is none */
};

static void read_here(struct hx_world *world, struct head *head)
{
    struct hx_net_profile profile;

    hx_world_profile(world, &profile);
    hx_failure_keep(&head->failure, 0,
                    hx_registry.planner->tuning_read(world->process.env, profile.provider, &world->tuning, &world->tuning_bytes));
    head->bytes = world->tuning_bytes;
    if (head->failure.status != HX_SUCCESS && !world->process.env->table_strict)
        hx_warn("HX_TABLE: %s: Hierax ignores this table", head->failure.text);
}

hx_status_t hx_tuning_share(struct hx_world *world)
{
    struct hx_comm *comm = world->comms;
    struct head head = {0};
    hx_status_t status;
    int32_t lacks;

    if (!world->process.env->table)
        return HX_SUCCESS;
    if (world->process.rank == 0)
        read_here(world, &head);
    if ((status = hx_bcast(&head, sizeof(head), HX_BYTE, 0, comm)) != HX_SUCCESS)
        return status;
    if (head.failure.status != HX_SUCCESS && world->process.env->table_strict)
        return hx_fail((hx_status_t)head.failure.status, "HX_TABLE: %s", head.failure.text);
    if (head.failure.status != HX_SUCCESS || head.bytes == 0)
        return HX_SUCCESS;
    if (world->process.rank != 0)
        world->tuning = malloc(head.bytes);
    lacks = !world->tuning;
    if ((status = hx_allreduce(HX_IN_PLACE, &lacks, 1, HX_INT32, HX_MAX, comm)) != HX_SUCCESS)
        return status;
    if (lacks) {
        free(world->tuning);
        world->tuning = NULL;
        return hx_fail(HX_ERR_NOMEM, "HX_TABLE: some rank has no memory for %llu bytes of tuning", (unsigned long long)head.bytes);
    }
    world->tuning_bytes = head.bytes;
    if ((status = hx_bcast(world->tuning, head.bytes, HX_BYTE, 0, comm)) != HX_SUCCESS)
        return status;
    hx_registry.planner->tuning_use(comm->members.planner, world->tuning, world->tuning_bytes);
    hx_comm_forget_bound(comm);
    return HX_SUCCESS;
}
