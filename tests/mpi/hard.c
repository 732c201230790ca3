/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs do to communicators, threads and memory, and what goes wrong at the start. Each part checks its sums.
 *
 * usage: hard PART      one of the table at the end
 */
#include "forms.h"
#include "parts.h"
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        INIT(Allreduce)(&started, &sum, 1, MPI_INT, MPI_SUM, copy, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        if (sum != size * (size - 1) / 2 + size * i)
            wrong("threads, MPI_Allreduce_init", sum, size * (size - 1) / 2 + size * i);
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

/* ---- types: the handle of a freed datatype names another layout. A vector without gaps is an element of a reduction */

static void add_rows(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int bytes;

    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *count * bytes / (int)sizeof(int); i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void vectors(void)
{
    int in[12], out[12];
    MPI_Datatype type;
    MPI_Op add;

    MPI_Op_create(add_rows, 1, &add);
    for (int i = 0; i < 4; i++) {
        if (i % 2)
            MPI_Type_create_hvector(3, 2, 2 * sizeof(int), MPI_INT, &type);
        else
            MPI_Type_vector(i ? 1 : 3, i ? 6 : 2, i ? 9 : 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int k = 0; k < 12; k++)
            in[k] = rank + k;
        MPI_Allreduce(in, out, 2, type, add, MPI_COMM_WORLD);
        for (int k = 0; k < 12; k++)
            if (out[k] != size * (size - 1) / 2 + size * k)
                wrong("types: a vector", out[k], size * (size - 1) / 2 + size * k);
        MPI_Type_free(&type);
    }
    MPI_Op_free(&add);
}

static void types(void)
{
    vectors();
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

/* ---- overlap: blocks that are received overlap. MPI forbids it, but programs do it. The block of the highest rank is stored last */

static void overlap_check(const char *what, const int *got, MPI_Request request)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i <= size; i++) /* element i belongs to ranks i - 1 and i */
        if (got[i] != (i < size ? 10 * i : 10 * (size - 1) + 1))
            wrong(what, got[i], i < size ? 10 * i : 10 * (size - 1) + 1);
}

static void overlap(void)
{
    enum { MOST = 8 };
    int in[2 * MOST], out[MOST + 1], counts[MOST], displs[MOST], bytes[MOST], sdispls[MOST], apart[MOST];
    MPI_Datatype types[MOST];
    MPI_Request none = MPI_REQUEST_NULL, request;
    MPI_Comm graph;

    for (int i = 0; i < size; i++) {
        in[2 * i] = 10 * rank;
        in[2 * i + 1] = 10 * rank + 1;
        counts[i] = 2;
        displs[i] = i;
        bytes[i] = i * (int)sizeof(int);
        sdispls[i] = 2 * i;
        apart[i] = 2 * bytes[i];
        types[i] = MPI_INT;
    }
    MPI_Allgatherv(in, 2, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
    overlap_check("overlap: allgatherv", out, none);
    memset(out, 0, sizeof(out));
    MPI_Gatherv(in, 2, MPI_INT, out, counts, displs, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 1)
        overlap_check("overlap: gatherv", out, none);
    memset(out, 0, sizeof(out));
    MPI_Alltoallv(in, counts, sdispls, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
    overlap_check("overlap: alltoallv", out, none);
    memset(out, 0, sizeof(out));
    MPI_Ialltoallw(in, counts, apart, types, out, counts, bytes, types, MPI_COMM_WORLD, &request);
    overlap_check("overlap: ialltoallw", out, request);
    MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, counts, bytes, types, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(out, 0, sizeof(out));
    for (int i = 0; i < size; i++)
        sdispls[i] = i; /* now the ranks of an edge each */
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, sdispls, MPI_UNWEIGHTED, size, sdispls, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_allgatherv(in, 2, MPI_INT, out, counts, displs, MPI_INT, graph);
    overlap_check("overlap: neighbor_allgatherv", out, none);
    MPI_Comm_free(&graph);
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
    int in[4] = {1, 2, 3, 4}, out[4], counts[2] = {1, 1}, more[2] = {2, 2}, displs[2] = {0, 2}, length, code; /* blocks do not match */

    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    code = MPI_Alltoallv(in, counts, displs, MPI_INT, out, more, displs, MPI_INT, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS || handled != 1)
        wrong("fails: calls of the error handler", handled, 1);
    MPI_Error_string(code, text, &length);
    if (strncmp(text, "Hierax: ", 8) != 0) {
        fprintf(stderr, "hard: fails: the text is \"%s\"\n", text);
        wrong("fails: the text", code, 0);
    }
    MPI_Request request;
    code = MPI_Ialltoallv(in, counts, displs, MPI_INT, out, more, displs, MPI_INT, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS || handled != 2)
        wrong("fails: calls of the error handler, without blocking", handled, 2);
    MPI_Errhandler_free(&mine);
    sum_check("fails, afterwards", MPI_COMM_WORLD, 3);
}

/* ---- memory: blocks of MPI_Alloc_mem. With HXMPI_ALLOC=4M some come from the pool, others do not fit it */

enum { BLOCKS = 12 };

static int *block_new(size_t ints)
{
    void *block;

    if (MPI_Alloc_mem((MPI_Aint)(ints * sizeof(int)), MPI_INFO_NULL, &block) != MPI_SUCCESS || !block)
        wrong("memory: MPI_Alloc_mem", 0, (int)ints);
    memset(block, 0x5a, ints * sizeof(int)); /* all of it can be written */
    return block;
}

/* out[i] = the sum over the ranks of in[i]; the last rank's buffers are of malloc. */
static void block_sums(MPI_Comm comm, int *in, int *out, int ints)
{
    int *own = rank == size - 1 ? malloc(2 * (size_t)ints * sizeof(int)) : NULL;

    in = own ? own : in;
    out = own ? own + ints : out;
    for (int i = 0; i < ints; i++)
        in[i] = rank + i;
    MPI_Allreduce(in, out, ints, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < ints; i++)
        if (out[i] != size * (size - 1) / 2 + size * i)
            wrong("memory: MPI_Allreduce", out[i], size * (size - 1) / 2 + size * i);
    for (int i = 0; i < ints / size * size; i++)
        in[i] = 7 * rank + i % 1000;
    MPI_Alltoall(in, ints / size, MPI_INT, out, ints / size, MPI_INT, comm);
    for (int i = 0; i < ints / size * size; i++) {
        const int each = ints / size, from = i / each, sent = rank * each + i % each;
        if (out[i] != 7 * from + sent % 1000)
            wrong("memory: MPI_Alltoall", out[i], 7 * from + sent % 1000);
    }
    free(own);
}

static void memory(void)
{
    static const size_t ints[BLOCKS] = {1, 1024, 1025, 3000, 70000, 150000, 1023, 8, 40000, 5000, 2000000, 2048};
    int *blocks[BLOCKS];
    MPI_Comm copy, part;
    MPI_Request request;
    void *none;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part);
    for (int round = 0; round < 20; round++) {
        const MPI_Comm comm = round % 3 == 0 ? MPI_COMM_WORLD : round % 3 == 1 ? copy : part;
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = block_new(ints[i]);
        for (int i = 0; i < BLOCKS; i++)
            for (size_t at = 0; at < ints[i]; at += ints[i] > 1 ? ints[i] - 1 : 1)
                if (blocks[i][at] != 0x5a5a5a5a) /* another block's memory */
                    wrong("memory: a block", blocks[i][at], 0x5a5a5a5a);
        block_sums(comm, blocks[4], blocks[5], 1 + 3500 * round);
        block_sums(comm, blocks[3], blocks[9], 3000);
        MPI_Iallreduce(blocks[8], blocks[10], 40000, MPI_INT, MPI_MAX, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < BLOCKS; i++) /* in another order */
            MPI_Free_mem(blocks[(5 * i + round) % BLOCKS]);
    }
    if (MPI_Alloc_mem(0, MPI_INFO_NULL, &none) == MPI_SUCCESS && none)
        MPI_Free_mem(none);
    block_new(5000); /* never freed */
    MPI_Comm_free(&copy);
    MPI_Comm_free(&part);
}

static const struct {
    const char *name;
    void (*part)(void);
} parts[] = {{"threads", threads}, {"comms", comms}, {"dups", dups}, {"types", types},
             {"overlap", overlap}, {"sums", sums}, {"fails", fails}, {"memory", memory}};

/* Rank 1 has a wrong setting. what: pool: it has no HXMPI_ALLOC; anything else: Hierax cannot start on it */
static void spoil(const char *what)
{
    const char *number = getenv("PMIX_RANK") ? getenv("PMIX_RANK") : getenv("PMI_RANK");

    if (number && !strcmp(number, "1"))
        setenv(strcmp(what, "pool") ? "HX_SPIN" : "HXMPI_ALLOC", strcmp(what, "pool") ? "many" : "0", 1);
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
        spoil(getenv("HARD_SPOIL"));
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
