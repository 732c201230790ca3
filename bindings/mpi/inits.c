/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistent collectives, such as MPI_Allreduce_init: the functions of blocking.c, with other names and a request that can be started.
 * MPI 4 has them, and Open MPI 5. Open MPI 4 calls them MPIX_Allreduce_init. */
#include "hxmpi.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define HXMPI_PREPARED MPI_
#define HXMPI_PREPARED_BY_MPI PMPI_
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define HXMPI_PREPARED MPIX_
#define HXMPI_PREPARED_BY_MPI PMPIX_
#endif
#ifdef HXMPI_PREPARED
#include "blocking.c"
#endif
