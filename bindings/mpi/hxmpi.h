/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libhierax-mpi: collectives of an MPI program, made by Hierax.
 *
 * The library stands in front of the program's MPI: it defines MPI_Allreduce and so on, and MPI's own functions remain under the
 * names PMPI_Allreduce and so on. A call that Hierax serves does not reach MPI. Any other call goes on to MPI. All ranks of a
 * communicator must decide alike, so a decision depends only on what MPI requires to be equal on all ranks: the communicator,
 * the operation, and the datatype of a reduction.
 */
#ifndef HXMPI_H
#define HXMPI_H

#include <hierax.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#pragma GCC visibility push(default) /* the functions of MPI that this library defines; not every mpi.h says so */
#include <mpi.h>
#pragma GCC visibility pop

/* Open MPI 5 says that it is MPI 3.1, and has these parts of MPI 4. It declares two functions in mpi-ext.h. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
#define HXMPI_HAS_SESSIONS 1
#define HXMPI_HAS_SHRINK 1
#pragma GCC visibility push(default)
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *out);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *out);
#pragma GCC visibility pop
#else
#define HXMPI_HAS_SESSIONS (MPI_VERSION >= 4)
#ifndef OPEN_MPI
#define HXMPI_HAS_SHRINK 1
#endif
#endif

#ifdef OPEN_MPI
#define HXMPI_ABI "Open MPI"
#else
#define HXMPI_ABI "MPICH"
#endif

/* ---- start.c */

enum hxmpi_state {
    HXMPI_BEFORE, /* MPI_Init */
    HXMPI_ON,
    HXMPI_OFF /* Hierax could not start, or has ended */
};
extern enum hxmpi_state hxmpi_state;

/* One line on standard error, by this rank. */
void hxmpi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Collective, during the start: the least of all ranks' numbers; 0 if MPI fails. */
int hxmpi_least(int mine);

/* ---- everyone.c */

/* Collective. Returns when all ranks of the job have the library. If one has not, the job stops. */
void hxmpi_everyone_await(int rank, int size);
/* Wait for a call of MPI at the start. Yield the core meanwhile, which MPICH's own waits do not. */
void hxmpi_wait_gently(MPI_Request *request);

/* ---- comms.c: communicators */

struct hxmpi_graph;

struct hxmpi_comm {
    hx_comm_t *comm; /* NULL: MPI makes the calls on it */
    int cause;       /* then: why, an index of hxmpi_causes */
    int rank, size;
    int early;                 /* communicators of Hierax for it that hxmpi_comm_new has made */
    struct hxmpi_graph *graph; /* its graph, once it has been looked for; NULL: there is none */
    int looked;                /* for its graph */
    int users, freed;          /* users: started calls that use it; freed: 1: the program has freed it */
    struct hxmpi_comm *next;   /* of those to be freed */
};

/* threads: several threads of this process may make communicators at once. */
hx_status_t hxmpi_comms_begin(hx_comm_t *world, int threads);
void hxmpi_comms_end(void);
/* While a call of Hierax waits, the messages of MPI go on. */
void hxmpi_progress(void *ctx);
/* The entry of comm. blocks: the call may wait for the other ranks. If hxmpi_comm_new has not made the communicator, the first such call makes
 * it. Until then a non-blocking call gets an entry without a communicator. NULL if Hierax does not run. */
const struct hxmpi_comm *hxmpi_comm_of(MPI_Comm comm, int blocks);
/* The program has made comm, or MPI_COMM_NULL, in a blocking call. Collective. */
void hxmpi_comm_new(MPI_Comm comm);
/* A started call holds the entry until it has ended, even if the program frees the communicator meanwhile. */
void hxmpi_comm_hold(const struct hxmpi_comm *of);
void hxmpi_comm_release(const struct hxmpi_comm *of);
int hxmpi_comm_is_freed(const struct hxmpi_comm *of);
/* Make another communicator of the same ranks, with this graph (NULL: none). Collective. NULL on all ranks if a rank is not ready, or cannot
 * make it. */
hx_comm_t *hxmpi_comm_copy(MPI_Comm comm, const struct hxmpi_comm *of, const struct hxmpi_graph *graph, int ready);
/* A call of Hierax on comm has returned this: what the MPI function returns. */
int hxmpi_result(MPI_Comm comm, hx_status_t status, const struct hxmpi_comm *of);
/* A new error code of MPI with this text. Its error handler runs. */
int hxmpi_error(MPI_Comm comm, const char *text);

/* ---- types.c: operations and datatypes */

/* The pair as Hierax names it: HXMPI_NAMED. HXMPI_FOLDED: fold.c can combine the elements. HXMPI_NOT: neither. */
enum hxmpi_known { HXMPI_NOT, HXMPI_NAMED, HXMPI_FOLDED };
enum hxmpi_known hxmpi_reduction(MPI_Datatype type, MPI_Op op, hx_dtype_t *dtype, hx_op_t *hx_op);
/* Are `count` elements of the type one block of memory, in the order in which MPI sends them? *bytes: of an element's data. */
int hxmpi_is_contiguous(MPI_Datatype type, size_t *bytes);
hx_status_t hxmpi_types_begin(void);

/* ---- fold.c: reductions by MPI_Reduce_local */

struct hxmpi_fold;
/* NULL if the datatype has gaps. Release it when the call is complete. */
struct hxmpi_fold *hxmpi_fold_take(MPI_Op op, MPI_Datatype type, hx_dtype_t *dtype, hx_op_t *hx_op);
void hxmpi_fold_release(struct hxmpi_fold *fold);

/* ---- started.c: progress */

extern _Atomic int hxmpi_outstanding; /* calls that have started and are not finished */
extern int hxmpi_always;              /* 1: Hierax may have work at any time: there are several nodes, or several threads call MPI */
/* Must Hierax make progress while this process waits in MPI? */
static inline int hxmpi_must_drive(void)
{
    return atomic_load_explicit(&hxmpi_outstanding, memory_order_relaxed) > 0 || hxmpi_always;
}
/* Make progress once; complete MPI's requests of calls that have ended. */
void hxmpi_drive(void);

/* MPI_Finalize: end the calls that the program has not completed, and release the requests that it has not freed. Local. */
void hxmpi_started_end(void);
void hxmpi_prepared_end(void); /* prepared.c */

/* ---- during.c: Hierax makes progress during a blocking call of MPI */

void hxmpi_during_begin(void);
void hxmpi_during_end(void);
void hxmpi_during_finish(void); /* once, at the end */
#define DURING(call)                                                                                                                 \
    __extension__({                                                                                                                  \
        const int drives_ = hxmpi_must_drive();                                                                                      \
        if (drives_)                                                                                                                 \
            hxmpi_during_begin();                                                                                                    \
        const int rc_ = (call);                                                                                                      \
        if (drives_)                                                                                                                 \
            hxmpi_during_end();                                                                                                      \
        rc_;                                                                                                                         \
    })

/* ---- pool.c: HXMPI_ALLOC */

/* The bytes of the pool that the user wants; 0: none. Rank 0 says if the setting is wrong. */
int64_t hxmpi_pool_wish(int rank);
/* Collective over the job. One line if it fails. */
void hxmpi_pool_open(hx_comm_t *world, int rank, int64_t bytes);
int hxmpi_pool_is_open(void); /* alike on all ranks */
/* Calls on comm may have buffers in the pool. Collective. */
hx_status_t hxmpi_pool_expect(hx_comm_t *comm);
void hxmpi_pool_close(void);
void hxmpi_pool_print(int rank); /* for HXMPI_STATS=1 */

/* ---- stats.c: HXMPI_STATS=1 */

#define HXMPI_CAUSES(ROW)                                                                                                            \
    ROW(SERVED, "served")                                                                                                            \
    ROW(OFF, "Hierax does not run")                                                                                                  \
    ROW(INTER, "intercommunicator")                                                                                                  \
    ROW(ALONE, "communicator of one rank")                                                                                           \
    ROW(FOREIGN, "ranks of another MPI_COMM_WORLD")                                                                                  \
    ROW(MEMBERS, "Hierax could not make the communicator")                                                                           \
    ROW(TYPE, "datatype of a reduction")                                                                                             \
    ROW(ARGUMENT, "argument that MPI refuses")                                                                                       \
    ROW(FIRST, "no blocking collective before it on the communicator")
#define HXMPI_CAUSE(name, text) HXMPI_CAUSE_##name,
enum hxmpi_cause { HXMPI_CAUSES(HXMPI_CAUSE) HXMPI_NCAUSES };

/* The name of each collective, and the name of its non-blocking form. */
#define HXMPI_COLLECTIVES(ROW)                                                                                                       \
    ROW(Barrier, Ibarrier)                                                                                                           \
    ROW(Bcast, Ibcast)                                                                                                               \
    ROW(Reduce, Ireduce)                                                                                                             \
    ROW(Allreduce, Iallreduce)                                                                                                       \
    ROW(Gather, Igather)                                                                                                             \
    ROW(Gatherv, Igatherv)                                                                                                           \
    ROW(Scatter, Iscatter)                                                                                                           \
    ROW(Scatterv, Iscatterv)                                                                                                         \
    ROW(Allgather, Iallgather)                                                                                                       \
    ROW(Allgatherv, Iallgatherv)                                                                                                     \
    ROW(Alltoall, Ialltoall)                                                                                                         \
    ROW(Alltoallv, Ialltoallv)                                                                                                       \
    ROW(Alltoallw, Ialltoallw)                                                                                                       \
    ROW(Reduce_scatter_block, Ireduce_scatter_block)                                                                                 \
    ROW(Reduce_scatter, Ireduce_scatter)                                                                                             \
    ROW(Scan, Iscan)                                                                                                                 \
    ROW(Exscan, Iexscan)                                                                                                             \
    ROW(Neighbor_allgather, Ineighbor_allgather)                                                                                     \
    ROW(Neighbor_allgatherv, Ineighbor_allgatherv)                                                                                   \
    ROW(Neighbor_alltoall, Ineighbor_alltoall)                                                                                       \
    ROW(Neighbor_alltoallv, Ineighbor_alltoallv)                                                                                     \
    ROW(Neighbor_alltoallw, Ineighbor_alltoallw)
#define HXMPI_COLLECTIVE(name, starts) HXMPI_##name,
enum hxmpi_collective { HXMPI_COLLECTIVES(HXMPI_COLLECTIVE) HXMPI_NCOLLECTIVES };
enum hxmpi_form { HXMPI_BLOCKS, HXMPI_STARTS, HXMPI_PERSISTENT, HXMPI_FORMS }; /* MPI_Bcast, MPI_Ibcast, MPI_Bcast_init */

extern int hxmpi_stats_wanted;
void hxmpi_stats_begin(void);
/* what: collective + form * HXMPI_NCOLLECTIVES */
void hxmpi_stats_add(int what, enum hxmpi_cause cause);
static inline void hxmpi_count(int what, enum hxmpi_cause cause)
{
    if (hxmpi_stats_wanted)
        hxmpi_stats_add(what, cause);
}
/* Nanoseconds on a clock that only counts forward; 0 if nothing is counted. */
unsigned long hxmpi_stats_clock(void);
/* A blocking collective, of Hierax or of MPI, has begun at this time and ends now. */
void hxmpi_stats_blocked(unsigned long since);
static inline unsigned long hxmpi_stats_since(void)
{
    return hxmpi_stats_wanted ? hxmpi_stats_clock() : 0;
}
void hxmpi_stats_print(int rank);

#endif
