/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of hx_alloc, which the other ranks of the node can map: FETCH then copies it without a system call. */
#pragma once

#include "runtime/engine/process.h"

/* Which part of another process's memory this one has mapped: the addresses there from first on, to before end, stand here delta further. */
struct hx_view {
    uintptr_t first, end, delta;
};

/* Memory of bytes for hx_alloc. Errors: HX_ERR_NOMEM. */
hx_status_t hx_shared_alloc_open(struct hx_process *process, size_t bytes, void **memory);
/* Give it back. Returns 0 if no allocation begins there. */
int hx_shared_alloc_close(struct hx_process *process, const void *memory);

/* Tell in this rank's line in which allocation of hx_alloc the buffer at this address stands, if in any. buffer: 0 IN, 1 OUT. */
void hx_shared_alloc_tell(struct hx_process *process, struct hx_control *mine, int buffer, uintptr_t address);
/* Map the allocation that the rank in this row of the segment has published. Empty if it has published none or the allocation
 * cannot be mapped. Valid until the next view. */
struct hx_view hx_peer_map_view(struct hx_process *process, int row, const struct hx_control *theirs, int buffer);
/* Free all remaining allocations of this process, and unmap the other processes' allocations. */
void hx_shared_allocs_close(struct hx_process *process);
void hx_peer_maps_close(struct hx_process *process);
