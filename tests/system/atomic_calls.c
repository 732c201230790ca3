/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_ATOMIC: every collective in every form completes on all survivors, or fails on all, and then its input is unchanged.
 * Usage: atomic_calls SEED FILE LEAST [allreduce]
 *
 * In each round one or more ranks draw their deaths from SEED. All ranks make the same drawn steps until one fails: a call that blocks, a
 * few started calls, a prepared call, or a group. Each victim draws a step, and a moment in the time that a step takes. The survivors agree
 * on the number of complete calls, which must be the same on all, and shrink. With "allreduce" all calls are all-reduces that block.
 * Each rank that dies appends to FILE how many calls it had completed. If the survivors have completed one more, it died in the commit.
 */
#include <fcntl.h>
#include <hierax.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define RANKS_MOST 16
#define CALLS_MOST 4  /* at once */
#define WORDS_MOST 700 /* in a block */
#define ROOM (RANKS_MOST * (WORDS_MOST + 8))

enum coll { ALLREDUCE, BARRIER, BCAST, REDUCE, ALLGATHER, ALLGATHERV, SCATTER_BLOCK, SCATTER_COUNTS, ALLTOALL, ALLTOALLV, GATHER, SCATTER, GATHERV,
            SCATTERV, SCAN, EXSCAN, COLLS };
enum form { BLOCKS, STARTED, PREPARED };
enum step { ONE_BLOCKS, SOME_STARTED, ONE_PREPARED, GROUP_BLOCKS, GROUP_STARTED, BOTH, STEPS };

struct call {
    enum coll coll;
    int root, in_place, salt;
    size_t n;                       /* elements of a block; with counts: about so many */
    size_t counts[RANKS_MOST], at[RANKS_MOST];
    int64_t in[ROOM], out[ROOM], kept[ROOM];
    const int64_t *input;           /* of this rank, as kept; NULL: it has none */
    size_t inputs;
    hx_request_t *request;
    hx_status_t status;
};

static int me, rank, size;           /* me: in the job */
static int jobs[RANKS_MOST];
static hx_comm_t *world, *comm;
static int dies_fd, only_allreduce;
static uint64_t seed, state;         /* of the random numbers that all ranks draw alike */
static int shrinks;
static uint64_t complete, blocked;   /* calls on comm here: all, and those that block */
static struct call calls[CALLS_MOST];
static int salt;
static hx_status_t status_in;
static volatile sig_atomic_t inside; /* a call of Hierax that is tested */
static int64_t step_us = 300;        /* a step takes so long, about */

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "rank %d, line %d: not true: %s; %s\n", me, __LINE__, #condition, comm ? hx_error_detail(comm) : ""); \
            kill(getpid(), SIGKILL);                                                                                           \
        }                                                                                                                      \
    } while (0)
#define IN(call) (inside = 1, status_in = (call), inside = 0, status_in)
#define OK(call) CHECK((call) == HX_SUCCESS)

static uint64_t drawn(uint64_t *from)
{
    *from = *from * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *from >> 33;
}

static int draw(int below)
{
    return (int)(drawn(&state) % (unsigned)below);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* All deaths are in calls: outside it comes a little later. */
static void die(int sig)
{
    const struct itimerval later = {{0, 0}, {0, 300}}; /* a busy machine must have time between two signals */
    const int64_t number = (int64_t)complete;

    (void)sig;
    if (!inside) {
        setitimer(ITIMER_REAL, &later, NULL);
        return;
    }
    if (write(dies_fd, &number, sizeof(number)) != sizeof(number))
        _exit(3);
    kill(getpid(), SIGKILL);
}

static void die_within(int64_t most_us)
{
    static uint64_t own;
    struct itimerval timer = {{0, 0}, {0, 0}};

    own += (uint64_t)now_us() * 31 + (uint64_t)me;
    timer.it_value.tv_usec = 1 + (long)(drawn(&own) % (uint64_t)(most_us < 900000 ? most_us : 900000));
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- a call: its arguments, its input, its result ---------------------------------------------------------------- */

static int64_t value(const struct call *c, int r, size_t i) /* element i of the input of rank r */
{
    return (int64_t)(jobs[r] + 1) * (jobs[r] + 1) * 1000 + (int64_t)i * (c->salt % 97 + 1) + c->salt;
}

static int64_t sum(const struct call *c, int ranks, size_t i)
{
    int64_t all = 0;

    for (int r = 0; r < ranks; r++)
        all += value(c, r, i);
    return all;
}

static size_t pair_count(const struct call *c, int a, int b) /* the same from a to b as from b to a */
{
    return 1 + ((size_t)(a + b) * 13 + (size_t)c->salt) % 5 * c->n / 8;
}

static size_t pair_at(const struct call *c, int a, int b)
{
    size_t at = 0;

    for (int r = 0; r < b; r++)
        at += pair_count(c, a, r);
    return at;
}

static int has_root(enum coll coll)
{
    return coll == BCAST || coll == REDUCE || coll == GATHER || coll == SCATTER || coll == GATHERV || coll == SCATTERV;
}

static void counts_set(struct call *c)
{
    size_t at = 0;

    for (int r = 0; r < size; r++) {
        c->counts[r] = c->coll == ALLTOALLV ? pair_count(c, rank, r) : c->n / 2 + ((size_t)r * 37 + (size_t)c->salt) % 5 * c->n / 8 + 1;
        c->at[r] = at;
        at += c->counts[r];
    }
}

/* How many elements this rank gives, and where they are in place. */
static size_t given(const struct call *c, size_t *at)
{
    const size_t all = c->at[size - 1] + c->counts[size - 1];

    *at = 0;
    switch (c->coll) {
    case BARRIER: return 0;
    case BCAST: return rank == c->root ? c->n : 0;
    case ALLGATHER:
    case GATHER: *at = (size_t)rank * c->n; return c->n;
    case ALLGATHERV:
    case GATHERV: *at = c->at[rank]; return c->counts[rank];
    case SCATTER_BLOCK:
    case ALLTOALL: return (size_t)size * c->n;
    case SCATTER: return rank == c->root ? (size_t)size * c->n : 0;
    case SCATTERV: return rank == c->root ? all : 0;
    case SCATTER_COUNTS:
    case ALLTOALLV: return all;
    default: return c->n;
    }
}

static int is_here_in_place(const struct call *c)
{
    return c->in_place && (!has_root(c->coll) || rank == c->root);
}

static void call_fill(struct call *c)
{
    size_t at;

    c->salt = salt++;
    counts_set(c);
    c->inputs = given(c, &at);
    memset(c->out, 0x55, sizeof(c->out));
    int64_t *input = c->coll == BCAST ? c->out
                     : is_here_in_place(c) && c->coll != SCATTER && c->coll != SCATTERV ? c->out + at : c->in;
    for (size_t i = 0; i < c->inputs; i++)
        c->kept[i] = input[i] = value(c, rank, i);
    c->input = input;
    c->status = HX_SUCCESS;
    c->request = NULL;
}

static void call_draw(struct call *c)
{
    const int small = draw(3);

    c->coll = only_allreduce ? ALLREDUCE : (enum coll)draw(COLLS);
    c->root = draw(size);
    c->in_place = draw(2) && c->coll != BARRIER && c->coll != BCAST;
    c->n = small == 0 ? 1 : small == 1 ? 40 : WORDS_MOST;
    call_fill(c);
}

/* The result of element i, if there is one there. Returns how many elements there are. */
static size_t result_of(const struct call *c, size_t i, int64_t *result)
{
    const size_t n = c->n, all = c->at[size - 1] + c->counts[size - 1];
    int r = 0;

    if (c->coll == ALLGATHERV || c->coll == ALLTOALLV || c->coll == GATHERV)
        while (r < size - 1 && i >= c->at[r + 1])
            r++;
    switch (c->coll) {
    case BARRIER: return 0;
    case BCAST: *result = value(c, c->root, i); return n;
    case REDUCE: *result = sum(c, size, i); return rank == c->root ? n : 0;
    case ALLREDUCE: *result = sum(c, size, i); return n;
    case ALLGATHER: *result = value(c, (int)(i / n), i % n); return n * (size_t)size;
    case GATHER: *result = value(c, (int)(i / n), i % n); return rank == c->root ? n * (size_t)size : 0;
    case ALLGATHERV: *result = value(c, r, i - c->at[r]); return all;
    case GATHERV: *result = value(c, r, i - c->at[r]); return rank == c->root ? all : 0;
    case SCATTER_BLOCK: *result = sum(c, size, (size_t)rank * n + i); return n;
    case SCATTER_COUNTS: *result = sum(c, size, c->at[rank] + i); return c->counts[rank];
    case ALLTOALL: *result = value(c, (int)(i / n), (size_t)rank * n + i % n); return n * (size_t)size;
    case ALLTOALLV: *result = value(c, r, pair_at(c, r, rank) + i - c->at[r]); return all;
    case SCATTER: *result = value(c, c->root, (size_t)rank * n + i); return is_here_in_place(c) ? 0 : n;
    case SCATTERV: *result = value(c, c->root, c->at[rank] + i); return is_here_in_place(c) ? 0 : c->counts[rank];
    case SCAN: *result = sum(c, rank + 1, i); return n;
    case EXSCAN: *result = sum(c, rank, i); return rank ? n : 0;
    case COLLS: break;
    }
    return 0;
}

/* The call has ended with its status. */
static void call_check(const struct call *c)
{
    int64_t result = 0;

    CHECK(c->status != HX_ERR_TIMEOUT && c->status != HX_ERR_TRANSPORT && c->status != HX_ERR_ARG && c->status != HX_ERR_STATE);
    complete += c->status == HX_SUCCESS;
    for (size_t i = 0; c->status == HX_SUCCESS && i < result_of(c, 0, &result); i++) {
        result_of(c, i, &result);
        CHECK(c->out[i] == result);
    }
    if (c->status != HX_SUCCESS || !is_here_in_place(c))
        for (size_t i = 0; i < c->inputs; i++)
            CHECK(c->input[i] == c->kept[i]);
}

#define FORMS(name, ...)                                        \
    (form == BLOCKS      ? hx_##name(__VA_ARGS__)               \
     : form == STARTED ? hx_i##name(__VA_ARGS__, &c->request) \
                         : hx_##name##_init(__VA_ARGS__, &c->request))

static hx_status_t call_make(struct call *c, enum form form)
{
    const int here = is_here_in_place(c), root = c->root;
    const void *in = here ? HX_IN_PLACE : c->in;
    void *out = here ? HX_IN_PLACE : c->out; /* of a scatter */
    const size_t n = c->n, own = c->counts[rank];
    const size_t *counts = c->counts, *at = c->at;

    switch (c->coll) {
    case BARRIER: return FORMS(barrier, comm);
    case BCAST: return FORMS(bcast, c->out, n, HX_INT64, root, comm);
    case REDUCE: return FORMS(reduce, in, c->out, n, HX_INT64, HX_SUM, root, comm);
    case ALLREDUCE: return FORMS(allreduce, in, c->out, n, HX_INT64, HX_SUM, comm);
    case ALLGATHER: return FORMS(allgather, in, c->out, n, HX_INT64, comm);
    case ALLGATHERV: return FORMS(allgatherv, in, own, c->out, counts, at, HX_INT64, comm);
    case SCATTER_BLOCK: return FORMS(reduce_scatter_block, in, c->out, n, HX_INT64, HX_SUM, comm);
    case SCATTER_COUNTS: return FORMS(reduce_scatter, in, c->out, counts, HX_INT64, HX_SUM, comm);
    case ALLTOALL: return FORMS(alltoall, in, c->out, n, HX_INT64, comm);
    case ALLTOALLV: return FORMS(alltoallv, in, counts, at, c->out, counts, at, HX_INT64, comm);
    case GATHER: return FORMS(gather, in, c->out, n, HX_INT64, root, comm);
    case SCATTER: return FORMS(scatter, c->in, out, n, HX_INT64, root, comm);
    case GATHERV: return FORMS(gatherv, in, own, c->out, counts, at, HX_INT64, root, comm);
    case SCATTERV: return FORMS(scatterv, c->in, counts, at, out, own, HX_INT64, root, comm);
    case SCAN: return FORMS(scan, in, c->out, n, HX_INT64, HX_SUM, comm);
    case EXSCAN: return FORMS(exscan, in, c->out, n, HX_INT64, HX_SUM, comm);
    case COLLS: break;
    }
    return HX_ERR_ARG;
}

/* ---- steps: each returns whether all of its calls have succeeded -------------------------------------------------- */

static int one_blocks(struct call *c)
{
    c->status = IN(call_make(c, BLOCKS));
    call_check(c);
    blocked += c->status == HX_SUCCESS;
    return c->status == HX_SUCCESS;
}

static void call_start(struct call *c)
{
    c->status = IN(call_make(c, STARTED));
    CHECK((c->status == HX_SUCCESS) == (c->request != NULL));
}

static void call_wait(struct call *c, int tests)
{
    int done = 0;

    if (!c->request)
        return;
    while (tests && !done)
        c->status = IN(hx_test(c->request, &done));
    if (!tests)
        c->status = IN(hx_wait(c->request));
    c->request = NULL;
}

/* They are waited for in a drawn order. If one has failed, so have all that were made later. */
static int some_started(int n, int with_blocking)
{
    const int order = draw(3), tests = draw(2);
    int fine = 1;

    for (int i = 0; i < n; i++)
        call_draw(&calls[i]);
    for (int i = 0; i < n - with_blocking; i++)
        call_start(&calls[i]);
    if (with_blocking) {
        calls[n - 1].status = IN(call_make(&calls[n - 1], BLOCKS));
        blocked += calls[n - 1].status == HX_SUCCESS;
    }
    for (int i = 0; i < n - with_blocking; i++)
        call_wait(&calls[order == 0 ? i : order == 1 ? n - with_blocking - 1 - i : (i + 1) % (n - with_blocking)], tests);
    for (int i = 0; i < n; i++) {
        CHECK(fine || calls[i].status != HX_SUCCESS);
        fine = calls[i].status == HX_SUCCESS;
        call_check(&calls[i]);
    }
    return fine;
}

static int one_prepared(struct call *c)
{
    hx_request_t *request;
    int fine = call_make(c, PREPARED) == HX_SUCCESS;

    request = c->request;
    for (int i = 0; i < 3 && fine; i++) {
        if (i) /* the counts must stay */
            call_fill(c);
        if (!i || (c->coll != ALLTOALLV && c->coll != ALLGATHERV && c->coll != SCATTER_COUNTS && c->coll != GATHERV && c->coll != SCATTERV)) {
            if ((c->status = IN(hx_start(request))) == HX_SUCCESS)
                c->status = IN(hx_wait(request));
            call_check(c);
            fine = c->status == HX_SUCCESS;
        }
    }
    if (request)
        OK(hx_request_free(request));
    return fine;
}

/* The calls of a group complete or fail as one. */
static int group(int n, int blocks)
{
    hx_request_t *request = NULL;
    hx_status_t status = hx_group_begin(comm);

    if (status != HX_SUCCESS)
        return 0;
    for (int i = 0; i < n; i++) {
        call_draw(&calls[i]);
        if (i && draw(2)) { /* so that calls are packed */
            calls[i].coll = calls[0].coll;
            calls[i].root = calls[0].root;
            calls[i].in_place = calls[0].in_place;
            call_fill(&calls[i]);
        }
        status = call_make(&calls[i], BLOCKS);
        if (status != HX_SUCCESS) { /* the communicator has failed */
            CHECK(hx_group_end(comm, NULL) == status);
            return 0;
        }
    }
    status = IN(hx_group_end(comm, blocks ? NULL : &request));
    if (status == HX_SUCCESS && request)
        status = IN(hx_wait(request));
    for (int i = 0; i < n; i++) {
        calls[i].status = status;
        call_check(&calls[i]);
    }
    return status == HX_SUCCESS;
}

static int step_make(void)
{
    const enum step step = only_allreduce ? ONE_BLOCKS : (enum step)draw(STEPS);
    const int n = 1 + draw(CALLS_MOST - 1);
    const int64_t since = now_us();
    int fine = 0;

    switch (step) {
    case ONE_BLOCKS: call_draw(&calls[0]); fine = one_blocks(&calls[0]); break;
    case SOME_STARTED: fine = some_started(n, 0); break;
    case ONE_PREPARED: call_draw(&calls[0]); fine = one_prepared(&calls[0]); break;
    case GROUP_BLOCKS: fine = group(n + 1, 1); break;
    case GROUP_STARTED: fine = group(n + 1, 0); break;
    case BOTH: fine = some_started(n + 1, 1); break;
    case STEPS: break;
    }
    step_us += (now_us() - since - step_us) / 4;
    return fine;
}

/* ---- rounds -------------------------------------------------------------------------------------------------------- */

/* Who is in comm, in which order? */
static hx_status_t meet(void)
{
    hx_status_t status;

    size = hx_size(comm);
    rank = hx_rank(comm);
    complete = blocked = 0;
    if ((status = hx_allgather(&me, jobs, 1, HX_INT32, comm)) == HX_SUCCESS)
        complete = blocked = 1;
    return status;
}

static int is_among(const int *victims, int n, int job)
{
    for (int i = 0; i < n; i++)
        if (victims[i] == job)
            return 1;
    return 0;
}

/* All survivors have completed as many calls. Then go on without the dead. Returns whether the new communicator works. */
static int go_on(void)
{
    hx_comm_t *next = NULL;
    uint64_t completed = 0;
    int64_t last = 0; /* how many calls the last dead rank had completed */
    const unsigned low = (unsigned)complete & 0xffff, high = ~low & 0xffff;
    int flags = (int)(low | high << 16);

    if (pread(dies_fd, &last, sizeof(last), lseek(dies_fd, 0, SEEK_END) - (off_t)sizeof(last)) == sizeof(last))
        printf("after a death in call %d: %s\n", (int)last, (uint64_t)last < complete ? "it is complete" : "it is undone");
    fflush(stdout);
    hx_comm_revoke(comm);
    OK(hx_comm_agree(comm, &flags, &completed));
    CHECK((unsigned)flags == (low | high << 16));
    CHECK(completed == blocked);
    OK(hx_comm_shrink(comm, &next));
    if (comm != world)
        OK(hx_comm_free(comm));
    comm = next;
    state = seed + (uint64_t)++shrinks * UINT64_C(0x9e3779b97f4a7c15); /* ranks may have left the last step at different points */
    salt = shrinks * 1000;
    return meet() == HX_SUCCESS;
}

static void round_play(void)
{
    const int how = draw(8), first = jobs[how == 0 ? 0 : how == 1 ? size - 1 : draw(size)];
    int victims[2] = {first, how == 2 || how == 3 ? jobs[draw(size)] : first};
    const int n = victims[0] != victims[1] && size > 2 ? 2 : 1, from = draw(6);
    int works = 1, left = 1;

    for (int number = 0; left; number++) {
        if (is_among(victims, n, me) && number >= from)
            die_within(step_us + step_us / 4 + 1);
        works = works && step_make();
        while (!works)
            works = go_on();
        left = 0;
        for (int i = 0; i < size; i++)
            left |= is_among(victims, n, jobs[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || (dies_fd = open(argv[2], O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return 2;
    seed = state = strtoull(argv[1], NULL, 10);
    only_allreduce = argc > 4;
    signal(SIGALRM, die);
    OK(hx_init(&world));
    me = hx_rank(world);
    comm = world;
    CHECK(hx_size(world) <= RANKS_MOST);
    OK(hx_comm_set_atomic(world, 1));
    OK(meet());
    while (size > atoi(argv[3]))
        round_play();
    OK(hx_barrier(comm));
    printf("rank %d is well\n", me);
    fflush(stdout);
    CHECK(hx_finalize() == HX_SUCCESS); /* it has gone on without the dead */
    _exit(0);
}
