/* SPDX-License-Identifier: BSD-3-Clause */
/* Dimensions of the node's segment, and its contexts. Memory that is never touched costs nothing, so the rings of all
 * pairs can exist in every context. */
#include "runtime/ports/node.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HEADER_BYTES 8192
_Static_assert(sizeof(struct hx_node_header) <= HEADER_BYTES, "the header fits its place");
#define RINGS_MAX_BYTES ((size_t)256 << 20)
#define RING_CHUNK_MAX ((size_t)32 << 10)
#define RING_CHUNK_MIN ((size_t)512)
#define P2P_RING_MAX ((size_t)128 << 10)
#define P2P_RING_MIN ((size_t)2 << 10)
#define P2P_RINGS_BYTES ((size_t)256 << 20)
#define BANK_MIN_BYTES ((size_t)64 << 10)
#define BANK_MAX_BYTES ((size_t)8 << 20)

static size_t page_up(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

/* Channels are mapped one by one: on every kind of machine a whole number of pages. */
static size_t map_up(size_t bytes)
{
    return (bytes + 65535) & ~(size_t)65535;
}

static size_t line_up(size_t bytes)
{
    return (bytes + HX_LINE_BYTES - 1) & ~(size_t)(HX_LINE_BYTES - 1);
}

static size_t ring_bytes(size_t chunk)
{
    return line_up(sizeof(struct hx_ring) + HX_RING_ENTRIES * (sizeof(struct hx_ring_entry) + chunk));
}

/* Place a part of so many bytes at *at. Returns where it begins. */
static size_t part(size_t *at, size_t bytes)
{
    size_t begin = *at;

    *at += page_up(bytes);
    return begin;
}

static size_t rings_bytes(const struct hx_shared *shared)
{
    return (size_t)shared->n * (size_t)shared->n * HX_PAIR_RINGS * shared->ring_bytes;
}

void hx_shared_dimension(struct hx_shared *shared, int n, int job_ranks, size_t llc_bytes)
{
    size_t share = page_up(llc_bytes / 4 / (size_t)n), ranks = (size_t)n, at = HEADER_BYTES;

    shared->n = n;
    shared->calls_kept = hx_calls_kept(1); /* until the ranks have met */
    shared->ring_chunk_bytes = 2 * RING_CHUNK_MAX;
    do {
        shared->ring_chunk_bytes /= 2;
        shared->ring_bytes = ring_bytes(shared->ring_chunk_bytes);
    } while (shared->ring_chunk_bytes > RING_CHUNK_MIN && page_up(rings_bytes(shared)) > RINGS_MAX_BYTES);
    /* two banks of every rank together fill half of the last-level cache; what of it the smallest bank uses is up to
     * the planner */
    shared->bank_bytes = share < BANK_MIN_BYTES ? BANK_MIN_BYTES : share > BANK_MAX_BYTES ? BANK_MAX_BYTES : share;
    shared->live_bytes = share && share < shared->bank_bytes ? share : shared->bank_bytes;
    shared->table_at = part(&at, (size_t)job_ranks * sizeof(struct hx_job_entry));
    shared->doorbells_at = part(&at, ranks * sizeof(struct hx_doorbell));
    shared->passed_at = part(&at, ranks * sizeof(struct hx_passed));
    shared->closed_at = part(&at, ranks * HX_COMM_NUMBERS * sizeof(*shared->closed));
    shared->p2p_bytes = P2P_RING_MAX;
    while (shared->p2p_bytes > P2P_RING_MIN && ranks * ranks * shared->p2p_bytes > P2P_RINGS_BYTES)
        shared->p2p_bytes /= 2;
    shared->p2p_at = part(&at, hx_p2p_all_bytes(shared));
    shared->head_bytes = map_up(at);
    at = 0;
    part(&at, ranks * sizeof(struct hx_control));
    shared->failures_at = part(&at, ranks * sizeof(struct hx_failure));
    shared->agreement_bytes = line_up(sizeof(struct hx_agree_line) + ((size_t)job_ranks + 63) / 64 * sizeof(uint64_t));
    shared->agreements_at = part(&at, ranks * shared->agreement_bytes);
    shared->rings_at = part(&at, rings_bytes(shared));
    shared->slots_at = part(&at, hx_slots_bytes(shared));
    shared->context_bytes = map_up(at);
    shared->bytes = shared->head_bytes + HX_CONTEXTS * shared->context_bytes;
}

void hx_failure_keep(struct hx_failure *failure, int rank, hx_status_t status)
{
    if (failure->status != HX_SUCCESS || status == HX_SUCCESS)
        return;
    failure->status = (int32_t)status;
    failure->rank = rank;
    snprintf(failure->text, sizeof(failure->text), "%s", hx_last_detail());
}

void hx_node_fail(struct hx_shared *shared, const struct hx_failure *failure)
{
    uint32_t none = 0;

    /* relaxed: arrived and table_state publish what is written here */
    if (atomic_compare_exchange_strong_explicit(&shared->header->failing, &none, 1, memory_order_relaxed,
                                                memory_order_relaxed))
        shared->header->failure = *failure;
}

void hx_shared_map(struct hx_shared *shared, void *base)
{
    unsigned char *bytes = base;

    shared->base = base;
    shared->header = base;
    shared->table = (struct hx_job_entry *)(bytes + shared->table_at);
    shared->doorbells = (struct hx_doorbell *)(void *)(bytes + shared->doorbells_at);
    shared->passed = (struct hx_passed *)(void *)(bytes + shared->passed_at);
    shared->closed = (_Atomic uint64_t *)(void *)(bytes + shared->closed_at);
    shared->p2p = bytes + shared->p2p_at;
}

hx_status_t hx_shared_context(struct hx_shared *shared, int context)
{
    off_t offset = (off_t)(shared->head_bytes + (size_t)context * shared->context_bytes);
    void *base;

    if (shared->contexts[context])
        return HX_SUCCESS;
    base = mmap(NULL, shared->context_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->memory, offset);
    if (base == MAP_FAILED)
        return hx_fail(HX_ERR_NOMEM, "cannot map %zu bytes of the shared segment for context %d: %s",
                       shared->context_bytes, context, strerror(errno));
    shared->contexts[context] = base;
    return HX_SUCCESS;
}

hx_status_t hx_node_open(struct hx_node *node, struct hx_shared *shared, int context, int n, int me, const int *ranks,
                         const int *rows)
{
    hx_status_t status = hx_shared_context(shared, context);

    if (status != HX_SUCCESS)
        return status;
    unsigned char *base = shared->contexts[context];
    *node = (struct hx_node){.shared = shared, .n = n, .me = me, .ranks = ranks, .rows = rows, .base = base,
                             .controls = shared->contexts[context], .rings = base + shared->rings_at,
                             .slots = base + shared->slots_at, .agreements = base + shared->agreements_at,
                             .failures = (struct hx_failure *)(void *)(base + shared->failures_at)};
    return HX_SUCCESS;
}
