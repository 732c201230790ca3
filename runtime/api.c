/* SPDX-License-Identifier: BSD-3-Clause */
/* The public functions: arguments are checked here, then the engine runs. */
#include "log.h"
#include "startup.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hx_comm *world_comm;
static int finalized;

hx_status_t hx_init_with(const hx_config_t *config, hx_comm_t **world)
{
    hx_status_t status;

    if (!world)
        return hx_fail(HX_ERR_ARG, "hx_init: world is NULL");
    *world = NULL;
    if (world_comm || finalized)
        return hx_fail(HX_ERR_STATE, "hx_init: Hierax %s in this process", finalized ? "has been finalized" : "is started already");
    if ((status = hx_world_open(config, &world_comm)) == HX_SUCCESS)
        *world = world_comm;
    return status;
}

hx_status_t hx_init(hx_comm_t **world)
{
    return hx_init_with(NULL, world);
}

hx_status_t hx_finalize(void)
{
    hx_status_t status;

    if (!world_comm)
        return hx_fail(HX_ERR_STATE, "hx_finalize: Hierax is not started");
    status = world_comm->failed ? HX_SUCCESS : hx_barrier(world_comm);
    hx_world_close(world_comm, status == HX_SUCCESS && !world_comm->failed);
    world_comm = NULL;
    finalized = 1;
    return status;
}

int hx_rank(const hx_comm_t *comm)
{
    return comm ? comm->rank : -1;
}

int hx_size(const hx_comm_t *comm)
{
    return comm ? comm->size : -1;
}

const char *hx_error_detail(const hx_comm_t *comm)
{
    return comm ? comm->detail : hx_last_detail();
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static hx_status_t comm_fail(struct hx_comm *comm, hx_status_t status)
{
    snprintf(comm->detail, sizeof(comm->detail), "%s", hx_last_detail());
    return status;
}

static hx_status_t comm_check(struct hx_comm *comm, const char *name)
{
    if (!comm)
        return hx_fail(HX_ERR_ARG, "%s: the communicator is NULL", name);
    if (comm != world_comm)
        return hx_fail(HX_ERR_STATE, "%s: this communicator is not open", name);
    return comm->failed; /* its detail tells why */
}

static hx_status_t dtype_check(struct hx_comm *comm, const char *name, hx_dtype_t dtype)
{
    if (hx_dtype_bytes(dtype))
        return HX_SUCCESS;
    hx_fail(HX_ERR_ARG, "%s: datatype %d is none; choose %s (%d) to %s (%d)", name, (int)dtype, hx_dtype_name(HX_INT8),
            HX_INT8, hx_dtype_name(HX_BYTE), HX_BYTE);
    return comm_fail(comm, HX_ERR_ARG);
}

static inline hx_status_t kernel_check(struct hx_comm *comm, const char *name, hx_dtype_t dtype, hx_op_t op,
                                hx_reduce_kernel_t **kernel)
{
    hx_status_t status;

    if ((*kernel = hx_reduce_kernel(dtype, op)))
        return HX_SUCCESS;
    if ((status = dtype_check(comm, name, dtype)) != HX_SUCCESS)
        return status;
    if (!hx_op_name(op))
        hx_fail(HX_ERR_ARG, "%s: operation %d is none; choose %s (%d) to %s (%d)", name, (int)op, hx_op_name(HX_SUM), HX_SUM,
                hx_op_name(HX_LXOR), HX_LXOR);
    else
        hx_fail(HX_ERR_ARG, "%s: operation %s is not defined for %s", name, hx_op_name(op), hx_dtype_name(dtype));
    return comm_fail(comm, HX_ERR_ARG);
}

/* count > 0: buffers must be there and their bytes must fit an address space. */
static inline hx_status_t buffers_check(struct hx_comm *comm, const char *name, const void *in, const void *out, size_t count,
                                 size_t blocks, size_t elem_bytes)
{
    size_t bytes;

    if (!in || !out)
        hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", name, in ? "out" : "in", count);
    else if (out == HX_IN_PLACE)
        hx_fail(HX_ERR_ARG, "%s: out is HX_IN_PLACE; only in may be", name);
    else if (__builtin_mul_overflow(count, elem_bytes * blocks, &bytes) || bytes > SIZE_MAX >> 16)
        hx_fail(HX_ERR_ARG, "%s: count %zu of %zu-byte elements%s is more than an address space holds", name, count, elem_bytes,
                blocks > 1 ? " per rank" : "");
    else
        return HX_SUCCESS;
    return comm_fail(comm, HX_ERR_ARG);
}

static hx_status_t call_run(struct hx_comm *comm, const struct hx_call *call)
{
    hx_status_t status = hx_engine_run(comm, call);

    if (status != HX_SUCCESS) {
        comm->failed = status; /* ranks may be out of step now */
        return comm_fail(comm, status);
    }
    return HX_SUCCESS;
}

/* ---- collectives -------------------------------------------------------------------------------------------------- */

hx_status_t hx_barrier(hx_comm_t *comm)
{
    hx_status_t status = comm_check(comm, "hx_barrier");
    static const unsigned char token;

    if (status != HX_SUCCESS || comm->size == 1)
        return status;
    return call_run(comm, &(struct hx_call){HX_COLL_BARRIER, "barrier", &token, NULL, 1, 1, NULL, 0});
}

hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    size_t bytes = hx_dtype_bytes(dtype);
    hx_reduce_kernel_t *kernel;
    hx_status_t status;

    if ((status = comm_check(comm, "hx_allreduce")) != HX_SUCCESS ||
        (status = kernel_check(comm, "hx_allreduce", dtype, op, &kernel)) != HX_SUCCESS || count == 0 ||
        (status = buffers_check(comm, "hx_allreduce", in, out, count, 1, bytes)) != HX_SUCCESS)
        return status;
    if (in == HX_IN_PLACE)
        in = out;
    if (comm->size == 1) {
        kernel(out, &in, 1, count);
        return HX_SUCCESS;
    }
    status = call_run(comm, &(struct hx_call){HX_COLL_ALLREDUCE, "allreduce", in, out, count, (uint32_t)bytes, kernel, 0});
    if (op == HX_AVG && status == HX_SUCCESS)
        hx_scale_inverse(out, count, dtype, comm->size);
    return status;
}

/* In place, a reduce-scatter's result and an all-gather's arriving blocks lie over input that later slices still read: the smaller
 * side is put aside. (An all-reduce needs none: the checker proves its plans with one buffer.) */
static hx_status_t aside_reserve(struct hx_comm *comm, const char *name, size_t bytes)
{
    void *aside = bytes > comm->aside_bytes ? realloc(comm->aside, bytes) : comm->aside;

    if (!aside) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for %zu bytes beside the in-place vector", name, bytes);
        return comm_fail(comm, HX_ERR_NOMEM);
    }
    comm->aside = aside;
    comm->aside_bytes = bytes > comm->aside_bytes ? bytes : comm->aside_bytes;
    return HX_SUCCESS;
}

hx_status_t hx_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                    hx_comm_t *comm)
{
    size_t bytes = hx_dtype_bytes(dtype);
    hx_reduce_kernel_t *kernel;
    void *result = out;
    hx_status_t status;

    if ((status = comm_check(comm, "hx_reduce_scatter_block")) != HX_SUCCESS ||
        (status = kernel_check(comm, "hx_reduce_scatter_block", dtype, op, &kernel)) != HX_SUCCESS || recvcount == 0 ||
        (status = buffers_check(comm, "hx_reduce_scatter_block", in, out, recvcount, (size_t)comm->size, bytes)) != HX_SUCCESS)
        return status;
    if (comm->size == 1) {
        in = in == HX_IN_PLACE ? out : in;
        kernel(out, &in, 1, recvcount);
        return HX_SUCCESS;
    }
    if (in == HX_IN_PLACE) {
        if ((status = aside_reserve(comm, "hx_reduce_scatter_block", recvcount * bytes)) != HX_SUCCESS)
            return status;
        in = out;
        result = comm->aside;
    }
    status = call_run(comm, &(struct hx_call){HX_COLL_REDUCE_SCATTER, "reduce_scatter_block", in, result, recvcount,
                                              (uint32_t)bytes, kernel, 0});
    if (op == HX_AVG && status == HX_SUCCESS)
        hx_scale_inverse(result, recvcount, dtype, comm->size);
    if (result != out && status == HX_SUCCESS)
        memcpy(out, result, recvcount * bytes);
    return status;
}

hx_status_t hx_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    hx_status_t status;
    size_t bytes;

    if ((status = comm_check(comm, "hx_allgather")) != HX_SUCCESS ||
        (status = dtype_check(comm, "hx_allgather", dtype)) != HX_SUCCESS || count == 0 ||
        (status = buffers_check(comm, "hx_allgather", in, out, count, (size_t)comm->size, hx_dtype_bytes(dtype))) != HX_SUCCESS)
        return status;
    bytes = hx_dtype_bytes(dtype);
    if (comm->size == 1) {
        if (in != HX_IN_PLACE && in != out)
            memcpy(out, in, count * bytes);
        return HX_SUCCESS;
    }
    if (in == HX_IN_PLACE) {
        if ((status = aside_reserve(comm, "hx_allgather", count * bytes)) != HX_SUCCESS)
            return status;
        in = memcpy(comm->aside, (const char *)out + (size_t)comm->rank * count * bytes, count * bytes);
    }
    return call_run(comm, &(struct hx_call){HX_COLL_ALLGATHER, "allgather", in, out, count, (uint32_t)bytes, NULL, 0});
}

static hx_status_t root_check(struct hx_comm *comm, const char *name, int root)
{
    if (root >= 0 && root < comm->size)
        return HX_SUCCESS;
    hx_fail(HX_ERR_ARG, "%s: root %d is no rank; choose 0 to %d", name, root, comm->size - 1);
    return comm_fail(comm, HX_ERR_ARG);
}

static hx_status_t rooted_call_run(struct hx_comm *comm, const struct hx_call *call)
{
    hx_status_t status = hx_engine_is_far_ahead(comm) ? hx_barrier(comm) : HX_SUCCESS;
    return status != HX_SUCCESS ? status : call_run(comm, call);
}

hx_status_t hx_bcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    hx_status_t status;

    if ((status = comm_check(comm, "hx_bcast")) != HX_SUCCESS ||
        (status = dtype_check(comm, "hx_bcast", dtype)) != HX_SUCCESS ||
        (status = root_check(comm, "hx_bcast", root)) != HX_SUCCESS || count == 0)
        return status;
    if (!buf) {
        hx_fail(HX_ERR_ARG, "hx_bcast: buf is NULL and count is %zu", count);
        return comm_fail(comm, HX_ERR_ARG);
    }
    if ((status = buffers_check(comm, "hx_bcast", buf, buf, count, 1, hx_dtype_bytes(dtype))) != HX_SUCCESS || comm->size == 1)
        return status;
    return rooted_call_run(comm, &(struct hx_call){HX_COLL_BCAST, "bcast", buf, buf, count, (uint32_t)hx_dtype_bytes(dtype), NULL, root});
}

hx_status_t hx_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm)
{
    size_t bytes = hx_dtype_bytes(dtype);
    hx_reduce_kernel_t *kernel;
    hx_status_t status;

    if ((status = comm_check(comm, "hx_reduce")) != HX_SUCCESS ||
        (status = kernel_check(comm, "hx_reduce", dtype, op, &kernel)) != HX_SUCCESS ||
        (status = root_check(comm, "hx_reduce", root)) != HX_SUCCESS || count == 0)
        return status;
    if (comm->rank != root && in == HX_IN_PLACE) {
        hx_fail(HX_ERR_ARG, "hx_reduce: in is HX_IN_PLACE on rank %d; only that of root %d may be", comm->rank, root);
        return comm_fail(comm, HX_ERR_ARG);
    }
    /* no other rank has an out: its input stands in for the check */
    if ((status = buffers_check(comm, "hx_reduce", in, comm->rank == root ? out : in, count, 1, bytes)) != HX_SUCCESS)
        return status;
    if (in == HX_IN_PLACE)
        in = out;
    if (comm->size == 1) {
        kernel(out, &in, 1, count);
        return HX_SUCCESS;
    }
    status = rooted_call_run(comm, &(struct hx_call){HX_COLL_REDUCE, "reduce", in, out, count, (uint32_t)bytes, kernel, root});
    if (op == HX_AVG && status == HX_SUCCESS && comm->rank == root)
        hx_scale_inverse(out, count, dtype, comm->size);
    return status;
}
