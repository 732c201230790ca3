/* SPDX-License-Identifier: BSD-3-Clause */
/* The library under test: the only code that differs between coll_bench (Hierax) and coll_bench_mpi. Calls return 0, or
 * -1 after printing why. */
#pragma once

#include "tools/common/bench.h"

extern const char *bench_backend_tool;                     /* "coll_bench", for messages */
int bench_backend_init(int *argc, char ***argv, int *rank, int *size); /* 0, or the exit status after printing why */
void bench_backend_use(hx_comm_t *other); /* Hierax only: measure calls on it; NULL: on the first one again */
int bench_backend_finalize(void);
void bench_backend_abort(int status) __attribute__((noreturn)); /* end the job now, the others too where that can be */
const char *bench_backend_name(void);                      /* "hierax 0.3.0" */
extern const int bench_backend_tells_plans;                /* 0: nothing but times can be shown */
void bench_backend_progress(void);                         /* let what returned calls have sent go on */
int bench_backend_node(int rank, int size);                /* on its machine: 0 unless nodes are emulated */
void *bench_backend_alloc(size_t bytes);                   /* memory of the library's own; all ranks call it; NULL after printing why */
void bench_backend_free(void *memory);
int bench_backend_supports(hx_dtype_t dtype, hx_op_t op);
int bench_backend_network(char *text, size_t capacity_bytes); /* between nodes; "": none, or not known */
/* The plan of a call on this rank. count: the call's argument. */
int bench_backend_plan(enum hx_function collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                       hx_plan_info_t *info);
int bench_backend_constants(hx_prediction_t *constants); /* fills in only the sources of the cost model */
/* The time that the cost model predicts for that call. Returns -1 if the library has no model. */
int bench_backend_predict(enum hx_function collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                          hx_prediction_t *prediction);

/* A call on this rank. in or out may be HX_IN_PLACE. */
struct bench_call {
    enum hx_function collective;
    const void *in;
    void *out;
    size_t count;                 /* of a collective with counts: of this rank's block */
    const size_t *counts, *displs; /* of each rank's block, where there are such; alltoallv: in both directions */
    hx_dtype_t dtype;
    hx_op_t op;
    int root;
};
int bench_backend_call(const struct bench_call *call);     /* to be measured */
int bench_backend_own_call(const struct bench_call *call); /* by which the ranks of the tool agree: HX_EXPLAIN leaves it out */

static inline int bench_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op)
{
    const struct bench_call call = {.collective = HX_FUNCTION_ALLREDUCE, .in = in, .out = out, .count = count, .dtype = dtype, .op = op};
    return bench_backend_own_call(&call);
}

static inline int bench_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype)
{
    const struct bench_call call = {.collective = HX_FUNCTION_ALLGATHER, .in = in, .out = out, .count = count, .dtype = dtype};
    return bench_backend_own_call(&call);
}

static inline int bench_bcast(void *buf, size_t count, hx_dtype_t dtype, int root)
{
    const struct bench_call call = {.collective = HX_FUNCTION_BCAST, .out = buf, .count = count, .dtype = dtype, .root = root};
    return bench_backend_own_call(&call);
}

static inline int bench_barrier(void)
{
    const struct bench_call call = {.collective = HX_FUNCTION_BARRIER};
    return bench_backend_own_call(&call);
}

/* The greatest of all ranks. Ends the job where the backend fails. */
static inline int bench_worst(int mine)
{
    int32_t in = mine, out = 0;

    if (bench_allreduce(&in, &out, 1, HX_INT32, HX_MAX))
        bench_backend_abort(1);
    return out;
}
