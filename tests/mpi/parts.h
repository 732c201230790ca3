/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks for test programs that have several parts: hard.c and requests.c. */
#ifndef HXMPI_TESTS_PARTS_H
#define HXMPI_TESTS_PARTS_H

#include <mpi.h>
#include <stdio.h>

static int rank, size;

static inline void wrong(const char *part, int got, int wanted)
{
    fprintf(stderr, "%s: rank %d: %d, expected %d\n", part, rank, got, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The sum of (number within comm + i), in a call that Hierax serves. */
static inline void sum_check(const char *part, MPI_Comm comm, int i)
{
    int me, n, sum = 0;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    const int mine = me + i;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != n * (n - 1) / 2 + n * i)
        wrong(part, sum, n * (n - 1) / 2 + n * i);
}

#endif
