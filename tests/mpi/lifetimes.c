/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long requests and communicators live: many of them, some that the program forgets, and wrong programs, which must not hang.
 *
 * usage: lifetimes PART [N]      PART: one of the table at the end; N: persistent requests of the part inits (40,000)
 */
#include "forms.h"
#include "parts.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int mine, sum; /* of the collectives here */

static void sum_is(const char *part, int wanted)
{
    if (sum != wanted)
        wrong(part, sum, wanted);
    sum = -1;
}

static int ranks(void) { return size * (size - 1) / 2; }

static MPI_Request sum_init(MPI_Comm comm)
{
    MPI_Request request;

    INIT(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    return request;
}

/* ---- forgets_*: persistent requests and started calls that are there in MPI_Finalize */

enum { FORGOTTEN = 5 };

/* keep: this rank forgets its requests. */
static void forget(int keep, int active)
{
    MPI_Request requests[FORGOTTEN];
    MPI_Comm copy;

    mine = rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < FORGOTTEN; i++) {
        requests[i] = sum_init(i % 2 ? copy : MPI_COMM_WORLD);
        MPI_Start(&requests[i]);
        if (active && keep && i == FORGOTTEN - 1)
            continue; /* this one is active for ever */
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        sum_is("forget", ranks());
    }
    for (int i = 0; i < FORGOTTEN && !keep; i++)
        MPI_Request_free(&requests[i]);
    MPI_Comm_free(&copy);
}

static void forgets_all(void) { forget(1, 0); }
static void forgets_some(void) { forget(rank == 0, 0); }
static void forgets_active(void) { forget(rank == 0, 1); }

/* Rank 0 starts a call that no other rank makes. */
static void alone(MPI_Comm comm)
{
    MPI_Request request;

    if (rank == 0)
        MPI_Ibarrier(comm, &request);
}

static void starts_alone(void)
{
    MPI_Comm copy;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    alone(copy);
}

static void starts_alone_in_world(void) { alone(MPI_COMM_WORLD); }

/* ---- refused: a collective that is not complete cannot be freed or cancelled */

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void refuses(const char *function, int call(MPI_Request *request), MPI_Request *request)
{
    const MPI_Request before = *request;
    char text[MPI_MAX_ERROR_STRING] = "", wanted[64];
    int length;

    handled = 0;
    const int code = call(request);
    MPI_Error_string(code, text, &length);
    snprintf(wanted, sizeof(wanted), "Hierax: %s: ", function);
    if (handled != 1 || *request != before || strncmp(text, wanted, strlen(wanted)) != 0) {
        fprintf(stderr, "lifetimes: %s: \"%s\"\n", function, text);
        wrong("refused", handled, 1);
    }
}

static void refused(void)
{
    MPI_Request requests[2] = {sum_init(MPI_COMM_WORLD)};
    MPI_Errhandler counts;

    MPI_Comm_create_errhandler(handler, &counts);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counts);
    mine = rank;
    for (int i = 0; i < 2; i++) {
        if (rank) /* until rank 0 has tried, its calls cannot be complete */
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Start(&requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        for (int k = 0; k < 2 && !rank; k++) {
            refuses("MPI_Request_free", MPI_Request_free, &requests[k]);
            refuses("MPI_Cancel", MPI_Cancel, &requests[k]);
        }
        for (int r = 1; r < size && !rank; r++)
            MPI_Send(NULL, 0, MPI_BYTE, r, 3, MPI_COMM_WORLD);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        sum_is("refused", ranks());
    }
    if (MPI_Request_free(&requests[0]) != MPI_SUCCESS || requests[0] != MPI_REQUEST_NULL)
        wrong("refused: the request afterwards", 0, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&counts);
}

/* ---- inits: 40,000 persistent requests leave nothing behind, and none takes the completion of another one */

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");

    if (!statm || fscanf(statm, "%ld %ld", &pages, &resident) != 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(statm);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    while (folder && readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static long kib_before;
static int descriptors_before;

static void growth_begin(void)
{
    kib_before = resident_kib();
    descriptors_before = descriptors();
}

static void growth_end(const char *part)
{
    enum { MOST_KIB = 4096, MOST_DESCRIPTORS = 4 };
    const long grown = resident_kib() - kib_before;
    const int more = descriptors() - descriptors_before;

    if (grown > MOST_KIB)
        wrong(part, (int)grown, MOST_KIB);
    if (more > MOST_DESCRIPTORS)
        wrong(part, more, MOST_DESCRIPTORS);
    if (rank == 0)
        printf("lifetimes: %s: grown by %ld KiB and %d descriptors\n", part, grown, more);
}

static int inits_wanted = 40000;

static void inits(void)
{
    enum { WARM = 2000, TOGETHER = 32768, STARTED = 50 }; /* TOGETHER: as many tags as MPI has in any case */
    MPI_Request kept = sum_init(MPI_COMM_WORLD), request; /* kept is number 0 */

    for (int i = 1; i <= inits_wanted; i++) {
        if (i == WARM)
            growth_begin();
        request = sum_init(MPI_COMM_WORLD);
        mine = rank + i;
        if (i % TOGETHER == 0) { /* only this one can be complete: rank 0 has not started the kept one */
            if (rank)
                MPI_Start(&kept);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            sum_is("inits, together", ranks() + size * i);
            MPI_Barrier(MPI_COMM_WORLD);
            if (!rank)
                MPI_Start(&kept);
            MPI_Wait(&kept, MPI_STATUS_IGNORE);
            sum_is("inits, the kept one", ranks() + size * i);
        } else if (i % STARTED == 0) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            sum_is("inits", ranks() + size * i);
        }
        MPI_Request_free(&request);
    }
    growth_end("inits");
    MPI_Request_free(&kept);
}

/* ---- early: a non-blocking call is the first one on a communicator. It must not wait for the other ranks */

static void first_call(MPI_Comm comm)
{
    MPI_Request request;
    int me, n, value = -1;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    if (me) /* rank 0 sends only after its call */
        MPI_Recv(&value, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    mine = me;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    for (int r = 1; r < n && !me; r++)
        MPI_Send(&r, 1, MPI_INT, r, 5, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum_is("early", n * (n - 1) / 2);
}

static void early(void)
{
    const int dims[1] = {size}, periods[1] = {1};
    MPI_Comm made;
    MPI_Group group;

    for (int i = 0; i < 60; i++) {
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        switch (i % 5) {
        case 0: MPI_Comm_dup(MPI_COMM_WORLD, &made); break;
        case 1: MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, -rank, &made); break;
        case 2: MPI_Comm_create(MPI_COMM_WORLD, group, &made); break;
        case 3: MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made); break;
        default: MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &made);
        }
        MPI_Group_free(&group);
        if (made == MPI_COMM_NULL)
            continue;
        first_call(made);
        MPI_Comm_free(&made);
    }
}

/* More at once than Hierax makes early, and communicators that no call can wait for. Ranks decide alike. */
static void late(void)
{
    enum { MANY = 130 };
    MPI_Comm all[MANY];
    MPI_Request request;

    for (int i = 0; i < MANY; i++)
        if (i % 3 == 2) { /* rank 0 has fewer of them */
            MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &all[i]);
        } else if (i % 7 == 1) {
            MPI_Comm_idup(MPI_COMM_WORLD, &all[i], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
        }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++)
            if (all[i] != MPI_COMM_NULL) {
                first_call(all[i]);
                sum_check("late", all[i], i);
                first_call(all[i]);
            }
    for (int i = 0; i < MANY; i++)
        if (all[i] != MPI_COMM_NULL)
            MPI_Comm_free(&all[i]);
}

/* ---- mixed: messages and windows while collectives run, which end and are freed in other orders than that of their start */

enum { COMMS = 6, STEP = 5, WINDOW = 3 }; /* STEP has no divisor in common with COMMS */

struct mix {
    MPI_Comm comms[COMMS];
    MPI_Request started[COMMS], prepared[COMMS];
    int in[COMMS], sums[COMMS], again[COMMS]; /* again: of the persistent requests */
};

static void mix_make(struct mix *mix, int round)
{
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm parent = i > 1 && i % 2 ? mix->comms[i - 2] : MPI_COMM_WORLD;
        mix->in[i] = rank + round + i;
        if (i % 3 == 2)
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &mix->comms[i]);
        else
            MPI_Comm_dup(parent, &mix->comms[i]);
        MPI_Iallreduce(&mix->in[i], &mix->sums[i], 1, MPI_INT, MPI_SUM, mix->comms[i], &mix->started[i]);
        INIT(Allreduce)(&mix->in[i], &mix->again[i], 1, MPI_INT, MPI_SUM, mix->comms[i], MPI_INFO_NULL, &mix->prepared[i]);
    }
    for (int i = 0; i < COMMS; i++) /* each rank in another order */
        MPI_Start(&mix->prepared[(i * STEP + rank) % COMMS]);
}

/* Each kind of epoch. memory: 0 counts accumulations, 1 and 2 are written by the rank before. */
static void mix_windows(int round, int memory[WINDOW], MPI_Win win)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size, one = 1, value = rank + 100 * round;
    MPI_Group all, to, from;

    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, next, 1, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &before, &from);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&value, 1, MPI_INT, next, 2, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    if (memory[1] != before + 100 * round || memory[2] != memory[1])
        wrong("mixed: a put", memory[1], before + 100 * round);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Win_unlock(0, win);
}

static void mix_end(struct mix *mix, int round)
{
    const int n = ranks();

    for (int i = 0; i < COMMS / 2; i++) /* while their collectives may still run */
        MPI_Comm_free(&mix->comms[(i * STEP + round) % COMMS]);
    for (int i = 0; i < COMMS; i++) {
        const int k = (i * STEP + 2 * rank + round) % COMMS;
        MPI_Wait(&mix->prepared[k], MPI_STATUS_IGNORE);
        MPI_Wait(&mix->started[(k + 1) % COMMS], MPI_STATUS_IGNORE);
        MPI_Request_free(&mix->prepared[k]);
    }
    for (int i = 0; i < COMMS; i++) {
        sum = mix->sums[i];
        sum_is("mixed: MPI_Iallreduce", n + size * (round + i));
        sum = mix->again[i];
        sum_is("mixed: MPI_Start", n + size * (round + i));
        if (mix->comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&mix->comms[i]);
    }
}

static void mixed(void)
{
    enum { ROUNDS = 30, WARM = 10 };
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    static int memory[WINDOW];
    struct mix mix;
    MPI_Request message;
    MPI_Win win;
    int from = -1;

    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM)
            growth_begin();
        MPI_Irecv(&from, 1, MPI_INT, before, round, MPI_COMM_WORLD, &message);
        mix_make(&mix, round);
        MPI_Send(&rank, 1, MPI_INT, next, round, MPI_COMM_WORLD);
        mix_windows(round, memory, win);
        sum_check("mixed", MPI_COMM_WORLD, round);
        MPI_Wait(&message, MPI_STATUS_IGNORE);
        if (from != before)
            wrong("mixed: a message", from, before);
        mix_end(&mix, round);
    }
    growth_end("mixed");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (rank == 0 && memory[0] != size * ROUNDS)
        wrong("mixed: accumulations", memory[0], size * ROUNDS);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

static const struct {
    const char *name;
    void (*part)(void);
} parts[] = {{"forgets_all", forgets_all},
             {"forgets_some", forgets_some},
             {"forgets_active", forgets_active},
             {"starts_alone", starts_alone},
             {"starts_alone_in_world", starts_alone_in_world},
             {"refused", refused},
             {"inits", inits},
             {"early", early},
             {"late", late},
             {"mixed", mixed}};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (argc > 2)
        inits_wanted = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strcmp(parts[i].name, name)) {
            parts[i].part();
            MPI_Finalize();
            if (rank == 0)
                printf("lifetimes: %s: good\n", name);
            return 0;
        }
    fprintf(stderr, "lifetimes: unknown part \"%s\"\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}
