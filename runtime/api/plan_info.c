/* SPDX-License-Identifier: BSD-3-Clause */
/* hx_plan_info and hx_plan_predict: the plan that a call would use, what the plan does, and its predicted time. */
#include "runtime/api/call.h"
#include "runtime/plan/print.h"
#include "runtime/base/handle.h"
#include "runtime/api/lock.h"
#include "runtime/base/user_table.h"
#include <stdio.h>
#include <string.h>

/* Describe a bound call of count elements in *out. */
typedef hx_status_t describe_fn(struct hx_comm *comm, const struct hx_bound *bound, uint64_t count, void *out);

static hx_status_t info_fill(struct hx_comm *comm, const struct hx_bound *bound, uint64_t count, void *out)
{
    const char *text = comm->world->process.net ? hx_registry.net->describe(comm->world->process.net) : "";
    struct hx_sizes sizes = bound->sizes;
    hx_plan_info_t *info = out;
    struct hx_plan_stats stats;

    sizes.count = count * bound->per_element;
    hx_plan_count(bound->plan, comm->members.shape, &sizes, &stats);
    snprintf(info->plan, sizeof(info->plan), "%s", bound->plan->name);
    snprintf(info->network, sizeof(info->network), "%.*s", (int)strcspn(text, ":"), text);
    info->rounds = stats.rounds + stats.awaits;
    info->network_bytes = stats.inter_bytes_sent;
    info->shared_bytes = stats.bytes_sent - stats.inter_bytes_sent + stats.slot_bytes_written;
    return HX_SUCCESS;
}

static hx_status_t prediction_fill(struct hx_comm *comm, const struct hx_bound *bound, uint64_t count, void *out)
{
    hx_prediction_t *prediction = out;
    struct hx_predicted predicted = {0};
    hx_status_t status = hx_registry.planner->predict(comm->members.planner, bound->plan, bound->traits, count * bound->per_element,
                                                      bound->elem_bytes, &predicted);

    prediction->us = predicted.us;
    snprintf(prediction->node, sizeof(prediction->node), "%s", predicted.node);
    snprintf(prediction->network, sizeof(prediction->network), "%s", predicted.network);
    return status;
}

static hx_status_t call_describe(struct hx_comm *comm, struct hx_call_key key, describe_fn *describe, void *out)
{
    const uint64_t count = key.count;
    struct hx_bound *bound;
    hx_status_t status = hx_engine_await(&comm->engine);

    if (status != HX_SUCCESS) /* its detail tells why */
        return status;
    if (hx_coll_has_pair_counts(key.coll))
        key.count = 1; /* as in every call: its plan is for any counts */
    if ((status = hx_bind(&comm->engine, key, &bound)) == HX_SUCCESS)
        status = describe(comm, bound, count, out);
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

static hx_status_t coll_find(const char *function, const char *name, enum hx_coll *coll)
{
    char choices[256] = "";

    for (int f = 0; f < HX_FUNCTION_COUNT; f++) {
        const char *choice = hx_function_name((enum hx_function)f);
        *coll = hx_function_coll((enum hx_function)f);
        if (!strcmp(name, choice))
            return HX_SUCCESS;
        snprintf(choices + strlen(choices), sizeof(choices) - strlen(choices), " %s", choice);
    }
    return hx_fail(HX_ERR_ARG, "%s: unknown collective \"%.64s\"; choose one of%s", function, name, choices);
}

/* function: the public one, for errors; out_name: the name of its parameter out. */
static hx_status_t call_look(const char *function, hx_comm_t *comm, const char *collective, struct hx_call_key key, describe_fn *describe,
                             const char *out_name, void *out, size_t out_bytes)
{
    hx_status_t status = hx_comm_check(comm, function);

    if (status != HX_SUCCESS)
        return status;
    if (!collective || !out)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: %s is NULL", function, out ? "collective" : out_name));
    if ((status = coll_find(function, collective, &key.coll)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    memset(out, 0, out_bytes);
    if (key.coll == HX_COLL_BARRIER)
        key = hx_call_key_barrier(HX_FOR_CALL);
    if (!hx_coll_reduces(key.coll))
        key.op = HX_SUM;
    if (!hx_coll_is_rooted(key.coll))
        key.root = 0;
    status = hx_call_check(&(struct hx_call){.name = function, .comm = comm, .key = key});
    if (status != HX_SUCCESS || key.count == 0 || comm->members.size == 1)
        return status;
    hx_user_hold((unsigned)key.dtype); /* as a blocking call */
    hx_user_hold((unsigned)key.op);
    status = call_describe(comm, hx_call_key_on(comm, key), describe, out);
    hx_user_leave(&comm->engine, (unsigned)key.dtype);
    hx_user_leave(&comm->engine, (unsigned)key.op);
    return status;
}

hx_status_t hx_plan_info(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                         hx_plan_info_t *info)
{
    const struct hx_call_key key = {.dtype = dtype, .op = op, .root = root, .count = count};

    HX_ENTER();
    return call_look("hx_plan_info", comm, collective, key, info_fill, "info", info, sizeof(*info));
}

hx_status_t hx_plan_predict(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                            hx_prediction_t *prediction)
{
    const struct hx_call_key key = {.dtype = dtype, .op = op, .root = root, .count = count};

    HX_ENTER();
    return call_look("hx_plan_predict", comm, collective, key, prediction_fill, "prediction", prediction, sizeof(*prediction));
}
