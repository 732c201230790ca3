/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking calls, and the common entry of all. */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/base/clock.h"
#include "runtime/base/user_table.h"
#include "runtime/engine/signature.h"
#include "runtime/engine/trace_spans.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- running ------------------------------------------------------------------------------------------------- */

static hx_status_t parts_run(struct hx_call *call, struct hx_bound *bound)
{
    struct hx_engine *engine = &call->comm->engine;
    struct hx_prepared next = {.bound = bound};
    hx_status_t status;

    while ((status = hx_call_prepare(engine, call, &next)) == HX_SUCCESS &&
           (status = hx_engine_run(engine, next.bound, call->name, next.in, next.out)) == HX_SUCCESS && !hx_call_has_ended(engine, call, &status))
        next.bound = NULL;
    return status;
}

/* One that is right, and whose engine is free. bound: by hx_call_known, or NULL. */
static hx_status_t call_run(struct hx_call *call, struct hx_bound *bound)
{
    hx_status_t status;

    if (hx_short_blocks_fit(call))
        return hx_short_blocks_run(call);
    status = call->root_knows ? hx_root_counts_open(call) : HX_SUCCESS;
    if (status == HX_SUCCESS && call->comm->members.size == 1) {
        status = hx_call_alone(call);
    } else if (status == HX_SUCCESS && (status = hx_inplace_copy_reserve(call)) == HX_SUCCESS) {
        call->key = hx_call_key_on(call->comm, call->key);
        status = parts_run(call, bound);
        if (call->counted)
            hx_short_blocks_expect(call);
    }
    if (call->root_knows)
        hx_root_counts_close(call);
    return status;
}

hx_status_t hx_call_run(struct hx_call *call)
{
    struct hx_bound *bound = hx_call_known(call->comm, call->key);

    return call_run(call, bound && !hx_call_is_ahead(&call->comm->engine, &call->key) ? bound : NULL);
}

/* ---- HX_CHECK ------------------------------------------------------------------------------------------------- */

/*
 * HX_CHECK: do all ranks make the same call? Before each blocking one they tell each other which it is, by an all-gather of a few words.
 * It costs more than most calls, and finds what else shows as wrong results, wrong lengths or a time-out.
 */

/* The properties of a call that must be the same on all ranks. */
struct said {
    char name[24]; /* of the public function, which may be more than its collective: hx_reduce_scatter_block is the longest */
    struct hx_signature signature;
};

static hx_status_t compare(const struct hx_call *call, const struct said *all)
{
    char first[192], other[192];
    int r = 1;

    while (r < call->comm->members.size && memcmp(&all[0], &all[r], sizeof(all[0])) == 0)
        r++;
    if (r == call->comm->members.size)
        return HX_SUCCESS;
    hx_signature_tell(&all[0].signature, all[0].name, first, sizeof(first));
    hx_signature_tell(&all[r].signature, all[r].name, other, sizeof(other));
    return hx_comm_fail(call->comm, hx_fail(HX_ERR_MISMATCH, "ranks make different calls: rank 0 %s; rank %d %s", first, r, other));
}

/* Do all ranks make this call? If not, HX_ERR_MISMATCH. The communicator keeps the detail and stays usable. */
static hx_status_t call_agree(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    int of_its_own = call->root_knows || hx_coll_has_pair_counts(call->key.coll);
    struct said mine = {.signature = hx_signature_of(&call->key, comm->members.size, of_its_own)};
    struct said *all = calloc((size_t)comm->members.size, sizeof(*all));
    struct hx_call gather = {.name = call->name, .comm = comm, .in = &mine, .out = all};
    hx_status_t status;

    if (!all)
        return hx_comm_break(comm, hx_fail(HX_ERR_NOMEM, "%s: no memory to compare the calls of %d ranks", call->name, comm->members.size));
    snprintf(mine.name, sizeof(mine.name), "%s", call->name);
    gather.key = hx_call_key_for(HX_FOR_CHECK, 0, hx_call_key_of(HX_COLL_ALLGATHER, HX_BYTE, HX_SUM, 0, sizeof(mine)));
    if ((status = hx_engine_await(&comm->engine)) == HX_SUCCESS && (status = call_run(&gather, NULL)) == HX_SUCCESS)
        status = compare(call, all);
    free(all);
    return status;
}

/* ---- entry ---------------------------------------------------------------------------------------------------- */

/* A call that is right. */
static hx_status_t call_await(struct hx_call *call)
{
    uint64_t start_ns;
    hx_status_t status;

    if (call->comm->world->process.env->check && call->comm->members.size > 1 && (status = call_agree(call)) != HX_SUCCESS)
        return status;
    if (call->key.count == 0)
        return HX_SUCCESS;
    start_ns = call->comm->world->process.env->stats ? hx_now_ns() : 0;
    if ((status = hx_engine_await(&call->comm->engine)) == HX_SUCCESS)
        status = call_run(call, NULL);
    if (start_ns && status == HX_SUCCESS)
        hx_stats_call(call, start_ns);
    return status;
}

static hx_status_t call_block(struct hx_call *call)
{
    struct hx_bound *bound = call->root_knows || call->fault ? NULL : hx_call_known(call->comm, call->key);
    const unsigned dtype = (unsigned)call->key.dtype, op = (unsigned)call->key.op;
    hx_status_t status;

    if (bound && !hx_call_is_ahead(&call->comm->engine, &call->key))
        return call_run(call, bound);
    if ((status = hx_call_check(call)) != HX_SUCCESS)
        return status;
    if (call->comm->group && call->key.purpose == HX_FOR_CALL)
        return hx_group_record(call, HX_BLOCKING);
    if ((status = hx_notice_refuse(call->name)) != HX_SUCCESS)
        return hx_comm_fail(call->comm, status);
    hx_user_hold(dtype); /* another thread may free them while this one waits for its turn */
    hx_user_hold(op);
    status = hx_commits(call) ? hx_call_atomic(call, call_await) : call_await(call);
    hx_user_leave(&call->comm->engine, dtype);
    hx_user_leave(&call->comm->engine, op);
    return status;
}

/* As call_block, and HX_TRACE records the call. */
static hx_status_t call_traced(struct hx_call *call)
{
    struct hx_trace_open open;
    hx_status_t status;

    if (!call->comm || !hx_comm_is_open(call->comm) || call->comm->members.failed)
        return call_block(call);
    hx_trace_call_begin(&open, call->name, &call->comm->engine, &call->key, hx_call_amount(call));
    status = call_block(call);
    hx_trace_call_end(&open, status);
    return status;
}

hx_status_t hx_call_do(struct hx_call *call, enum hx_mode mode, hx_request_t **request)
{
    const int has_pair_counts = hx_coll_has_pair_counts(call->key.coll);
    hx_status_t status = HX_SUCCESS;

    if (request)
        *request = NULL;
    if ((has_pair_counts || call->root_knows) && call->comm && hx_comm_is_open(call->comm) && !call->comm->members.failed)
        status = has_pair_counts ? hx_call_check_pair_counts(call) : hx_root_counts_check(call); /* hx_call_check tells the rest */
    if (status != HX_SUCCESS)
        return hx_comm_fail(call->comm, status);
    if (mode == HX_BLOCKING)
        return HX_TRACING ? call_traced(call) : call_block(call);
    if ((status = hx_call_check(call)) != HX_SUCCESS)
        return status;
    if (!request)
        return hx_comm_fail(call->comm, hx_fail(HX_ERR_ARG, "%s: request is NULL", call->name));
    if (call->comm->group && mode == HX_NONBLOCKING)
        return hx_group_record(call, mode);
    return hx_request_new(call, mode == HX_PERSISTENT, request);
}

hx_status_t hx_call_make(struct hx_call *call, enum hx_mode mode, hx_request_t **request)
{
    hx_status_t status;

    HX_ENTER();
    status = hx_call_do(call, mode, request);
    return mode == HX_BLOCKING && status == HX_SUCCESS && !call->comm->group ? hx_call_counted(call->comm, status) : status;
}
