/* SPDX-License-Identifier: BSD-3-Clause */
/* hx_plan_info: which plan a call would have, and what it does. */
#include "runtime/api/call.h"
#include "runtime/plan/print.h"
#include "runtime/base/handle.h"
#include "runtime/api/lock.h"
#include "runtime/base/user_table.h"
#include <stdio.h>
#include <string.h>

static hx_status_t info_fill(struct hx_comm *comm, struct hx_call_key key, hx_plan_info_t *info)
{
    const char *text = comm->world->process.net ? hx_registry.net->describe(comm->world->process.net) : "";
    const uint64_t count = key.count;
    struct hx_plan_stats stats;
    struct hx_sizes sizes;
    struct hx_bound *bound;
    hx_status_t status = hx_engine_await(&comm->engine);

    if (status != HX_SUCCESS) /* its detail tells why */
        return status;
    if (hx_coll_has_pair_counts(key.coll))
        key.count = 1; /* as in every call: its plan is for any counts */
    if ((status = hx_bind(&comm->engine, key, &bound)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    sizes = bound->sizes;
    sizes.count = count * bound->per_element;
    hx_plan_count(bound->plan, comm->members.shape, &sizes, &stats);
    snprintf(info->plan, sizeof(info->plan), "%s", bound->plan->name);
    snprintf(info->network, sizeof(info->network), "%.*s", (int)strcspn(text, ":"), text);
    info->rounds = stats.rounds + stats.awaits;
    info->network_bytes = stats.inter_bytes_sent;
    info->shared_bytes = stats.bytes_sent - stats.inter_bytes_sent + stats.slot_bytes_written;
    return HX_SUCCESS;
}

static hx_status_t coll_find(const char *name, enum hx_coll *coll)
{
    char choices[256] = "";

    for (int f = 0; f < HX_FUNCTION_COUNT; f++) {
        const char *choice = hx_function_name((enum hx_function)f);
        *coll = hx_function_coll((enum hx_function)f);
        if (!strcmp(name, choice))
            return HX_SUCCESS;
        snprintf(choices + strlen(choices), sizeof(choices) - strlen(choices), " %s", choice);
    }
    return hx_fail(HX_ERR_ARG, "hx_plan_info: unknown collective \"%.64s\"; choose one of%s", name, choices);
}

hx_status_t hx_plan_info(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                         hx_plan_info_t *info)
{
    struct hx_call_key key = {.dtype = dtype, .op = op, .root = root, .count = count};
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_plan_info")) != HX_SUCCESS)
        return status;
    if (!collective || !info)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_plan_info: %s is NULL", info ? "collective" : "info"));
    if ((status = coll_find(collective, &key.coll)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    *info = (hx_plan_info_t){0};
    if (key.coll == HX_COLL_BARRIER)
        key = hx_call_key_barrier(HX_FOR_CALL);
    if (!hx_coll_reduces(key.coll))
        key.op = HX_SUM;
    if (!hx_coll_is_rooted(key.coll))
        key.root = 0;
    status = hx_call_check(&(struct hx_call){.name = "hx_plan_info", .comm = comm, .key = key});
    if (status != HX_SUCCESS || key.count == 0 || comm->members.size == 1)
        return status;
    hx_user_hold((unsigned)key.dtype); /* as a blocking call */
    hx_user_hold((unsigned)key.op);
    status = info_fill(comm, hx_call_key_on(comm, key), info);
    hx_user_leave(&comm->engine, (unsigned)key.dtype);
    hx_user_leave(&comm->engine, (unsigned)key.op);
    return status;
}
