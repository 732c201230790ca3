/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierax: hierarchical collective communication for jobs that run many ranks per node.
 *
 * Conventions for every function below:
 *  - A function that can fail returns hx_status_t: HX_SUCCESS (0) or an HX_ERR_* code.
 *    hx_error_detail(comm) returns a text with the exact values. For a function without a
 *    communicator, for example hx_init, hx_error_detail(NULL) returns it.
 *  - Counts are in elements (size_t), never in bytes. A count of 0 is valid everywhere.
 *  - Every rank of the communicator calls the same collectives in the same order with matching
 *    arguments.
 *  - Functions that are also in the MPI standard have the same meaning as there.
 *  - in and out must not overlap, except as HX_IN_PLACE. All-reduce, reduce, reduce-scatters and
 *    scans also accept in == out, which means HX_IN_PLACE. With HX_CHECK=1 any other overlap gives
 *    HX_ERR_ARG, and the detail has both ranges.
 *  - Buffers are in memory that the processor can read and write, not in GPU memory.
 *  - If a rank's own arguments are wrong, the call returns HX_ERR_ARG on that rank and does
 *    nothing. The other ranks wait until this rank makes the call with correct arguments, or until
 *    HX_TIMEOUT.
 *  - A communicator or request that has been freed must not be used. A debug build of the library
 *    (configure --enable-debug) remembers the last 4096 that have been freed. A call with one of
 *    them returns HX_ERR_STATE, and the text names it.
 *  - Any thread may call any function, with three exceptions: hx_init, hx_init_with and
 *    hx_finalize. While a thread is in one of these, no other thread may be in a function of
 *    Hierax, except hx_abort.
 *  - Threads may use different communicators at the same time. Calls on one communicator run one
 *    after the other. The program must make them in the same order on all ranks. A thread must not
 *    be cancelled (pthread_cancel) while it is in Hierax.
 *  - A signal may arrive at any time. It does not interrupt a wait. A signal handler must not call
 *    Hierax.
 *  - A rank may create children by fork, posix_spawn or system. A child may outlive its rank. A
 *    child must not call Hierax. Do not call clone directly: if the child's rank is alone on the
 *    node, other ranks may not detect the rank's death.
 *  - A program must close only descriptors that it has opened itself. A rank that closes
 *    descriptors of Hierax (closefrom, close_range), or executes another program, counts as dead.
 */
#ifndef HIERAX_H
#define HIERAX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header, as a number for comparisons: 0.3.2 is 302. hx_version() returns the
 * version of the library that runs. A program runs with a later library than that of its header if
 * both have the same soname (libhierax.so.0). Until the soname changes, functions keep their
 * arguments and meaning, types their size and members, and constants their numbers. Later versions
 * may add functions, constants and settings. So a program must treat an unknown status as an error.
 * If a setting gets a new name, Hierax ignores the old name, and a warning gives the new one.
 * Later versions can read the tuning tables of earlier versions. */
#define HX_VERSION (10000 * HX_VERSION_MAJOR + 100 * HX_VERSION_MINOR + HX_VERSION_PATCH)
#define HX_VERSION_MAJOR 0
#define HX_VERSION_MINOR 3
#define HX_VERSION_PATCH 0

/* HX_CALL: the compiler warns if the program ignores the status. Functions that release something
 * do not have it. */
#if defined(__GNUC__)
#define HX_PUBLIC __attribute__((visibility("default")))
#define HX_CALL HX_PUBLIC __attribute__((warn_unused_result))
#define HX_NO_RETURN __attribute__((noreturn))
#else
#define HX_PUBLIC
#define HX_CALL
#define HX_NO_RETURN
#endif

/* If a call fails on one rank, it also fails on every other rank that needs the first rank to
 * finish the call. The status is the same (HX_ERR_MISMATCH if the first rank has HX_ERR_ARG). The
 * detail names the first rank and the reason. A rank that waits in the call gets the failure within
 * tenths of a second on the same node, within seconds on another. Calls on other communicators go
 * on. There is one exception. If the sender stops after a part of a message has arrived, the
 * receiver's call waits up to 5 s for the rest. Then the receiver closes its network endpoint, and
 * all its calls between nodes fail with HX_ERR_TRANSPORT.
 *
 * After these errors the communicator stays usable:
 *  - HX_ERR_ARG for this rank's own arguments, and HX_ERR_STATE: Hierax has sent nothing;
 *  - HX_ERR_ARG of hx_gatherv and hx_scatterv for counts that do not match;
 *  - HX_ERR_NOMEM of hx_comm_split, hx_comm_dup and hx_alloc if all ranks get it (if only some do,
 *    the next call fails);
 *  - any error of hx_comm_group, hx_plan_info and hx_plan_predict;
 *  - HX_ERR_MISMATCH of the comparison that HX_CHECK=1 makes;
 *  - HX_ERR_MISMATCH of a receive whose message has another size or type;
 *  - HX_ERR_MISMATCH and HX_ERR_ARG of hx_state_sync that all ranks get.
 * After any other error a communicator has failed. The only valid calls on it are hx_comm_free,
 * hx_comm_revoke, hx_comm_failed, hx_comm_agree and hx_comm_shrink. */
typedef enum hx_status {
    HX_SUCCESS = 0,
    HX_ERR_ARG = 1,       /* an argument is wrong; nothing was sent */
    HX_ERR_STATE = 2,     /* called before hx_init, after hx_finalize, in a child made by fork,
                           * or from an operation of hx_op_create. (A communicator that has
                           * failed returns its first error from every later call.) */
    HX_ERR_ENV = 3,       /* an HX_* setting or the launcher's environment is wrong */
    HX_ERR_NOMEM = 4,     /* memory, or another resource of this machine, is exhausted or refused */
    HX_ERR_BOOTSTRAP = 5, /* the launcher or the store cannot be reached or disagrees */
    HX_ERR_TRANSPORT = 6, /* a network operation failed, libfabric has no usable provider, or a
                           * connection between two living ranks broke */
    HX_ERR_TIMEOUT = 7,   /* the call waited longer than HX_TIMEOUT without any progress. The
                           * detail names the ranks that have not arrived. It also says which
                           * call such a rank is in, or how long the rank has been outside
                           * Hierax. A warning says the same after 5 s, or after a quarter of
                           * HX_TIMEOUT if that is less. hx_test returns this error too, if it is
                           * called at least once a second during that time */
    HX_ERR_PEER_DEAD = 8, /* a rank of the communicator has died, cannot be reached, or is in
                           * hx_finalize and makes no other call. The detail names the rank and
                           * says which of these. Ranks of the same node detect a death within
                           * tenths of a second, other ranks within seconds. If a whole node
                           * vanishes, for example by loss of power, the others detect this a few
                           * seconds after HX_SILENT over TCP. If they cannot distinguish it from
                           * a slow node, they get HX_ERR_TIMEOUT */
    HX_ERR_INTERNAL = 9,  /* a fault of Hierax itself */
    HX_ERR_MISMATCH = 10, /* ranks made different calls, or the same call with different
                           * arguments. A rank detects the mismatch when it exchanges data with
                           * the other rank. If it waits for the other rank, it detects the
                           * mismatch after tenths of a second on the same node, after a second
                           * between nodes. Ranks that exchange no data do not detect it. If two
                           * ranks wait for each other in different calls, they detect this
                           * within seconds, unless a process has several threads. With
                           * HX_CHECK=1 the ranks compare their calls before each blocking call.
                           * If the calls differ, no data moves, and the communicator stays
                           * usable */
    HX_ERR_REVOKED = 11,  /* a rank has called hx_comm_revoke for this communicator */
    HX_ERR_MINORITY = 12  /* the network has parted, and this rank reaches too few ranks of the
                           * communicator: see HX_QUORUM. The other ranks may still run and
                           * continue. hx_comm_agree, hx_comm_shrink, hx_comm_grow and atomic
                           * collectives return it. End the process, or start it again as a new
                           * member when the network works. The detail has the numbers */
} hx_status_t;

/* Element types. Their numbers do not change between versions. */
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
    HX_BFLOAT16,  /* upper half of binary32; sums accumulate like those of HX_FLOAT16 */
    HX_FLOAT32,
    HX_FLOAT64,
    HX_COMPLEX64,  /* two binary32: real, imaginary */
    HX_COMPLEX128, /* two binary64: real, imaginary */
    HX_BYTE,       /* raw bytes: bit-wise operations only */
    HX_FLOAT32_INDEX, /* hx_float32_index_t, as MPI_FLOAT_INT. This type and the next three are
                       * pairs of a value and an index, for HX_MINLOC and HX_MAXLOC only */
    HX_FLOAT64_INDEX, /* hx_float64_index_t, as MPI_DOUBLE_INT */
    HX_INT32_INDEX,   /* hx_int32_index_t, as MPI_2INT */
    HX_INT64_INDEX,   /* hx_int64_index_t, as MPI_LONG_INT if long has 64 bits */
    HX_DTYPE_MAX = 0x7fffffff /* not a type: makes room for types of hx_dtype_contiguous */
} hx_dtype_t;

/* Elements of the pair types. Two of them end with 4 bytes of padding. A reduction sets the
 * padding to 0. (A scan copies the input of its first rank as it is, padding included.) */
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

/* Reduction operations. Their numbers do not change between versions. All of these are
 * commutative. If a scan combines the input of only one rank, the result is that input as it is.
 * (This is the first rank's result; for an exclusive scan, the second's.) */
typedef enum hx_op {
    HX_SUM = 0,
    HX_PROD,
    HX_MIN,  /* a NaN operand gives NaN */
    HX_MAX,  /* a NaN operand gives NaN */
    HX_AVG,  /* sum divided by the number of ranks that contribute; floating and complex types
              * only */
    HX_BAND, /* bit-wise: integer types and HX_BYTE */
    HX_BOR,
    HX_BXOR,
    HX_LAND, /* logical, result 0 or 1: integer types */
    HX_LOR,
    HX_LXOR,
    HX_MINLOC, /* pair types only: the least value and its index. If several values are equal,
                * the index is the least of theirs. NaN counts as less than any number, -0 equals
                * +0, and a zero result is +0 */
    HX_MAXLOC, /* as HX_MINLOC, with the greatest value; NaN counts as greater than any number */
    HX_OP_MAX = 0x7fffffff /* not an operation: makes room for operations of hx_op_create */
} hx_op_t;

/* As MPI_IN_PLACE. Passed as `in`, it means that the input is already in `out`:
 *  - all-reduce, scans, and reduce on the root: in `out`;
 *  - all-gather, and gather on the root: in this rank's block of `out`;
 *  - reduce-scatter: `out` has room for the full vector and holds it; its first recvcount elements
 *    receive the result;
 *  - all-to-all: each block of `out` is sent to a rank, then holds the block from that rank.
 * Passed as `out` to a scatter on its root, it means that the root's block stays in `in`. */
#define HX_IN_PLACE ((void *)-1)

/* As the color of hx_comm_split: this rank gets no new communicator. As the index of hx_waitany:
 * the list has no call to wait for. */
#define HX_UNDEFINED (-32766)

typedef struct hx_comm hx_comm_t;       /* a group of ranks with a private context */
typedef struct hx_request hx_request_t; /* a call that has been started or prepared */

/* How this process reaches the other ranks before Hierax connects them. Every callback returns 0
 * on success. Hierax calls them inside hx_init_with, in the thread that called hx_init_with.
 * Keys and values are text without white space, of at most 63 and 1000 characters. */
typedef struct hx_bootstrap {
    int rank, size;
    int (*put)(void *ctx, const char *key, const char *value);
    int (*fence)(void *ctx); /* returns when every rank has called it; values put before it are
                              * then visible to all ranks */
    int (*get)(void *ctx, const char *key, char *value, size_t capacity_bytes); /* ends value with a NUL. Returns a value
                                                                                 * other than 0 if no rank has put the
                                                                                 * key */
    void *ctx;
} hx_bootstrap_t;

/* Arguments of hx_init_with. Initialise all to zero, then set what you need. */
typedef struct hx_config {
    const hx_bootstrap_t *bootstrap; /* NULL: detect the launcher */
    const char *const *settings;     /* NULL-terminated "HX_NAME=value" strings; they take
                                      * precedence over the environment */
} hx_config_t;

/* Start Hierax. *world becomes the communicator of all ranks of the job. Blocking; every rank calls
 * it. After hx_finalize a process can start Hierax again, any number of times. Hierax detects the launcher: TCP store (HX_ROOT HX_RANK HX_SIZE), PMI-1
 * (PMI_FD), PMIx, else a job of one rank. HX_BOOTSTRAP names a launcher, and Hierax then detects
 * none. If HX_ROOT is set by hand, rank 0 serves the store. If rank 0 dies, the others get
 * HX_ERR_PEER_DEAD. A rank that has never reached rank 0 cannot know whether rank 0 is dead or only
 * late. It waits until HX_TIMEOUT and gets HX_ERR_BOOTSTRAP. The time during which the process is
 * stopped does not count.
 * coll_run, PMI-1 and PMIx start the same ranks each time: all ranks of the job must start Hierax
 * again. The connection to PMI-1 or PMIx stays until the process calls exit. A process that ends by
 * _exit, or executes another program, counts there as failed. After a failure of hx_init or of the
 * world these two launchers do not let a process start again: HX_ERR_BOOTSTRAP. With HX_ROOT set by
 * hand the next world may have another size and other ranks. If rank 0 is another process then,
 * choose another HX_ROOT.
 * Errors: HX_ERR_ENV, HX_ERR_BOOTSTRAP, HX_ERR_TRANSPORT, HX_ERR_NOMEM, HX_ERR_TIMEOUT,
 * HX_ERR_PEER_DEAD. HX_ERR_STATE if Hierax is started already, or in a child made by fork.
 * HX_ERR_ARG if world is NULL. */
HX_CALL hx_status_t hx_init(hx_comm_t **world);

/* Start Hierax as hx_init does, with the caller's own bootstrap callbacks or settings. Each time
 * Hierax is started, it puts the same keys. So the callbacks of a later world must not get values of
 * an earlier one. For example, they can put a number for each world in front of the keys.
 * Errors: those of hx_init. HX_ERR_ARG also if a callback is NULL, or the rank is not 0 to
 * size-1. */
HX_CALL hx_status_t hx_init_with(const hx_config_t *config, hx_comm_t **world);

/* Stop Hierax and release everything, the world communicator included. Blocking; it returns when
 * all ranks have called it. If the world communicator has failed, it does not wait for the others. If
 * another rank waits for this rank in a different call, the other rank gets HX_ERR_PEER_DEAD or
 * HX_ERR_MISMATCH. If the program has gone on without a rank that died, by hx_comm_shrink or in a
 * newer world (hx_comm_grow), this death causes no error.
 * Errors: HX_ERR_STATE if a request has not been released, and HX_ERR_MISMATCH of HX_CHECK=1.
 * After these two Hierax still runs. Any other error of hx_allreduce. After it Hierax has
 * released everything. */
HX_PUBLIC hx_status_t hx_finalize(void);

/* The rank of this process in comm, 0 to size-1; -1 if comm is NULL. Local. */
HX_PUBLIC int hx_rank(const hx_comm_t *comm);

/* The number of ranks in comm; -1 if comm is NULL. Local. */
HX_PUBLIC int hx_size(const hx_comm_t *comm);

/* Create communicators from the ranks of comm. Ranks with the same color (0 or more) form one
 * communicator. Its ranks are ordered by key, then by rank in comm. *out is this rank's new
 * communicator, or NULL if color is HX_UNDEFINED. Blocking; all ranks of comm call it.
 * Errors: those of hx_allreduce. HX_ERR_NOMEM also if a rank would have more than 8,190
 * communicators at the same time. The limit is 254 if the network's tags have only 48 bits
 * (cxi). */
HX_CALL hx_status_t hx_comm_split(hx_comm_t *comm, int color, int key, hx_comm_t **out);

/* Create communicators of the ranks of comm that share memory: one for each node, or for each
 * emulated node of HX_NODES. *out is the communicator of this rank's node. The ranks keep their
 * order. hx_rank of *out is this rank's number on its node, and hx_size the number of ranks of comm
 * there. Blocking; all ranks of comm call it.
 * Errors: those of hx_comm_split. */
HX_CALL hx_status_t hx_comm_split_node(hx_comm_t *comm, hx_comm_t **out);

/* Create a communicator of the same ranks. Blocking; all ranks of comm call it.
 * Errors: those of hx_comm_split. */
HX_CALL hx_status_t hx_comm_dup(hx_comm_t *comm, hx_comm_t **out);

/* Create a communicator of the n given ranks of comm: rank i of *out is ranks[i]. Only these ranks
 * call it, all with the same list. Other ranks of comm may have died. Ranks that are members of
 * several groups must create them in the same order. The threads of a rank must keep to this order
 * too, because a rank creates one group at a time. Blocking. If a member dies, does not call in
 * time or gives another list (HX_ERR_MISMATCH), the call fails and comm stays usable. From then on
 * this rank gets HX_ERR_STATE for every list that has another member of the failed group. If such a
 * member calls with this rank in its list, its call fails too, within seconds. Groups with other
 * ranks can still be created. If a member's arguments are wrong, the others wait for that member
 * until HX_TIMEOUT.
 * Errors: those of hx_comm_split. */
HX_CALL hx_status_t hx_comm_group(hx_comm_t *comm, const int *ranks, int n, hx_comm_t **out);

/* End this process. Its exit status is code modulo 256, or 1 if that is 0. Calls of other ranks
 * that need this rank return HX_ERR_PEER_DEAD, usually within a second. The detail has the text:
 * "rank 3 has called hx_abort: no input". text may be NULL. At most 379 bytes of it are used. comm:
 * any communicator of this rank, or NULL. On the other ranks, every communicator that contains this
 * rank fails. Any thread may call this function at any time, also before hx_init, and in an
 * operation of hx_op_create. Other threads may be in any function of Hierax. It takes 2 s at most,
 * and does not return. It flushes the streams of stdio, but does not run the functions of atexit.
 * coll_run then ends the other ranks, and exits with this status. No other function of Hierax ends
 * a process. */
HX_PUBLIC void hx_abort(hx_comm_t *comm, int code, const char *text) HX_NO_RETURN;

/* Release comm. Local: it waits for no other rank. Ranks may free communicators in any order, also
 * while other ranks are still in calls on them. The data that this rank has contributed to these
 * calls stays valid. Requests of comm, active or prepared, can still be used; comm is released with
 * the last of them. After this call no other function may use comm. Every rank should free comm:
 * Hierax reuses the number and memory of comm only after all its ranks on this node have freed it.
 * If a rank makes a call on comm and another rank has freed it, the call returns HX_ERR_MISMATCH.
 * A process that has grown (hx_comm_grow) is in several worlds. hx_comm_free then also closes a world:
 * comm is its communicator of all ranks. That call is blocking. All ranks of that world make it, or
 * call hx_finalize, unless the world has failed. It releases all that belongs to that world.
 * Errors: HX_ERR_ARG. HX_ERR_STATE for the communicator of the only world, which hx_finalize frees. */
HX_PUBLIC hx_status_t hx_comm_free(hx_comm_t *comm);

/* Join a world that runs. Blocking, without a time limit: the process waits in the store until ranks
 * admit it by hx_comm_grow. where: "host:port/name", the address of coll_store and one of its names;
 * NULL: HX_STORE. HX_SECRET must be that of the store. *out becomes the communicator of all ranks of
 * the new world. A process that joins needs no launcher, no HX_RANK and no HX_SIZE. If the start of
 * the new world fails because another process has died, this process waits again. If the store is
 * started again, this process goes on waiting there. If no store answers for HX_TIMEOUT, the call
 * fails. A process may join a second world. hx_finalize closes all. While the first world of a
 * process is opened, no other thread may be in a function of Hierax.
 * Errors: those of hx_init. HX_ERR_ENV if where is wrong. HX_ERR_BOOTSTRAP if HX_SECRET or the name is
 * wrong (the detail has the names that there are). HX_ERR_STATE if another thread is in hx_join or
 * hx_comm_grow, or in a child made by fork. HX_ERR_ARG if out is NULL. */
HX_CALL hx_status_t hx_join(const char *where, hx_comm_t **out);

/* Let more processes in: open a new world of all ranks of comm and up to n processes that wait in
 * hx_join. Those that have waited longest come first. Blocking; all ranks of comm call it with the same
 * arguments. If none waits, it waits up to `seconds` for the first one. *bigger becomes the
 * communicator of all ranks of the new world: first those of comm, in the same order, then the
 * newcomers. comm, its world and their calls stay as they are. Free them when they are no longer
 * needed. If no process has joined within `seconds`, *bigger is NULL, and the status is HX_SUCCESS.
 * If a newcomer dies or fails meanwhile, all ranks of comm drop the new world, and try again while
 * there is time. A newcomer that neither goes on nor ends delays the call up to `seconds`, or 10 s if
 * that is more, but not beyond HX_TIMEOUT. Then it is left out, and the call continues. Newcomers that
 * fail again and again do not hold the call for longer: no start of a world begins more than 2 s later.
 * A newcomer on a node of comm shares the memory of that node. With HX_NODES, ranks stay on their
 * emulated nodes, and newcomer r comes to node r modulo the number of nodes.
 * The settings are those of rank 0 of comm. *bigger inherits the choices of comm: see
 * hx_comm_set_atomic. HX_STORE names the store. comm may be a part of a world, for example the ranks
 * that live (hx_comm_group). If a rank of comm dies during the call, or revokes comm, comm fails. Then
 * other ranks may have the new world, in which calls fail as well.
 * Errors: those of hx_allreduce. The following leave comm usable. HX_ERR_ARG. HX_ERR_ENV if HX_STORE is
 * not set or wrong. HX_ERR_BOOTSTRAP if no store answers within `seconds`, or HX_SECRET or the name is
 * wrong. HX_ERR_STATE if another thread is in hx_join or hx_comm_grow. */
HX_CALL hx_status_t hx_comm_grow(hx_comm_t *comm, int n, double seconds, hx_comm_t **bigger);

/* How large can comm become? *size = the ranks of comm plus the processes that wait in hx_join for
 * HX_STORE. Returns when that is `least` or more, or after `seconds`; 0 seconds: at once. Blocking; all
 * ranks of comm call it with the same arguments, and get the same size.
 * Errors: those of hx_comm_grow. */
HX_CALL hx_status_t hx_comm_wait_size(hx_comm_t *comm, int least, double seconds, int *size);

/* Wait until every rank of comm has entered the call. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_barrier(hx_comm_t *comm);

/* Reduce vectors, with the result on all ranks: out[i] on every rank = in[i] of all ranks combined
 * with op. in, out: count elements each; in may be HX_IN_PLACE. The results are bitwise equal on
 * all ranks. Blocking.
 * Errors: HX_ERR_ARG, HX_ERR_STATE. HX_ERR_NOMEM, HX_ERR_TIMEOUT, HX_ERR_PEER_DEAD,
 * HX_ERR_MISMATCH, HX_ERR_TRANSPORT, and HX_ERR_ENV if no plan fits the settings. After one of
 * these comm can only be freed, with the exception at HX_ERR_MISMATCH. */
HX_CALL hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op,
                                 hx_comm_t *comm);

/* Reduce vectors, with a block of the result on each rank. out on rank r = elements r*recvcount to
 * (r+1)*recvcount-1 of all ranks' in, combined with op. in: size*recvcount elements. out: recvcount
 * elements, or size*recvcount with HX_IN_PLACE. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_reduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype,
                                            hx_op_t op, hx_comm_t *comm);

/* Reduce vectors, with a block of any length on each rank. As hx_reduce_scatter_block, but rank r
 * receives counts[r] elements of all ranks' in, combined with op. They begin after the first
 * counts[0] + ... + counts[r-1] elements. counts: size entries, the same on all ranks. A rank whose
 * entry is 0 receives nothing and needs no out. It may return before others have entered the call.
 * in: as many elements as the sum of counts. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_reduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op,
                                      hx_comm_t *comm);

/* Gather blocks on all ranks: out on every rank = the in of rank 0, then that of rank 1, and so on.
 * in: count elements, or HX_IN_PLACE. out: size*count elements. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm);

/* Gather blocks of any length on all ranks. As hx_allgather, but rank r contributes counts[r]
 * elements, and they go to out + displs[r] elements. counts: size entries, the same on all ranks. A
 * rank whose entry is 0 contributes nothing and needs no in. It may return before others have
 * entered the call. count: this rank's entry; ignored with HX_IN_PLACE. displs: size entries, which
 * may differ between ranks. NULL means one block after the other. Blocking.
 * Errors: those of hx_allreduce. HX_ERR_ARG also if blocks overlap in out. */
HX_CALL hx_status_t hx_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                  hx_dtype_t dtype, hx_comm_t *comm);

/* Copy the root's buf to all ranks. buf: count elements. The root may return before others have
 * entered the call. Blocking.
 * Errors: those of hx_allreduce. HX_ERR_ARG also for a root out of range. */
HX_CALL hx_status_t hx_bcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm);

/* Reduce vectors to the root: out on root = in of all ranks combined with op, element by element.
 * in: count elements; on the root it may be HX_IN_PLACE. out: count elements, on the root only.
 * Other ranks may return before the root has entered the call. Blocking.
 * Errors: those of hx_bcast. */
HX_CALL hx_status_t hx_reduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                              hx_comm_t *comm);

/* Gather blocks on the root: out on root = the in of rank 0, then that of rank 1, and so on. in:
 * count elements; on the root it may be HX_IN_PLACE. out: size*count elements, on the root only.
 * Other ranks may return before the root has entered the call. Blocking.
 * Errors: those of hx_bcast. */
HX_CALL hx_status_t hx_gather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm);

/* Send each rank a block of the root's vector: out on rank r = elements r*count to (r+1)*count-1 of
 * the root's in. in: size*count elements on the root, ignored elsewhere. out: count elements. On
 * the root it may be HX_IN_PLACE: the root's block then stays in `in`. The root may return before
 * others have entered the call. Blocking.
 * Errors: those of hx_bcast. */
HX_CALL hx_status_t hx_scatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm);

/* Gather blocks of any length on the root. As hx_gather, but each rank contributes its own count of
 * elements, and those of rank r go to out + displs[r] elements. counts, displs: size entries, read
 * on the root only: the count of each rank, and the place of its block. NULL displs means one block
 * after the other. count is ignored with HX_IN_PLACE. A rank with count 0 needs no in. A rank may
 * have to wait until all ranks have entered the call. Blocking.
 * Errors: those of hx_bcast. HX_ERR_ARG also if blocks overlap in out, and on the root if the
 * count of a rank r is not the root's counts[r]. After this second error, out is unchanged and
 * the communicator stays usable. */
HX_CALL hx_status_t hx_gatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs, hx_dtype_t dtype,
                               int root, hx_comm_t *comm);

/* Send each rank a block of any length from the root. As hx_scatter, but rank r receives counts[r]
 * elements, from in + displs[r] elements on. counts, displs: size entries, read on the root only.
 * NULL displs: one block after the other. count: the number of elements that this rank expects;
 * ignored with HX_IN_PLACE. A rank with count 0 needs no out. A rank may have to wait for the root.
 * Blocking.
 * Errors: those of hx_bcast. HX_ERR_ARG also on a rank whose count is not the root's counts[r].
 * After this, out is unchanged and the communicator stays usable. */
HX_CALL hx_status_t hx_scatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count, hx_dtype_t dtype,
                                int root, hx_comm_t *comm);

/* Send a block from every rank to every rank: block r of out = the block for this rank in rank r's
 * in. in, out: size blocks of count elements each. Block r, elements r*count to (r+1)*count-1, goes
 * to rank r or comes from it. If in is HX_IN_PLACE, block r of out is sent to rank r and then holds
 * the block from rank r. Any other overlap of in and out gives undefined results. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm);

/* Send a block of any length from every rank to every rank. This rank sends scounts[r] elements to
 * rank r, from in + sdispls[r] elements. It receives rcounts[r] elements from rank r, into out +
 * rdispls[r] elements; rank r must send as many. All four arrays have size entries. Counts may be
 * 0. If all counts of a buffer are 0, the buffer may be NULL. If in is HX_IN_PLACE, scounts and
 * sdispls are ignored. The rcounts[r] elements of out at rdispls[r] are then sent to rank r, and
 * the block from rank r replaces them. A rank may return before ranks that send it nothing have
 * entered the call. If comm has several nodes with several ranks each, a rank returns only after
 * all ranks of its node have entered the call. Blocking.
 * Errors: those of hx_allreduce. HX_ERR_ARG also for displacements beyond the address space, for
 * blocks that overlap in out, and if a rank's two counts for itself differ. If the counts of two
 * ranks do not match, the communicator fails. If comm has several nodes and both ranks are on
 * one node, the receiver gets HX_ERR_ARG and the other ranks get HX_ERR_MISMATCH. In other cases
 * the length of a message is wrong (HX_ERR_MISMATCH), or a rank waits for a message that no rank
 * sends (HX_ERR_TIMEOUT). */
HX_CALL hx_status_t hx_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                 const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm);

/* As hx_alltoallv, but each block has a datatype of its own. stypes[r] is of the block for rank r,
 * rtypes[r] of the block from rank r. A block has as many bytes on both ranks; its datatypes may
 * differ. sdispls and rdispls are in bytes. The arrays may go when the call has returned, also
 * with hx_ialltoallw. Blocking.
 * Errors: those of hx_alltoallv. HX_ERR_STATE while a group is open. */
HX_CALL hx_status_t hx_alltoallw(const void *in, const size_t *scounts, const size_t *sdispls, const hx_dtype_t *stypes, void *out,
                                 const size_t *rcounts, const size_t *rdispls, const hx_dtype_t *rtypes, hx_comm_t *comm);

/* Create a communicator of the same ranks, with a graph for neighborhood collectives. In these, this
 * rank receives from its sources and sends to its destinations. sources: nsources ranks. destinations:
 * ndestinations ranks. A rank may be named more than once, and may name itself. If one rank names
 * another as a destination k times, the other must name it as a source k times. The i-th block
 * for it then arrives as the i-th block from this rank. A list may be NULL if it is empty. Other collectives work on *out as on
 * comm. Every rank knows the whole graph: 16 bytes for each edge. Blocking; all ranks of comm
 * call it.
 * Errors: those of hx_comm_dup. HX_ERR_ARG also for a rank out of range, on this rank alone. All ranks
 * get HX_ERR_ARG if lists do not match, or if one rank names another more than 1024 times. The same
 * holds for more than 2147483647 edges. */
HX_CALL hx_status_t hx_comm_graph(hx_comm_t *comm, int nsources, const int *sources, int ndestinations, const int *destinations,
                                  hx_comm_t **out);

/* ---- neighborhood collectives ------------------------------------------------------------------------------------
 * comm: of hx_comm_graph. All of its ranks call the function, also those without neighbors.
 * Between two nodes, short blocks of all their ranks travel in few messages. HX_IN_PLACE is not
 * possible. Arrays of counts and displacements may go when the call has returned, also if it
 * does not block. A rank may return before others have entered the call. While a group is
 * open, these functions return HX_ERR_STATE. */

/* Send the same block to all destinations. in: count elements. out: a block of count elements from
 * each source, in the order of hx_comm_graph. Blocking.
 * Errors: those of hx_allreduce, but for ranks that call another function. HX_ERR_ARG also if comm
 * has no graph, or in or out is HX_IN_PLACE. If the counts of two ranks do not match: as
 * hx_alltoallv. */
HX_CALL hx_status_t hx_neighbor_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm);

/* The same with blocks of any length. This rank sends count elements to each destination. It
 * receives counts[i] elements from source i, into out + displs[i] elements. Blocking.
 * Errors: those of hx_neighbor_allgather. HX_ERR_ARG also for blocks that overlap in out. */
HX_CALL hx_status_t hx_neighbor_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                           hx_dtype_t dtype, hx_comm_t *comm);

/* Send each destination a block of its own. in: a block of count elements for each destination.
 * out: a block of count elements from each source. Blocking.
 * Errors: those of hx_neighbor_allgather. */
HX_CALL hx_status_t hx_neighbor_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm);

/* The same with blocks of any length: scounts[i] elements, from in + sdispls[i] elements on, go to
 * destination i. rcounts[i] elements come from source i, into out + rdispls[i] elements. Counts may
 * be 0. If all counts of a buffer are 0, the buffer may be NULL. Blocking.
 * Errors: those of hx_neighbor_allgatherv. HX_ERR_ARG also if two counts of a block that stays on
 * this rank differ. */
HX_CALL hx_status_t hx_neighbor_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out,
                                          const size_t *rcounts, const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm);

/* Reduce over the ranks up to this one. out on rank r = in of the ranks 0 to r combined with op in
 * this order, element by element. HX_AVG divides by r + 1. in, out: count elements; in may be
 * HX_IN_PLACE. A rank may return before higher ranks enter the call. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_scan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm);

/* Reduce over the ranks before this one. out on rank r = in of the ranks 0 to r-1 combined with op
 * in this order, element by element. HX_AVG divides by r. On rank 0 out does not change; without
 * HX_IN_PLACE it is ignored there. in, out: count elements each; in may be HX_IN_PLACE. A rank may
 * return before higher ranks have entered the call. Blocking.
 * Errors: those of hx_allreduce. */
HX_CALL hx_status_t hx_exscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm);

/* ---- the program's own operations and datatypes -----------------------------------------------------------------
 * Each rank creates and frees them for itself, at any time, also before hx_init. The handles of
 * the same operation or type may differ from rank to rank. An operation of the program can be
 * used with any datatype. The built-in operations take built-in types only. */

/* result[i] = left[i] op right[i], for count elements of dtype, the datatype of the call. left
 * holds the contributions of lower ranks, right those of higher ranks. The three arrays never
 * overlap, so they may be declared restrict. Each array is aligned to the smallest of these: 64
 * bytes, the alignment of the program's buffers, the largest power of two dividing the element
 * size. The function must be associative. It must not call Hierax (HX_ERR_STATE), except hx_abort.
 * It runs in a thread that is in a function of Hierax, or in the progress thread. If threads use
 * several communicators, it may run in several threads at once. */
typedef void hx_reduce_fn_t(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx);

/* Create an operation from fn. Every call of fn gets ctx. commutative: 0 if op(a, b) and op(b, a)
 * may differ. Hierax then combines the contributions in rank order, otherwise in any order. All
 * ranks of a call must give the same value of commutative. Local.
 * Errors: HX_ERR_ARG. HX_ERR_NOMEM if 4096 operations and types exist. */
HX_CALL hx_status_t hx_op_create(hx_reduce_fn_t *fn, int commutative, void *ctx, hx_op_t *op);

/* Free an operation. No later call may use it. Existing calls and requests may still use it, so ctx
 * must stay valid for them. Local.
 * Errors: HX_ERR_ARG, also for a built-in operation. */
HX_PUBLIC hx_status_t hx_op_free(hx_op_t op);

/* Create a datatype whose element is `bytes` contiguous bytes: 1 to 64 MiB. Local.
 * Errors: those of hx_op_create. */
HX_CALL hx_status_t hx_dtype_contiguous(size_t bytes, hx_dtype_t *dtype);

/* Free a datatype. No later call may use it. Existing calls and requests may still use it. Local.
 * Errors: HX_ERR_ARG, also for a built-in type. */
HX_PUBLIC hx_status_t hx_dtype_free(hx_dtype_t dtype);

/* ---- memory for buffers -------------------------------------------------------------------------------------------
 * Buffers may be in any memory. Hierax makes fewer copies of data in memory of hx_alloc. Other
 * ranks of the node can read it directly (single_copy algorithms, if ranks may read each other's
 * memory: see HX_SINGLE_COPY). A network device that needs registered memory (EFA) sends from it
 * and receives into it; other memory is copied through bounce buffers. Memory that a message has
 * used stays locked until hx_free. A child made by fork shares it. */

/* Allocate memory for buffers: *memory becomes the beginning of a page with at least `bytes` bytes,
 * all 0; NULL if bytes is 0. Pages are allocated on first touch. All ranks of comm call it, each
 * with its own bytes. Buffers of any call may be in this memory. From this call on, Hierax plans
 * the calls on comm for such buffers, and calls on comm with other buffers may be slower. Use
 * another communicator for them (hx_comm_dup). hx_finalize frees the memory that the program has
 * not freed. Blocking.
 * Errors: those of hx_allreduce. If a rank has no descriptor left or reaches its ulimit -f, all
 * get HX_ERR_NOMEM and nothing changes. */
HX_CALL hx_status_t hx_alloc(hx_comm_t *comm, size_t bytes, void **memory);

/* Free memory of hx_alloc. No incomplete call may have a buffer in it. comm may be any
 * communicator. If memory is NULL, nothing happens. Local.
 * Errors: HX_ERR_ARG for any other memory. HX_ERR_STATE. */
HX_PUBLIC hx_status_t hx_free(hx_comm_t *comm, void *memory);

/* A description of a collective call on this rank. */
typedef struct hx_plan_info {
    char plan[96];        /* its plan as coll_plan names it, e.g. "hier(nary,ring,nary) x2"; ""
                           * if the call does nothing */
    char network[96];     /* between nodes, e.g. "libfabric 1.17 provider net 117.0 on eth0"; ""
                           * if all ranks share a node */
    unsigned rounds;      /* number of messages and flags that follow one another */
    size_t network_bytes; /* bytes that this rank sends to other nodes */
    size_t shared_bytes;  /* bytes that this rank writes for other ranks of its node. Bytes that
                           * other ranks read from its buffers are not counted */
} hx_plan_info_t;

/* Describe a call on comm. collective: a function's name without "hx_", e.g. "allreduce". count:
 * elements as in that call; if the call has a count for each rank, each of these counts is this
 * value. op and root are ignored if the call has none. gatherv and scatterv usually exchange their
 * counts first; rounds and bytes do not include this. Between ranks of one node, blocking calls with
 * short blocks gather or scatter blocks of one length instead. This function does not describe
 * that plan. Local: other ranks need not call it.
 * Errors: HX_ERR_ARG, HX_ERR_STATE, HX_ERR_ENV, HX_ERR_NOMEM. */
HX_CALL hx_status_t hx_plan_info(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op,
                                 int root, hx_plan_info_t *info);

/* A prediction of the cost model for a collective call. */
typedef struct hx_prediction {
    double us;         /* time of the call in microseconds, if all ranks begin together; 0 if the
                        * call does nothing */
    char node[192];    /* source of the model's parameters of the node, e.g. "built in" or
                        * "measured, hash 1f2e"; "" if each node has one rank */
    char network[192]; /* source of its parameters of the network, e.g. "defaults for provider
                        * tcp"; "" if all ranks share a node */
} hx_prediction_t;

/* Predict the time of a call on comm, for the plan that hx_plan_info describes, with the parameters
 * by which Hierax chooses it. The arguments are those of hx_plan_info. Local: other ranks need not
 * call it.
 * Errors: HX_ERR_ARG, HX_ERR_STATE, HX_ERR_ENV, HX_ERR_NOMEM. */
HX_CALL hx_status_t hx_plan_predict(hx_comm_t *comm, const char *collective, size_t count, hx_dtype_t dtype, hx_op_t op,
                                    int root, hx_prediction_t *prediction);

/* ---- messages between two ranks --------------------------------------------------- */

/* Send count elements of buf to rank dest of comm. The receiver names this rank and the same tag.
 * tag: 0 or more. There is no wildcard. Messages of one sender, receiver and tag arrive in order.
 * Messages of different tags may be received in any order. A rank may send to itself. Messages have
 * no place in the order of calls that all ranks keep. Any thread may send and receive at any time,
 * also while other threads are in collectives on comm. Blocking: hx_send returns when buf may be
 * written again. Up to 16 KiB that usually does not need the receiver. A longer message may wait
 * for its receive. The first message to a rank of another node may wait until that rank calls
 * Hierax and opens a network endpoint (HX_ENDPOINTS). Between two ranks of different nodes, 32
 * messages may be under way. Further sends wait, in order, until the other rank calls Hierax. If
 * two ranks send each other longer messages before they receive, both wait until HX_TIMEOUT, and
 * the text names both calls. If rank dest dies, hx_send returns HX_ERR_PEER_DEAD. A message that
 * was sent before may be lost then.
 * Errors: HX_ERR_ARG, HX_ERR_STATE, HX_ERR_NOMEM, HX_ERR_TIMEOUT, HX_ERR_PEER_DEAD,
 * HX_ERR_TRANSPORT, HX_ERR_REVOKED. HX_ERR_MISMATCH if dest has freed comm. After one of them,
 * except HX_ERR_ARG and HX_ERR_STATE, comm can only be freed. */
HX_CALL hx_status_t hx_send(const void *buf, size_t count, hx_dtype_t dtype, int dest, int tag, hx_comm_t *comm);

/* Receive count elements into buf from rank source of comm: the first message with this tag that
 * no receive has taken. Blocking. The message must have the same count and type. If it has not,
 * hx_recv returns HX_ERR_MISMATCH, with both sizes in the detail; the message is dropped, buf is
 * unchanged, and comm stays usable. The sender gets no error.
 * Errors: those of hx_send. */
HX_CALL hx_status_t hx_recv(void *buf, size_t count, hx_dtype_t dtype, int source, int tag, hx_comm_t *comm);

/* Look whether a message of rank source with this tag has arrived that no receive has taken.
 * *found = 1 if so, else 0. *bytes = the bytes of the first such message, else 0; bytes may be
 * NULL. Makes progress. Does not block. The message remains to be received. If none has arrived and
 * rank source has died, or is in hx_finalize, hx_iprobe soon returns HX_ERR_PEER_DEAD, and comm fails.
 * Errors: HX_ERR_ARG, HX_ERR_STATE, HX_ERR_NOMEM; the error of comm if it has failed. */
HX_CALL hx_status_t hx_iprobe(int source, int tag, hx_comm_t *comm, int *found, size_t *bytes);

/* As hx_send and hx_recv, but they do not block, or only prepare the call: see the next section.
 * Receives of one rank and tag take the messages in the order in which they are started. */
HX_CALL hx_status_t hx_isend(const void *buf, size_t count, hx_dtype_t dtype, int dest, int tag, hx_comm_t *comm,
                                 hx_request_t **request);
HX_CALL hx_status_t hx_irecv(void *buf, size_t count, hx_dtype_t dtype, int source, int tag, hx_comm_t *comm,
                                 hx_request_t **request);
HX_CALL hx_status_t hx_send_init(const void *buf, size_t count, hx_dtype_t dtype, int dest, int tag, hx_comm_t *comm,
                                 hx_request_t **request);
HX_CALL hx_status_t hx_recv_init(void *buf, size_t count, hx_dtype_t dtype, int source, int tag, hx_comm_t *comm,
                                 hx_request_t **request);

/* ---- communicators that have failed --------------------------------------------------- */

/* Let calls on comm wait so many seconds for progress, instead of HX_TIMEOUT. 0: for ever. All
 * ranks of comm choose the same time, before their next call on comm. It holds for collectives,
 * messages, agreements, and the functions that create communicators from comm. The time of the world
 * communicator also holds for hx_finalize. It does not hold for the start of a world: hx_init, hx_join
 * and hx_comm_grow use HX_TIMEOUT. Communicators that are made from comm inherit the time: see
 * hx_comm_set_atomic. Local.
 * Errors: HX_ERR_ARG if seconds is negative, above 1e9, or not a number. HX_ERR_STATE. */
HX_PUBLIC hx_status_t hx_comm_set_timeout(hx_comm_t *comm, double seconds);

/* Let collectives on comm be atomic (1) or not (0), instead of HX_ATOMIC. An atomic call completes on all
 * ranks that stay alive, or it fails on all of them. If it fails, the buffers of a call in place hold
 * their input again; input out of place never changes. The contents of other output buffers are undefined.
 *  - This holds for every collective of this header (barrier, broadcast, reduce, all-reduce,
 *    all-gather, all-to-all, reduce-scatters, gather, scatter, scans, and those with counts) and for
 *    each of its forms: blocking, hx_i<name>, and hx_<name>_init with hx_start. The calls of a group
 *    complete or fail as one.
 *  - Calls commit in the order in which they were made. A started call is complete only when all calls
 *    before it have committed. A blocking call also returns only then. If a call fails and comm with
 *    it, all calls after it fail too, on all ranks.
 *  - Each call ends with an agreement of all ranks, and a call in place begins with a copy of its input.
 *    The packed calls of a group need no copy. A broadcast or scatter to other ranks then also waits
 *    for all ranks.
 *  - A rank whose call has failed must go on: by hx_comm_agree, hx_comm_shrink, hx_comm_free or
 *    hx_finalize. Until then ranks that have completed the call may wait for it, up to HX_TIMEOUT.
 *  - There are three exceptions. A rank waits for an agreement longer than HX_TIMEOUT, or the others
 *    treat it as dead, or it gets HX_ERR_MINORITY because the network has parted. Then its call fails,
 *    and the same call may have completed on other ranks.
 *  - hx_request_free of a request whose communicator has failed may wait for the agreement.
 *  - The following are not atomic. Messages (hx_send, hx_recv and their forms) have only two ranks.
 *    hx_alloc, hx_state_sync and functions that create communicators say themselves what they leave
 *    after an error. HX_ERR_ARG for a rank's own arguments and HX_ERR_STATE are of this rank alone: it
 *    has not made the call.
 * Communicators that are made from comm by hx_comm_split, hx_comm_split_node, hx_comm_dup,
 * hx_comm_group, hx_comm_shrink and hx_comm_grow inherit the choice. They also inherit the choices of
 * hx_comm_set_wire and hx_comm_set_timeout. Newcomers of hx_comm_grow begin with the choices of rank 0.
 * A later choice changes only the communicator for which it is made.
 * All ranks of comm choose the same, before their next call on comm. Calls that have been started stay
 * as they are. A prepared call asks at each hx_start, a group at hx_group_end. Local.
 * Errors: HX_ERR_ARG if on is neither 0 nor 1. HX_ERR_STATE, also while a group is open. The error of
 * comm if it has failed. */
HX_PUBLIC hx_status_t hx_comm_set_atomic(hx_comm_t *comm, int on);

/* Choose how sums and averages of float32 and float64 on comm cross between nodes. Formats of fewer
 * bits are "bf16", "fp16", "fp8" and "int8"; "off" is exact. This replaces HX_WIRE for comm. Elements
 * travel in blocks, each with one scale. The format holds for hx_allreduce, hx_reduce and
 * hx_reduce_scatter in all their forms, if it takes less time. Inside nodes, and for other types
 * and operations, nothing changes. All ranks get the same bits. Infinities and NaN arrive
 * where the exact sum has them. coll_plan explain states how much finite sums may differ. All ranks
 * of comm choose the same format before their next call on comm. If they do not, the next sum that
 * could use a format fails with HX_ERR_MISMATCH. Communicators that are made from comm inherit the
 * format: see hx_comm_set_atomic. Calls that were prepared before keep their format. Local.
 * Errors: HX_ERR_ARG if there is no such format; the detail lists all. HX_ERR_STATE. The error of
 * comm if it has failed. */
HX_PUBLIC hx_status_t hx_comm_set_wire(hx_comm_t *comm, const char *format);

/* Measure the links between the nodes of comm now, and let rings pass the nodes in the best order. Its
 * slowest link is the fastest that there can be. HX_RING_ORDER=auto does so when a world starts, and when it
 * has grown. This call does it again: after hx_comm_shrink, or when links have become slower. Ranks
 * keep their numbers. Rings may add in another order from then on, so the last bits of sums of floats
 * may change. Blocking; all ranks of comm call it, and no thread uses comm meanwhile. n nodes are
 * measured in about n rounds of some tenths of a second. HX_TIMEOUT bounds each round. Up to 3 nodes
 * have only one ring, and nothing is measured. Only comm changes. Communicators that are made later
 * begin with the order of the world communicator.
 * Errors: those of hx_allreduce. The following are the same on all ranks and leave comm usable.
 * HX_ERR_STATE if a rank has requests of comm, prepared or started. HX_ERR_ARG if comm has more than
 * 1024 nodes. HX_ERR_NOMEM. */
HX_CALL hx_status_t hx_comm_reorder(hx_comm_t *comm);

/* End all calls on comm: on every rank of comm, calls that are under way and later ones return
 * HX_ERR_REVOKED, within tenths of a second. This holds also if comm has failed with another
 * error before, here or elsewhere. A call that completes at that time may still succeed. Ranks of a
 * node with which this rank has exchanged no message learn it when this rank is next in a function
 * of Hierax. hx_comm_group, which not all ranks call, does not end. Local; any thread may call it,
 * also while other threads are in calls on comm. Does not block.
 * Errors: HX_ERR_ARG, HX_ERR_STATE. */
HX_PUBLIC hx_status_t hx_comm_revoke(hx_comm_t *comm);

/* Which ranks of comm are known here to have died. ranks: room for so many entries; the first of
 * the dead ranks, ascending. *count: how many are dead, which may be more than room. ranks may
 * be NULL if room is 0. Works also after comm has failed. Ranks learn of a death on another node
 * only when they wait for that rank, or when another rank tells them. Local.
 * Errors: HX_ERR_ARG, HX_ERR_STATE. */
HX_CALL hx_status_t hx_comm_failed(hx_comm_t *comm, int *ranks, int room, int *count);

/* To go on after a rank has died, a program does four things. It calls hx_comm_revoke, so that all
 * other ranks leave their calls too. It calls hx_comm_shrink, which creates a communicator without
 * the dead. It frees the old communicator, unless this is the world communicator. Then it repeats
 * the call that has failed. A failure has these effects:
 *  - A call that has failed on one rank may have completed on others. The output buffers of a failed
 *    call have undefined contents. In place, the input is lost. hx_comm_agree returns how many calls
 *    all ranks have completed.
 *  - With HX_ATOMIC=1 or hx_comm_set_atomic, a collective completes on all ranks that stay alive, or
 *    fails on all of them: see hx_comm_set_atomic.
 *  - Communicators without the dead rank go on. Every communicator that contains it fails by itself,
 *    in its next call that needs the dead rank. Each can be shrunk.
 *  - Memory of hx_alloc stays valid until hx_free or hx_finalize, also if its communicator has failed or
 *    is freed. Calls of any communicator can use it.
 *  - Requests of a failed communicator end with its error. The program must still release them.
 *  - Over TCP, a host that does not answer for HX_SILENT seconds counts as lost. Over EFA the device
 *    reports it. The ranks of such a host may still run. If the network parts, at most one part can
 *    agree and shrink: more than half of the ranks of comm, or the half with rank 0. Ranks of other
 *    parts get HX_ERR_MINORITY or HX_ERR_PEER_DEAD. If all other ranks have certainly ended, the
 *    survivors continue, however few they are. Shrink the newest communicator: ranks that were left
 *    out before are not members of it, so they do not count. HX_QUORUM=any lets each part continue.
 *    A firewall must drop packets: a host that refuses a connection tells that the process there has
 *    ended. */

/* Agree with all ranks of comm that are alive. This works also after comm has failed or was
 * revoked, and while ranks die. All ranks that get HX_SUCCESS get the same values. They
 * include the value of every rank that gets HX_SUCCESS. *flags: in, the value of this rank;
 * out, the bit-wise AND of all. *completed: the number of blocking collective calls on comm that
 * every rank has completed, counted since comm was created. completed may be NULL. Calls that were
 * started, and calls that were recorded in a group, do not count.
 *
 * Blocking. All ranks of comm must call hx_comm_agree and hx_comm_shrink in the same order, and in
 * one thread at a time. If a rank waits in another call on comm, this call waits for it until
 * HX_TIMEOUT, without HX_ERR_MISMATCH: call hx_comm_revoke before. A rank that has freed comm or is in hx_finalize counts as dead.
 * Errors: HX_ERR_ARG, HX_ERR_STATE, HX_ERR_NOMEM, HX_ERR_TRANSPORT. HX_ERR_MINORITY if this rank
 * reaches at most half of the ranks of comm, itself included, and some of the others may still run. A
 * half with rank 0 suffices to continue. Ranks of comm that died earlier count as not reached.
 * HX_ERR_PEER_DEAD if the others have agreed without this rank, because they could not reach it.
 * HX_ERR_TIMEOUT if a rank that is alive does not make the call within HX_TIMEOUT. The next such call
 * on this rank then continues with the values of this one. After an error *flags is unchanged. */
HX_CALL hx_status_t hx_comm_agree(hx_comm_t *comm, int *flags, uint64_t *completed);

/* Create a communicator of the ranks of comm that are alive, in their old order. This works also
 * after comm has failed or was revoked. If further ranks die during the call, they are left out
 * too. A rank that dies as the call returns may be in *survivors. The next call on *survivors then
 * fails, and *survivors can be shrunk in turn. comm does not change: it can be shrunk again.
 *
 * Blocking, as hx_comm_agree. If a rank gets an error, all get the same one, and *survivors is NULL.
 * There is an exception: errors that hx_comm_agree returns on one rank alone.
 * Errors: those of hx_comm_agree. HX_ERR_NOMEM on all ranks if one of them has no memory, or if no
 * communicator number is free on all. */
HX_CALL hx_status_t hx_comm_shrink(hx_comm_t *comm, hx_comm_t **survivors);

/* ---- state that is the same on all ranks --------------------------------------------------- */

/* A part of a program's state: the parameters of a model, a counter, ... */
typedef struct hx_state_entry {
    const char *name; /* 1 to 255 bytes and a NUL; each entry of a rank has another name */
    void *address;    /* any memory; entries do not overlap. May be NULL if bytes is 0 */
    size_t bytes;
} hx_state_entry_t;

/* The part that a rank takes in hx_state_sync. */
typedef enum hx_state_mode {
    HX_STATE_MAJORITY = 0,    /* it votes with its state, and receives what differs from the elected state */
    HX_STATE_SEND_ONLY = 1,   /* its state is the elected one. If ranks have this mode, only they vote, and all
                               * of them must hold the same state */
    HX_STATE_RECEIVE_ONLY = 2 /* it does not vote and sends nothing, for example because it is new. Its
                               * revision is ignored */
} hx_state_mode_t;

/* The result of hx_state_sync on this rank. */
typedef struct hx_state_report {
    uint64_t revision;        /* of the elected state: that of all ranks from now on */
    size_t entries_received;
    size_t entries_sent;      /* in full or in part */
    uint64_t bytes_received, bytes_sent;
    int sources;              /* number of ranks that this rank has received from */
    double hash_seconds;      /* time to hash entries, before and after the transfer */
    double transfer_seconds;  /* time to compare with the other ranks, waits included, and to receive */
} hx_state_report_t;

/* Make the state of all ranks of comm the same, bit by bit. A rank receives only the entries whose bits
 * differ, in parts from all ranks that hold them. If ranks of its own node hold an entry, only these send
 * it. The n entries have the same names and sizes on all ranks, in any order. Entries may be empty, and n
 * may be 0.
 * revision: a number that the program increases whenever it changes the state, for example the number of
 * training steps. Ranks elect the state that most of them hold with the same revision. The elected state is
 * always one that a rank holds as a whole. If several states have the most votes, the one with the highest
 * revision is elected, and of these that of the lowest rank. A rank with another state receives the elected
 * one, unless its own revision is higher: then all ranks get HX_ERR_MISMATCH, and nothing changes. So a
 * majority of new ranks cannot erase the work of the others.
 * Hierax compares hashes (XXH3-128), which takes as long as reading the entries once. A rank hashes with
 * HX_STATE_THREADS threads. Entries that it has received are hashed again and compared. The hash does not
 * protect against ranks that want to deceive others. The program must not change entries during the call.
 * report may be NULL. Blocking; all ranks of comm call it, each with its own mode and revision.
 * Errors: those of hx_allreduce and hx_send. HX_ERR_ARG on this rank for a wrong name, address or mode, or
 * if two entries have one name. In the following cases all ranks get the same error, which names rank, entry
 * and values. HX_ERR_MISMATCH: ranks have other names or sizes, a revision above the elected one, or
 * different states with HX_STATE_SEND_ONLY. HX_ERR_MISMATCH also if an entry has changed during the call.
 * HX_ERR_ARG: all ranks have HX_STATE_RECEIVE_ONLY. After an error that makes comm fail, entries of receivers
 * may be incomplete. Call hx_state_sync again on a communicator that works, with HX_STATE_RECEIVE_ONLY on
 * these ranks. Entries of ranks that hold the elected state never change. */
HX_CALL hx_status_t hx_state_sync(hx_comm_t *comm, const hx_state_entry_t *entries, size_t n, uint64_t revision,
                                  hx_state_mode_t mode, hx_state_report_t *report);

/* ---- calls that do not block, and persistent calls ---------------------------------------------------------------
 * hx_i<name> starts the call <name> and returns. The program must then call hx_wait, or hx_test
 * until the call is complete. This also releases *request. hx_<name>_init only prepares the call.
 * hx_start starts it, as often as the program needs. hx_request_free releases it. The program must
 * not touch the buffers from the start of a call until it is complete. Counts and displacements
 * must not change while the request exists.
 *
 * All ranks start the collectives of a communicator (hx_i<name> and hx_start) in the same order;
 * messages between two ranks have no place in this order. Calls may complete in any order, except on an
 * atomic communicator. Any number of calls may be active, with blocking calls between them.
 * Started calls make progress while the process is in a function of Hierax; with
 * HX_PROGRESS_THREAD=1 also at other times. hx_i<name>, hx_<name>_init and hx_start do not block.
 * Errors: those of <name>, at once or from hx_test and hx_wait. */
HX_CALL hx_status_t hx_ibarrier(hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_iallreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                  hx_request_t **request);
HX_CALL hx_status_t hx_ireduce_scatter_block(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                             hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_ireduce_scatter(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op,
                                       hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_iallgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                   hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_iallgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                  hx_request_t **request);
HX_CALL hx_status_t hx_ialltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                 hx_request_t **request);
HX_CALL hx_status_t hx_ialltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                  const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_ialltoallw(const void *in, const size_t *scounts, const size_t *sdispls, const hx_dtype_t *stypes, void *out,
                                  const size_t *rcounts, const size_t *rdispls, const hx_dtype_t *rtypes, hx_comm_t *comm,
                                  hx_request_t **request);
HX_CALL hx_status_t hx_ineighbor_allgather(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                           hx_request_t **request);
HX_CALL hx_status_t hx_ineighbor_allgatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                            hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_ineighbor_alltoall(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                          hx_request_t **request);
HX_CALL hx_status_t hx_ineighbor_alltoallv(const void *in, const size_t *scounts, const size_t *sdispls, void *out,
                                           const size_t *rcounts, const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm,
                                           hx_request_t **request);
HX_CALL hx_status_t hx_ibcast(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_ireduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root, hx_comm_t *comm,
                               hx_request_t **request);
HX_CALL hx_status_t hx_igather(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                               hx_request_t **request);
HX_CALL hx_status_t hx_iscatter(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                hx_request_t **request);
HX_CALL hx_status_t hx_igatherv(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_iscatterv(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count,
                                 hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_iscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                             hx_request_t **request);
HX_CALL hx_status_t hx_iexscan(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                               hx_request_t **request);

HX_CALL hx_status_t hx_barrier_init(hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_allreduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                      hx_request_t **request);
HX_CALL hx_status_t hx_reduce_scatter_block_init(const void *in, void *out, size_t recvcount, hx_dtype_t dtype, hx_op_t op,
                                                 hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_reduce_scatter_init(const void *in, void *out, const size_t *counts, hx_dtype_t dtype, hx_op_t op,
                                           hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_allgatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                       hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_allgather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                      hx_request_t **request);
HX_CALL hx_status_t hx_alltoall_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                     hx_request_t **request);
HX_CALL hx_status_t hx_alltoallv_init(const void *in, const size_t *scounts, const size_t *sdispls, void *out, const size_t *rcounts,
                                      const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_alltoallw_init(const void *in, const size_t *scounts, const size_t *sdispls, const hx_dtype_t *stypes,
                                      void *out, const size_t *rcounts, const size_t *rdispls, const hx_dtype_t *rtypes,
                                      hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_neighbor_allgather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                               hx_request_t **request);
HX_CALL hx_status_t hx_neighbor_allgatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                                hx_dtype_t dtype, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_neighbor_alltoall_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_comm_t *comm,
                                              hx_request_t **request);
HX_CALL hx_status_t hx_neighbor_alltoallv_init(const void *in, const size_t *scounts, const size_t *sdispls, void *out,
                                               const size_t *rcounts, const size_t *rdispls, hx_dtype_t dtype, hx_comm_t *comm,
                                               hx_request_t **request);
HX_CALL hx_status_t hx_bcast_init(void *buf, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_reduce_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, int root,
                                   hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_gather_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                   hx_request_t **request);
HX_CALL hx_status_t hx_scatter_init(const void *in, void *out, size_t count, hx_dtype_t dtype, int root, hx_comm_t *comm,
                                    hx_request_t **request);
HX_CALL hx_status_t hx_gatherv_init(const void *in, size_t count, void *out, const size_t *counts, const size_t *displs,
                                    hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_scatterv_init(const void *in, const size_t *counts, const size_t *displs, void *out, size_t count,
                                     hx_dtype_t dtype, int root, hx_comm_t *comm, hx_request_t **request);
HX_CALL hx_status_t hx_scan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                 hx_request_t **request);
HX_CALL hx_status_t hx_exscan_init(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm,
                                   hx_request_t **request);

/* Start a call that hx_<name>_init has prepared. Does not block.
 * Errors: HX_ERR_STATE if it is active. Those of the call itself. */
HX_CALL hx_status_t hx_start(hx_request_t *request);

/* Test whether a call is complete, and make progress on all started calls of this process. *done =
 * 1 if this call is complete or has not been started, else 0. If the call is complete, hx_test also
 * releases a request of hx_i<name>. Does not block. A call that has returned may still have data to
 * send. So a program that waits for other ranks outside Hierax must call hx_progress, or hx_test
 * with any request, from time to time.
 * Errors: the status of the call, returned once. HX_ERR_ARG if request is NULL. */
HX_CALL hx_status_t hx_test(hx_request_t *request, int *done);

/* Wait for a call: return when it is complete, or at once if it has not been started. Release a
 * request of hx_i<name>. Blocking.
 * Errors: those of hx_test. */
HX_CALL hx_status_t hx_wait(hx_request_t *request);

/* Wait for n calls: as hx_wait for each of n requests. Requests that are released become NULL in
 * the list. NULL entries are skipped. Blocking.
 * Errors: the first error of hx_wait. HX_ERR_ARG if n is negative or the list is NULL. */
HX_CALL hx_status_t hx_waitall(int n, hx_request_t **requests);

/* Wait for one of n calls: return when any of them is complete, as hx_wait for that call does.
 * *index is its place in the list. A request that is released becomes NULL in the list. NULL
 * entries and calls that have not been started are skipped. If the list has no other entries, or
 * another thread finishes them meanwhile, *index is HX_UNDEFINED, and hx_waitany returns. Blocking.
 * Errors: those of hx_wait for this call. HX_ERR_ARG if n is negative, or if the list or index is
 * NULL; hx_waitany then changes nothing. */
HX_CALL hx_status_t hx_waitany(int n, hx_request_t **requests, int *index);

/* Test whether n calls are complete, and make progress as hx_test does. If all are complete, *done
 * is 1, and requests that are released become NULL in the list. Else *done is 0, and the list does
 * not change. NULL entries and calls that have not been started are skipped. Does not block.
 * Errors: the first error of hx_test. HX_ERR_ARG if n is negative, or if the list or done is NULL;
 * hx_testall then changes nothing. */
HX_CALL hx_status_t hx_testall(int n, hx_request_t **requests, int *done);

/* Record the calls that follow on comm instead of making them, until hx_group_end. The calls are
 * those of the collectives that block: hx_allreduce, hx_bcast, ... They return at once. A call with
 * a wrong argument returns its error and is not recorded. Until the group is complete, the program
 * must not use the buffers, and arrays of counts must stay. No call of the group may use the result
 * of another. Local.
 * While a group is open, these return HX_ERR_STATE for comm: hx_i<name>, hx_start, hx_alloc,
 * hx_finalize, hx_comm_free and the functions that create communicators. Calls of all threads on
 * comm are recorded. All ranks record the same calls in the same order. HX_CHECK does not check that.
 * Errors: HX_ERR_STATE if comm has a group open. HX_ERR_ARG, HX_ERR_NOMEM. */
HX_CALL hx_status_t hx_group_begin(hx_comm_t *comm);

/* Start the recorded calls as one. If request is NULL, wait until they are complete. Else *request
 * becomes complete with the last of them. It is released as that of hx_iallreduce is, and can be
 * passed to hx_request_notify and hx_request_fd. All ranks make the same calls in the same order.
 * Hierax packs calls that differ only in counts and buffers into calls of up to HX_GROUP_BYTES, so
 * many short calls become few messages. Calls with arrays of counts are not packed. Results are
 * those of the single calls. But a sum of floating-point numbers may be rounded differently, because
 * a packed call may have another plan. It is bitwise equal on all ranks.
 * Errors: HX_ERR_STATE if comm has no group open. The first error of the calls; HX_ERR_MISMATCH if
 * ranks have different groups. */
HX_CALL hx_status_t hx_group_end(hx_comm_t *comm, hx_request_t **request);

/* A callback of hx_request_notify: status is that of the call, ctx as it was passed. */
typedef void hx_notify_fn_t(hx_status_t status, void *ctx);

/* Let Hierax call fn, once, when a started call is complete, with its status or error. If the call
 * is complete already, fn runs at once. Does not block. The request is still released by hx_wait,
 * hx_test, hx_waitall, hx_waitany or hx_testall. These find the call complete only after fn has
 * returned. (In fn itself they find its own call complete. If another function waits for the request
 * or tests it, that function releases it, and in fn these functions return HX_ERR_STATE.)
 * With HX_PROGRESS_THREAD=1 the progress thread calls fn, even if the program makes no other call.
 * It also detects failures and HX_TIMEOUT for such calls. A thread of the program calls fn only in
 * the functions named above. Without a progress thread, hx_request_notify calls it too, if the call
 * is complete already. Hierax runs one callback at a time, in the order in which the calls were
 * completed, and holds no lock meanwhile.
 * fn must not block, because it delays other callbacks and with HX_PROGRESS_THREAD=1 all started
 * calls. It must return. It may call hx_abort and every function that does not block or is local.
 * Others return HX_ERR_STATE. Callbacks do not run at the same time on all ranks. So do not start
 * calls in fn on a communicator that other code uses.
 * Errors: HX_ERR_ARG if request or fn is NULL. HX_ERR_STATE if the request has not been started, or
 * has a callback already. HX_ERR_NOMEM. */
HX_CALL hx_status_t hx_request_notify(hx_request_t *request, hx_notify_fn_t *fn, void *ctx);

/* A descriptor for poll, select or epoll: readable when the call is complete and its callback, if
 * it has one, has returned. Do not read or close it. hx_wait or hx_test closes the descriptor when
 * it releases the request, hx_request_free that of a prepared call. hx_start makes it unreadable
 * again. If the program waits for the descriptor outside Hierax, set HX_PROGRESS_THREAD=1. Does not
 * block.
 * Errors: HX_ERR_ARG if request or fd is NULL. HX_ERR_NOMEM if no descriptor is left. */
HX_CALL hx_status_t hx_request_fd(hx_request_t *request, int *fd);

/* The type of the function of hx_on_idle. ctx: the pointer that was passed with it. */
typedef void hx_idle_fn_t(void *ctx);

/* Let threads of the program call fn again and again while they wait in a function of Hierax. So
 * another library makes progress meanwhile: for example, an MPI delivers a message that another rank
 * awaits. fn runs for the first time when a wait has polled for about 50 us (longer if HX_SPIN is
 * set), then at least every millisecond. Threads of Hierax do not call it. It must return soon, and
 * must not call Hierax. Several threads may call it at once. fn NULL: call nothing. Call hx_on_idle
 * while no other thread is in a function of Hierax; hx_init need not have been called. Local.
 * Errors: none. */
HX_PUBLIC hx_status_t hx_on_idle(hx_idle_fn_t *fn, void *ctx);

/* Make progress once: on all started calls of this process, and on data of returned calls that has yet
 * to leave. Run callbacks of hx_request_notify that are due. So the calls of other ranks make progress
 * while this rank waits outside Hierax, for example in a loop that tests requests of an MPI.
 * Returns 1 if something may be left to do, else 0. On one node it returns 0 if no call is under way,
 * and then takes a few nanoseconds. With a network it always returns 1, because the network does not
 * report when all data has left. If another thread is in Hierax, that thread makes the progress, and
 * hx_progress returns 1 at once. Returns 0 before hx_init and after hx_finalize. Does not block. Local. */
HX_PUBLIC int hx_progress(void);

/* Release a request of hx_<name>_init. Does not block, except on an atomic communicator that has
 * failed: see hx_comm_set_atomic.
 * Errors: HX_ERR_STATE if it is active: started, and neither hx_test nor hx_wait has found it
 * complete. HX_ERR_STATE also in the callback of the request, and while another function waits for the
 * request or tests it. HX_ERR_STATE if it is one of the last 64 requests that were released. */
HX_PUBLIC hx_status_t hx_request_free(hx_request_t *request);

/* The name of a status: "HX_ERR_ARG: wrong argument" for HX_ERR_ARG. Never NULL. Local. */
HX_PUBLIC const char *hx_strerror(hx_status_t status);

/* The text of the last error on comm. If comm is NULL, the text is that of this thread's last
 * call without a communicator. It is "" if there was no error. The text is valid until the next
 * call that fails. Local. */
HX_PUBLIC const char *hx_error_detail(const hx_comm_t *comm);

/* The version of the library that runs: for example "0.3.0". HX_VERSION is the version of the
 * header. Local. */
HX_PUBLIC const char *hx_version(void);

#ifdef __cplusplus
}
#endif
#endif
