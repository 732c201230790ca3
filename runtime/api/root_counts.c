/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lengths that not all ranks know: of a gatherv or scatterv the root knows all, every other rank only its own. What the
 * sending side says is sent to all ranks before, by plans as any: each rank's own count by an all-gather, the
 * root's by a broadcast. Then the plans of gather and scatter serve, with blocks of different length as all-gather has
 * them.
 *
 * Data go as the sending side says. Where the receiving one expects something else it receives into memory of ours and
 * tells, so that nothing is overwritten and nobody waits for ever; the communicator goes on.
 *
 * Cost: a small all-gather or broadcast of 8 bytes for each rank; of a persistent call only at its first start.
 */
#include "runtime/api/blocks.h"
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
    struct hx_comm *comm = call->comm;
    struct hx_blocks blocks = {.counts = call->root_counts, .displs = call->root_displs};
    hx_status_t status = HX_SUCCESS;
    int gathers = call->key.coll == HX_COLL_GATHER;

    if (!comm || !hx_comm_is_open(comm) || comm->members.failed || call->fault == HX_FAULT_COUNTS_NULL)
        return HX_SUCCESS; /* hx_call_check tells that */
    if (call->fault == HX_FAULT_IN_NULL || call->fault == HX_FAULT_OUT_NULL) {
        const char *lacking = call->fault == HX_FAULT_IN_NULL ? "in" : "out";
        if (is_root(call) && (lacking[0] == 'o') == gathers)
            status = hx_fail(HX_ERR_ARG, "%s: %s is NULL, but counts are not all 0", call->name, lacking);
        else
            status = hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", call->name, lacking, call->said_count);
    } else if (blocks.counts && blocks.displs) {
        status = hx_blocks_check(call->name, "", &blocks, comm->members.size, hx_dtype_bytes(call->key.dtype), gathers);
    }
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_root_counts_open(struct hx_root_counts *root_counts, const struct hx_call *call)
{
    size_t n = (size_t)call->comm->members.size;

    *root_counts = (struct hx_root_counts){0};
    if (!call->root_knows)
        return HX_SUCCESS;
    if (!(root_counts->counts = calloc(n, sizeof(*root_counts->counts)))) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for the counts of %zu ranks", call->name, n);
        return hx_comm_break(call->comm, HX_ERR_NOMEM);
    }
    if (call->key.coll == HX_COLL_GATHER)
        root_counts->counts[call->comm->members.rank] = call->said_count;
    else if (is_root(call))
        memcpy(root_counts->counts, call->root_counts, n * sizeof(*root_counts->counts));
    return HX_SUCCESS;
}

void hx_root_counts_close(struct hx_root_counts *root_counts)
{
    free(root_counts->counts);
    free(root_counts->scrap);
}

struct hx_call hx_root_counts_call(const struct hx_root_counts *root_counts, const struct hx_call *call)
{
    struct hx_call counts = {.name = call->name, .comm = call->comm, .in = &call->said_count, .out = root_counts->counts};

    uint64_t about = hx_about_rooted(call->key.dtype, call->key.root);

    if (call->key.coll == HX_COLL_SCATTER) {
        counts.key = hx_call_key_for(HX_FOR_SCATTERV, about,
                                  hx_call_key_of(HX_COLL_BCAST, HX_UINT64, HX_SUM, call->key.root, (uint64_t)call->comm->members.size));
        counts.in = counts.out;
    } else {
        counts.key = hx_call_key_for(HX_FOR_GATHERV, about, hx_call_key_of(HX_COLL_ALLGATHER, HX_UINT64, HX_SUM, 0, 1));
    }
    return counts;
}

/* The first rank of whose block the receiving side, if this is it, thinks otherwise, or -1. */
static int differing(const struct hx_root_counts *root_counts, const struct hx_call *call)
{
    int n = call->comm->members.size;

    if (call->key.coll == HX_COLL_SCATTER)
        return root_counts->counts[call->comm->members.rank] != call->said_count ? call->comm->members.rank : -1;
    for (int r = 0; is_root(call) && r < n; r++)
        if (root_counts->counts[r] != call->root_counts[r])
            return r;
    return -1;
}

hx_status_t hx_root_counts_apply(struct hx_root_counts *root_counts, struct hx_call *call)
{
    const size_t *displs = call->root_displs;
    size_t bytes = hx_dtype_bytes(call->key.dtype), all = 0;
    const struct hx_call_key before = call->key;
    hx_status_t status;
    int n = call->comm->members.size;

    call->key.blocks = hx_blocks_of(root_counts->counts, NULL, n, &call->key.count);
    if ((status = hx_call_check_kind(call)) != HX_SUCCESS) { /* alike on all ranks; a persistent call's next start finds the same */
        call->key = before;
        return status;
    }
    root_counts->done = 1;
    if (differing(root_counts, call) >= 0) {
        for (int r = 0; r < n; r++)
            all += call->key.coll == HX_COLL_GATHER || r == call->comm->members.rank ? root_counts->counts[r] : 0;
        if (!(root_counts->scrap = malloc(all * bytes + 1))) {
            hx_fail(HX_ERR_NOMEM, "%s: no memory for %zu bytes that were not expected", call->name, all * bytes);
            return hx_comm_break(call->comm, HX_ERR_NOMEM);
        }
        call->out = root_counts->scrap;
        displs = call->key.coll == HX_COLL_GATHER ? NULL : displs;
    }
    if (displs)
        call->key.blocks = hx_blocks_of(root_counts->counts, displs, n, &call->key.count);
    return HX_SUCCESS;
}

hx_status_t hx_root_counts_compare(const struct hx_root_counts *root_counts, const struct hx_call *call)
{
    int r = call->root_knows ? differing(root_counts, call) : -1;

    if (r < 0)
        return HX_SUCCESS;
    if (call->key.coll == HX_COLL_GATHER)
        hx_fail(HX_ERR_ARG, "%s: counts[%d] is %zu, but rank %d gives %zu elements", call->name, r,
                call->root_counts[r], r, root_counts->counts[r]);
    else
        hx_fail(HX_ERR_ARG, "%s: count is %zu on rank %d, but counts[%d] is %zu on root %d", call->name,
                call->said_count, r, r, root_counts->counts[r], call->key.root);
    return hx_comm_fail(call->comm, HX_ERR_ARG);
}
