/* SPDX-License-Identifier: BSD-3-Clause */
/* The library under test: the only code that differs between coll_bench (Hierax) and coll_bench_mpi. Collectives return
 * 0, or -1 after printing why. Arguments are those of hierax.h; in may be HX_IN_PLACE. */
#ifndef HX_TOOLS_COMMON_BENCH_BACKEND_H
#define HX_TOOLS_COMMON_BENCH_BACKEND_H
#include "tools/common/bench.h"

extern const char *bench_backend_tool;                     /* "coll_bench", for messages */
int bench_backend_init(int *argc, char ***argv, int *rank, int *size); /* 0, or the exit status after printing why */
void bench_backend_use(hx_comm_t *other); /* Hierax only: make the calls on it; NULL: on the world again */
int bench_backend_finalize(void);
void bench_backend_abort(int status) __attribute__((noreturn)); /* end the job now, the others too where that can be */
const char *bench_backend_name(void);                      /* "hierax 0.1.0" */
extern const int bench_backend_tells_plans;                /* 0: nothing but times can be shown */
void bench_backend_progress(void);                         /* let what returned calls have sent go on */
int bench_backend_node(int rank, int size);                /* on its machine: 0 unless nodes are emulated */
void *bench_backend_alloc(size_t bytes);                   /* memory of the library's own; all ranks call it; NULL after printing why */
void bench_backend_free(void *memory);
int bench_backend_supports(hx_dtype_t dtype, hx_op_t op);
/* What a call does on this rank. count: the call's argument. */
int bench_backend_plan(enum bench_collective collective, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                       hx_plan_info_t *info);

int bench_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op);
int bench_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op);
int bench_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype);
int bench_barrier(void);
int bench_bcast(void *buf, size_t count, hx_dtype_t dtype, int root);
int bench_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root);
int bench_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root);
int bench_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op);
int bench_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op);
int bench_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype);
/* counts: of each rank, as many as there are ranks; blocks stand one after the other. */
int bench_reduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op);
int bench_allgatherv(const void *in, size_t count, void *out, const size_t *counts, hx_dtype_t dtype);
int bench_gatherv(const void *in, size_t count, void *out, const size_t *counts, hx_dtype_t dtype, int root);
int bench_scatterv(const void *in, const size_t *counts, void *out, size_t count, hx_dtype_t dtype, int root);
/* Equal blocks, one after the other, but given by counts and displacements. */
int bench_alltoallv(const void *in, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype);
int bench_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root);

#endif
