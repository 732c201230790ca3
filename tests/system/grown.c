/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of a job that grows. usage:
 *
 * grown grow FROM TO [DEATH]   a rank of a job of FROM ranks (under coll_run): grow until there are TO. Prints how long each grow took. All
 *                              ranks make sums in every world. DEATH: the last rank dies first, and the ranks that live grow
 * grown soon FROM TO           as grow, but no call of hx_comm_grow waits until a process comes
 * grown none SECONDS           hx_comm_grow while nobody waits
 * grown join [WHERE]           a newcomer: join, and grow with the others to as many ranks as rank 0 tells it
 * grown rounds ROUNDS          a rank that grows, and closes the larger world, so many times. Descriptors, threads and mappings stay
 * grown joins ROUNDS           the newcomer of each of these rounds: it joins, and ends Hierax
 * grown elastic STEPS          a process of coll_run --elastic: ranks make sums until STEPS are made. In step 10 rank 1 kills itself, if it has
 *                              been there from the start. The others go on, and grow
 * grown votes N                N votes on growth, while no store answers
 * grown briefly SECONDS        hx_comm_grow without waiting for newcomers returns within SECONDS, whatever those do that wait
 * grown unlike WHAT            the last rank makes another call than the others, which grow: WHAT is n, seconds, wait_size or allreduce
 * grown keeps                  HX_CHECK=1 finds unlike calls while a newcomer waits: it is admitted soon afterwards
 * grown revoked                the last rank revokes, and is outside Hierax for a while: the calls of the others end soon
 * grown held                   no communicator is freed while a thread is in hx_comm_grow or hx_comm_agree
 * grown wrong                  what the arguments and settings of hx_comm_grow may not be
 */
#include <hierax.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 30000, MOST = 64, SECONDS = 60 };

#define CHECK(right) check(!!(right), #right, __LINE__)

static int me = -1;
static double seconds = SECONDS; /* of hx_comm_grow */

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    fprintf(stderr, "grown: rank %d, line %d: not %s; %s\n", me, line, what, hx_error_detail(NULL));
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sums(hx_comm_t *comm)
{
    static int64_t in[COUNT], out[COUNT];
    const int64_t n = hx_size(comm), rank = hx_rank(comm);
    const size_t counts[] = {1, 100, COUNT};

    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < counts[k]; i++)
            in[i] = rank + (int64_t)i;
        CHECK(hx_allreduce(in, out, counts[k], HX_INT64, HX_SUM, comm) == HX_SUCCESS);
        for (size_t i = 0; i < counts[k]; i++)
            CHECK(out[i] == n * (n - 1) / 2 + n * (int64_t)i);
    }
    CHECK(hx_barrier(comm) == HX_SUCCESS);
}

/* All ranks have the same numbers, in order: old ranks keep theirs. Returns how many ranks to grow to. */
static int numbers_check(hx_comm_t *comm, int *number, int to)
{
    int mine[2] = {*number, to}, all[2 * MOST], size = hx_size(comm), highest = -1;

    CHECK(hx_allgather(mine, all, 2, HX_INT32, comm) == HX_SUCCESS);
    for (int i = 0; i < size; i++) {
        CHECK(all[2 * i] < 0 || all[2 * i] > highest);
        highest = all[2 * i] > highest ? all[2 * i] : highest;
    }
    if (*number < 0)
        *number = 1000 + hx_rank(comm);
    return all[1];
}

/* Until comm has `to` ranks. Returns the last one. */
static hx_comm_t *grow(hx_comm_t *comm, int to, int *number)
{
    while (hx_size(comm) < to) {
        hx_comm_t *bigger, *world = comm;
        const double start = now();
        const int size = hx_size(comm);
        CHECK(hx_comm_grow(comm, to - size, seconds, &bigger) == HX_SUCCESS && (bigger || seconds == 0));
        if (!bigger)
            continue;
        CHECK(hx_size(bigger) > size && hx_size(bigger) <= to && hx_rank(bigger) == hx_rank(comm));
        if (hx_rank(comm) == 0)
            printf("grow %d to %d: %.0f ms\n", size, hx_size(bigger), 1e3 * (now() - start));
        fflush(stdout);
        sums(comm); /* the older world still stands */
        numbers_check(bigger, number, to);
        sums(bigger);
        sums(world);
        comm = bigger;
    }
    return comm;
}

static void member(int from, int to, int death)
{
    hx_comm_t *world, *comm, *copy;
    int number, ranks[MOST];

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    CHECK(hx_size(world) == from);
    number = me;
    comm = world;
    sums(world);
    CHECK(hx_comm_dup(world, &copy) == HX_SUCCESS);
    if (death && me == from - 1)
        raise(SIGKILL);
    if (death) {
        CHECK(hx_barrier(copy) == HX_ERR_PEER_DEAD);
        for (int i = 0; i < from - 1; i++)
            ranks[i] = i;
        CHECK(hx_comm_group(world, ranks, from - 1, &comm) == HX_SUCCESS);
    }
    grow(comm, to, &number);
    CHECK(hx_finalize() == HX_SUCCESS || death);
}

static void newcomer(const char *where)
{
    hx_comm_t *world, *comm;
    int number = -1, to;

    CHECK(hx_join(where, &world) == HX_SUCCESS);
    me = hx_rank(world);
    to = numbers_check(world, &number, 0);
    sums(world);
    comm = grow(world, to, &number);
    if (comm != world)
        CHECK(hx_comm_free(world) == HX_SUCCESS || 1);
    CHECK(hx_finalize() == HX_SUCCESS);
}

static void none(double time)
{
    hx_comm_t *world, *bigger;
    const double start = now();
    int size;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    CHECK(hx_comm_grow(world, 3, time, &bigger) == HX_SUCCESS && !bigger && now() - start >= time);
    CHECK(hx_comm_wait_size(world, hx_size(world) + 1, 0, &size) == HX_SUCCESS && size == hx_size(world));
    CHECK(hx_comm_wait_size(world, 0, 1000, &size) == HX_SUCCESS && size == hx_size(world));
    CHECK(hx_comm_wait_size(world, INT_MIN, 1000, &size) == HX_SUCCESS && size == hx_size(world));
    sums(world);
    CHECK(hx_finalize() == HX_SUCCESS);
}

static void votes(int n)
{
    hx_comm_t *world, *bigger;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    for (int i = 0; i < n; i++)
        CHECK(hx_comm_grow(world, 1, 0, &bigger) == HX_ERR_BOOTSTRAP && !bigger);
    sums(world);
    CHECK(hx_finalize() == HX_SUCCESS);
}

static long entries(const char *path)
{
    DIR *directory = opendir(path);
    long n = 0;

    while (directory && readdir(directory))
        n++;
    if (directory)
        closedir(directory);
    return n;
}

static long mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    long n = 0;

    while (file && fgets(line, sizeof(line), file))
        n += strchr(line, '\n') != NULL;
    if (file)
        fclose(file);
    return n;
}

/* The first rounds use what later ones use again. */
static void used_check(int round, int rounds)
{
    static long descriptors, threads, mapped;

    if (round == rounds / 2) {
        descriptors = entries("/proc/self/fd");
        threads = entries("/proc/self/task");
        mapped = mappings();
    }
    if (round != rounds - 1)
        return;
    CHECK(entries("/proc/self/fd") <= descriptors);
    CHECK(entries("/proc/self/task") <= threads);
    CHECK(mappings() <= mapped + 16);
}

static void rounds_grow(int rounds)
{
    hx_comm_t *world, *bigger;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    for (int i = 0; i < rounds; i++) {
        const double start = now();
        CHECK(hx_comm_grow(world, 1, SECONDS, &bigger) == HX_SUCCESS && bigger);
        CHECK(hx_size(bigger) == hx_size(world) + 1);
        if (me == 0)
            printf("grow %d to %d: %.0f ms\n", hx_size(world), hx_size(bigger), 1e3 * (now() - start));
        fflush(stdout);
        sums(bigger);
        CHECK(hx_comm_free(bigger) == HX_SUCCESS);
        sums(world);
        used_check(i, rounds);
    }
    CHECK(hx_finalize() == HX_SUCCESS);
}

static void rounds_join(int rounds)
{
    hx_comm_t *world;

    for (int i = 0; i < rounds; i++) {
        CHECK(hx_join(NULL, &world) == HX_SUCCESS);
        me = hx_rank(world);
        sums(world);
        CHECK(hx_finalize() == HX_SUCCESS);
        used_check(i, rounds);
    }
}

/* The world, and the communicator in which the ranks work. */
struct work {
    hx_comm_t *base, *comm;
    int steps; /* made so far */
};

/* After a failure: the ranks that live, and another one. */
static void recover(struct work *work)
{
    const int size = hx_size(work->base);
    hx_comm_t *living, *bigger;

    CHECK(hx_comm_revoke(work->comm) == HX_SUCCESS);
    CHECK(hx_comm_shrink(work->comm, &living) == HX_SUCCESS && hx_size(living) == size - 1);
    CHECK(hx_comm_grow(living, 1, SECONDS, &bigger) == HX_SUCCESS && bigger && hx_size(bigger) == size);
    work->base = bigger;
}

static void elastic(int steps)
{
    const int from_start = getenv("HX_RANK") != NULL;
    struct work work = {.steps = 0};
    int joined = !from_start;

    CHECK((from_start ? hx_init(&work.base) : hx_join(NULL, &work.base)) == HX_SUCCESS);
    me = hx_rank(work.base);
    while (work.steps < steps) {
        hx_status_t status = HX_SUCCESS;
        int64_t one = 1, all = 0;
        CHECK(hx_comm_dup(work.base, &work.comm) == HX_SUCCESS);
        CHECK(hx_bcast(&work.steps, 1, HX_INT32, 0, work.comm) == HX_SUCCESS);
        for (; work.steps < steps; work.steps++) {
            if (from_start && me == 1 && work.steps == 10)
                raise(SIGKILL);
            if ((status = hx_allreduce(&one, &all, 1, HX_INT64, HX_SUM, work.comm)) != HX_SUCCESS)
                break;
            CHECK(all == hx_size(work.comm));
        }
        if (status == HX_SUCCESS)
            break;
        CHECK(status == HX_ERR_PEER_DEAD || status == HX_ERR_REVOKED);
        recover(&work);
    }
    printf("%s: %d steps, %d ranks\n", joined ? "joined" : "from the start", work.steps, hx_size(work.comm));
    fflush(stdout);
    CHECK(hx_barrier(work.base) == HX_SUCCESS);
    CHECK(hx_finalize() == HX_SUCCESS); /* though the first world has failed */
}

static int has(hx_comm_t *comm, const char *text)
{
    return strstr(hx_error_detail(comm), text) != NULL;
}

static void briefly(double within)
{
    hx_comm_t *world, *bigger;
    double start;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    start = now();
    CHECK(hx_comm_grow(world, 8, 0, &bigger) == HX_SUCCESS);
    CHECK(now() - start < within);
    sums(world);
    CHECK(hx_finalize() == HX_SUCCESS);
}

/* All ranks get the error long before HX_TIMEOUT, and no rank is taken for dead. */
static void unlike(const char *what)
{
    hx_comm_t *world, *comm = NULL, *living, *bigger;
    const char *checks = getenv("HX_CHECK");
    const double start = now();
    hx_status_t status;
    int64_t one = 1;
    int last, size;

    CHECK(hx_init(&world) == HX_SUCCESS && hx_comm_dup(world, &comm) == HX_SUCCESS);
    me = hx_rank(world);
    last = me == hx_size(world) - 1;
    if (last && !strcmp(what, "wait_size"))
        status = hx_comm_wait_size(comm, 1, 30, &size);
    else if (last && !strcmp(what, "allreduce"))
        status = hx_allreduce(HX_IN_PLACE, &one, 1, HX_INT64, HX_SUM, comm);
    else
        status = hx_comm_grow(comm, last && !strcmp(what, "n") ? 2 : 1, last && !strcmp(what, "seconds") ? 31 : 30, &bigger);
    CHECK(status == HX_ERR_MISMATCH);
    CHECK(has(comm, "ranks make different calls") || has(comm, "differ"));
    CHECK(!strstr(hx_error_detail(comm) + 1, "hx_comm_grow: hx_comm_grow"));
    CHECK(now() - start < 20);
    if (checks && atoi(checks))
        sums(comm); /* nothing has happened */
    CHECK(hx_comm_shrink(comm, &living) == HX_SUCCESS && hx_size(living) == hx_size(world));
    sums(living);
    CHECK(hx_finalize() == HX_SUCCESS);
}

static void keeps(void)
{
    hx_comm_t *world, *bigger;
    double start;
    int size;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    CHECK(hx_comm_wait_size(world, hx_size(world) + 1, SECONDS, &size) == HX_SUCCESS && size == hx_size(world) + 1);
    CHECK(hx_comm_grow(world, me == 0 ? 1 : 2, SECONDS, &bigger) == HX_ERR_MISMATCH && !bigger);
    start = now();
    grow(world, size, &(int){me});
    CHECK(now() - start < 20);
    CHECK(hx_finalize() == HX_SUCCESS);
}

static void revoked(void)
{
    hx_comm_t *world, *comm, *living, *bigger;
    const double start = now();
    int size;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    for (int k = 0; k < 2; k++) {
        CHECK(hx_comm_dup(world, &comm) == HX_SUCCESS);
        if (me == hx_size(world) - 1) {
            CHECK(usleep(300000) == 0 && hx_comm_revoke(comm) == HX_SUCCESS && sleep(4) == 0);
        } else {
            CHECK((k ? hx_comm_wait_size(comm, 99, 30, &size) : hx_comm_grow(comm, 1, 30, &bigger)) == HX_ERR_REVOKED);
            CHECK(has(comm, "has revoked") && now() - start < k * 5 + 4);
        }
        CHECK(hx_comm_shrink(comm, &living) == HX_SUCCESS && hx_size(living) == hx_size(world));
        sums(living);
    }
    CHECK(hx_finalize() == HX_SUCCESS);
}

static void *grow_run(void *comm)
{
    hx_comm_t *bigger;

    CHECK(hx_comm_grow(comm, 1, 2, &bigger) == HX_SUCCESS && !bigger);
    return NULL;
}

static void *agree_run(void *comm)
{
    int flags = 1;

    CHECK(hx_comm_agree(comm, &flags, NULL) == HX_SUCCESS);
    return NULL;
}

static void held(void)
{
    void *(*const runs[])(void *) = {grow_run, agree_run};
    hx_comm_t *world, *comm;
    pthread_t thread;

    CHECK(hx_init(&world) == HX_SUCCESS && hx_comm_dup(world, &comm) == HX_SUCCESS);
    me = hx_rank(world);
    for (int k = 0; k < 2; k++) {
        CHECK(pthread_create(&thread, NULL, runs[k], comm) == 0);
        CHECK(usleep(500000) == 0);
        if (me == 0) { /* the other comes to the agreement later */
            CHECK(hx_comm_free(comm) == HX_ERR_STATE && has(comm, "a thread is in hx_comm_agree, hx_comm_shrink, hx_comm_grow"));
            CHECK(hx_finalize() == HX_ERR_STATE);
        }
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(hx_barrier(comm) == HX_SUCCESS);
        if (me != 0)
            CHECK(usleep(1500000) == 0);
    }
    CHECK(hx_comm_free(comm) == HX_SUCCESS && hx_finalize() == HX_SUCCESS);
}

static void wrong(void)
{
    hx_comm_t *world, *bigger;
    int size;

    CHECK(hx_init(&world) == HX_SUCCESS);
    me = hx_rank(world);
    CHECK(hx_comm_grow(world, 0, 1, &bigger) == HX_ERR_ARG && has(world, "n is 0"));
    CHECK(hx_comm_grow(world, 1, -1, &bigger) == HX_ERR_ARG && has(world, "seconds is -1"));
    CHECK(hx_comm_grow(world, 1, NAN, &bigger) == HX_ERR_ARG);
    CHECK(hx_comm_grow(world, 1, 1, NULL) == HX_ERR_ARG && has(world, "bigger is NULL"));
    CHECK(hx_comm_wait_size(world, 1, 1, NULL) == HX_ERR_ARG && has(world, "size is NULL"));
    CHECK(hx_comm_grow(NULL, 1, 1, &bigger) == HX_ERR_ARG);
    CHECK(hx_comm_wait_size(world, 1, 0, &size) == (hx_status_t)atoi(getenv("GROWN_STATUS")) && has(world, getenv("GROWN_TEXT")));
    CHECK(hx_comm_grow(world, 1, 0, &bigger) == (hx_status_t)atoi(getenv("GROWN_STATUS")) && has(world, getenv("GROWN_TEXT")) && !bigger);
    sums(world);
    CHECK(hx_finalize() == HX_SUCCESS);
}

int main(int argc, char **argv)
{
    if (argc >= 4 && !strcmp(argv[1], "grow"))
        member(atoi(argv[2]), atoi(argv[3]), argc == 5);
    else if (argc == 4 && !strcmp(argv[1], "soon"))
        seconds = 0, member(atoi(argv[2]), atoi(argv[3]), 0);
    else if (argc == 3 && !strcmp(argv[1], "votes"))
        votes(atoi(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "none"))
        none(atof(argv[2]));
    else if (argc >= 2 && !strcmp(argv[1], "join"))
        newcomer(argc == 3 ? argv[2] : NULL);
    else if (argc == 3 && !strcmp(argv[1], "rounds"))
        rounds_grow(atoi(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "joins"))
        rounds_join(atoi(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "elastic"))
        elastic(atoi(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "briefly"))
        briefly(atof(argv[2]));
    else if (argc == 3 && !strcmp(argv[1], "unlike"))
        unlike(argv[2]);
    else if (argc == 2 && !strcmp(argv[1], "keeps"))
        keeps();
    else if (argc == 2 && !strcmp(argv[1], "revoked"))
        revoked();
    else if (argc == 2 && !strcmp(argv[1], "held"))
        held();
    else if (argc == 2 && !strcmp(argv[1], "wrong"))
        wrong();
    else
        return 2;
    return 0;
}
