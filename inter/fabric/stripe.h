/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which paths a message uses. Both ends cut it alike, and use the same path for chunk i:
 *
 *     0 1 2 3 | 4 5 6 7     a message of 8 chunks, its turn being 1, over 3 paths
 *     1 2 0 1   2 0 1 2
 *
 * A message with HX_STRIPE_BYTES for each path has the same number of chunks on all paths. Shorter messages have one chunk; their
 * match ids spread them over the paths. The first path does not depend on the length, so ends with different lengths still meet,
 * and report it.
 */
#pragma once

#include "inter/fabric/fabric.h"

static inline size_t hx_chunk_bytes(const struct hx_net *net, const struct hx_edge *edge, size_t total_bytes)
{
    size_t paths = (size_t)edge->npaths, chunks;

    if (paths == 1 || total_bytes < paths * HX_STRIPE_BYTES)
        return net->chunk_bytes;
    chunks = (total_bytes + net->chunk_bytes - 1) / net->chunk_bytes;
    chunks = (chunks + paths - 1) / paths * paths;
    chunks = (total_bytes + chunks - 1) / chunks;
    return chunks + 63 < net->chunk_bytes ? (chunks + 63) & ~(size_t)63 : net->chunk_bytes;
}


static inline struct hx_path *hx_chunk_path(struct hx_edge *edge, const struct hx_net_op *op, size_t offset)
{
    uint64_t turn;

    if (edge->npaths == 1)
        return &edge->paths[0];
    turn = (op->match * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    return &edge->paths[(turn + offset / op->chunk_bytes) % (uint64_t)edge->npaths];
}
