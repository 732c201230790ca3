/* SPDX-License-Identifier: BSD-3-Clause */
/* From the arguments of a public function to a plan that an engine runs: blocking and non-blocking calls, persistent ones, and those that
 * are part of others, all come this way. */
#include "runtime/api/call.h"
#include "runtime/base/user_table.h"
#include "runtime/engine/signature.h"
#include <stdint.h>

/* ---- arguments ----------------------------------------------------------------------------------------------- */

static int dtype_is_open(hx_dtype_t dtype)
{
    return hx_dtype_name(dtype) || (hx_user_is_open((unsigned)dtype) && hx_user_dtype_bytes(dtype));
}

static int op_is_open(hx_op_t op)
{
    return hx_op_name(op) || (hx_user_is_open((unsigned)op) && hx_user_op(op).fn);
}

static const char *freed_tell(unsigned handle)
{
    return hx_user_was_open(handle) ? "has been freed" : "does not exist";
}

hx_status_t hx_dtype_check(const char *name, hx_dtype_t dtype)
{
    if (dtype_is_open(dtype))
        return HX_SUCCESS;
    return hx_fail(HX_ERR_ARG, "%s: datatype %d %s; choose %s (%d) to %s (%d), or one of hx_dtype_contiguous", name, (int)dtype,
                   freed_tell((unsigned)dtype), hx_dtype_name(HX_INT8), HX_INT8, hx_dtype_name((hx_dtype_t)(HX_DTYPE_COUNT - 1)),
                   HX_DTYPE_COUNT - 1);
}

/* Element type and operation, each alone and together. */
static hx_status_t types_check(const char *name, struct hx_call_key key)
{
    int reduces = hx_coll_reduces(key.coll);
    const char *freed = freed_tell((unsigned)key.op);
    hx_status_t status = hx_dtype_check(name, key.dtype);

    if (status != HX_SUCCESS)
        return status;
    if (!reduces || (op_is_open(key.op) && (hx_user_op(key.op).fn || hx_reduce_kernel(key.dtype, key.op))))
        return HX_SUCCESS;
    if (!op_is_open(key.op))
        return hx_fail(HX_ERR_ARG, "%s: operation %d %s; choose %s (%d) to %s (%d), or one of hx_op_create", name, (int)key.op, freed,
                       hx_op_name(HX_SUM), HX_SUM, hx_op_name((hx_op_t)(HX_OP_COUNT - 1)), HX_OP_COUNT - 1);
    if (hx_dtype_name(key.dtype))
        return hx_fail(HX_ERR_ARG, "%s: operation %s is not defined for %s", name, hx_op_name(key.op), hx_dtype_name(key.dtype));
    return hx_fail(HX_ERR_ARG, "%s: operation %s is not defined for datatype %d of hx_dtype_contiguous (%zu bytes); create an operation "
                   "with hx_op_create", name, hx_op_name(key.op), (int)key.dtype, hx_dtype_bytes(key.dtype));
}

hx_status_t hx_call_check_kind(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    const char *name = call->name;
    struct hx_call_key key = call->key;
    size_t elem_bytes = hx_dtype_bytes(key.dtype), blocks = hx_coll_has_blocks(key.coll) ? (size_t)comm->members.size : 1;
    size_t bytes;

    if (key.root < 0 || key.root >= comm->members.size)
        hx_fail(HX_ERR_ARG, "%s: root %d is out of range: this communicator has ranks 0 to %d", name, key.root, comm->members.size - 1);
    else if (__builtin_mul_overflow(key.count, elem_bytes * blocks, &bytes) || bytes > SIZE_MAX >> 16)
        hx_fail(HX_ERR_ARG, "%s: count %zu of %zu-byte elements%s is more than an address space holds", name,
                (size_t)key.count, elem_bytes, blocks > 1 ? " per rank" : "");
    else
        return HX_SUCCESS;
    return hx_comm_fail(comm, HX_ERR_ARG);
}

/* Check the arrays of a call with blocks of different length. */
static hx_status_t blocks_check(const struct hx_call *call)
{
    const struct hx_blocks *blocks = &call->key.blocks;
    struct hx_comm *comm = call->comm;
    hx_status_t status = HX_SUCCESS;

    if (call->fault == HX_FAULT_COUNT)
        status = hx_fail(HX_ERR_ARG, "%s: count is %zu, but counts[%d] is %zu", call->name, call->said_count, comm->members.rank,
                         blocks->counts[comm->members.rank]);
    else if (blocks->displs)
        status = hx_blocks_check(call, "", comm->members.size, blocks->counts, blocks->displs, 1);
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_call_check(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    const char *name = call->name;
    struct hx_call_key key = call->key;
    hx_status_t status = hx_comm_check(comm, name);

    if (status != HX_SUCCESS)
        return status;
    if (call->fault == HX_FAULT_COUNTS_NULL)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: counts is NULL", name));
    if ((status = types_check(name, key)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    if ((status = hx_call_check_kind(call)) != HX_SUCCESS ||
        (key.blocks.counts && (status = blocks_check(call)) != HX_SUCCESS) || key.count == 0)
        return status;
    if (call->fault == HX_FAULT_IN_NULL || call->fault == HX_FAULT_OUT_NULL)
        hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", name,
                hx_coll_has_one_buffer(key.coll) ? "buf" : call->fault == HX_FAULT_IN_NULL ? "in" : "out", (size_t)key.count);
    else if (!call->fault)
        return comm->world->process.env->check ? hx_call_check_overlap(call) : HX_SUCCESS;
    else if (hx_coll_is_rooted(key.coll) && !hx_coll_has_one_buffer(key.coll) && comm->members.rank != key.root)
        hx_fail(HX_ERR_ARG, "%s: %s is HX_IN_PLACE on rank %d, but only root %d may pass HX_IN_PLACE", name,
                hx_coll_gives(key.coll) == HX_HOLDS_ROOT ? "out" : "in", comm->members.rank, key.root);
    else
        hx_fail(HX_ERR_ARG, "%s: %s", name,
                hx_coll_has_one_buffer(key.coll)             ? "buf is HX_IN_PLACE, but must be memory"
                : hx_coll_gives(key.coll) == HX_HOLDS_ROOT ? "in is HX_IN_PLACE, but only the root's out may be HX_IN_PLACE"
                                                             : "out is HX_IN_PLACE, but only in may be HX_IN_PLACE");
    return hx_comm_fail(comm, HX_ERR_ARG);
}

uint64_t hx_call_amount(const struct hx_call *call)
{
    uint64_t sent = 0;

    if (!hx_coll_has_pair_counts(call->key.coll))
        return call->root_knows ? call->said_count : call->key.count;
    for (int r = 0; r < call->pair_counts.nsent; r++)
        sent += call->pair_counts.sent[r];
    return sent;
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

hx_status_t hx_call_prepare(struct hx_engine *engine, const struct hx_call *call, struct hx_prepared *next)
{
    struct hx_call_key key = call->key;
    hx_status_t status;

    next->in = call->in;
    next->out = call->out;
    engine->part = HX_PART_CALL;
    if (hx_call_is_ahead(engine, &key)) {
        engine->part = HX_PART_BARRIER;
        key = hx_call_key_barrier(HX_FOR_ORDER);
    } else if (call->root_knows && !call->counted) {
        struct hx_call counts = hx_root_counts_call(call);
        engine->part = HX_PART_COUNTS;
        key = counts.key;
        next->in = counts.in;
        next->out = counts.out;
    } else {
        hx_inplace_copy_begin(call, &next->in, &next->out);
    }
    if (hx_coll_gets(key.coll) == HX_HOLDS_NOTHING)
        next->in = next->out = &engine->token;
    if (!next->bound && (status = hx_bind(engine, key, &next->bound)) != HX_SUCCESS)
        return hx_comm_break(call->comm, status);
    if (hx_coll_has_pair_counts(key.coll)) {
        struct hx_pair_counts pair_counts = hx_call_pair_counts(call);
        hx_bound_set_pair_counts(engine, next->bound, &pair_counts);
    }
    return HX_SUCCESS;
}

int hx_call_has_ended(const struct hx_engine *engine, struct hx_call *call, hx_status_t *status)
{
    *status = HX_SUCCESS;
    if (engine->part == HX_PART_BARRIER)
        return 0;
    if (engine->part == HX_PART_CALL)
        hx_inplace_copy_end(call);
    else if ((*status = hx_root_counts_apply(call)) == HX_SUCCESS && call->key.count)
        return 0;
    if (*status == HX_SUCCESS)
        *status = hx_root_counts_compare(call);
    return 1;
}
