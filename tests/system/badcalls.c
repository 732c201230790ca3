/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls of the public functions: each returns its status at once, with a text that names the value and the choices, and the
 * communicator still works. Every rank of a job runs this. */
#include "runtime/hierax.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hx_comm_t *world;
static int failures;

static void expect(int line, const char *call, hx_status_t got, hx_status_t want, const hx_comm_t *comm, const char *text)
{
    const char *detail = got == HX_SUCCESS ? "" : hx_error_detail(comm);

    if (got == want && strstr(detail, text))
        return;
    fprintf(stderr, "badcalls:%d: rank %d: %s: status %d \"%s\", expected %d \"%s\"\n", line, hx_rank(world), call, got, detail, want,
            text);
    failures++;
}
#define EXPECT(call, want, comm, text) expect(__LINE__, #call, call, want, comm, text)

static void before_init(void)
{
    int x = 0;

    EXPECT(hx_init(NULL), HX_ERR_ARG, NULL, "world is NULL");
    EXPECT(hx_finalize(), HX_ERR_STATE, NULL, "not started");
    EXPECT(hx_barrier(NULL), HX_ERR_ARG, NULL, "hx_barrier: the communicator is NULL");
    EXPECT(hx_allreduce(&x, &x, 1, HX_INT32, HX_SUM, NULL), HX_ERR_ARG, NULL, "hx_allreduce: the communicator is NULL");
}

static void wrong_arguments(void)
{
    int in[64] = {0}, out[64];
    const hx_dtype_t no_type = (hx_dtype_t)99;
    const hx_op_t no_op = (hx_op_t)33;

    EXPECT(hx_allreduce(NULL, out, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "in is NULL and count is 3");
    EXPECT(hx_allreduce(in, NULL, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "out is NULL and count is 3");
    EXPECT(hx_allgather(NULL, out, 1, HX_INT32, world), HX_ERR_ARG, world, "hx_allgather: in is NULL");
    EXPECT(hx_reduce_scatter_block(in, NULL, 1, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_reduce_scatter_block: out is NULL");
    EXPECT(hx_alltoall(NULL, out, 1, HX_INT32, world), HX_ERR_ARG, world, "hx_alltoall: in is NULL and count is 1");
    EXPECT(hx_alltoall(in, NULL, 1, HX_INT32, world), HX_ERR_ARG, world, "hx_alltoall: out is NULL and count is 1");
    EXPECT(hx_alltoall(in, HX_IN_PLACE, 1, HX_INT32, world), HX_ERR_ARG, world, "only in may be");
    EXPECT(hx_alltoall(in, out, 1, no_type, world), HX_ERR_ARG, world, "hx_alltoall: datatype 99");
    EXPECT(hx_alltoall(in, out, SIZE_MAX / 8, HX_INT32, world), HX_ERR_ARG, world, "hx_alltoall: count 2305");
    EXPECT(hx_alltoall(in, out, 1, HX_INT32, NULL), HX_ERR_ARG, NULL, "hx_alltoall: the communicator is NULL");
    EXPECT(hx_allreduce(in, (void *)(uintptr_t)HX_IN_PLACE, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "only in may be");
    EXPECT(hx_allreduce(in, out, 3, no_type, HX_SUM, world), HX_ERR_ARG, world, "datatype 99");
    EXPECT(hx_allreduce(in, out, 3, no_type, HX_SUM, world), HX_ERR_ARG, world, "int8 (0)");
    EXPECT(hx_allgather(in, out, 3, no_type, world), HX_ERR_ARG, world, "int64_index (18)");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, no_op, world), HX_ERR_ARG, world, "operation 33");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, no_op, world), HX_ERR_ARG, world, "maxloc (12)");
    EXPECT(hx_allreduce(in, out, 3, HX_FLOAT32, HX_BAND, world), HX_ERR_ARG, world, "band is not defined for float32");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, HX_AVG, world), HX_ERR_ARG, world, "avg is not defined for int32");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, HX_MINLOC, world), HX_ERR_ARG, world, "minloc is not defined for int32");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32_INDEX, HX_MIN, world), HX_ERR_ARG, world, "min is not defined for int32_index");
    EXPECT(hx_reduce_scatter_block(in, out, 3, HX_COMPLEX64, HX_MAX, world), HX_ERR_ARG, world, "max is not defined for complex64");
    EXPECT(hx_allreduce(in, out, SIZE_MAX / 2, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "more than an address space");
    EXPECT(hx_allgather(in, out, SIZE_MAX / 8, HX_INT32, world), HX_ERR_ARG, world, "hx_allgather: count 2305");
}

/* With HX_CHECK=1. A call that only one rank makes must be refused before it begins. */
static void overlaps(void)
{
    static int m[4096];
    const int size = hx_size(world), me = hx_rank(world), last = size - 1;
    const char both[] = "they overlap; use HX_IN_PLACE or other memory";
    size_t ones[64], twos[64];
    char where[160];
    hx_request_t *request;

    for (int r = 0; r < size; r++) {
        ones[r] = 1;
        twos[r] = 2 * (size_t)r;
    }
    snprintf(where, sizeof(where), "hx_allreduce: in is at %#zx to %#zx, and out at %#zx to %#zx: they overlap", (size_t)m, (size_t)m + 11,
             (size_t)m + 8, (size_t)m + 19);
    EXPECT(hx_allreduce(m, m + 2, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, where);
    EXPECT(hx_allreduce(m + 1, m, 2, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, both);
    EXPECT(hx_allreduce(m, m, 2, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_allreduce(m, m + 2, 2, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_scan(m, m + 1, 2, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, both);
    EXPECT(hx_scan(m, m, 2, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgather(m + 2 * size, m, 2, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgather(HX_IN_PLACE, m, 2, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgather(m + 2 * last + 1, m, 2, HX_INT32, world), HX_ERR_ARG, world, both);
    EXPECT(hx_iallgather(m + 2 * last + 1, m, 2, HX_INT32, world, &request), HX_ERR_ARG, world, "hx_iallgather: in is at");
    EXPECT(hx_allgather_init(m + 2 * last + 1, m, 2, HX_INT32, world, &request), HX_ERR_ARG, world, "hx_allgather_init: in is at");
    EXPECT(hx_allgatherv(m + 2 * last + 1, 1, m, ones, twos, HX_INT32, world), HX_SUCCESS, world, ""); /* behind the last block */
    EXPECT(hx_alltoallv(m, ones, twos, m + 1, ones, twos, HX_INT32, world), HX_SUCCESS, world, "");    /* in the gaps of out */
    EXPECT(hx_bcast(m, 2, HX_INT32, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_gather(m, me ? NULL : m, 1, HX_INT32, 0, world), HX_SUCCESS, world, ""); /* the root's block is where it belongs */
    if (me) /* an exclusive scan does not write rank 0's out */
        EXPECT(hx_exscan(m, m + 1, 2, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, both);
    if (size > 1) {
        EXPECT(hx_allgather(m + 2 * me, m, 2, HX_INT32, world), HX_ERR_ARG, world, both);
        EXPECT(hx_reduce_scatter_block(m, m + last, 1, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, both);
        EXPECT(hx_reduce_scatter(m, m + last, ones, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, both);
        EXPECT(hx_reduce_scatter(m, m, ones, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
        EXPECT(hx_alltoall(m, m, 1, HX_INT32, world), HX_ERR_ARG, world, both);
        EXPECT(hx_alltoall(m, m + last, 1, HX_INT32, world), HX_ERR_ARG, world, both);
        snprintf(where, sizeof(where), "and out from rank %d at %#zx", last, (size_t)(m + 2 * last));
        EXPECT(hx_allgatherv(m + 2 * last, 1, m, ones, twos, HX_INT32, world), HX_ERR_ARG, world, where);
        snprintf(where, sizeof(where), "hx_alltoallv: in for rank 1 is at %#zx", (size_t)(m + 2));
        EXPECT(hx_alltoallv(m, ones, twos, m + 2, ones, twos, HX_INT32, world), HX_ERR_ARG, world, where);
    }
    if (size > 1 && me == last) {
        EXPECT(hx_reduce(m, m + 1, 2, HX_INT32, HX_SUM, last, world), HX_ERR_ARG, world, both);
        EXPECT(hx_gather(m, m, 1, HX_INT32, last, world), HX_ERR_ARG, world, both);
        EXPECT(hx_gatherv(m, 1, m, ones, twos, HX_INT32, last, world), HX_ERR_ARG, world, "and out from rank 0 at");
        EXPECT(hx_scatter(m, m, 1, HX_INT32, last, world), HX_ERR_ARG, world, both);
        EXPECT(hx_scatterv(m, ones, twos, m + 2, 1, HX_INT32, last, world), HX_ERR_ARG, world, "hx_scatterv: in for rank 1 is at");
    }
}

static void wrong_scans(void)
{
    int in[64] = {0}, out[64];

    EXPECT(hx_scan(NULL, out, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_scan: in is NULL and count is 3");
    EXPECT(hx_scan(in, NULL, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_scan: out is NULL and count is 3");
    EXPECT(hx_scan(in, (void *)(uintptr_t)HX_IN_PLACE, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "only in may be");
    EXPECT(hx_scan(in, out, 3, (hx_dtype_t)99, HX_SUM, world), HX_ERR_ARG, world, "hx_scan: datatype 99");
    EXPECT(hx_scan(in, out, 3, HX_INT32, HX_AVG, world), HX_ERR_ARG, world, "avg is not defined for int32");
    EXPECT(hx_exscan(in, out, 3, HX_INT32, (hx_op_t)33, world), HX_ERR_ARG, world, "hx_exscan: operation 33");
    EXPECT(hx_exscan(NULL, out, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_exscan: in is NULL");
    EXPECT(hx_exscan(HX_IN_PLACE, NULL, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_exscan: out is NULL");
    EXPECT(hx_exscan(in, out, SIZE_MAX / 2, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "more than an address space");
    if (hx_rank(world) > 0) { /* only rank 0 has no out */
        EXPECT(hx_exscan(in, NULL, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_exscan: out is NULL");
        EXPECT(hx_exscan(in, HX_IN_PLACE, 3, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "only in may be");
    }
}

static void wrong_blocks(void)
{
    int in[256] = {0}, out[256], size = hx_size(world), rank = hx_rank(world);
    size_t counts[64], displs[64];

    for (int r = 0; r < size; r++) {
        counts[r] = 2;
        displs[r] = 3 * (size_t)r;
    }
    EXPECT(hx_reduce_scatter(in, out, counts, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgatherv(in, 2, out, counts, displs, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgatherv(in, 2, out, counts, NULL, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_reduce_scatter(in, out, counts, HX_INT32, HX_SUM, NULL), HX_ERR_ARG, NULL, "hx_reduce_scatter: the communicator is NULL");
    EXPECT(hx_allgatherv(in, 2, out, counts, displs, HX_INT32, NULL), HX_ERR_ARG, NULL, "hx_allgatherv: the communicator is NULL");
    EXPECT(hx_reduce_scatter(in, out, NULL, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_reduce_scatter: counts is NULL");
    EXPECT(hx_allgatherv(in, 2, out, NULL, displs, HX_INT32, world), HX_ERR_ARG, world, "hx_allgatherv: counts is NULL");
    EXPECT(hx_reduce_scatter(NULL, out, counts, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_reduce_scatter: in is NULL");
    EXPECT(hx_reduce_scatter(in, NULL, counts, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "hx_reduce_scatter: out is NULL");
    EXPECT(hx_reduce_scatter(in, out, counts, HX_FLOAT32, HX_BAND, world), HX_ERR_ARG, world, "band is not defined for float32");
    EXPECT(hx_allgatherv(NULL, 2, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "hx_allgatherv: in is NULL");
    EXPECT(hx_allgatherv(in, 2, NULL, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "hx_allgatherv: out is NULL");
    EXPECT(hx_allgatherv(in, 3, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "count is 3, but counts[");
    EXPECT(hx_allgatherv(in, 2, out, counts, displs, (hx_dtype_t)99, world), HX_ERR_ARG, world, "hx_allgatherv: datatype 99");
    displs[size - 1] = SIZE_MAX - 1;
    EXPECT(hx_allgatherv(in, 2, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "is 18446744073709551614 and counts[");
    displs[size - 1] = SIZE_MAX / 8;
    EXPECT(hx_allgatherv(in, 2, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "more than an address space");
    if (size > 1) {
        displs[size - 1] = 1;
        EXPECT(hx_allgatherv(in, 2, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "they overlap");
        EXPECT(hx_allgatherv(HX_IN_PLACE, 0, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world,
               "is 1, but the block of rank 0 is at 0 to 1: they overlap");
        counts[size - 1] = 0; /* then it may stand anywhere */
        EXPECT(hx_allgatherv(in, rank == size - 1 ? 0 : 2, out, counts, displs, HX_INT32, world), HX_SUCCESS, world, "");
    }
    counts[0] = SIZE_MAX / 2;
    EXPECT(hx_reduce_scatter(in, out, counts, HX_INT32, HX_SUM, world), HX_ERR_ARG, world, "more than an address space");
    memset(counts, 0, sizeof(counts));
    EXPECT(hx_reduce_scatter(NULL, NULL, counts, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgatherv(NULL, 0, NULL, counts, NULL, HX_INT32, world), HX_SUCCESS, world, "");
}

/* Only the root looks at counts and displs; the others would wait for who has found a fault: each of these is wrong on all ranks. */
static void wrong_root_counts(void)
{
    int in[256] = {0}, out[256], size = hx_size(world), last = size - 1, is_root = hx_rank(world) == last;
    size_t counts[64], displs[64], none[64] = {0};
    hx_request_t *requests[2];

    for (int r = 0; r < size; r++) {
        counts[r] = 2;
        displs[r] = 3 * (size_t)r;
    }
    EXPECT(hx_gatherv(in, 2, is_root ? out : NULL, counts, displs, HX_INT32, last, world), HX_SUCCESS, world, "");
    EXPECT(hx_scatterv(is_root ? in : NULL, counts, displs, out, 2, HX_INT32, last, world), HX_SUCCESS, world, "");
    EXPECT(hx_gatherv(NULL, 0, NULL, is_root ? none : NULL, NULL, HX_INT32, last, world), HX_SUCCESS, world, "");
    EXPECT(hx_scatterv(NULL, is_root ? none : NULL, NULL, NULL, 0, HX_INT32, last, world), HX_SUCCESS, world, "");
    EXPECT(hx_gatherv(in, 2, out, counts, displs, HX_INT32, 0, NULL), HX_ERR_ARG, NULL, "hx_gatherv: the communicator is NULL");
    EXPECT(hx_scatterv(in, counts, displs, out, 2, HX_INT32, -1, NULL), HX_ERR_ARG, NULL, "hx_scatterv: the communicator is NULL");
    EXPECT(hx_gatherv(in, 2, out, counts, displs, HX_INT32, size, world), HX_ERR_ARG, world, "hx_gatherv: root");
    EXPECT(hx_scatterv(in, counts, displs, out, 2, HX_INT32, -1, world), HX_ERR_ARG, world, "hx_scatterv: root -1 is out of range");
    EXPECT(hx_gatherv(in, 2, out, counts, displs, (hx_dtype_t)99, last, world), HX_ERR_ARG, world, "hx_gatherv: datatype 99");
    EXPECT(hx_gatherv(NULL, 2, out, counts, displs, HX_INT32, last, world), HX_ERR_ARG, world, "hx_gatherv: in is NULL and count is 2");
    EXPECT(hx_scatterv(in, counts, displs, NULL, 2, HX_INT32, last, world), HX_ERR_ARG, world, "hx_scatterv: out is NULL and count is 2");
    if (is_root) {
        EXPECT(hx_gatherv(in, 2, out, NULL, displs, HX_INT32, last, world), HX_ERR_ARG, world, "hx_gatherv: counts is NULL");
        EXPECT(hx_scatterv(in, NULL, displs, out, 2, HX_INT32, last, world), HX_ERR_ARG, world, "hx_scatterv: counts is NULL");
        EXPECT(hx_gatherv(in, 2, NULL, counts, displs, HX_INT32, last, world), HX_ERR_ARG, world, "out is NULL, but counts are not all 0");
        EXPECT(hx_scatterv(NULL, counts, displs, out, 2, HX_INT32, last, world), HX_ERR_ARG, world, "in is NULL, but counts are not all 0");
        EXPECT(hx_gatherv(in, 2, HX_IN_PLACE, counts, displs, HX_INT32, last, world), HX_ERR_ARG, world, "only in may be");
        EXPECT(hx_scatterv(HX_IN_PLACE, counts, displs, out, 2, HX_INT32, last, world), HX_ERR_ARG, world, "only the root's out may be");
        displs[last] = (size_t)-1; /* as a negative one arrives */
        EXPECT(hx_gatherv(in, 2, out, counts, displs, HX_INT32, last, world), HX_ERR_ARG, world, "is 18446744073709551615 and counts[");
        EXPECT(hx_scatterv(in, counts, displs, out, 2, HX_INT32, last, world), HX_ERR_ARG, world, "more than an address space");
        displs[last] = 1;
        if (size > 1)
            EXPECT(hx_gatherv(in, 2, out, counts, displs, HX_INT32, last, world), HX_ERR_ARG, world, "they overlap");
        displs[last] = 3 * (size_t)last;
    } else {
        EXPECT(hx_gatherv(HX_IN_PLACE, 2, out, NULL, NULL, HX_INT32, last, world), HX_ERR_ARG, world, "only root");
        EXPECT(hx_scatterv(in, NULL, NULL, HX_IN_PLACE, 2, HX_INT32, last, world), HX_ERR_ARG, world, "only root");
    }
    /* more than an address space holds is seen by all */
    EXPECT(hx_gatherv(in, SIZE_MAX / 2, out, counts, displs, HX_INT32, last, world), HX_ERR_ARG, world, "more than an address space");
    counts[0] = SIZE_MAX / 2;
    EXPECT(hx_gatherv_init(in, SIZE_MAX / 2, out, counts, NULL, HX_INT32, last, world, &requests[0]), HX_SUCCESS, world, "");
    EXPECT(hx_scatterv_init(in, counts, NULL, out, 2, HX_INT32, last, world, &requests[1]), HX_SUCCESS, world, "");
    for (int i = 0; i < 4; i++) { /* and so at each start */
        hx_status_t status = hx_start(requests[i % 2]);
        if (status == HX_SUCCESS)
            status = hx_wait(requests[i % 2]);
        EXPECT(status, HX_ERR_ARG, world, "more than an address space");
    }
    EXPECT(hx_request_free(requests[0]), HX_SUCCESS, world, "");
    EXPECT(hx_request_free(requests[1]), HX_SUCCESS, world, "");
}

/* One rank thinks otherwise than the root. Told where the data arrive, which are as they were; nobody else notices, and it goes on. */
static void other_counts(void)
{
    int in[256] = {0}, out[256], size = hx_size(world), me = hx_rank(world), root = size / 2, odd = size - 1;
    size_t counts[64], displs[64];
    char wanted[128];
    int done = 0;

    for (int r = 0; r < size; r++) {
        counts[r] = 2;
        displs[r] = 3 * (size_t)r;
    }
    for (int said = 0; said < 120; said = said * 4 + 1) { /* fewer, or more */
        hx_request_t *request, *both[2];
        size_t mine = me == odd ? (size_t)said : 2;
        memset(out, 0x5a, sizeof(out));
        snprintf(wanted, sizeof(wanted), "counts[%d] is 2, but rank %d gives %d elements", odd, odd, said);
        EXPECT(hx_gatherv(in, mine, out, counts, displs, HX_INT32, root, world), me == root ? HX_ERR_ARG : HX_SUCCESS, world,
               me == root ? wanted : "");
        failures += out[0] != 0x5a5a5a5a || out[3 * odd] != 0x5a5a5a5a;
        snprintf(wanted, sizeof(wanted), "count is %d on rank %d, but counts[%d] is 2 on root %d", said, odd, odd, root);
        EXPECT(hx_scatterv(in, counts, said ? NULL : displs, out, mine, HX_INT32, root, world), me == odd ? HX_ERR_ARG : HX_SUCCESS, world,
               me == odd ? wanted : "");
        failures += (out[0] == 0x5a5a5a5a) != (me == odd);
        EXPECT(hx_igatherv(in, mine, out, counts, displs, HX_INT32, root, world, &both[0]), HX_SUCCESS, world, "");
        EXPECT(hx_ibarrier(world, &both[1]), HX_SUCCESS, world, "");
        EXPECT(hx_waitall(2, both), me == root ? HX_ERR_ARG : HX_SUCCESS, world, "");
        EXPECT(hx_scatterv_init(in, counts, NULL, out, mine, HX_INT32, root, world, &request), HX_SUCCESS, world, "");
        for (int i = 0; i < 2; i++) {
            EXPECT(hx_start(request), HX_SUCCESS, world, "");
            EXPECT(hx_wait(request), me == odd ? HX_ERR_ARG : HX_SUCCESS, world, me == odd ? wanted : "");
            EXPECT(hx_test(request, &done), HX_SUCCESS, world, ""); /* it is not under way: what it has ended with has been told */
            failures += !done;
        }
        EXPECT(hx_request_free(request), HX_SUCCESS, world, "");
    }
}

static void wrong_roots(void)
{
    int in[64] = {0}, out[64], size = hx_size(world);

    EXPECT(hx_bcast(in, 3, HX_INT32, -1, world), HX_ERR_ARG, world, "hx_bcast: root -1 is out of range");
    EXPECT(hx_bcast(in, 3, HX_INT32, size, world), HX_ERR_ARG, world, "is out of range: this communicator has ranks 0 to");
    EXPECT(hx_bcast(NULL, 3, HX_INT32, 0, world), HX_ERR_ARG, world, "buf is NULL and count is 3");
    EXPECT(hx_bcast(HX_IN_PLACE, 3, HX_INT32, 0, world), HX_ERR_ARG, world, "buf is HX_IN_PLACE");
    EXPECT(hx_reduce(in, out, 3, HX_INT32, HX_SUM, size, world), HX_ERR_ARG, world, "hx_reduce: root");
    EXPECT(hx_reduce(NULL, out, 3, HX_INT32, HX_SUM, 0, world), HX_ERR_ARG, world, "in is NULL and count is 3");
    EXPECT(hx_gather(in, out, 3, HX_INT32, size, world), HX_ERR_ARG, world, "hx_gather: root");
    EXPECT(hx_scatter(in, out, 3, HX_INT32, -1, world), HX_ERR_ARG, world, "hx_scatter: root -1 is out of range");
    if (hx_rank(world) == 0) {
        EXPECT(hx_scatter(HX_IN_PLACE, out, 3, HX_INT32, 0, world), HX_ERR_ARG, world, "only the root's out may be");
    } else {
        EXPECT(hx_scatter(in, HX_IN_PLACE, 3, HX_INT32, 0, world), HX_ERR_ARG, world, "only root 0 may pass");
        EXPECT(hx_gather(HX_IN_PLACE, out, 3, HX_INT32, 0, world), HX_ERR_ARG, world, "only root 0 may pass");
    }
}

/* Everybody sends everybody 2 elements, 3 apart; then one thing after the other is wrong. */
static void wrong_pair_counts(void)
{
    int in[256] = {0}, out[256], size = hx_size(world), rank = hx_rank(world), last = size - 1;
    size_t counts[64], displs[64], none[64] = {0}, wrong[64];

    for (int r = 0; r < size; r++) {
        counts[r] = 2;
        displs[r] = 3 * (size_t)r;
    }
    EXPECT(hx_alltoallv(in, counts, displs, out, counts, displs, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoallv(HX_IN_PLACE, NULL, NULL, out, counts, displs, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoallv(NULL, none, displs, NULL, none, displs, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoallv(HX_IN_PLACE, NULL, NULL, NULL, none, none, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoallv(in, counts, displs, out, counts, displs, HX_INT32, NULL), HX_ERR_ARG, NULL, "hx_alltoallv: the communicator is NULL");
    EXPECT(hx_alltoallv(in, NULL, displs, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "hx_alltoallv: scounts is NULL");
    EXPECT(hx_alltoallv(in, counts, NULL, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "sdispls is NULL");
    EXPECT(hx_alltoallv(in, counts, displs, out, NULL, displs, HX_INT32, world), HX_ERR_ARG, world, "rcounts is NULL");
    EXPECT(hx_alltoallv(HX_IN_PLACE, NULL, NULL, out, counts, NULL, HX_INT32, world), HX_ERR_ARG, world, "rdispls is NULL");
    EXPECT(hx_alltoallv(NULL, counts, displs, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "hx_alltoallv: in is NULL");
    EXPECT(hx_alltoallv(in, counts, displs, NULL, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "hx_alltoallv: out is NULL");
    EXPECT(hx_alltoallv(in, counts, displs, HX_IN_PLACE, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "only in may be");
    EXPECT(hx_alltoallv(in, counts, displs, out, counts, displs, (hx_dtype_t)99, world), HX_ERR_ARG, world, "datatype 99");
    memcpy(wrong, displs, sizeof(wrong));
    wrong[last] = SIZE_MAX - 1;
    EXPECT(hx_alltoallv(in, counts, wrong, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "sdispls[");
    EXPECT(hx_alltoallv(in, counts, displs, out, counts, wrong, HX_INT32, world), HX_ERR_ARG, world, "is 18446744073709551614 and rcounts[");
    EXPECT(hx_alltoallv(HX_IN_PLACE, NULL, NULL, out, counts, wrong, HX_INT32, world), HX_ERR_ARG, world, "displs[");
    wrong[last] = SIZE_MAX / 4;
    EXPECT(hx_alltoallv(in, counts, displs, out, counts, wrong, HX_INT32, world), HX_ERR_ARG, world, "more than an address space");
    if (size > 1) {
        wrong[last] = 1;
        EXPECT(hx_alltoallv(in, counts, displs, out, counts, wrong, HX_INT32, world), HX_ERR_ARG, world, "they overlap");
        EXPECT(hx_alltoallv(in, counts, wrong, out, counts, displs, HX_INT32, world), HX_SUCCESS, world, ""); /* only read */
    }
    memcpy(wrong, counts, sizeof(wrong));
    wrong[rank] = 1;
    EXPECT(hx_alltoallv(in, wrong, displs, out, counts, displs, HX_INT32, world), HX_ERR_ARG, world, "itself");
}

/* Calls like the wrong ones, so that these find their plan bound the next time. */
static void right_calls(void)
{
    int in[64] = {0}, out[64];

    EXPECT(hx_allreduce(in, out, 3, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgather(in, out, 1, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_reduce_scatter_block(in, out, 1, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_bcast(in, 3, HX_INT32, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_reduce(in, out, 3, HX_INT32, HX_SUM, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoall(in, out, 1, HX_INT32, world), HX_SUCCESS, world, "");
    EXPECT(hx_gather(in, out, 3, HX_INT32, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_scatter(in, out, 3, HX_INT32, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_scan(in, out, 3, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_exscan(in, hx_rank(world) ? out : NULL, 3, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
}

static void plan_info(void)
{
    hx_plan_info_t info, longer;
    int alone = hx_size(world) == 1;

    EXPECT(hx_plan_info(NULL, "allreduce", 1, HX_INT32, HX_SUM, 0, &info), HX_ERR_ARG, NULL, "communicator is NULL");
    EXPECT(hx_plan_info(world, "allreduce", 1, HX_INT32, HX_SUM, 0, NULL), HX_ERR_ARG, world, "info is NULL");
    EXPECT(hx_plan_info(world, NULL, 1, HX_INT32, HX_SUM, 0, &info), HX_ERR_ARG, world, "collective is NULL");
    EXPECT(hx_plan_info(world, "allred", 1, HX_INT32, HX_SUM, 0, &info), HX_ERR_ARG, world, "unknown collective \"allred\"");
    EXPECT(hx_plan_info(world, "allred", 1, HX_INT32, HX_SUM, 0, &info), HX_ERR_ARG, world, "allgather bcast");
    EXPECT(hx_plan_info(world, "allreduce", 1, HX_FLOAT32, HX_BOR, 0, &info), HX_ERR_ARG, world, "bor is not defined");
    EXPECT(hx_plan_info(world, "bcast", 1, HX_INT32, HX_SUM, 99, &info), HX_ERR_ARG, world, "root 99 is out of range");
    EXPECT(hx_plan_info(world, "allgather", 1, HX_FLOAT32, HX_BOR, 99, &info), HX_SUCCESS, world, ""); /* has neither */
    EXPECT(hx_plan_info(world, "allreduce", 0, HX_INT32, HX_SUM, 0, &info), HX_SUCCESS, world, "");
    failures += info.plan[0] || info.rounds || info.network_bytes || info.shared_bytes;
    EXPECT(hx_plan_info(world, "allreduce", 1000, HX_INT32, HX_SUM, 0, &info), HX_SUCCESS, world, "");
    failures += alone != (info.plan[0] == 0) || alone != (info.rounds == 0) ||
                alone != (info.network_bytes + info.shared_bytes == 0) || (info.network_bytes && !info.network[0]);
    /* calls with counts of their own make one plan, whatever these are */
    EXPECT(hx_plan_info(world, "alltoallv", 1, HX_INT32, HX_SUM, 0, &info), HX_SUCCESS, world, "");
    EXPECT(hx_plan_info(world, "alltoallv", 1 << 20, HX_INT32, HX_SUM, 0, &longer), HX_SUCCESS, world, "");
    failures += strcmp(info.plan, longer.plan) != 0 || info.rounds != longer.rounds ||
                (!alone && info.network_bytes + info.shared_bytes >= longer.network_bytes + longer.shared_bytes);
}

/* The only rank's blocks stay where they are, more than any memory holds: nothing is put aside. */
static void alone_in_place(void)
{
    const size_t many = (size_t)1 << 45, counts[1] = {many}, displs[1] = {0};
    int buf[4] = {1, 2, 3, 4};
    hx_request_t *request;

    if (hx_size(world) > 1)
        return;
    EXPECT(hx_allgather(HX_IN_PLACE, buf, many, HX_BYTE, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgatherv(HX_IN_PLACE, 0, buf, counts, displs, HX_BYTE, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoall(HX_IN_PLACE, buf, many, HX_BYTE, world), HX_SUCCESS, world, "");
    EXPECT(hx_scatter(buf, HX_IN_PLACE, many, HX_BYTE, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_scatterv(buf, counts, NULL, HX_IN_PLACE, 0, HX_BYTE, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_iallgather(HX_IN_PLACE, buf, many, HX_BYTE, world, &request), HX_SUCCESS, world, "");
    EXPECT(hx_wait(request), HX_SUCCESS, world, "");
    EXPECT(hx_iscatter(buf, HX_IN_PLACE, many, HX_BYTE, 0, world, &request), HX_SUCCESS, world, "");
    EXPECT(hx_wait(request), HX_SUCCESS, world, "");
    EXPECT(hx_reduce_scatter_block(HX_IN_PLACE, buf, 4, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    failures += buf[0] != 1 || buf[3] != 4;
}

static void wrong_communicators(void)
{
    int size = hx_size(world), me = hx_rank(world), twice[2] = {me, me}, beyond = size, below, other = (me + 1) % size;
    hx_comm_t *comm = NULL;

    EXPECT(hx_comm_split(NULL, 0, 0, &comm), HX_ERR_ARG, NULL, "hx_comm_split: the communicator is NULL");
    EXPECT(hx_comm_split(world, 0, 0, NULL), HX_ERR_ARG, world, "hx_comm_split: out is NULL");
    EXPECT(hx_comm_dup(world, NULL), HX_ERR_ARG, world, "hx_comm_dup: out is NULL");
    EXPECT(hx_comm_group(world, &me, 1, NULL), HX_ERR_ARG, world, "hx_comm_group: out is NULL");
    EXPECT(hx_alloc(world, 1, NULL), HX_ERR_ARG, world, "hx_alloc: memory is NULL");
    EXPECT(hx_comm_split(world, -5, 0, &comm), HX_ERR_ARG, world, "color is -5; choose 0 or more, or HX_UNDEFINED");
    EXPECT(hx_comm_dup(NULL, &comm), HX_ERR_ARG, NULL, "hx_comm_dup: the communicator is NULL");
    EXPECT(hx_comm_group(world, NULL, 1, &comm), HX_ERR_ARG, world, "ranks is NULL");
    EXPECT(hx_comm_group(world, &me, 0, &comm), HX_ERR_ARG, world, "n is 0; choose 1 to");
    EXPECT(hx_comm_group(world, &beyond, 1, &comm), HX_ERR_ARG, world, "hx_comm_group: ranks[0] is");
    if (size > 1) {
        EXPECT(hx_comm_group(world, twice, 2, &comm), HX_ERR_ARG, world, "is named twice");
        EXPECT(hx_comm_group(world, &other, 1, &comm), HX_ERR_ARG, world, "is not among the 1 ranks");
    }
    below = -1;
    EXPECT(hx_comm_group(world, &below, 1, &comm), HX_ERR_ARG, world, "hx_comm_group: ranks[0] is -1; choose 0 to");
    EXPECT(hx_comm_group(world, &me, size + 1, &comm), HX_ERR_ARG, world, "hx_comm_group: n is");
    EXPECT(hx_comm_split(world, -1, 0, &comm), HX_ERR_ARG, world, "color is -1");
    EXPECT(hx_comm_free(NULL), HX_ERR_ARG, NULL, "hx_comm_free: the communicator is NULL");
    EXPECT(hx_comm_free(world), HX_ERR_STATE, world, "freed by hx_finalize");
    failures += comm != NULL;
}

static void wrong_requests(void)
{
    hx_request_t *request = (hx_request_t *)&failures, *none = NULL;
    const size_t ones[4] = {1, 1, 1, 1};
    int in = 1, out = 0, done, index;
    hx_comm_t *comm;

    EXPECT(hx_start(NULL), HX_ERR_ARG, NULL, "hx_start: the request is NULL");
    EXPECT(hx_test(NULL, &done), HX_ERR_ARG, NULL, "hx_test: the request is NULL");
    EXPECT(hx_wait(NULL), HX_ERR_ARG, NULL, "hx_wait: the request is NULL");
    EXPECT(hx_request_free(NULL), HX_ERR_ARG, NULL, "hx_request_free: the request is NULL");
    EXPECT(hx_waitall(-1, &request), HX_ERR_ARG, NULL, "hx_waitall: -1 requests; choose 0 or more");
    EXPECT(hx_waitall(1, NULL), HX_ERR_ARG, NULL, "the list is NULL");
    EXPECT(hx_waitall(1, &none), HX_SUCCESS, NULL, "");
    EXPECT(hx_waitany(-1, &request, &index), HX_ERR_ARG, NULL, "hx_waitany: -1 requests; choose 0 or more");
    EXPECT(hx_waitany(1, NULL, &index), HX_ERR_ARG, NULL, "hx_waitany: 1 requests, but the list is NULL");
    EXPECT(hx_waitany(1, &none, NULL), HX_ERR_ARG, NULL, "hx_waitany: index is NULL");
    EXPECT(hx_waitany(0, NULL, &index), HX_SUCCESS, NULL, "");
    failures += index != HX_UNDEFINED;
    EXPECT(hx_testall(-1, &request, &done), HX_ERR_ARG, NULL, "hx_testall: -1 requests; choose 0 or more");
    EXPECT(hx_testall(1, NULL, &done), HX_ERR_ARG, NULL, "hx_testall: 1 requests, but the list is NULL");
    EXPECT(hx_testall(1, &none, NULL), HX_ERR_ARG, NULL, "hx_testall: done is NULL");
    EXPECT(hx_testall(0, NULL, &done), HX_SUCCESS, NULL, "");
    failures += !done;
    EXPECT(hx_comm_split_node(NULL, &comm), HX_ERR_ARG, NULL, "hx_comm_split_node: the communicator is NULL");
    EXPECT(hx_comm_split_node(world, NULL), HX_ERR_ARG, world, "hx_comm_split_node: out is NULL");
    EXPECT(hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, world, NULL), HX_ERR_ARG, world, "hx_iallreduce: request is NULL");
    EXPECT(hx_iallreduce(&in, NULL, 1, HX_INT32, HX_SUM, world, &request), HX_ERR_ARG, world, "hx_iallreduce: out is NULL");
    failures += request != NULL;
    request = (hx_request_t *)&failures;
    EXPECT(hx_ialltoallv(&in, NULL, NULL, &out, NULL, NULL, HX_INT32, world, &request), HX_ERR_ARG, world, "hx_ialltoallv: scounts is NULL");
    failures += request != NULL;
    request = (hx_request_t *)&failures;
    EXPECT(hx_igatherv(NULL, 1, &out, ones, NULL, HX_INT32, 0, world, &request), HX_ERR_ARG, world, "hx_igatherv: in is NULL");
    failures += request != NULL;
    EXPECT(hx_bcast_init(&in, 1, HX_INT32, -1, world, &request), HX_ERR_ARG, world, "hx_bcast_init: root -1");
    EXPECT(hx_comm_dup(world, &comm), HX_SUCCESS, world, "");
    EXPECT(hx_allreduce_init(&in, &out, 1, HX_INT32, HX_SUM, comm, &request), HX_SUCCESS, comm, "");
    EXPECT(hx_wait(request), HX_SUCCESS, comm, ""); /* not started */
    hx_request_t *list[2] = {NULL, request};
    for (int i = 0; i < 4; i++) { /* a persistent one stays in the list; when it has ended it is skipped */
        done = index = 0;
        EXPECT(hx_waitany(2, list, &index), HX_SUCCESS, comm, "");
        EXPECT(hx_testall(2, list, &done), HX_SUCCESS, comm, "");
        failures += index != HX_UNDEFINED || !done || list[1] != request;
        EXPECT(hx_start(request), HX_SUCCESS, comm, "");
        if (i % 2) {
            EXPECT(hx_waitany(2, list, &index), HX_SUCCESS, comm, "");
            failures += index != 1;
        }
        for (done = i % 2; !done;)
            EXPECT(hx_testall(2, list, &done), HX_SUCCESS, comm, "");
    }
    EXPECT(hx_start(request), HX_SUCCESS, comm, "");
    EXPECT(hx_start(request), HX_ERR_STATE, comm, "hx_allreduce_init is active");
    EXPECT(hx_test(request, NULL), HX_ERR_ARG, comm, "done is NULL");
    EXPECT(hx_request_free(request), HX_ERR_STATE, comm, "hx_request_free: the request of hx_allreduce_init is active: call hx_wait first");
    EXPECT(hx_wait(request), HX_SUCCESS, comm, "");
    failures += out != hx_size(comm);
    EXPECT(hx_request_free(request), HX_SUCCESS, comm, "");
    EXPECT(hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, comm, &request), HX_SUCCESS, comm, "");
    EXPECT(hx_start(request), HX_ERR_STATE, comm, "is not persistent");
    EXPECT(hx_wait(request), HX_SUCCESS, comm, "");
    EXPECT(hx_comm_free(comm), HX_SUCCESS, comm, "");
}

static void first_of_two(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    (void)right;
    (void)dtype;
    (void)ctx;
    memcpy(result, left, count * sizeof(int));
}

static void wrong_user(void)
{
    int in[64] = {0}, out[64], other = 1 << 20;
    hx_op_t op, freed_op;
    hx_dtype_t type, freed_type;

    EXPECT(hx_op_create(NULL, 0, NULL, &op), HX_ERR_ARG, NULL, "hx_op_create: fn is NULL");
    EXPECT(hx_op_create(first_of_two, 0, NULL, NULL), HX_ERR_ARG, NULL, "hx_op_create: op is NULL");
    EXPECT(hx_dtype_contiguous(0, &type), HX_ERR_ARG, NULL, "an element of 0 bytes; choose 1 to 67108864");
    EXPECT(hx_dtype_contiguous(((size_t)64 << 20) + 1, &type), HX_ERR_ARG, NULL, "choose 1 to 67108864");
    EXPECT(hx_dtype_contiguous(4, NULL), HX_ERR_ARG, NULL, "hx_dtype_contiguous: dtype is NULL");
    EXPECT(hx_op_free(HX_SUM), HX_ERR_ARG, NULL, "hx_op_free: operation sum (0) is built in");
    EXPECT(hx_dtype_free(HX_FLOAT32), HX_ERR_ARG, NULL, "hx_dtype_free: datatype float32 (10) is built in");
    EXPECT(hx_op_free((hx_op_t)99), HX_ERR_ARG, NULL, "hx_op_free: operation 99 does not exist");
    EXPECT(hx_dtype_free((hx_dtype_t)-1), HX_ERR_ARG, NULL, "does not exist");
    EXPECT(hx_op_create(first_of_two, 0, NULL, &op), HX_SUCCESS, NULL, "");
    EXPECT(hx_dtype_contiguous(4, &type), HX_SUCCESS, NULL, "");
    EXPECT(hx_op_free((hx_op_t)((int)op + other)), HX_ERR_ARG, NULL, "does not exist");
    EXPECT(hx_op_free((hx_op_t)type), HX_ERR_ARG, NULL, "is a handle of the other kind");
    EXPECT(hx_dtype_free((hx_dtype_t)op), HX_ERR_ARG, NULL, "is a handle of the other kind");
    EXPECT(hx_allreduce(in, out, 3, type, HX_SUM, world), HX_ERR_ARG, world, "operation sum is not defined for datatype");
    EXPECT(hx_allreduce(in, out, 3, type, HX_SUM, world), HX_ERR_ARG, world, "of hx_dtype_contiguous (4 bytes); create an operation with hx_op_create");
    EXPECT(hx_allreduce(in, out, 3, (hx_dtype_t)op, op, world), HX_ERR_ARG, world, "hx_allreduce: datatype");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, (hx_op_t)type, world), HX_ERR_ARG, world, "hx_allreduce: operation");
    EXPECT(hx_allreduce(in, out, SIZE_MAX / 2, type, op, world), HX_ERR_ARG, world, "of 4-byte elements is more than an address space");
    EXPECT(hx_allreduce(in, out, 3, type, op, world), HX_SUCCESS, world, "");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, op, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgather(in, out, 1, type, world), HX_SUCCESS, world, "");
    EXPECT(hx_bcast(in, 3, type, 0, world), HX_SUCCESS, world, "");
    EXPECT(hx_op_free(freed_op = op), HX_SUCCESS, NULL, "");
    EXPECT(hx_dtype_free(freed_type = type), HX_SUCCESS, NULL, "");
    EXPECT(hx_op_free(freed_op), HX_ERR_ARG, NULL, "has been freed already");
    EXPECT(hx_dtype_free(freed_type), HX_ERR_ARG, NULL, "has been freed already");
    EXPECT(hx_op_create(first_of_two, 1, NULL, &op), HX_SUCCESS, NULL, "");
    EXPECT(hx_allreduce(in, out, 3, freed_type, op, world), HX_ERR_ARG, world, "has been freed; choose int8 (0) to");
    EXPECT(hx_allgather(in, out, 1, freed_type, world), HX_ERR_ARG, world, "or one of hx_dtype_contiguous");
    EXPECT(hx_bcast(in, 3, freed_type, 0, world), HX_ERR_ARG, world, "has been freed");
    EXPECT(hx_allreduce(in, out, 3, HX_INT32, freed_op, world), HX_ERR_ARG, world, "has been freed; choose sum (0) to");
    EXPECT(hx_reduce(in, out, 3, HX_INT32, freed_op, 0, world), HX_ERR_ARG, world, "or one of hx_op_create");
    EXPECT(hx_op_free(op), HX_SUCCESS, NULL, "");
}

/* More than there is room for; and all are given back. */
static void many_user(void)
{
    static hx_dtype_t types[5000];
    int n = 0;

    while (n < 5000 && hx_dtype_contiguous((size_t)n % 99 + 1, &types[n]) == HX_SUCCESS)
        n++;
    failures += n < 4000 || n == 5000;
    EXPECT(hx_dtype_contiguous(8, &types[n]), HX_ERR_NOMEM, NULL, "4096 operations and datatypes are in use");
    while (n > 0)
        EXPECT(hx_dtype_free(types[--n]), HX_SUCCESS, NULL, "");
    EXPECT(hx_dtype_contiguous(8, &types[0]), HX_SUCCESS, NULL, "");
    EXPECT(hx_dtype_free(types[0]), HX_SUCCESS, NULL, "");
}

#ifdef HX_DEBUG
/* A debug build knows what has been freed, whichever function is called. */
static void freed_handles(void)
{
    const char *gone = "this communicator of";
    hx_request_t *request, *old, *list[2];
    int in = 1, out = 0, done, size = hx_size(world);
    size_t counts[64] = {0};
    hx_comm_t *comm, *other;
    hx_plan_info_t info;

    EXPECT(hx_comm_dup(world, &comm), HX_SUCCESS, world, "");
    EXPECT(hx_comm_free(comm), HX_SUCCESS, comm, "");
    failures += hx_rank(comm) != -1 || hx_size(comm) != -1;
    EXPECT(hx_barrier(comm), HX_ERR_STATE, NULL, "hx_barrier: this communicator of");
    EXPECT(hx_barrier(comm), HX_ERR_STATE, comm, "ranks has been freed");
    EXPECT(hx_ibarrier(comm, &request), HX_ERR_STATE, comm, gone);
    EXPECT(hx_barrier_init(comm, &request), HX_ERR_STATE, comm, gone);
    EXPECT(hx_allreduce(&in, &out, 1, HX_INT32, HX_SUM, comm), HX_ERR_STATE, comm, "hx_allreduce: this communicator of");
    EXPECT(hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, comm, &request), HX_ERR_STATE, comm, gone);
    EXPECT(hx_allgather(&in, &out, 1, HX_INT32, comm), HX_ERR_STATE, comm, gone);
    EXPECT(hx_alltoall(&in, &out, 1, HX_INT32, comm), HX_ERR_STATE, comm, gone);
    EXPECT(hx_bcast(&in, 1, HX_INT32, 0, comm), HX_ERR_STATE, comm, gone);
    EXPECT(hx_allgatherv(&in, 0, &out, counts, NULL, HX_INT32, comm), HX_ERR_STATE, comm, gone);
    EXPECT(hx_gatherv(&in, 0, &out, counts, NULL, HX_INT32, 0, comm), HX_ERR_STATE, comm, gone);
    EXPECT(hx_scatterv_init(&in, counts, NULL, &out, 0, HX_INT32, 0, comm, &request), HX_ERR_STATE, comm, gone);
    EXPECT(hx_plan_info(comm, "allreduce", 1, HX_INT32, HX_SUM, 0, &info), HX_ERR_STATE, comm, gone);
    EXPECT(hx_comm_dup(comm, &other), HX_ERR_STATE, comm, "hx_comm_dup: this communicator of");
    EXPECT(hx_comm_split(comm, 0, 0, &other), HX_ERR_STATE, comm, gone);
    EXPECT(hx_comm_group(comm, &in, 1, &other), HX_ERR_STATE, comm, gone);
    EXPECT(hx_comm_free(comm), HX_ERR_STATE, comm, "hx_comm_free: this communicator of");

    EXPECT(hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, world, &old), HX_SUCCESS, world, "");
    EXPECT(hx_wait(old), HX_SUCCESS, world, "");
    EXPECT(hx_wait(old), HX_ERR_STATE, NULL, "hx_wait: this request of hx_iallreduce has been released: its call is complete");
    EXPECT(hx_test(old, &done), HX_ERR_STATE, NULL, "hx_test: this request of hx_iallreduce");
    EXPECT(hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, world, &request), HX_SUCCESS, world, "");
    list[0] = old;
    list[1] = request;
    EXPECT(hx_waitany(2, list, &done), HX_ERR_STATE, NULL, "hx_waitany: this request of hx_iallreduce");
    EXPECT(hx_testall(2, list, &done), HX_ERR_STATE, NULL, "hx_testall: this request of hx_iallreduce");
    failures += list[1] != request;
    EXPECT(hx_waitall(2, list), HX_ERR_STATE, NULL, "hx_waitall: this request of hx_iallreduce");
    failures += list[1] || out != size; /* the other one is complete all the same */
    EXPECT(hx_allreduce_init(&in, &out, 1, HX_INT32, HX_SUM, world, &old), HX_SUCCESS, world, "");
    EXPECT(hx_request_free(old), HX_SUCCESS, world, "");
    EXPECT(hx_start(old), HX_ERR_STATE, NULL, "hx_start: this request of hx_allreduce_init has been released by hx_request_free");
    EXPECT(hx_request_free(old), HX_ERR_STATE, NULL, "hx_request_free: this request of");
}

static void freed_world(void)
{
    EXPECT(hx_barrier(world), HX_ERR_STATE, NULL, "ranks has been freed");
    failures += hx_rank(world) != -1;
}
#else
static void freed_handles(void) {}
static void freed_world(void) {}
#endif

/* Of the world communicator not even the address may be followed any more. */
static void after_the_end(void)
{
    int in[4] = {0}, out[4];
    size_t counts[4] = {1, 1, 1, 1};
    hx_request_t *request;
    hx_comm_t *none;

    failures += hx_rank(world) != -1 || hx_size(world) != -1;
    EXPECT(hx_allreduce(in, out, 1, HX_INT32, HX_SUM, world), HX_ERR_STATE, world, "hx_allreduce: ");
    EXPECT(hx_reduce_scatter_block(HX_IN_PLACE, out, 1, HX_INT32, HX_SUM, world), HX_ERR_STATE, world, "hx_reduce_scatter_block: ");
    EXPECT(hx_reduce_scatter(in, out, counts, HX_INT32, HX_SUM, world), HX_ERR_STATE, world, "hx_reduce_scatter: ");
    EXPECT(hx_allgather(HX_IN_PLACE, out, 1, HX_INT32, world), HX_ERR_STATE, world, "hx_allgather: ");
    EXPECT(hx_allgatherv(in, 1, out, counts, NULL, HX_INT32, world), HX_ERR_STATE, world, "hx_allgatherv: ");
    EXPECT(hx_allgatherv(HX_IN_PLACE, 1, out, counts, counts, HX_INT32, world), HX_ERR_STATE, world, "hx_allgatherv: ");
    EXPECT(hx_bcast(in, 1, HX_INT32, 0, world), HX_ERR_STATE, world, "hx_bcast: ");
    EXPECT(hx_reduce(in, out, 1, HX_INT32, HX_SUM, 0, world), HX_ERR_STATE, world, "hx_reduce: ");
    EXPECT(hx_gather(HX_IN_PLACE, out, 1, HX_INT32, 0, world), HX_ERR_STATE, world, "hx_gather: ");
    EXPECT(hx_gatherv(in, 1, out, counts, NULL, HX_INT32, 0, world), HX_ERR_STATE, world, "hx_gatherv: ");
    EXPECT(hx_scatter(in, out, 1, HX_INT32, 0, world), HX_ERR_STATE, world, "hx_scatter: ");
    EXPECT(hx_scatterv(in, counts, NULL, out, 1, HX_INT32, 0, world), HX_ERR_STATE, world, "hx_scatterv: ");
    EXPECT(hx_alltoall(HX_IN_PLACE, out, 1, HX_INT32, world), HX_ERR_STATE, world, "hx_alltoall: ");
    EXPECT(hx_alltoallv(HX_IN_PLACE, NULL, NULL, out, counts, counts, HX_INT32, world), HX_ERR_STATE, world, "hx_alltoallv: ");
    EXPECT(hx_scan(in, out, 1, HX_INT32, HX_SUM, world), HX_ERR_STATE, world, "hx_scan: ");
    EXPECT(hx_exscan(in, out, 1, HX_INT32, HX_SUM, world), HX_ERR_STATE, world, "hx_exscan: ");
    EXPECT(hx_igatherv(in, 1, out, counts, NULL, HX_INT32, 0, world, &request), HX_ERR_STATE, world, "hx_igatherv: ");
    EXPECT(hx_allreduce_init(in, out, 1, HX_INT32, HX_SUM, world, &request), HX_ERR_STATE, world, "hx_allreduce_init: ");
    EXPECT(hx_comm_dup(world, &none), HX_ERR_STATE, world, "hx_comm_dup: ");
    EXPECT(hx_comm_free(world), HX_ERR_STATE, world, "hx_comm_free: ");
}

/* Nothing to do is never an error, whatever the buffers. */
static void zero_counts(void)
{
    EXPECT(hx_allreduce(NULL, NULL, 0, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_reduce_scatter_block(NULL, NULL, 0, HX_FLOAT64, HX_MAX, world), HX_SUCCESS, world, "");
    EXPECT(hx_allgather(NULL, NULL, 0, HX_BYTE, world), HX_SUCCESS, world, "");
    EXPECT(hx_scan(NULL, NULL, 0, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_exscan(NULL, NULL, 0, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    EXPECT(hx_alltoall(NULL, NULL, 0, HX_BYTE, world), HX_SUCCESS, world, "");
}

static void still_works(void)
{
    int one = 1, total = 0;

    EXPECT(hx_allreduce(&one, &total, 1, HX_INT32, HX_SUM, world), HX_SUCCESS, world, "");
    if (total != hx_size(world)) {
        fprintf(stderr, "badcalls: rank %d: a sum of ones is %d\n", hx_rank(world), total);
        failures++;
    }
}

/* A child has the parent's handles; what it does with them must not disturb the parent's calls. */
static void forked(void)
{
    int one = 1, total = 0, done, status = 0, before = failures;
    hx_request_t *request = NULL;
    hx_comm_t *other = NULL;
    pid_t child;

    EXPECT(hx_iallreduce(&one, &total, 1, HX_INT32, HX_SUM, world, &request), HX_SUCCESS, NULL, "");
    child = fork();
    if (child == 0) {
        EXPECT(hx_allreduce(&one, &total, 1, HX_INT32, HX_SUM, world), HX_ERR_STATE, NULL, "made by fork");
        EXPECT(hx_barrier(world), HX_ERR_STATE, NULL, "made by fork");
        EXPECT(hx_comm_dup(world, &other), HX_ERR_STATE, NULL, "made by fork");
        EXPECT(hx_test(request, &done), HX_ERR_STATE, NULL, "made by fork");
        EXPECT(hx_wait(request), HX_ERR_STATE, NULL, "made by fork");
        EXPECT(hx_finalize(), HX_ERR_STATE, NULL, "made by fork");
        EXPECT(hx_init(&other), HX_ERR_STATE, NULL, "made by fork");
        _exit(failures > before);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "badcalls: rank %d: a child ended with status %d\n", hx_rank(world), status);
        failures++;
    }
    EXPECT(hx_wait(request), HX_SUCCESS, NULL, "");
}

static void reentrant(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    hx_request_t *request = *(hx_request_t **)ctx, *other = NULL;
    hx_comm_t *comm = NULL;
    int done = 0;

    for (size_t i = 0; i < count; i++)
        ((int *)result)[i] = ((const int *)left)[i] + ((const int *)right)[i];
    (void)dtype;
    EXPECT(hx_barrier(world), HX_ERR_STATE, NULL, "an operation of the program");
    EXPECT(hx_allreduce(HX_IN_PLACE, &done, 1, HX_INT32, HX_SUM, world), HX_ERR_STATE, NULL, "an operation of the program");
    EXPECT(hx_ibarrier(world, &other), HX_ERR_STATE, NULL, "an operation of the program");
    EXPECT(hx_test(request, &done), HX_ERR_STATE, NULL, "an operation of the program");
    EXPECT(hx_wait(request), HX_ERR_STATE, NULL, "an operation of the program");
    EXPECT(hx_comm_dup(world, &comm), HX_ERR_STATE, NULL, "an operation of the program");
    EXPECT(hx_finalize(), HX_ERR_STATE, NULL, "an operation of the program");
}

static void calls_from_operations(void)
{
    hx_request_t *request = NULL;
    int one = 1, sum = 0, size = hx_size(world);
    hx_op_t op;

    EXPECT(hx_op_create(reentrant, 1, &request, &op), HX_SUCCESS, NULL, "");
    EXPECT(hx_allreduce_init(&one, &sum, 1, HX_INT32, op, world, &request), HX_SUCCESS, world, "");
    for (int i = 0; i < 2; i++) {
        EXPECT(i ? hx_start(request) : hx_allreduce(&one, &sum, 1, HX_INT32, op, world), HX_SUCCESS, world, "");
        EXPECT(hx_wait(request), HX_SUCCESS, world, "");
        if (sum != size) {
            fprintf(stderr, "badcalls: rank %d: the sum by an operation that calls Hierax is %d, not %d\n", hx_rank(world), sum, size);
            failures++;
        }
    }
    EXPECT(hx_request_free(request), HX_SUCCESS, world, "");
    EXPECT(hx_op_free(op), HX_SUCCESS, NULL, "");
}

int main(int argc, char **argv)
{
    hx_comm_t *again = NULL;

    if (argc > 1 && !strcmp(argv[1], "overlaps")) {
        EXPECT(hx_init(&world), HX_SUCCESS, NULL, "");
        overlaps();
        EXPECT(hx_finalize(), HX_SUCCESS, NULL, "");
        return failures > 0;
    }

    before_init();
    EXPECT(hx_init(&world), HX_SUCCESS, NULL, "");
    if (!world)
        return 1;
    EXPECT(hx_init(&again), HX_ERR_STATE, NULL, "started already");
    wrong_arguments();
    wrong_scans();
    wrong_roots();
    wrong_communicators();
    wrong_requests();
    wrong_pair_counts();
    wrong_root_counts();
    other_counts();
    wrong_user();
    many_user();
    zero_counts();
    right_calls();
    alone_in_place();
    wrong_arguments();
    wrong_scans();
    wrong_roots();
    plan_info();
    wrong_blocks();
    freed_handles();
    calls_from_operations();
    forked();
    still_works();
    EXPECT(hx_finalize(), HX_SUCCESS, NULL, "");
    freed_world();
    after_the_end();
    EXPECT(hx_finalize(), HX_ERR_STATE, NULL, "has been finalized");
    EXPECT(hx_plan_info(world, NULL, 1, HX_INT32, HX_SUM, 0, NULL), HX_ERR_STATE, NULL, "hx_plan_info");
    EXPECT(hx_init(&world), HX_SUCCESS, NULL, "");
    EXPECT(hx_init(&again), HX_ERR_STATE, NULL, "is started already");
    still_works();
    EXPECT(hx_finalize(), HX_SUCCESS, NULL, "");
    return failures > 0;
}
