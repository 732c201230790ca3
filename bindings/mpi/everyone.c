/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does every rank of the job have this library? A rank without it returns from MPI_Init and runs the program. A blocking collective with such
 * a rank would never end, or would be taken for a call of the program. So the ranks that have the library start a non-blocking one, and wait
 * for some seconds. If it does not end, each rank tells the next one that it is here. A rank that gets no message names the rank before it,
 * and stops the job.
 */
#include "hxmpi.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void nap(double seconds)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

static double limit_s(int rank)
{
    enum { DEFAULT_S = 30 };
    const char *wish = getenv("HXMPI_TIMEOUT");
    char *end = NULL;
    const double seconds = wish ? strtod(wish, &end) : DEFAULT_S;

    if (!wish || !*wish)
        return DEFAULT_S;
    if (*end == '\0' && seconds > 0 && seconds < 1e6)
        return seconds;
    if (rank == 0)
        hxmpi_say("HXMPI_TIMEOUT=%.60s is wrong; it is a number of seconds above 0. The default is %d s", wish, DEFAULT_S);
    return DEFAULT_S;
}

/* Returns 0 if the request is not complete in time. */
static int await(MPI_Request *request, double seconds)
{
    const double begin = now();
    int flag = 0;

    while (PMPI_Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag && now() - begin < seconds)
        if (now() - begin > 1e-3)
            nap(1e-4);
    return flag;
}

void hxmpi_wait_gently(MPI_Request *request)
{
    int flag = 0;

    while (PMPI_Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag)
        sched_yield();
}

static void stop(int rank, int size, double waited)
{
    enum { ANSWER_S = 1, OTHERS_S = 10 };
    const int before = (rank + size - 1) % size, next = (rank + 1) % size;
    int *tag = NULL, found = 0;
    MPI_Request sent, received;

    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag, &found);
    PMPI_Irecv(NULL, 0, MPI_BYTE, before, found ? *tag : 0, MPI_COMM_WORLD, &received);
    PMPI_Isend(NULL, 0, MPI_BYTE, next, found ? *tag : 0, MPI_COMM_WORLD, &sent);
    if (await(&received, ANSWER_S)) {
        nap(OTHERS_S); /* another rank stops the job */
    } else {
        nap(rank < 20 ? 0.1 * rank : 2); /* one line is enough */
        hxmpi_say("rank %d has not answered in MPI_Init for %.3g s: it seems to run without this library. All ranks need it in LD_PRELOAD. "
                  "The program stops",
                  before, waited);
        nap(0.5); /* the launcher passes the line on */
    }
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

void hxmpi_everyone_await(int rank, int size)
{
    enum { VALUES = 5, SIGN = 0x48584d50 }; /* no program begins with this call */
    const int mine[VALUES] = {SIGN, SIGN, SIGN, SIGN, SIGN};
    const double seconds = limit_s(rank);
    int all[VALUES] = {0};
    MPI_Request request;

    if (PMPI_Iallreduce(mine, all, VALUES, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &request) != MPI_SUCCESS || !await(&request, seconds) ||
        memcmp(all, mine, sizeof(all)) != 0)
        stop(rank, size, seconds);
}
