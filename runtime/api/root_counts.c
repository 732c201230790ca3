/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts that not all ranks know: in a gatherv or scatterv the root knows all counts, every other rank only its own. First all
 * ranks get the counts of the sending side, by ordinary plans: each rank's own count by an all-gather, the root's counts and
 * displacements by a broadcast. Then Hierax uses the plans of gather and scatter, with blocks of different length as in an
 * all-gather. A rank that reads its block in the root's memory needs its displacement there (scatter_single_copy.c).
 *
 * The sending side decides the lengths. If a receiving rank expects other lengths, it receives into memory of Hierax and returns
 * HX_ERR_ARG. So the rank's buffers are not overwritten, no rank waits for ever, and the communicator stays usable.
 *
 * On one node, blocking calls whose last counts were short do not need it: short_blocks.c.
 *
 * Cost: a small all-gather of 8 bytes for each rank, or a broadcast of 16. A persistent call has this cost only at its first start.
 */
#include "runtime/api/call.h"
#include "runtime/engine/signature.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts travel as HX_UINT64");

static int is_root(const struct hx_call *call)
{
    return call->comm->members.rank == call->key.root;
}

hx_status_t hx_root_counts_check(const struct hx_call *call)
{
    int gathers = call->key.coll == HX_COLL_GATHER;

    if (call->fault == HX_FAULT_IN_NULL || call->fault == HX_FAULT_OUT_NULL) {
        const char *lacking = call->fault == HX_FAULT_IN_NULL ? "in" : "out";
        if (is_root(call) && (lacking[0] == 'o') == gathers)
            return hx_fail(HX_ERR_ARG, "%s: %s is NULL, but counts are not all 0", call->name, lacking);
        return hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", call->name, lacking, call->said_count);
    }
    if (!call->root_counts || !call->root_displs)
        return HX_SUCCESS;
    return hx_blocks_check(call, "", call->comm->members.size, call->root_counts, call->root_displs, gathers);
}

/* The root's counts; after them, where each block is in its vector. */
static void counts_fill(const struct hx_call *call, size_t n)
{
    size_t next = 0;

    memcpy(call->counts, call->root_counts, n * sizeof(*call->counts));
    for (size_t r = 0; r < n; next += call->root_counts[r++])
        call->counts[n + r] = call->root_displs ? call->root_displs[r] : next;
}

hx_status_t hx_root_counts_open(struct hx_call *call)
{
    size_t n = (size_t)call->comm->members.size;

    if (!call->root_knows)
        return HX_SUCCESS;
    if (!(call->counts = calloc(2 * n, sizeof(*call->counts)))) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for the counts of %zu ranks", call->name, n);
        return hx_comm_break(call->comm, HX_ERR_NOMEM);
    }
    if (call->key.coll == HX_COLL_GATHER)
        call->counts[call->comm->members.rank] = call->said_count;
    else if (is_root(call))
        counts_fill(call, n);
    return HX_SUCCESS;
}

void hx_root_counts_close(struct hx_call *call)
{
    free(call->counts);
    free(call->scrap);
}

struct hx_call hx_root_counts_call(const struct hx_call *call)
{
    const int scatters = call->key.coll == HX_COLL_SCATTER, root = call->key.root;
    const uint64_t size = (uint64_t)call->comm->members.size;
    const struct hx_call_key key = scatters ? hx_call_key_of(HX_COLL_BCAST, HX_UINT64, HX_SUM, root, 2 * size)
                                            : hx_call_key_of(HX_COLL_ALLGATHER, HX_UINT64, HX_SUM, 0, 1);

    return (struct hx_call){
        .name = call->name, .comm = call->comm, .in = scatters ? call->counts : &call->said_count, .out = call->counts,
        .key = hx_call_key_for(scatters ? HX_FOR_SCATTERV : HX_FOR_GATHERV, hx_about_rooted(call->key.dtype, root), key)};
}

int hx_root_counts_differing(const struct hx_call *call)
{
    int n = call->comm->members.size;

    if (call->key.coll == HX_COLL_SCATTER)
        return call->counts[call->comm->members.rank] != call->said_count ? call->comm->members.rank : -1;
    for (int r = 0; is_root(call) && r < n; r++)
        if (call->counts[r] != call->root_counts[r])
            return r;
    return -1;
}

hx_status_t hx_root_counts_apply(struct hx_call *call)
{
    const size_t *displs = call->key.coll == HX_COLL_SCATTER ? call->counts + call->comm->members.size : call->root_displs;
    size_t bytes = hx_dtype_bytes(call->key.dtype), all = 0;
    const struct hx_call_key before = call->key;
    hx_status_t status;
    int n = call->comm->members.size;

    call->key.blocks = hx_blocks_of(call->counts, NULL, n, &call->key.count);
    if ((status = hx_call_check_kind(call)) != HX_SUCCESS) { /* alike on all ranks; a persistent call's next start finds the same */
        call->key = before;
        return status;
    }
    call->counted = 1;
    if (hx_root_counts_differing(call) >= 0) {
        for (int r = 0; r < n; r++)
            all += call->key.coll == HX_COLL_GATHER || r == call->comm->members.rank ? call->counts[r] : 0;
        if (!(call->scrap = malloc(all * bytes + 1))) {
            hx_fail(HX_ERR_NOMEM, "%s: no memory to discard %zu bytes: the counts on the ranks do not match", call->name, all * bytes);
            return hx_comm_break(call->comm, HX_ERR_NOMEM);
        }
        call->out = call->scrap;
        displs = call->key.coll == HX_COLL_GATHER ? NULL : displs;
    }
    if (displs)
        call->key.blocks = hx_blocks_of(call->counts, displs, n, &call->key.count);
    return HX_SUCCESS;
}

hx_status_t hx_root_counts_compare(const struct hx_call *call)
{
    int r = call->root_knows ? hx_root_counts_differing(call) : -1;

    if (r < 0)
        return HX_SUCCESS;
    if (call->key.coll == HX_COLL_GATHER)
        hx_fail(HX_ERR_ARG, "%s: counts[%d] is %zu, but rank %d gives %zu elements", call->name, r,
                call->root_counts[r], r, call->counts[r]);
    else
        hx_fail(HX_ERR_ARG, "%s: count is %zu on rank %d, but counts[%d] is %zu on root %d", call->name,
                call->said_count, r, r, call->counts[r], call->key.root);
    return hx_comm_fail(call->comm, HX_ERR_ARG);
}
