/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long each blocking collective takes at each size, called in a loop, and whether its data is right. Rank 0 prints a line for each
 * collective and size: its name, the bytes of a block, and the microseconds of a call on the slowest rank.
 *
 * usage: loops MIN_BYTES MAX_BYTES MICROSECONDS [COLLECTIVE...]    sizes grow by a factor of 4; a loop takes about so many microseconds;
 * default: all collectives, else those of these names, as in Gatherv
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT 0
#define MOST_CALLS 1000

static int rank, size;
static int *in, *out, *counts, *displs;

/* What a rank's result holds: blocks of one rank, or the sum of blocks over the ranks from..to. */
enum gives {
    NOTHING,
    OF_ROOT,    /* the root's only block */
    MINE_OF,    /* the root's block for this rank */
    ONE_OF_ALL, /* block r is the only block of rank r */
    MINE_OF_ALL,
    SUM,
    SUM_MINE, /* the sum of all blocks for this rank */
    SUM_UPTO, /* of the ranks up to this one */
    SUM_BEFORE
};

#define ROWS(ROW)                                                                                                                    \
    ROW(Barrier, NOTHING, 0, (MPI_COMM_WORLD))                                                                                       \
    ROW(Bcast, OF_ROOT, 0, (out, n, MPI_INT, ROOT, MPI_COMM_WORLD))                                                                  \
    ROW(Reduce, SUM, 1, (in, out, n, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD))                                                        \
    ROW(Allreduce, SUM, 0, (in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD))                                                           \
    ROW(Gather, ONE_OF_ALL, 1, (in, n, MPI_INT, out, n, MPI_INT, ROOT, MPI_COMM_WORLD))                                              \
    ROW(Gatherv, ONE_OF_ALL, 1, (in, n, MPI_INT, out, counts, displs, MPI_INT, ROOT, MPI_COMM_WORLD))                                \
    ROW(Scatter, MINE_OF, 0, (in, n, MPI_INT, out, n, MPI_INT, ROOT, MPI_COMM_WORLD))                                                \
    ROW(Scatterv, MINE_OF, 0, (in, counts, displs, MPI_INT, out, n, MPI_INT, ROOT, MPI_COMM_WORLD))                                  \
    ROW(Allgather, ONE_OF_ALL, 0, (in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD))                                                 \
    ROW(Allgatherv, ONE_OF_ALL, 0, (in, n, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD))                                   \
    ROW(Alltoall, MINE_OF_ALL, 0, (in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD))                                                 \
    ROW(Alltoallv, MINE_OF_ALL, 0, (in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD))                      \
    ROW(Reduce_scatter_block, SUM_MINE, 0, (in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD))                                           \
    ROW(Reduce_scatter, SUM_MINE, 0, (in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD))                                            \
    ROW(Scan, SUM_UPTO, 0, (in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD))                                                           \
    ROW(Exscan, SUM_BEFORE, 0, (in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD))

#define CALLS(name, gives, at_root, arguments)                                                                                       \
    static int call_##name(int n)                                                                                                    \
    {                                                                                                                                \
        (void)n;                                                                                                                     \
        return MPI_##name arguments;                                                                                                 \
    }
ROWS(CALLS)
#define TABLE(name, gives, at_root, arguments) {#name, call_##name, gives, at_root},
static const struct row {
    const char *name;
    int (*call)(int n);
    enum gives gives;
    int at_root; /* 1: only the root has a result */
} rows[] = {ROWS(TABLE)};

static int element(int from, int block, int i)
{
    return 1000 * from + 37 * block + i % 101 + 1;
}

static int sum(int first, int last, int block, int i)
{
    int total = 0;

    for (int r = first; r <= last; r++)
        total += element(r, block, i);
    return total;
}

static int wanted(enum gives gives, int block, int i)
{
    switch (gives) {
    case NOTHING: return -1;
    case OF_ROOT: return element(ROOT, 0, i);
    case MINE_OF: return element(ROOT, rank, i);
    case ONE_OF_ALL: return element(block, 0, i);
    case MINE_OF_ALL: return element(block, rank, i);
    case SUM: return sum(0, size - 1, 0, i);
    case SUM_MINE: return sum(0, size - 1, rank, i);
    case SUM_UPTO: return sum(0, rank, 0, i);
    case SUM_BEFORE: return sum(0, rank - 1, 0, i);
    }
    return -1;
}

static void inputs_set(const struct row *row, int n)
{
    for (int r = 0; r < size; r++) {
        counts[r] = n;
        displs[r] = r * n;
        for (int i = 0; i < n; i++)
            in[r * n + i] = element(rank, r, i);
    }
    memset(out, 0xff, (size_t)size * (size_t)n * sizeof(*out));
    if (row->gives == OF_ROOT && rank == ROOT)
        memcpy(out, in, (size_t)n * sizeof(*out));
}

/* Elements without a result are -1. */
static void outputs_check(const struct row *row, int n)
{
    const int blocks = row->gives == ONE_OF_ALL || row->gives == MINE_OF_ALL ? size : 1;
    const int has = !(row->at_root && rank != ROOT) && !(row->gives == SUM_BEFORE && rank == 0);

    for (int b = 0; b < size; b++)
        for (int i = 0; i < n; i++) {
            const int good = has && b < blocks ? wanted(row->gives, b, i) : -1;
            if (out[b * n + i] != good) {
                fprintf(stderr, "loops: %s of %d bytes, %d ranks: rank %d, element %d of block %d: %d, expected %d\n", row->name, 4 * n, size,
                        rank, i, b, out[b * n + i], good);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
}

/* Seconds of a call, on the slowest rank. */
static double loop_time(const struct row *row, int n, int calls)
{
    double mine, slowest = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        row->call(n);
    mine = (MPI_Wtime() - mine) / calls;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure(const struct row *row, int n, double seconds)
{
    inputs_set(row, n);
    row->call(n);
    outputs_check(row, n);
    double time = loop_time(row, n, 3);
    for (int i = 0, calls = 3; i < 3 && calls < MOST_CALLS && calls * time < seconds / 2; i++) { /* the first calls are slower */
        const double wanted = time > 0 ? seconds / time : MOST_CALLS;
        calls = wanted > MOST_CALLS ? MOST_CALLS : wanted < 3 ? 3 : (int)wanted;
        time = loop_time(row, n, calls);
    }
    outputs_check(row, n);
    if (rank == 0)
        printf("%-22s %8d %12.2f\n", row->name, 4 * n, 1e6 * time);
}

static int is_named(const char *name, int n, char **names)
{
    int i = 0;

    while (i < n && strcmp(name, names[i]) != 0)
        i++;
    return n <= 0 || i < n;
}

int main(int argc, char **argv)
{
    const int least = argc >= 4 ? atoi(argv[1]) : 0, most = argc >= 4 ? atoi(argv[2]) : 0;
    const double seconds = argc >= 4 ? 1e-6 * atoi(argv[3]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Alloc_mem((MPI_Aint)size * most, MPI_INFO_NULL, &in); /* HXMPI_ALLOC=1: from the pool */
    MPI_Alloc_mem((MPI_Aint)size * most, MPI_INFO_NULL, &out);
    counts = malloc((size_t)size * sizeof(*counts));
    displs = malloc((size_t)size * sizeof(*displs));
    if (least < 4 || most < least || !in || !out || !counts || !displs) {
        fprintf(stderr, "usage: loops MIN_BYTES MAX_BYTES MICROSECONDS [COLLECTIVE...]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (int bytes = is_named(rows[r].name, argc - 4, argv + 4) ? least : most + 1; bytes <= most; bytes = bytes < most && 4L * bytes > most ? most : 4 * bytes) {
            measure(&rows[r], bytes / 4, seconds);
            if (rows[r].gives == NOTHING || bytes == most)
                break;
        }
    if (rank == 0)
        printf("loops: all data right\n");
    MPI_Free_mem(in);
    MPI_Free_mem(out);
    free(counts);
    free(displs);
    MPI_Finalize();
    return 0;
}
