/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives, as MPI_Allreduce_init: MPI makes them all, and they are counted. MPI has no request of the program's own that can
 * be started again. MPI 4 has these functions, and Open MPI: before version 5 as MPIX_Allreduce_init. */
#include "hxmpi.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#define MPI_NAME(name) MPI_##name
#define PMPI_NAME(name) PMPI_##name
#if MPI_VERSION >= 4
#define FORMS(ROW, name, of_int, of_count, arguments) ROW(name, name##_init, of_int, arguments) ROW(name, name##_init_c, of_count, arguments)
#elif defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
#define FORMS(ROW, name, of_int, of_count, arguments) ROW(name, name##_init, of_int, arguments)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define FORMS(ROW, name, of_int, of_count, arguments) ROW(name, name##_init, of_int, arguments)
#undef MPI_NAME
#undef PMPI_NAME
#define MPI_NAME(name) MPIX_##name
#define PMPI_NAME(name) PMPIX_##name
#endif

#ifdef FORMS
#define FUNCTION(name, full_name, parameters, arguments)                                                                             \
    int MPI_NAME(full_name) parameters                                                                                                   \
    {                                                                                                                                \
        hxmpi_count(HXMPI_##name + HXMPI_PERSISTENT * HXMPI_NCOLLECTIVES,                                                            \
                    hxmpi_state == HXMPI_ON ? HXMPI_CAUSE_PERSISTENT : HXMPI_CAUSE_OFF);                                             \
        return DURING(PMPI_NAME(full_name) arguments);                                                                                   \
    }
#define LAST MPI_Comm comm, MPI_Info info, MPI_Request *request
/* The parameters, with the types of counts and of displacements. */
#define REDUCES(count_t) (const void *in, void *out, count_t n, MPI_Datatype type, MPI_Op op, LAST)
#define REDUCES_TO(count_t) (const void *in, void *out, count_t n, MPI_Datatype type, MPI_Op op, int root, LAST)
#define REDUCES_V(count_t) (const void *in, void *out, const count_t ns[], MPI_Datatype type, MPI_Op op, LAST)
#define SENDS_FROM(count_t) (void *buffer, count_t n, MPI_Datatype type, int root, LAST)
#define MOVES(count_t) (const void *in, count_t n_in, MPI_Datatype type_in, void *out, count_t n_out, MPI_Datatype type_out, LAST)
#define MOVES_ROOT(count_t)                                                                                                          \
    (const void *in, count_t n_in, MPI_Datatype type_in, void *out, count_t n_out, MPI_Datatype type_out, int root, LAST)
#define GATHERS_V(count_t, displ_t, ...)                                                                                             \
    (const void *in, count_t n, MPI_Datatype type_in, void *out, const count_t ns[], const displ_t at[], MPI_Datatype type_out, __VA_ARGS__)
#define SCATTERS_V(count_t, displ_t)                                                                                                 \
    (const void *in, const count_t ns[], const displ_t at[], MPI_Datatype type_in, void *out, count_t n, MPI_Datatype type_out, int root, \
     LAST)
#define MOVES_V(count_t, displ_t)                                                                                                    \
    (const void *in, const count_t ns_in[], const displ_t at_in[], MPI_Datatype type_in, void *out, const count_t ns_out[],          \
     const displ_t at_out[], MPI_Datatype type_out, LAST)

FUNCTION(Barrier, Barrier_init, (LAST), (comm, info, request))
FORMS(FUNCTION, Bcast, SENDS_FROM(int), SENDS_FROM(MPI_Count), (buffer, n, type, root, comm, info, request))
FORMS(FUNCTION, Reduce, REDUCES_TO(int), REDUCES_TO(MPI_Count), (in, out, n, type, op, root, comm, info, request))
FORMS(FUNCTION, Allreduce, REDUCES(int), REDUCES(MPI_Count), (in, out, n, type, op, comm, info, request))
FORMS(FUNCTION, Reduce_scatter_block, REDUCES(int), REDUCES(MPI_Count), (in, out, n, type, op, comm, info, request))
FORMS(FUNCTION, Reduce_scatter, REDUCES_V(int), REDUCES_V(MPI_Count), (in, out, ns, type, op, comm, info, request))
FORMS(FUNCTION, Scan, REDUCES(int), REDUCES(MPI_Count), (in, out, n, type, op, comm, info, request))
FORMS(FUNCTION, Exscan, REDUCES(int), REDUCES(MPI_Count), (in, out, n, type, op, comm, info, request))
FORMS(FUNCTION, Allgather, MOVES(int), MOVES(MPI_Count), (in, n_in, type_in, out, n_out, type_out, comm, info, request))
FORMS(FUNCTION, Alltoall, MOVES(int), MOVES(MPI_Count), (in, n_in, type_in, out, n_out, type_out, comm, info, request))
FORMS(FUNCTION, Gather, MOVES_ROOT(int), MOVES_ROOT(MPI_Count), (in, n_in, type_in, out, n_out, type_out, root, comm, info, request))
FORMS(FUNCTION, Scatter, MOVES_ROOT(int), MOVES_ROOT(MPI_Count), (in, n_in, type_in, out, n_out, type_out, root, comm, info, request))
FORMS(FUNCTION, Allgatherv, GATHERS_V(int, int, LAST), GATHERS_V(MPI_Count, MPI_Aint, LAST),
      (in, n, type_in, out, ns, at, type_out, comm, info, request))
FORMS(FUNCTION, Gatherv, GATHERS_V(int, int, int root, LAST), GATHERS_V(MPI_Count, MPI_Aint, int root, LAST),
      (in, n, type_in, out, ns, at, type_out, root, comm, info, request))
FORMS(FUNCTION, Scatterv, SCATTERS_V(int, int), SCATTERS_V(MPI_Count, MPI_Aint),
      (in, ns, at, type_in, out, n, type_out, root, comm, info, request))
FORMS(FUNCTION, Alltoallv, MOVES_V(int, int), MOVES_V(MPI_Count, MPI_Aint),
      (in, ns_in, at_in, type_in, out, ns_out, at_out, type_out, comm, info, request))
#endif
