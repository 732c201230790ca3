/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that fails unless all ranks reach each other. Tests the lab, not Hierax. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char host[MPI_MAX_PROCESSOR_NAME];
    int rank, size, length, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum == size * (size - 1) / 2)
        printf("rank %d of %d on %s\n", rank, size, host);
    MPI_Finalize();
    return sum != size * (size - 1) / 2;
}
