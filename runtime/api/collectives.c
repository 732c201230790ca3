/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives of hierax.h: how the arguments of each make a call. Each has three forms: it blocks, it does not
 * (hx_i...), or it is made ready to be started many times (hx_..._init). */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <stdint.h>

/* Inlined: the compiler knows the collective, and makes no struct of a call that is ready. */
#define INLINED static inline __attribute__((always_inline))

/* The arguments of a collective; those that it has not are 0. */
struct arguments {
    const char *name; /* of the public function */
    enum hx_coll coll;
    hx_comm_t *comm;
    const void *in;
    void *out;    /* a broadcast's buf is both */
    size_t count; /* with counts: of this rank's own block, where the call names it */
    hx_dtype_t dtype;
    hx_op_t op;
    int root;
    const size_t *counts, *displs;   /* of an all-to-all: of what this rank sends */
    const size_t *rcounts, *rdispls; /* and of what it receives */
};

/* Those of the public function that it stands in, in order from coll on. */
#define ARGUMENTS(...) (struct arguments){.name = __func__, __VA_ARGS__}

/* The idx-th block at base, which may be anything yet. */
static void *block_at(const void *base, size_t idx, size_t count, hx_dtype_t dtype)
{
    return (void *)((uintptr_t)base + idx * count * hx_dtype_bytes(dtype));
}

/* The block of rank in a's out. */
static void *out_block(const struct arguments *a, int rank)
{
    size_t at = a->displs ? a->displs[rank] : 0;

    for (int r = 0; !a->displs && r < rank; r++)
        at += a->counts[r];
    return block_at(a->out, at, 1, a->dtype);
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

/* As hx_rank, but fast. For a communicator that has been freed it may return any number, so only compare the result. */
INLINED int rank_in(const hx_comm_t *comm)
{
    return comm && hx_world ? comm->members.rank : -1;
}

INLINED enum hx_call_fault fault_of(int lacks_in, int lacks_out, int misplaced)
{
    return lacks_in ? HX_FAULT_IN_NULL : lacks_out ? HX_FAULT_OUT_NULL : misplaced ? HX_FAULT_IN_PLACE : HX_FAULT_NONE;
}

/* The buffers of a collective without counts. */
struct buffers {
    const void *in;     /* as the engine gets it */
    const void *memory; /* must not be HX_IN_PLACE */
    enum hx_call_fault fault;
    int copies; /* in place, something must be copied */
};

/* If only the root gives, only the root has an in; if only the root gets, only the root has an out. In an exclusive scan rank 0 has
 * an out only in place. */
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
        b.in = block_at(a->out, (size_t)a->root, a->count, a->dtype);
    else
        b.copies = in_place;
    if (gives == HX_HOLDS_ALL && gets == HX_HOLDS_OWN)
        b.copies = in_place || a->in == a->out;
    return b;
}

INLINED struct hx_call call_of(const struct arguments *a, uint64_t count)
{
    return (struct hx_call){.name = a->name, .comm = a->comm, .in = a->in, .out = a->out, .said_count = a->count,
                            .key = hx_call_key_of(a->coll, a->dtype, a->op, a->root, count)};
}

/* In place, so many elements at `at` are copied before, or arrive there afterwards; see hx_inplace_copy. */
static void copy_set(struct hx_call *call, enum hx_inplace_copy copy, size_t elements, void *at)
{
    call->inplace_copy = copy;
    call->inplace_copy_bytes = elements * hx_dtype_bytes(call->key.dtype);
    call->inplace_copy_at = at;
}

/* In place, a result that is only this rank's block of the vector, or blocks that arrive, would overwrite input that is still to be
 * read. */
INLINED struct hx_call plain_call(const struct arguments *a)
{
    struct buffers b = buffers_of(a);
    struct hx_call call = call_of(a, a->count);
    enum hx_holds gives = hx_coll_gives(a->coll);

    call.in = b.in;
    call.fault = !b.fault && b.memory == HX_IN_PLACE ? HX_FAULT_IN_PLACE : b.fault;
    if (b.copies && gives == HX_HOLDS_OWN)
        copy_set(&call, HX_INPLACE_COPY_IN, a->count, block_at(a->out, (size_t)rank_in(a->comm), a->count, a->dtype));
    else if (b.copies && gives == HX_HOLDS_PAIRS)
        copy_set(&call, HX_INPLACE_COPY_IN, a->count * (size_t)hx_size(a->comm), a->out);
    else if (b.copies) /* a root's own block stays where it is: its copy is discarded */
        copy_set(&call, HX_INPLACE_COPY_OUT, a->count, gives == HX_HOLDS_ROOT ? NULL : a->out);
    return call;
}

/* Reduce-scatter and all-gather with counts. A rank that gets nothing needs no out; one that gives nothing needs no in. */
static struct hx_call blocks_call(const struct arguments *a)
{
    const int rank = hx_rank(a->comm), reduces = hx_coll_reduces(a->coll);
    const int in_place = a->in == HX_IN_PLACE || (reduces && a->in == a->out);
    const size_t mine = a->counts && rank >= 0 ? a->counts[rank] : 0;
    const int has_in = reduces || mine, has_out = !reduces || in_place || mine;
    struct hx_call call = call_of(a, 0);

    if (a->counts)
        call.key.blocks = hx_blocks_of(a->counts, a->displs, hx_size(a->comm), &call.key.count);
    call.fault = fault_of(has_in && !a->in, has_out && !a->out, has_out && a->out == HX_IN_PLACE);
    if (!a->counts || (!reduces && !in_place && a->count != mine))
        call.fault = a->counts ? HX_FAULT_COUNT : HX_FAULT_COUNTS_NULL;
    if (in_place && reduces)
        call.in = a->out;
    if (in_place && mine)
        copy_set(&call, reduces ? HX_INPLACE_COPY_OUT : HX_INPLACE_COPY_IN, mine, reduces ? a->out : out_block(a, rank));
    return call;
}

/* Gather and scatter with counts. Ranks other than the root do not know them yet; they are in the call all the same. Only the root
 * has all blocks. */
static struct hx_call root_counts_call(const struct arguments *a)
{
    const int is_root = a->comm && rank_in(a->comm) == a->root, gathers = a->coll == HX_COLL_GATHER;
    const void *all = gathers ? a->out : a->in, *own = gathers ? a->in : a->out;
    struct hx_call call = call_of(a, 1);

    call.root_knows = 1;
    if (is_root) {
        call.root_counts = a->counts;
        call.root_displs = a->displs;
    }
    if (call.root_counts && own == HX_IN_PLACE) {
        call.said_count = a->counts[a->root];
        if (gathers)
            call.in = out_block(a, a->root);
        else /* the root's own block stays where it is: its copy is discarded */
            copy_set(&call, HX_INPLACE_COPY_OUT, call.said_count, NULL);
    }
    int lacks_all = is_root && !all && !hx_counts_are_0(a->counts, hx_size(a->comm)), lacks_own = !own && call.said_count;
    call.fault = is_root && !a->counts ? HX_FAULT_COUNTS_NULL
                                       : fault_of(gathers ? lacks_own : lacks_all, gathers ? lacks_all : lacks_own,
                                                  (is_root ? all : own) == HX_IN_PLACE);
    return call;
}

/* ---- the forms --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) hx_status_t do_blocking(struct arguments a)
{
    struct hx_call call = plain_call(&a);
    hx_status_t status = hx_call_do(&call, HX_BLOCKING, NULL);

    return status == HX_SUCCESS && !a.comm->group ? hx_call_counted(a.comm, status) : status;
}

/* Every instruction counts here, so the arguments are written to memory only for do_blocking. It serves calls whose plan is not
 * bound yet, and calls that need a copy or other work first. */
INLINED hx_status_t run(struct arguments a)
{
    HX_ENTER();
    const struct buffers b = buffers_of(&a);
    const struct hx_call_key key = hx_call_key_of(a.coll, a.dtype, a.op, a.root, a.count);
    struct hx_bound *bound = b.fault || b.memory == HX_IN_PLACE || b.copies ? NULL : hx_call_known(a.comm, key);

    if (bound && !hx_call_is_ahead(&a.comm->engine, &key))
        return hx_call_counted(a.comm, hx_engine_run(&a.comm->engine, bound, a.name, b.in, a.out));
    return do_blocking((struct arguments){.name = a.name, a.coll, a.comm, a.in, a.out, a.count, a.dtype, a.op, a.root});
}

static hx_status_t start(struct arguments a, enum hx_mode mode, hx_request_t **request)
{
    struct hx_call call = plain_call(&a);

    return hx_call_make(&call, mode, request);
}

static struct hx_pair_counts pair_counts_of(const struct arguments *a)
{
    const int n = hx_size(a->comm);

    return (struct hx_pair_counts){n, n, a->counts, a->displs, a->rcounts, a->rdispls};
}

/* The forms of a collective with counts. */
static hx_status_t make(struct arguments a, enum hx_mode mode, hx_request_t **request)
{
    struct hx_call call;

    if (a.coll == HX_COLL_ALLTOALLV)
        call = hx_call_of_pairs(a.name, a.comm, a.in, a.out, a.dtype, pair_counts_of(&a));
    else if (hx_coll_is_rooted(a.coll))
        call = root_counts_call(&a);
    else
        call = blocks_call(&a);
    return hx_call_make(&call, mode, request);
}

/* A barrier sends and receives a token. */
INLINED struct arguments barrier_arguments(const char *name, hx_comm_t *comm)
{
    void *token = comm ? &comm->engine.token : NULL;

    return (struct arguments){.name = name, HX_COLL_BARRIER, comm, token, token, 1, HX_BYTE, HX_SUM, 0};
}

/* ---- public functions -------------------------------------------------------------------------------------------- */

hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_ALLREDUCE, comm, in, out, count, dtype, op, 0));
}

hx_status_t hx_iallreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                          hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_ALLREDUCE, comm, in, out, count, dtype, op, 0), HX_NONBLOCKING, request);
}

hx_status_t hx_allreduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                              hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_ALLREDUCE, comm, in, out, count, dtype, op, 0), HX_PERSISTENT, request);
}

hx_status_t hx_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_REDUCE_SCATTER, comm, in, out, recvcount, dtype, op, 0));
}

hx_status_t hx_ireduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                     hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_REDUCE_SCATTER, comm, in, out, recvcount, dtype, op, 0), HX_NONBLOCKING, request);
}

hx_status_t hx_reduce_scatter_block_init(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                         hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_REDUCE_SCATTER, comm, in, out, recvcount, dtype, op, 0), HX_PERSISTENT, request);
}

hx_status_t hx_reduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return make(ARGUMENTS(HX_COLL_REDUCE_SCATTER, comm, in, out, 0, dtype, op, 0, counts), HX_BLOCKING, NULL);
}

hx_status_t hx_ireduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                               hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_REDUCE_SCATTER, comm, in, out, 0, dtype, op, 0, counts), HX_NONBLOCKING, request);
}

hx_status_t hx_reduce_scatter_init(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                   hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_REDUCE_SCATTER, comm, in, out, 0, dtype, op, 0, counts), HX_PERSISTENT, request);
}

hx_status_t hx_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0));
}

hx_status_t hx_iallgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0), HX_NONBLOCKING, request);
}

hx_status_t hx_allgather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0), HX_PERSISTENT, request);
}

hx_status_t hx_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                          hx_comm_t *comm)
{
    return make(ARGUMENTS(HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0, counts, displs), HX_BLOCKING, NULL);
}

hx_status_t hx_iallgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                           hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0, counts, displs), HX_NONBLOCKING, request);
}

hx_status_t hx_allgatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                               hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_ALLGATHER, comm, in, out, count, dtype, HX_SUM, 0, counts, displs), HX_PERSISTENT, request);
}

hx_status_t hx_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_ALLTOALL, comm, in, out, count, dtype, HX_SUM, 0));
}

hx_status_t hx_ialltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_ALLTOALL, comm, in, out, count, dtype, HX_SUM, 0), HX_NONBLOCKING, request);
}

hx_status_t hx_alltoall_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_ALLTOALL, comm, in, out, count, dtype, HX_SUM, 0), HX_PERSISTENT, request);
}

hx_status_t hx_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                         const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm)
{
    return make(ARGUMENTS(HX_COLL_ALLTOALLV, comm, in, out, 0, dtype, HX_SUM, 0, scounts, sdispls, rcounts, rdispls),
                HX_BLOCKING, NULL);
}

hx_status_t hx_ialltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                          const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_ALLTOALLV, comm, in, out, 0, dtype, HX_SUM, 0, scounts, sdispls, rcounts, rdispls),
                HX_NONBLOCKING, request);
}

hx_status_t hx_alltoallv_init(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                              const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_ALLTOALLV, comm, in, out, 0, dtype, HX_SUM, 0, scounts, sdispls, rcounts, rdispls),
                HX_PERSISTENT, request);
}

hx_status_t hx_bcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_BCAST, comm, buf, buf, count, dtype, HX_SUM, root));
}

hx_status_t hx_ibcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_BCAST, comm, buf, buf, count, dtype, HX_SUM, root), HX_NONBLOCKING, request);
}

hx_status_t hx_bcast_init(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_BCAST, comm, buf, buf, count, dtype, HX_SUM, root), HX_PERSISTENT, request);
}

hx_status_t hx_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_REDUCE, comm, in, out, count, dtype, op, root));
}

hx_status_t hx_ireduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm,
                       hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_REDUCE, comm, in, out, count, dtype, op, root), HX_NONBLOCKING, request);
}

hx_status_t hx_reduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm,
                           hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_REDUCE, comm, in, out, count, dtype, op, root), HX_PERSISTENT, request);
}

hx_status_t hx_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root));
}

hx_status_t hx_igather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root), HX_NONBLOCKING, request);
}

hx_status_t hx_gather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                           hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root), HX_PERSISTENT, request);
}

hx_status_t hx_gatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                       int root, hx_comm_t *comm)
{
    return make(ARGUMENTS(HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root, counts, displs), HX_BLOCKING, NULL);
}

hx_status_t hx_igatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                        int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root, counts, displs), HX_NONBLOCKING, request);
}

hx_status_t hx_gatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                            int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_GATHER, comm, in, out, count, dtype, HX_SUM, root, counts, displs), HX_PERSISTENT, request);
}

hx_status_t hx_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root));
}

hx_status_t hx_iscatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                        hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root), HX_NONBLOCKING, request);
}

hx_status_t hx_scatter_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                            hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root), HX_PERSISTENT, request);
}

hx_status_t hx_scatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                        int root, hx_comm_t *comm)
{
    return make(ARGUMENTS(HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root, counts, displs), HX_BLOCKING, NULL);
}

hx_status_t hx_iscatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                         int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root, counts, displs), HX_NONBLOCKING, request);
}

hx_status_t hx_scatterv_init(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                             int root, hx_comm_t *comm, hx_request_t **request)
{
    return make(ARGUMENTS(HX_COLL_SCATTER, comm, in, out, count, dtype, HX_SUM, root, counts, displs), HX_PERSISTENT, request);
}

hx_status_t hx_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_SCAN, comm, in, out, count, dtype, op, 0));
}

hx_status_t hx_iscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm, hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_SCAN, comm, in, out, count, dtype, op, 0), HX_NONBLOCKING, request);
}

hx_status_t hx_scan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                         hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_SCAN, comm, in, out, count, dtype, op, 0), HX_PERSISTENT, request);
}

hx_status_t hx_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    return run(ARGUMENTS(HX_COLL_EXSCAN, comm, in, out, count, dtype, op, 0));
}

hx_status_t hx_iexscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                       hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_EXSCAN, comm, in, out, count, dtype, op, 0), HX_NONBLOCKING, request);
}

hx_status_t hx_exscan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                           hx_request_t **request)
{
    return start(ARGUMENTS(HX_COLL_EXSCAN, comm, in, out, count, dtype, op, 0), HX_PERSISTENT, request);
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
