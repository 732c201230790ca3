/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls: what the public functions have in common. */
#include "runtime/api/blocks.h"
#include "runtime/api/call.h"
#include "runtime/base/clock.h"
#include "runtime/base/handle.h"
#include "runtime/api/lock.h"
#include "runtime/base/memcpy.h"
#include "runtime/engine/trace_spans.h"
#include "runtime/base/user_table.h"
#include "runtime/base/clock.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ----------------------------------------------------------------------------------------------- */

static int dtype_is_open(hx_dtype_t dtype)
{
    return hx_dtype_name(dtype) || (hx_user_is_open((unsigned)dtype) && hx_user_dtype_bytes(dtype));
}

static int op_is_open(hx_op_t op)
{
    return hx_op_name(op) || (hx_user_is_open((unsigned)op) && hx_user_op(op).fn);
}

/* Element type and operation, each alone and together. */
static hx_status_t types_check(const char *name, struct hx_call_key key)
{
    int reduces = hx_coll_reduces(key.coll);
    const char *freed = hx_user_was_open((unsigned)(dtype_is_open(key.dtype) ? key.op : key.dtype)) ? "has been freed" : "does not exist";

    if (!dtype_is_open(key.dtype))
        return hx_fail(HX_ERR_ARG, "%s: datatype %d %s; choose %s (%d) to %s (%d), or one of hx_dtype_contiguous", name, (int)key.dtype,
                       freed, hx_dtype_name(HX_INT8), HX_INT8, hx_dtype_name((hx_dtype_t)(HX_DTYPE_COUNT - 1)), HX_DTYPE_COUNT - 1);
    if (!reduces || (op_is_open(key.op) && (hx_user_op(key.op).fn || hx_reduce_kernel(key.dtype, key.op))))
        return HX_SUCCESS;
    if (!op_is_open(key.op))
        return hx_fail(HX_ERR_ARG, "%s: operation %d %s; choose %s (%d) to %s (%d), or one of hx_op_create", name, (int)key.op, freed,
                       hx_op_name(HX_SUM), HX_SUM, hx_op_name((hx_op_t)(HX_OP_COUNT - 1)), HX_OP_COUNT - 1);
    if (hx_dtype_name(key.dtype))
        return hx_fail(HX_ERR_ARG, "%s: operation %s is not defined for %s", name, hx_op_name(key.op), hx_dtype_name(key.dtype));
    return hx_fail(HX_ERR_ARG, "%s: operation %s is not defined for datatype %d of %zu bytes, which is the program's own: so must be its "
                   "operations (hx_op_create)", name, hx_op_name(key.op), (int)key.dtype, hx_dtype_bytes(key.dtype));
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

/* What the arrays of a call with blocks of different length say. */
static hx_status_t blocks_check(const struct hx_call *call)
{
    const struct hx_blocks *blocks = &call->key.blocks;
    struct hx_comm *comm = call->comm;
    hx_status_t status = HX_SUCCESS;

    if (call->says_count && call->said_count != blocks->counts[comm->members.rank])
        status = hx_fail(HX_ERR_ARG, "%s: count is %zu, but counts[%d] is %zu", call->name, call->said_count, comm->members.rank,
                         blocks->counts[comm->members.rank]);
    else if (blocks->displs)
        status = hx_blocks_check(call->name, "", blocks, comm->members.size, hx_dtype_bytes(call->key.dtype), 1);
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_call_check(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    const char *name = call->name;
    struct hx_call_key key = call->key;
    const void *in = call->needed[0], *out = call->needed[1];
    hx_status_t status = hx_comm_check(comm, name);

    if (status != HX_SUCCESS)
        return status;
    if (call->lacks) {
        hx_fail(HX_ERR_ARG, "%s: %s is NULL", name, call->lacks);
        return hx_comm_fail(comm, HX_ERR_ARG);
    }
    if ((status = types_check(name, key)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    if ((status = hx_call_check_kind(call)) != HX_SUCCESS ||
        (key.blocks.counts && (status = blocks_check(call)) != HX_SUCCESS) || key.count == 0)
        return status;
    if (!in || !out)
        hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", name,
                key.coll == HX_COLL_BCAST ? "buf" : in ? "out" : "in", (size_t)key.count);
    else if (out == HX_IN_PLACE && hx_coll_is_rooted(key.coll) && key.coll != HX_COLL_BCAST && comm->members.rank != key.root)
        hx_fail(HX_ERR_ARG, "%s: %s is HX_IN_PLACE on rank %d; only that of root %d may be", name,
                key.coll == HX_COLL_SCATTER ? "out" : "in", comm->members.rank, key.root);
    else if (out == HX_IN_PLACE)
        hx_fail(HX_ERR_ARG, "%s: %s", name,
                key.coll == HX_COLL_BCAST     ? "buf is HX_IN_PLACE, but must be memory"
                : key.coll == HX_COLL_SCATTER ? "in is HX_IN_PLACE; only the root's out may be"
                                               : "out is HX_IN_PLACE; only in may be");
    else
        return HX_SUCCESS;
    return hx_comm_fail(comm, HX_ERR_ARG);
}

uint64_t hx_call_amount(const struct hx_call *call)
{
    uint64_t sent = 0;

    if (!hx_coll_has_pair_counts(call->key.coll))
        return call->root_knows ? call->said_count : call->key.count;
    for (int r = 0; r < call->comm->members.size; r++)
        sent += call->pair_counts.sent[r];
    return sent;
}

/* ---- running ------------------------------------------------------------------------------------------------- */

static void pair_counts_alone(const struct hx_pair_counts *pair_counts, size_t elem_bytes, const void *in, void *out)
{
    const unsigned char *from = (const unsigned char *)in + pair_counts->sent_at[0] * elem_bytes;
    unsigned char *to = (unsigned char *)out + pair_counts->received_at[0] * elem_bytes;

    if (pair_counts->sent[0] && from != to)
        memcpy(to, from, pair_counts->sent[0] * elem_bytes);
}

void hx_call_alone(const struct hx_call *call)
{
    const struct hx_call_key *key = &call->key;
    const void *in = call->inplace_copy == HX_INPLACE_COPY_IN ? call->inplace_copy_from : call->in; /* no slice reads what another one has written */
    void *out = call->inplace_copy == HX_INPLACE_COPY_OUT ? call->inplace_copy_to : call->out;

    if (key->coll == HX_COLL_BARRIER || key->coll == HX_COLL_EXSCAN || !out)
        return;
    if (hx_coll_has_pair_counts(key->coll)) {
        pair_counts_alone(&call->pair_counts, hx_dtype_bytes(key->dtype), in, out);
        return;
    }
    size_t at = key->blocks.displs ? key->blocks.displs[0] * hx_dtype_bytes(key->dtype) : 0;
    if (key->coll == HX_COLL_SCATTER)
        in = (const unsigned char *)in + at;
    else
        out = (unsigned char *)out + at;
    if (hx_coll_reduces(key->coll) && key->coll != HX_COLL_SCAN && hx_op_name(key->op))
        hx_reduce_kernel(key->dtype, key->op)(out, &in, 1, key->count);
    else if (in != out)
        memcpy(out, in, key->count * hx_dtype_bytes(key->dtype));
}

/* One block after the other. */
static const void *blocks_copy(const struct hx_call *call, void *memory)
{
    const struct hx_pair_counts *pair_counts = &call->pair_counts;
    size_t elem_bytes = hx_dtype_bytes(call->key.dtype), *at = memory, end = 0;
    unsigned char *blocks = (unsigned char *)memory + hx_inplace_copy_head_bytes(call->comm->members.size);

    for (int r = 0; r < call->comm->members.size; end += pair_counts->sent[r++]) {
        at[r] = end;
        if (pair_counts->sent[r])
            hx_memcpy(blocks + end * elem_bytes, (const unsigned char *)call->out + pair_counts->sent_at[r] * elem_bytes,
                      pair_counts->sent[r] * elem_bytes);
    }
    return blocks;
}

void hx_inplace_copy_begin(const struct hx_call *call, void *memory, const void **in, void **out)
{
    if (call->inplace_copy == HX_INPLACE_COPY_IN)
        *in = memcpy(memory, call->inplace_copy_from, call->inplace_copy_bytes);
    else if (call->inplace_copy == HX_INPLACE_COPY_BLOCKS)
        *in = blocks_copy(call, memory);
    else if (call->inplace_copy == HX_INPLACE_COPY_OUT)
        *out = memory;
}

struct hx_pair_counts hx_call_pair_counts(const struct hx_call *call, const void *memory)
{
    struct hx_pair_counts pair_counts = call->pair_counts;

    if (call->inplace_copy == HX_INPLACE_COPY_BLOCKS)
        pair_counts.sent_at = memory;
    return pair_counts;
}

void hx_inplace_copy_end(const struct hx_call *call, const void *memory)
{
    if (call->inplace_copy == HX_INPLACE_COPY_OUT && call->inplace_copy_to)
        hx_memcpy(call->inplace_copy_to, memory, call->inplace_copy_bytes);
}

void *hx_inplace_copy_new(size_t bytes)
{
    void *memory = NULL;

    return posix_memalign(&memory, 64, bytes) ? NULL : memory;
}

static hx_status_t inplace_copy_reserve(const struct hx_call *call)
{
    struct hx_comm *comm = call->comm;
    size_t bytes = call->inplace_copy == HX_INPLACE_COPY_NOTHING ? 0 : call->inplace_copy_bytes;
    void *inplace_copy;

    if (bytes <= comm->inplace_copy_bytes)
        return HX_SUCCESS;
    if (!(inplace_copy = hx_inplace_copy_new(bytes))) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for %zu bytes beside the in-place vector", call->name, bytes);
        return hx_comm_break(comm, HX_ERR_NOMEM); /* the other ranks are in the call, this one is not */
    }
    free(comm->inplace_copy);
    comm->inplace_copy = inplace_copy;
    comm->inplace_copy_bytes = bytes;
    return HX_SUCCESS;
}

/* bound: by hx_call_known, or NULL. */
static hx_status_t call_run(const struct hx_call *call, struct hx_bound *bound)
{
    struct hx_comm *comm = call->comm;
    const void *in = call->in;
    void *out = call->out;
    hx_status_t status;

    if (comm->members.size == 1) {
        hx_call_alone(call);
        return HX_SUCCESS;
    }
    if ((status = inplace_copy_reserve(call)) != HX_SUCCESS)
        return status;
    hx_inplace_copy_begin(call, comm->inplace_copy, &in, &out);
    if (!bound && (status = hx_bind(&comm->engine, hx_call_key_on(comm, call->key), &bound)) != HX_SUCCESS)
        return hx_comm_break(comm, status);
    if (hx_coll_has_pair_counts(call->key.coll)) {
        struct hx_pair_counts pair_counts = hx_call_pair_counts(call, comm->inplace_copy);
        hx_bound_set_pair_counts(&comm->engine, bound, &pair_counts);
    }
    if ((status = hx_engine_run(&comm->engine, bound, call->name, in, out)) != HX_SUCCESS)
        return status;
    hx_inplace_copy_end(call, comm->inplace_copy);
    return HX_SUCCESS;
}

hx_status_t hx_call_run(const struct hx_call *call)
{
    return call_run(call, NULL);
}

static int idle_look(void *ctx)
{
    const struct hx_engine *engine = ctx;

    hx_progress_all(engine->process);
    return engine->running == HX_IDLE;
}

hx_status_t hx_engine_await(struct hx_engine *engine)
{
    if (engine->running != HX_IDLE) { /* that call has a time limit of its own */
        engine->awaiting++;
        hx_wait_until(&engine->process->waiter, &(struct hx_wait){.look = idle_look, .ctx = engine, .wait_clock = &(struct hx_wait_clock){0}});
        engine->awaiting--;
        hx_notify(&engine->process->waiter);
    }
    return engine->members->failed;
}

static int left_look(void *ctx)
{
    return ((const struct hx_engine *)ctx)->awaiting == 0;
}

void hx_engine_leave(struct hx_engine *engine)
{
    if (engine->awaiting)
        hx_wait_until(&engine->process->waiter, &(struct hx_wait){.look = left_look, .ctx = engine, .wait_clock = &(struct hx_wait_clock){0}});
}

static hx_status_t root_counts_run(const struct hx_call *call)
{
    struct hx_call counts, known = *call;
    struct hx_root_counts root_counts;
    hx_status_t status = hx_root_counts_open(&root_counts, call);

    if (status == HX_SUCCESS && call->comm->members.size > 1) {
        counts = hx_root_counts_call(&root_counts, call);
        status = call_run(&counts, NULL);
    }
    if (status == HX_SUCCESS)
        status = hx_root_counts_apply(&root_counts, &known);
    if (status == HX_SUCCESS && known.key.count)
        status = call_run(&known, NULL);
    if (status == HX_SUCCESS)
        status = hx_root_counts_compare(&root_counts, &known);
    hx_root_counts_close(&root_counts);
    return status;
}

/* Must a barrier come first? */
static int is_ahead(const struct hx_call *call)
{
    return !hx_call_key_awaits_all(&call->key) && hx_engine_is_far_ahead(&call->comm->engine);
}

/* A call that is right, when its engine is free. */
static hx_status_t call_proceed(const struct hx_call *call)
{
    hx_status_t status;

    if (is_ahead(call)) {
        struct hx_call barrier = hx_call_barrier(call->name, HX_FOR_ORDER, call->comm);
        if ((status = call_run(&barrier, NULL)) != HX_SUCCESS)
            return status;
    }
    return call->root_knows ? root_counts_run(call) : call_run(call, NULL);
}

/* A call that is right. */
static hx_status_t call_await(const struct hx_call *call)
{
    uint64_t start_ns;
    hx_status_t status;

    if (call->comm->world->process.env->check && call->comm->members.size > 1 && (status = hx_call_agree(call)) != HX_SUCCESS)
        return status;
    if (call->key.count == 0)
        return HX_SUCCESS;
    start_ns = call->comm->world->process.env->stats ? hx_now_ns() : 0;
    if ((status = hx_engine_await(&call->comm->engine)) == HX_SUCCESS)
        status = call_proceed(call);
    if (start_ns && status == HX_SUCCESS)
        hx_stats_call(call, start_ns);
    return status;
}

static hx_status_t call_block(const struct hx_call *call)
{
    struct hx_bound *bound = call->root_knows ? NULL : hx_call_known(call->comm, call->key, call->needed[0], call->needed[1]);
    const unsigned dtype = (unsigned)call->key.dtype, op = (unsigned)call->key.op;
    hx_status_t status;

    if (bound && !is_ahead(call))
        return call_run(call, bound);
    if ((status = hx_call_check(call)) != HX_SUCCESS)
        return status;
    hx_user_hold(dtype); /* another thread may free them while this one waits for its turn */
    hx_user_hold(op);
    status = call_await(call);
    hx_user_leave(&call->comm->engine, dtype);
    hx_user_leave(&call->comm->engine, op);
    return status;
}

/* HX_TRACE: the same, told. */
static hx_status_t call_traced(const struct hx_call *call)
{
    struct hx_trace_open open;
    hx_status_t status;

    if (!call->comm || !hx_comm_is_open(call->comm) || call->comm->members.failed)
        return call_block(call);
    hx_trace_call_begin(&open, call->name, &call->comm->engine, &call->key, hx_call_amount(call));
    status = call_block(call);
    hx_trace_call_end(&open, status);
    return status;
}

hx_status_t hx_call_do(const struct hx_call *call, enum hx_mode mode, hx_request_t **request)
{
    hx_status_t status = hx_coll_has_pair_counts(call->key.coll) ? hx_call_check_pair_counts(call)
                         : call->root_knows                      ? hx_root_counts_check(call)
                                                              : HX_SUCCESS;

    if (request)
        *request = NULL;
    if (status != HX_SUCCESS)
        return status;
    if (mode == HX_BLOCKING)
        return HX_TRACING ? call_traced(call) : call_block(call);
    if ((status = hx_call_check(call)) != HX_SUCCESS)
        return status;
    if (!request)
        return hx_comm_fail(call->comm, hx_fail(HX_ERR_ARG, "%s: request is NULL", call->name));
    return hx_request_new(call, mode == HX_PERSISTENT, request);
}

hx_status_t hx_call_make(const struct hx_call *call, enum hx_mode mode, hx_request_t **request)
{
    return HX_LOCKED(hx_call_do(call, mode, request));
}
