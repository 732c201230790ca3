/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays of an all-to-all with counts, as its caller gives them: checked in each call. */
#include "runtime/api/blocks.h"
#include "runtime/api/call.h"
#include <stdint.h>

static hx_status_t side_check(const struct hx_call *call, const char *prefix, const size_t *counts,
                              const size_t *displs)
{
    struct hx_blocks blocks = {.counts = counts, .displs = displs};

    return hx_blocks_check(call->name, prefix, &blocks, call->comm->members.size, hx_dtype_bytes(call->key.dtype),
                           prefix[0] == 'r');
}

/* HX_ERR_ARG, told to the thread, or HX_SUCCESS. */
static hx_status_t pair_counts_check(const struct hx_call *call, int rank)
{
    const struct hx_pair_counts *pair_counts = &call->pair_counts;
    const size_t *const arrays[] = {pair_counts->sent, pair_counts->sent_at, pair_counts->received, pair_counts->received_at};
    static const char *const names[] = {"scounts", "sdispls", "rcounts", "rdispls"};
    hx_status_t status;

    for (int i = call->needed[0] == HX_IN_PLACE ? 2 : 0; i < 4; i++)
        if (!arrays[i])
            return hx_fail(HX_ERR_ARG, "%s: %s is NULL", call->name, names[i]);
    for (int i = 0; i < 2; i++)
        if (!call->needed[i])
            return hx_fail(HX_ERR_ARG, "%s: %s is NULL, but %s are not all 0", call->name, i ? "out" : "in",
                           names[2 * i]);
    if (pair_counts->sent[rank] != pair_counts->received[rank])
        return hx_fail(HX_ERR_ARG, "%s: scounts[%d] is %zu and rcounts[%d] %zu on rank %d itself", call->name, rank,
                       pair_counts->sent[rank], rank, pair_counts->received[rank], rank);
    status = side_check(call, "s", pair_counts->sent, pair_counts->sent_at);
    return status == HX_SUCCESS ? side_check(call, "r", pair_counts->received, pair_counts->received_at) : status;
}

hx_status_t hx_call_check_pair_counts(const struct hx_call *call)
{
    hx_status_t status;

    if (!call->comm || !hx_comm_is_open(call->comm) || call->comm->members.failed)
        return HX_SUCCESS; /* hx_call_check tells that */
    status = pair_counts_check(call, call->comm->members.rank);
    return status == HX_SUCCESS ? status : hx_comm_fail(call->comm, status);
}
