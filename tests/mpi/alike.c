/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every collective of MPI that libhierax-mpi serves, blocking, non-blocking and persistent. The test calls it by its own name, which the
 * preloaded library defines, and by its name with PMPI_, which MPI defines. Both must give the same bytes. Counts, roots, types, layouts and
 * communicators are drawn at random.
 *
 * usage: alike ROUNDS SEED
 */
#include "forms.h"
#include <float.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 700, RANKS = 16 };
enum { ROOM = 32 * MOST * RANKS }; /* an element takes at most 24 bytes */
static unsigned char in[ROOM], ours[ROOM], theirs[ROOM];

static int large, form;
static MPI_Request request;

static unsigned seed;
static int rank_of_world, round_no, failures;

static unsigned draw(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static void incomplete(const char *what, int got)
{
    if (failures++ < 5)
        fprintf(stderr, "alike: rank %d, round %d: %s: %d\n", rank_of_world, round_no, what, got);
}

/* Complete the request, by another function each time. */
static int complete(void)
{
    static unsigned times;
    int flag = 0, index = 0, count = 0;
    MPI_Status status;

    switch (times++ % 8) {
    case 0: return MPI_Wait(&request, MPI_STATUS_IGNORE);
    case 1: return MPI_Waitall(1, &request, &status);
    case 2: return MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    case 3: return MPI_Waitsome(1, &request, &count, &index, &status);
    case 4:
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        break;
    case 5: /* MPI_Testall of MPICH 4.0.2 fails for a persistent collective of its own that is not complete */
        while (!flag && form == 2)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Testall(1, &request, &flag, &status);
        break;
    case 6:
        while (!flag)
            MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
        break;
    default: /* after MPI_Request_get_status, MPI_Testsome of MPICH 4.2.1 no longer finds a persistent request */
        while (!flag && form == 2)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag)
            break;
        while (!flag)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        MPI_Testsome(1, &request, &count, &index, &status);
        if (count != 1)
            incomplete("MPI_Testsome", count);
    }
    if (request != MPI_REQUEST_NULL && form == 1)
        incomplete("the request is not MPI_REQUEST_NULL", 0);
    return MPI_SUCCESS;
}

/* Start and complete a persistent request. */
static int run(void)
{
    if (draw(2))
        MPI_Start(&request);
    else
        MPI_Startall(1, &request);
    complete();
    return MPI_Request_free(&request);
}

static void compare(const char *what, const void *got, const void *wanted, size_t bytes)
{
    const unsigned char *a = got, *b = wanted;

    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i]) {
            if (failures++ < 5)
                fprintf(stderr, "alike: rank %d, round %d: %s: byte %zu of %zu is %d, MPI's %d\n", rank_of_world, round_no, what, i,
                        bytes, a[i], b[i]);
            return;
        }
}

/* The long double of x86 has 6 bytes without a meaning. */
static void compare_elements(const char *what, size_t bytes, MPI_Datatype type)
{
    for (size_t i = 0; type == MPI_LONG_DOUBLE && LDBL_MANT_DIG == 64 && i < bytes; i++)
        if (i % sizeof(long double) >= 10)
            ours[i] = theirs[i] = 0;
    compare(what, ours, theirs, bytes);
}

/* The same draw on all ranks, but other data on each. */
static void fill(unsigned char *bytes, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)((i * 7 + (size_t)rank * 31 + (size_t)round_no) % 5); /* small, so that sums are exact in any order */
}

/* Types of 8 data bytes an element: the same signature in several layouts. */
static MPI_Datatype layouts[4];

static void layouts_make(void)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {12, 0}; /* the second int comes first in memory */
    const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};

    MPI_Type_contiguous(2, MPI_INT, &layouts[0]);
    MPI_Type_vector(2, 1, 3, MPI_INT, &layouts[1]);
    MPI_Type_create_struct(2, lengths, places, ints, &layouts[2]);
    MPI_Type_create_resized(layouts[0], 0, 24, &layouts[3]);
    for (int i = 0; i < 4; i++)
        MPI_Type_commit(&layouts[i]);
}


static void *begin(int in_place)
{
    if (in_place)
        fill(ours, ROOM, rank_of_world);
    else
        memset(ours, 0xee, ROOM);
    memcpy(theirs, ours, ROOM);
    fill(in, ROOM, rank_of_world);
    return in_place ? MPI_IN_PLACE : in;
}

static MPI_Count wide_counts[2][RANKS];
static MPI_Aint wide_displs[2][RANKS];

static void widen(int n, const int *counts, const int *displs, int which)
{
    for (int i = 0; i < n; i++) {
        wide_counts[which][i] = counts[i];
        wide_displs[which][i] = displs[i];
    }
}

static void moves(MPI_Comm comm)
{
    int rank, size, counts[RANKS], displs[RANKS], sent[RANKS], sent_at[RANKS], at = 0, sent_end = 0, matrix[RANKS][RANKS];
    const int count = (int)draw(4) ? (int)draw(MOST) : (int)draw(3), in_place = (int)draw(3) == 0;
    int root;
    const void *input;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    root = (int)draw((unsigned)size);
    for (int i = 0; i < size; i++)
        for (int k = 0; k < size; k++)
            matrix[i][k] = draw(3) ? (int)draw(MOST / 2) : 0;
    for (int i = 0; i < size; i++) { /* with gaps, and in an order that differs from the ranks' */
        const int k = (i + 1) % size;
        counts[k] = matrix[0][k];
        displs[k] = at;
        at += counts[k] + i % 2;
    }
    const MPI_Datatype mine = layouts[(draw(4) + (unsigned)rank * draw(4)) % 4], other = layouts[(draw(4) + (unsigned)rank * draw(4)) % 4];

    begin(1);
    OURS(Bcast, Ibcast, ours, count, mine, root, comm);
    PMPI_Bcast(theirs, count, mine, root, comm);
    compare("MPI_Bcast", ours, theirs, ROOM);

    input = begin(in_place);
    OURS(Allgather, Iallgather, input, count, mine, ours, count, other, comm);
    PMPI_Allgather(input, count, mine, theirs, count, other, comm);
    compare("MPI_Allgather", ours, theirs, ROOM);

    input = begin(in_place);
    widen(size, counts, displs, 0);
    OURS_V(Allgatherv, Iallgatherv, (input, counts[rank], mine, ours, counts, displs, other, comm),
           (input, counts[rank], mine, ours, wide_counts[0], wide_displs[0], other, comm));
    PMPI_Allgatherv(input, counts[rank], mine, theirs, counts, displs, other, comm);
    compare("MPI_Allgatherv", ours, theirs, ROOM);

    input = begin(in_place);
    OURS(Alltoall, Ialltoall, input, count, mine, ours, count, other, comm);
    PMPI_Alltoall(input, count, mine, theirs, count, other, comm);
    compare("MPI_Alltoall", ours, theirs, ROOM);

    input = begin(in_place && rank == root);
    OURS(Gather, Igather, input, count, mine, ours, count, other, root, comm);
    PMPI_Gather(input, count, mine, theirs, count, other, root, comm);
    compare("MPI_Gather", ours, theirs, ROOM);

    input = begin(in_place && rank == root);
    OURS_V(Gatherv, Igatherv, (input, counts[rank], mine, ours, counts, displs, other, root, comm),
           (input, counts[rank], mine, ours, wide_counts[0], wide_displs[0], other, root, comm));
    PMPI_Gatherv(input, counts[rank], mine, theirs, counts, displs, other, root, comm);
    compare("MPI_Gatherv", ours, theirs, ROOM);

    begin(0);
    OURS(Scatter, Iscatter, in, count, mine, in_place && rank == root ? MPI_IN_PLACE : ours, count, other, root, comm);
    PMPI_Scatter(in, count, mine, in_place && rank == root ? MPI_IN_PLACE : theirs, count, other, root, comm);
    compare("MPI_Scatter", ours, theirs, ROOM);

    begin(0);
    void *const here = in_place && rank == root ? MPI_IN_PLACE : ours;
    OURS_V(Scatterv, Iscatterv, (in, counts, displs, mine, here, counts[rank], other, root, comm),
           (in, wide_counts[0], wide_displs[0], mine, here, counts[rank], other, root, comm));
    PMPI_Scatterv(in, counts, displs, mine, in_place && rank == root ? MPI_IN_PLACE : theirs, counts[rank], other, root, comm);
    compare("MPI_Scatterv", ours, theirs, ROOM);

    at = 0;
    for (int i = 0; i < size; i++) {
        const int back = in_place && i < rank ? matrix[i][rank] : matrix[rank][i]; /* in place, both directions are as long */
        sent[i] = in_place ? back : matrix[rank][i];
        counts[i] = in_place ? back : matrix[i][rank];
        sent_at[i] = sent_end;
        displs[i] = at;
        sent_end += sent[i] + 1;
        at += counts[i] + 2;
    }
    if (in_place)
        for (int i = 0; i < size; i++) {
            counts[i] = matrix[i < rank ? i : rank][i < rank ? rank : i];
            displs[i] = i ? displs[i - 1] + counts[i - 1] : 0;
        }
    input = begin(in_place);
    widen(size, sent, sent_at, 1);
    widen(size, counts, displs, 0);
    OURS_V(Alltoallv, Ialltoallv, (input, sent, sent_at, mine, ours, counts, displs, other, comm),
           (input, wide_counts[1], wide_displs[1], mine, ours, wide_counts[0], wide_displs[0], other, comm));
    PMPI_Alltoallv(input, sent, sent_at, mine, theirs, counts, displs, other, comm);
    compare("MPI_Alltoallv", ours, theirs, ROOM);
}

/* The program's own operations. The first composes maps x -> a x + b modulo 97, so the order of ranks matters. */
static void compose(void *left, void *right, int *n, MPI_Datatype *type)
{
    const unsigned *l = left;
    unsigned *r = right;

    (void)type;
    for (int i = 0; i < 2 * *n; i += 2) {
        r[i + 1] = (r[i] % 97 * (l[i + 1] % 97) + r[i + 1]) % 97;
        r[i] = l[i] % 97 * (r[i] % 97) % 97;
    }
}

static void add_pairs(void *left, void *right, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *n; i++)
        ((unsigned *)right)[i] += ((unsigned *)left)[i];
}

static MPI_Op own[2];

static void reductions(MPI_Comm comm)
{
    const struct {
        MPI_Datatype type;
        size_t bytes;
        int pairs, floats;
    } types[] = {{MPI_INT, 4, 0, 0},           {MPI_DOUBLE, 8, 0, 1},        {MPI_FLOAT, 4, 0, 1},
                 {MPI_UNSIGNED_CHAR, 1, 0, 0}, {MPI_LONG, 8, 0, 0},          {MPI_SHORT, 2, 0, 0},
                 {MPI_2INT, 8, 1, 0},          {MPI_LONG_DOUBLE, 16, 0, 2},  {layouts[0], 8, 2, 0}};
    static const MPI_Op of_integers[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    int rank, size, counts[RANKS];
    const unsigned t = draw(sizeof(types) / sizeof(types[0])), o = draw(10);
    const int count = (int)draw(4) ? (int)draw(MOST) : (int)draw(3), in_place = (int)draw(3) == 0;
    const MPI_Datatype type = types[t].type;
    const MPI_Op op = types[t].pairs == 2 ? own[o % 2] : types[t].pairs ? (o % 2 ? MPI_MINLOC : MPI_MAXLOC) : of_integers[types[t].floats ? o % 4 : o];
    const size_t bytes = (size_t)count * types[t].bytes;
    const void *input;
    int root;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    root = (int)draw((unsigned)size);
    for (int i = 0; i < size; i++)
        counts[i] = (int)draw(MOST / 4);
/* Small whole numbers: sums and products of them are exact. */
#define NUMBERS(buffer)                                                                                                              \
    do {                                                                                                                             \
        for (int i = 0; i < MOST * RANKS && types[t].floats; i++) {                                                                  \
            const double value = 1 + (i + rank + round_no) % 3;                                                                      \
            if (types[t].floats == 2)                                                                                                \
                ((long double *)(void *)(buffer))[i] = value;                                                                        \
            else if (types[t].bytes == 8)                                                                                            \
                ((double *)(void *)(buffer))[i] = value;                                                                             \
            else                                                                                                                     \
                ((float *)(void *)(buffer))[i] = (float)value;                                                                       \
        }                                                                                                                            \
    } while (0)
#define BEGIN(place)                                                                                                                 \
    do {                                                                                                                             \
        input = begin(place);                                                                                                        \
        NUMBERS(in);                                                                                                                 \
        if (place) {                                                                                                                 \
            NUMBERS(ours);                                                                                                           \
            memcpy(theirs, ours, ROOM);                                                                                              \
        }                                                                                                                            \
    } while (0)

    BEGIN(in_place);
    OURS(Allreduce, Iallreduce, input, ours, count, type, op, comm);
    PMPI_Allreduce(input, theirs, count, type, op, comm);
    compare_elements("MPI_Allreduce", bytes, type);

    /* MPICH 4.0.2 crashes in MPI_Reduce in place of 5 ranks with some roots. So MPI gets another buffer with the same numbers. */
    BEGIN(in_place && rank == root);
    OURS(Reduce, Ireduce, input, ours, count, type, op, root, comm);
    PMPI_Reduce(in, theirs, count, type, op, root, comm);
    if (rank == root)
        compare_elements("MPI_Reduce", bytes, type);

    BEGIN(in_place);
    OURS(Scan, Iscan, input, ours, count, type, op, comm);
    PMPI_Scan(input, theirs, count, type, op, comm);
    compare_elements("MPI_Scan", bytes, type);

    BEGIN(in_place);
    OURS(Exscan, Iexscan, input, ours, count, type, op, comm);
    PMPI_Exscan(input, theirs, count, type, op, comm);
    if (rank > 0)
        compare_elements("MPI_Exscan", bytes, type);

    BEGIN(in_place);
    OURS(Reduce_scatter_block, Ireduce_scatter_block, input, ours, count, type, op, comm);
    PMPI_Reduce_scatter_block(input, theirs, count, type, op, comm);
    compare_elements("MPI_Reduce_scatter_block", bytes, type);

    BEGIN(in_place);
    widen(size, counts, counts, 0);
    OURS_V(Reduce_scatter, Ireduce_scatter, (input, ours, counts, type, op, comm), (input, ours, wide_counts[0], type, op, comm));
    PMPI_Reduce_scatter(input, theirs, counts, type, op, comm);
    compare_elements("MPI_Reduce_scatter", (size_t)counts[rank] * types[t].bytes, type);
    if (form == 0) {
        MPI_Barrier(comm);
    } else if (form == 1) {
        MPI_Ibarrier(comm, &request);
        complete();
    } else {
        INIT(Barrier)(comm, MPI_INFO_NULL, &request);
        run();
    }
}

/* A rank that waits in a collective must deliver its message; a rank that waits for a message must not hold up a collective. */
static void mixed(MPI_Comm comm)
{
    enum { LONG = 1 << 20 };
    static char message[LONG];
    int rank, size, value = 1, sum = 0;
    MPI_Request sent = MPI_REQUEST_NULL;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0 && size > 1)
        MPI_Isend(message, LONG, MPI_CHAR, size - 1, 5, comm, &sent);
    else if (rank == size - 1 && size > 1)
        MPI_Recv(message, LONG, MPI_CHAR, 0, 5, comm, MPI_STATUS_IGNORE);
    OURS(Allreduce, Iallreduce, &value, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    OURS(Bcast, Ibcast, &value, 1, MPI_INT, 0, comm);
    if (rank == 0 && size > 1) /* it leaves Hierax at once, and waits in MPI */
        MPI_Recv(&value, 1, MPI_INT, size - 1, 6, comm, MPI_STATUS_IGNORE);
    else if (rank == size - 1 && size > 1)
        MPI_Send(&value, 1, MPI_INT, 0, 6, comm);
    if (sum != size)
        failures++;
}

int main(int argc, char **argv)
{
    MPI_Comm half, copy;
    int rounds, provided, all = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    rounds = atoi(argv[1]);
    seed = (unsigned)atoi(argv[2]);
    layouts_make();
    for (round_no = 0; round_no < rounds; round_no++) {
        large = (int)draw(2);
        form = round_no % 3;
        MPI_Op_create(compose, 0, &own[0]); /* others each time: their handles are used again */
        MPI_Op_create(add_pairs, 1, &own[1]);
        /* colours and keys are drawn by all alike; the halves draw alike too */
        const int flip = (int)draw(2);
        MPI_Comm_split(MPI_COMM_WORLD, (rank_of_world + flip) % 2, draw(2) ? rank_of_world : -rank_of_world, &half);
        MPI_Comm_dup(half, &copy);
        MPI_Comm_free(&half);
        if (draw(2)) /* else the first call on it may be non-blocking, and MPI serves it */
            MPI_Barrier(copy);
        const unsigned before = seed;
        moves(MPI_COMM_WORLD);
        reductions(MPI_COMM_WORLD);
        seed = before + 1;
        moves(copy);
        seed = before + 2;
        reductions(copy);
        seed = before + 3;
        mixed(MPI_COMM_WORLD);
        if (draw(2))
            reductions(MPI_COMM_SELF);
        seed = before + 4;
        MPI_Comm_free(&copy);
        MPI_Op_free(&own[round_no % 2]);
        MPI_Op_free(&own[1 - round_no % 2]);
    }
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&layouts[i]);
    PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank_of_world == 0)
        printf("alike: %d rounds, seed %s: %d failures\n", rounds, argv[2], all);
    MPI_Finalize();
    return all != 0;
}
