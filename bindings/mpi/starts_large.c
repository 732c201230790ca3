/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking collectives with counts of MPI_Count, such as MPI_Iallreduce_c. */
#include "hxmpi.h"
#if MPI_VERSION >= 4
#define HXMPI_LARGE
#include "starts.c"
#endif
