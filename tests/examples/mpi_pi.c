/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program, as it is: pi by a sum over all ranks. With libhierax-mpi preloaded, Hierax makes the sum. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const int steps = 1000000;
    double mine = 0, pi = 0;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = rank; i < steps; i += size) {
        const double x = (i + 0.5) / steps;
        mine += 4 / (1 + x * x) / steps;
    }
    MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const int wrong = fabs(pi - 3.14159265358979) > 1e-10;
    printf("mpi_pi: rank %d of %d ranks, pi is %.10f: %s\n", rank, size, pi, wrong ? "WRONG" : "correct");
    MPI_Finalize();
    return wrong;
}
