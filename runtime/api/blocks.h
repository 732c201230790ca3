/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks' blocks of different length, as the callers of reduce_scatter and allgatherv give them: checked, and told
 * apart. */
#pragma once

#include "runtime/engine/engine.h"

/* What the arrays say, for a kind of call; *count: the longest block. */
struct hx_blocks hx_blocks_of(const size_t *counts, const size_t *displs, int n, uint64_t *count);

/* Blocks neither overlap (apart) nor reach beyond what an address space holds; else the detail tells which does.
 * prefix: of the names of counts and displs. */
hx_status_t hx_blocks_check(const char *name, const char *prefix, const struct hx_blocks *blocks, int n,
                            size_t elem_bytes, int apart);
