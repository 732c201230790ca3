/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking and persistent collectives. They make progress while a rank waits in MPI. A program may complete them in any order, and may free
 * the objects that they use before they are complete.
 *
 * usage: requests PART      started or persistent
 */
#include "forms.h"
#include "parts.h"
#include <stdlib.h>
#include <string.h>

/* ---- started: non-blocking calls, and messages that other ranks send only when these calls are complete */

enum { MANY = 60, LONG = 40000 };

/* The other ranks wait for the call and then send. So this rank's receive ends only if its part of the call makes progress meanwhile. */
static void after_the_call(MPI_Comm comm, int count, int how)
{
    static int in[LONG], out[LONG];
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request call, message;
    MPI_Message matched;
    int token = -1, flag, first;

    for (int i = 0; i < count; i++)
        in[i] = rank + i;
    MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &call);
    if (rank != 0) { /* complete it, and only then let the next rank know */
        MPI_Wait(&call, MPI_STATUS_IGNORE);
        if (rank > 1)
            MPI_Recv(&token, 1, MPI_INT, before, 8, comm, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, next, 8, comm);
    } else {
        switch (how) {
        case 0: break;
        case 1: MPI_Probe(before, 8, comm, MPI_STATUS_IGNORE); break;
        case 2:
            MPI_Mprobe(before, 8, comm, &matched, MPI_STATUS_IGNORE);
            MPI_Mrecv(&token, 1, MPI_INT, &matched, MPI_STATUS_IGNORE);
            break;
        case 3:
            for (flag = 0; !flag;)
                MPI_Iprobe(before, 8, comm, &flag, MPI_STATUS_IGNORE);
            break;
        default:
            MPI_Irecv(&token, 1, MPI_INT, before, 8, comm, &message);
            if (how == 4)
                MPI_Wait(&message, MPI_STATUS_IGNORE);
            else
                MPI_Waitany(1, &message, &first, MPI_STATUS_IGNORE);
        }
        if (how < 2 || how == 3)
            MPI_Recv(&token, 1, MPI_INT, before, 8, comm, MPI_STATUS_IGNORE);
        if (token != before)
            wrong("the message", token, before);
        MPI_Wait(&call, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; i += 97)
        if (out[i] != size * (size - 1) / 2 + size * i)
            wrong("after_the_call", out[i], size * (size - 1) / 2 + size * i);
}

/* Calls of MPI without a non-blocking form: while rank 0 is in one of them, its part of the collective must make progress. */
static void while_mpi_blocks(MPI_Comm comm)
{
    static int in[LONG], out[LONG]; /* long: every rank must make progress several times */
    int mine[4] = {0}, swapped = rank;
    struct {
        short value;
        int place;
    } greatest[2] = {{(short)rank, rank}, {-1, -1}};
    MPI_Request call;
    MPI_Comm copy;
    MPI_File file;
    MPI_Win win;

    MPI_Win_create(mine, sizeof(mine), sizeof(int), MPI_INFO_NULL, comm, &win);
    for (int part = 0; part < 5; part++) {
        for (int i = 0; i < LONG; i++)
            in[i] = rank + i;
        MPI_Iallreduce(in, out, LONG, MPI_INT, MPI_SUM, comm, &call);
        if (rank)
            MPI_Wait(&call, MPI_STATUS_IGNORE);
        switch (part) {
        case 0: MPI_Win_fence(0, win); break;
        case 1:
            MPI_Comm_dup(comm, &copy);
            MPI_Comm_free(&copy);
            break;
        case 2:
            MPI_Sendrecv_replace(&swapped, 1, MPI_INT, (rank + 1) % size, 9, (rank + size - 1) % size, 9, comm, MPI_STATUS_IGNORE);
            if (swapped != (rank + size - 1) % size)
                wrong("MPI_Sendrecv_replace", swapped, (rank + size - 1) % size);
            break;
        case 3:
            MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
            MPI_File_write_at_all(file, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
            MPI_File_close(&file);
            break;
        default: MPI_Allreduce(&greatest[0], &greatest[1], 1, MPI_SHORT_INT, MPI_MAXLOC, comm); /* MPI serves it: the pair has a gap */
        }
        if (!rank)
            MPI_Wait(&call, MPI_STATUS_IGNORE);
        for (int i = 0; i < LONG; i++)
            if (out[i] != size * (size - 1) / 2 + size * i)
                wrong("while_mpi_blocks", out[i], size * (size - 1) / 2 + size * i);
    }
    MPI_Win_free(&win);
}

/* Many calls of several collectives at once, mixed with messages. They are not completed in the order of their start. */
static void many(MPI_Comm comm)
{
    static int in[MANY][97], out[MANY][97];
    MPI_Request requests[2 * MANY];
    MPI_Status status;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int from[MANY], done = 0, index;

    for (int i = 0; i < MANY; i++) {
        const int count = i % 97 + 1;
        for (int k = 0; k < count; k++) {
            in[i][k] = rank + i + k;
            out[i][k] = i % 3 == 1 && rank == i % size ? 5 * i + k : -1;
        }
        if (i % 2)
            MPI_Irecv(&from[i], 1, MPI_INT, before, 100 + i, comm, &requests[2 * i]);
        else
            MPI_Isend(&rank, 1, MPI_INT, next, 101 + i, comm, &requests[2 * i]);
        if (i % 3 == 0)
            MPI_Iallreduce(in[i], out[i], count, MPI_INT, MPI_SUM, comm, &requests[2 * i + 1]);
        else if (i % 3 == 1)
            MPI_Ibcast(out[i], count, MPI_INT, i % size, comm, &requests[2 * i + 1]);
        else
            MPI_Ibarrier(comm, &requests[2 * i + 1]);
        if (i == MANY / 2) /* a blocking call between them */
            sum_check("many", comm, i);
    }
    for (int i = 2 * MANY - 1 - rank % 3; i >= 0; i -= 7) { /* each rank in another order */
        if (requests[i] != MPI_REQUEST_NULL)
            done++;
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    for (; done < 2 * MANY; done++) {
        MPI_Waitany(2 * MANY, requests, &index, &status);
        if (index == MPI_UNDEFINED || requests[index] != MPI_REQUEST_NULL)
            wrong("MPI_Waitany", index, 0);
        if (index % 4 == 2 && status.MPI_SOURCE != before)
            wrong("the source", status.MPI_SOURCE, before);
    }
    MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
    if (index != MPI_UNDEFINED)
        wrong("MPI_Waitany of none", index, MPI_UNDEFINED);
    for (int i = 0; i < MANY; i++) {
        const int sum = size * (size - 1) / 2 + size * (i + i % 97), wanted = i % 3 == 0 ? sum : i % 3 == 1 ? 5 * i + i % 97 : -1;
        if (out[i][i % 97] != wanted)
            wrong("many", out[i][i % 97], wanted);
        if (i % 2 && from[i] != before)
            wrong("a message", from[i], before);
    }
}

static void add_pairs(void *left, void *right, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *n; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* The program frees the communicator, the datatypes and the operation while the calls still use them. */
static void freed(void)
{
    MPI_Comm comm;
    MPI_Datatype gaps, pair;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Op op;
    int data[8], in[2], out[2] = {-1, -1}, sum = -1;

    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 8; i++)
            data[i] = rank == 0 ? i + round : -1;
        in[0] = in[1] = 1;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
        MPI_Type_commit(&gaps);
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(add_pairs, 1, &op);
        MPI_Ibcast(data, 1, gaps, 0, comm, &requests[0]);
        MPI_Iallreduce(in, out, 1, pair, op, comm, &requests[1]);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[2]);
        MPI_Type_free(&gaps);
        MPI_Type_free(&pair);
        MPI_Op_free(&op);
        MPI_Comm_free(&comm);
        MPI_Type_vector(4, 1, 2, MPI_SHORT, &gaps); /* may get the freed handles */
        MPI_Type_commit(&gaps);
        MPI_Waitall(3, requests, statuses);
        for (int i = 0; i < 8; i++)
            if (data[i] != (i % 2 == 0 || rank == 0 ? i + round : -1))
                wrong("a freed datatype", data[i], i + round);
        if (out[0] != size || out[1] != size || sum != size * (size - 1) / 2)
            wrong("a freed operation or communicator", out[0], size);
        MPI_Type_free(&gaps);
    }
}

/* More operations at once than libhierax-mpi has places for. */
static void many_operations(MPI_Comm comm)
{
    enum { OPS = 300 };
    static MPI_Op ops[OPS];
    static MPI_Request requests[OPS];
    static int in[OPS][2], out[OPS][2];
    MPI_Datatype pair;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < OPS; i++) {
        in[i][0] = in[i][1] = 1;
        MPI_Op_create(add_pairs, 1, &ops[i]);
        MPI_Iallreduce(in[i], out[i], 1, pair, ops[i], comm, &requests[i]);
    }
    for (int i = OPS - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        MPI_Op_free(&ops[i]);
        if (out[i][0] != size || out[i][1] != size)
            wrong("many_operations", out[i][0], size);
    }
    MPI_Type_free(&pair);
}

static void started(void)
{
    for (int how = 0; how < 6; how++) {
        after_the_call(MPI_COMM_WORLD, 1, how);
        after_the_call(MPI_COMM_WORLD, LONG, how);
    }
    while_mpi_blocks(MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        many(MPI_COMM_WORLD);
    freed();
    many_operations(MPI_COMM_WORLD);
}

/* ---- persistent: each rank starts them again and again, in another order, and the calls still use freed objects */

static void persistent_round(int round, MPI_Request requests[4], int in[2], int gaps[8])
{
    MPI_Status status;
    int index;

    in[0] = in[1] = rank + round;
    for (int i = 0; i < 8; i++)
        gaps[i] = rank == 1 ? i + round : -1;
    if (round % 2)
        MPI_Startall(3, requests);
    else
        for (int i = 0; i < 3; i++)
            MPI_Start(&requests[(i + rank) % 3]);
    if (round % 5 == 0) { /* a call that is not persistent, among them */
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
        MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    }
    if (round % 3 == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Wait(&requests[2 - i], &status);
    } else {
        for (int i = 0; i < 3; i++)
            MPI_Waitany(3, requests, &index, &status);
    }
    MPI_Waitany(3, requests, &index, &status);
    if (index != MPI_UNDEFINED) /* inactive requests */
        wrong("persistent: MPI_Waitany of none", index, MPI_UNDEFINED);
}

static void persistent(void)
{
    const int ranks = size * (size - 1) / 2;
    int in[2], out[2], gaps[8];
    MPI_Request requests[4];
    MPI_Datatype every_other, pair;
    MPI_Comm copy;
    MPI_Op op;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_pairs, 1, &op);
    INIT(Allreduce)(in, out, 1, pair, op, copy, MPI_INFO_NULL, &requests[0]);
    INIT(Bcast)(gaps, 1, every_other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    MPI_Type_free(&every_other);
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
    MPI_Comm_free(&copy);
    for (int round = 0; round < 60; round++) {
        persistent_round(round, requests, in, gaps);
        if (out[0] != ranks + size * round || out[1] != ranks + size * round)
            wrong("persistent: MPI_Allreduce_init", out[0], ranks + size * round);
        for (int i = 0; i < 8; i++)
            if (gaps[i] != (i % 2 == 0 || rank == 1 ? i + round : -1))
                wrong("persistent: MPI_Bcast_init", gaps[i], i + round);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    sum_check("persistent, afterwards", MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    const int is_persistent = argc == 2 && !strcmp(argv[1], "persistent");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!is_persistent && (argc != 2 || strcmp(argv[1], "started") != 0))
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (is_persistent)
        persistent();
    else
        started();
    MPI_Finalize();
    if (rank == 0)
        printf("requests: %s: good\n", argv[1]);
    return 0;
}
