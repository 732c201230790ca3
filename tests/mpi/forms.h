/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of a collective, for alike.c and requests.c. */
#ifndef HXMPI_TESTS_FORMS_H
#define HXMPI_TESTS_FORMS_H

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

/* Each collective has a blocking, a non-blocking and a persistent form. MPI 4 has each form twice: with counts of int, and of MPI_Count.
 * `narrow` are the arguments with int, `wide` the same arguments with MPI_Count and MPI_Aint. */
#define STARTED(...) (__VA_ARGS__, &request)
#define PREPARED(...) (__VA_ARGS__, MPI_INFO_NULL, &request)
#if MPI_VERSION >= 4
#define OURS_V(name, start, narrow, wide)                                                                                            \
    (form == 0   ? (large ? MPI_##name##_c wide : MPI_##name narrow)                                                                 \
     : form == 1 ? ((large ? MPI_##start##_c STARTED wide : MPI_##start STARTED narrow), complete())                                 \
                 : ((large ? MPI_##name##_init_c PREPARED wide : MPI_##name##_init PREPARED narrow), run()))
#else
#define OURS_V(name, start, narrow, wide)                                                                                            \
    (form == 0 ? MPI_##name narrow : form == 1 ? (MPI_##start STARTED narrow, complete()) : (INIT(name) PREPARED narrow, run()))
#endif
#define OURS(name, start, ...) OURS_V(name, start, (__VA_ARGS__), (__VA_ARGS__))

#endif
