/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in place: what is copied from the caller's buffer before, or back afterwards (enum hx_inplace_copy). And the call of an only rank,
 * which is no more than a copy. */
#include "runtime/api/call.h"
#include "runtime/base/memcpy.h"
#include "runtime/base/reduce.h"
#include "runtime/plan/graph.h"
#include <stdlib.h>
#include <string.h>

/* One block after the other. */
static const void *blocks_copy(const struct hx_call *call)
{
    const struct hx_pair_counts *pair_counts = &call->pair_counts;
    size_t elem_bytes = hx_dtype_bytes(call->key.dtype), *at = call->memory, end = 0;
    unsigned char *blocks = (unsigned char *)call->memory + hx_inplace_copy_head_bytes(pair_counts->nsent);

    for (int r = 0; r < pair_counts->nsent; end += pair_counts->sent[r++]) {
        at[r] = end;
        if (pair_counts->sent[r])
            hx_memcpy(blocks + end * elem_bytes, (const unsigned char *)call->out + pair_counts->sent_at[r] * elem_bytes,
                      pair_counts->sent[r] * elem_bytes);
    }
    return blocks;
}

void hx_inplace_copy_begin(const struct hx_call *call, const void **in, void **out)
{
    if (call->inplace_copy == HX_INPLACE_COPY_IN)
        *in = memcpy(call->memory, call->inplace_copy_at, call->inplace_copy_bytes);
    else if (call->inplace_copy == HX_INPLACE_COPY_BLOCKS)
        *in = blocks_copy(call);
    else if (call->inplace_copy == HX_INPLACE_COPY_OUT)
        *out = call->memory;
}

struct hx_pair_counts hx_call_pair_counts(const struct hx_call *call)
{
    struct hx_pair_counts pair_counts = call->pair_counts;

    if (call->inplace_copy == HX_INPLACE_COPY_BLOCKS)
        pair_counts.sent_at = call->memory;
    return pair_counts;
}

void hx_inplace_copy_end(const struct hx_call *call)
{
    if (call->inplace_copy == HX_INPLACE_COPY_OUT && call->inplace_copy_at)
        hx_memcpy(call->inplace_copy_at, call->memory, call->inplace_copy_bytes);
}

void *hx_inplace_copy_new(size_t bytes)
{
    void *memory = NULL;

    return posix_memalign(&memory, 64, bytes) ? NULL : memory;
}

hx_status_t hx_inplace_copy_reserve(struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    size_t bytes = call->inplace_copy_bytes;

    call->memory = comm->inplace_copy;
    if (bytes <= comm->inplace_copy_bytes)
        return HX_SUCCESS;
    if (!(call->memory = hx_inplace_copy_new(bytes))) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for an in-place copy of %zu bytes", call->name, bytes);
        return hx_comm_break(comm, HX_ERR_NOMEM); /* the other ranks are in the call, this one is not */
    }
    free(comm->inplace_copy);
    comm->inplace_copy = call->memory;
    comm->inplace_copy_bytes = bytes;
    return HX_SUCCESS;
}

/* ---- an only rank --------------------------------------------------------------------------------------------- */

static void copy_alone(const struct hx_call *call)
{
    const struct hx_call_key *key = &call->key;
    const int has_pair_counts = hx_coll_has_pair_counts(key->coll), scatters = hx_coll_gives(key->coll) == HX_HOLDS_ROOT;
    const size_t elem_bytes = hx_dtype_bytes(key->dtype), displ = key->blocks.displs ? key->blocks.displs[0] : 0;
    const size_t from = has_pair_counts ? call->pair_counts.sent_at[0] : scatters ? displ : 0;
    const size_t to = has_pair_counts ? call->pair_counts.received_at[0] : scatters ? 0 : displ;
    const size_t count = has_pair_counts ? call->pair_counts.sent[0] : key->count;
    /* no slice reads what another one has written */
    const unsigned char *in = call->inplace_copy == HX_INPLACE_COPY_IN ? call->inplace_copy_at : call->in;
    unsigned char *out = call->inplace_copy == HX_INPLACE_COPY_OUT ? call->inplace_copy_at : call->out;

    if (hx_coll_gets(key->coll) == HX_HOLDS_NOTHING || hx_coll_is_exclusive(key->coll) || !out || !count)
        return;
    const void *input = in + from * elem_bytes;
    out += to * elem_bytes;
    if (hx_coll_reduces(key->coll) && !hx_coll_is_scan(key->coll) && hx_op_name(key->op))
        hx_reduce_kernel(key->dtype, key->op)(out, &input, 1, count);
    else if (input != out)
        memcpy(out, input, count * elem_bytes);
}

/* All edges are of the only rank with itself. */
static void edges_copy(const struct hx_call *call)
{
    const struct hx_graph *graph = hx_call_graph(call);
    const struct hx_pair_counts *pairs = &call->pair_counts;
    const size_t elem_bytes = hx_dtype_bytes(call->key.dtype);

    for (uint32_t i = 0; i < graph->nedges; i++)
        if (pairs->sent[i])
            memcpy((unsigned char *)call->out + pairs->received_at[graph->in_place[i]] * elem_bytes,
                   (const unsigned char *)call->in + pairs->sent_at[i] * elem_bytes, pairs->sent[i] * elem_bytes);
}

hx_status_t hx_call_alone(struct hx_call *call)
{
    hx_status_t status = call->root_knows && !call->counted ? hx_root_counts_apply(call) : HX_SUCCESS;

    if (status != HX_SUCCESS)
        return status;
    if (hx_call_graph(call))
        edges_copy(call);
    else
        copy_alone(call);
    return hx_root_counts_compare(call);
}
