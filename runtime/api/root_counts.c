/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lengths that not all ranks know: of a gatherv or scatterv the root knows all, every other rank only its own. What the
 * sending side says is spread over all ranks before, by plans as any: each rank's own count by an all-gather, the
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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts travel as HX_UINT64");

static int is_root(const struct hx_call *call)
{
    return call->comm->rank == call->kind.root;
}

hx_status_t hx_spread_check(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    struct hx_blocks blocks = {.counts = call->root_counts, .displs = call->root_displs};
    hx_status_t status = HX_SUCCESS;
    int gathers = call->kind.coll == HX_COLL_GATHER;

    if (!comm || !hx_comm_is_open(comm) || comm->failed || call->lacks)
        return HX_SUCCESS; /* hx_call_check tells that */
    if (!call->needed[0] || !call->needed[1]) {
        const char *lacking = call->needed[0] ? "out" : gathers || is_root(call) ? "in" : "out";
        if (is_root(call) && (lacking[0] == 'o') == gathers)
            status = hx_fail(HX_ERR_ARG, "%s: %s is NULL, but counts are not all 0", call->name, lacking);
        else
            status = hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", call->name, lacking, call->said_count);
    } else if (blocks.counts && blocks.displs) {
        status = hx_blocks_check(call->name, "", &blocks, comm->size, hx_dtype_bytes(call->kind.dtype), gathers);
    }
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_spread_open(struct hx_spread *spread, const struct hx_call *call)
{
    size_t n = (size_t)call->comm->size;

    *spread = (struct hx_spread){0};
    if (!call->spreads)
        return HX_SUCCESS;
    if (!(spread->counts = calloc(n, sizeof(*spread->counts)))) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for the counts of %zu ranks", call->name, n);
        return hx_comm_break(call->comm, HX_ERR_NOMEM);
    }
    if (call->kind.coll == HX_COLL_GATHER)
        spread->counts[call->comm->rank] = call->said_count;
    else if (is_root(call))
        memcpy(spread->counts, call->root_counts, n * sizeof(*spread->counts));
    return HX_SUCCESS;
}

void hx_spread_close(struct hx_spread *spread)
{
    free(spread->counts);
    free(spread->scrap);
}

struct hx_call hx_spread_call(const struct hx_spread *spread, const struct hx_call *call)
{
    struct hx_call counts = {.name = call->name, .comm = call->comm, .in = &call->said_count, .out = spread->counts};

    uint64_t about = hx_about_rooted(call->kind.dtype, call->kind.root);

    if (call->kind.coll == HX_COLL_SCATTER) {
        counts.kind = hx_kind_for(HX_FOR_SCATTERV, about,
                                  hx_kind_of(HX_COLL_BCAST, HX_UINT64, HX_SUM, call->kind.root, (uint64_t)call->comm->size));
        counts.in = counts.out;
    } else {
        counts.kind = hx_kind_for(HX_FOR_GATHERV, about, hx_kind_of(HX_COLL_ALLGATHER, HX_UINT64, HX_SUM, 0, 1));
    }
    return counts;
}

/* The first rank of whose block the receiving side, if this is it, thinks otherwise, or -1. */
static int differing(const struct hx_spread *spread, const struct hx_call *call)
{
    int n = call->comm->size;

    if (call->kind.coll == HX_COLL_SCATTER)
        return spread->counts[call->comm->rank] != call->said_count ? call->comm->rank : -1;
    for (int r = 0; is_root(call) && r < n; r++)
        if (spread->counts[r] != call->root_counts[r])
            return r;
    return -1;
}

hx_status_t hx_spread_apply(struct hx_spread *spread, struct hx_call *call)
{
    const size_t *displs = call->root_displs;
    size_t bytes = hx_dtype_bytes(call->kind.dtype), all = 0;
    const struct hx_kind before = call->kind;
    hx_status_t status;
    int n = call->comm->size;

    call->kind.blocks = hx_blocks_of(spread->counts, NULL, n, &call->kind.count);
    if ((status = hx_call_check_kind(call)) != HX_SUCCESS) { /* alike on all ranks; a persistent call's next start finds the same */
        call->kind = before;
        return status;
    }
    spread->done = 1;
    if (differing(spread, call) >= 0) {
        for (int r = 0; r < n; r++)
            all += call->kind.coll == HX_COLL_GATHER || r == call->comm->rank ? spread->counts[r] : 0;
        if (!(spread->scrap = malloc(all * bytes + 1))) {
            hx_fail(HX_ERR_NOMEM, "%s: no memory for %zu bytes that were not expected", call->name, all * bytes);
            return hx_comm_break(call->comm, HX_ERR_NOMEM);
        }
        call->out = spread->scrap;
        displs = call->kind.coll == HX_COLL_GATHER ? NULL : displs;
    }
    if (displs)
        call->kind.blocks = hx_blocks_of(spread->counts, displs, n, &call->kind.count);
    return HX_SUCCESS;
}

hx_status_t hx_spread_compare(const struct hx_spread *spread, const struct hx_call *call)
{
    int r = call->spreads ? differing(spread, call) : -1;

    if (r < 0)
        return HX_SUCCESS;
    if (call->kind.coll == HX_COLL_GATHER)
        hx_fail(HX_ERR_ARG, "%s: counts[%d] is %zu, but rank %d gives %zu elements", call->name, r,
                call->root_counts[r], r, spread->counts[r]);
    else
        hx_fail(HX_ERR_ARG, "%s: count is %zu on rank %d, but counts[%d] is %zu on root %d", call->name,
                call->said_count, r, r, spread->counts[r], call->kind.root);
    return hx_comm_fail(call->comm, HX_ERR_ARG);
}
