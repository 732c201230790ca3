/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives with counts of MPI_Count, such as MPI_Allreduce_init_c. */
#include "hxmpi.h"
#if MPI_VERSION >= 4
#define HXMPI_LARGE
#include "inits.c"
#endif
