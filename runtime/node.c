/* SPDX-License-Identifier: BSD-3-Clause */
/* Dimensions of the node's segment. Memory that is never touched costs nothing, so the rings of all pairs can exist. */
#include "node.h"
#include <stdio.h>

#define HEADER_BYTES 4096
_Static_assert(sizeof(struct hx_node_header) <= HEADER_BYTES, "the header fits its page");
#define RINGS_MAX_BYTES ((size_t)256 << 20)
#define RING_CHUNK_MAX ((size_t)32 << 10)
#define RING_CHUNK_MIN ((size_t)512)
#define BANK_MIN_BYTES ((size_t)64 << 10)
#define BANK_MAX_BYTES ((size_t)8 << 20)

static size_t page_up(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

static size_t ring_bytes(size_t chunk)
{
    size_t bytes = sizeof(struct hx_ring) + HX_RING_ENTRIES * (sizeof(struct hx_ring_entry) + chunk);
    return (bytes + HX_LINE_BYTES - 1) & ~(size_t)(HX_LINE_BYTES - 1);
}

void hx_node_dimension(struct hx_node *node, int n, int job_ranks, size_t llc_bytes)
{
    size_t pairs = (size_t)n * (size_t)n * HX_RING_CHANNELS, share = page_up(llc_bytes / 4 / (size_t)n);

    node->n = n;
    node->ring_chunk_bytes = RING_CHUNK_MAX;
    while (node->ring_chunk_bytes > RING_CHUNK_MIN && pairs * ring_bytes(node->ring_chunk_bytes) > RINGS_MAX_BYTES)
        node->ring_chunk_bytes /= 2;
    node->ring_bytes = ring_bytes(node->ring_chunk_bytes);
    /* two banks of every rank together fill half of the last-level cache; what of it the smallest bank uses is up to the planner */
    node->bank_bytes = share < BANK_MIN_BYTES ? BANK_MIN_BYTES : share > BANK_MAX_BYTES ? BANK_MAX_BYTES : share;
    node->live_bytes = share && share < node->bank_bytes ? share : node->bank_bytes;
    node->bytes = HEADER_BYTES + page_up((size_t)job_ranks * sizeof(struct hx_job_entry)) +
                  page_up((size_t)n * sizeof(struct hx_control)) + page_up(pairs * node->ring_bytes) +
                  2 * (size_t)n * node->bank_bytes;
}

void hx_failure_keep(struct hx_failure *failure, int rank, hx_status_t status)
{
    if (failure->status != HX_SUCCESS || status == HX_SUCCESS)
        return;
    failure->status = (int32_t)status;
    failure->rank = rank;
    snprintf(failure->text, sizeof(failure->text), "%s", hx_last_detail());
}

void hx_node_fail(struct hx_node *node, const struct hx_failure *failure)
{
    uint32_t none = 0;

    /* relaxed: arrived and table_state publish what is written here */
    if (atomic_compare_exchange_strong_explicit(&node->header->failing, &none, 1, memory_order_relaxed, memory_order_relaxed))
        node->header->failure = *failure;
}

void hx_node_map(struct hx_node *node, void *base, int job_ranks)
{
    unsigned char *at = base;
    size_t pairs = (size_t)node->n * (size_t)node->n * HX_RING_CHANNELS;

    node->base = base;
    node->header = base;
    node->table = (struct hx_job_entry *)(at + HEADER_BYTES);
    at += HEADER_BYTES + page_up((size_t)job_ranks * sizeof(struct hx_job_entry));
    node->controls = (struct hx_control *)at;
    at += page_up((size_t)node->n * sizeof(struct hx_control));
    node->rings = at;
    at += page_up(pairs * node->ring_bytes);
    node->slots = at;
}
