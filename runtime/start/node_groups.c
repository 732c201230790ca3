/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of the job's nodes, from HX_NODE_GROUPS. Communicators get them from the world's (hx_shape_inherit). */
#include "runtime/start/startup.h"
#include "runtime/base/error.h"
#include "topo/node_groups.h"

hx_status_t hx_node_groups_share(struct hx_world *world)
{
    const char *text = world->process.env->node_groups;
    char error[256];

    if (!text)
        return HX_SUCCESS;
    if (hx_node_groups_set(world->comms->members.shape, text, error, sizeof(error)) < 0) {
        hx_fail_hold();
        hx_fail(HX_ERR_ENV, "HX_NODE_GROUPS=%s: %s", text, error);
        hx_alike_tell(world);
        return HX_ERR_ENV;
    }
    return world->comms->members.shape->group_of ? hx_comm_replan(world->comms) : HX_SUCCESS;
}
