/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank that behaves as a test's script wants:
 *   init                  start; print "rank N status S: detail"; then one all-reduce and finalize
 *   timed N               start, N all-reduces, finalize; print how long the first and the last take, and whether the environment hides the secret
 *   loop                  all-reduces without end; prints "rank N pid P" when under way
 *   until FILE            all-reduces until FILE exists, some with a late rank; prints "rank N pid P" when under way, and in the end that all went
 *                         well
 *   meets FILE            the same with broadcasts; then all ranks send to all, most pairs for the first time, and broadcast until FILE is gone
 *   measured FILE N CROWDS  all-reduces of 8 bytes in 2 N windows of half a second. In every second window FILE exists, and CROWDS processes have
 *                         written a byte there. Prints the median time and CPU time of a call, without and with FILE
 *   starts COMMAND        an all-reduce before and after rank 0 has run the shell's COMMAND; prints the size of the job, and how it went
 *   prints FOLDER         all-reduces and prints in turn; then writes to FOLDER/RANK how many descriptors are open, what the standard
 *                         streams are, and which of them are closed after hx_finalize
 *   absent RANK [LATE]    one all-reduce, then RANK stays away; the others print what the second one says, to which LATE comes 1.5 s late
 *   dies RANK HOW         RANK is killed while the others wait for it in an all-reduce, as HOW says: blocks, waits, tests; they print
 *                         what they get, and what a call among them gets, and a group of theirs to which its last comes late
 *   nodes                 print the rank and the size in hx_comm_split_node of the world, and of its odd and even ranks in reverse order
 *   aborts RANK HOW CODE TEXT  RANK calls hx_abort with CODE and TEXT while the others wait for it in an all-reduce, and prints when; they print
 *                         what they get and when. HOW: blocks, waits, tests: how they wait; first: nothing was called after hx_init; threads: three
 *                         threads call hx_abort while one is in a barrier; folds: it is called in an operation of hx_op_create; late: the next rank
 *                         was killed before, and the others wait in a communicator without it; failed: after a call with wrong arguments
 *   vanish RANKS [CHILD WHEN]  these ranks (a list with commas) kill themselves while the others wait for them; the others print what they get.
 *                         Each of RANKS leaves a child behind that sleeps for a minute, and prints its pid. CHILD, how it is made: fork, exec,
 *                         spawn, system, clone; become: the rank executes another program instead. WHEN: before hx_init, after it, or late, when
 *                         messages have passed
 *   lone                  the last rank is killed while only 0 waits for it, and leaves a child behind, made by clone; 0 prints what it gets.
 *                         The others wait elsewhere
 *   finishes RANK [LATE]  RANK calls hx_finalize. The others wait for it in a call on another communicator of all ranks, which they enter LATE
 *                         seconds later. They print what they get, and all print what hx_finalize returns
 *   groups                0 asks for a group with 1, who does not come, twice, and for one with 2, who does; prints what it gets
 *   given_up [wait]       a broadcast (one that does not block) by 0, which gives it up before the others come and writes its buffer; they print what they get
 *   overdue HOW           0 waits for what 1 never enters, as HOW says: blocks, waits, tests; others of their calls go on meanwhile. It
 *                         prints what it gets
 *   differ                HX_CHECK: the last rank makes other calls than the others; then all the same
 *   part                  a communicator of 0 and 1 fails for 0, and only it; they print what hx_finalize says. What 0 makes meanwhile
 *                         does not meet 1 in it
 *   idle_tests            0 starts a long broadcast and then tests a request that is not under way, for 2 s: then the broadcast is done
 *   slow                  a long broadcast, which 1 looks at now and then for 2 s
 *   late RANK SECONDS     RANK enters a call late; the others print the CPU time they used meanwhile
 *   bcasts BYTES N [wait] N broadcasts (that do not block) by 0, which 1 enters late; everybody looks at every number that it gets
 *   alltoalls BYTES N     an all-to-all of BYTES for each rank on each of N communicators; everybody looks at every number that it gets
 *   apart SECONDS         an all-reduce on a second communicator, which rank 0 gives up, since the others come SECONDS late to the next
 *                         calls and never to this one; the world communicator goes on
 *   goes_on FILE HOW BYTES...  all-reduces of these sizes, each on a communicator of its own, with a time-out of 1 s. A rank whose call fails
 *                         unmaps the call's buffers at once. HOW: blocks, waits, tests: the last rank enters when all others have written to FILE
 *                         that they have failed; begins: it starts its calls in time, but waits for them only then; unlike: it makes different
 *                         calls. In the end all use the world communicator
 *   outlives RANK         all-reduces until one fails; prints what of and when. Then RANK ends the job, the others make no call
 *   gives_up              1 does not look; 0 gives a long all-reduce up, prints how long hx_finalize takes, and ends the job
 *   astray HOW            the last rank does something else while the others are in an all-reduce; all print what they get. HOW, what it does:
 *                         mixed, it starts a non-blocking all-reduce and waits for it; tests, it starts one and tests it now and then; skips, it
 *                         enters a barrier of another communicator, and 4 s late one of a third; root, all broadcast, the last rank from
 *                         another root; computes, it makes no call; unread, the same, while a rank that waits for it has messages which it
 *                         does not read; stops, it is stopped in the barrier; execs, it executes another program
 *   maps                  print the memfds mapped, and counters of rings and network
 *   memory                print the largest Pss of a rank beyond its buffers
 *   choices               print the plan that this rank chooses for several sizes
 *   calls NAME N          N calls of hx_NAME with two floats; exits 77 where the compiler did not optimise
 */
#include "hier/planner.h"
#include "runtime/api/comm.h"
#include "runtime/base/clock.h"
#include "tools/common/median.h"
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static hx_comm_t *world;
static int rank = -1, size;

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void check(hx_status_t status, const char *what)
{
    if (status == HX_SUCCESS)
        return;
    fprintf(stderr, "actor: rank %d: %s: status %d: %s\n", rank, what, status, hx_error_detail(world));
    exit(1);
}

/* Sum n ones; the result is known. */
static hx_status_t sum(size_t n)
{
    static int *in, *out;
    static size_t capacity;
    hx_status_t status;

    if (n > capacity) {
        capacity = n;
        in = realloc(in, n * sizeof(int));
        out = realloc(out, n * sizeof(int));
        if (!in || !out)
            exit(3);
    }
    for (size_t i = 0; i < n; i++)
        in[i] = 1;
    status = hx_allreduce(in, out, n, HX_INT32, HX_SUM, world);
    for (size_t i = 0; status == HX_SUCCESS && i < n; i++)
        if (out[i] != size) {
            fprintf(stderr, "actor: rank %d: element %zu of %zu is %d, not %d\n", rank, i, n, out[i], size);
            exit(1);
        }
    return status;
}

static int play_init(void)
{
    hx_status_t status = hx_init(&world);

    printf("rank %d status %d: %s\n", hx_rank(world), status, status == HX_SUCCESS ? "started" : hx_error_detail(NULL));
    fflush(stdout);
    if (status != HX_SUCCESS)
        return 0;
    size = hx_size(world);
    check(sum(10), "allreduce");
    check(hx_finalize(), "hx_finalize");
    return 0;
}

/* Neither a program that it starts nor /proc reveals the secret. */
static int secret_is_hidden(void)
{
    const char *shown = getenv("HX_SECRET");
    char line[64 << 10];
    size_t bytes;
    FILE *f;

    if (!shown || strspn(shown, "*") != strlen(shown))
        return 0;
    if (!(f = fopen("/proc/self/environ", "r")))
        return 0;
    bytes = fread(line, 1, sizeof line, f);
    fclose(f);
    for (size_t at = 0; at < bytes; at += strlen(line + at) + 1)
        if (!strncmp(line + at, "HX_SECRET=", 10) && line[at + 10 + strspn(line + at + 10, "*")])
            return 0;
    return 1;
}

static int play_timed(int calls)
{
    double start = hx_now_s(), started, ends;

    check(hx_init(&world), "hx_init");
    started = hx_now_s() - start;
    rank = hx_rank(world);
    size = hx_size(world);
    for (int i = 0; i < calls; i++)
        check(sum(i % 2 ? 1000 : 1), "allreduce");
    ends = hx_now_s();
    check(hx_finalize(), "hx_finalize");
    printf("rank %d started in %.0f ms, ended in %.0f ms\n", rank, started * 1e3, (hx_now_s() - ends) * 1e3);
    if (secret_is_hidden())
        printf("rank %d hides the secret\n", rank);
    return 0;
}

/* The number that rank a sends to rank b. */
static int number_of(int a, int b, int call, size_t i)
{
    return (int)(((unsigned)(a * size + b) * 64u + (unsigned)call) * 1000003u + (unsigned)i);
}

static void alltoall_check(hx_comm_t *comm, int call, size_t count)
{
    size_t all = count * (size_t)size;
    int *in = calloc(all, sizeof(int)), *out = calloc(all, sizeof(int));

    if (!in || !out)
        exit(3);
    for (size_t i = 0; i < all; i++) {
        in[i] = number_of(rank, (int)(i / count), call, i % count);
        out[i] = -1;
    }
    check(hx_alltoall(in, out, count, HX_INT32, comm), "alltoall");
    for (size_t i = 0; i < all; i++)
        if (out[i] != number_of((int)(i / count), rank, call, i % count)) {
            fprintf(stderr, "actor: rank %d: alltoall %d: number %zu of rank %zu is %d\n", rank, call, i % count, i / count, out[i]);
            exit(1);
        }
    free(in);
    free(out);
}

static void play_until(const char *path)
{
    int ends = 0;

    for (int i = 0; !ends; i++) {
        check(sum(i % 2 ? 30000 : 1), "allreduce");
        if (i == 4) {
            printf("rank %d pid %d\n", rank, (int)getpid());
            fflush(stdout);
        }
        ends = i % 16 == 0 && rank == 0 && access(path, F_OK) == 0;
        if (i % 512 == 0 && rank == i / 512 % size)
            usleep(300000); /* so that the others wait, and check whether it has died */
        check(hx_bcast(&ends, 1, HX_INT32, 0, world), "bcast");
    }
    printf("rank %d is well\n", rank);
}

static void bcasts_until(const char *path, int exists)
{
    for (int ends = 0; !ends;) {
        ends = rank == 0 && (access(path, F_OK) == 0) == exists;
        check(hx_bcast(&ends, 1, HX_INT32, 0, world), "bcast");
    }
}

static void play_meets(const char *path)
{
    printf("rank %d pid %d\n", rank, (int)getpid());
    fflush(stdout);
    bcasts_until(path, 1);
    for (int i = 0; i < 7; i++)
        alltoall_check(world, i, (size_t)1 << 3 * i);
    printf("rank %d has met all\n", rank);
    fflush(stdout);
    bcasts_until(path, 0);
    printf("rank %d is well\n", rank);
}

/* Seconds a call, in calls of half a second: of the clock, and of this process. */
static void window_measure(double *wall, double *used)
{
    double start, start_cpu;
    int calls = 0, ends = 0;

    check(hx_barrier(world), "hx_barrier");
    start = hx_now_s();
    start_cpu = cpu();
    while (!ends) {
        for (int i = 0; i < 100; i++, calls++)
            check(sum(2), "allreduce");
        ends = rank == 0 && hx_now_s() > start + 0.5;
        check(hx_bcast(&ends, 1, HX_INT32, 0, world), "bcast");
    }
    *wall = (hx_now_s() - start) / calls;
    *used = (cpu() - start_cpu) / calls;
}

/* Another user may write to it. */
static void file_make(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    if (fd < 0 || fchmod(fd, 0666) != 0 || close(fd) != 0)
        exit(3);
}

static void play_measured(const char *path, int n, int crowds)
{
    static double wall[2][1000], used[2][1000];
    struct stat there;

    check(sum(2), "allreduce");
    printf("rank %d pid %d\n", rank, (int)getpid());
    fflush(stdout);
    for (int i = 0; i < 2 * n && i < 2000; i++) {
        if (rank == 0 && i % 2) {
            file_make(path);
            for (double end = hx_now_s() + 20; hx_now_s() < end && stat(path, &there) == 0 && there.st_size < crowds;)
                usleep(10000);
        } else if (rank == 0) {
            unlink(path);
        }
        if (rank == 0)
            usleep(500000); /* until they have all been heard, or have gone */
        window_measure(&wall[i % 2][i / 2], &used[i % 2][i / 2]);
    }
    unlink(path);
    for (int i = 0; i < 2; i++)
        printf("rank %d %s: %.3f us a call, %.3f us of CPU time\n", rank, i ? "with" : "without", median(wall[i], n) * 1e6, median(used[i], n) * 1e6);
    printf("rank %d ratios: %.3f of time, %.3f of CPU time\n", rank, median(wall[1], n) / median(wall[0], n), median(used[1], n) / median(used[0], n));
}

static void play_loop(void)
{
    for (uint64_t i = 0;; i++) {
        check(sum(i % 2 ? 30000 : 1), "allreduce");
        if (i == 4) {
            printf("rank %d pid %d\n", rank, (int)getpid());
            fflush(stdout);
        }
    }
}

static void play_starts(const char *command)
{
    check(sum(1), "allreduce");
    if (rank == 0 && command[0])
        printf("command ended with %d\n", system(command));
    check(sum(1), "allreduce");
    printf("rank %d of %d\n", rank, size);
}

static int open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void play_prints(const char *folder)
{
    char path[256], link[3][256] = {"closed", "closed", "closed"};
    int files;

    for (int i = 0; i < 20; i++) {
        check(sum(i % 2 ? 30000 : 1), "allreduce");
        printf("rank %d prints\n", rank);
        fflush(stdout);
        fprintf(stderr, "rank %d prints an error\n", rank);
    }
    files = open_files();
    for (int fd = 0; fd < 3; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, link[fd], sizeof(link[fd]) - 1);
        if (n > 0)
            link[fd][n] = 0;
    }
    check(hx_finalize(), "hx_finalize");
    world = NULL;
    snprintf(path, sizeof(path), "%s/%d", folder, rank);
    int closed = 0;
    for (int fd = 0; fd < 3; fd++)
        closed |= (fcntl(fd, F_GETFD) < 0) << fd;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dprintf(fd, "%d files, streams %s %s %s, closed %d\n", files, link[0], link[1], link[2], closed);
    _exit(0);
}

static int play_absent(int absent, int late)
{
    double start;
    hx_status_t status;

    check(sum(1), "allreduce");
    if (rank == absent) {
        sleep(30);
        return 1;
    }
    start = hx_now_s();
    if (rank == late)
        usleep(1500000);
    status = sum(1);
    printf("rank %d status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3, hx_error_detail(world));
    start = hx_now_s();
    status = hx_barrier(world);
    printf("rank %d then status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3, hx_error_detail(world));
    start = hx_now_s();
    status = hx_finalize();
    printf("rank %d finalize status %d after %.0f ms\n", rank, status, (hx_now_s() - start) * 1e3);
    fflush(stdout);
    sleep(30); /* the script ends the job when all have said this */
    return 1;
}

static hx_status_t sum_later(int tests)
{
    static int in, out;
    hx_request_t *request;
    hx_status_t status = hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, world, &request);

    if (status != HX_SUCCESS || !tests)
        return status == HX_SUCCESS ? hx_wait(request) : status;
    for (int done = 0; !done;) {
        usleep(1000);
        status = hx_test(request, &done);
    }
    return status;
}

static void play_dies(int dying, const char *how)
{
    hx_comm_t *others = NULL, *all = NULL, *group;
    hx_request_t *request;
    hx_status_t status;
    int one = 1, got = 0, done = 0, list[64];
    double start;

    check(hx_comm_split(world, rank == dying, rank, &others), "hx_comm_split");
    check(hx_comm_dup(world, &all), "hx_comm_dup");
    check(sum(1), "allreduce");
    if (rank == dying) {
        check(hx_ibarrier(all, &request), "hx_ibarrier"); /* for which nobody comes: what it has sent shall arrive before it dies */
        for (start = hx_now_s(); hx_now_s() < start + 0.5; usleep(1000))
            check(hx_test(request, &done), "hx_test");
        raise(SIGKILL);
    }
    start = hx_now_s();
    status = strcmp(how, "blocks") ? sum_later(!strcmp(how, "tests")) : sum(1);
    printf("rank %d status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3, hx_error_detail(world));
    status = hx_allreduce(&one, &got, 1, HX_INT32, HX_SUM, others);
    printf("rank %d others status %d, %d of them\n", rank, status, got);
    for (int i = 0; i < size; i++)
        list[i] = i;
    if (hx_rank(others) == hx_size(others) - 1)
        sleep(1);
    status = hx_comm_group(others, list, hx_size(others), &group);
    printf("rank %d group status %d: %s\n", rank, status, hx_error_detail(others));
    status = hx_finalize();
    printf("rank %d finalize status %d\n", rank, status);
    fflush(stdout);
    sleep(2); /* its end would be another death */
}

static void play_nodes(void)
{
    hx_comm_t *half, *comms[2];
    int one = 1, ranks = 0;

    check(hx_comm_split(world, rank % 2, -rank, &half), "hx_comm_split");
    check(hx_comm_split_node(world, &comms[0]), "hx_comm_split_node");
    check(hx_comm_split_node(half, &comms[1]), "hx_comm_split_node");
    printf("rank %d:", rank);
    for (int i = 0; i < 2; i++) {
        check(hx_allreduce(&one, &ranks, 1, HX_INT32, HX_SUM, comms[i]), "allreduce");
        printf(" %d of %d", hx_rank(comms[i]), ranks);
        check(hx_comm_free(comms[i]), "hx_comm_free");
    }
    printf("\n");
}

/* ---- hx_abort */

static struct abort_call {
    int code;
    const char *text;
} aborting;

static void *aborter_main(void *arg)
{
    usleep(300000); /* the others wait by then */
    printf("rank %d aborts at %.0f ms\n", rank, hx_now_s() * 1e3);
    hx_abort(arg, aborting.code, aborting.text);
}

static void aborting_sum(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    (void)dtype;
    if (ctx)
        aborter_main(NULL);
    for (size_t i = 0; i < count; i++)
        ((int *)result)[i] = ((const int *)left)[i] + ((const int *)right)[i];
}

static void abort_make(const char *how, hx_comm_t *all)
{
    pthread_t thread;

    if (!strcmp(how, "threads")) {
        for (int i = 0; i < 3; i++)
            if (pthread_create(&thread, NULL, aborter_main, world) != 0)
                exit(3);
        printf("rank %d status %d\n", rank, hx_barrier(all)); /* it must not return */
        exit(3);
    }
    if (!strcmp(how, "failed"))
        printf("rank %d wrong call: status %d\n", rank, hx_allreduce(NULL, NULL, 1, HX_INT32, HX_SUM, world));
    aborter_main(!strcmp(how, "tests") ? NULL : world);
}

static void play_aborts(int dying, const char *how)
{
    hx_comm_t *all = world, *comm = world;
    hx_status_t status;
    hx_op_t op = HX_SUM;
    int one = 1, got, folds = !strcmp(how, "folds"), late = !strcmp(how, "late"), killed = late ? (dying + 1) % size : -1;

    if (strcmp(how, "first")) {
        check(hx_comm_dup(world, &all), "hx_comm_dup");
        if (late)
            check(hx_comm_split(world, rank == killed, rank, &comm), "hx_comm_split");
        check(sum(1), "allreduce");
    }
    if (rank == killed)
        raise(SIGKILL);
    if (late)
        printf("rank %d first status %d\n", rank, sum(1));
    if (folds)
        check(hx_op_create(aborting_sum, 1, rank == dying ? world : NULL, &op), "hx_op_create");
    if (rank == dying && !folds)
        abort_make(how, all);
    if (!strcmp(how, "waits") || !strcmp(how, "tests"))
        status = sum_later(!strcmp(how, "tests"));
    else
        while ((status = hx_allreduce(&one, &got, 1, HX_INT32, op, comm)) == HX_SUCCESS)
            ; /* the operation may be in a later call of a rank */
    printf("rank %d status %d at %.0f ms: %s\n", rank, status, hx_now_s() * 1e3, hx_error_detail(comm));
    fflush(stdout);
    exit(1);
}

static void play_finishes(int first, int late)
{
    hx_comm_t *all = NULL;
    hx_status_t status;
    int one = 1, got = 0;
    double start;

    check(hx_comm_dup(world, &all), "hx_comm_dup");
    check(hx_allreduce(&one, &got, 1, HX_INT32, HX_SUM, all), "allreduce");
    if (rank != first) {
        sleep((unsigned)late);
        start = hx_now_s();
        status = hx_allreduce(&one, &got, 1, HX_INT32, HX_SUM, all);
        printf("rank %d status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3, hx_error_detail(all));
    }
    status = hx_finalize();
    printf("rank %d finalize status %d\n", rank, status);
}

/* A child that sleeps for a minute. */
static void child_leave(const char *how)
{
    char *const command[] = {"sleep", "60", NULL};
    pid_t child = -1;

    if (!strcmp(how, "system")) {
        if (system("sleep 60 >&2 & echo child $!") != 0)
            exit(3);
        return;
    }
    if (!strcmp(how, "become")) {
        execlp("sleep", "sleep", "5", NULL);
        exit(3);
    }
    if (!strcmp(how, "spawn")) {
        if (posix_spawnp(&child, command[0], NULL, NULL, command, environ) != 0)
            exit(3);
    } else {
        child = strcmp(how, "clone") ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    }
    if (child < 0)
        exit(3);
    if (child == 0) {
        if (!strcmp(how, "exec"))
            execvp(command[0], command);
        sleep(60);
        _exit(0);
    }
    printf("child %d\n", (int)child);
    fflush(stdout);
}

static int play_vanish(const char *ranks, const char *how, const char *when)
{
    const char *number = getenv("HX_RANK");
    char list[256], mine[32];
    hx_status_t status;
    double start;
    int vanishes;

    snprintf(list, sizeof(list), ",%s,", ranks);
    snprintf(mine, sizeof(mine), ",%s,", number ? number : "");
    vanishes = strstr(list, mine) != NULL;
    if (vanishes && !strcmp(when, "before"))
        child_leave(how);
    check(hx_init(&world), "hx_init");
    rank = hx_rank(world);
    size = hx_size(world);
    if (vanishes && !strcmp(when, "after"))
        child_leave(how);
    for (int i = 0; i < 50; i++, usleep(10000))
        check(sum(i % 2 ? 30000 : 1), "allreduce");
    if (vanishes && !strcmp(when, "late"))
        child_leave(how);
    if (vanishes) {
        raise(SIGKILL);
        _exit(1); /* if it is the first process of a pid namespace, its own signal does not end it */
    }
    start = hx_now_s();
    status = sum(1);
    printf("rank %d status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3, hx_error_detail(world));
    fflush(stdout);
    sleep(2); /* its end would be another death */
    return 0;
}

static void play_lone(void)
{
    const int dies = rank == size - 1;
    hx_comm_t *comm;
    hx_status_t status;
    int one = 1, got = 0;
    double start;

    check(hx_comm_split(world, rank == 0 || dies, rank, &comm), "hx_comm_split");
    check(hx_allreduce(&one, &got, 1, HX_INT32, HX_SUM, comm), "allreduce");
    if (dies) {
        child_leave("clone");
        raise(SIGKILL);
    }
    if (rank == 1)
        sleep(8);
    start = hx_now_s();
    status = hx_allreduce(&one, &got, 1, HX_INT32, HX_SUM, comm);
    if (rank == 0)
        printf("rank %d status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3, hx_error_detail(comm));
    fflush(stdout);
}

/* One dies, one learns of it and ends, and then the last asks. */
static void play_outlived(void)
{
    hx_status_t status;

    check(sum(1), "allreduce");
    if (rank == 1)
        _exit(0);
    sleep(rank == 2 ? 2 : 0);
    status = sum(1);
    printf("rank %d status %d: %s\n", rank, status, hx_error_detail(world));
    fflush(stdout);
    hx_finalize();
}

/* Other calls come every quarter of a second. */
static void play_overdue(const char *how)
{
    enum { LONG = 1 << 20, OTHERS = 10 };
    static int long_in[LONG], long_out[LONG], in[OTHERS], out[OTHERS];
    hx_request_t *request = NULL, *others[OTHERS];
    hx_comm_t *comm = NULL;
    hx_status_t status;
    double start;
    int done = 0;

    check(hx_comm_dup(world, &comm), "hx_comm_dup");
    check(hx_barrier(world), "hx_barrier");
    start = hx_now_s();
    if (rank == 0 && strcmp(how, "blocks"))
        check(hx_ibarrier(world, &request), "hx_ibarrier");
    for (int i = 0; i < OTHERS; i++) {
        if (rank == 1)
            usleep(250000);
        check(hx_iallreduce(&in[i], &out[i], 1, HX_INT32, HX_SUM, comm, &others[i]), "hx_iallreduce");
        if (rank == 1)
            check(hx_wait(others[i]), "hx_wait");
    }
    if (rank == 1)
        return;
    if (!strcmp(how, "blocks"))
        status = hx_allreduce(long_in, long_out, LONG, HX_INT32, HX_SUM, world);
    else if (!strcmp(how, "waits"))
        status = hx_wait(request);
    else
        for (status = HX_SUCCESS; !done; usleep(1000))
            status = hx_test(request, &done);
    printf("status %d after %.0f ms: %s\n", status, (hx_now_s() - start) * 1e3, hx_error_detail(world));
    fflush(stdout);
    check(hx_waitall(OTHERS, others), "hx_waitall");
}

static void first_of_two(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    (void)right;
    (void)dtype;
    (void)ctx;
    memcpy(result, left, count * sizeof(int));
}

static hx_status_t call_other(int i, int other)
{
    static hx_comm_t *comm;
    int in[8] = {0}, out[8], all[64] = {0};
    size_t sent[8], expected[8], places[8];
    hx_status_t status;
    hx_op_t op;

    switch (i) {
    case 0: return hx_allreduce(in, out, other ? 3 : 8, HX_INT32, HX_SUM, world);
    case 1: return hx_allreduce(in, out, 8, HX_INT32, other ? HX_MAX : HX_SUM, world);
    case 2: return hx_allreduce(in, out, 8, other ? HX_FLOAT32 : HX_INT32, HX_SUM, world);
    case 3: return hx_bcast(in, 8, HX_INT32, other, world);
    case 4: return other ? hx_bcast(in, 8, HX_INT32, 0, world) : hx_allreduce(in, out, 8, HX_INT32, HX_SUM, world);
    case 5: return hx_allgather(in, all, other ? 0 : 1, HX_INT32, world);
    case 6: /* commutative here, and not there */
        check(hx_op_create(first_of_two, other, NULL, &op), "hx_op_create");
        status = hx_allreduce(in, out, 8, HX_INT32, op, world);
        check(hx_op_free(op), "hx_op_free");
        return status;
    case 7:
        if (!comm)
            check(hx_comm_dup(world, &comm), "hx_comm_dup");
        return other ? hx_bcast(in, 8, HX_INT32, 0, comm) : hx_barrier(comm);
    case 8: return other ? hx_barrier(world) : hx_reduce(in, out, 8, HX_INT32, HX_SUM, 0, world);
    case 10: /* as many in all */
        for (int r = 0; r < size; r++)
            sent[r] = 2;
        sent[0] -= (size_t)other;
        sent[1] += (size_t)other;
        return hx_reduce_scatter(all, all + 32, sent, HX_INT32, HX_SUM, world);
    default: /* it alone sees that it has none of these */
        for (int r = 0; r < size; r++) {
            sent[r] = expected[r] = 1;
            places[r] = (size_t)(2 * r);
        }
        expected[size - 2] += (size_t)other;
        return hx_alltoallv(all, sent, places, all + 32, expected, places, HX_INT32, world);
    }
}

static int play_differ(void)
{
    int failures = 0;

    for (int i = 0; i < 9; i++)
        for (int turn = 0; turn < 3; turn++) { /* again, once its like has been made */
            hx_status_t want = turn == 1 ? HX_ERR_MISMATCH : HX_SUCCESS, got = call_other(i, turn == 1 && rank == size - 1);
            if (got == want && (got == HX_SUCCESS || strstr(hx_error_detail(world), "ranks make different calls: rank 0 ")))
                continue;
            fprintf(stderr, "actor: rank %d: case %d, turn %d: status %d: %s\n", rank, i, turn, got, hx_error_detail(world));
            failures++;
        }
    if ((rank == size - 1 ? hx_finalize() : hx_barrier(world)) != HX_ERR_MISMATCH) {
        fprintf(stderr, "actor: rank %d: one rank ends alone: %s\n", rank, hx_error_detail(NULL));
        failures++;
    }
    check(hx_finalize(), "hx_finalize");
    return failures > 0;
}

/* Without HX_CHECK: by the time that they have made two more calls, alike, all ranks know. */
static int play_unlike(int i, double stay_s)
{
    hx_status_t status = call_other(i, rank == size - 1);

    for (int more = 0; more < 2 && status == HX_SUCCESS; more++)
        status = call_other(0, 0);
    if (i == 9 ? (status != HX_ERR_ARG || rank < size - 1) && (status != HX_ERR_MISMATCH || !strstr(hx_error_detail(world), " sen"))
               : status != HX_ERR_MISMATCH || !strstr(hx_error_detail(world), "ranks make different calls: ")) {
        fprintf(stderr, "actor: rank %d: case %d: status %d: %s\n", rank, i, status, hx_error_detail(world));
        return 1;
    }
    usleep((useconds_t)(stay_s * 1e6)); /* who waits can ask meanwhile */
    check(hx_finalize(), "hx_finalize");
    return 0;
}

static void play_part(void)
{
    static const int even[] = {0, 2};
    hx_comm_t *part = NULL, *group;
    uint32_t number;

    check(hx_comm_split(world, rank / 2, rank, &part), "hx_comm_split");
    number = part->members.id.number;
    if (rank == 0)
        printf("part status %d\n", hx_barrier(part)); /* for which 1 does not come */
    else
        usleep(800000); /* not to time out with it */
    check(hx_barrier(world), "hx_barrier");
    if (rank != 1)
        check(hx_comm_free(part), "hx_comm_free");
    if (rank % 2 == 0) {
        check(hx_comm_group(world, even, 2, &group), "hx_comm_group");
        if (group->members.id.number == number) {
            fprintf(stderr, "actor: rank %d: a new communicator where another rank is still in one that has failed\n", rank);
            exit(1);
        }
    }
    check(hx_barrier(world), "hx_barrier");
    printf("finalize status %d\n", hx_finalize());
    fflush(stdout);
    if (rank == 0)
        sleep(1); /* its end must not be what the others hear of */
}

/* Of one message, which goes on all the time. */
static void play_slow(void)
{
    enum { COUNT = 16 << 20 };
    int *values = calloc(COUNT, sizeof(int)), done = 0;
    hx_request_t *request;

    if (!values)
        exit(3);
    values[COUNT - 1] = rank == 0;
    check(hx_barrier(world), "hx_barrier");
    check(hx_ibcast(values, COUNT, HX_INT32, 0, world, &request), "hx_ibcast");
    for (int i = 0; rank == 1 && i < 30 && !done; i++) {
        usleep(i % 5 ? 0 : 350000);
        check(hx_test(request, &done), "hx_test");
    }
    if (!done)
        check(hx_wait(request), "hx_wait");
    printf("rank %d: %d, %s\n", rank, values[COUNT - 1], done ? "too soon" : "late");
    free(values);
}

static int play_groups(void)
{
    static const int late[] = {0, 1}, well[] = {0, 2}, busy[] = {1, 2};
    hx_comm_t *group = NULL;
    hx_status_t status;

    for (int i = 0; i < 2 && (rank == 1 || rank == 2); i++) /* they count more calls than the others do */
        check(hx_comm_group(world, busy, 2, &group), "hx_comm_group");
    check(hx_barrier(world), "hx_barrier");
    for (int i = 0; i < 2 && rank == 0; i++) {
        status = hx_comm_group(world, late, 2, &group);
        printf("rank 0 status %d: %s\n", status, hx_error_detail(world));
        fflush(stdout);
    }
    if (rank != 0)
        sleep(3);
    if (rank == 0 || rank == 2) {
        check(hx_comm_group(world, well, 2, &group), "hx_comm_group of those who come");
        check(hx_barrier(group), "its barrier");
    }
    check(hx_barrier(world), "hx_barrier");
    check(hx_finalize(), "hx_finalize");
    return 0;
}

static int play_given_up(int waits)
{
    static int32_t values[4096];
    hx_request_t *request = NULL;
    hx_status_t status;

    check(hx_barrier(world), "hx_barrier");
    if (rank > 0)
        sleep(3);
    for (int i = 0; i < 4096; i++)
        values[i] = rank == 0 ? 7 : 0;
    if (waits)
        check(hx_ibcast(values, 4096, HX_INT32, 0, world, &request), "hx_ibcast");
    status = waits ? hx_wait(request) : hx_bcast(values, 4096, HX_INT32, 0, world);
    for (int i = 0; rank == 0 && i < 4096; i++)
        values[i] = -1;
    printf("rank %d status %d, value %d: %s\n", rank, status, (int)values[0], hx_error_detail(world));
    fflush(stdout);
    if (rank == 0)
        sleep(4); /* till the others have come */
    hx_finalize();
    return 0;
}

static void play_late(int late, double seconds)
{
    double used, waited;

    for (int i = 0; i < 100; i++)
        check(sum(1), "allreduce");
    used = cpu();
    waited = hx_now_s();
    if (rank == late)
        usleep((useconds_t)(seconds * 1e6));
    check(sum(1), "allreduce");
    waited = hx_now_s() - waited;
    printf("rank %d waited %.3f s cpu %.4f s\n", rank, waited, cpu() - used);
}

static void stop(int signal)
{
    (void)signal;
    kill(getpid(), SIGSTOP);
}

static hx_status_t go_astray(const char *how, hx_comm_t *second)
{
    hx_request_t *request = NULL;
    hx_status_t status = HX_SUCCESS;
    int in = 1, out, done = 0;

    if (!strcmp(how, "mixed") || !strcmp(how, "tests"))
        check(hx_iallreduce(&in, &out, 1, HX_INT32, HX_SUM, world, &request), "hx_iallreduce");
    if (!strcmp(how, "mixed"))
        return hx_wait(request);
    for (; !strcmp(how, "tests") && !done; usleep(1000))
        status = hx_test(request, &done);
    if (!strcmp(how, "stops")) {
        signal(SIGALRM, stop);
        ualarm(500000, 0);
    }
    if (!strcmp(how, "skips") || !strcmp(how, "stops"))
        return hx_barrier(second);
    if (!strcmp(how, "root"))
        return hx_bcast(&in, 1, HX_INT32, 1, world);
    if (!strcmp(how, "execs"))
        execlp("sleep", "sleep", "30", (char *)NULL);
    if (!strcmp(how, "computes") || !strcmp(how, "unread"))
        sleep(30);
    return status;
}

static void play_astray(const char *how)
{
    hx_comm_t *second, *third;
    hx_status_t status;
    double start;
    int one = 1;

    check(hx_comm_dup(world, &second), "hx_comm_dup");
    check(hx_comm_dup(world, &third), "hx_comm_dup");
    prctl(PR_SET_NAME, "as (a) tray"); /* /proc tells it, beside numbers */
    check(sum(1), "allreduce");
    start = hx_now_s();
    if (rank == size - 1)
        status = go_astray(how, second);
    else
        status = strcmp(how, "root") ? sum(strcmp(how, "unread") ? 1 : 20000) : hx_bcast(&one, 1, HX_INT32, 0, world);
    if (status == HX_SUCCESS)
        status = hx_barrier(world);
    printf("rank %d status %d after %.0f ms: %s\n", rank, status, (hx_now_s() - start) * 1e3,
           hx_error_detail(!strcmp(how, "skips") && rank == size - 1 ? second : world));
    fflush(stdout);
    if (!strcmp(how, "skips")) {
        sleep(rank == size - 1 ? 4 : 0);
        printf("rank %d then status %d\n", rank, hx_barrier(third));
        fflush(stdout);
    }
    sleep(30); /* the script ends the job when all have said this */
}

static void play_maps(void)
{
    struct hx_net_counters counters = {0};
    char line[512], path[256];
    unsigned long inode, told = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    for (size_t n = 1; n <= 300000; n = n * 7 + 1)
        check(sum(n), "allreduce");
    while (maps && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%*s %*s %*s %*s %lu %255s", &inode, path) == 2 && !strncmp(path, "/memfd:", 7) &&
            inode != told) /* a segment is mapped in parts */
            printf("rank %d node %d memfd %lu %s\n", rank, world->members.shape->node_of[rank], told = inode, path);
    if (maps)
        fclose(maps);
    if (world->world->process.net)
        hx_registry.net->counters(world->world->process.net, &counters);
    printf("rank %d node %d shares with %d: ring %" PRIu64 " messages, network %" PRIu64 " sent %" PRIu64 " received\n", rank,
           world->members.shape->node_of[rank], world->members.local_n, world->engine.ring_messages, counters.messages_sent,
           counters.messages_received);
}

static void play_memory(void)
{
    enum { ELEMENTS = 1 << 18 }; /* 1 MiB, of in and of out */
    char line[256];
    long kib = 0, most;
    FILE *rollup;

    for (size_t n = 1; n <= ELEMENTS; n *= 4)
        check(sum(n), "allreduce");
    check(hx_barrier(world), "hx_barrier");
    rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof(line), rollup))
        sscanf(line, "Pss: %ld", &kib);
    if (rollup)
        fclose(rollup);
    kib -= 2 * ELEMENTS * (long)sizeof(int) / 1024;
    check(hx_allreduce(&kib, &most, 1, HX_INT64, HX_MAX, world), "allreduce");
    if (rank == 0)
        printf("pss %ld KiB\n", most);
}

static void play_choices(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* ranks share the pipe: write whole lines */
    for (int coll = 0; coll < HX_COLL_COUNT; coll++)
        for (uint64_t n = 1; n <= 1 << 22; n *= 8) {
            struct hx_choice choice = {0};
            check(hx_registry.planner->choose(world->members.planner, (enum hx_coll)coll, 0, (struct hx_traits){0}, n, 4, &choice), "choose");
            printf("%d %s %" PRIu64 ": %s slices %" PRIu64 " %" PRIu64 " windows %u %u timeout %g\n", rank, hx_coll_name((enum hx_coll)coll),
                   n, choice.plan->name, choice.fine_slices, choice.coarse_slices, choice.window_fine, choice.window_coarse,
                   world->world->process.env->timeout);
            hx_plan_release(choice.plan);
        }
    for (size_t n = 1; n <= 300000; n = n * 9 + 1)
        check(sum(n), "allreduce");
}

static hx_status_t call_once(const char *name)
{
    float in[2] = {1, 2}, out[2] = {0};
    size_t block = 2 / (size_t)size;

    if (!strcmp(name, "allreduce"))
        return hx_allreduce(in, out, 2, HX_FLOAT32, HX_SUM, world);
    if (!strcmp(name, "reduce_scatter_block"))
        return hx_reduce_scatter_block(in, out, block, HX_FLOAT32, HX_SUM, world);
    if (!strcmp(name, "reduce"))
        return hx_reduce(in, out, 2, HX_FLOAT32, HX_SUM, 0, world);
    if (!strcmp(name, "scatter"))
        return hx_scatter(in, out, block, HX_FLOAT32, 0, world);
    if (!strcmp(name, "barrier"))
        return hx_barrier(world);
    exit(2);
}

/* On one node. A process that has ever had a second thread takes a lock in each call, so Hierax must not start one. */
static int play_calls(const char *name, int n)
{
    if (!__libc_single_threaded) {
        fprintf(stderr, "actor: rank %d: hx_init has started a thread\n", rank);
        return 1;
    }
    for (int i = 0; i < n; i++)
        check(call_once(name), name);
    /* no hx_finalize, whose waiting would be counted */
#ifdef __OPTIMIZE__
    return 0;
#else
    return 77;
#endif
}

static void play_bcasts(size_t bytes, int n, int waits)
{
    size_t count = bytes / sizeof(int);
    int *buf = malloc(bytes);
    hx_request_t *request;

    for (int call = 1; buf && call <= n; call++) {
        for (size_t i = 0; i < count; i++)
            buf[i] = rank == 0 ? call * 1000003 + (int)i : -1;
        if (rank == 1)
            usleep(1000000 / (useconds_t)n);
        check(waits ? hx_ibcast(buf, count, HX_INT32, 0, world, &request) : hx_bcast(buf, count, HX_INT32, 0, world), "bcast");
        if (waits)
            check(hx_wait(request), "hx_wait");
        for (size_t i = 0; i < count; i++)
            if (buf[i] != call * 1000003 + (int)i) {
                fprintf(stderr, "actor: rank %d: bcast %d: number %zu is %d, of call %d number %d\n", rank, call, i, buf[i],
                        buf[i] / 1000003, buf[i] % 1000003);
                exit(1);
            }
    }
    free(buf);
}

static void play_alltoalls(size_t bytes, int n)
{
    for (int call = 0; call < n; call++) {
        hx_comm_t *comm = world;
        if (call > 0)
            check(hx_comm_dup(world, &comm), "hx_comm_dup");
        alltoall_check(comm, call, bytes / sizeof(int));
    }
}

struct attempt { /* one call that fails */
    hx_comm_t *comm;
    hx_request_t *request;
    size_t count;
    int *in, *out;
    hx_status_t status;
};

static int *map_ints(size_t count)
{
    int *memory = mmap(NULL, count * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        exit(3);
    for (size_t i = 0; i < count; i++)
        memory[i] = rank + (int)(i % 1000);
    return memory;
}

static void attempt_begin(struct attempt *a, const char *how)
{
    hx_op_t op = !strcmp(how, "unlike") && rank == size - 1 ? HX_MAX : HX_SUM;

    a->in = map_ints(a->count);
    a->out = map_ints(a->count);
    if (!strcmp(how, "blocks"))
        a->status = hx_allreduce(a->in, a->out, a->count, HX_INT32, op, a->comm);
    else
        a->status = hx_iallreduce(a->in, a->out, a->count, HX_INT32, op, a->comm, &a->request);
}

/* If the call has succeeded, check its numbers. Unmap its memory. */
static void attempt_end(struct attempt *a)
{
    for (size_t i = 0; a->status == HX_SUCCESS && i < a->count; i++)
        if (a->out[i] != size * (size - 1) / 2 + size * (int)(i % 1000)) {
            fprintf(stderr, "actor: rank %d: number %zu of %zu is %d\n", rank, i, a->count, a->out[i]);
            exit(1);
        }
    munmap(a->in, a->count * sizeof(int));
    munmap(a->out, a->count * sizeof(int));
    printf("rank %d %zu bytes status %d: %s\n", rank, a->count * sizeof(int), a->status, hx_error_detail(a->comm));
}

static void failure_write(const char *path)
{
    FILE *file = fopen(path, "a");

    if (!file || fputc('.', file) == EOF || fclose(file) != 0)
        exit(3);
}

static void failures_await(const char *path)
{
    struct stat stat_of;

    for (double end = hx_now_s() + 60; hx_now_s() < end && (stat(path, &stat_of) != 0 || stat_of.st_size < size - 1);)
        usleep(10000);
}

/* If the ranks block or wait, the last rank enters the second call when the others have reported the first. */
static void attempts_await(struct attempt *attempts, int n, const char *how, const char *path)
{
    int tests = strcmp(how, "blocks") && strcmp(how, "waits");

    for (int i = 0, done = 0, ended[8] = {0}; done < n; i = (i + 1) % n, usleep(1000)) {
        struct attempt *a = &attempts[i];
        if (ended[i])
            continue;
        if (!strcmp(how, "blocks"))
            attempt_begin(a, how);
        else if (a->status == HX_SUCCESS && tests)
            a->status = hx_test(a->request, &ended[i]);
        else if (a->status == HX_SUCCESS)
            a->status = hx_wait(a->request);
        if (tests && !ended[i] && a->status == HX_SUCCESS)
            continue;
        attempt_end(a);
        ended[i] = 1;
        if (++done == (tests ? n : 1) && rank < size - 1)
            failure_write(path);
    }
}

static void play_goes_on(const char *path, const char *how, char **bytes, int n)
{
    struct attempt attempts[8] = {{0}};
    int last = rank == size - 1 && strcmp(how, "unlike"), begins = !strcmp(how, "begins");

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < n; i++) {
        check(hx_comm_dup(world, &attempts[i].comm), "hx_comm_dup");
        attempts[i].count = (size_t)atol(bytes[i]) / sizeof(int);
    }
    check(sum(250000), "allreduce");
    world->world->process.env->timeout = 1;
    if (last && !begins)
        failures_await(path);
    for (int i = 0; i < n && strcmp(how, "blocks"); i++)
        attempt_begin(&attempts[i], how);
    if (last && begins)
        failures_await(path);
    attempts_await(attempts, n, how, path);
    world->world->process.env->timeout = 60;
    for (size_t count = 1; count <= 1 << 20; count *= 32)
        check(sum(count), "allreduce");
    printf("rank %d goes on\n", rank);
}

static void play_outlives(int ends)
{
    hx_status_t status;
    int i = 0;

    while ((status = sum(i++ % 2 ? 30000 : 1)) == HX_SUCCESS)
        ;
    printf("rank %d status %d at %.0f ms: %s\n", rank, status, hx_now_s() * 1e3, hx_error_detail(world));
    fflush(stdout);
    if (rank != ends)
        sleep(30);
}

static void play_idle_tests(void)
{
    enum { COUNT = 4 << 20 };
    float *memory = calloc(COUNT, sizeof(*memory));
    hx_request_t *idle, *broadcast;
    int done = 0;

    if (!memory)
        exit(3);
    check(hx_barrier_init(world, &idle), "hx_barrier_init");
    check(hx_ibcast(memory, COUNT, HX_FLOAT32, 0, world, &broadcast), "hx_ibcast");
    for (double end = hx_now_s() + 2; rank == 0 && hx_now_s() < end;)
        check(hx_test(idle, &done), "hx_test of a request that is not under way");
    if (rank == 0) {
        check(hx_test(broadcast, &done), "hx_test");
        printf("rank 0 after 2 s: %s\n", done ? "done" : "under way");
    }
    if (!done)
        check(hx_wait(broadcast), "hx_wait");
    check(hx_request_free(idle), "hx_request_free");
    free(memory);
}

static void play_gives_up(void)
{
    hx_status_t status;
    double start;

    check(hx_barrier(world), "hx_barrier");
    if (rank > 0)
        sleep(30);
    status = sum(4000000);
    start = hx_now_s();
    hx_finalize();
    printf("rank %d status %d, finalized after %.0f ms\n", rank, status, (hx_now_s() - start) * 1e3);
    fflush(stdout);
}

static void play_apart(int seconds)
{
    enum { COUNT = 250000 };
    static int in[COUNT], out[COUNT];
    hx_comm_t *second;
    hx_status_t status;

    check(hx_comm_dup(world, &second), "hx_comm_dup");
    check(hx_barrier(world), "hx_barrier");
    if (rank > 0)
        sleep((unsigned)seconds);
    else if ((status = hx_allreduce(in, out, COUNT, HX_INT32, HX_SUM, second)) != HX_ERR_TIMEOUT) {
        fprintf(stderr, "actor: status %d instead of HX_ERR_TIMEOUT: %s\n", status, hx_error_detail(second));
        exit(1);
    }
    for (int i = 0; i < 3; i++)
        check(sum(COUNT), "allreduce");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (!strcmp(mode, "init"))
        return play_init();
    if (!strcmp(mode, "timed") && argc > 2)
        return play_timed(atoi(argv[2]));
    if (!strcmp(mode, "vanish") && argc > 2)
        return play_vanish(argv[2], argc > 4 ? argv[3] : "", argc > 4 ? argv[4] : "");
    check(hx_init(&world), "hx_init");
    rank = hx_rank(world);
    size = hx_size(world);
    if (!strcmp(mode, "until") && argc > 2)
        play_until(argv[2]);
    else if (!strcmp(mode, "meets") && argc > 2)
        play_meets(argv[2]);
    else if (!strcmp(mode, "measured") && argc > 4)
        play_measured(argv[2], atoi(argv[3]), atoi(argv[4]));
    else if (!strcmp(mode, "loop"))
        play_loop();
    else if (!strcmp(mode, "starts"))
        play_starts(argc > 2 ? argv[2] : "");
    else if (!strcmp(mode, "prints") && argc > 2)
        play_prints(argv[2]);
    else if (!strcmp(mode, "absent") && argc > 2)
        return play_absent(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : -1);
    else if (!strcmp(mode, "dies") && argc > 3) {
        play_dies(atoi(argv[2]), argv[3]);
        return 0;
    } else if (!strcmp(mode, "nodes")) {
        play_nodes();
    } else if (!strcmp(mode, "aborts") && argc > 5) {
        aborting = (struct abort_call){atoi(argv[4]), argv[5][0] ? argv[5] : NULL};
        play_aborts(atoi(argv[2]), argv[3]);
    } else if (!strcmp(mode, "lone")) {
        play_lone();
        return 0;
    } else if (!strcmp(mode, "finishes") && argc > 2) {
        play_finishes(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);
        return 0;
    } else if (!strcmp(mode, "outlived")) {
        play_outlived();
        return 0;
    } else if (!strcmp(mode, "overdue") && argc > 2) {
        play_overdue(argv[2]);
        _exit(0); /* one of them has left the other alone */
    } else if (!strcmp(mode, "differ")) {
        return play_differ();
    } else if (!strcmp(mode, "unlike") && argc > 2) {
        return play_unlike(atoi(argv[2]), argc > 3 ? atof(argv[3]) : 0.5);
    } else if (!strcmp(mode, "part")) {
        play_part();
        return 0;
    } else if (!strcmp(mode, "slow"))
        play_slow();
    else if (!strcmp(mode, "idle_tests"))
        play_idle_tests();
    else if (!strcmp(mode, "groups"))
        return play_groups();
    else if (!strcmp(mode, "given_up"))
        return play_given_up(argc > 2);
    else if (!strcmp(mode, "calls") && argc > 3)
        return play_calls(argv[2], atoi(argv[3]));
    else if (!strcmp(mode, "late") && argc > 3)
        play_late(atoi(argv[2]), atof(argv[3]));
    else if (!strcmp(mode, "bcasts") && argc > 3)
        play_bcasts((size_t)atol(argv[2]), atoi(argv[3]), argc > 4);
    else if (!strcmp(mode, "alltoalls") && argc > 3)
        play_alltoalls((size_t)atol(argv[2]), atoi(argv[3]));
    else if (!strcmp(mode, "goes_on") && argc > 4 && argc <= 12) {
        play_goes_on(argv[2], argv[3], argv + 4, argc - 4);
        hx_finalize(); /* a rank that has given up a call leaves without the others */
        return 0;
    } else if (!strcmp(mode, "apart") && argc > 2) {
        play_apart(atoi(argv[2]));
        hx_finalize(); /* a rank that has given up a call leaves without the others */
        return 0;
    } else if (!strcmp(mode, "outlives") && argc > 2) {
        play_outlives(atoi(argv[2]));
        return 1;
    } else if (!strcmp(mode, "gives_up")) {
        play_gives_up();
        return 1;
    } else if (!strcmp(mode, "astray") && argc > 2) {
        play_astray(argv[2]);
        return 1;
    } else if (!strcmp(mode, "maps"))
        play_maps();
    else if (!strcmp(mode, "memory"))
        play_memory();
    else if (!strcmp(mode, "choices"))
        play_choices();
    else
        return 2;
    check(hx_finalize(), "hx_finalize");
    return 0;
}
