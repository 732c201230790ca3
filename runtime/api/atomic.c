/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_ATOMIC: a blocking call completes on all survivors, or fails on all.
 *
 *   1  keep the input of a call in place
 *   2  run the call
 *   3  agree (runtime/engine/agree.h): has it completed on all ranks that are there?
 *   4  if not: the input comes back, and the communicator fails on every rank
 *
 * A rank that completes its part early waits in step 3 for the others. So no rank reads a buffer that step 4 writes.
 */
#include "runtime/api/call.h"
#include "runtime/base/memcpy.h"
#include "runtime/engine/agree.h"
#include <stdlib.h>
#include <string.h>

/* in the first word of the agreement: */
#define COMPLETE 1 /* the call has completed here */
#define USABLE 2   /* the communicator has not failed here */

/* ---- the input ------------------------------------------------------------------------------------------------ */

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
        for (int r = 0; r < call->comm->members.size; r++)
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

static hx_status_t input_keep(struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    const size_t bytes = input_move(call, NULL, KEEP);

    if (bytes > comm->undo_bytes) {
        void *undo = hx_inplace_copy_new(bytes);
        if (!undo) {
            hx_fail(HX_ERR_NOMEM, "%s: no memory to keep %zu bytes of input for HX_ATOMIC", call->name, bytes);
            return hx_comm_break(comm, HX_ERR_NOMEM); /* the other ranks are in the call, this one is not */
        }
        free(comm->undo);
        comm->undo = undo;
        comm->undo_bytes = bytes;
    }
    input_move(call, comm->undo, KEEP);
    return HX_SUCCESS;
}

/* ---- the end -------------------------------------------------------------------------------------------------- */

/* The call has completed here, but not on all ranks. worst: the status there, and that rank. */
static hx_status_t undone(const struct hx_call *call, const struct hx_agreement *agreement)
{
    const uint64_t worst = ~agreement->words[1];

    if (agreement->kinds != 1u << HX_AGREE_COMMIT)
        return hx_fail(HX_ERR_REVOKED, "%s: undone (HX_ATOMIC), because another rank is in hx_comm_agree or hx_comm_shrink", call->name);
    return hx_fail((hx_status_t)(worst >> 32), "%s: undone (HX_ATOMIC), because it has failed on rank %d: %s", call->name,
                   (int)(uint32_t)worst, hx_strerror((hx_status_t)(worst >> 32)));
}

hx_status_t hx_call_atomic(struct hx_call *call, hx_status_t (*run)(struct hx_call *call))
{
    struct hx_comm *comm = call->comm;
    struct hx_agreement agreement = {.name = call->name, .kind = HX_AGREE_COMMIT};
    hx_status_t status = input_keep(call), agreed;

    if (status == HX_SUCCESS)
        status = run(call);
    agreement.words[0] = (unsigned)(status == HX_SUCCESS ? COMPLETE : 0) | (comm->members.failed ? 0 : USABLE);
    agreement.words[1] = ~(status == HX_SUCCESS ? 0 : (uint64_t)status << 32 | (uint32_t)comm->members.rank);
    agreed = hx_agree(&comm->world->process, &comm->members, &agreement);
    if (agreed == HX_SUCCESS && agreement.kinds == 1u << HX_AGREE_COMMIT && (agreement.words[0] & COMPLETE))
        return HX_SUCCESS;
    input_move(call, comm->undo, RESTORE);
    if (status == HX_SUCCESS)
        status = hx_comm_fail(comm, agreed == HX_SUCCESS ? undone(call, &agreement) : agreed);
    if (agreed != HX_SUCCESS || agreement.kinds != 1u << HX_AGREE_COMMIT || !(agreement.words[0] & USABLE)) {
        hx_recall(comm->members.detail);
        hx_comm_break(comm, status);
    }
    return status;
}
