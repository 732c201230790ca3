/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives of hierax.h: how the arguments of each make a call. Each has three forms: it blocks, it does not
 * (hx_i...), or it is made ready to be started many times (hx_..._init). */
#include "runtime/api/blocks.h"
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <stdint.h>

/* Inlined: the compiler knows the collective, and makes no struct of a call that is ready. */
#define INLINED static inline __attribute__((always_inline))

/* The arguments of a collective whose ranks all have the same count; those that it has not are 0. */
struct arguments {
    const char *name; /* of the public function */
    enum hx_coll coll;
    hx_comm_t *comm;
    const void *in;
    void *out; /* a broadcast's buf is both */
    size_t count;
    hx_dtype_t dtype;
    hx_op_t op;
    int root;
};

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

/* As hx_rank, but fast. Of a communicator that has been freed it may be any number: only to be compared. */
INLINED int rank_in(const hx_comm_t *comm)
{
    return comm && hx_world ? comm->members.rank : -1;
}

INLINED enum hx_call_fault fault_of(int lacks_in, int lacks_out, int misplaced)
{
    return lacks_in ? HX_FAULT_IN_NULL : lacks_out ? HX_FAULT_OUT_NULL : misplaced ? HX_FAULT_IN_PLACE : HX_FAULT_NONE;
}

/* Of a collective without counts. */
struct buffers {
    const void *in;     /* as the engine gets it */
    const void *memory; /* what must not be HX_IN_PLACE */
    enum hx_call_fault fault;
    int copies; /* in place, something must be copied */
};

/* Only the root has an in or an out where the collective says so. Of an exclusive scan rank 0 has an out only in place. */
INLINED struct buffers buffers_of(const struct arguments *a)
{
    enum hx_holds gives = hx_coll_gives(a->coll), gets = hx_coll_gets(a->coll);
    int rank = rank_in(a->comm), is_root = rank == a->root;
    int has_in = gives != HX_HOLDS_ROOT || is_root, has_out = gets != HX_HOLDS_ROOT || is_root;
    int in_place = (gives == HX_HOLDS_ROOT ? a->out : a->in) == HX_IN_PLACE;
    struct buffers b = {.in = a->in};

    if (hx_coll_is_exclusive(a->coll) && rank == 0)
        has_out = in_place;
    b.fault = fault_of(has_in && !a->in, has_out && !a->out, 0);
    b.memory = gives == HX_HOLDS_ROOT && is_root ? a->in : has_out ? a->out : a->in;
    if (in_place && gives == HX_HOLDS_ALL)
        b.in = a->out;
    else if (in_place && gives == HX_HOLDS_OWN && gets == HX_HOLDS_ROOT)
        b.in = block_at(a->out, a->root, a->count, a->dtype);
    else
        b.copies = in_place;
    if (gives == HX_HOLDS_ALL && gets == HX_HOLDS_OWN)
        b.copies = in_place || a->in == a->out;
    return b;
}

/* In place, a result that is only this rank's block of the vector, or blocks that arrive, would overwrite input that is still to be read. */
static void copy_set(struct hx_call *call, const struct arguments *a)
{
    enum hx_holds gives = hx_coll_gives(a->coll);

    call->inplace_copy_bytes = a->count * hx_dtype_bytes(a->dtype);
    if (gives == HX_HOLDS_OWN || gives == HX_HOLDS_PAIRS) {
        call->inplace_copy = HX_INPLACE_COPY_IN;
        call->inplace_copy_from = gives == HX_HOLDS_OWN ? block_at(a->out, rank_in(a->comm), a->count, a->dtype) : a->out;
        call->inplace_copy_bytes *= gives == HX_HOLDS_PAIRS ? (size_t)hx_size(a->comm) : 1;
    } else {
        call->inplace_copy = HX_INPLACE_COPY_OUT;
        call->inplace_copy_to = gives == HX_HOLDS_ROOT ? NULL : a->out; /* a root's own block stays where it is: nobody looks at its copy */
    }
}

static struct hx_call call_of(const struct arguments *a)
{
    struct buffers b = buffers_of(a);
    struct hx_call call = {.name = a->name, .comm = a->comm, .key = hx_call_key_of(a->coll, a->dtype, a->op, a->root, a->count),
                           .in = b.in, .out = a->out, .fault = b.fault};

    if (!b.fault && b.memory == HX_IN_PLACE)
        call.fault = HX_FAULT_IN_PLACE;
    if (b.copies)
        copy_set(&call, a);
    return call;
}

/* With blocks of different length. Sets *mine to this rank's own count, 0 where there is nothing to go by. */
static struct hx_call blocks_call(const char *name, enum hx_coll coll, const void *in, void *out, const size_t *counts,
                                  const size_t *displs, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm, size_t *mine)
{
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(coll, dtype, op, 0, 0), .in = in, .out = out,
                           .fault = counts ? HX_FAULT_NONE : HX_FAULT_COUNTS_NULL};

    if (counts)
        call.key.blocks = hx_blocks_of(counts, displs, hx_size(comm), &call.key.count);
    *mine = counts && hx_rank(comm) >= 0 ? counts[hx_rank(comm)] : 0;
    return call;
}

/* Who gets nothing needs no out. */
static struct hx_call reduce_scatter_call(const char *name, const void *in, void *out, const size_t *counts,
                                          hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    size_t mine;
    struct hx_call call = blocks_call(name, HX_COLL_REDUCE_SCATTER, in, out, counts, NULL, dtype, op, comm, &mine);

    int in_place = in == HX_IN_PLACE || in == out, has_out = in_place || mine;

    if (!call.fault)
        call.fault = fault_of(!in, has_out && !out, has_out && out == HX_IN_PLACE);
    if (in_place)
        call.in = out;
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

    call.said_count = count;
    if (!call.fault)
        call.fault = in != HX_IN_PLACE && count != mine ? HX_FAULT_COUNT : fault_of(!in && mine, !out, out == HX_IN_PLACE);
    if (in == HX_IN_PLACE && mine) {
        call.inplace_copy = HX_INPLACE_COPY_IN;
        call.inplace_copy_bytes = mine * hx_dtype_bytes(dtype);
        call.inplace_copy_from = block_at(out, 1, place_of(counts, displs, hx_rank(comm)), dtype);
    }
    return call;
}

/* In place, what is sent stands where what comes goes. Counts that are too many for memory are refused. */
static void pair_counts_copy(struct hx_call *call, int n, size_t elem_bytes)
{
    size_t elements = 0;

    for (int r = 0; r < n; r++)
        elements += call->pair_counts.sent[r];
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
                           .in = in, .out = out, .pair_counts = {scounts, sdispls, rcounts, rdispls}};
    int n = hx_size(comm);

    call.fault = fault_of(!in && !is_idle(scounts, n), !out && !is_idle(rcounts, n), out == HX_IN_PLACE);
    if (in == HX_IN_PLACE) {
        call.in = out;
        call.pair_counts = (struct hx_pair_counts){rcounts, rdispls, rcounts, rdispls};
    }
    if (in == HX_IN_PLACE && rcounts && rdispls)
        pair_counts_copy(&call, n, hx_dtype_bytes(dtype));
    return call;
}

/* The counts are not known yet; the other ranks are in the call all the same. */
static struct hx_call root_counts_call(const char *name, enum hx_coll coll, const void *in, void *out, size_t count, const size_t *counts,
                                     const size_t *displs, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    int is_root = comm && rank_in(comm) == root;
    struct hx_call call = {.name = name, .comm = comm, .key = hx_call_key_of(coll, dtype, HX_SUM, root, 1), .in = in, .out = out,
                           .fault = is_root && !counts ? HX_FAULT_COUNTS_NULL : HX_FAULT_NONE, .root_knows = 1, .said_count = count};

    call.root_counts = is_root ? counts : NULL;
    call.root_displs = is_root ? displs : NULL;
    return call;
}

/* Only the root has an out. */
static struct hx_call gatherv_call(const char *name, const void *in, size_t count, void *out, const size_t *counts,
                                   const size_t *displs, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    int is_root = rank_in(comm) == root;
    struct hx_call call = root_counts_call(name, HX_COLL_GATHER, in, out, count, counts, displs, dtype, root, comm);

    if (call.root_counts && in == HX_IN_PLACE) {
        call.said_count = counts[root];
        call.in = block_at(out, 1, place_of(counts, displs, root), dtype);
    }
    if (!call.fault)
        call.fault = fault_of(!in && call.said_count, is_root && !out && !is_idle(counts, hx_size(comm)),
                              (is_root ? out : in) == HX_IN_PLACE);
    return call;
}

/* Only the root has an in. */
static struct hx_call scatterv_call(const char *name, const void *in, const size_t *counts, const size_t *displs, void *out,
                                    size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    int is_root = rank_in(comm) == root;
    struct hx_call call = root_counts_call(name, HX_COLL_SCATTER, in, out, count, counts, displs, dtype, root, comm);

    if (call.root_counts && out == HX_IN_PLACE) { /* the root's block goes where nobody looks */
        call.said_count = counts[root];
        call.inplace_copy = HX_INPLACE_COPY_OUT;
        call.inplace_copy_bytes = call.said_count * hx_dtype_bytes(dtype);
    }
    if (!call.fault)
        call.fault = fault_of(is_root && !in && !is_idle(counts, hx_size(comm)), !out && call.said_count,
                              (is_root ? in : out) == HX_IN_PLACE);
    return call;
}

/* ---- the forms --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) hx_status_t do_blocking(struct arguments a)
{
    struct hx_call call = call_of(&a);

    return hx_call_do(&call, HX_BLOCKING, NULL);
}

/* The plan that is bound for a blocking call, if nothing is to be copied or done before. Else NULL. */
INLINED struct hx_bound *ready(const struct arguments *a, const struct buffers *b)
{
    struct hx_call_key key = hx_call_key_of(a->coll, a->dtype, a->op, a->root, a->count);
    struct hx_bound *bound = b->fault || b->memory == HX_IN_PLACE || b->copies ? NULL : hx_call_known(a->comm, key);

    return bound && !hx_call_is_ahead(&a->comm->engine, &key) ? bound : NULL;
}

/* Where every instruction counts: the arguments are written to memory only for do_blocking. */
INLINED hx_status_t run_inside(const struct arguments *a)
{
    const struct buffers b = buffers_of(a);
    struct hx_bound *bound = ready(a, &b);

    if (bound)
        return hx_engine_run(&a->comm->engine, bound, a->name, b.in, a->out);
    return do_blocking((struct arguments){a->name, a->coll, a->comm, a->in, a->out, a->count, a->dtype, a->op, a->root});
}

INLINED hx_status_t run(struct arguments a)
{
    return HX_LOCKED(run_inside(&a));
}

static hx_status_t start(struct arguments a, enum hx_mode mode, hx_request_t **request)
{
    struct hx_call call = call_of(&a);

    return hx_call_make(&call, mode, request);
}

/* What a barrier sends and receives is a token. */
INLINED struct arguments barrier_arguments(const char *name, hx_comm_t *comm)
{
    void *token = comm ? &comm->engine.token : NULL;

    return (struct arguments){name, HX_COLL_BARRIER, comm, token, token, 1, HX_BYTE, HX_SUM, 0};
}

static hx_status_t make(struct hx_call call, enum hx_mode mode, hx_request_t **request)
{
    return hx_call_make(&call, mode, request);
}

/* ---- public functions -------------------------------------------------------------------------------------------- */

hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_ALLREDUCE, comm, in, out, count, dtype, op, 0});
}

hx_status_t hx_iallreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                          hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_ALLREDUCE, comm, in, out, count, dtype, op, 0}, HX_NONBLOCKING, request);
}

hx_status_t hx_allreduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                              hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_ALLREDUCE, comm, in, out, count, dtype, op, 0}, HX_PERSISTENT, request);
}

hx_status_t hx_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_REDUCE_SCATTER, comm, in, out, recvcount, dtype, op, 0});
}

hx_status_t hx_ireduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                     hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_REDUCE_SCATTER, comm, in, out, recvcount, dtype, op, 0}, HX_NONBLOCKING,
                 request);
}

hx_status_t hx_reduce_scatter_block_init(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                         hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_REDUCE_SCATTER, comm, in, out, recvcount, dtype, op, 0}, HX_PERSISTENT,
                 request);
}

hx_status_t hx_reduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return make(reduce_scatter_call(__func__, in, out, counts, dtype, op, comm), HX_BLOCKING, NULL);
}

hx_status_t hx_ireduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                               hx_request_t **request)
{
    return make(reduce_scatter_call(__func__, in, out, counts, dtype, op, comm), HX_NONBLOCKING, request);
}

hx_status_t hx_reduce_scatter_init(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                   hx_request_t **request)
{
    return make(reduce_scatter_call(__func__, in, out, counts, dtype, op, comm), HX_PERSISTENT, request);
}

hx_status_t hx_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0});
}

hx_status_t hx_iallgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0}, HX_NONBLOCKING, request);
}

hx_status_t hx_allgather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0}, HX_PERSISTENT, request);
}

hx_status_t hx_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                          hx_comm_t *comm)
{
    return make(allgatherv_call(__func__, in, count, out, counts, displs, dtype, comm), HX_BLOCKING, NULL);
}

hx_status_t hx_iallgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                           hx_comm_t *comm, hx_request_t **request)
{
    return make(allgatherv_call(__func__, in, count, out, counts, displs, dtype, comm), HX_NONBLOCKING, request);
}

hx_status_t hx_allgatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                               hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return make(allgatherv_call(__func__, in, count, out, counts, displs, dtype, comm), HX_PERSISTENT, request);
}

hx_status_t hx_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_ALLTOALL, comm, in, out, count, dtype, HX_SUM, 0});
}

hx_status_t hx_ialltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_ALLTOALL, comm, in, out, count, dtype, HX_SUM, 0}, HX_NONBLOCKING, request);
}

hx_status_t hx_alltoall_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_ALLTOALL, comm, in, out, count, dtype, HX_SUM, 0}, HX_PERSISTENT, request);
}

hx_status_t hx_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                         const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm)
{
    return make(alltoallv_call(__func__, in, scounts, sdispls, out, rcounts, rdispls, dtype, comm), HX_BLOCKING, NULL);
}

hx_status_t hx_ialltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                          const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return make(alltoallv_call(__func__, in, scounts, sdispls, out, rcounts, rdispls, dtype, comm), HX_NONBLOCKING, request);
}

hx_status_t hx_alltoallv_init(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                              const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return make(alltoallv_call(__func__, in, scounts, sdispls, out, rcounts, rdispls, dtype, comm), HX_PERSISTENT, request);
}

hx_status_t hx_bcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_BCAST, comm, buf, buf, count, dtype, HX_SUM, root});
}

hx_status_t hx_ibcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_BCAST, comm, buf, buf, count, dtype, HX_SUM, root}, HX_NONBLOCKING, request);
}

hx_status_t hx_bcast_init(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_BCAST, comm, buf, buf, count, dtype, HX_SUM, root}, HX_PERSISTENT, request);
}

hx_status_t hx_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_REDUCE, comm, in, out, count, dtype, op, root});
}

hx_status_t hx_ireduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm,
                       hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_REDUCE, comm, in, out, count, dtype, op, root}, HX_NONBLOCKING, request);
}

hx_status_t hx_reduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm,
                           hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_REDUCE, comm, in, out, count, dtype, op, root}, HX_PERSISTENT, request);
}

hx_status_t hx_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root});
}

hx_status_t hx_igather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root}, HX_NONBLOCKING, request);
}

hx_status_t hx_gather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                           hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root}, HX_PERSISTENT, request);
}

hx_status_t hx_gatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                       int root, hx_comm_t *comm)
{
    return make(gatherv_call(__func__, in, count, out, counts, displs, dtype, root, comm), HX_BLOCKING, NULL);
}

hx_status_t hx_igatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                        int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(gatherv_call(__func__, in, count, out, counts, displs, dtype, root, comm), HX_NONBLOCKING, request);
}

hx_status_t hx_gatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                            int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(gatherv_call(__func__, in, count, out, counts, displs, dtype, root, comm), HX_PERSISTENT, request);
}

hx_status_t hx_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root});
}

hx_status_t hx_iscatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                        hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root}, HX_NONBLOCKING, request);
}

hx_status_t hx_scatter_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                            hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root}, HX_PERSISTENT, request);
}

hx_status_t hx_scatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                        int root, hx_comm_t *comm)
{
    return make(scatterv_call(__func__, in, counts, displs, out, count, dtype, root, comm), HX_BLOCKING, NULL);
}

hx_status_t hx_iscatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                         int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(scatterv_call(__func__, in, counts, displs, out, count, dtype, root, comm), HX_NONBLOCKING, request);
}

hx_status_t hx_scatterv_init(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                             int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(scatterv_call(__func__, in, counts, displs, out, count, dtype, root, comm), HX_PERSISTENT, request);
}

hx_status_t hx_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_SCAN, comm, in, out, count, dtype, op, 0});
}

hx_status_t hx_iscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm, hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_SCAN, comm, in, out, count, dtype, op, 0}, HX_NONBLOCKING, request);
}

hx_status_t hx_scan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                         hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_SCAN, comm, in, out, count, dtype, op, 0}, HX_PERSISTENT, request);
}

hx_status_t hx_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run((struct arguments){__func__, HX_COLL_EXSCAN, comm, in, out, count, dtype, op, 0});
}

hx_status_t hx_iexscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                       hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_EXSCAN, comm, in, out, count, dtype, op, 0}, HX_NONBLOCKING, request);
}

hx_status_t hx_exscan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                           hx_request_t **request)
{
    return start((struct arguments){__func__, HX_COLL_EXSCAN, comm, in, out, count, dtype, op, 0}, HX_PERSISTENT, request);
}

hx_status_t hx_barrier(hx_comm_t *comm)
{
    return run(barrier_arguments(__func__, comm));
}

hx_status_t hx_ibarrier(hx_comm_t *comm, hx_request_t **request)
{
    return start(barrier_arguments(__func__, comm), HX_NONBLOCKING, request);
}

hx_status_t hx_barrier_init(hx_comm_t *comm, hx_request_t **request)
{
    return start(barrier_arguments(__func__, comm), HX_PERSISTENT, request);
}
