/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs do to communicators and threads, and what goes wrong at the start. Each part checks its sums.
 *
 * usage: hard PART      one of the table at the end
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void wrong(const char *part, int got, int wanted)
{
    fprintf(stderr, "hard: %s: rank %d: %d, expected %d\n", part, rank, got, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The sum of (number within comm + i), in a call that Hierax serves. */
static void sum_check(const char *part, MPI_Comm comm, int i)
{
    int me, n, sum = 0;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    const int mine = me + i;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != n * (n - 1) / 2 + n * i)
        wrong(part, sum, n * (n - 1) / 2 + n * i);
}

/* ---- threads: each has a communicator, and makes more of them while the others do the same */

enum { THREADS = 3, ROUNDS = 120, DUPS_EACH = 40 };
static MPI_Comm of_thread[THREADS];

static void *thread(void *number)
{
    const int t = (int)(size_t)number;

    for (int i = 0; i < ROUNDS; i++) {
        int value = rank == i % size ? 7 * i + t : -1;
        int started = rank + i, sum = -1;
        MPI_Request request;
        MPI_Comm copy;
        sum_check("threads", of_thread[t], i + t);
        MPI_Iallreduce(&started, &sum, 1, MPI_INT, MPI_SUM, of_thread[t], &request);
        MPI_Bcast(&value, 1, MPI_INT, i % size, of_thread[t]);
        if (value != 7 * i + t)
            wrong("threads, MPI_Bcast", value, 7 * i + t);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (sum != size * (size - 1) / 2 + size * i)
            wrong("threads, MPI_Iallreduce", sum, size * (size - 1) / 2 + size * i);
        if (i % DUPS_EACH != t)
            continue;
        MPI_Comm_dup(of_thread[t], &copy);
        sum_check("threads, a duplicate", copy, i);
        MPI_Comm_free(&copy);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t started[THREADS];

    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[t]);
    for (int t = 1; t < THREADS; t++)
        if (pthread_create(&started[t], NULL, thread, (void *)(size_t)t) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    thread(NULL);
    for (int t = 1; t < THREADS; t++)
        pthread_join(started[t], NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&of_thread[t]);
}

/* ---- comms: many at once, used and freed in other orders than that of their creation */

enum { COMMS = 24, STEP = 7 }; /* STEP has no divisor in common with COMMS */

static void comms(void)
{
    MPI_Comm all[COMMS];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COMMS; i++)
            if (i % 3 == 2)
                MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &all[i]);
            else
                MPI_Comm_dup(i % 3 && i > 1 ? all[i - 2] : MPI_COMM_WORLD, &all[i]);
        for (int i = 0; i < COMMS; i++)
            sum_check("comms", all[(COMMS - 1 - i) * STEP % COMMS], i);
        for (int i = 0; i < COMMS; i++) {
            const int k = (i * STEP + round) % COMMS;
            MPI_Comm_free(&all[k]);
            for (int j = 0; j < COMMS; j += 5)
                if (all[j] != MPI_COMM_NULL)
                    sum_check("comms, some freed", all[j], j);
        }
    }
}

/* ---- dups: 10,000 of them leave nothing behind */

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void dups(void)
{
    enum { DUPS = 10000, WARM = 2000, USED = 4, MOST_KIB = 4096 };
    long before = 0, grown;

    for (int i = 0; i < DUPS; i++) {
        MPI_Comm copy;
        if (i == WARM)
            before = resident_kib();
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        if (i % USED == 0)
            sum_check("dups", copy, i);
        MPI_Comm_free(&copy);
    }
    grown = resident_kib() - before;
    if (grown > MOST_KIB)
        wrong("dups, KiB that the process has grown", (int)grown, MOST_KIB);
    if (rank == 0)
        printf("hard: dups: grown by %ld KiB\n", grown);
}

/* ---- types: the handle of a freed datatype names another layout */

static void types(void)
{
    for (int i = 0; i < 200; i++) {
        int data[8], wanted[8];
        MPI_Datatype type;
        if (i % 2)
            MPI_Type_contiguous(4, MPI_INT, &type);
        else
            MPI_Type_vector(4, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int k = 0; k < 8; k++) {
            wanted[k] = i % 2 ? (k < 4 ? k + i : -1) : (k % 2 == 0 && k < 7 ? k + i : -1);
            data[k] = rank == 0 ? k + i : -1;
        }
        MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
        for (int k = 0; k < 8 && rank; k++)
            if (data[k] != wanted[k])
                wrong("types", data[k], wanted[k]);
        MPI_Type_free(&type);
    }
}

/* ---- sums: what remains if Hierax cannot start */

static void sums(void)
{
    for (int i = 0; i < 10; i++)
        sum_check("sums", MPI_COMM_WORLD, i);
}

/* ---- fails: a call fails, the communicator's error handler runs, and MPI has a text for the code */

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void fails(void)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Errhandler mine;
    int in[4] = {1, 2, 3, 4}, out[4], counts[2] = {1, 1}, displs[2] = {0, 0}, length, code; /* blocks that overlap */

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    code = MPI_Allgatherv(in, 1, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS || handled != 1)
        wrong("fails: calls of the error handler", handled, 1);
    MPI_Error_string(code, text, &length);
    if (strncmp(text, "Hierax: ", 8) != 0) {
        fprintf(stderr, "hard: fails: the text is \"%s\"\n", text);
        wrong("fails: the text", code, 0);
    }
    MPI_Request request;
    code = MPI_Iallgatherv(in, 1, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS || handled != 2)
        wrong("fails: calls of the error handler, without blocking", handled, 2);
    MPI_Errhandler_free(&mine);
    sum_check("fails, afterwards", MPI_COMM_WORLD, 3);
}

/* ---- requests: calls that do not block, and messages that other ranks send only once these calls are complete */

enum { MANY = 60, LONG = 40000 };

/* The other ranks wait for the call and then send. So this rank's receive ends only if its part of the call goes on meanwhile. */
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
            wrong("requests: the message", token, before);
        MPI_Wait(&call, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; i += 97)
        if (out[i] != size * (size - 1) / 2 + size * i)
            wrong("requests: after_the_call", out[i], size * (size - 1) / 2 + size * i);
}

/* Calls of MPI that have no form that does not block: rank 0 is in one of them while its part of the collective must go on. */
static void while_mpi_blocks(MPI_Comm comm)
{
    static int in[LONG], out[LONG]; /* so much that each rank has to go on with it */
    int mine[4] = {0}, swapped = rank;
    struct {
        short value;
        int place;
    } greatest[2] = {{(short)rank, rank}, {-1, -1}};
    MPI_Request call;
    MPI_Comm copy;
    MPI_Win win;

    MPI_Win_create(mine, sizeof(mine), sizeof(int), MPI_INFO_NULL, comm, &win);
    for (int part = 0; part < 4; part++) {
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
                wrong("requests: MPI_Sendrecv_replace", swapped, (rank + size - 1) % size);
            break;
        default: MPI_Allreduce(&greatest[0], &greatest[1], 1, MPI_SHORT_INT, MPI_MAXLOC, comm); /* MPI makes it: the pair has a gap */
        }
        if (!rank)
            MPI_Wait(&call, MPI_STATUS_IGNORE);
        for (int i = 0; i < LONG; i++)
            if (out[i] != size * (size - 1) / 2 + size * i)
                wrong("requests: while_mpi_blocks", out[i], size * (size - 1) / 2 + size * i);
    }
    MPI_Win_free(&win);
}

/* Many at once, of several collectives, completed in another order than that of their start, and mixed with messages. */
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
        if (i == MANY / 2) /* one that blocks, between them */
            sum_check("requests: many", comm, i);
    }
    for (int i = 2 * MANY - 1 - rank % 3; i >= 0; i -= 7) { /* each rank by another way */
        if (requests[i] != MPI_REQUEST_NULL)
            done++;
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    for (; done < 2 * MANY; done++) {
        MPI_Waitany(2 * MANY, requests, &index, &status);
        if (index == MPI_UNDEFINED || requests[index] != MPI_REQUEST_NULL)
            wrong("requests: MPI_Waitany", index, 0);
        if (index % 4 == 2 && status.MPI_SOURCE != before)
            wrong("requests: the source", status.MPI_SOURCE, before);
    }
    MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
    if (index != MPI_UNDEFINED)
        wrong("requests: MPI_Waitany of none", index, MPI_UNDEFINED);
    for (int i = 0; i < MANY; i++) {
        const int sum = size * (size - 1) / 2 + size * (i + i % 97), wanted = i % 3 == 0 ? sum : i % 3 == 1 ? 5 * i + i % 97 : -1;
        if (out[i][i % 97] != wanted)
            wrong("requests: many", out[i][i % 97], wanted);
        if (i % 2 && from[i] != before)
            wrong("requests: a message", from[i], before);
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
                wrong("requests: a freed datatype", data[i], i + round);
        if (out[0] != size || out[1] != size || sum != size * (size - 1) / 2)
            wrong("requests: a freed operation or communicator", out[0], size);
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
            wrong("requests: many_operations", out[i][0], size);
    }
    MPI_Type_free(&pair);
}

static void requests(void)
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

/* ---- persistent: started again and again, in another order on each rank; what the program has freed stays in use */

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

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
    if (round % 5 == 0) { /* one that is not persistent, among them */
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

static const struct {
    const char *name;
    void (*part)(void);
} parts[] = {{"threads", threads}, {"comms", comms}, {"dups", dups}, {"types", types}, {"sums", sums}, {"fails", fails}, {"requests", requests},
             {"persistent", persistent}};

/* Hierax cannot start on rank 1: that rank has a wrong setting. */
static void spoil(void)
{
    const char *number = getenv("PMIX_RANK") ? getenv("PMIX_RANK") : getenv("PMI_RANK");

    if (number && !strcmp(number, "1"))
        setenv("HX_SPIN", "many", 1);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int provided;

    if (!strcmp(name, "never")) { /* MPI is linked, but never started */
        int flag = 1;
        MPI_Initialized(&flag);
        puts(flag ? "hard: MPI is initialized" : "hard: never: good");
        return flag;
    }
    if (getenv("HARD_SPOIL"))
        spoil();
    MPI_Init_thread(&argc, &argv, strcmp(name, "threads") ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(name, "threads") && provided != MPI_THREAD_MULTIPLE)
        wrong("threads: provided", provided, MPI_THREAD_MULTIPLE);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strcmp(parts[i].name, name)) {
            parts[i].part();
            MPI_Finalize();
            if (rank == 0)
                printf("hard: %s: good\n", name);
            return 0;
        }
    fprintf(stderr, "hard: unknown part \"%s\"\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}
