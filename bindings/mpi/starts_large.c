/* SPDX-License-Identifier: BSD-3-Clause */
/* The same with counts of MPI_Count, as MPI_Iallreduce_c. */
#include "hxmpi.h"
#if MPI_VERSION >= 4
#define HXMPI_LARGE
#include "starts.c"
#endif
