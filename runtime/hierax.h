/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierax: hierarchical collective communication for jobs that run many ranks per node.
 *
 * Conventions, for every function below:
 *  - A function that can fail returns hx_status_t: HX_SUCCESS (0), or an HX_ERR_* code. The text with the exact
 *    values is in hx_error_detail(comm), or hx_error_detail(NULL) where there is no communicator (start-up).
 *  - Counts are in elements (size_t), never in bytes. A count of 0 is valid everywhere.
 *  - Every rank of the communicator calls the same collectives in the same order with matching arguments.
 *  - Meanings follow the MPI standard where it has the operation.
 *  - in and out do not overlap, but where a function says so (HX_IN_PLACE). All-reduce, reduce, reduce-scatters and scans
 *    take out as in too, which is the same as HX_IN_PLACE. Buffers are in memory that the processor reads and writes: none of a GPU.
 *  - What a rank finds wrong in its own arguments is HX_ERR_ARG there, as if nothing had been called: the other ranks wait for the
 *    right call, until HX_TIMEOUT.
 *  - A communicator or request that has been freed must not be used. A debug build of the library (configure --enable-debug)
 *    remembers the last 4096 of them: a call on one gives HX_ERR_STATE, and the text says what it was and how it ended.
 *  - Any thread may call any function but hx_init, hx_init_with and hx_finalize, which one thread calls while no other is in Hierax.
 *    Threads may drive different communicators at once. Calls on one communicator follow each other; it is up to the
 *    program that their order is the same on all ranks. A thread must not be cancelled (pthread_cancel) while it is in Hierax.
 *  - Signals may come at any time. They end no wait. A signal handler must not call Hierax.
 *  - A rank may have children, made by fork, posix_spawn or system. A child may outlive its rank. A child must not call Hierax. If a rank
 *    is alone on its node, a child made by a raw clone may hide the rank's death.
 *  - A program must close only descriptors that it has opened itself. A rank that closes descriptors of Hierax (closefrom, close_range), or
 *    executes another program, counts as dead.
 */
#ifndef HIERAX_H
#define HIERAX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HX_PUBLIC __attribute__((visibility("default")))
#else
#define HX_PUBLIC
#endif

/* If a call fails on one rank, it also fails on every rank that cannot finish the call without that one. The status is the same
 * (HX_ERR_MISMATCH if the first rank has HX_ERR_ARG), and the detail names the first rank and the reason. A rank that waits in the call
 * learns of the failure within tenths of a second on the same node, and within seconds on another node. Calls on other communicators go on.
 * One exception: if a message has arrived in part and its sender stops in the middle of it, the failing call waits up to 5 s for the rest.
 * Then the rank closes its network endpoint, and all of its calls between nodes fail with HX_ERR_TRANSPORT.
 *
 * A communicator stays usable after HX_ERR_ARG for this rank's own arguments and after HX_ERR_STATE (no call was made); after HX_ERR_ARG of
 * hx_gatherv and hx_scatterv for counts; after HX_ERR_NOMEM of hx_comm_split, hx_comm_dup and hx_alloc if all ranks get it (the next call
 * shows whether they did); after any error of hx_comm_group and hx_plan_info; and after HX_ERR_MISMATCH found by HX_CHECK=1. After any
 * other error a communicator can only be freed. */
typedef enum hx_status {
    HX_SUCCESS = 0,
    HX_ERR_ARG = 1,       /* an argument is wrong; nothing was sent */
    HX_ERR_STATE = 2,     /* called before hx_init, after hx_finalize, in a child made by fork, or from an operation of hx_op_create. (A
                           * communicator that has failed returns from every later call what it has failed with.) */
    HX_ERR_ENV = 3,       /* an HX_* setting or the launcher's environment is wrong */
    HX_ERR_NOMEM = 4,     /* memory, or another resource of this machine, is exhausted or refused */
    HX_ERR_BOOTSTRAP = 5, /* the launcher or the store cannot be reached or disagrees */
    HX_ERR_TRANSPORT = 6, /* the network refuses to work; no usable provider; a connection has broken between two ranks that live */
    HX_ERR_TIMEOUT = 7,   /* the call waited longer than HX_TIMEOUT without any progress. The detail names the ranks that have not arrived,
                           * and where they are: in which other call, or for how long outside Hierax. A warning says the same after 5 s, or
                           * after a quarter of HX_TIMEOUT if that is less. hx_test returns it too, if it is called at least once a
                           * second meanwhile */
    HX_ERR_PEER_DEAD = 8, /* a rank of the communicator has died, or has called hx_finalize and makes no other call. The detail names the
                           * rank and says which of the two. A death is found within tenths of a second on the same node and within seconds
                           * on another. If a whole node vanishes, as by loss of power, the others find it within 15 s where they can tell
                           * absence from slowness; else they get HX_ERR_TIMEOUT */
    HX_ERR_INTERNAL = 9,  /* a fault of Hierax itself */
    HX_ERR_MISMATCH = 10  /* ranks made different calls, or one call with different arguments. A rank finds it when the call brings it
                           * together with the other rank, or after it has waited for the other: for tenths of a second on the same node,
                           * for a second between nodes. Ranks that return without meeting do not find it. Two ranks that wait for each
                           * other, each in a call that the other has not entered, find it within seconds if each process has one thread.
                           * With HX_CHECK=1 the ranks compare before each blocking call: then nothing was done, and the communicator stays
                           * usable */
} hx_status_t;

/* Element types. Values are stable. */
typedef enum hx_dtype {
    HX_INT8 = 0,
    HX_INT16,
    HX_INT32,
    HX_INT64,
    HX_UINT8,
    HX_UINT16,
    HX_UINT32,
    HX_UINT64,
    HX_FLOAT16,   /* IEEE binary16; sums accumulate in 32 bits and round once per reduce step */
    HX_BFLOAT16,  /* upper half of binary32; accumulates as HX_FLOAT16 does */
    HX_FLOAT32,
    HX_FLOAT64,
    HX_COMPLEX64,  /* two binary32: real, imaginary */
    HX_COMPLEX128, /* two binary64: real, imaginary */
    HX_BYTE,       /* raw bytes: bit-wise operations only */
    HX_FLOAT32_INDEX, /* pairs of a value and its index, for HX_MINLOC and HX_MAXLOC only: hx_float32_index_t, as MPI_FLOAT_INT; */
    HX_FLOAT64_INDEX, /* hx_float64_index_t, as MPI_DOUBLE_INT; */
    HX_INT32_INDEX,   /* hx_int32_index_t, as MPI_2INT; */
    HX_INT64_INDEX,   /* hx_int64_index_t, as MPI_LONG_INT where long has 64 bits */
    HX_DTYPE_MAX = 0x7fffffff /* no type: room for those of hx_dtype_contiguous */
} hx_dtype_t;

/* Elements of the pair types. Those of 16 bytes end with 4 of padding, which a reduction leaves 0 (what a scan gives its first rank is
 * that rank's input as it is). */
typedef struct hx_float32_index {
    float value;
    int32_t index;
} hx_float32_index_t;

typedef struct hx_float64_index {
    double value;
    int32_t index;
} hx_float64_index_t;

typedef struct hx_int32_index {
    int32_t value, index;
} hx_int32_index_t;

typedef struct hx_int64_index {
    int64_t value;
    int32_t index;
} hx_int64_index_t;

/* Reduction operations. Values are stable. All of these are commutative. Where a scan has one rank's input only (the first rank, of an
 * exclusive scan the second) it is the result as it is. */
typedef enum hx_op {
    HX_SUM = 0,
    HX_PROD,
    HX_MIN,  /* a NaN operand gives NaN */
    HX_MAX,  /* a NaN operand gives NaN */
    HX_AVG,  /* sum divided by the number of ranks that contribute; floating and complex types only */
    HX_BAND, /* bit-wise: integer types and HX_BYTE */
    HX_BOR,
    HX_BXOR,
    HX_LAND, /* logical, result 0 or 1: integer types */
    HX_LOR,
    HX_LXOR,
    HX_MINLOC, /* the least value and its index, of equal ones the least index: pairs only. NaN counts as less than any number, */
    HX_MAXLOC, /* and as greater: so a NaN gives NaN, with the least index of one. -0 equals +0, and comes out as +0 */
    HX_OP_MAX = 0x7fffffff /* no operation: room for those of hx_op_create */
} hx_op_t;

/* As `in`: the input is already in `out` (all-reduce, scans, reduce on the root), in this rank's block of `out` (all-gather,
 * gather on the root), or in the full vector at `out`, whose first recvcount elements receive the result (reduce-scatter), or in
 * `out`, each block where what it makes room for comes from (all-to-all). As `out`: the root keeps its block in `in` (scatter).
 * As MPI_IN_PLACE. */
#define HX_IN_PLACE ((void *)-1)

#define HX_UNDEFINED (-32766) /* a color: in no new communicator */

typedef struct hx_comm hx_comm_t;       /* a group of ranks with a private context */
typedef struct hx_request hx_request_t; /* a call that has been started, or made ready */

/* How this process reaches the other ranks before Hierax connects them. Every callback returns 0 on success and is
 * called from the thread inside hx_init_with; keys and values are text without white space, of at most 63 and 1000 characters. */
typedef struct hx_bootstrap {
    int rank, size;
    int (*put)(void *ctx, const char *key, const char *value);
    int (*fence)(void *ctx); /* returns when every rank has called it; values put before are then visible to all */
    int (*get)(void *ctx, const char *key, char *value, size_t capacity_bytes); /* value is NUL-terminated; not 0: nobody has put it */
    void *ctx;
} hx_bootstrap_t;

/* Arguments of hx_init_with; zero-initialise, then set what is needed. */
typedef struct hx_config {
    const hx_bootstrap_t *bootstrap; /* NULL: detect the launcher */
    const char *const *settings;     /* NULL-terminated "HX_NAME=value" strings; they win over the environment */
} hx_config_t;

/* Start Hierax; *world becomes the communicator of all ranks of the job. Blocking, collective, once per process. The
 * launcher is detected: TCP store (HX_ROOT HX_RANK HX_SIZE), PMI-1 (PMI_FD), PMIx, else a job of one rank;
 * HX_BOOTSTRAP forces one. If HX_ROOT is set by hand, rank 0 serves the store. When rank 0 dies, the others get HX_ERR_PEER_DEAD. A rank
 * that has never reached rank 0 cannot tell whether rank 0 is dead or only late: it waits until HX_TIMEOUT and gets HX_ERR_BOOTSTRAP. Time
 * in which a process was stopped does not count. Errors: HX_ERR_ENV, HX_ERR_BOOTSTRAP, HX_ERR_TRANSPORT, HX_ERR_NOMEM, HX_ERR_STATE,
 * HX_ERR_TIMEOUT, HX_ERR_PEER_DEAD; HX_ERR_ARG where world is NULL. */
HX_PUBLIC hx_status_t hx_init(hx_comm_t **world);

/* As hx_init, with the caller's own bootstrap callbacks or settings. Errors: HX_ERR_ARG also for callbacks that are NULL, and a rank
 * that is not 0 .. size-1. */
HX_PUBLIC hx_status_t hx_init_with(const hx_config_t *config, hx_comm_t **world);

/* Stop Hierax and release everything, the world communicator included. Blocking, collective: it returns when all ranks have called it. If
 * another rank makes a different call and waits for this rank in it, that rank gets HX_ERR_PEER_DEAD or HX_ERR_MISMATCH. Errors:
 * HX_ERR_STATE if requests are left, and HX_ERR_MISMATCH found by HX_CHECK; after these two Hierax still runs. Also those of hx_allreduce;
 * after these everything is released nevertheless. */
HX_PUBLIC hx_status_t hx_finalize(void);

/* This process's rank in comm, 0 .. size-1; -1 if comm is NULL. */
HX_PUBLIC int hx_rank(const hx_comm_t *comm);

/* The number of ranks in comm; -1 if comm is NULL. */
HX_PUBLIC int hx_size(const hx_comm_t *comm);

/* Make communicators of the ranks of comm with the same color (>= 0), ordered by key, then by rank in comm. *out: that of this rank,
 * NULL where color is HX_UNDEFINED. Blocking, collective. Errors: HX_ERR_ARG, HX_ERR_NOMEM (also if a rank would have more than 8,190
 * communicators at once, or more than 254 where the network's tags have only 48 bits, as those of cxi), and those of hx_allreduce. */
HX_PUBLIC hx_status_t hx_comm_split(hx_comm_t *comm, int color, int key, hx_comm_t **out);

/* Make a communicator of the same ranks. Blocking, collective. Errors as hx_comm_split. */
HX_PUBLIC hx_status_t hx_comm_dup(hx_comm_t *comm, hx_comm_t **out);

/* Make a communicator of the n given ranks of comm: rank i of *out is ranks[i]. Only these ranks call it, all with the same list. Ranks
 * that have several groups in common create them in the same order. A rank creates one group at a time, whichever thread calls, so the
 * threads of a rank must keep to one order too. The other ranks of comm may have died. If a member dies, does not call in time or gives
 * another list (HX_ERR_MISMATCH), comm stays usable. But after an error a rank gets HX_ERR_STATE when it asks for a group with one of these
 * members again. The members then get the same for a group with this rank, after some seconds at the latest. Groups with other ranks can
 * still be created. If a member's arguments are wrong, the others wait for it until HX_TIMEOUT. Blocking. Errors as hx_comm_split. */
HX_PUBLIC hx_status_t hx_comm_group(hx_comm_t *comm, const int *ranks, int n, hx_comm_t **out);

/* Release comm. Local: it waits for no other rank. Ranks may free communicators in any order, also while other ranks are still in calls on
 * them: what this rank has contributed to these calls stays valid. Requests of comm, active or made ready, can still be used; comm is
 * released with the last of them. Nothing else of comm may be used after this call. Every rank should free comm: its number and memory
 * are used again only when all ranks of comm on this node have freed it. A rank that makes a call on comm that another rank has freed
 * gets HX_ERR_MISMATCH. Errors: HX_ERR_ARG; HX_ERR_STATE for the world communicator, which hx_finalize frees. */
HX_PUBLIC hx_status_t hx_comm_free(hx_comm_t *comm);

/* Return when every rank of comm has entered the call. Blocking. Errors as hx_allreduce. */
HX_PUBLIC hx_status_t hx_barrier(hx_comm_t *comm);

/* out[i] on every rank = in[i] of all ranks combined with op. in, out: count elements each; in may be HX_IN_PLACE.
 * Results are bitwise equal on all ranks. Blocking. Errors: HX_ERR_ARG, HX_ERR_STATE; and, after which comm can only be
 * freed (but see HX_ERR_MISMATCH): HX_ERR_NOMEM, HX_ERR_ENV (the settings leave no plan that fits), HX_ERR_TIMEOUT, HX_ERR_PEER_DEAD,
 * HX_ERR_MISMATCH, HX_ERR_TRANSPORT. */
HX_PUBLIC hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op,
                                   hx_comm_t *comm);

/* out on rank r = elements r*recvcount .. (r+1)*recvcount-1 of all ranks' in, combined with op. in: size*recvcount
 * elements; out: recvcount elements (HX_IN_PLACE: see there). Blocking. Errors as hx_allreduce. */
HX_PUBLIC hx_status_t hx_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype,
                                              hx_op_t op, hx_comm_t *comm);

/* As hx_reduce_scatter_block, but rank r gets counts[r] elements: out on rank r = those after the first counts[0] + ... +
 * counts[r-1] of all ranks' in, combined with op. counts: size entries, the same on all ranks, 0 where a rank gets nothing (and
 * needs no out). in: the sum of counts elements. With an entry of 0 a rank may return before others have entered the
 * call. Blocking. Errors as hx_allreduce. */
HX_PUBLIC hx_status_t hx_reduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op,
                                        hx_comm_t *comm);

/* out on every rank = the in of rank 0, then that of rank 1, ... in: count elements; out: size*count elements.
 * Blocking. Errors as hx_allreduce. */
HX_PUBLIC hx_status_t hx_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm);

/* As hx_allgather, but rank r gives counts[r] elements, and they go to out + displs[r] elements. counts: size entries, the same on
 * all ranks, 0 where a rank gives nothing (and needs no in); count: this rank's entry, ignored with HX_IN_PLACE. displs: size
 * entries, which may differ between ranks; NULL: one block after the other. With an entry of 0 in counts a rank may return
 * before others have entered the call. Blocking. Errors as hx_allreduce; HX_ERR_ARG also for blocks that overlap in
 * out. */
HX_PUBLIC hx_status_t hx_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                    hx_dtype_t dtype, hx_comm_t *comm);

/* buf on every rank = buf of root. buf: count elements. The root may return before others have entered the call.
 * Blocking. Errors as hx_allreduce; HX_ERR_ARG also for a root out of range. */
HX_PUBLIC hx_status_t hx_bcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm);

/* out on root = in of all ranks combined with op, elementwise. in: count elements; on the root it may be HX_IN_PLACE. out: count
 * elements on the root, ignored elsewhere. Other ranks may return before the root has entered the call. Blocking. Errors
 * as hx_bcast. */
HX_PUBLIC hx_status_t hx_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                                hx_comm_t *comm);

/* out on root = the in of rank 0, then that of rank 1, ... in: count elements; on the root it may be HX_IN_PLACE. out: size*count
 * elements on the root, ignored elsewhere. Other ranks may return before the root has entered the call. Blocking. Errors
 * as hx_bcast. */
HX_PUBLIC hx_status_t hx_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm);

/* out on rank r = elements r*count .. (r+1)*count-1 of the root's in. in: size*count elements on the root, ignored elsewhere.
 * out: count elements; on the root it may be HX_IN_PLACE: its own block then stays where it is. The root may return before
 * others have entered the call. Blocking. Errors as hx_bcast. */
HX_PUBLIC hx_status_t hx_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm);

/* As hx_gather, but rank r gives as many elements as it says (count), and they go to out + displs[r] elements. counts, displs: size
 * entries, looked at on the root only: what each rank gives, and where it goes (NULL: one block after the other). count: ignored with
 * HX_IN_PLACE. Who gives nothing needs no in. All ranks may wait for each other. Blocking. Errors as hx_bcast; HX_ERR_ARG also for
 * blocks that overlap in out, and on the root for a rank that gives another count than the root expects: out is then as it was, and
 * the communicator goes on. */
HX_PUBLIC hx_status_t hx_gatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                                 int root, hx_comm_t *comm);

/* As hx_scatter, but rank r gets the counts[r] elements from in + displs[r] elements on. counts, displs: size entries, looked at on the
 * root only; NULL displs: one block after the other. count: how many this rank expects, ignored with HX_IN_PLACE. Who gets nothing
 * needs no out. Ranks may wait for the root. Blocking. Errors as hx_bcast; HX_ERR_ARG also on a rank that expects another count than
 * the root sends: out is then as it was, and the communicator goes on. */
HX_PUBLIC hx_status_t hx_scatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                                  int root, hx_comm_t *comm);

/* Block r of out = this rank's block of rank r's in. in, out: size blocks of count elements each, block r being elements r*count ..
 * (r+1)*count-1, for and from rank r. With HX_IN_PLACE as in, block r of out is sent to rank r and then holds what r sent. Buffers
 * that overlap otherwise give undefined results. Blocking. Errors as hx_allgather. */
HX_PUBLIC hx_status_t hx_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm);

/* As hx_alltoall, with blocks of any length: this rank sends rank r scounts[r] elements from in + sdispls[r] elements, and gets from it
 * rcounts[r] elements, as many as that rank sends, into out + rdispls[r] elements. All four arrays: size entries. Counts may be 0,
 * also all of them (then the buffer may be NULL). With HX_IN_PLACE as in, scounts and sdispls are ignored: what is sent stands where
 * what comes goes, rcounts[r] elements at rdispls[r]. A rank may return before ranks that send it nothing have entered the call.
 * On several nodes of several ranks all ranks of a node meet in the call. Blocking. Errors as hx_allreduce; HX_ERR_ARG also for
 * displacements that reach beyond an address space, blocks that overlap in out, and a rank that sends itself another count
 * than it expects. On several nodes HX_ERR_ARG also for another count than one of its node sends it, where comm has failed then: the
 * others get HX_ERR_MISMATCH. Other wrong counts are found where a message has another length than is expected
 * (HX_ERR_MISMATCH), or where one waits that never comes (HX_ERR_TIMEOUT). */
HX_PUBLIC hx_status_t hx_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                   const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm);

/* out on rank r = in of the ranks 0 .. r combined with op in this order, elementwise; HX_AVG divides by r + 1. in, out: count
 * elements each; in may be HX_IN_PLACE. A rank may return before higher ranks have entered the call. Blocking. Errors as
 * hx_allreduce. */
HX_PUBLIC hx_status_t hx_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm);

/* out on rank r = in of the ranks 0 .. r-1 combined with op in this order, elementwise; HX_AVG divides by r. On rank 0 out is left
 * as it is, and without HX_IN_PLACE ignored. in, out: count elements each; in may be HX_IN_PLACE. A rank may return before
 * higher ranks have entered the call. Blocking. Errors as hx_allreduce. */
HX_PUBLIC hx_status_t hx_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm);

/* ---- the program's own operations and datatypes -----------------------------------------------------------------
 * Made and freed by each rank for itself, at any time, before hx_init too; the handles of the same operation or type may differ from rank
 * to rank. Any datatype goes with any operation of the program's own; the built-in operations take built-in types only. */

/* result[i] = left[i] op right[i], for count elements of dtype, which is the value that the call was given. left holds what lower ranks
 * have contributed, right what higher ones have. The three arrays never overlap, so they may be declared restrict. They are aligned as the
 * program's buffers are, as far as an element's size asks for it: to the largest power of two that divides it, at most 64 bytes. The
 * function must be associative; it must not call Hierax (HX_ERR_STATE), and runs in whichever thread moves the call, several at once where
 * threads drive several communicators. */
typedef void hx_reduce_fn_t(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx);

/* Make an operation of fn, which gets ctx. commutative: 0 where op(a, b) and op(b, a) may differ; contributions are then folded in
 * rank order, else in any. All ranks of a call give operations that are alike in this. Errors: HX_ERR_ARG, HX_ERR_NOMEM (4096 operations
 * and types at once). */
HX_PUBLIC hx_status_t hx_op_create(hx_reduce_fn_t *fn, int commutative, void *ctx, hx_op_t *op);

/* No further call may name it; calls and requests that do go on, and ctx must stay for them. Errors: HX_ERR_ARG also for a built-in one. */
HX_PUBLIC hx_status_t hx_op_free(hx_op_t op);

/* Make a datatype whose element is `bytes` bytes, one after the other in memory: 1 to 64 MiB. Errors as hx_op_create. */
HX_PUBLIC hx_status_t hx_dtype_contiguous(size_t bytes, hx_dtype_t *dtype);

/* As hx_op_free. */
HX_PUBLIC hx_status_t hx_dtype_free(hx_dtype_t dtype);

/* ---- memory for buffers -------------------------------------------------------------------------------------------
 * Any memory serves. That of hx_alloc is copied less: the other ranks of the node can read it where it stands (single_copy algorithms,
 * where ranks may read each other's memory: see HX_SINGLE_COPY), and a network device that wants memory registered (EFA) sends from it
 * and receives into it, where other memory of the program goes through buffers of Hierax. What a message has used stays locked until
 * hx_free. A child made by fork shares it. */

/* *memory = at least `bytes` bytes, at the beginning of a page, all 0; with 0 bytes NULL. As with any such memory pages are had when
 * they are first touched. All ranks of comm call it, each with bytes of its own. Buffers of any call may stand in it; but from now on
 * comm's calls are planned for buffers that do, and may be slower with others (hx_comm_dup keeps them apart). What is not freed goes with
 * hx_finalize. Blocking. Errors as hx_allreduce; HX_ERR_NOMEM on all ranks, and nothing has changed, when one has no descriptor left or
 * reaches its ulimit -f. */
HX_PUBLIC hx_status_t hx_alloc(hx_comm_t *comm, size_t bytes, void **memory);

/* Give back memory of hx_alloc, in which no call that is not complete has a buffer. Each rank for itself; comm: any. NULL: nothing is
 * done. Errors: HX_ERR_ARG for any other memory; HX_ERR_STATE. */
HX_PUBLIC hx_status_t hx_free(hx_comm_t *comm, void *memory);

/* What a collective call does on this rank. */
typedef struct hx_plan_info {
    char plan[96];        /* its plan as coll_plan names it, "hier(nary,ring,nary) x2"; "" where nothing is to do */
    char network[96];     /* between nodes, "libfabric 1.17 provider net 117.0 on eth0"; "" where all ranks share a node */
    unsigned rounds;      /* messages and flags, one after the other */
    size_t network_bytes; /* this rank sends to other nodes */
    size_t shared_bytes;  /* this rank writes where others of its node read; what they read in its own buffers is not counted */
} hx_plan_info_t;

/* Tell what such a call on comm does. collective: a function's name without "hx_", e.g. "allreduce"; count and dtype as
 * there, of each rank where that takes counts; op and root are not looked at where it has none. What gatherv and scatterv tell first, their
 * counts, is not in rounds and bytes. Local: other ranks need not call it. Errors: HX_ERR_ARG, HX_ERR_STATE, HX_ERR_ENV, HX_ERR_NOMEM. */
HX_PUBLIC hx_status_t hx_plan_info(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op,
                                   int root, hx_plan_info_t *info);

/* ---- calls that do not block, and calls made ready ---------------------------------------------------------------
 * hx_i<name> starts the call <name> and returns; *request is then for hx_test or hx_wait, one of which must be called until the call is
 * complete; that releases the request. hx_<name>_init only makes the call ready, for hx_start, again and again; it is released by
 * hx_request_free. The buffers must not be touched from the start of a call until it is complete; counts and
 * displacements must stay as they are for as long as the request lives.
 *
 * All ranks start the calls of a communicator (hx_i<name> and hx_start) in the same order; they may complete in any. Any number may be
 * under way, with blocking calls between them. They move whenever the process calls Hierax. Errors as <name>, at once or from
 * hx_test and hx_wait. */
HX_PUBLIC hx_status_t hx_ibarrier(hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_iallreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                    hx_request_t **request);
HX_PUBLIC hx_status_t hx_ireduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                               hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_ireduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op,
                                         hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_iallgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                     hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_iallgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                    hx_request_t **request);
HX_PUBLIC hx_status_t hx_ialltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                   hx_request_t **request);
HX_PUBLIC hx_status_t hx_ialltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                    const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_ibcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_ireduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm,
                                 hx_request_t **request);
HX_PUBLIC hx_status_t hx_igather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                 hx_request_t **request);
HX_PUBLIC hx_status_t hx_iscatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                  hx_request_t **request);
HX_PUBLIC hx_status_t hx_igatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                  hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_iscatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count,
                                   hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_iscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                               hx_request_t **request);
HX_PUBLIC hx_status_t hx_iexscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                 hx_request_t **request);

HX_PUBLIC hx_status_t hx_barrier_init(hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_allreduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                        hx_request_t **request);
HX_PUBLIC hx_status_t hx_reduce_scatter_block_init(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                                   hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_reduce_scatter_init(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op,
                                             hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_allgatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                         hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_allgather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                        hx_request_t **request);
HX_PUBLIC hx_status_t hx_alltoall_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                       hx_request_t **request);
HX_PUBLIC hx_status_t hx_alltoallv_init(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                        const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_bcast_init(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_reduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                                     hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_gather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                     hx_request_t **request);
HX_PUBLIC hx_status_t hx_scatter_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                      hx_request_t **request);
HX_PUBLIC hx_status_t hx_gatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                      hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_scatterv_init(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count,
                                       hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_PUBLIC hx_status_t hx_scan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                   hx_request_t **request);
HX_PUBLIC hx_status_t hx_exscan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                     hx_request_t **request);

/* Start a call made ready by hx_<name>_init. Errors: HX_ERR_STATE when it is active. */
HX_PUBLIC hx_status_t hx_start(hx_request_t *request);

/* Let calls move; *done = 1 when this one is complete (a request of hx_i<name> is released then) or has not been started, else 0. Does not
 * block. A program that waits for other ranks by means of its own calls it now and then, with any request: what calls have sent that have
 * returned here may not have left yet. Errors: what the call has ended with, told once; HX_ERR_ARG for a request that is NULL. */
HX_PUBLIC hx_status_t hx_test(hx_request_t *request, int *done);

/* Return when the call is complete (a request of hx_i<name> is released then), at once when it has not been started. Blocking. Errors as
 * hx_test. */
HX_PUBLIC hx_status_t hx_wait(hx_request_t *request);

/* As hx_wait for each of n; those released become NULL in the list, and NULLs are passed over. Returns the first error. Blocking. */
HX_PUBLIC hx_status_t hx_waitall(int n, hx_request_t **requests);

/* Release a request of hx_<name>_init. Errors: HX_ERR_STATE when it is active: started, and not found complete by hx_test or hx_wait. */
HX_PUBLIC hx_status_t hx_request_free(hx_request_t *request);

/* The name of a status, e.g. "HX_ERR_ARG: wrong argument". Never NULL. */
HX_PUBLIC const char *hx_strerror(hx_status_t status);

/* The text of the last error on comm, or, with NULL, of this thread's last call without a communicator. "" if none.
 * Valid until the next failing call. */
HX_PUBLIC const char *hx_error_detail(const hx_comm_t *comm);

/* The library's version, e.g. "0.1.0". */
HX_PUBLIC const char *hx_version(void);

#ifdef __cplusplus
}
#endif
#endif
