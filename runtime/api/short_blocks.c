/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking gatherv or scatterv between ranks of one node. Only the root needs all counts: the call is a gather or scatter of blocks of one
 * length. Such a block holds the count, as the sending side says, and the elements, if they fit. If they do not, the two ranks send
 * them as a message of their own. So short blocks take one call, and the ranks that begin it run ahead of the others. Longer blocks are
 * faster with the plans of root_counts.c. Such a call gives all counts to all ranks. If all are short, the next SHORT_CALLS calls use blocks.
 *
 * Counts that do not match have the effects that root_counts.c describes. If a gatherv has a count that is more than an address space
 * holds, only its rank and the root get HX_ERR_ARG. If a scatterv has one, or if the sum of its counts is too large, all ranks do.
 *
 * Cost: a gather or scatter of such blocks; a message for each longer block.
 */
#include "runtime/api/call.h"
#include "runtime/base/memcpy.h"
#include "runtime/engine/signature.h"
#include <stdlib.h>
#include <string.h>

#define SHORT_MOST_BYTES 8192
#define SHORT_CALLS 64 /* of 65 calls one exchanges the counts */

struct block {
    uint64_t count; /* if more than an address space holds: the elements are not sent */
    unsigned char data[];
};

/* A call under way. */
struct shorts {
    struct hx_call *call;
    int gathers, is_root;
    size_t block_bytes, elem_bytes, most_short, most_sane; /* most: elements that fit a block, and an address space */
    struct block *mine;
    unsigned char *blocks; /* on the root, of all ranks */
    struct hx_p2p_call *rests;  /* messages of longer blocks; NULL: there are none yet */
    void *own; /* memory that this call frees at its end */
    int nrests;
    int absurd; /* the rank that has named a count beyond the address space, or -1 */
};

static struct block *block_of(const struct shorts *s, int rank)
{
    return (struct block *)(void *)(s->blocks + (size_t)rank * s->block_bytes);
}

/* The place of a rank's block in the root's vector, in bytes. *next: without displacements, the place of the block after it, in elements. */
static size_t place(const struct shorts *s, int rank, size_t *next)
{
    const struct hx_call *call = s->call;
    const size_t at = call->root_displs ? call->root_displs[rank] : *next;

    *next += call->root_counts[rank];
    return call->root_counts[rank] ? at * s->elem_bytes : 0;
}

/* ---- before ---------------------------------------------------------------------------------------------------- */

static void block_fill(const struct shorts *s, struct block *block, uint64_t count, const void *from)
{
    block->count = count;
    if (count && count <= s->most_short)
        hx_memcpy(block->data, from, count * s->elem_bytes);
}

static void blocks_fill(struct shorts *s)
{
    const struct hx_call *call = s->call;
    const int n = call->comm->members.size;
    size_t next = 0, sum = 0;
    int fits = 1;

    for (int r = 0; r < n; r++)
        fits = fits && call->root_counts[r] <= s->most_sane && (sum += call->root_counts[r]) <= s->most_sane;
    for (int r = 0; r < n; r++) {
        const size_t at = place(s, r, &next);
        block_fill(s, block_of(s, r), fits ? call->root_counts[r] : UINT64_MAX, (const unsigned char *)call->in + at);
    }
}

/* ---- after ----------------------------------------------------------------------------------------------------- */

static hx_status_t rest_add(struct shorts *s, int sending, int rank, uint64_t count, void *at)
{
    struct hx_call *call = s->call;
    const size_t most = s->is_root ? (size_t)call->comm->members.size : 1;

    if (count <= s->most_short || count > s->most_sane)
        return HX_SUCCESS;
    if (!s->rests && !(s->rests = malloc(most * sizeof(*s->rests)))) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for messages of %zu ranks", call->name, most);
        return hx_comm_break(call->comm, HX_ERR_NOMEM);
    }
    s->rests[s->nrests++] = (struct hx_p2p_call){.members = &call->comm->members, .name = call->name, .sending = sending, .rank = rank,
                                                 .tag = s->gathers ? HX_TAG_GATHERV : HX_TAG_SCATTERV, .dtype = hx_dtype_code(call->key.dtype), .base = at,
                                                 .bytes = count * s->elem_bytes};
    return HX_SUCCESS;
}

/* A block from another rank. to: where it belongs. */
static hx_status_t block_take(struct shorts *s, int rank, const struct block *block, void *to)
{
    void *at = s->call->scrap ? s->call->scrap : to;

    if (block->count && block->count <= s->most_short)
        hx_memcpy(at, block->data, block->count * s->elem_bytes);
    return rest_add(s, 0, rank, block->count, at);
}

static void own_copy(const struct shorts *s, void *to, const void *from)
{
    if (!s->call->scrap && s->absurd < 0 && to != from && s->call->said_count)
        hx_memcpy(to, from, s->call->said_count * s->elem_bytes);
}

/* If the counts do not match, what arrives is dropped. */
static hx_status_t scrap_open(struct shorts *s)
{
    struct hx_call *call = s->call;
    uint64_t most = s->mine->count <= s->most_sane ? s->mine->count : 0;

    if (hx_root_counts_differing(call) < 0 && s->absurd < 0)
        return HX_SUCCESS;
    for (int r = 0; s->gathers && r < call->comm->members.size; r++)
        most = call->counts[r] > most && call->counts[r] <= s->most_sane ? call->counts[r] : most;
    if ((call->scrap = malloc(most * s->elem_bytes + 1)))
        return HX_SUCCESS;
    hx_fail(HX_ERR_NOMEM, "%s: no memory to discard %zu bytes: the counts on the ranks do not match", call->name, (size_t)most * s->elem_bytes);
    return hx_comm_break(call->comm, HX_ERR_NOMEM);
}

static hx_status_t gathered(struct shorts *s)
{
    struct hx_call *call = s->call;
    const int n = call->comm->members.size;
    hx_status_t status;
    size_t next = 0;

    if (!s->is_root) {
        s->absurd = call->said_count > s->most_sane ? call->comm->members.rank : -1;
        return rest_add(s, 1, call->key.root, call->said_count, (void *)(uintptr_t)call->in);
    }
    for (int r = 0; r < n; r++) {
        call->counts[r] = block_of(s, r)->count;
        s->absurd = s->absurd < 0 && call->counts[r] > s->most_sane ? r : s->absurd;
    }
    status = scrap_open(s);
    for (int r = 0; r < n && status == HX_SUCCESS; r++) {
        unsigned char *to = (unsigned char *)call->out + place(s, r, &next);
        if (r == call->key.root)
            own_copy(s, to, call->in);
        else
            status = block_take(s, r, block_of(s, r), to);
    }
    return status;
}

static hx_status_t scattered(struct shorts *s)
{
    struct hx_call *call = s->call;
    const int n = call->comm->members.size;
    hx_status_t status;
    size_t next = 0;

    call->counts[call->comm->members.rank] = s->mine->count;
    s->absurd = s->mine->count > s->most_sane ? call->key.root : -1;
    if ((status = scrap_open(s)) != HX_SUCCESS)
        return status;
    if (!s->is_root)
        return block_take(s, call->key.root, s->mine, call->out);
    for (int r = 0; status == HX_SUCCESS && s->absurd < 0 && r < n; r++) {
        unsigned char *from = (unsigned char *)(uintptr_t)call->in + place(s, r, &next);
        if (r != call->key.root)
            status = rest_add(s, 1, r, call->root_counts[r], from);
        else if (call->inplace_copy != HX_INPLACE_COPY_OUT)
            own_copy(s, call->out, from);
    }
    return status;
}

/* ---- the call -------------------------------------------------------------------------------------------------- */

static hx_status_t blocks_move(struct shorts *s)
{
    const struct hx_call *call = s->call;
    const struct hx_call_key key =
        hx_call_key_for(s->gathers ? HX_FOR_GATHERV : HX_FOR_SCATTERV, hx_about_rooted(call->key.dtype, call->key.root),
                        hx_call_key_of(call->key.coll, HX_BYTE, HX_SUM, call->key.root, s->block_bytes));
    const void *in = s->gathers ? (void *)s->mine : s->blocks;
    void *out = s->gathers ? s->blocks : (void *)s->mine;
    struct hx_engine *engine = &call->comm->engine;
    struct hx_bound *bound = hx_call_known(call->comm, key);

    if (bound && !hx_call_is_ahead(engine, &key))
        return hx_engine_run(engine, bound, call->name, in, out);
    return hx_call_run(&(struct hx_call){.name = call->name, .comm = call->comm, .key = key, .in = in, .out = out});
}

/* Meanwhile another thread may call on the communicator: it gets memory of its own, and may still use it afterwards. */
static hx_status_t rests_run(struct shorts *s)
{
    struct hx_comm *comm = s->call->comm;
    hx_status_t status;

    if (s->nrests == 0)
        return HX_SUCCESS;
    void *mine = comm->inplace_copy;
    const size_t bytes = comm->inplace_copy_bytes;
    comm->inplace_copy = NULL;
    comm->inplace_copy_bytes = 0;
    status = hx_messages_run(comm, s->rests, s->nrests);
    if (comm->inplace_copy) {
        s->own = mine;
    } else {
        comm->inplace_copy = mine;
        comm->inplace_copy_bytes = bytes;
    }
    return status;
}

static hx_status_t run(struct shorts *s)
{
    struct hx_call *call = s->call;
    hx_status_t status;

    if (s->gathers)
        block_fill(s, s->mine, call->said_count, call->in);
    else if (s->is_root)
        blocks_fill(s);
    if ((status = blocks_move(s)) != HX_SUCCESS || (status = s->gathers ? gathered(s) : scattered(s)) != HX_SUCCESS ||
        (status = rests_run(s)) != HX_SUCCESS)
        return status;
    if (s->absurd < 0)
        return hx_root_counts_compare(call);
    return hx_comm_fail(call->comm, hx_fail(HX_ERR_ARG, "%s: a count on rank %d, of %zu-byte elements, is more than an address space holds",
                                            call->name, s->absurd, hx_dtype_bytes(call->key.dtype)));
}

static struct hx_short_blocks *of_call(const struct hx_call *call)
{
    return &call->comm->short_blocks[call->key.coll == HX_COLL_SCATTER];
}

int hx_short_blocks_fit(const struct hx_call *call)
{
    return call->root_knows && of_call(call)->calls > 0;
}

/* A block of at most HX_INLINE_BYTES is in the cache line of its flag. */
void hx_short_blocks_expect(const struct hx_call *call)
{
    const struct hx_members *members = &call->comm->members;
    const size_t most = SHORT_MOST_BYTES / hx_dtype_bytes(call->key.dtype);
    struct hx_short_blocks *shorts = of_call(call);
    size_t longest = 0;

    shorts->calls = 0;
    if (members->size == 1 || members->local_n < members->size)
        return;
    for (int r = 0; r < members->size; r++)
        longest = call->counts[r] > longest ? call->counts[r] : longest;
    if (longest > most || longest * hx_dtype_bytes(call->key.dtype) + sizeof(struct block) > SHORT_MOST_BYTES)
        return;
    shorts->calls = SHORT_CALLS;
    shorts->bytes = HX_INLINE_BYTES;
    while (shorts->bytes < longest * hx_dtype_bytes(call->key.dtype) + sizeof(struct block))
        shorts->bytes = shorts->bytes == HX_INLINE_BYTES ? 128 : 2 * shorts->bytes;
}

hx_status_t hx_short_blocks_run(struct hx_call *call)
{
    struct hx_short_blocks *shorts = of_call(call);
    const size_t n = (size_t)call->comm->members.size, elem_bytes = hx_dtype_bytes(call->key.dtype);
    const int is_root = call->comm->members.rank == call->key.root;
    struct shorts s = {.call = call, .gathers = call->key.coll == HX_COLL_GATHER, .is_root = is_root, .block_bytes = shorts->bytes,
                       .elem_bytes = elem_bytes, .most_short = (shorts->bytes - sizeof(struct block)) / elem_bytes,
                       .most_sane = (SIZE_MAX >> 16) / elem_bytes, .absurd = -1};
    hx_status_t status;

    shorts->calls--;
    call->inplace_copy_bytes = n * sizeof(*call->counts) + (is_root ? n + 1 : 1) * shorts->bytes; /* nothing else is copied */
    if ((status = hx_inplace_copy_reserve(call)) != HX_SUCCESS)
        return status;
    s.mine = call->memory;
    s.blocks = (unsigned char *)call->memory + shorts->bytes;
    call->counts = (size_t *)(void *)(s.blocks + (is_root ? n * shorts->bytes : 0));
    status = run(&s);
    free(s.rests);
    free(s.own);
    free(call->scrap);
    call->counts = NULL;
    call->scrap = NULL;
    return status;
}
