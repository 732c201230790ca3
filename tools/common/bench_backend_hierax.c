/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench's calls into libhierax: the public interface only, and what HX_NODES means. */
#include "tools/common/bench_backend.h"
#include "topo/shape.h"
#include <stdlib.h>
#include <string.h>

const char *bench_backend_tool = "coll_bench";
const int bench_backend_tells_plans = 1;
static hx_comm_t *world, *comm; /* calls are made on comm */
static hx_request_t *idle;      /* never started: to let others move */

static int told(const char *call, hx_status_t status, const hx_comm_t *of)
{
    if (status == HX_SUCCESS)
        return 0;
    char rank[32] = "";

    if (world) /* before that it is not known */
        snprintf(rank, sizeof(rank), "rank %d: ", hx_rank(world));
    fprintf(stderr, "%s: %s%s: %s: %s\n", bench_backend_tool, rank, call, hx_strerror(status), hx_error_detail(of));
    return -1;
}

int bench_backend_init(int *argc, char ***argv, int *rank, int *size)
{
    (void)argc;
    (void)argv;
    hx_status_t status = hx_init(&world);
    if (status != HX_SUCCESS) /* one rank has told why */
        return status == HX_ERR_ENV || status == HX_ERR_ARG ? 2 : 1;
    if (told("hx_barrier_init", hx_barrier_init(world, &idle), world))
        return 1;
    comm = world;
    *rank = hx_rank(world);
    *size = hx_size(world);
    return 0;
}

void bench_backend_use(hx_comm_t *other)
{
    comm = other ? other : world;
}

void bench_backend_progress(void)
{
    int done;

    told("hx_test", hx_test(idle, &done), world);
}

int bench_backend_finalize(void)
{
    told("hx_request_free", hx_request_free(idle), world);
    return told("hx_finalize", hx_finalize(), NULL);
}

void bench_backend_abort(int status)
{
    exit(status); /* the launcher and the dead-rank watch tell the others */
}

const char *bench_backend_name(void)
{
    static char name[64];
    snprintf(name, sizeof(name), "hierax %s", hx_version());
    return name;
}

int bench_backend_node(int rank, int size)
{
    const char *text = getenv("HX_NODES"); /* checked by hx_init */
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = text ? hx_shape_emulate(text, size, error) : NULL; /* NULL also where it is 0 */
    int node = shape ? shape->node_of[rank] : 0;

    hx_shape_free(shape);
    return node;
}

void *bench_backend_alloc(size_t bytes)
{
    void *memory;

    return told("hx_alloc", hx_alloc(comm, bytes, &memory), comm) ? NULL : memory;
}

void bench_backend_free(void *memory)
{
    told("hx_free", hx_free(comm, memory), comm);
}

int bench_backend_supports(hx_dtype_t dtype, hx_op_t op)
{
    return bench_op_defined(dtype, op);
}

int bench_backend_plan(enum bench_collective collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                       hx_plan_info_t *info)
{
    return told("hx_plan_info",
                hx_plan_info(comm, bench_collective_names[collective], count, dtype, op, root, info), comm);
}

int bench_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op)
{
    return told("hx_allreduce", hx_allreduce(in, out, count, dtype, op, comm), comm);
}

int bench_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op)
{
    return told("hx_reduce_scatter_block", hx_reduce_scatter_block(in, out, recvcount, dtype, op, comm), comm);
}

int bench_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype)
{
    return told("hx_allgather", hx_allgather(in, out, count, dtype, comm), comm);
}

int bench_barrier(void)
{
    return told("hx_barrier", hx_barrier(comm), comm);
}

int bench_bcast(void *buf, size_t count, hx_dtype_t dtype, int root)
{
    return told("hx_bcast", hx_bcast(buf, count, dtype, root, comm), comm);
}

int bench_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root)
{
    return told("hx_reduce", hx_reduce(in, out, count, dtype, op, root, comm), comm);
}

int bench_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root)
{
    return told("hx_gather", hx_gather(in, out, count, dtype, root, comm), comm);
}

int bench_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root)
{
    return told("hx_scatter", hx_scatter(in, out, count, dtype, root, comm), comm);
}

int bench_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op)
{
    return told("hx_scan", hx_scan(in, out, count, dtype, op, comm), comm);
}

int bench_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op)
{
    return told("hx_exscan", hx_exscan(in, out, count, dtype, op, comm), comm);
}

int bench_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype)
{
    return told("hx_alltoall", hx_alltoall(in, out, count, dtype, comm), comm);
}

int bench_reduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op)
{
    return told("hx_reduce_scatter", hx_reduce_scatter(in, out, counts, dtype, op, comm), comm);
}

int bench_allgatherv(const void *in, size_t count, void *out, const size_t *counts, hx_dtype_t dtype)
{
    return told("hx_allgatherv", hx_allgatherv(in, count, out, counts, NULL, dtype, comm), comm);
}

int bench_gatherv(const void *in, size_t count, void *out, const size_t *counts, hx_dtype_t dtype, int root)
{
    return told("hx_gatherv", hx_gatherv(in, count, out, counts, NULL, dtype, root, comm), comm);
}

int bench_scatterv(const void *in, const size_t *counts, void *out, size_t count, hx_dtype_t dtype, int root)
{
    return told("hx_scatterv", hx_scatterv(in, counts, NULL, out, count, dtype, root, comm), comm);
}

int bench_alltoallv(const void *in, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype)
{
    return told("hx_alltoallv", hx_alltoallv(in, counts, displs, out, counts, displs, dtype, comm), comm);
}
