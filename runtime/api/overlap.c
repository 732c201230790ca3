/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_CHECK: do in and out of a call overlap? Both are lists of blocks, and there may be gaps between the blocks of a list. A call in place
 * has no in of its own. in == out is in place for what reduces, and the root's own block at its place is in place for a gather.
 */
#include "runtime/api/call.h"
#include <stdint.h>
#include <stdio.h>

struct side { /* in or out of a call on this rank */
    uintptr_t base;
    size_t elem_bytes, count;       /* one block of count elements, */
    const size_t *counts, *displs;  /* or these blocks of the ranks; displs NULL: one after the other */
    int n;                          /* blocks; 0: this rank has no such buffer */
};

struct range {
    uintptr_t begin, end;
};

/* Block i. Call it for each i from 0 on: *next is the element behind the block before. */
static struct range block_of(const struct side *s, int i, size_t *next)
{
    const size_t at = s->displs ? s->displs[i] : *next, count = s->counts ? s->counts[i] : s->count;

    *next = at + count;
    return (struct range){s->base + at * s->elem_bytes, s->base + (at + count) * s->elem_bytes};
}

static int overlaps(struct range a, struct range b)
{
    return a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
}

/* From the first byte of all blocks to the last one. */
static struct range extent(const struct side *s)
{
    struct range all = {UINTPTR_MAX, 0};
    size_t next = 0;

    for (int i = 0; i < s->n; i++) {
        const struct range block = block_of(s, i, &next);
        if (block.begin == block.end)
            continue;
        all.begin = block.begin < all.begin ? block.begin : all.begin;
        all.end = block.end > all.end ? block.end : all.end;
    }
    return all;
}

static struct side side_of(const struct hx_call *call, int is_out)
{
    const struct hx_call_key *key = &call->key;
    const struct hx_pair_counts *pairs = &call->pair_counts;
    const int size = call->comm->members.size, rank = call->comm->members.rank;
    const enum hx_holds holds = is_out ? hx_coll_gets(key->coll) : hx_coll_gives(key->coll);
    struct side s = {.base = (uintptr_t)(is_out ? call->out : call->in), .n = 1,
                     .elem_bytes = hx_dtype_bytes(key->dtype), .count = key->count,
                     .counts = call->root_knows ? call->root_counts : key->blocks.counts,
                     .displs = call->root_knows ? call->root_displs : key->blocks.displs};

    if (hx_coll_has_pair_counts(key->coll)) {
        s.counts = is_out ? pairs->received : pairs->sent;
        s.displs = is_out ? pairs->received_at : pairs->sent_at;
    }
    if (hx_coll_has_blocks(key->coll) && holds == HX_HOLDS_OWN) {
        s.count = call->root_knows ? call->said_count : s.counts ? s.counts[rank] : key->count;
        s.counts = s.displs = NULL;
    } else if (s.counts) {
        s.n = !hx_coll_has_pair_counts(key->coll) ? size : is_out ? pairs->nreceived : pairs->nsent;
    } else if (hx_coll_has_blocks(key->coll)) {
        s.count *= (size_t)size;
    }
    if ((holds == HX_HOLDS_ROOT && rank != key->root) || (is_out && hx_coll_is_exclusive(key->coll) && rank == 0))
        s.n = 0;
    return s;
}

static int is_in_place(const struct hx_call *call, const struct side *in, const struct side *out)
{
    const int rank = call->comm->members.rank;
    size_t next = 0;

    if (call->inplace_copy != HX_INPLACE_COPY_NOTHING)
        return 1;
    if (in->base == out->base && (hx_coll_gives(call->key.coll) == HX_HOLDS_ALL || call->comm->members.size == 1))
        return 1;
    if (hx_coll_gets(call->key.coll) != HX_HOLDS_ROOT || out->n == 0)
        return 0;
    if (!out->counts)
        return in->base == out->base + (size_t)rank * in->count * in->elem_bytes;
    for (int i = 0; i < rank; i++)
        block_of(out, i, &next);
    return in->base == block_of(out, rank, &next).begin;
}

static hx_status_t refuse(const struct hx_call *call, const struct side *in, int i, struct range a, const struct side *out, int j,
                          struct range b)
{
    char blocks[2][32] = {"", ""};

    if (in->n > 1)
        snprintf(blocks[0], sizeof(blocks[0]), " for rank %d", i);
    if (out->n > 1)
        snprintf(blocks[1], sizeof(blocks[1]), " from rank %d", j);
    hx_fail(HX_ERR_ARG, "%s: in%s is at %#zx to %#zx, and out%s at %#zx to %#zx: they overlap; use HX_IN_PLACE or other memory",
            call->name, blocks[0], (size_t)a.begin, (size_t)a.end - 1, blocks[1], (size_t)b.begin, (size_t)b.end - 1);
    return hx_comm_fail(call->comm, HX_ERR_ARG);
}

hx_status_t hx_call_check_overlap(const struct hx_call *call)
{
    const struct side in = side_of(call, 0), out = side_of(call, 1);
    const enum hx_coll coll = call->key.coll;
    size_t before = 0;

    if (!call->in || !call->out || hx_coll_has_one_buffer(coll) || hx_coll_gets(coll) == HX_HOLDS_NOTHING || in.n == 0 || out.n == 0 ||
        is_in_place(call, &in, &out) || !overlaps(extent(&in), extent(&out)))
        return HX_SUCCESS;
    for (int i = 0; i < in.n; i++) {
        const struct range a = block_of(&in, i, &before);
        size_t next = 0;
        for (int j = 0; j < out.n; j++) {
            const struct range b = block_of(&out, j, &next);
            if (overlaps(a, b))
                return refuse(call, &in, i, a, &out, j, b);
        }
    }
    return HX_SUCCESS;
}
