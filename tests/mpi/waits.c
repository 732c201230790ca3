/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call of MPI that may wait makes progress on Hierax's collectives. For each call: rank 0 starts a long collective before the others, and
 * enters the call. The others complete the collective first, and only then do what rank 0's call waits for.
 *
 * usage: waits           all of the table at the end
 *        waits NAME      one of them
 */
#include "parts.h"
#include <stdlib.h>
#include <string.h>

enum { LONG = 40000, TAG = 8 };

static MPI_Comm comm;
static int token[LONG], room[LONG];
static MPI_Win win, made_win;
static MPI_Comm made;
static MPI_File file;

static int next(void) { return (rank + 1) % size; }
static int before(void) { return (rank + size - 1) % size; }

/* ---- messages: rank 0 waits for rank 1 */

#define RECEIVES(name, call)                                                                                                         \
    static void name(void)                                                                                                           \
    {                                                                                                                                \
        if (rank == 1)                                                                                                               \
            MPI_Send(&token[1], 1, MPI_INT, 0, TAG, comm);                                                                           \
        if (rank)                                                                                                                    \
            return;                                                                                                                  \
        room[0] = -1;                                                                                                                \
        call;                                                                                                                        \
        if (room[0] != token[1])                                                                                                     \
            wrong(#name, room[0], token[1]);                                                                                         \
    }
/* The loops of calls that only look. */
#define UNTIL(flag, call)                                                                                                            \
    do {                                                                                                                             \
        for (flag = 0; !flag;)                                                                                                       \
            call;                                                                                                                    \
    } while (0)

static MPI_Request request;
static MPI_Message message;
static int flag, index_, count, indices[1];
static MPI_Status status;

#define RECV MPI_Recv(room, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE)
#define IRECV MPI_Irecv(room, 1, MPI_INT, 1, TAG, comm, &request)
RECEIVES(receive, RECV)
RECEIVES(probe, MPI_Probe(1, TAG, comm, MPI_STATUS_IGNORE); RECV)
RECEIVES(mprobe, MPI_Mprobe(1, TAG, comm, &message, MPI_STATUS_IGNORE); MPI_Mrecv(room, 1, MPI_INT, &message, MPI_STATUS_IGNORE))
RECEIVES(iprobe, UNTIL(flag, MPI_Iprobe(1, TAG, comm, &flag, MPI_STATUS_IGNORE)); RECV)
RECEIVES(improbe, UNTIL(flag, MPI_Improbe(1, TAG, comm, &flag, &message, MPI_STATUS_IGNORE));
         MPI_Mrecv(room, 1, MPI_INT, &message, MPI_STATUS_IGNORE))
RECEIVES(wait, IRECV; MPI_Wait(&request, MPI_STATUS_IGNORE))
RECEIVES(waitall, IRECV; MPI_Waitall(1, &request, &status))
RECEIVES(waitany, IRECV; MPI_Waitany(1, &request, &index_, MPI_STATUS_IGNORE))
RECEIVES(waitsome, IRECV; MPI_Waitsome(1, &request, &count, indices, &status))
RECEIVES(test, IRECV; UNTIL(flag, MPI_Test(&request, &flag, MPI_STATUS_IGNORE)))
RECEIVES(testall, IRECV; UNTIL(flag, MPI_Testall(1, &request, &flag, &status)))
RECEIVES(testany, IRECV; UNTIL(flag, MPI_Testany(1, &request, &index_, &flag, MPI_STATUS_IGNORE)))
RECEIVES(testsome, IRECV; UNTIL(count, MPI_Testsome(1, &request, &count, indices, &status)))
RECEIVES(get_status, IRECV; UNTIL(flag, MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE)); MPI_Wait(&request, MPI_STATUS_IGNORE))

/* Rank 1 receives after the collective. */
#define SENDS(name, call)                                                                                                            \
    static void name(void)                                                                                                           \
    {                                                                                                                                \
        if (rank == 1)                                                                                                               \
            MPI_Recv(room, LONG, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);                                                          \
        if (rank == 0) {                                                                                                             \
            call;                                                                                                                    \
        }                                                                                                                            \
    }
SENDS(send, MPI_Send(token, LONG, MPI_INT, 1, TAG, comm))
SENDS(ssend, MPI_Ssend(token, 1, MPI_INT, 1, TAG, comm))
SENDS(buffer_detach, int bytes = LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD; void *buffer = malloc((size_t)bytes);
      MPI_Buffer_attach(buffer, bytes); MPI_Bsend(token, LONG, MPI_INT, 1, TAG, comm); MPI_Buffer_detach(&buffer, &bytes); free(buffer))

static void sendrecv(void)
{
    MPI_Sendrecv(&token[rank], 1, MPI_INT, next(), TAG, room, 1, MPI_INT, before(), TAG, comm, MPI_STATUS_IGNORE);
    if (room[0] != token[before()])
        wrong("sendrecv", room[0], token[before()]);
}

static void sendrecv_replace(void)
{
    room[0] = token[rank];
    MPI_Sendrecv_replace(room, 1, MPI_INT, next(), TAG, before(), TAG, comm, MPI_STATUS_IGNORE);
    if (room[0] != token[before()])
        wrong("sendrecv_replace", room[0], token[before()]);
}

/* ---- windows. Each rank has one int in win; rank 0 is the target or the origin */

static int memory;

static void memory_is(const char *name, int wanted)
{
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (memory != wanted)
        wrong(name, memory, wanted);
    MPI_Win_unlock(rank, win);
}

static void win_create(void) { MPI_Win_create(room, sizeof(int), 1, MPI_INFO_NULL, comm, &made_win), MPI_Win_free(&made_win); }
static void win_create_dynamic(void) { MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &made_win), MPI_Win_free(&made_win); }

static void win_allocate(void)
{
    int *mine;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, comm, &mine, &made_win);
    MPI_Win_free(&made_win);
}

static void win_fence(void)
{
    MPI_Win_fence(0, win);
    MPI_Put(&token[rank], 1, MPI_INT, next(), 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    memory_is("win_fence", token[before()]);
}

/* An exposure epoch: rank 0's wait, or its start and complete, need the other ranks. */
static void epoch(int origin, int looks)
{
    MPI_Group all, others;
    const int ranks[1] = {origin};

    MPI_Comm_group(comm, &all);
    if (rank == origin) {
        MPI_Group_excl(all, 1, ranks, &others);
        MPI_Win_start(others, 0, win);
        for (int r = 0; r < size; r++)
            if (r != origin)
                MPI_Put(&token[50], 1, MPI_INT, r, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        memory = token[50];
    } else {
        MPI_Group_incl(all, 1, ranks, &others);
        MPI_Win_post(others, 0, win);
        if (looks)
            UNTIL(flag, MPI_Win_test(win, &flag));
        else
            MPI_Win_wait(win);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    memory_is("an epoch", token[50]);
}

static void win_start(void) { epoch(0, 0); }
static void win_wait(void) { epoch(1, 0); }
static void win_test(void) { epoch(1, 1); }

/* Rank 1 has the lock since before the collective. It unlocks after it. */
static void lock_before(void)
{
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(comm);
}

static void win_lock(void)
{
    int add = 1;

    if (rank == 1) {
        memory = 1;
        MPI_Win_unlock(1, win);
    } else if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Accumulate(&add, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(1, win);
        MPI_Win_unlock(1, win);
    }
    if (rank != 1)
        memory = 2;
    memory_is("win_lock", 2);
}

/* ---- communicators and files: all ranks call them */

#define MAKES(name, call)                                                                                                            \
    static void name(void)                                                                                                           \
    {                                                                                                                                \
        call;                                                                                                                        \
        sum_check(#name, made, 1);                                                                                                   \
        MPI_Comm_free(&made);                                                                                                        \
    }
static const int periods[1] = {1};

MAKES(comm_dup, MPI_Comm_dup(comm, &made))
MAKES(comm_split, MPI_Comm_split(comm, 0, -rank, &made))
MAKES(comm_split_type, MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made))
MAKES(comm_create, MPI_Group all; MPI_Comm_group(comm, &all); MPI_Comm_create(comm, all, &made); MPI_Group_free(&all))
MAKES(comm_create_group, MPI_Group all; MPI_Comm_group(comm, &all); MPI_Comm_create_group(comm, all, TAG, &made); MPI_Group_free(&all))
MAKES(cart_create, int n[1] = {size}; MPI_Cart_create(comm, 1, n, periods, 0, &made))
MAKES(dist_graph, const int from[1] = {before()}; const int to[1] = {next()}; const int weights[1] = {1};
      MPI_Dist_graph_create_adjacent(comm, 1, from, weights, 1, to, weights, MPI_INFO_NULL, 0, &made))

static void intercomm(void)
{
    MPI_Comm half, both;

    MPI_Comm_split(comm, rank != 0, rank, &half);
    MPI_Intercomm_create(half, 0, comm, rank ? 0 : 1, TAG, &both);
    MPI_Intercomm_merge(both, rank != 0, &made);
    sum_check("intercomm", made, 1);
    MPI_Comm_free(&made);
    MPI_Comm_disconnect(&both);
    MPI_Comm_free(&half);
}

static void file_all(void)
{
    MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, 0, token, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_all(file, token, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_all_begin(file, token, 1, MPI_INT);
    MPI_File_write_all_end(file, token, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_close(&file);
}

static const struct row {
    const char *name;
    void (*call)(void);
    void (*prepare)(void);
} rows[] = {
    {"MPI_Recv", receive, NULL},
    {"MPI_Probe", probe, NULL},
    {"MPI_Mprobe", mprobe, NULL},
    {"MPI_Iprobe", iprobe, NULL},
    {"MPI_Improbe", improbe, NULL},
    {"MPI_Wait", wait, NULL},
    {"MPI_Waitall", waitall, NULL},
    {"MPI_Waitany", waitany, NULL},
    {"MPI_Waitsome", waitsome, NULL},
    {"MPI_Test", test, NULL},
    {"MPI_Testall", testall, NULL},
    {"MPI_Testany", testany, NULL},
    {"MPI_Testsome", testsome, NULL},
    {"MPI_Request_get_status", get_status, NULL},
    {"MPI_Send", send, NULL},
    {"MPI_Ssend", ssend, NULL},
    {"MPI_Buffer_detach", buffer_detach, NULL},
    {"MPI_Sendrecv", sendrecv, NULL},
    {"MPI_Sendrecv_replace", sendrecv_replace, NULL},
    {"MPI_Win_create", win_create, NULL},
    {"MPI_Win_create_dynamic", win_create_dynamic, NULL},
    {"MPI_Win_allocate", win_allocate, NULL},
    {"MPI_Win_fence", win_fence, NULL},
    {"MPI_Win_start", win_start, NULL},
    {"MPI_Win_wait", win_wait, NULL},
    {"MPI_Win_test", win_test, NULL},
    {"MPI_Win_lock", win_lock, lock_before},
    {"MPI_Comm_dup", comm_dup, NULL},
    {"MPI_Comm_split", comm_split, NULL},
    {"MPI_Comm_split_type", comm_split_type, NULL},
    {"MPI_Comm_create", comm_create, NULL},
    {"MPI_Comm_create_group", comm_create_group, NULL},
    {"MPI_Cart_create", cart_create, NULL},
    {"MPI_Dist_graph_create_adjacent", dist_graph, NULL},
    {"MPI_Intercomm_create", intercomm, NULL},
    {"MPI_File_write_all", file_all, NULL},
};

static void run(const struct row *row)
{
    static int in[LONG], out[LONG];
    MPI_Request call;

    for (int i = 0; i < LONG; i++)
        in[i] = rank + i;
    if (row->prepare)
        row->prepare();
    if (rank)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG + 1, comm, MPI_STATUS_IGNORE);
    MPI_Iallreduce(in, out, LONG, MPI_INT, MPI_SUM, comm, &call);
    for (int r = 1; r < size && !rank; r++)
        MPI_Send(NULL, 0, MPI_BYTE, r, TAG + 1, comm);
    if (rank)
        MPI_Wait(&call, MPI_STATUS_IGNORE);
    row->call();
    if (!rank)
        MPI_Wait(&call, MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; i++)
        if (out[i] != size * (size - 1) / 2 + size * i)
            wrong(row->name, out[i], size * (size - 1) / 2 + size * i);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Win_create(&memory, sizeof(memory), sizeof(memory), MPI_INFO_NULL, comm, &win);
    for (int i = 0; i < LONG; i++)
        token[i] = 100 + i;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (argc == 2 && strcmp(argv[1], rows[i].name) != 0)
            continue;
        if (rank == 0) /* the last one is the one that hangs */
            printf("waits: %s\n", rows[i].name), fflush(stdout);
        run(&rows[i]);
    }
    MPI_Win_free(&win);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    if (rank == 0)
        puts("waits: good");
    return 0;
}
