/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in which each rank knows what it sends and receives: an all-to-all with counts, which may all be 0, and the neighbourhood
 * collectives (neighbors.c). The other ranks are in the call all the same. */
#include "runtime/api/call.h"
#include "runtime/plan/graph.h"
#include <stdlib.h>
#include <string.h>

int hx_counts_are_0(const size_t *counts, int n)
{
    for (int r = 0; r < n && counts; r++)
        if (counts[r])
            return 0;
    return n > 0 && counts;
}

/* In place, what is sent stands where what comes goes. Counts that are too many for memory are refused. */
struct hx_call hx_call_of_pairs(const char *name, hx_comm_t *comm, const void *in, void *out, hx_dtype_t dtype, struct hx_pair_counts pairs)
{
    const int n = pairs.nreceived, in_place = in == HX_IN_PLACE;
    struct hx_call call = {.name = name, .comm = comm, .in = in_place ? out : in, .out = out, .said_count = 1,
                           .key = hx_call_key_of(HX_COLL_ALLTOALLV, dtype, HX_SUM, 0, 1), .pair_counts = pairs};
    size_t elements = 0;

    if (!in && pairs.nsent > 0 && !hx_counts_are_0(pairs.sent, pairs.nsent))
        call.fault = HX_FAULT_IN_NULL;
    else if (!out && n > 0 && !hx_counts_are_0(pairs.received, n))
        call.fault = HX_FAULT_OUT_NULL;
    else if (out == HX_IN_PLACE)
        call.fault = HX_FAULT_IN_PLACE;
    if (in_place) {
        call.pair_counts.sent = pairs.received;
        call.pair_counts.sent_at = pairs.received_at;
    }
    for (int r = 0; in_place && pairs.received && pairs.received_at && r < n; r++)
        elements += pairs.received[r];
    if (elements && n > 1) { /* the only rank's block stays where it is */
        call.inplace_copy = HX_INPLACE_COPY_BLOCKS;
        call.inplace_copy_bytes = elements * hx_dtype_bytes(dtype) + hx_inplace_copy_head_bytes(n);
    }
    return call;
}

/* Does the rank send to itself what it receives from itself? */
static hx_status_t own_check(const struct hx_call *call)
{
    const struct hx_pair_counts *pairs = &call->pair_counts;
    const struct hx_graph *graph = hx_call_graph(call);
    const uint32_t rank = (uint32_t)call->comm->members.rank, first = graph ? graph->start[rank] : 0;

    for (uint32_t i = graph ? 0 : rank; i < (graph ? (uint32_t)pairs->nsent : rank + 1); i++) {
        const uint32_t j = graph ? graph->in_place[first + i] : rank;
        if ((!graph || graph->to[first + i] == rank) && pairs->sent[i] != pairs->received[j])
            return hx_fail(HX_ERR_ARG, "%s: rank %u sends %zu %s to itself (scounts[%u]), but receives %zu (rcounts[%u])", call->name,
                           rank, pairs->sent[i], call->key.dtype == HX_BYTE ? "bytes" : "elements", i, pairs->received[j], j);
    }
    return HX_SUCCESS;
}

hx_status_t hx_call_check_pair_counts(const struct hx_call *call)
{
    const struct hx_pair_counts *pairs = &call->pair_counts;
    const size_t *const arrays[] = {pairs->sent, pairs->sent_at, pairs->received, pairs->received_at};
    const int entries[] = {pairs->nsent, pairs->nsent, pairs->nreceived, pairs->nreceived};
    static const char *const names[] = {"scounts", "sdispls", "rcounts", "rdispls"};
    int in_place = call->in == call->out; /* then the sending side's arrays are the receiving side's */
    hx_status_t status;

    for (int i = 0; i < 4; i++)
        if (!arrays[i] && entries[i])
            return hx_fail(HX_ERR_ARG, "%s: %s is NULL", call->name, names[in_place ? i | 2 : i]);
    if (call->fault == HX_FAULT_IN_NULL || call->fault == HX_FAULT_OUT_NULL)
        return hx_fail(HX_ERR_ARG, "%s: %s are not all 0", call->name,
                       call->fault == HX_FAULT_IN_NULL ? "in is NULL, but scounts" : "out is NULL, but rcounts");
    if ((status = own_check(call)) != HX_SUCCESS)
        return status;
    status = hx_blocks_check(call, "s", pairs->nsent, pairs->sent, pairs->sent_at, 0);
    return status == HX_SUCCESS ? hx_blocks_check(call, "r", pairs->nreceived, pairs->received, pairs->received_at, 1) : status;
}

hx_status_t hx_pair_counts_keep(struct hx_call *call)
{
    const struct hx_pair_counts from = call->pair_counts;
    const size_t sent = (size_t)from.nsent, received = (size_t)from.nreceived;
    const size_t *const arrays[] = {from.sent, from.sent_at, from.received, from.received_at};
    const size_t entries[] = {sent, sent, received, received};
    size_t *copies[4], *next;

    if (!(next = call->kept_counts = malloc((2 * (sent + received) + 1) * sizeof(*next))))
        return hx_fail(HX_ERR_NOMEM, "%s: no memory for %zu counts", call->name, sent + received);
    for (int i = 0; i < 4; next += entries[i++]) {
        copies[i] = next;
        if (entries[i])
            memcpy(next, arrays[i], entries[i] * sizeof(*next));
    }
    call->pair_counts = (struct hx_pair_counts){from.nsent, from.nreceived, copies[0], copies[1], copies[2], copies[3]};
    return HX_SUCCESS;
}
