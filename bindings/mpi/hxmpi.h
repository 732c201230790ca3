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
#include <stddef.h>
#pragma GCC visibility push(default) /* the functions of MPI that this library defines; not every mpi.h says so */
#include <mpi.h>
#pragma GCC visibility pop

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

/* ---- comms.c: communicators */

struct hxmpi_comm {
    hx_comm_t *comm; /* NULL: MPI makes the calls on it */
    int cause;       /* then: why, an index of hxmpi_causes */
    int rank, size;
    struct hxmpi_comm *next; /* of those to be freed */
};

/* threads: several threads of this process may make communicators at once. */
hx_status_t hxmpi_comms_begin(hx_comm_t *world, int threads);
void hxmpi_comms_end(void);
/* While a call of Hierax waits, the messages of MPI go on. */
void hxmpi_progress(void *ctx);
/* The entry of comm. It is made at the first call on comm, which is collective. NULL if Hierax does not run. */
const struct hxmpi_comm *hxmpi_comm_of(MPI_Comm comm);
/* A call of Hierax on comm has returned this: what the MPI function returns. */
int hxmpi_result(MPI_Comm comm, hx_status_t status, const struct hxmpi_comm *of);

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

/* ---- stats.c: HXMPI_STATS=1 */

#define HXMPI_CAUSES(ROW)                                                                                                            \
    ROW(SERVED, "served")                                                                                                            \
    ROW(OFF, "Hierax does not run")                                                                                                  \
    ROW(INTER, "intercommunicator")                                                                                                  \
    ROW(ALONE, "communicator of one rank")                                                                                           \
    ROW(FOREIGN, "ranks of another MPI_COMM_WORLD")                                                                                  \
    ROW(MEMBERS, "Hierax could not make the communicator")                                                                           \
    ROW(TYPE, "datatype of a reduction")                                                                                             \
    ROW(ARGUMENT, "argument that MPI refuses")
#define HXMPI_CAUSE(name, text) HXMPI_CAUSE_##name,
enum hxmpi_cause { HXMPI_CAUSES(HXMPI_CAUSE) HXMPI_NCAUSES };

#define HXMPI_COLLECTIVES(ROW)                                                                                                       \
    ROW(Barrier)                                                                                                                     \
    ROW(Bcast)                                                                                                                       \
    ROW(Reduce)                                                                                                                      \
    ROW(Allreduce)                                                                                                                   \
    ROW(Gather)                                                                                                                      \
    ROW(Gatherv)                                                                                                                     \
    ROW(Scatter)                                                                                                                     \
    ROW(Scatterv)                                                                                                                    \
    ROW(Allgather)                                                                                                                   \
    ROW(Allgatherv)                                                                                                                  \
    ROW(Alltoall)                                                                                                                    \
    ROW(Alltoallv)                                                                                                                   \
    ROW(Reduce_scatter_block)                                                                                                        \
    ROW(Reduce_scatter)                                                                                                              \
    ROW(Scan)                                                                                                                        \
    ROW(Exscan)
#define HXMPI_COLLECTIVE(name) HXMPI_##name,
enum hxmpi_collective { HXMPI_COLLECTIVES(HXMPI_COLLECTIVE) HXMPI_NCOLLECTIVES };

extern int hxmpi_stats_wanted;
void hxmpi_stats_begin(void);
void hxmpi_stats_add(enum hxmpi_collective collective, enum hxmpi_cause cause);
static inline void hxmpi_count(enum hxmpi_collective collective, enum hxmpi_cause cause)
{
    if (hxmpi_stats_wanted)
        hxmpi_stats_add(collective, cause);
}
void hxmpi_stats_print(int rank);

#endif
