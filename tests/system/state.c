/* SPDX-License-Identifier: BSD-3-Clause */
/* hx_state_sync, for state.sh: each mode is a function below. Exits with 0 if all is right. */
#include <hierax.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static hx_comm_t *world;

#define CHECK(condition)                                                                                                \
    do {                                                                                                                \
        if (!(condition)) {                                                                                             \
            fprintf(stderr, "rank %d, line %d: not true: %s; %s\n", rank, __LINE__, #condition, hx_error_detail(world)); \
            _exit(1);                                                                                                   \
        }                                                                                                               \
    } while (0)
#define OK(call) CHECK((call) == HX_SUCCESS)

/* Entries of many sizes: empty, short, of one piece, of several sources, of several pieces and chunks. */
enum { ENTRIES = 7 };
static const size_t sizes[ENTRIES] = {0, 1, 37, 65536, 65537, 1 << 20, (9 << 20) + 5};
static const char *const names[ENTRIES] = {"none", "one", "odd", "piece", "two", "chunk", "long"};
static hx_state_entry_t entries[ENTRIES];
static hx_state_report_t report;

static unsigned char byte_at(size_t i, int seed)
{
    return (unsigned char)(i * 31 + (i >> 8) * 7 + (size_t)seed);
}

static void entry_fill(int e, int seed)
{
    for (size_t i = 0; i < sizes[e]; i++)
        ((unsigned char *)entries[e].address)[i] = byte_at(i, seed + e);
}

static int entry_is(int e, int seed)
{
    for (size_t i = 0; i < sizes[e]; i++)
        if (((unsigned char *)entries[e].address)[i] != byte_at(i, seed + e))
            return 0;
    return 1;
}

static void fill(int seed)
{
    for (int e = 0; e < ENTRIES; e++)
        entry_fill(e, seed);
}

static void state_is(int seed)
{
    for (int e = 0; e < ENTRIES; e++)
        CHECK(entry_is(e, seed));
}

static hx_status_t sync_as(uint64_t revision, hx_state_mode_t mode)
{
    return hx_state_sync(world, entries, ENTRIES, revision, mode, &report);
}

static void nothing_moves(uint64_t revision)
{
    OK(sync_as(revision, HX_STATE_MAJORITY));
    CHECK(report.revision == revision && !report.entries_received && !report.entries_sent && !report.bytes_received && !report.bytes_sent &&
          !report.sources);
}

/* How many entries and bytes this rank has received, on each rank. */
static void received(int who, size_t n, size_t bytes)
{
    CHECK(report.entries_received == (rank == who ? n : 0) && report.bytes_received == (rank == who ? bytes : 0));
}

/* What all ranks have sent is what all ranks have received. */
static void sums_agree(void)
{
    int64_t difference = (int64_t)(report.bytes_sent - report.bytes_received);

    OK(hx_allreduce(HX_IN_PLACE, &difference, 1, HX_INT64, HX_SUM, world));
    CHECK(difference == 0);
}

static int nodes; /* emulated */

static void outliers(void)
{
    fill(1);
    nothing_moves(5);
    if (rank == 3) /* one, in one entry, by its last bit */
        ((unsigned char *)entries[6].address)[sizes[6] - 1] ^= 0x80;
    OK(sync_as(5, HX_STATE_MAJORITY));
    state_is(1);
    received(3, 1, sizes[6]);
    sums_agree();
    CHECK(rank != 3 || report.sources == (nodes > 1 ? 1 : 3));
    if (rank == 1) /* two, in other entries */
        entry_fill(5, 7);
    if (rank == 2)
        entry_fill(3, 9);
    OK(sync_as(6, HX_STATE_MAJORITY));
    state_is(1);
    CHECK(report.bytes_received == (rank == 1 ? sizes[5] : rank == 2 ? sizes[3] : 0));
    sums_agree();
    nothing_moves(6);
    fill(rank == 0 ? 2 : 1); /* the lowest rank is no better than others */
    OK(sync_as(7, HX_STATE_MAJORITY));
    state_is(1);
    received(0, ENTRIES - 1, sizes[1] + sizes[2] + sizes[3] + sizes[4] + sizes[5] + sizes[6]);
}

static void newcomers(void)
{
    fill(rank == size - 1 ? 0 : 4);
    if (rank == size - 1)
        for (int e = 0; e < ENTRIES; e++)
            if (sizes[e])
                memset(entries[e].address, 0, sizes[e]);
    OK(sync_as(rank == size - 1 ? 999 : 12, rank == size - 1 ? HX_STATE_RECEIVE_ONLY : HX_STATE_MAJORITY));
    state_is(4);
    CHECK(report.revision == 12 && (rank != size - 1 || report.entries_received == ENTRIES - 1));
    sums_agree();
    fill(rank ? 5 : 6); /* more of them than others, and they do not vote */
    OK(sync_as(rank ? 0 : 13, rank ? HX_STATE_RECEIVE_ONLY : HX_STATE_MAJORITY));
    state_is(6);
    CHECK(report.revision == 13 && report.sources == (rank != 0));
    fill(rank == 2 ? 8 : 6); /* the one that may only send is right, against a majority */
    OK(sync_as(13, rank == 2 ? HX_STATE_SEND_ONLY : HX_STATE_MAJORITY));
    state_is(8);
    CHECK(rank == 2 || report.entries_received == ENTRIES - 1);
    fill(8 + rank); /* what is received counts as little as what nobody has */
    OK(sync_as(14, rank == 1 ? HX_STATE_MAJORITY : HX_STATE_RECEIVE_ONLY));
    state_is(9);
}

/* Every rank holds another state: the highest revision, then the lowest rank. */
static void ties(void)
{
    fill(rank);
    OK(sync_as(20, HX_STATE_MAJORITY));
    state_is(0);
    fill(rank);
    OK(sync_as(20 + (rank == 2), HX_STATE_MAJORITY));
    state_is(2);
    CHECK(report.revision == 21);
    fill(rank / 2); /* two and two */
    OK(sync_as(20 + rank / 2, HX_STATE_MAJORITY));
    state_is(1);
    fill(3); /* the same bits, another revision: nothing moves */
    CHECK(sync_as(30 + (rank == 1), HX_STATE_MAJORITY) == HX_ERR_MISMATCH);
    OK(sync_as(30 - (rank == 1), HX_STATE_MAJORITY));
    CHECK(report.revision == 30 && !report.bytes_received);
}

static void all_get(hx_status_t status, hx_status_t wanted, const char *text)
{
    CHECK(status == wanted && strstr(hx_error_detail(world), text));
}

static void refusals(void)
{
    hx_state_entry_t own[2] = {{"a", &rank, sizeof(rank)}, {"b", &size, sizeof(size)}};
    const hx_state_entry_t twice[2] = {{"a", &rank, 4}, {"a", &size, 4}};

    fill(rank == 3 ? 2 : 1); /* a rank whose steps would be lost */
    all_get(sync_as(rank == 3 ? 8 : 5, HX_STATE_MAJORITY), HX_ERR_MISMATCH,
            "rank 3 has revision 8, but the elected state, that of rank 0, has revision 5");
    state_is(rank == 3 ? 2 : 1);
    all_get(sync_as(5, HX_STATE_RECEIVE_ONLY), HX_ERR_ARG, "all ranks, 0 to 3, have HX_STATE_RECEIVE_ONLY");
    all_get(sync_as(5, rank == 0 || rank == 3 ? HX_STATE_SEND_ONLY : HX_STATE_MAJORITY), HX_ERR_MISMATCH,
            "ranks 0 and 3 have HX_STATE_SEND_ONLY, but different states");
    own[1].bytes -= rank == 2;
    all_get(hx_state_sync(world, own, 2, 0, HX_STATE_MAJORITY, NULL), HX_ERR_MISMATCH,
            "entry \"b\" has 3 bytes on rank 2 and 4 bytes on rank 0");
    own[1].bytes = sizeof(size);
    own[1].name = rank == 1 ? "c" : "b";
    all_get(hx_state_sync(world, own, 2, 0, HX_STATE_MAJORITY, NULL), HX_ERR_MISMATCH,
            "rank 0 has an entry \"b\" of 4 bytes, and rank 1 has none of that name");
    own[1].name = "b";
    all_get(hx_state_sync(world, own, rank >= 2, 0, HX_STATE_MAJORITY, NULL), HX_ERR_MISMATCH,
            "rank 2 has an entry \"a\" of 4 bytes, and rank 0 has none of that name");
    all_get(hx_state_sync(world, twice, 2, 0, HX_STATE_MAJORITY, NULL), HX_ERR_ARG, "two entries have the name \"a\"");
    all_get(hx_state_sync(world, own, 2, 0, (hx_state_mode_t)3, NULL), HX_ERR_ARG, "mode 3; choose");
    all_get(hx_state_sync(world, NULL, 1, 0, HX_STATE_MAJORITY, NULL), HX_ERR_ARG, "entries is NULL");
    own[0].name = "";
    all_get(hx_state_sync(world, own, 2, 0, HX_STATE_MAJORITY, NULL), HX_ERR_ARG, "the name of entry 0 is empty");
    own[0] = (hx_state_entry_t){"a", NULL, 4};
    all_get(hx_state_sync(world, own, 2, 0, HX_STATE_MAJORITY, NULL), HX_ERR_ARG, "the address of entry \"a\" is NULL");
    CHECK(hx_state_sync(NULL, own, 2, 0, HX_STATE_MAJORITY, NULL) == HX_ERR_ARG);
    OK(hx_state_sync(world, NULL, 0, 0, HX_STATE_MAJORITY, NULL)); /* nothing, and the communicator still works */
}

/* Bits count, not numbers; ranks may list entries in any order; many entries; messages of the program go their way. */
static void bits(void)
{
    enum { MANY = 3000 };
    static double values[MANY];
    static char many_names[MANY][8];
    static hx_state_entry_t many[MANY];
    uint64_t nan = UINT64_C(0x7ff8000000000000) + (uint64_t)(rank == 2), word;
    hx_request_t *requests[2];
    int sent = rank, got = -1;

    for (int i = 0; i < MANY; i++) {
        const int at = rank % 2 ? MANY - 1 - i : i;
        values[i] = rank == 1 && i == 77 ? -0.0 : 0.0; /* equal as numbers */
        snprintf(many_names[i], sizeof(many_names[i]), "%d", i);
        many[at] = (hx_state_entry_t){many_names[i], &values[i], sizeof(values[i])};
    }
    memcpy(&values[5], &nan, sizeof(nan));
    CHECK(isnan(values[5]));
    OK(hx_irecv(&got, 1, HX_INT32, (rank + 1) % size, 0, world, &requests[0]));
    OK(hx_isend(&sent, 1, HX_INT32, (rank + size - 1) % size, 0, world, &requests[1]));
    OK(hx_state_sync(world, many, MANY, 1, HX_STATE_MAJORITY, &report));
    OK(hx_waitall(2, requests));
    CHECK(got == (rank + 1) % size);
    memcpy(&word, &values[5], sizeof(word));
    CHECK(word == UINT64_C(0x7ff8000000000000) && !signbit(values[77]));
    CHECK(report.entries_received == (size_t)(rank == 1 || rank == 2) && report.bytes_received == 8 * report.entries_received);
    for (int i = 0; i < MANY; i++)
        values[i] = i + rank; /* all differ: many short messages */
    OK(hx_state_sync(world, many, MANY, 2, rank == 3 ? HX_STATE_SEND_ONLY : HX_STATE_MAJORITY, &report));
    for (int i = 0; i < MANY; i++)
        CHECK(values[i] == i + 3);
}

/* 64 entries of 1 MiB, of which one differs on the last rank; state.sh reads the counters. */
static void traffic(void)
{
    enum { PARTS = 64 };
    static char part_names[PARTS][8];
    hx_state_entry_t parts[PARTS];
    unsigned char *memory = calloc(PARTS, 1 << 20);

    CHECK(memory);
    for (int i = 0; i < PARTS; i++) {
        snprintf(part_names[i], sizeof(part_names[i]), "%d", i);
        parts[i] = (hx_state_entry_t){part_names[i], memory + ((size_t)i << 20), 1 << 20};
    }
    memory[(17 << 20) + 5] = rank == size - 1;
    OK(hx_state_sync(world, parts, PARTS, 1, HX_STATE_MAJORITY, &report));
    CHECK(memory[(17 << 20) + 5] == 0);
    received(size - 1, 1, 1 << 20);
    free(memory);
}

/* A rank dies while others receive from it, or send to it: no rank hangs, and each names it. */
static void death(void)
{
    hx_status_t status;

    fill(rank == 3 ? 2 : 1);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    status = sync_as(1, HX_STATE_MAJORITY);
    CHECK(status == HX_ERR_PEER_DEAD && strstr(hx_error_detail(world), "rank 1 has died"));
    CHECK(rank == 3 || entry_is(6, 1)); /* those that send keep what they have */
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL); /* a rank that ends before the others know of rank 1 is a death, too */
    _exit(hx_finalize() != HX_SUCCESS);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"outliers", outliers}, {"newcomers", newcomers}, {"ties", ties}, {"refusals", refusals},
                 {"bits", bits}, {"traffic", traffic}, {"death", death}};

    if (hx_init(&world) != HX_SUCCESS)
        return 2;
    rank = hx_rank(world);
    size = hx_size(world);
    nodes = argc > 2 ? atoi(argv[2]) : 1;
    for (int e = 0; e < ENTRIES; e++)
        entries[e] = (hx_state_entry_t){names[e], sizes[e] ? malloc(sizes[e]) : NULL, sizes[e]};
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
        if (argc > 1 && !strcmp(argv[1], modes[m].name))
            modes[m].run();
    for (int e = 0; e < ENTRIES; e++)
        free(entries[e].address);
    return hx_finalize() != HX_SUCCESS;
}
