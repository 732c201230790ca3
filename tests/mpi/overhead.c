/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long MPI_Allreduce through libhierax-mpi takes, and how long hx_allreduce on the same communicator. The program has a function
 * hx_allreduce of its own, which the preloaded library finds first: it notes the communicator, and counts. Also how long MPI_Wait and PMPI_Wait
 * take while no call of Hierax is open.
 *
 * usage: overhead BATCHES CALLS    batches of both in turn; prints medians over the batches
 */
#include <dlfcn.h>
#include <hierax.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef hx_status_t allreduce_t(const void *, void *, size_t, hx_dtype_t, hx_op_t, hx_comm_t *);
static allreduce_t *real;
static hx_comm_t *comm_of_hierax;
static long passed_on;

hx_status_t hx_allreduce(const void *in, void *out, size_t count, hx_dtype_t dtype, hx_op_t op, hx_comm_t *comm)
{
    comm_of_hierax = comm;
    passed_on++;
    return real(in, out, count, dtype, op, comm);
}

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof(*times), compare);
    return times[n / 2];
}

static double sum;

static double mpi_batch(int calls, int count, double mine)
{
    const double start = now_ns();

    for (int i = 0; i < calls; i++)
        MPI_Allreduce(&mine, &sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (now_ns() - start) / calls;
}

static double hierax_batch(int calls, int count, double mine)
{
    const double start = now_ns();

    for (int i = 0; i < calls; i++)
        if (real(&mine, &sum, (size_t)count, HX_FLOAT64, HX_SUM, comm_of_hierax) != HX_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 1);
    return (now_ns() - start) / calls;
}

static double wait_batch(int (*wait)(MPI_Request *, MPI_Status *), int calls)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const double start = now_ns();

    for (int i = 0; i < calls; i++)
        wait(&request, MPI_STATUS_IGNORE);
    return (now_ns() - start) / calls;
}

int main(int argc, char **argv)
{
    int rank, size, batches = argc > 2 ? atoi(argv[1]) : 0, calls = argc > 2 ? atoi(argv[2]) : 0;

    real = (allreduce_t *)dlsym(RTLD_NEXT, "hx_allreduce"); /* on several nodes MPI_Init calls it */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *served = calloc((size_t)batches + 1, sizeof(*served)), *direct = calloc((size_t)batches + 1, sizeof(*direct));
    if (!real || batches < 1 || calls < 1 || !served || !direct) {
        fprintf(stderr, "overhead: %s\n", real ? "usage: overhead BATCHES CALLS" : "libhierax-mpi is not preloaded");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int count = 1; count >= 0; count--) {
        passed_on = 0;
        for (int b = -1; b < batches; b++) { /* the first of each is not counted */
            served[b < 0 ? 0 : b] = mpi_batch(calls, count, rank + 1);
            direct[b < 0 ? 0 : b] = hierax_batch(calls, count, rank + 1);
        }
        if (passed_on != (long)(batches + 1) * calls || (count && sum != size * (size + 1) / 2)) {
            fprintf(stderr, "overhead: %ld calls served, sum %g\n", passed_on, sum);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        const double s = median(served, batches), d = median(direct, batches);
        if (rank == 0)
            printf("overhead: %d B, %d ranks: MPI_Allreduce served %.0f ns, hx_allreduce %.0f ns, difference %.0f ns\n", 8 * count, size, s,
                   d, s - d);
    }
    for (int b = 0; b < batches; b++) {
        served[b] = wait_batch(MPI_Wait, 10 * calls);
        direct[b] = wait_batch(PMPI_Wait, 10 * calls);
    }
    if (rank == 0) {
        const double waits = median(served, batches), by_mpi = median(direct, batches);
        printf("overhead: MPI_Wait of no request %.1f ns, PMPI_Wait %.1f ns, difference %.1f ns\n", waits, by_mpi, waits - by_mpi);
    }
    free(served);
    free(direct);
    MPI_Finalize();
    return 0;
}
