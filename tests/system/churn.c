/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of a job in which processes die and join all the time, for churn.py. usage:
 *
 * churn start DIRECTORY       a rank of the start; its number is its rank
 * churn join DIRECTORY ID     one that joins; ID: a number that no other process has
 * churn alone FILE...         compute the state of each file from its log, in one process
 *
 * In DIRECTORY/orders churn.py writes the phase in which this process dies and how long after its beginning, and when all processes end.
 * DIRECTORY/reports is a pipe: each line says what a process does, and when.
 *
 * The job is a loop of training: in each step all members start several all-reduces of integers and floats, wait, and change the state.
 * Then they compare hashes. After a death the others go on without the dead. Every few steps they let in processes that wait.
 */
#include "tests/system/churn_state.h"
#include <fcntl.h>
#include <hierax.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define EVERY 3           /* steps from one vote, or from a change of members, to the next vote */
#define NAP_NS 18000000   /* four in each step */
#define ORDERS 65536

enum phase { NO_PHASE, COMPUTE, REDUCE, COMPARE, AGREE, SHRINK, GROW, SYNC, JOIN };
static const char *const phase_names[] = {"none", "compute", "reduce", "compare", "agree", "shrink", "grow", "sync", "join"};

struct orders { /* of churn.py */
    volatile int32_t stop, unused;
    struct {
        volatile int32_t phase, delay_us;
    } of[ORDERS];
};

static int id, reports_fd;
static const struct orders *orders;
static struct churn_state state, received;
static int is_new;                      /* this process has no state yet */
static hx_comm_t *world, *comm, *node;  /* the newest world; of the members; those of this node */
static hx_comm_t *left[64];             /* that other members may still be in */
static int lefts, members[CHURN_RANKS], size, stopped;
static int since;                       /* steps since these are the members */

#define CHECK(condition) check(!!(condition), #condition, __LINE__)
#define OK(call) CHECK(went_on(call) == HX_SUCCESS)

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    char line[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
    line[n++] = '\n';
    if (write(reports_fd, line, (size_t)n) != n)
        _exit(3);
}

static void check(int right, const char *what, int line)
{
    if (right)
        return;
    say("E %d line %d: not true: %s; step %llu; %.200s; %.100s", id, line, what, (unsigned long long)state.steps, hx_error_detail(NULL),
        comm ? hx_error_detail(comm) : "");
    pause(); /* churn.py ends all, after it has looked */
}

/* Returns the status. A process that churn.py has cut off from the others ends here, because it may not go on. */
static hx_status_t went_on(hx_status_t status)
{
    if (status != HX_ERR_MINORITY)
        return status;
    say("L %d %lld", id, (long long)now_us());
    _exit(0);
}

/* ---- deaths ---------------------------------------------------------------------------------------------------- */

static void die(int sig)
{
    char line[32] = "D ", digits[24];
    int64_t numbers[2] = {id, now_us()};
    size_t at = 2;

    (void)sig;
    for (int k = 0; k < 2; k++) {
        int n = 0;
        do
            digits[n++] = (char)('0' + numbers[k] % 10);
        while ((numbers[k] /= 10) > 0);
        while (n > 0)
            line[at++] = digits[--n];
        line[at++] = k ? '\n' : ' ';
    }
    if (write(reports_fd, line, at) != (ssize_t)at)
        _exit(3);
    kill(getpid(), SIGKILL);
}

static void enter(enum phase phase)
{
    struct itimerval timer = {{0, 0}, {0, 0}};

    say("P %d %s %lld", id, phase_names[phase], (long long)now_us());
    if (orders->of[id].phase != (int32_t)phase)
        return;
    timer.it_value.tv_sec = orders->of[id].delay_us / 1000000;
    timer.it_value.tv_usec = orders->of[id].delay_us % 1000000 + 1;
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Has a call failed because of another process? Every other failure is a fault. */
static int is_failure(hx_status_t status)
{
    went_on(status);
    CHECK(status == HX_SUCCESS || status == HX_ERR_PEER_DEAD || status == HX_ERR_REVOKED);
    return status != HX_SUCCESS;
}

/* ---- from one communicator to the next ------------------------------------------------------------------------- */

static void node_free(void)
{
    if (node)
        OK(hx_comm_free(node));
    node = NULL;
}

static void leave_later(hx_comm_t *which)
{
    CHECK(lefts < 64);
    left[lefts++] = which;
}

/* Leave comm for bigger, if all that live have it, else for a communicator of those that live. */
static void leave(hx_comm_t *bigger)
{
    hx_comm_t *from = comm;
    int have = bigger != NULL;

    node_free();
    if (!bigger)
        OK(hx_comm_revoke(from));
    enter(AGREE);
    OK(hx_comm_agree(from, &have, NULL));
    if (bigger && !have) {
        OK(hx_comm_revoke(bigger)); /* those that have joined wait again */
        OK(hx_comm_free(bigger));
    }
    if (!have) {
        enter(SHRINK);
        OK(hx_comm_shrink(from, &comm));
    }
    if (from != world)
        leave_later(from);
    if (have) {
        leave_later(world);
        comm = world = bigger;
    }
}

static void rejoin(void)
{
    CHECK(is_new);
    lefts = 0;
    comm = NULL;
    if (world)
        OK(hx_finalize());
    enter(JOIN);
    OK(hx_join(NULL, &world));
    comm = world;
}

/* All members are in comm, and in no other any more. */
static void lefts_free(void)
{
    for (int i = 0; i < lefts; i++) {
        OK(hx_comm_revoke(left[i]));
        OK(hx_comm_free(left[i]));
    }
    lefts = 0;
}

static hx_status_t state_sync(struct churn_state *which, hx_state_mode_t mode, hx_state_report_t *report)
{
    const hx_state_entry_t entries[] = {{"steps", &which->steps, sizeof(which->steps)},
                                        {"one", which->weights.one, sizeof(which->weights.one)},
                                        {"some", which->weights.some, sizeof(which->weights.some)},
                                        {"many", which->weights.many, sizeof(which->weights.many)},
                                        {"exact", which->weights.exact, sizeof(which->weights.exact)},
                                        {"inexact", which->weights.inexact, sizeof(which->weights.inexact)},
                                        {"changes", &which->changes, sizeof(which->changes)},
                                        {"log", which->log, sizeof(which->log)}};

    return hx_state_sync(comm, entries, sizeof(entries) / sizeof(entries[0]), which->steps, mode, report);
}

/* Those that have not made the last step receive it into another place: the one that sends it may die. */
static hx_status_t state_receive(void)
{
    hx_state_report_t report;
    hx_status_t status;

    memcpy(&received, &state, sizeof(state));
    if ((status = state_sync(&received, HX_STATE_RECEIVE_ONLY, &report)) != HX_SUCCESS)
        return status;
    memcpy(&state, &received, sizeof(state));
    CHECK(report.revision == state.steps);
    is_new = 0;
    return HX_SUCCESS;
}

static hx_status_t state_give(void)
{
    hx_state_report_t report;
    hx_status_t status = state_sync(&state, HX_STATE_MAJORITY, &report);

    CHECK(status != HX_SUCCESS || (!report.entries_received && report.revision == state.steps));
    return status;
}

/* The members of comm: who, on which nodes, and with one state. */
static hx_status_t meet(void)
{
    int64_t mine, latest;
    hx_status_t status;

    for (;;) {
        mine = is_new ? -1 : (int64_t)state.steps;
        enter(SYNC);
        if ((status = hx_allreduce(&mine, &latest, 1, HX_INT64, HX_MAX, comm)) != HX_SUCCESS)
            return status;
        if (latest >= 0)
            break;
        rejoin(); /* the members could not start the larger world */
    }
    size = hx_size(comm);
    CHECK(size <= CHURN_RANKS);
    if ((status = hx_allgather(&id, members, 1, HX_INT32, comm)) != HX_SUCCESS ||
        (status = mine == latest ? state_give() : state_receive()) != HX_SUCCESS || (status = hx_comm_split_node(comm, &node)) != HX_SUCCESS)
        return status;
    lefts_free();
    since = 0;
    say("M %d %d %d %d %lld", id, hx_rank(comm), size, hx_rank(node) == 0, (long long)now_us());
    return HX_SUCCESS;
}

static void go_on(hx_comm_t *bigger)
{
    leave(bigger);
    while (is_failure(meet()))
        leave(NULL);
}

/* Let in processes that wait. Returns 1 if comm has changed. */
static int grow(void)
{
    const int64_t start = now_us();
    hx_comm_t *bigger;
    hx_status_t status;

    enter(GROW);
    if (is_failure(status = hx_comm_grow(comm, CHURN_RANKS - size, 0, &bigger))) {
        go_on(NULL);
        return 1;
    }
    if (!bigger)
        return 0;
    say("G %d %d %d %lld", id, size, hx_size(bigger), (long long)(now_us() - start));
    go_on(bigger);
    return 1;
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

/* Several all-reduces at once. */
static hx_status_t sums_make(const struct churn_vectors *mine, struct churn_vectors *sums)
{
    hx_request_t *requests[CHURN_PARTS] = {NULL};
    const struct {
        const void *in;
        void *out;
        size_t bytes, each;
        hx_dtype_t dtype;
    } parts[CHURN_PARTS] = {{mine->one, sums->one, sizeof(mine->one), 8, HX_UINT64}, {mine->some, sums->some, sizeof(mine->some), 8, HX_UINT64},
                            {mine->many, sums->many, sizeof(mine->many), 8, HX_UINT64},
                            {mine->exact, sums->exact, sizeof(mine->exact), 8, HX_FLOAT64},
                            {mine->inexact, sums->inexact, sizeof(mine->inexact), 4, HX_FLOAT32}};
    hx_status_t status = HX_SUCCESS, one;
    int done;

    enter(REDUCE);
    for (int i = 0; i < CHURN_PARTS && status == HX_SUCCESS; i++)
        status = hx_iallreduce(parts[i].in, parts[i].out, parts[i].bytes / parts[i].each, parts[i].dtype, HX_SUM, comm, &requests[i]);
    for (int i = 0; i < 2 && status == HX_SUCCESS; i++) { /* the program computes meanwhile */
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        status = hx_testall(CHURN_PARTS, requests, &done);
    }
    one = hx_waitall(CHURN_PARTS, requests);
    return status == HX_SUCCESS ? one : status;
}

static hx_status_t step(void)
{
    static struct churn_vectors mine, sums, expected;
    uint64_t same[3], all[3];
    hx_status_t status;

    enter(COMPUTE);
    churn_contribute(&state, id, &mine);
    nanosleep(&(struct timespec){.tv_nsec = 2 * NAP_NS}, NULL);
    if ((status = sums_make(&mine, &sums)) != HX_SUCCESS)
        return status;
    churn_sum(&state, members, size, &expected);
    CHECK(churn_is_near(&sums, &expected));
    CHECK(churn_step(&state, &sums, members, size));
    since++;
    enter(COMPARE);
    same[0] = churn_hash(&state);
    same[1] = ~same[0];
    same[2] = (uint64_t)orders->stop;
    if ((status = hx_allreduce(same, all, 3, HX_UINT64, HX_MAX, comm)) != HX_SUCCESS)
        return status;
    CHECK(all[0] == same[0] && all[1] == same[1]);
    say("S %d %llu %lld", id, (unsigned long long)state.steps, (long long)now_us());
    stopped = all[2] != 0;
    return state.steps % 5 == 0 ? state_give() : HX_SUCCESS;
}

static void state_write(const char *directory)
{
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s/state.%d", directory, id);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, &state, sizeof(state)) == (ssize_t)sizeof(state) && close(fd) == 0);
}

static int alone(char **paths, int n)
{
    for (int i = 0; i < n; i++) {
        int fd = open(paths[i], O_RDONLY);
        if (fd < 0 || read(fd, &received, sizeof(received)) != (ssize_t)sizeof(received) || close(fd) < 0) {
            fprintf(stderr, "churn: cannot read %s\n", paths[i]);
            return 1;
        }
        if (i == 0)
            memcpy(&state, &received, sizeof(state));
        else if (memcmp(&state, &received, sizeof(state)) != 0) {
            fprintf(stderr, "churn: %s and %s are not equal\n", paths[i], paths[0]);
            return 1;
        }
    }
    printf("%llu steps, %llu memberships\n", (unsigned long long)state.steps, (unsigned long long)state.changes);
    return !churn_replay(&state);
}

static void live(int joins, const char *directory)
{
    signal(SIGALRM, die);
    is_new = joins;
    if (joins)
        rejoin();
    else
        OK(hx_init(&world));
    comm = world;
    if (is_failure(meet()))
        go_on(NULL);
    while (!stopped)
        if (!(since && since % EVERY == 0 && size < CHURN_RANKS && grow()) && is_failure(step()))
            go_on(NULL);
    OK(hx_barrier(comm));
    state_write(directory);
    node_free();
    OK(hx_finalize());
    say("W %d %lld", id, (long long)now_us());
}

static int path_open(const char *directory, const char *name, int flags)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return open(path, flags | O_CLOEXEC);
}

static int number_of(int argc, char **argv)
{
    const char *text = argc == 4 ? argv[3] : getenv("HX_RANK") ? getenv("HX_RANK") : getenv("SLURM_PROCID");

    return text ? atoi(text) : -1;
}

int main(int argc, char **argv)
{
    struct utsname host;
    int fd;

    if (argc >= 3 && !strcmp(argv[1], "alone"))
        return alone(argv + 2, argc - 2);
    if (argc != 3 && argc != 4)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    id = number_of(argc, argv);
    fd = path_open(argv[2], "orders", O_RDONLY);
    reports_fd = path_open(argv[2], "reports", O_WRONLY);
    orders = mmap(NULL, sizeof(*orders), PROT_READ, MAP_SHARED, fd, 0);
    if (orders == MAP_FAILED || reports_fd < 0 || id < 0 || id >= ORDERS || uname(&host) != 0)
        return 2;
    say("B %d %d %s %lld", id, (int)getpid(), host.nodename, (long long)now_us());
    live(!strcmp(argv[1], "join"), argv[2]);
    return 0;
}
