/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives of hierax.h: how the arguments of each make a call. Each has three forms: it blocks, it does not
 * (hx_i...), or it is made ready to be started many times (hx_..._init). */
#include "runtime/api/blocks.h"
#include "runtime/api/call.h"
#include "runtime/base/handle.h"
#include "runtime/api/lock.h"
#include <stdint.h>

/* The idx-th block at base, which may be anything yet. */
static void *block_at(const void *base, int idx, size_t count, hx_dtype_t dtype)
{
    return (void *)((uintptr_t)base + (uintptr_t)idx * count * hx_dtype_bytes(dtype));
}

/* How many elements lie before rank's block. */
static size_t place_of(const size_t *counts, const size_t *displs, int rank)
{
    size_t at = 0;

    for (int r = 0; !displs && r < rank; r++)
        at += counts[r];
    return displs ? displs[rank] : at;
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

/* So that the compiler makes no struct hx_call of a call that is ready: see FAST_PATH_FORMS. */
#define SEEN_THROUGH static inline __attribute__((always_inline))

/* As hx_rank, of a communicator that has not been freed: a call by name costs more than it does. */
SEEN_THROUGH int rank_in(const hx_comm_t *comm)
{
    return comm && hx_world ? comm->members.rank : -1;
}

SEEN_THROUGH struct hx_call allreduce_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                                     hx_op_t op, hx_comm_t *comm)
{
    return (struct hx_call){.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_ALLREDUCE, dtype, op, 0, count),
                            .in = in == HX_IN_PLACE ? out : in, .out = out, .needed = {in, out}};
}

SEEN_THROUGH struct hx_call reduce_scatter_block_call(const char *name, const void *in, void *out, size_t recvcount,
                                                hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_REDUCE_SCATTER, dtype, op, 0, recvcount),
                           .in = in, .out = out, .needed = {in, out}};

    if (in == HX_IN_PLACE || in == out) {
        call.in = call.inplace_copy_to = out;
        call.inplace_copy = HX_INPLACE_COPY_OUT;
        call.inplace_copy_bytes = recvcount * hx_dtype_bytes(dtype);
    }
    return call;
}

SEEN_THROUGH struct hx_call allgather_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                                     hx_comm_t *comm)
{
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_ALLGATHER, dtype, HX_SUM, 0, count), .in = in,
                           .out = out, .needed = {in, out}};

    if (in == HX_IN_PLACE) {
        call.inplace_copy = HX_INPLACE_COPY_IN;
        call.inplace_copy_bytes = count * hx_dtype_bytes(dtype);
        call.inplace_copy_from = block_at(out, rank_in(comm), count, dtype);
    }
    return call;
}

/* With blocks of different length. Sets *mine to this rank's own count, 0 where there is nothing to go by. */
static struct hx_call blocks_call(const char *name, enum hx_coll coll, const void *in, void *out, const size_t *counts,
                                  const size_t *displs, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm, size_t *mine)
{
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(coll, dtype, op, 0, 0), .in = in, .out = out,
                           .needed = {in, out}, .lacks = counts ? NULL : "counts"};

    if (counts)
        call.key.blocks = hx_blocks_of(counts, displs, hx_size(comm), &call.key.count);
    *mine = counts && rank_in(comm) >= 0 ? counts[rank_in(comm)] : 0;
    return call;
}

/* Who gets nothing needs no out. */
static struct hx_call reduce_scatter_call(const char *name, const void *in, void *out, const size_t *counts,
                                          hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    size_t mine;
    struct hx_call call = blocks_call(name, HX_COLL_REDUCE_SCATTER, in, out, counts, NULL, dtype, op, comm, &mine);

    int in_place = in == HX_IN_PLACE || in == out;

    if (in_place)
        call.in = out;
    else if (mine == 0)
        call.needed[1] = in;
    if (in_place && mine) {
        call.inplace_copy = HX_INPLACE_COPY_OUT;
        call.inplace_copy_bytes = mine * hx_dtype_bytes(dtype);
        call.inplace_copy_to = out;
    }
    return call;
}

/* Who gives nothing needs no in. */
static struct hx_call allgatherv_call(const char *name, const void *in, size_t count, void *out, const size_t *counts,
                                      const size_t *displs, hx_dtype_t dtype, hx_comm_t *comm)
{
    size_t mine;
    struct hx_call call = blocks_call(name, HX_COLL_ALLGATHER, in, out, counts, displs, dtype, HX_SUM, comm, &mine);

    if (in != HX_IN_PLACE) {
        call.says_count = 1;
        call.said_count = count;
        if (count != mine) /* so that it is looked at, though the like of it may be bound */
            call.needed[0] = NULL;
        else if (mine == 0)
            call.needed[0] = out;
    } else if (mine) {
        call.inplace_copy = HX_INPLACE_COPY_IN;
        call.inplace_copy_bytes = mine * hx_dtype_bytes(dtype);
        call.inplace_copy_from = block_at(out, 1, place_of(counts, displs, rank_in(comm)), dtype);
    }
    return call;
}

SEEN_THROUGH struct hx_call alltoall_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                                    hx_comm_t *comm)
{
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_ALLTOALL, dtype, HX_SUM, 0, count), .in = in,
                           .out = out, .needed = {in, out}};

    if (in == HX_IN_PLACE) {
        call.inplace_copy = HX_INPLACE_COPY_IN;
        call.inplace_copy_bytes = (size_t)hx_size(comm) * count * hx_dtype_bytes(dtype);
        call.inplace_copy_from = out;
    }
    return call;
}

/* In place, what is sent stands where what comes goes. Counts that are too many for memory are refused. */
static void pair_counts_copy(struct hx_call *call, int n, size_t elem_bytes)
{
    size_t elements = 0;

    for (int r = 0; r < n; r++)
        elements += call->pair_counts.sent[r];
    call->in = call->out;
    if (elements == 0 || n == 1) /* the only rank's block stays where it is */
        return;
    call->inplace_copy = HX_INPLACE_COPY_BLOCKS;
    call->inplace_copy_bytes = hx_inplace_copy_head_bytes(n) + elements * elem_bytes;
}

/* A buffer of which nothing is used need not be there. */
static int is_idle(const size_t *counts, int n)
{
    for (int r = 0; r < n && counts; r++)
        if (counts[r])
            return 0;
    return n > 0 && counts;
}

/* count: the arrays have the counts, which may be 0; the other ranks are in the call all the same. */
static struct hx_call alltoallv_call(const char *name, const void *in, const size_t *scounts, const size_t *sdispls,
                                     void *out, const size_t *rcounts, const size_t *rdispls, hx_dtype_t dtype,
                                     hx_comm_t *comm)
{
    struct hx_call call = {.name = name, .comm = comm, .key = {.coll = HX_COLL_ALLTOALLV, .dtype = dtype, .op = HX_SUM, .count = 1},
                           .in = in, .out = out, .needed = {in, out}, .pair_counts = {scounts, sdispls, rcounts, rdispls}};
    int n = hx_size(comm);

    if (in == HX_IN_PLACE)
        call.pair_counts = (struct hx_pair_counts){rcounts, rdispls, rcounts, rdispls};
    if (in == HX_IN_PLACE && rcounts && rdispls)
        pair_counts_copy(&call, n, hx_dtype_bytes(dtype));
    if (!in && is_idle(scounts, n))
        call.needed[0] = name;
    if (!out && is_idle(rcounts, n))
        call.needed[1] = name;
    return call;
}

SEEN_THROUGH struct hx_call bcast_call(const char *name, void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return (struct hx_call){.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_BCAST, dtype, HX_SUM, root, count), .in = buf,
                            .out = buf, .needed = {buf, buf}};
}

/* Only the root has an out. */
SEEN_THROUGH struct hx_call reduce_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                                  hx_op_t op, int root, hx_comm_t *comm)
{
    return (struct hx_call){.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_REDUCE, dtype, op, root, count),
                            .in = in == HX_IN_PLACE ? out : in, .out = out,
                            .needed = {in, rank_in(comm) == root ? out : in}};
}

/* Only the root has an out. */
SEEN_THROUGH struct hx_call gather_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype, int root,
                                  hx_comm_t *comm)
{
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_GATHER, dtype, HX_SUM, root, count), .in = in,
                           .out = out, .needed = {in, rank_in(comm) == root ? out : in}};

    if (in == HX_IN_PLACE)
        call.in = block_at(out, root, count, dtype);
    return call;
}

/* Only the root has an in. */
SEEN_THROUGH struct hx_call scatter_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                                   int root, hx_comm_t *comm)
{
    int is_root = rank_in(comm) == root;
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_SCATTER, dtype, HX_SUM, root, count), .in = in,
                           .out = out};

    call.needed[0] = is_root ? in : out;
    call.needed[1] = is_root && (in == HX_IN_PLACE || out == HX_IN_PLACE) ? in : out;
    if (out == HX_IN_PLACE) { /* the root's block goes where nobody looks */
        call.inplace_copy = HX_INPLACE_COPY_OUT;
        call.inplace_copy_bytes = count * hx_dtype_bytes(dtype);
    }
    return call;
}

/* The counts are not known yet; the other ranks are in the call all the same. */
static struct hx_call root_counts_call(const char *name, enum hx_coll coll, const void *in, void *out, size_t count, const size_t *counts,
                                     const size_t *displs, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    int is_root = comm && rank_in(comm) == root;
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(coll, dtype, HX_SUM, root, 1), .in = in, .out = out,
                           .lacks = is_root && !counts ? "counts" : NULL, .root_knows = 1, .said_count = count};

    call.root_counts = is_root ? counts : NULL;
    call.root_displs = is_root ? displs : NULL;
    return call;
}

/* Only the root has an out. */
static struct hx_call gatherv_call(const char *name, const void *in, size_t count, void *out, const size_t *counts,
                                   const size_t *displs, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    struct hx_call call = root_counts_call(name, HX_COLL_GATHER, in, out, count, counts, displs, dtype, root, comm);

    if (call.root_counts && in == HX_IN_PLACE) {
        call.said_count = counts[root];
        call.in = block_at(out, 1, place_of(counts, displs, root), dtype);
    }
    call.needed[0] = in || call.said_count ? in : name;
    call.needed[1] = rank_in(comm) != root ? call.needed[0] : out || !is_idle(call.root_counts, hx_size(comm)) ? out : name;
    return call;
}

/* Only the root has an in. */
static struct hx_call scatterv_call(const char *name, const void *in, const size_t *counts, const size_t *displs, void *out,
                                    size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    struct hx_call call = root_counts_call(name, HX_COLL_SCATTER, in, out, count, counts, displs, dtype, root, comm);

    if (call.root_counts && out == HX_IN_PLACE) { /* the root's block goes where nobody looks */
        call.said_count = counts[root];
        call.inplace_copy = HX_INPLACE_COPY_OUT;
        call.inplace_copy_bytes = call.said_count * hx_dtype_bytes(dtype);
    }
    call.needed[1] = out || call.said_count ? out : name;
    call.needed[0] = rank_in(comm) != root ? call.needed[1] : in || !is_idle(call.root_counts, hx_size(comm)) ? in : name;
    if (rank_in(comm) == root && (in == HX_IN_PLACE || out == HX_IN_PLACE))
        call.needed[1] = call.needed[0];
    return call;
}

SEEN_THROUGH struct hx_call scan_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op,
                                hx_comm_t *comm)
{
    return (struct hx_call){.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_SCAN, dtype, op, 0, count),
                            .in = in == HX_IN_PLACE ? out : in, .out = out, .needed = {in, out}};
}

/* Rank 0 has an out only in place. */
SEEN_THROUGH struct hx_call exscan_call(const char *name, const void *in, void *out, size_t count, hx_dtype_t dtype,
                                  hx_op_t op, hx_comm_t *comm)
{
    int no_out = rank_in(comm) == 0 && in != HX_IN_PLACE;

    return (struct hx_call){.name = name, .comm = comm, .key = hx_call_key_of(HX_COLL_EXSCAN, dtype, op, 0, count),
                            .in = in == HX_IN_PLACE ? out : in, .out = out, .needed = {in, no_out ? in : out}};
}

SEEN_THROUGH struct hx_call barrier_call(const char *name, hx_comm_t *comm)
{
    return hx_call_barrier(name, HX_FOR_CALL, comm);
}

/* ---- public functions ---------------------------------------------------------------------------------------- */

#define LIST(...) __VA_ARGS__

/* The plan of a blocking call that can run as it stands: it is bound, and nothing is to be put aside or done before. Else NULL. */
SEEN_THROUGH struct hx_bound *ready(const struct hx_call *call)
{
    struct hx_bound *bound = hx_call_known(call->comm, call->key, call->needed[0], call->needed[1]);

    if (!bound || call->inplace_copy != HX_INPLACE_COPY_NOTHING)
        return NULL;
    return hx_call_is_ahead(&call->comm->engine, &call->key) ? NULL : bound;
}

/* hx_i<name> and hx_<name>_init, with the parameters of <name>_call and a request. */
#define NONBLOCKING_FORMS(name, parameters, arguments)                                                                 \
    hx_status_t hx_i##name(LIST parameters, hx_request_t **request)                                                    \
    {                                                                                                                  \
        HX_RETURN_IF_FREED(comm, "hx_i" #name);                                                                        \
        struct hx_call call = name##_call("hx_i" #name, LIST arguments);                                               \
        return hx_call_make(&call, HX_NONBLOCKING, request);                                                           \
    }                                                                                                                  \
    hx_status_t hx_##name##_init(LIST parameters, hx_request_t **request)                                              \
    {                                                                                                                  \
        HX_RETURN_IF_FREED(comm, "hx_" #name "_init");                                                                 \
        struct hx_call call = name##_call("hx_" #name "_init", LIST arguments);                                        \
        return hx_call_make(&call, HX_PERSISTENT, request);                                                            \
    }

#define ALL_FORMS(name, parameters, arguments)                                                                         \
    hx_status_t hx_##name(LIST parameters)                                                                             \
    {                                                                                                                  \
        HX_RETURN_IF_FREED(comm, "hx_" #name);                                                                         \
        struct hx_call call = name##_call("hx_" #name, LIST arguments);                                                \
        return hx_call_make(&call, HX_BLOCKING, NULL);                                                                 \
    }                                                                                                                  \
    NONBLOCKING_FORMS(name, parameters, arguments)

/* The same where every instruction counts: of a call that is ready only what is looked at is made. */
#define FAST_PATH_FORMS(name, parameters, arguments)                                                                       \
    static __attribute__((noinline)) hx_status_t name##_do(LIST parameters)                                            \
    {                                                                                                                  \
        struct hx_call call = name##_call("hx_" #name, LIST arguments);                                                \
        return hx_call_do(&call, HX_BLOCKING, NULL);                                                                   \
    }                                                                                                                  \
    hx_status_t hx_##name(LIST parameters)                                                                             \
    {                                                                                                                  \
        HX_RETURN_IF_FREED(comm, "hx_" #name);                                                                         \
        const struct hx_call call = name##_call("hx_" #name, LIST arguments);                                          \
        struct hx_bound *bound;                                                                                        \
                                                                                                                       \
        return HX_LOCKED((bound = ready(&call)) ? hx_engine_run(&comm->engine, bound, "hx_" #name, call.in, call.out)  \
                                                : name##_do(LIST arguments));                                          \
    }                                                                                                                  \
    NONBLOCKING_FORMS(name, parameters, arguments)

FAST_PATH_FORMS(allreduce, (const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm),
            (in, out, count, dtype, op, comm))
FAST_PATH_FORMS(reduce_scatter_block,
            (const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm),
            (in, out, recvcount, dtype, op, comm))
FAST_PATH_FORMS(allgather, (const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm),
            (in, out, count, dtype, comm))
ALL_FORMS(reduce_scatter,
          (const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm),
          (in, out, counts, dtype, op, comm))
ALL_FORMS(allgatherv,
          (const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype, hx_comm_t *comm),
          (in, count, out, counts, displs, dtype, comm))
FAST_PATH_FORMS(alltoall, (const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm),
            (in, out, count, dtype, comm))
ALL_FORMS(alltoallv,
          (const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts, const size_t *rdispls,
           hx_dtype_t dtype, hx_comm_t *comm),
          (in, scounts, sdispls, out, rcounts, rdispls, dtype, comm))
FAST_PATH_FORMS(bcast, (void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm), (buf, count, dtype, root, comm))
FAST_PATH_FORMS(reduce, (const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm),
            (in, out, count, dtype, op, root, comm))
FAST_PATH_FORMS(gather, (const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm),
            (in, out, count, dtype, root, comm))
FAST_PATH_FORMS(scatter, (const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm),
            (in, out, count, dtype, root, comm))
ALL_FORMS(gatherv,
          (const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype, int root, hx_comm_t *comm),
          (in, count, out, counts, displs, dtype, root, comm))
ALL_FORMS(scatterv,
          (const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm),
          (in, counts, displs, out, count, dtype, root, comm))
FAST_PATH_FORMS(scan, (const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm),
            (in, out, count, dtype, op, comm))
FAST_PATH_FORMS(exscan, (const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm),
            (in, out, count, dtype, op, comm))
FAST_PATH_FORMS(barrier, (hx_comm_t *comm), (comm))
