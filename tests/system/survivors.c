/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that die at random moments, and the others that go on. Usage: survivors SEED FILE LEAST [calls]
 *
 * In each round one or more ranks draw their deaths from SEED: whose, and in what. The others revoke, agree and shrink until an all-reduce
 * of all that are left is right. They end when LEAST ranks or fewer are left. Each rank that dies appends the time to FILE. The first
 * survivor prints how long each round took from the last death to the next complete all-reduce.
 * With "calls" all deaths are in calls. If HX_ATOMIC is set, a call must succeed on all or fail on all, and then the input is unchanged.
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

#define RANKS_MOST 64
#define WORDS 5000

enum moment { IN_CALLS, IN_AGREE, IN_SHRINK, MOMENTS };
static const char *const moment_names[] = {"calls", "agree", "shrink"};

static int me, size;                 /* in the job, and in comm */
static int jobs[RANKS_MOST];         /* the ranks of the job that comm has */
static int node_of[RANKS_MOST];      /* of the job */
static hx_comm_t *world, *comm;
static int dies_fd;
static int is_atomic, only_calls;
static uint64_t calls;               /* that have succeeded on comm here */
static uint64_t state;               /* of the random numbers that all ranks draw alike */

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "rank %d, line %d: not true: %s; %s\n", me, __LINE__, #condition, comm ? hx_error_detail(comm) : ""); \
            kill(getpid(), SIGKILL);                                                                                           \
        }                                                                                                                      \
    } while (0)
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

static void die(int sig)
{
    const int64_t now = now_us();

    (void)sig;
    if (write(dies_fd, &now, sizeof(now)) != sizeof(now))
        _exit(3);
    kill(getpid(), SIGKILL);
}

static void die_within(long most_us)
{
    static uint64_t own;
    struct itimerval timer = {{0, 0}, {0, 0}};

    own += (uint64_t)now_us() * 31 + (uint64_t)me;
    timer.it_value.tv_usec = 1 + (long)(drawn(&own) % (uint64_t)most_us);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int64_t last_death_us(void)
{
    int64_t last = 0;

    if (pread(dies_fd, &last, sizeof(last), lseek(dies_fd, 0, SEEK_END) - (off_t)sizeof(last)) != sizeof(last))
        last = 0;
    return last;
}

static int64_t number_at(int step, size_t i)
{
    return (int64_t)(me + 1) * (me + 1) + (int64_t)i * step;
}

/* An all-reduce whose result is known, with HX_ATOMIC often in place. */
static hx_status_t sum(int step)
{
    static int64_t in[WORDS], out[WORDS];
    const size_t n = step % 3 == 0 ? 1 : step % 3 == 1 ? 700 : WORDS;
    const int in_place = is_atomic && step % 2;
    hx_status_t status;
    int64_t expected = 0;

    for (int i = 0; i < size; i++)
        expected += (int64_t)(jobs[i] + 1) * (jobs[i] + 1);
    for (size_t i = 0; i < n; i++)
        (in_place ? out : in)[i] = number_at(step, i);
    status = hx_allreduce(in_place ? HX_IN_PLACE : in, out, n, HX_INT64, HX_SUM, comm);
    CHECK(status != HX_ERR_TIMEOUT && status != HX_ERR_TRANSPORT);
    calls += status == HX_SUCCESS;
    for (size_t i = 0; is_atomic && status != HX_SUCCESS && i < n; i++)
        CHECK((in_place ? out : in)[i] == number_at(step, i));
    for (size_t i = 0; status == HX_SUCCESS && i < n; i++)
        CHECK(out[i] == expected + (int64_t)i * step * size);
    return status;
}

/* Who is in comm, in which order? */
static hx_status_t meet(void)
{
    hx_status_t status;

    size = hx_size(comm);
    calls = 0;
    if ((status = hx_allgather(&me, jobs, 1, HX_INT32, comm)) != HX_SUCCESS) {
        CHECK(status != HX_ERR_TIMEOUT && status != HX_ERR_TRANSPORT);
        return status;
    }
    calls++;
    for (int i = 0; i < size; i++)
        CHECK(jobs[i] >= 0 && (i == 0 || jobs[i] > jobs[i - 1]) && (jobs[i] == me) == (i == hx_rank(comm)));
    return HX_SUCCESS;
}

static int is_member(int job)
{
    for (int i = 0; i < size; i++)
        if (jobs[i] == job)
            return 1;
    return 0;
}

/* All that are in comm know the same? */
static hx_status_t same(int64_t value)
{
    int64_t ends[2] = {value, -value}, both[2];
    hx_status_t status = hx_allreduce(ends, both, 2, HX_INT64, HX_MAX, comm);

    calls += status == HX_SUCCESS;
    CHECK(status != HX_SUCCESS || (both[0] == value && both[1] == -value));
    return status;
}

struct victim {
    int job;
    enum moment moment;
};

/* The deaths of a round: one rank, the first, the last, two at once, or all of a node, but not all. */
static int victims_draw(struct victim *victims)
{
    const int how = draw(8), first = jobs[how == 0 ? 0 : how == 1 ? size - 1 : draw(size)];
    const enum moment moment = (enum moment)(draw(MOMENTS) * !only_calls), second = (enum moment)(draw(MOMENTS) * !only_calls);
    int n = 0;

    if (how == 2) {
        for (int i = 0; i < size; i++)
            if (node_of[jobs[i]] == node_of[first])
                victims[n++] = (struct victim){jobs[i], moment};
        if (n < size)
            return n;
    }
    victims[0] = (struct victim){first, moment};
    if (how == 3 || how == 4) {
        victims[1] = (struct victim){jobs[draw(size)], second};
        if (victims[1].job != first && size > 2)
            return 2;
    }
    return 1;
}

static int has_moment(const struct victim *victims, int n, enum moment moment, int job)
{
    for (int i = 0; i < n; i++)
        if (victims[i].moment == moment && (job < 0 || victims[i].job == job))
            return 1;
    return 0;
}

/* Go on until the next all-reduce of all that are left is right. */
static void go_on(const struct victim *victims, int n, int any)
{
    hx_comm_t *next = NULL;
    uint64_t completed = 0;
    int flags = ~(1 << me % 31), agreed;
    hx_status_t status;

    if (any)
        hx_comm_revoke(comm);
    if (has_moment(victims, n, IN_AGREE, me))
        die_within(300);
    OK(hx_comm_agree(comm, &flags, &completed));
    agreed = flags;
    CHECK(is_atomic ? completed == calls : completed <= calls && completed + 1 >= calls);
    if (has_moment(victims, n, IN_SHRINK, me))
        die_within(600);
    OK(hx_comm_shrink(comm, &next));
    if (comm != world)
        OK(hx_comm_free(comm));
    comm = next;
    if ((status = meet()) != HX_SUCCESS)
        return;
    for (int i = 0; i < size; i++)
        CHECK(!(agreed & 1 << jobs[i] % 31));
    if (same(agreed) == HX_SUCCESS)
        same((int64_t)completed);
}

static void round_play(int number)
{
    struct victim victims[RANKS_MOST];
    const int n = victims_draw(victims), in_calls = has_moment(victims, n, IN_CALLS, -1), size_before = size;
    int left = 1, tries = 0, steps = draw(20), failed = 0;

    if (has_moment(victims, n, IN_CALLS, me))
        die_within(3000);
    for (int step = 0; !failed && (in_calls || step < steps); step++)
        failed = sum(step) != HX_SUCCESS;
    for (; left; tries++) {
        go_on(victims, n, failed);
        failed = 0;
        left = 0;
        for (int i = 0; i < n; i++)
            left |= is_member(victims[i].job);
        for (int step = 0; !failed && (left || step < 3); step++) /* one that has drawn its death is here still: it comes */
            failed = sum(step) != HX_SUCCESS;
        left |= failed;
    }
    if (hx_rank(comm) == 0) {
        printf("round %d of %d ranks: %d died in %s, %d left, %d tries, %lld us\n", number, size_before, n,
               moment_names[victims[0].moment], size, tries, (long long)(now_us() - last_death_us()));
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    hx_comm_t *node;
    int first;

    if (argc < 4 || (dies_fd = open(argv[2], O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return 2;
    state = strtoull(argv[1], NULL, 10);
    signal(SIGALRM, die);
    OK(hx_init(&world));
    only_calls = argc > 4;
    is_atomic = getenv("HX_ATOMIC") != NULL;
    me = hx_rank(world);
    comm = world;
    CHECK(hx_size(world) <= RANKS_MOST);
    OK(meet());
    OK(hx_comm_split_node(world, &node));
    first = me;
    OK(hx_bcast(&first, 1, HX_INT32, 0, node));
    OK(hx_allgather(&first, node_of, 1, HX_INT32, world));
    calls++;
    OK(hx_comm_free(node));
    for (int number = 0; size > atoi(argv[3]); number++)
        round_play(number);
    OK(hx_barrier(comm));
    printf("rank %d is well\n", me);
    fflush(stdout);
    CHECK(hx_finalize() == HX_SUCCESS); /* it has gone on without the dead */
    _exit(0);
}
