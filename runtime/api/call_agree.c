/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_CHECK: do all ranks make the same call? Before each blocking one they tell each other which it is, by an all-gather of a few words.
 * It costs more than most calls, and finds what else shows as wrong results, wrong lengths or a time-out.
 */
#include "runtime/api/call.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all ranks must have alike. */
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

hx_status_t hx_call_agree(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    int of_its_own = call->root_knows || hx_coll_has_pair_counts(call->key.coll);
    struct said mine = {.signature = hx_signature_of(&call->key, comm->members.size, of_its_own)};
    struct said *all = calloc((size_t)comm->members.size, sizeof(*all));
    struct hx_call gather = {.name = call->name, .comm = comm, .in = &mine, .out = all};
    hx_status_t status;

    if (!all)
        return hx_comm_break(comm, hx_fail(HX_ERR_NOMEM, "%s: no memory for what %d ranks call", call->name, comm->members.size));
    snprintf(mine.name, sizeof(mine.name), "%s", call->name);
    gather.key = hx_call_key_for(HX_FOR_CHECK, 0, hx_call_key_of(HX_COLL_ALLGATHER, HX_BYTE, HX_SUM, 0, sizeof(mine)));
    if ((status = hx_engine_await(&comm->engine)) == HX_SUCCESS && (status = hx_call_run(&gather)) == HX_SUCCESS)
        status = compare(call, all);
    free(all);
    return status;
}
