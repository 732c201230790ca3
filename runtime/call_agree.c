/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_CHECK: do all ranks make the same call? Before each blocking one they tell each other which it is, by an all-gather of a few words.
 * It costs more than most calls, and finds what else shows as wrong results, wrong lengths or a time-out.
 */
#include "call.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_OP = -1, OWN_OP = -2 };

/* What all ranks must have alike. */
struct signature {
    char name[24]; /* of the public function: hx_reduce_scatter_block is the longest */
    int32_t dtype; /* < 0: the program's own, of so many bytes, which may have other numbers elsewhere */
    int32_t op, root;
    uint32_t counts_hash; /* of a count for each rank; 0: there are none that all have alike */
    uint64_t count;
};

static uint32_t hash_of(const size_t *counts, int n) /* FNV-1a */
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; counts && i < (size_t)n * sizeof(*counts); i++)
        hash = (hash ^ ((const unsigned char *)counts)[i]) * 16777619u;
    return counts ? hash | 1 : 0;
}

static struct signature signature_of(const struct hx_call *call)
{
    const struct hx_kind *kind = &call->kind;
    int of_its_own = call->spreads || hx_coll_has_traffic(kind->coll); /* each rank has lengths that others do not know */
    struct signature mine = {
        .dtype = hx_dtype_name(kind->dtype) ? (int32_t)kind->dtype : -(int32_t)hx_dtype_bytes(kind->dtype),
        .op = !hx_coll_reduces(kind->coll) ? NO_OP : hx_op_name(kind->op) ? (int32_t)kind->op : OWN_OP,
        .root = kind->root,
        .counts_hash = of_its_own ? 0 : hash_of(kind->blocks.counts, call->comm->size),
        .count = of_its_own ? 0 : kind->count,
    };

    snprintf(mine.name, sizeof(mine.name), "%s", call->name);
    return mine;
}

static void signature_tell(const struct signature *s, int rooted, char *text, size_t capacity)
{
    char dtype[32], root[24] = "", counts[40] = "";
    const char *op = s->op == NO_OP ? "" : s->op == OWN_OP ? ", an operation of its own" : hx_op_name((hx_op_t)s->op);

    if (s->dtype < 0)
        snprintf(dtype, sizeof(dtype), "elements of %d bytes", -s->dtype);
    else
        snprintf(dtype, sizeof(dtype), "%s", hx_dtype_name((hx_dtype_t)s->dtype));
    if (s->counts_hash)
        snprintf(counts, sizeof(counts), ", counts %08x", s->counts_hash);
    if (rooted)
        snprintf(root, sizeof(root), ", root %d", s->root);
    snprintf(text, capacity, "%s of %llu %s%s%s%s%s", s->name, (unsigned long long)s->count, dtype, s->op >= 0 ? ", " : "", op, root,
             counts);
}

static hx_status_t compare(const struct hx_call *call, const struct signature *all)
{
    char first[160], other[160];
    int r = 1, rooted;

    while (r < call->comm->size && memcmp(&all[0], &all[r], sizeof(all[0])) == 0)
        r++;
    if (r == call->comm->size)
        return HX_SUCCESS;
    rooted = all[0].root != all[r].root || hx_coll_is_rooted(call->kind.coll);
    signature_tell(&all[0], rooted, first, sizeof(first));
    signature_tell(&all[r], rooted, other, sizeof(other));
    return hx_comm_fail(call->comm, hx_fail(HX_ERR_MISMATCH, "ranks make different calls: rank 0 %s; rank %d %s", first, r, other));
}

hx_status_t hx_call_agree(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    struct signature mine = signature_of(call), *all = calloc((size_t)comm->size, sizeof(*all));
    struct hx_call gather = {.name = call->name, .comm = comm, .in = &mine, .out = all};
    hx_status_t status;

    if (!all)
        return hx_comm_break(comm, hx_fail(HX_ERR_NOMEM, "%s: no memory for what %d ranks call", call->name, comm->size));
    gather.kind = hx_kind_of(HX_COLL_ALLGATHER, HX_BYTE, HX_SUM, 0, sizeof(mine));
    if ((status = hx_engine_await(&comm->engine)) == HX_SUCCESS && (status = hx_call_run(&gather)) == HX_SUCCESS)
        status = compare(call, all);
    free(all);
    return status;
}
