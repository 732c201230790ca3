/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of MPI 4 with counts of MPI_Count, as MPI_Allreduce_c: those of blocking.c, with other types. */
#include "hxmpi.h"
#if MPI_VERSION >= 4
#define HXMPI_LARGE
#include "blocking.c"
#endif
