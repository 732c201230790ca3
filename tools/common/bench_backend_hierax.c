/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench's calls into libhierax: the public interface only, and what HX_NODES means. */
#include "tools/common/bench_backend.h"
#include "tools/common/quiet.h"
#include "topo/shape.h"
#include <stdlib.h>
#include <string.h>

const char *bench_backend_tool = "coll_bench";
const int bench_backend_tells_plans = 1;
static hx_comm_t *world, *comm; /* measured calls are made on comm */
static hx_comm_t *measured;     /* the first value of comm */
static int32_t explains;        /* has any rank HX_EXPLAIN? */
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
    hx_status_t status = quiet_init(&world);
    if (status != HX_SUCCESS) /* one rank has reported why */
        return status == HX_ERR_ENV || status == HX_ERR_ARG ? 2 : 1;
    if (told("hx_barrier_init", hx_barrier_init(world, &idle), world))
        return 1;
    *rank = hx_rank(world);
    *size = hx_size(world);
    comm = measured = world;
    const int32_t asked = quiet_is_asked();
    if (told("hx_allreduce", hx_allreduce(&asked, &explains, 1, HX_INT32, HX_MAX, world), world) ||
        (explains && told("hx_comm_dup", hx_comm_dup(world, &measured), world)))
        return 1;
    comm = measured;
    return 0;
}

void bench_backend_use(hx_comm_t *other)
{
    comm = other ? other : measured;
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

int bench_backend_plan(enum hx_function collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                       hx_plan_info_t *info)
{
    return told("hx_plan_info",
                hx_plan_info(comm, bench_collective_names[collective], count, dtype, op, root, info), comm);
}

int bench_backend_predict(enum hx_function collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                          hx_prediction_t *prediction)
{
    return told("hx_plan_predict",
                hx_plan_predict(comm, bench_collective_names[collective], count, dtype, op, root, prediction), comm);
}

int bench_backend_network(char *text, size_t capacity_bytes)
{
    hx_plan_info_t info;

    if (told("hx_plan_info", hx_plan_info(world, "barrier", 0, HX_BYTE, HX_SUM, 0, &info), world))
        return -1;
    snprintf(text, capacity_bytes, "%s", info.network);
    return 0;
}

int bench_backend_constants(hx_prediction_t *constants)
{
    return told("hx_plan_predict", hx_plan_predict(world, "barrier", 0, HX_BYTE, HX_SUM, 0, constants), world);
}

static hx_status_t call_make(const struct bench_call *c, hx_comm_t *on)
{
    switch (c->collective) {
    case HX_FUNCTION_ALLREDUCE: return hx_allreduce(c->in, c->out, c->count, c->dtype, c->op, on);
    case HX_FUNCTION_REDUCE_SCATTER: return hx_reduce_scatter_block(c->in, c->out, c->count, c->dtype, c->op, on);
    case HX_FUNCTION_ALLGATHER: return hx_allgather(c->in, c->out, c->count, c->dtype, on);
    case HX_FUNCTION_BCAST: return hx_bcast(c->out, c->count, c->dtype, c->root, on);
    case HX_FUNCTION_REDUCE: return hx_reduce(c->in, c->out, c->count, c->dtype, c->op, c->root, on);
    case HX_FUNCTION_GATHER: return hx_gather(c->in, c->out, c->count, c->dtype, c->root, on);
    case HX_FUNCTION_SCATTER: return hx_scatter(c->in, c->out, c->count, c->dtype, c->root, on);
    case HX_FUNCTION_SCAN: return hx_scan(c->in, c->out, c->count, c->dtype, c->op, on);
    case HX_FUNCTION_EXSCAN: return hx_exscan(c->in, c->out, c->count, c->dtype, c->op, on);
    case HX_FUNCTION_ALLTOALL: return hx_alltoall(c->in, c->out, c->count, c->dtype, on);
    case HX_FUNCTION_REDUCE_SCATTER_COUNTS: return hx_reduce_scatter(c->in, c->out, c->counts, c->dtype, c->op, on);
    case HX_FUNCTION_ALLGATHERV: return hx_allgatherv(c->in, c->count, c->out, c->counts, NULL, c->dtype, on);
    case HX_FUNCTION_GATHERV: return hx_gatherv(c->in, c->count, c->out, c->counts, NULL, c->dtype, c->root, on);
    case HX_FUNCTION_SCATTERV: return hx_scatterv(c->in, c->counts, NULL, c->out, c->count, c->dtype, c->root, on);
    case HX_FUNCTION_ALLTOALLV: return hx_alltoallv(c->in, c->counts, c->displs, c->out, c->counts, c->displs, c->dtype, on);
    case HX_FUNCTION_BARRIER: return hx_barrier(on);
    case HX_FUNCTION_COUNT: break;
    }
    return HX_ERR_ARG;
}

static int call_on(hx_comm_t *on, const struct bench_call *call)
{
    const hx_status_t status = call_make(call, on);
    char name[64];

    if (status == HX_SUCCESS)
        return 0;
    snprintf(name, sizeof(name), "hx_%s", bench_collective_names[call->collective]);
    return told(name, status, on);
}

int bench_backend_call(const struct bench_call *call)
{
    return call_on(comm, call);
}

/* Without HX_EXPLAIN on the measured communicator, so that its flags stay in the cache. */
int bench_backend_own_call(const struct bench_call *call)
{
    return call_on(explains ? world : comm, call);
}
