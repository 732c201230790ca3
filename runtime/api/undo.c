/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ATOMIC: the input of a call in place is kept before the call, and restored if the call is undone. A call out of place changes no input. */
#include "runtime/api/call.h"
#include "runtime/base/memcpy.h"
#include <stdlib.h>

enum direction { KEEP, RESTORE };

static size_t part_move(unsigned char *kept, unsigned char *at, size_t bytes, enum direction direction)
{
    if (bytes && kept)
        hx_memcpy(direction == KEEP ? kept : at, direction == KEEP ? at : kept, bytes);
    return bytes;
}

/* Move what the call in place may overwrite of its input. kept NULL: move nothing. Returns how many bytes there are. */
static size_t input_move(const struct hx_call *call, unsigned char *kept, enum direction direction)
{
    const size_t elem_bytes = hx_dtype_bytes(call->key.dtype);
    const struct hx_pair_counts *pairs = &call->pair_counts;
    size_t bytes = 0;

    switch (call->inplace_copy) {
    case HX_INPLACE_COPY_NOTHING: /* a reduction of the whole vector; a barrier and a broadcast overwrite no input */
        if (call->in == call->out && hx_coll_reduces(call->key.coll) && !call->key.blocks.counts)
            bytes = part_move(kept, call->out, call->key.count * elem_bytes, direction);
        break;
    case HX_INPLACE_COPY_BLOCKS:
        for (int r = 0; r < pairs->nreceived; r++)
            bytes += part_move(kept ? kept + bytes : NULL, (unsigned char *)call->out + pairs->received_at[r] * elem_bytes,
                               pairs->received[r] * elem_bytes, direction);
        break;
    case HX_INPLACE_COPY_IN:
    case HX_INPLACE_COPY_OUT:
        if (call->inplace_copy_at)
            bytes = part_move(kept, call->inplace_copy_at, call->inplace_copy_bytes, direction);
        break;
    }
    return bytes;
}

hx_status_t hx_undo_keep(struct hx_undo *undo, const struct hx_call *call)
{
    const size_t bytes = input_move(call, NULL, KEEP);

    undo->is_kept = 0;
    if (bytes > undo->room) {
        void *memory = hx_inplace_copy_new(bytes);
        if (!memory)
            return hx_fail(HX_ERR_NOMEM, "%s: no memory to keep %zu bytes of input for HX_ATOMIC", call->name, bytes);
        free(undo->memory);
        undo->memory = memory;
        undo->room = bytes;
    }
    input_move(call, undo->memory, KEEP);
    undo->is_kept = 1;
    return HX_SUCCESS;
}

void hx_undo_restore(const struct hx_undo *undo, const struct hx_call *call)
{
    if (undo->is_kept)
        input_move(call, undo->memory, RESTORE);
}
