/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the time from the death of a rank to the next all-reduce of the other ranks. The program uses Hierax, or, if it is built with
 * -DULFM, an MPI with User Level Failure Mitigation. Usage: shrink_time FILE
 *
 * After some all-reduces the rank in the middle writes the time to FILE and dies. The other ranks revoke, shrink, and make an all-reduce. Each
 * of them prints "T1 us, of which T2 us in shrink".
 */
#ifdef ULFM
#include <mpi.h>
#include <mpi-ext.h>
#else
#include <hierax.h>
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEPS 100 /* before the death */

#ifdef ULFM
static MPI_Comm comm;

static int start(void)
{
    int provided;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS || MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS)
        return 0;
    return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

static int is_summed(void)
{
    double in = 1, sum;

    return MPI_Allreduce(&in, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS;
}

static int is_shrunk(void)
{
    MPI_Comm smaller;

    if (MPIX_Comm_shrink(comm, &smaller) != MPI_SUCCESS)
        return 0;
    comm = smaller;
    return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

static void comm_revoke(void)
{
    MPIX_Comm_revoke(comm);
}

static void place(int *rank, int *size)
{
    MPI_Comm_rank(comm, rank);
    MPI_Comm_size(comm, size);
}
#else
static hx_comm_t *comm;

static int start(void)
{
    return hx_init(&comm) == HX_SUCCESS;
}

static int is_summed(void)
{
    double in = 1, sum;

    return hx_allreduce(&in, &sum, 1, HX_FLOAT64, HX_SUM, comm) == HX_SUCCESS;
}

static int is_shrunk(void)
{
    hx_comm_t *smaller;

    if (hx_comm_shrink(comm, &smaller) != HX_SUCCESS)
        return 0;
    comm = smaller;
    return 1;
}

static void comm_revoke(void)
{
    hx_comm_revoke(comm);
}

static void place(int *rank, int *size)
{
    *rank = hx_rank(comm);
    *size = hx_size(comm);
}
#endif

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void die(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file || fprintf(file, "%.0f\n", now_us()) < 0 || fclose(file) != 0)
        perror(path);
    kill(getpid(), SIGKILL);
}

static double died_us(const char *path)
{
    FILE *file = fopen(path, "r");
    double died = 0;

    if (!file || fscanf(file, "%lf", &died) != 1)
        perror(path);
    if (file)
        fclose(file);
    return died;
}

int main(int argc, char **argv)
{
    int rank, size, left;
    double from, shrink = 0, done;

    if (argc != 2 || !start())
        return 2;
    place(&rank, &size);
    for (int i = 0; i < STEPS; i++)
        if (!is_summed())
            return 1;
    if (rank == size / 2)
        die(argv[1]);
    while (is_summed())
        ;
    do {
        comm_revoke();
        from = now_us();
        if (!is_shrunk())
            return 1;
        shrink += now_us() - from;
    } while (!is_summed());
    done = now_us();
    place(&rank, &left);
    printf("%.0f us, of which %.0f us in shrink\n", done - died_us(argv[1]), shrink);
    fflush(stdout);
    _exit(left == size - 1 ? 0 : 1); /* an MPI_Finalize after a death may hang */
}
