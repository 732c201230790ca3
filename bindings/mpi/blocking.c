/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives. Hierax serves a call, or passes it on to MPI unchanged. This file has the blocking functions. large.c includes it for
 * those whose names end in _c, starts.c and starts_large.c for non-blocking ones, inits.c and inits_large.c for persistent ones. */
#include "forms.h"
#include "graphs.h"
#include "hxmpi.h"
#include "started.h"
#include <stdint.h>
#include <stdlib.h>

static int declined(const struct call *call, int cause)
{
    hxmpi_count(call->what, (enum hxmpi_cause)cause);
    return 0;
}

/* Returns 0 if Hierax does not serve the communicator. */
static inline int begin(struct call *call)
{
    call->of = hxmpi_comm_of(call->comm, FORM != HXMPI_STARTS);
    if (call->of && call->of->comm)
        return PREPARE(call);
    return declined(call, call->of ? call->of->cause : HXMPI_CAUSE_OFF);
}

static inline int served(struct call *call, hx_status_t status)
{
    hxmpi_count(call->what, HXMPI_CAUSE_SERVED);
    if (FORM == HXMPI_BLOCKS)
        hxmpi_stats_blocked(call->since);
    if (call->fold)
        hxmpi_fold_release(call->fold);
    call->rc = hxmpi_result(call->comm, status, call->of);
    return 1;
}

#ifdef HXMPI_STARTED
/* The call has begun, or was refused. */
static int started(struct call *call, hx_status_t status, MPI_Request *request)
{
    if (status != HX_SUCCESS) {
        hxmpi_started_drop(call->started);
        call->started = NULL;
        return served(call, status);
    }
    hxmpi_count(call->what, HXMPI_CAUSE_SERVED);
    *request = call->started->mpi;
    hxmpi_started_begin(call->started, HX_SUCCESS);
    call->rc = MPI_SUCCESS;
    return 1;
}
#endif

#ifdef HXMPI_PREPARED
/* The call is prepared, or was refused. */
static int prepared(struct call *call, const struct hxmpi_data *data, hx_status_t status, MPI_Request *request)
{
    if (status != HX_SUCCESS) {
        hxmpi_prepared_drop(call);
        return served(call, status);
    }
    hxmpi_count(call->what, HXMPI_CAUSE_SERVED);
    hxmpi_prepared_keep(call, data);
    *request = call->started->mpi;
    call->rc = MPI_SUCCESS;
    return 1;
}
#endif

/* This rank cannot take part, and the others must not wait for it. */
static int no_memory(struct call *call)
{
    hx_comm_revoke(call->graph ? GRAPH_COMM(call) : HX_COMM(call));
#ifdef HXMPI_PREPARED
    hxmpi_prepared_drop(call);
#endif
    return served(call, HX_ERR_NOMEM);
}

static inline int is_root(const struct call *call, int root)
{
    return call->of->rank == root;
}

/* Arguments that MPI refuses by itself, on this rank alone. */
static inline int root_wrong(const struct call *call, int root)
{
    return root < 0 || root >= call->of->size;
}

static inline int data_wrong(long long count, MPI_Datatype type)
{
    return count < 0 || type == MPI_DATATYPE_NULL;
}

static inline int reduction(struct call *call, long long count, MPI_Datatype type, MPI_Op op, hx_dtype_t *dtype, hx_op_t *hx_op)
{
    if (count < 0)
        return declined(call, HXMPI_CAUSE_ARGUMENT);
    switch (hxmpi_reduction(type, op, dtype, hx_op)) {
    case HXMPI_NAMED: return 1;
    case HXMPI_FOLDED: call->fold = hxmpi_fold_take(op, type, dtype, hx_op); break;
    case HXMPI_NOT: break;
    }
    return call->fold || declined(call, HXMPI_CAUSE_TYPE);
}

/* ---- nothing, and reductions */

#ifndef HXMPI_LARGE
int FUNCTION(Barrier)(MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Barrier);

    if (begin(&call) && SERVED(&call, NULL, HX(barrier)(HX_COMM(&call) HX_REQUEST)))
        return call.rc;
    return PASS_ON(Barrier, comm);
}
#endif

int FUNCTION(Allreduce)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Allreduce);
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        SERVED(&call, NULL, HX(allreduce)(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, HX_COMM(&call) HX_REQUEST)))
        return call.rc;
    return PASS_ON(Allreduce, in, out, count, type, op, comm);
}

int FUNCTION(Reduce)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Reduce);
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && (!root_wrong(&call, root) || declined(&call, HXMPI_CAUSE_ARGUMENT)) &&
        reduction(&call, count, type, op, &dtype, &hx_op) &&
        SERVED(&call, NULL, HX(reduce)(in == MPI_IN_PLACE ? HX_IN_PLACE : in, is_root(&call, root) ? out : NULL, (size_t)count, dtype, hx_op, root,
                                HX_COMM(&call) HX_REQUEST)))
        return call.rc;
    return PASS_ON(Reduce, in, out, count, type, op, root, comm);
}

int FUNCTION(Scan)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Scan);
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        SERVED(&call, NULL, HX(scan)(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, HX_COMM(&call) HX_REQUEST)))
        return call.rc;
    return PASS_ON(Scan, in, out, count, type, op, comm);
}

int FUNCTION(Exscan)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Exscan);
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        SERVED(&call, NULL, HX(exscan)(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, HX_COMM(&call) HX_REQUEST)))
        return call.rc;
    return PASS_ON(Exscan, in, out, count, type, op, comm);
}

int FUNCTION(Reduce_scatter_block)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op,
                                   MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Reduce_scatter_block);
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        SERVED(&call, NULL, HX(reduce_scatter_block)(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op,
                                                     HX_COMM(&call) HX_REQUEST)))
        return call.rc;
    return PASS_ON(Reduce_scatter_block, in, out, count, type, op, comm);
}

/* Counts, and places in extents, of blocks. places may be NULL. NULL without memory; the caller frees *counts. */
static int blocks_read(int n, const count_t *ints, const displ_t *places, size_t **counts, MPI_Aint **displs)
{
    *counts = malloc((size_t)n * (sizeof(**counts) + sizeof(**displs)));
    if (!*counts)
        return 0;
    *displs = (MPI_Aint *)(*counts + n);
    for (int i = 0; i < n; i++) {
        (*counts)[i] = (size_t)ints[i];
        (*displs)[i] = places ? places[i] : 0;
    }
    return 1;
}

static int counts_wrong(int n, const count_t *counts)
{
    for (int i = 0; i < n; i++)
        if (counts[i] < 0)
            return 1;
    return 0;
}

int FUNCTION(Reduce_scatter)(const void *in, void *out, const count_t *counts, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Reduce_scatter);
    struct hxmpi_data data = {.counts = NULL};
    hx_dtype_t dtype;
    hx_op_t hx_op;
    MPI_Aint *places;

    if (!begin(&call) || !reduction(&call, counts_wrong(call.of->size, counts) ? -1 : 0, type, op, &dtype, &hx_op))
        return PASS_ON(Reduce_scatter, in, out, counts, type, op, comm);
    if (blocks_read(call.of->size, counts, NULL, &data.counts, &places))
        SERVED(&call, &data, HX(reduce_scatter)(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, data.counts, dtype, hx_op,
                                                HX_COMM(&call) HX_REQUEST));
    else
        no_memory(&call);
    if (!call.started)
        free(data.counts);
    return call.rc;
}

/* ---- data that moves in blocks of one length */

int FUNCTION(Bcast)(void *buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Bcast);
    struct hxmpi_data data = {.counts = NULL};

    if (!begin(&call) || ((root_wrong(&call, root) || data_wrong(count, type)) && !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Bcast, buffer, count, type, root, comm);
    if (hxmpi_side_open(&data.out, buffer, (size_t)count, type, is_root(&call, root) ? HXMPI_LOAD : HXMPI_STORE))
        SERVED(&call, &data, HX(bcast)(data.out.data, data.out.bytes, HX_BYTE, root, HX_COMM(&call) HX_REQUEST));
    else
        no_memory(&call);
    if (!call.started)
        hxmpi_data_close(&data, call.rc == MPI_SUCCESS);
    return call.rc;
}

/* Open both sides and make the call. In a call in place, open_in is 1, and the input has no side. */
#define BETWEEN(call, open_in, open_out, hx_call)                                                                                    \
    do {                                                                                                                             \
        struct hxmpi_data data = {.in.data = HX_IN_PLACE, .out.data = HX_IN_PLACE};                                                   \
        if ((open_in) && (open_out))                                                                                                 \
            SERVED(&(call), &data, hx_call);                                                                                         \
        else                                                                                                                         \
            no_memory(&(call));                                                                                                      \
        if (!(call).started)                                                                                                         \
            hxmpi_data_close(&data, (call).rc == MPI_SUCCESS);                                                                       \
    } while (0)

int FUNCTION(Allgather)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Allgather);
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) || (((!in_place && data_wrong(sendcount, sendtype)) || data_wrong(recvcount, recvtype)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, in_place || hxmpi_side_open(&data.in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            hxmpi_side_open(&data.out, recvbuf, n * (size_t)recvcount, recvtype, in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            HX(allgather)(data.in.data, data.out.data, data.out.bytes / n, HX_BYTE, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

int FUNCTION(Alltoall)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Alltoall);
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) || (((!in_place && data_wrong(sendcount, sendtype)) || data_wrong(recvcount, recvtype)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, in_place || hxmpi_side_open(&data.in, sendbuf, n * (size_t)sendcount, sendtype, HXMPI_LOAD),
            hxmpi_side_open(&data.out, recvbuf, n * (size_t)recvcount, recvtype, in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            HX(alltoall)(data.in.data, data.out.data, data.out.bytes / n, HX_BYTE, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

int FUNCTION(Gather)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Gather);
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(sendcount, sendtype)) ||
          (is_root(&call, root) && data_wrong(recvcount, recvtype))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, in_place || hxmpi_side_open(&data.in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            !is_root(&call, root) || hxmpi_side_open(&data.out, recvbuf, n * (size_t)recvcount, recvtype,
                                                     in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            HX(gather)(data.in.data, is_root(&call, root) ? data.out.data : NULL,
                       is_root(&call, root) ? data.out.bytes / n : data.in.bytes, HX_BYTE, root, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

int FUNCTION(Scatter)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Scatter);
    const int in_place = recvbuf == MPI_IN_PLACE;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(recvcount, recvtype)) ||
          (is_root(&call, root) && data_wrong(sendcount, sendtype))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, !is_root(&call, root) || hxmpi_side_open(&data.in, sendbuf, n * (size_t)sendcount, sendtype, HXMPI_LOAD),
            in_place || hxmpi_side_open(&data.out, recvbuf, (size_t)recvcount, recvtype, HXMPI_STORE),
            HX(scatter)(is_root(&call, root) ? data.in.data : NULL, data.out.data,
                        is_root(&call, root) ? data.in.bytes / n : data.out.bytes, HX_BYTE, root, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

/* ---- blocks of any length */

int FUNCTION(Allgatherv)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t *recvcounts,
                         const displ_t *displs, MPI_Datatype recvtype, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Allgatherv);
    const int in_place = sendbuf == MPI_IN_PLACE;
    MPI_Aint *places = NULL;

    if (!begin(&call) || (((!in_place && data_wrong(sendcount, sendtype)) || data_wrong(0, recvtype) ||
                           counts_wrong(call.of->size, recvcounts)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    BETWEEN(call, in_place || hxmpi_side_open(&data.in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            blocks_read(call.of->size, recvcounts, displs, &data.counts, &places) &&
                hxmpi_side_open_blocks(&data.out, recvbuf, call.of->size, data.counts, places, recvtype,
                                       in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            HX(allgatherv)(data.in.data, data.in.bytes, data.out.data, data.out.counts, data.out.displs, HX_BYTE, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

int FUNCTION(Gatherv)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t *recvcounts,
                      const displ_t *displs, MPI_Datatype recvtype, int root, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Gatherv);
    const int in_place = sendbuf == MPI_IN_PLACE;
    MPI_Aint *places = NULL;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(sendcount, sendtype)) ||
          (is_root(&call, root) && (data_wrong(0, recvtype) || counts_wrong(call.of->size, recvcounts)))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
    BETWEEN(call, in_place || hxmpi_side_open(&data.in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            !is_root(&call, root) || (blocks_read(call.of->size, recvcounts, displs, &data.counts, &places) &&
                                      hxmpi_side_open_blocks(&data.out, recvbuf, call.of->size, data.counts, places, recvtype,
                                                             in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE)),
            HX(gatherv)(data.in.data, data.in.bytes, is_root(&call, root) ? data.out.data : NULL, data.out.counts, data.out.displs, HX_BYTE,
                        root, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

int FUNCTION(Scatterv)(const void *sendbuf, const count_t *sendcounts, const displ_t *displs, MPI_Datatype sendtype, void *recvbuf,
                       count_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Scatterv);
    const int in_place = recvbuf == MPI_IN_PLACE;
    MPI_Aint *places = NULL;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(recvcount, recvtype)) ||
          (is_root(&call, root) && (data_wrong(0, sendtype) || counts_wrong(call.of->size, sendcounts)))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Scatterv, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
    BETWEEN(call,
            !is_root(&call, root) ||
                (blocks_read(call.of->size, sendcounts, displs, &data.counts, &places) &&
                 hxmpi_side_open_blocks(&data.in, sendbuf, call.of->size, data.counts, places, sendtype, HXMPI_LOAD)),
            in_place || hxmpi_side_open(&data.out, recvbuf, (size_t)recvcount, recvtype, HXMPI_STORE),
            HX(scatterv)(is_root(&call, root) ? data.in.data : NULL, data.in.counts, data.in.displs, data.out.data, data.out.bytes, HX_BYTE,
                         root, HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

int FUNCTION(Alltoallv)(const void *sendbuf, const count_t *sendcounts, const displ_t *sdispls, MPI_Datatype sendtype,
                        void *recvbuf, const count_t *recvcounts, const displ_t *rdispls, MPI_Datatype recvtype,
                        MPI_Comm comm REQUEST(MPI_Request *request))
{
    struct call call = CALL(Alltoallv);
    const int in_place = sendbuf == MPI_IN_PLACE;
    MPI_Aint *places = NULL, *sent_at = NULL;

    if (!begin(&call) ||
        (((!in_place && (data_wrong(0, sendtype) || counts_wrong(call.of->size, sendcounts))) || data_wrong(0, recvtype) ||
          counts_wrong(call.of->size, recvcounts)) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return PASS_ON(Alltoallv, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
    BETWEEN(call,
            in_place || (blocks_read(call.of->size, sendcounts, sdispls, &data.sent, &sent_at) &&
                         hxmpi_side_open_blocks(&data.in, sendbuf, call.of->size, data.sent, sent_at, sendtype, HXMPI_LOAD)),
            blocks_read(call.of->size, recvcounts, rdispls, &data.counts, &places) &&
                hxmpi_side_open_blocks(&data.out, recvbuf, call.of->size, data.counts, places, recvtype,
                                       in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            HX(alltoallv)(data.in.data, data.in.counts, data.in.displs, data.out.data, data.out.counts, data.out.displs, HX_BYTE,
                          HX_COMM(&call) HX_REQUEST));
    return call.rc;
}

#include "neighbors.c"
