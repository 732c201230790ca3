/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job whose threads each drive a communicator of their own, and all together one that they share, whose calls are alike
 * and so may come in any order. usage: threads ROUNDS
 * threads detail: two ranks on two nodes, whose call has another length on each, while a thread is in Hierax that finds it out.
 * threads failed: two ranks, of which one waits by threads for barriers to which the other does not come, since meanwhile another call
 * has failed; the communicator is freed at once, or (threads failed told) when all have been told.
 * threads freed: two ranks; one frees the operation and datatype of a call that waits for its turn in a thread; it goes on.
 * threads waitany: two ranks; hx_waitany returns when another thread has finished the only call of its list.
 * threads signals: of a timer, all the time, which interrupt whatever waits.
 * threads beside: two ranks; while a thread of rank 0 receives the long block of a gather, another one makes the next call.
 * threads aborts: children, in each of which one thread calls hx_abort while another one is in hx_init or hx_finalize. */
#include <hierax.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, MOST = 5000 };

static hx_comm_t *world, *shared;
static long rounds;

struct thread {
    pthread_t id;
    int number, failed;
    hx_comm_t *own;
    int64_t in[MOST], out[MOST];
};

static int fail(const struct thread *t, const char *what, const hx_comm_t *comm)
{
    fprintf(stderr, "rank %d, thread %d: %s: %s\n", hx_rank(world), t->number, what, hx_error_detail(comm));
    return 1;
}

static int sum_is_right(const struct thread *t, size_t n, int64_t factor)
{
    int64_t size = hx_size(world), total = size * (size + 1) / 2;

    for (size_t i = 0; i < n; i++)
        if (t->out[i] != total * factor * (int64_t)(i + 1))
            return 0;
    return 1;
}

/* A communicator made and freed while the other threads do the same. */
static int child_run(struct thread *t)
{
    int64_t mine = hx_rank(t->own) + 100 * t->number, all[64] = {0};
    hx_comm_t *child;

    if (hx_comm_dup(t->own, &child) != HX_SUCCESS)
        return fail(t, "dup", t->own);
    if (hx_allgather(&mine, all, 1, HX_INT64, child) != HX_SUCCESS)
        return fail(t, "all-gather", child);
    for (int r = 0; r < hx_size(child); r++)
        if (all[r] != r + 100 * t->number)
            return fail(t, "all-gather brought another communicator's number", child);
    return hx_comm_free(child) == HX_SUCCESS ? 0 : fail(t, "free", NULL);
}

static int round_run(struct thread *t, long round)
{
    size_t n = round % 3 == 0 ? 1 : round % 3 == 1 ? 700 : MOST;
    int64_t factor = t->number + 1;
    hx_request_t *request;

    for (size_t i = 0; i < n; i++)
        t->in[i] = (hx_rank(world) + 1) * factor * (int64_t)(i + 1);
    if (hx_allreduce(t->in, t->out, n, HX_INT64, HX_SUM, t->own) != HX_SUCCESS || !sum_is_right(t, n, factor))
        return fail(t, "all-reduce on a communicator of its own", t->own);
    memset(t->out, 0, sizeof(t->out));
    if (hx_iallreduce(t->in, t->out, n, HX_INT64, HX_SUM, t->own, &request) != HX_SUCCESS || hx_barrier(t->own) != HX_SUCCESS ||
        hx_wait(request) != HX_SUCCESS || !sum_is_right(t, n, factor))
        return fail(t, "non-blocking all-reduce", t->own);
    for (size_t i = 0; i < 100; i++)
        t->in[i] = (hx_rank(world) + 1) * (int64_t)(i + 1);
    if (hx_allreduce(t->in, t->out, 100, HX_INT64, HX_SUM, shared) != HX_SUCCESS || !sum_is_right(t, 100, 1))
        return fail(t, "all-reduce on the shared communicator", shared);
    return child_run(t);
}

static void *thread_main(void *arg)
{
    struct thread *t = arg;

    for (long i = 0; i < rounds && !t->failed; i++)
        t->failed = round_run(t, i);
    return NULL;
}

static atomic_int ended;

static void *tester_main(void *arg)
{
    hx_request_t *request;
    int done = 0;

    if (hx_ibarrier(arg, &request) == HX_SUCCESS) /* for which nobody comes */
        while (!done && !atomic_load(&ended) && hx_test(request, &done) == HX_SUCCESS)
            ;
    return NULL;
}

/* Who waits tells what the other thread has found; the communicator's ranks are others than the job's. */
static int detail_run(void)
{
    static int in[1000], out[1000];
    const int sent[] = {4000, 2000};
    hx_comm_t *own, *turned;
    pthread_t tester;
    static const char wanted[] = "ranks make different calls: call 1 of rank "; /* which rank has found it is chance */

    if (hx_init(&world) != HX_SUCCESS || hx_comm_dup(world, &own) != HX_SUCCESS ||
        hx_comm_split(world, 0, -hx_rank(world), &turned) != HX_SUCCESS)
        return 1;
    int rank = hx_rank(world), tests = rank == 0 && pthread_create(&tester, NULL, tester_main, own) == 0;
    if (rank == 1)
        usleep(300000); /* the other one waits by then */
    hx_status_t status = hx_allreduce(in, out, (size_t)sent[rank] / sizeof(int), HX_INT32, HX_SUM, turned);
    int failed = status != HX_ERR_MISMATCH || !strstr(hx_error_detail(turned), wanted) || !strstr(hx_error_detail(NULL), wanted);
    if (failed)
        fprintf(stderr, "rank %d: status %d: \"%s\", thread \"%s\", not \"%s\"\n", rank, status, hx_error_detail(turned),
                hx_error_detail(NULL), wanted);
    atomic_store(&ended, 1);
    if (tests)
        pthread_join(tester, NULL);
    else
        sleep(1); /* its end would be another reason */
    return failed;
}

enum { WAITERS = 4 }; /* the first is in its call, the others wait for their turn, the last of them to be told a plan */

static hx_comm_t *left;
static hx_status_t waited[WAITERS];
static atomic_int begun;

static void *waiter_main(void *arg)
{
    hx_status_t *status = arg;
    hx_plan_info_t info;

    atomic_fetch_add(&begun, 1);
    if (status < waited + WAITERS - 1)
        *status = hx_barrier(left);
    else /* before the first barrier has begun it does not wait, and succeeds */
        while ((*status = hx_plan_info(left, "allreduce", 1, HX_INT32, HX_SUM, 0, &info)) == HX_SUCCESS)
            usleep(1000);
    return NULL;
}

static int waiters_join(const pthread_t *waiters, int waits)
{
    int failed = 0;

    for (int i = 0; i < waits; i++) {
        pthread_join(waiters[i], NULL);
        if (waited[i] != HX_ERR_MISMATCH)
            fprintf(stderr, "rank %d: thread %d waited: status %d, not %d\n", hx_rank(world), i, waited[i], HX_ERR_MISMATCH);
        failed |= waited[i] != HX_ERR_MISMATCH;
    }
    return failed;
}

/* told: only when all know it the communicator is freed; it says why then as before. */
static int failed_run(int told)
{
    static int in[100], out[100];
    hx_status_t status = HX_SUCCESS;
    hx_request_t *request;
    pthread_t waiters[WAITERS];
    int failed = 0, waits = 0;

    if (hx_init(&world) != HX_SUCCESS || hx_comm_dup(world, &left) != HX_SUCCESS)
        return 1;
    const int rank = hx_rank(world);
    while (rank == 0 && waits < WAITERS && pthread_create(&waiters[waits], NULL, waiter_main, &waited[waits]) == 0)
        waits++;
    while (atomic_load(&begun) < waits)
        usleep(1000);
    usleep(rank == 0 ? 100000 : 0); /* all wait by then */
    if (hx_iallreduce(in, out, rank == 0 ? 100 : 50, HX_INT32, HX_SUM, left, &request) == HX_SUCCESS)
        status = hx_wait(request);
    if (told)
        failed = waiters_join(waiters, waits);
    if (status != HX_ERR_MISMATCH || !strstr(hx_error_detail(left), "different calls") || hx_comm_free(left) != HX_SUCCESS) {
        fprintf(stderr, "rank %d: status %d, not %d: \"%s\"\n", rank, status, HX_ERR_MISMATCH, hx_error_detail(left));
        return 1;
    }
    if (!told)
        failed = waiters_join(waiters, waits);
    return hx_finalize() != HX_SUCCESS || failed;
}

enum { TURNS = 3 }; /* the first is the call under way, which the other rank lets wait; one of the others waits, and names what is freed */

static hx_op_t sum_op;
static hx_dtype_t two;
static int64_t sums[2], gathered[4];
static hx_status_t turns[TURNS];

static void sums_fold(const void *from, const void *with, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const int64_t *a = from, *b = with;
    int64_t *to = result;

    (void)dtype;
    (void)ctx;
    for (size_t i = 0; i < 2 * count; i++)
        to[i] = a[i] + b[i];
}

static void turn_take(int turn)
{
    static const size_t counts[] = {1, 1};
    const int64_t mine[] = {hx_rank(world) + 1, 10};

    if (turn == 0)
        turns[turn] = hx_barrier(shared);
    else if (turn == 1)
        turns[turn] = hx_allreduce(mine, sums, 1, two, sum_op, shared);
    else
        turns[turn] = hx_gatherv(mine, 1, gathered, counts, NULL, two, 0, shared);
}

static void *turn_main(void *arg)
{
    turn_take((int)((hx_status_t *)arg - turns));
    return NULL;
}

/* The call of that turn waits for its own. */
static int freed_while_waits(int turn)
{
    hx_status_t *const calls[] = {&turns[0], &turns[turn]};
    const int rank = hx_rank(world);
    pthread_t threads[2];
    int started = 0, failed;

    if (hx_dtype_contiguous(2 * sizeof(int64_t), &two) != HX_SUCCESS || hx_op_create(sums_fold, 1, NULL, &sum_op) != HX_SUCCESS)
        return 1;
    usleep(rank == 1 ? 600000 : 0); /* the other one has freed them by then */
    for (; started < 2 && pthread_create(&threads[started], NULL, turn_main, calls[started]) == 0; started++) {
        usleep(rank == 0 ? 100000 : 0); /* so that they come in this order */
        if (rank == 1)
            pthread_join(threads[started], NULL);
    }
    failed = started < 2 || hx_op_free(sum_op) != HX_SUCCESS || hx_dtype_free(two) != HX_SUCCESS;
    for (int i = 0; i < started && rank == 0; i++)
        pthread_join(threads[i], NULL);
    if (failed || turns[0] != HX_SUCCESS || turns[turn] != HX_SUCCESS)
        return fprintf(stderr, "rank %d: status %d, then %d: %s\n", rank, turns[0], turns[turn], hx_error_detail(shared)) > 0;
    turn_take(turn);
    if (turns[turn] != HX_ERR_ARG)
        return fprintf(stderr, "rank %d: a call that names what is freed: status %d\n", rank, turns[turn]) > 0;
    return 0;
}

static int freed_run(void)
{
    int failed;

    if (hx_init(&world) != HX_SUCCESS || hx_comm_dup(world, &shared) != HX_SUCCESS)
        return 1;
    failed = freed_while_waits(1) || freed_while_waits(2);
    if (!failed && (sums[0] != 3 || sums[1] != 20 || (hx_rank(world) == 0 && (gathered[0] != 1 || gathered[2] != 2 || gathered[3] != 10))))
        failed = fprintf(stderr, "rank %d: wrong numbers\n", hx_rank(world)) > 0;
    return hx_finalize() != HX_SUCCESS || failed;
}

enum { FINISHES = 100 };

static hx_request_t *prepared;
static atomic_int asked, returned; /* calls of hx_waitany, and those that have returned */

static void *any_main(void *arg)
{
    hx_status_t *status = arg;
    int index;

    for (int i = 1; i <= FINISHES && *status == HX_SUCCESS; i++) {
        while (atomic_load(&asked) < i)
            usleep(50);
        *status = hx_waitany(1, &prepared, &index);
        if (*status == HX_SUCCESS && index != 0 && index != HX_UNDEFINED)
            *status = HX_ERR_INTERNAL;
        atomic_store(&returned, i);
    }
    return NULL;
}

/* Both threads look for the end of the same call. */
static int waitany_run(void)
{
    hx_status_t status = HX_SUCCESS;
    pthread_t waiter;

    if (hx_init(&world) != HX_SUCCESS || hx_barrier_init(world, &prepared) != HX_SUCCESS)
        return 1;
    const int rank = hx_rank(world);
    if (rank == 0 && pthread_create(&waiter, NULL, any_main, &status) != 0)
        return 1;
    for (int i = 1; i <= FINISHES; i++) {
        usleep(rank == 1 ? 1000 : 0); /* rank 0 waits */
        if (hx_start(prepared) != HX_SUCCESS)
            return 1;
        atomic_store(&asked, i);
        for (int done = 0; !done;)
            if (hx_test(prepared, &done) != HX_SUCCESS)
                return 1;
        for (int ms = 0; rank == 0 && atomic_load(&returned) < i; ms++) {
            usleep(1000);
            if (ms == 10000)
                return fprintf(stderr, "hx_waitany does not return in round %d\n", i) > 0;
        }
    }
    if (rank == 0)
        pthread_join(waiter, NULL);
    return status != HX_SUCCESS || hx_request_free(prepared) != HX_SUCCESS || hx_finalize() != HX_SUCCESS;
}

enum { BLOCK = 8 << 20, NEXT = 1 << 17 }; /* elements */

static int64_t *volatile blocks;
static size_t counts[2];

static void *gather_main(void *arg)
{
    hx_status_t *status = arg;

    *status = hx_gatherv(HX_IN_PLACE, 0, blocks, counts, NULL, HX_INT64, 0, world);
    return NULL;
}

/* The result of the next call is in memory of the communicator first, as are the blocks of the gather. */
static int beside_run(void)
{
    static int64_t all[2 * NEXT];
    hx_status_t status = HX_SUCCESS;
    pthread_t gatherer;

    if (hx_init(&world) != HX_SUCCESS || !(blocks = calloc(BLOCK + 1, sizeof(*blocks))))
        return 1;
    const int rank = hx_rank(world);
    counts[0] = 1;
    for (int round = 0; round < 5; round++) {
        counts[1] = 1; /* then a short block is expected */
        if (hx_gatherv(rank == 0 ? HX_IN_PLACE : blocks, 1, blocks, counts, NULL, HX_INT64, 0, world) != HX_SUCCESS)
            return 1;
        counts[1] = BLOCK;
        for (int i = 0; i < BLOCK; i++)
            blocks[rank == 0 ? 1 + i : i] = rank == 0 ? -1 : i + round;
        for (int i = 0; i < 2 * NEXT; i++)
            all[i] = i + round;
        if (hx_barrier(world) != HX_SUCCESS || (rank == 0 && pthread_create(&gatherer, NULL, gather_main, &status) != 0))
            return 1;
        while (rank == 0 && blocks[1] == -1) /* the message has begun: the gather comes first */
            sched_yield();
        if (rank == 1)
            status = hx_gatherv(blocks, BLOCK, NULL, NULL, NULL, HX_INT64, 0, world);
        if (hx_reduce_scatter_block(HX_IN_PLACE, all, NEXT, HX_INT64, HX_SUM, world) != HX_SUCCESS || (rank == 0 && pthread_join(gatherer, NULL) != 0) ||
            status != HX_SUCCESS)
            return 1;
        for (int i = 0; i < NEXT; i++)
            if (all[i] != 2 * (rank * NEXT + i + round))
                return fprintf(stderr, "element %d of the reduce-scatter is %lld\n", i, (long long)all[i]) > 0;
        for (int i = 0; rank == 0 && i < BLOCK; i++)
            if (blocks[1 + i] != i + round)
                return fprintf(stderr, "element %d of the gather is %lld\n", i, (long long)blocks[1 + i]) > 0;
    }
    free(blocks);
    return hx_finalize() != HX_SUCCESS;
}

static void on_alarm(int signal)
{
    (void)signal;
}

static int signals_run(void)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 100}, {0, 100}};
    static struct thread t;
    int failed = 0;

    if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &often, NULL) < 0 || hx_init(&world) != HX_SUCCESS ||
        hx_comm_dup(world, &t.own) != HX_SUCCESS || hx_comm_dup(world, &shared) != HX_SUCCESS)
        return 1;
    for (long i = 0; i < 30 && !failed; i++)
        failed = round_run(&t, i);
    return hx_finalize() != HX_SUCCESS || failed;
}

static void *aborter_main(void *arg)
{
    const struct timespec late = {.tv_nsec = 1000L * *(const int *)arg};

    nanosleep(&late, NULL);
    hx_abort(NULL, 7, "in another thread");
}

static void aborting_child(int late_us, int starts)
{
    pthread_t thread;

    if ((!starts && hx_init(&world) != HX_SUCCESS) || pthread_create(&thread, NULL, aborter_main, &late_us))
        _exit(1);
    if ((starts && hx_init(&world) != HX_SUCCESS) || hx_finalize() != HX_SUCCESS)
        _exit(2);
    for (;;)
        pause();
}

static int aborts_run(void)
{
    for (int i = 0; i < 60; i++) {
        const int starts = i % 2, late_us = i * (starts ? 100 : 10);
        const pid_t child = fork();
        int status = -1;

        if (child == 0)
            aborting_child(late_us, starts);
        if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            return fprintf(stderr, "hx_abort %d us after %s began: wait status %d\n", late_us, starts ? "hx_init" : "hx_finalize",
                           status) > 0;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct thread threads[THREADS];
    int failed = 0;

    if (argc == 2 && !strcmp(argv[1], "detail"))
        return detail_run();
    if (argc >= 2 && !strcmp(argv[1], "failed"))
        return failed_run(argc > 2);
    if (argc == 2 && !strcmp(argv[1], "freed"))
        return freed_run();
    if (argc == 2 && !strcmp(argv[1], "waitany"))
        return waitany_run();
    if (argc == 2 && !strcmp(argv[1], "beside"))
        return beside_run();
    if (argc == 2 && !strcmp(argv[1], "signals"))
        return signals_run();
    if (argc == 2 && !strcmp(argv[1], "aborts"))
        return aborts_run();
    rounds = argc == 2 ? atol(argv[1]) : 0;
    if (hx_init(&world) != HX_SUCCESS || hx_comm_dup(world, &shared) != HX_SUCCESS)
        return 1;
    for (int i = 0; i < THREADS; i++) {
        threads[i].number = i;
        if (hx_comm_dup(world, &threads[i].own) != HX_SUCCESS)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]))
            return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        failed |= threads[i].failed;
    }
    if (hx_rank(world) == 0 && !failed)
        printf("%d threads, %ld rounds, no difference\n", THREADS, rounds);
    return hx_finalize() != HX_SUCCESS || failed;
}
