/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_bench_mpi's calls: the same benchmark over any MPI, for comparison. */
#include "tools/common/bench_backend.h"
#include <ctype.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

const char *bench_backend_tool = "coll_bench_mpi";
const int bench_backend_tells_plans = 0;
static MPI_Datatype dtypes[HX_DTYPE_COUNT];
static MPI_Op ops[HX_OP_COUNT];

static int told(const char *call, int status)
{
    if (status == MPI_SUCCESS)
        return 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    fprintf(stderr, "coll_bench_mpi: %s: %s\n", call, text);
    return -1;
}

static int count_fits(size_t count)
{
    if (count > INT_MAX)
        fprintf(stderr, "coll_bench_mpi: %zu elements are more than an MPI count holds (%d)\n", count, INT_MAX);
    return count <= INT_MAX;
}

/* Not constants in every MPI. */
static void map_types(void)
{
#define HX_DTYPE(ID, name, type, class, part, digits, mpi) dtypes[HX_##ID] = mpi;
#define HX_OP(ID, name, classes, input, identity, fold, mpi) ops[HX_##ID] = mpi;
#include "runtime/base/dtype.def"
    if (sizeof(long) != 8)
        dtypes[HX_INT64_INDEX] = MPI_DATATYPE_NULL;
}

int bench_backend_init(int *argc, char ***argv, int *rank, int *size)
{
    if (told("MPI_Init", MPI_Init(argc, argv)))
        return 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    map_types();
    return 0;
}

void bench_backend_progress(void)
{
    int there;

    told("MPI_Iprobe", MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE));
}

int bench_backend_finalize(void)
{
    return told("MPI_Finalize", MPI_Finalize());
}

void bench_backend_abort(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}

const char *bench_backend_name(void)
{
    static char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(name, &length);
    name[strcspn(name, ",\n")] = 0; /* Open MPI and MPICH put the version first */
    for (char *c = name; *c; c++)
        *c = isspace((unsigned char)*c) ? ' ' : *c;
    return name;
}

int bench_backend_node(int rank, int size)
{
    (void)rank;
    (void)size;
    return 0;
}

void *bench_backend_alloc(size_t bytes)
{
    void *memory;

    return told("MPI_Alloc_mem", MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory)) ? NULL : memory;
}

void bench_backend_free(void *memory)
{
    told("MPI_Free_mem", MPI_Free_mem(memory));
}

int bench_backend_supports(hx_dtype_t dtype, hx_op_t op)
{
    return bench_op_defined(dtype, op) && dtypes[dtype] != MPI_DATATYPE_NULL && ops[op] != MPI_OP_NULL;
}

int bench_backend_plan(enum hx_function collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                       hx_plan_info_t *info)
{
    (void)collective, (void)count, (void)dtype, (void)op, (void)root, (void)info;
    return -1;
}

int bench_backend_predict(enum hx_function collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                          hx_prediction_t *prediction)
{
    (void)collective, (void)count, (void)dtype, (void)op, (void)root, (void)prediction;
    return -1;
}

int bench_backend_constants(hx_prediction_t *constants)
{
    *constants = (hx_prediction_t){0};
    return 0;
}

int bench_backend_network(char *text, size_t capacity_bytes)
{
    snprintf(text, capacity_bytes, "%s", "");
    return 0;
}

/* As MPI wants them: int, with displacements. 0, or -1 when there is no memory or they do not fit. */
static int counts_convert(const size_t *counts, const int **converted, const int **displs)
{
    static int *memory;
    size_t at = 0;
    int n;

    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (!memory && !(memory = malloc(2 * (size_t)n * sizeof(int))))
        return -1;
    *converted = memory;
    *displs = memory + n;
    for (int r = 0; r < n; r++) {
        if (!count_fits(at + counts[r]))
            return -1;
        memory[r] = (int)counts[r];
        memory[n + r] = (int)at;
        at += counts[r];
    }
    return 0;
}

int bench_backend_call(const struct bench_call *c)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Datatype type = dtypes[c->dtype];
    const MPI_Op op = ops[c->op];
    const void *in = c->in == HX_IN_PLACE ? MPI_IN_PLACE : c->in;
    void *out = c->out == HX_IN_PLACE ? MPI_IN_PLACE : c->out;
    const int n = (int)c->count, *counts = NULL, *at = NULL;
    int status;

    if (!count_fits(c->count) || (c->counts && counts_convert(c->counts, &counts, &at)))
        return -1;
    switch (c->collective) {
    case HX_FUNCTION_ALLREDUCE: status = MPI_Allreduce(in, out, n, type, op, world); break;
    case HX_FUNCTION_REDUCE_SCATTER: status = MPI_Reduce_scatter_block(in, out, n, type, op, world); break;
    case HX_FUNCTION_ALLGATHER: status = MPI_Allgather(in, n, type, out, n, type, world); break;
    case HX_FUNCTION_BCAST: status = MPI_Bcast(out, n, type, c->root, world); break;
    case HX_FUNCTION_REDUCE: status = MPI_Reduce(in, out, n, type, op, c->root, world); break;
    case HX_FUNCTION_GATHER: status = MPI_Gather(in, n, type, out, n, type, c->root, world); break;
    case HX_FUNCTION_SCATTER: status = MPI_Scatter(in, n, type, out, n, type, c->root, world); break;
    case HX_FUNCTION_SCAN: status = MPI_Scan(in, out, n, type, op, world); break;
    case HX_FUNCTION_EXSCAN: status = MPI_Exscan(in, out, n, type, op, world); break;
    case HX_FUNCTION_ALLTOALL: status = MPI_Alltoall(in, n, type, out, n, type, world); break;
    case HX_FUNCTION_REDUCE_SCATTER_COUNTS: status = MPI_Reduce_scatter(in, out, counts, type, op, world); break;
    case HX_FUNCTION_ALLGATHERV: status = MPI_Allgatherv(in, n, type, out, counts, at, type, world); break;
    case HX_FUNCTION_GATHERV: status = MPI_Gatherv(in, n, type, out, counts, at, type, c->root, world); break;
    case HX_FUNCTION_SCATTERV: status = MPI_Scatterv(in, counts, at, type, out, n, type, c->root, world); break;
    case HX_FUNCTION_ALLTOALLV: status = MPI_Alltoallv(in, counts, at, type, out, counts, at, type, world); break;
    case HX_FUNCTION_BARRIER: status = MPI_Barrier(world); break;
    default:
        fprintf(stderr, "coll_bench_mpi: MPI has no %s\n", bench_collective_names[c->collective]);
        return -1;
    }
    return status == MPI_SUCCESS ? 0 : told(bench_collective_names[c->collective], status);
}

int bench_backend_own_call(const struct bench_call *call)
{
    return bench_backend_call(call);
}
