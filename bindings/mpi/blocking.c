/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that block. Hierax serves a call, or passes it on to MPI unchanged. large.c includes this file for the functions whose
 * names end in _c. */
#include "hxmpi.h"
#include "side.h"
#include <stdint.h>
#include <stdlib.h>

#ifndef HXMPI_LARGE
#define FUNCTION(name) MPI_##name
#define MPIS_OWN(name) PMPI_##name
typedef int count_t;
typedef int displ_t;
#endif

/* One call. */
struct call {
    enum hxmpi_collective what;
    MPI_Comm comm;
    const struct hxmpi_comm *of;
    struct hxmpi_fold *fold; /* of a reduction, or NULL */
    int rc;                  /* if it was served */
};

static int declined(const struct call *call, int cause)
{
    hxmpi_count(call->what, (enum hxmpi_cause)cause);
    return 0;
}

/* Returns 0 if Hierax does not serve the communicator. */
static inline int begin(struct call *call)
{
    call->of = hxmpi_comm_of(call->comm);
    if (call->of && call->of->comm)
        return 1;
    return declined(call, call->of ? call->of->cause : HXMPI_CAUSE_OFF);
}

static inline int served(struct call *call, hx_status_t status)
{
    hxmpi_count(call->what, HXMPI_CAUSE_SERVED);
    if (call->fold)
        hxmpi_fold_release(call->fold);
    call->rc = hxmpi_result(call->comm, status, call->of);
    return 1;
}

/* This rank cannot take part, and the others must not wait for it. */
static int no_memory(struct call *call)
{
    hx_comm_revoke(call->of->comm);
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
int MPI_Barrier(MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Barrier, .comm = comm};

    if (begin(&call) && served(&call, hx_barrier(call.of->comm)))
        return call.rc;
    return PMPI_Barrier(comm);
}
#endif

int FUNCTION(Allreduce)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Allreduce, .comm = comm};
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        served(&call, hx_allreduce(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, call.of->comm)))
        return call.rc;
    return MPIS_OWN(Allreduce)(in, out, count, type, op, comm);
}

int FUNCTION(Reduce)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Reduce, .comm = comm};
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && (!root_wrong(&call, root) || declined(&call, HXMPI_CAUSE_ARGUMENT)) &&
        reduction(&call, count, type, op, &dtype, &hx_op) &&
        served(&call, hx_reduce(in == MPI_IN_PLACE ? HX_IN_PLACE : in, is_root(&call, root) ? out : NULL, (size_t)count, dtype, hx_op, root,
                                call.of->comm)))
        return call.rc;
    return MPIS_OWN(Reduce)(in, out, count, type, op, root, comm);
}

int FUNCTION(Scan)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Scan, .comm = comm};
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        served(&call, hx_scan(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, call.of->comm)))
        return call.rc;
    return MPIS_OWN(Scan)(in, out, count, type, op, comm);
}

int FUNCTION(Exscan)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Exscan, .comm = comm};
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        served(&call, hx_exscan(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, call.of->comm)))
        return call.rc;
    return MPIS_OWN(Exscan)(in, out, count, type, op, comm);
}

int FUNCTION(Reduce_scatter_block)(const void *in, void *out, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Reduce_scatter_block, .comm = comm};
    hx_dtype_t dtype;
    hx_op_t hx_op;

    if (begin(&call) && reduction(&call, count, type, op, &dtype, &hx_op) &&
        served(&call,
               hx_reduce_scatter_block(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, (size_t)count, dtype, hx_op, call.of->comm)))
        return call.rc;
    return MPIS_OWN(Reduce_scatter_block)(in, out, count, type, op, comm);
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

int FUNCTION(Reduce_scatter)(const void *in, void *out, const count_t *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Reduce_scatter, .comm = comm};
    hx_dtype_t dtype;
    hx_op_t hx_op;
    size_t *sizes;
    MPI_Aint *places;

    if (!begin(&call) || !reduction(&call, counts_wrong(call.of->size, counts) ? -1 : 0, type, op, &dtype, &hx_op))
        return MPIS_OWN(Reduce_scatter)(in, out, counts, type, op, comm);
    if (!blocks_read(call.of->size, counts, NULL, &sizes, &places)) {
        no_memory(&call);
        return call.rc;
    }
    served(&call, hx_reduce_scatter(in == MPI_IN_PLACE ? HX_IN_PLACE : in, out, sizes, dtype, hx_op, call.of->comm));
    free(sizes);
    return call.rc;
}

/* ---- data that moves in blocks of one length */

int FUNCTION(Bcast)(void *buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Bcast, .comm = comm};
    struct hxmpi_side side;

    if (!begin(&call) || ((root_wrong(&call, root) || data_wrong(count, type)) && !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Bcast)(buffer, count, type, root, comm);
    if (hxmpi_side_open(&side, buffer, (size_t)count, type, is_root(&call, root) ? HXMPI_LOAD : HXMPI_STORE))
        served(&call, hx_bcast(side.data, side.bytes, HX_BYTE, root, call.of->comm));
    else
        no_memory(&call);
    hxmpi_side_close(&side, call.rc == MPI_SUCCESS);
    return call.rc;
}

/* Open both sides and make the call. `in` may have no side: in place. */
#define BETWEEN(call, open_in, open_out, hx_call)                                                                                    \
    do {                                                                                                                             \
        struct hxmpi_side in = {.data = HX_IN_PLACE}, out = {.data = HX_IN_PLACE};                                                    \
        if ((open_in) && (open_out))                                                                                                 \
            served(&(call), hx_call);                                                                                                \
        else                                                                                                                         \
            no_memory(&(call));                                                                                                      \
        hxmpi_side_close(&in, 0);                                                                                                    \
        hxmpi_side_close(&out, (call).rc == MPI_SUCCESS);                                                                            \
    } while (0)

int FUNCTION(Allgather)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Allgather, .comm = comm};
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) || (((!in_place && data_wrong(sendcount, sendtype)) || data_wrong(recvcount, recvtype)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Allgather)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, in_place || hxmpi_side_open(&in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            hxmpi_side_open(&out, recvbuf, n * (size_t)recvcount, recvtype, in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            hx_allgather(in.data, out.data, out.bytes / n, HX_BYTE, call.of->comm));
    return call.rc;
}

int FUNCTION(Alltoall)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Alltoall, .comm = comm};
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) || (((!in_place && data_wrong(sendcount, sendtype)) || data_wrong(recvcount, recvtype)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Alltoall)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, in_place || hxmpi_side_open(&in, sendbuf, n * (size_t)sendcount, sendtype, HXMPI_LOAD),
            hxmpi_side_open(&out, recvbuf, n * (size_t)recvcount, recvtype, in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            hx_alltoall(in.data, out.data, out.bytes / n, HX_BYTE, call.of->comm));
    return call.rc;
}

int FUNCTION(Gather)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Gather, .comm = comm};
    const int in_place = sendbuf == MPI_IN_PLACE;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(sendcount, sendtype)) ||
          (is_root(&call, root) && data_wrong(recvcount, recvtype))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Gather)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, in_place || hxmpi_side_open(&in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            !is_root(&call, root) || hxmpi_side_open(&out, recvbuf, n * (size_t)recvcount, recvtype,
                                                     in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            hx_gather(in.data, is_root(&call, root) ? out.data : NULL, is_root(&call, root) ? out.bytes / n : in.bytes, HX_BYTE, root,
                      call.of->comm));
    return call.rc;
}

int FUNCTION(Scatter)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, count_t recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Scatter, .comm = comm};
    const int in_place = recvbuf == MPI_IN_PLACE;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(recvcount, recvtype)) ||
          (is_root(&call, root) && data_wrong(sendcount, sendtype))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Scatter)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    const size_t n = (size_t)call.of->size;
    BETWEEN(call, !is_root(&call, root) || hxmpi_side_open(&in, sendbuf, n * (size_t)sendcount, sendtype, HXMPI_LOAD),
            in_place || hxmpi_side_open(&out, recvbuf, (size_t)recvcount, recvtype, HXMPI_STORE),
            hx_scatter(is_root(&call, root) ? in.data : NULL, out.data, is_root(&call, root) ? in.bytes / n : out.bytes, HX_BYTE, root,
                       call.of->comm));
    return call.rc;
}

/* ---- blocks of any length */

int FUNCTION(Allgatherv)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t *recvcounts,
                         const displ_t *displs, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Allgatherv, .comm = comm};
    const int in_place = sendbuf == MPI_IN_PLACE;
    size_t *counts = NULL;
    MPI_Aint *places = NULL;

    if (!begin(&call) || (((!in_place && data_wrong(sendcount, sendtype)) || data_wrong(0, recvtype) ||
                           counts_wrong(call.of->size, recvcounts)) &&
                          !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Allgatherv)(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
    BETWEEN(call, in_place || hxmpi_side_open(&in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            blocks_read(call.of->size, recvcounts, displs, &counts, &places) &&
                hxmpi_side_open_blocks(&out, recvbuf, call.of->size, counts, places, recvtype,
                                       in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            hx_allgatherv(in.data, in.bytes, out.data, out.counts, out.displs, HX_BYTE, call.of->comm));
    free(counts);
    return call.rc;
}

int FUNCTION(Gatherv)(const void *sendbuf, count_t sendcount, MPI_Datatype sendtype, void *recvbuf, const count_t *recvcounts,
                      const displ_t *displs, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Gatherv, .comm = comm};
    const int in_place = sendbuf == MPI_IN_PLACE;
    size_t *counts = NULL;
    MPI_Aint *places = NULL;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(sendcount, sendtype)) ||
          (is_root(&call, root) && (data_wrong(0, recvtype) || counts_wrong(call.of->size, recvcounts)))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Gatherv)(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
    BETWEEN(call, in_place || hxmpi_side_open(&in, sendbuf, (size_t)sendcount, sendtype, HXMPI_LOAD),
            !is_root(&call, root) || (blocks_read(call.of->size, recvcounts, displs, &counts, &places) &&
                                      hxmpi_side_open_blocks(&out, recvbuf, call.of->size, counts, places, recvtype,
                                                             in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE)),
            hx_gatherv(in.data, in.bytes, is_root(&call, root) ? out.data : NULL, out.counts, out.displs, HX_BYTE, root, call.of->comm));
    free(counts);
    return call.rc;
}

int FUNCTION(Scatterv)(const void *sendbuf, const count_t *sendcounts, const displ_t *displs, MPI_Datatype sendtype, void *recvbuf,
                       count_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Scatterv, .comm = comm};
    const int in_place = recvbuf == MPI_IN_PLACE;
    size_t *counts = NULL;
    MPI_Aint *places = NULL;

    if (!begin(&call) ||
        ((root_wrong(&call, root) || (!in_place && data_wrong(recvcount, recvtype)) ||
          (is_root(&call, root) && (data_wrong(0, sendtype) || counts_wrong(call.of->size, sendcounts)))) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Scatterv)(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
    BETWEEN(call,
            !is_root(&call, root) ||
                (blocks_read(call.of->size, sendcounts, displs, &counts, &places) &&
                 hxmpi_side_open_blocks(&in, sendbuf, call.of->size, counts, places, sendtype, HXMPI_LOAD)),
            in_place || hxmpi_side_open(&out, recvbuf, (size_t)recvcount, recvtype, HXMPI_STORE),
            hx_scatterv(is_root(&call, root) ? in.data : NULL, in.counts, in.displs, out.data, out.bytes, HX_BYTE, root, call.of->comm));
    free(counts);
    return call.rc;
}

int FUNCTION(Alltoallv)(const void *sendbuf, const count_t *sendcounts, const displ_t *sdispls, MPI_Datatype sendtype,
                        void *recvbuf, const count_t *recvcounts, const displ_t *rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct call call = {.what = HXMPI_Alltoallv, .comm = comm};
    const int in_place = sendbuf == MPI_IN_PLACE;
    size_t *counts = NULL, *sent = NULL;
    MPI_Aint *places = NULL, *sent_at = NULL;

    if (!begin(&call) ||
        (((!in_place && (data_wrong(0, sendtype) || counts_wrong(call.of->size, sendcounts))) || data_wrong(0, recvtype) ||
          counts_wrong(call.of->size, recvcounts)) &&
         !declined(&call, HXMPI_CAUSE_ARGUMENT)))
        return MPIS_OWN(Alltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
    BETWEEN(call,
            in_place || (blocks_read(call.of->size, sendcounts, sdispls, &sent, &sent_at) &&
                         hxmpi_side_open_blocks(&in, sendbuf, call.of->size, sent, sent_at, sendtype, HXMPI_LOAD)),
            blocks_read(call.of->size, recvcounts, rdispls, &counts, &places) &&
                hxmpi_side_open_blocks(&out, recvbuf, call.of->size, counts, places, recvtype,
                                       in_place ? HXMPI_LOAD | HXMPI_STORE : HXMPI_STORE),
            hx_alltoallv(in.data, in.counts, in.displs, out.data, out.counts, out.displs, HX_BYTE, call.of->comm));
    free(sent);
    free(counts);
    return call.rc;
}
