/* SPDX-License-Identifier: BSD-3-Clause */
/* The public functions: arguments are checked here, then the engine runs. */
#include "explain.h"
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
        return hx_fail(HX_ERR_STATE, "hx_init: Hierax %s in this process",
                       finalized ? "has been finalized" : "is started already");
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

/* ---- arguments ----------------------------------------------------------------------------------------------- */

static hx_status_t comm_fail(struct hx_comm *comm, hx_status_t status)
{
    snprintf(comm->detail, sizeof(comm->detail), "%s", hx_last_detail());
    return status;
}

hx_status_t hx_comm_break(struct hx_comm *comm, hx_status_t status)
{
    comm->failed = status;
    return comm_fail(comm, status);
}

/* What does not depend on the buffers: element type, operation, root, and bytes that fit an address space. */
static hx_status_t kind_check(struct hx_comm *comm, const char *name, struct hx_kind kind)
{
    size_t elem_bytes = hx_dtype_bytes(kind.dtype), blocks = hx_coll_has_blocks(kind.coll) ? (size_t)comm->size : 1;
    size_t bytes;

    if (!elem_bytes)
        hx_fail(HX_ERR_ARG, "%s: datatype %d is none; choose %s (%d) to %s (%d)", name, (int)kind.dtype,
                hx_dtype_name(HX_INT8), HX_INT8, hx_dtype_name(HX_BYTE), HX_BYTE);
    else if (hx_coll_reduces(kind.coll) && !hx_op_name(kind.op))
        hx_fail(HX_ERR_ARG, "%s: operation %d is none; choose %s (%d) to %s (%d)", name, (int)kind.op,
                hx_op_name(HX_SUM), HX_SUM, hx_op_name(HX_LXOR), HX_LXOR);
    else if (hx_coll_reduces(kind.coll) && !hx_reduce_kernel(kind.dtype, kind.op))
        hx_fail(HX_ERR_ARG, "%s: operation %s is not defined for %s", name, hx_op_name(kind.op),
                hx_dtype_name(kind.dtype));
    else if (kind.root < 0 || kind.root >= comm->size)
        hx_fail(HX_ERR_ARG, "%s: root %d is no rank; choose 0 to %d", name, kind.root, comm->size - 1);
    else if (__builtin_mul_overflow(kind.count, elem_bytes * blocks, &bytes) || bytes > SIZE_MAX >> 16)
        hx_fail(HX_ERR_ARG, "%s: count %zu of %zu-byte elements%s is more than an address space holds", name,
                (size_t)kind.count, elem_bytes, blocks > 1 ? " per rank" : "");
    else
        return HX_SUCCESS;
    return comm_fail(comm, HX_ERR_ARG);
}

/* Everything; out of the way of calls that are right. in and out: buffers that this rank must have, maybe the same. */
static hx_status_t call_check(struct hx_comm *comm, const char *name, struct hx_kind kind, const void *in,
                              const void *out)
{
    hx_status_t status;

    if (!comm)
        return hx_fail(HX_ERR_ARG, "%s: the communicator is NULL", name);
    if (comm != world_comm)
        return hx_fail(HX_ERR_STATE, "%s: this communicator is not open", name);
    if (comm->failed)
        return comm->failed; /* its detail tells why */
    if ((status = kind_check(comm, name, kind)) != HX_SUCCESS || kind.count == 0)
        return status;
    if (!in || !out)
        hx_fail(HX_ERR_ARG, "%s: %s is NULL and count is %zu", name,
                kind.coll == HX_COLL_BCAST ? "buf" : in ? "out" : "in", (size_t)kind.count);
    else if (out == HX_IN_PLACE && hx_coll_is_rooted(kind.coll) && kind.coll != HX_COLL_BCAST && comm->rank != kind.root)
        hx_fail(HX_ERR_ARG, "%s: %s is HX_IN_PLACE on rank %d; only that of root %d may be", name,
                kind.coll == HX_COLL_SCATTER ? "out" : "in", comm->rank, kind.root);
    else if (out == HX_IN_PLACE)
        hx_fail(HX_ERR_ARG, "%s: %s", name,
                kind.coll == HX_COLL_BCAST     ? "buf is HX_IN_PLACE, but must be memory"
                : kind.coll == HX_COLL_SCATTER ? "in is HX_IN_PLACE; only the root's out may be"
                                               : "out is HX_IN_PLACE; only in may be");
    else
        return HX_SUCCESS;
    return comm_fail(comm, HX_ERR_ARG);
}

/* The plan of a call that call_check would find nothing wrong with: the like of it has been bound. Else NULL. */
static inline struct hx_bound *call_known(struct hx_comm *comm, struct hx_kind kind, const void *in, const void *out)
{
    if (!comm || comm != world_comm || comm->failed || !in || !out || out == HX_IN_PLACE)
        return NULL;
    return hx_bound_find(&comm->engine, kind);
}

/* The only rank's result is its input. */
static hx_status_t run_alone(struct hx_kind kind, const void *in, void *out)
{
    if (kind.coll == HX_COLL_EXSCAN)
        return HX_SUCCESS;
    if (hx_coll_reduces(kind.coll) && kind.coll != HX_COLL_SCAN)
        hx_reduce_kernel(kind.dtype, kind.op)(out, &in, 1, kind.count);
    else if (in != out)
        memcpy(out, in, kind.count * hx_dtype_bytes(kind.dtype));
    return HX_SUCCESS;
}

/* A call that has passed call_check. bound: by call_known, or NULL. */
static hx_status_t call_run(struct hx_comm *comm, const char *name, struct hx_kind kind, const void *in, void *out,
                            struct hx_bound *bound)
{
    hx_status_t status;

    if (comm->size == 1)
        return run_alone(kind, in, out);
    if (!bound && (status = hx_bind(comm, kind, &bound)) != HX_SUCCESS)
        return hx_comm_break(comm, status);
    return hx_engine_run(comm, bound, name, in, out);
}

/* A call that is not known. Out of line, so that those that are known save no registers for it. */
static __attribute__((noinline)) hx_status_t call_first(struct hx_comm *comm, const char *name, struct hx_kind kind,
                                                        const void *in, void *out)
{
    hx_status_t status = call_check(comm, name, kind, in, out);

    return status != HX_SUCCESS || kind.count == 0 ? status : call_run(comm, name, kind, in, out, NULL);
}

/* ---- collectives --------------------------------------------------------------------------------------------- */

hx_status_t hx_barrier(hx_comm_t *comm)
{
    struct hx_kind kind = {HX_COLL_BARRIER, HX_BYTE, HX_SUM, 0, 1};
    unsigned char token = 0;
    struct hx_bound *bound = call_known(comm, kind, &token, &token);

    if (!bound)
        return call_first(comm, "hx_barrier", kind, &token, &token);
    return hx_engine_run(comm, bound, "hx_barrier", &token, &token);
}

hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    struct hx_kind kind = {HX_COLL_ALLREDUCE, dtype, op, 0, count};
    struct hx_bound *bound = call_known(comm, kind, in, out);

    if (in == HX_IN_PLACE)
        in = out;
    if (!bound)
        return call_first(comm, "hx_allreduce", kind, in, out);
    return hx_engine_run(comm, bound, "hx_allreduce", in, out);
}

/* In place, a reduce-scatter's result and the arriving blocks of an all-gather or all-to-all lie over input that later
 * slices still read: the smaller side is put aside. (An all-reduce needs none: the checker proves its plans with one buffer.) */
static hx_status_t aside_reserve(struct hx_comm *comm, const char *name, size_t bytes)
{
    void *aside = bytes > comm->aside_bytes ? realloc(comm->aside, bytes) : comm->aside;

    if (!aside) {
        hx_fail(HX_ERR_NOMEM, "%s: no memory for %zu bytes beside the in-place vector", name, bytes);
        return hx_comm_break(comm, HX_ERR_NOMEM); /* the other ranks are in the call, this one is not */
    }
    comm->aside = aside;
    comm->aside_bytes = bytes > comm->aside_bytes ? bytes : comm->aside_bytes;
    return HX_SUCCESS;
}

hx_status_t hx_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                    hx_comm_t *comm)
{
    static const char name[] = "hx_reduce_scatter_block";
    struct hx_kind kind = {HX_COLL_REDUCE_SCATTER, dtype, op, 0, recvcount};
    size_t bytes = recvcount * hx_dtype_bytes(dtype);
    struct hx_bound *bound = call_known(comm, kind, in, out);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, name, kind, in, out)) != HX_SUCCESS || recvcount == 0))
        return status;
    if (in != HX_IN_PLACE)
        return call_run(comm, name, kind, in, out, bound);
    if ((status = aside_reserve(comm, name, bytes)) == HX_SUCCESS &&
        (status = call_run(comm, name, kind, out, comm->aside, bound)) == HX_SUCCESS)
        memcpy(out, comm->aside, bytes);
    return status;
}

hx_status_t hx_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    static const char name[] = "hx_allgather";
    struct hx_kind kind = {HX_COLL_ALLGATHER, dtype, HX_SUM, 0, count};
    size_t bytes = count * hx_dtype_bytes(dtype);
    struct hx_bound *bound = call_known(comm, kind, in, out);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, name, kind, in, out)) != HX_SUCCESS || count == 0))
        return status;
    if (in != HX_IN_PLACE)
        return call_run(comm, name, kind, in, out, bound);
    if ((status = aside_reserve(comm, name, bytes)) != HX_SUCCESS)
        return status;
    memcpy(comm->aside, (const char *)out + (size_t)comm->rank * bytes, bytes);
    return call_run(comm, name, kind, comm->aside, out, bound);
}

hx_status_t hx_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    static const char name[] = "hx_alltoall";
    struct hx_kind kind = {HX_COLL_ALLTOALL, dtype, HX_SUM, 0, count};
    struct hx_bound *bound = call_known(comm, kind, in, out);
    hx_status_t status;
    size_t bytes;

    if (!bound && ((status = call_check(comm, name, kind, in, out)) != HX_SUCCESS || count == 0))
        return status;
    if (in != HX_IN_PLACE)
        return call_run(comm, name, kind, in, out, bound);
    bytes = (size_t)comm->size * count * hx_dtype_bytes(dtype);
    if ((status = aside_reserve(comm, name, bytes)) != HX_SUCCESS)
        return status;
    memcpy(comm->aside, out, bytes);
    return call_run(comm, name, kind, comm->aside, out, bound);
}

/* A call that need not await all others. */
static hx_status_t rooted_call_run(struct hx_comm *comm, const char *name, struct hx_kind kind, const void *in,
                                   void *out, struct hx_bound *bound)
{
    hx_status_t status;

    if (hx_engine_is_far_ahead(comm)) {
        if ((status = hx_barrier(comm)) != HX_SUCCESS)
            return status;
        bound = NULL; /* to bind a barrier may have released it */
    }
    return call_run(comm, name, kind, in, out, bound);
}

hx_status_t hx_bcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    struct hx_kind kind = {HX_COLL_BCAST, dtype, HX_SUM, root, count};
    struct hx_bound *bound = call_known(comm, kind, buf, buf);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, "hx_bcast", kind, buf, buf)) != HX_SUCCESS || count == 0))
        return status;
    return rooted_call_run(comm, "hx_bcast", kind, buf, buf, bound);
}

hx_status_t hx_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm)
{
    struct hx_kind kind = {HX_COLL_REDUCE, dtype, op, root, count};
    const void *second = hx_rank(comm) == root ? out : in; /* only the root has an out */
    struct hx_bound *bound = call_known(comm, kind, in, second);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, "hx_reduce", kind, in, second)) != HX_SUCCESS || count == 0))
        return status;
    return rooted_call_run(comm, "hx_reduce", kind, in == HX_IN_PLACE ? out : in, out, bound);
}

hx_status_t hx_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    struct hx_kind kind = {HX_COLL_GATHER, dtype, HX_SUM, root, count};
    const void *second = hx_rank(comm) == root ? out : in; /* only the root has an out */
    struct hx_bound *bound = call_known(comm, kind, in, second);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, "hx_gather", kind, in, second)) != HX_SUCCESS || count == 0))
        return status;
    if (in == HX_IN_PLACE)
        in = (char *)out + (size_t)comm->rank * count * hx_dtype_bytes(dtype);
    return rooted_call_run(comm, "hx_gather", kind, in, out, bound);
}

hx_status_t hx_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    struct hx_kind kind = {HX_COLL_SCATTER, dtype, HX_SUM, root, count};
    int is_root = hx_rank(comm) == root; /* only the root has an in */
    const void *first = is_root ? in : out, *second = is_root && (in == HX_IN_PLACE || out == HX_IN_PLACE) ? in : out;
    struct hx_bound *bound = call_known(comm, kind, first, second);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, "hx_scatter", kind, first, second)) != HX_SUCCESS || count == 0))
        return status;
    if (out == HX_IN_PLACE) { /* the root's block goes where nobody looks */
        if ((status = aside_reserve(comm, "hx_scatter", count * hx_dtype_bytes(dtype))) != HX_SUCCESS)
            return status;
        out = comm->aside;
    }
    return rooted_call_run(comm, "hx_scatter", kind, in, out, bound);
}

static hx_status_t scan_run(enum hx_coll coll, const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                            hx_op_t op, hx_comm_t *comm)
{
    struct hx_kind kind = {coll, dtype, op, 0, count};
    int no_out = coll == HX_COLL_EXSCAN && hx_rank(comm) == 0 && in != HX_IN_PLACE;
    const void *second = no_out ? in : out;
    struct hx_bound *bound = call_known(comm, kind, in, second);
    hx_status_t status;

    if (!bound && ((status = call_check(comm, name, kind, in, second)) != HX_SUCCESS || count == 0))
        return status;
    return rooted_call_run(comm, name, kind, in == HX_IN_PLACE ? out : in, out, bound);
}

hx_status_t hx_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return scan_run(HX_COLL_SCAN, "hx_scan", in, out, count, dtype, op, comm);
}

hx_status_t hx_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return scan_run(HX_COLL_EXSCAN, "hx_exscan", in, out, count, dtype, op, comm);
}

/* ---- what a call does ------------------------------------------------------------------------------------------- */

static hx_status_t info_fill(struct hx_comm *comm, struct hx_kind kind, hx_plan_info_t *info)
{
    const char *text = comm->net ? hx_registry.net->describe(comm->net) : "";
    struct hx_plan_stats stats;
    struct hx_bound *bound;
    hx_status_t status = hx_bind(comm, kind, &bound);

    if (status != HX_SUCCESS)
        return comm_fail(comm, status);
    hx_plan_count(bound->plan, comm->shape, &bound->sizes, &stats);
    snprintf(info->plan, sizeof(info->plan), "%s", bound->plan->name);
    snprintf(info->network, sizeof(info->network), "%.*s", (int)strcspn(text, ":"), text);
    info->rounds = stats.rounds + stats.awaits;
    info->network_bytes = stats.inter_bytes_sent;
    info->shared_bytes = stats.bytes_sent - stats.inter_bytes_sent + stats.slot_bytes_written;
    return HX_SUCCESS;
}

static hx_status_t coll_unknown(struct hx_comm *comm, const char *collective)
{
    char choices[256] = "";

    for (int i = 0; i < HX_COLL_COUNT; i++)
        snprintf(choices + strlen(choices), sizeof(choices) - strlen(choices), " %s", hx_coll_name((enum hx_coll)i));
    hx_fail(HX_ERR_ARG, "hx_plan_info: collective \"%.64s\" is none; choose one of%s", collective, choices);
    return comm_fail(comm, HX_ERR_ARG);
}

hx_status_t hx_plan_info(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                         hx_plan_info_t *info)
{
    struct hx_kind kind = {.dtype = dtype, .op = op, .root = root, .count = count};
    hx_status_t status;

    if (!comm)
        return hx_fail(HX_ERR_ARG, "hx_plan_info: the communicator is NULL");
    if (!collective || !info) {
        hx_fail(HX_ERR_ARG, "hx_plan_info: %s is NULL", info ? "collective" : "info");
        return comm_fail(comm, HX_ERR_ARG);
    }
    if (hx_coll_parse(collective, &kind.coll) < 0)
        return coll_unknown(comm, collective);
    *info = (hx_plan_info_t){0};
    if (kind.coll == HX_COLL_BARRIER)
        kind = (struct hx_kind){HX_COLL_BARRIER, HX_BYTE, HX_SUM, 0, 1};
    if (!hx_coll_reduces(kind.coll))
        kind.op = HX_SUM;
    if (!hx_coll_is_rooted(kind.coll))
        kind.root = 0;
    status = call_check(comm, "hx_plan_info", kind, info, info);
    return status != HX_SUCCESS || kind.count == 0 || comm->size == 1 ? status : info_fill(comm, kind, info);
}
