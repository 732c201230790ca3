/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks' blocks of different length, as callers of reduce_scatter and allgatherv give them. This file checks and hashes them. */
#include "runtime/api/call.h"
#include <stdlib.h>

struct hx_blocks hx_blocks_of(const size_t *counts, const size_t *displs, int n, uint64_t *count)
{
    struct hx_blocks blocks = {.counts = counts, .displs = displs, .hash = 1};

    *count = 0;
    for (int r = 0; r < n; r++) {
        blocks.hash = (blocks.hash ^ counts[r] ^ (displs ? displs[r] << 32 : 0)) * 0x9e3779b97f4a7c15u;
        blocks.some_empty |= counts[r] == 0;
        *count = counts[r] > *count ? counts[r] : *count;
    }
    blocks.hash |= 1;
    return blocks;
}

struct place {
    size_t first, count;
    int rank;
};

static int by_first(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* As most callers have them: one after the other, and within bounds. */
static int are_in_order(const size_t *counts, const size_t *displs, int n, size_t elem_bytes)
{
    size_t end = 0, bytes;

    for (int r = 0; r < n; r++)
        if (counts[r] && (displs[r] < end || __builtin_add_overflow(displs[r], counts[r], &end)))
            return 0;
    return !__builtin_mul_overflow(end, elem_bytes, &bytes) && bytes <= SIZE_MAX >> 16;
}

hx_status_t hx_blocks_check(const struct hx_call *call, const char *prefix, int n, const size_t *counts, const size_t *displs, int apart)
{
    const size_t elem_bytes = hx_dtype_bytes(call->key.dtype);
    struct place *places;
    hx_status_t status = HX_SUCCESS;
    int used = 0;

    if (are_in_order(counts, displs, n, elem_bytes))
        return HX_SUCCESS;
    if (!(places = malloc((size_t)n * sizeof(*places))))
        return hx_fail(HX_ERR_NOMEM, "%s: no memory to check %d displacements", call->name, n);
    for (int r = 0; r < n; r++)
        if (counts[r])
            places[used++] = (struct place){displs[r], counts[r], r};
    if (apart)
        qsort(places, (size_t)used, sizeof(*places), by_first);
    for (int i = 0; i < used && status == HX_SUCCESS; i++) {
        const struct place *at = &places[i], *before = &places[i > 0 ? i - 1 : 0];
        size_t end, bytes;
        if (__builtin_add_overflow(at->first, at->count, &end) || __builtin_mul_overflow(end, elem_bytes, &bytes) ||
            bytes > SIZE_MAX >> 16)
            status =
                hx_fail(HX_ERR_ARG, "%s: %sdispls[%d] is %zu and %scounts[%d] is %zu: more than an address space holds",
                        call->name, prefix, at->rank, at->first, prefix, at->rank, at->count);
        else if (apart && i > 0 && before->first + before->count > at->first)
            status =
                hx_fail(HX_ERR_ARG, "%s: %sdispls[%d] is %zu, but the block of %s %d is at %zu to %zu: they overlap",
                        call->name, prefix, at->rank, at->first, hx_call_graph(call) ? "neighbor" : "rank", before->rank, before->first,
                        before->first + before->count - 1);
    }
    free(places);
    return status;
}
