/* SPDX-License-Identifier: BSD-3-Clause */
/* The job: start every rank in a process group of its own, serve the store, pass signals on, and leave nothing
 * behind. One thread, one poll loop over signals (signalfd), the store and the ranks' output. */
#include "tools/run/coll_run.h"
#include "runtime/bootstrap/store.h"
#include "runtime/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The settings that environment_set and child_main, below, set. */
const char *const coll_run_own_settings[] = {"HX_ROOT", "HX_RANK", "HX_SIZE", "HX_SECRET", "HX_LAUNCHER", "HX_BOOTSTRAP", NULL};

#define NEVER 1e300
#define SECRET_BYTES 32
#define OWN_FDS 8         /* signals, the store's two, the guard's pipe; of a rank that starts now, its ends of two pipes; a spare one */
#define STRANGERS_FDS 64  /* and two for each rank: connections to the store of others than ranks */
#define INHERITED_MAX 256 /* descriptors that are looked at */

struct job {
    const struct options *options;
    int ranks;
    pid_t *pids; /* of the ranks; 0: not running */
    struct output output;
    int running;
    int status;     /* exit status so far */
    int ending;     /* signals have been sent to all ranks */
    double kill_at; /* SIGKILL for who is left; NEVER: not planned */
    double end_at;  /* --timeout */
    int given_up;   /* no rank runs, and what they have said is not taken */
    int signal_fd;
    sigset_t old_mask;
    void (*old_pipe)(int); /* the handler of SIGPIPE before */
    struct rlimit old_files;
    struct hx_store *store;
    int port;
    char secret[2 * SECRET_BYTES + 1];
    struct cores cores; /* count 0: do not bind */
};

/* ---- setting up */

/* The number of descriptors that coll_run has inherited. */
static int open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < INHERITED_MAX; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Raise the soft limit to what the job needs; further, if the hard limit allows it, since strangers that connect to the store use
 * descriptors too. */
static int raise_file_limit(struct job *job)
{
    const int ranks = job->ranks, inherited = open_files();
    const rlim_t needed = (rlim_t)(ranks * (job->options->prefix ? 3 : 1) + OWN_FDS + inherited);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &job->old_files) < 0)
        return -1;
    limit = job->old_files;
    if (limit.rlim_max < needed) {
        say("-n %d%s needs %llu open files, but the hard limit is %llu (ulimit -Hn). %d are open already, coll_run itself needs "
            "%d, and each rank %d",
            ranks, job->options->prefix ? " --prefix" : "", (unsigned long long)needed, (unsigned long long)limit.rlim_max, inherited, OWN_FDS,
            job->options->prefix ? 3 : 1);
        return -1;
    }
    const rlim_t wanted = needed + (rlim_t)(2 * ranks + STRANGERS_FDS);
    if (limit.rlim_cur < wanted)
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_signals(struct job *job)
{
    static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    struct sigaction action;
    sigset_t set;

    signal(SIGCHLD, SIG_DFL); /* ignored by a parent, it would take the exit statuses away */
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        if (sigaction(watched[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) /* nohup: also where it is blocked */
            sigaddset(&set, watched[i]);
    sigprocmask(SIG_BLOCK, &set, &job->old_mask);
    job->old_pipe = signal(SIGPIPE, SIG_IGN);
    job->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return job->signal_fd < 0 ? -1 : 0;
}

static int open_store(struct job *job)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    unsigned char random[SECRET_BYTES];
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -1;
    for (int i = 0; i < SECRET_BYTES; i++)
        snprintf(job->secret + 2 * i, 3, "%02x", random[i]);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) < 0)
        return -1;
    job->port = ntohs(address.sin_port);
    return hx_store_open(fd, job->ranks, job->secret, HX_STORE_LAUNCHER, &job->store);
}

/* ---- starting */

static void number_set(const char *name, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    setenv(name, text, 1);
}

/* Set the environment of all ranks; HX_RANK is each rank's own. */
static void environment_set(const struct job *job)
{
    char root[32];

    if (job->options->nodes)
        setenv("HX_NODES", job->options->nodes, 1);
    snprintf(root, sizeof root, "127.0.0.1:%d", job->port);
    setenv("HX_ROOT", root, 1);
    number_set("HX_SIZE", job->ranks);
    setenv("HX_SECRET", job->secret, 1);
    setenv("HX_BOOTSTRAP", "auto", 1);
    number_set("HX_LAUNCHER", (int)getpid());
    setenv("IPATH_NO_BACKTRACE", "1", 0); /* a library of libfabric's would catch signals while it is loaded */
}

static void child_main(const struct job *job, int rank, pid_t parent, const int out_fds[2])
{
    setpgid(0, 0);
    guard_tell(getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_CANNOT_RUN); /* coll_run died before prctl */
    /* a group of its own cannot read the terminal, and one input cannot go to many: only rank 0 gets one, from a file or pipe */
    const int null_fd = rank > 0 || isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (null_fd >= 0)
        dup2(null_fd, STDIN_FILENO);
    for (int i = 0; i < 2; i++)
        if (out_fds[i] >= 0)
            dup2(out_fds[i], STDOUT_FILENO + i);
    cores_bind_self(&job->cores, rank, job->ranks);
    number_set("HX_RANK", rank);
    setrlimit(RLIMIT_NOFILE, &job->old_files);
    signal(SIGPIPE, job->old_pipe);
    sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
    execvp(job->options->program[0], job->options->program);
    say("rank %d cannot run program \"%s\": %m", rank, job->options->program[0]);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static int start_rank(struct job *job, int idx)
{
    const pid_t parent = getpid();
    int out_fds[2] = {-1, -1};

    for (int i = 0; i < 2 && job->options->prefix; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
            return -1;
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        job->output.streams[2 * idx + i].fd = ends[0];
        out_fds[i] = ends[1];
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        child_main(job, idx, parent, out_fds);
    for (int i = 0; i < 2; i++)
        if (out_fds[i] >= 0)
            close(out_fds[i]);
    if (pid < 0)
        return -1;
    setpgid(pid, pid); /* also here, so that a signal sent at once finds the group */
    job->pids[idx] = pid;
    job->running++;
    return 0;
}

/* ---- ending */

static void signal_all(const struct job *job, int signal_number)
{
    for (int i = 0; i < job->ranks; i++)
        if (job->pids[i] > 0)
            kill(-job->pids[i], signal_number);
}

/* End the job; the first reason gives the exit status. */
static void end_job(struct job *job, int signal_number, int status)
{
    if (!job->ending)
        job->status = status;
    job->ending = 1;
    job->end_at = NEVER;
    signal_all(job, signal_number);
    if (job->kill_at == NEVER)
        job->kill_at = hx_clock_awake() + job->options->kill_after;
}

static void report_failure(struct job *job, const siginfo_t *info, int rank)
{
    const char *others = job->running > 0 ? "; ending the others" : "";

    if (info->si_code == CLD_EXITED)
        say("rank %d (pid %d) exited with status %d%s", rank, (int)info->si_pid, info->si_status, others);
    else
        say("rank %d (pid %d) was killed by signal %d (%s)%s", rank, (int)info->si_pid, info->si_status,
            strsignal(info->si_status), others);
    end_job(job, SIGTERM, info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status);
}

/* Collect the ranks that have ended. If several failures are seen at once, a signal is the likelier cause of the others. */
static void collect(struct job *job, siginfo_t *failure, int *failed_rank)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            break;
        for (int i = 0; i < job->ranks; i++) {
            if (job->pids[i] != info.si_pid)
                continue;
            const int failed = info.si_code != CLD_EXITED || info.si_status != 0;
            if (failed && (*failed_rank < 0 || (failure->si_code == CLD_EXITED && info.si_code != CLD_EXITED))) {
                *failure = info;
                *failed_rank = i;
            }
            kill(-info.si_pid, SIGKILL); /* processes that it left behind; its id is not free for others before waitpid */
            guard_tell(-info.si_pid);
            job->pids[i] = 0;
            job->running--;
            if (!failed) /* else the job ends */
                hx_store_rank_ended(job->store, i);
        }
        waitpid(info.si_pid, NULL, 0);
    }
}

/* A dying process closes its connection to the store before it can be waited for. Others may have learnt of it and
 * ended by then: give the one that died first a moment to be seen. */
static void await_dead(const struct job *job)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    siginfo_t info = {.si_pid = 0};
    int aborted, dead;

    hx_store_serve(job->store); /* it may have happened since the store was served */
    hx_store_failure(job->store, &aborted, &dead);
    for (int i = 0; i < 1000 && dead >= 0 && job->pids[dead] > 0 && info.si_pid == 0; i++) {
        nanosleep(&millisecond, NULL);
        waitid(P_PID, (id_t)job->pids[dead], &info, WEXITED | WNOHANG | WNOWAIT);
    }
}

static void reap(struct job *job)
{
    siginfo_t failure = {.si_pid = 0};
    int failed_rank = -1;

    collect(job, &failure, &failed_rank);
    if (failed_rank >= 0 && !job->ending && failure.si_code == CLD_EXITED) {
        await_dead(job);
        collect(job, &failure, &failed_rank);
    }
    if (failed_rank >= 0 && !job->ending)
        report_failure(job, &failure, failed_rank);
}

static void handle_signals(struct job *job)
{
    struct signalfd_siginfo info;

    while (read(job->signal_fd, &info, sizeof info) == sizeof info) {
        const int number = (int)info.ssi_signo;

        if (number == SIGCHLD) {
            reap(job);
        } else if (number == SIGUSR1 || number == SIGUSR2) {
            signal_all(job, number);
        } else if (number == SIGTSTP) { /* ranks are in groups of their own, which the terminal does not stop */
            signal_all(job, SIGSTOP);
            raise(SIGSTOP);
            signal_all(job, SIGCONT);
        } else {
            say("got signal %d (%s): passing it on to %d ranks", number, strsignal(number), job->running);
            end_job(job, number, 128 + number);
        }
    }
}

static void handle_store(struct job *job)
{
    int rank, dead;

    hx_store_serve(job->store);
    const char *failure = hx_store_failure(job->store, &rank, &dead);
    if (rank >= 0 && !job->ending) {
        say("%s; ending all ranks", failure);
        end_job(job, SIGTERM, 1);
    }
}

static void handle_time(struct job *job)
{
    const double now = hx_clock_awake();

    if (now >= job->end_at) {
        say("the job has run for %g s (--timeout): ending it", job->options->timeout);
        end_job(job, SIGTERM, EXIT_TIMEOUT);
    }
    if (now >= job->kill_at) {
        if (job->running > 0)
            say("%d ranks still run %g s later: killing them", job->running, job->options->kill_after);
        signal_all(job, SIGKILL);
        job->given_up = job->running == 0;
        job->kill_at = NEVER;
    }
}

static void watch_job(struct job *job)
{
    struct pollfd *fds = job->output.fds;
    int ended = 0;

    while (job->running > 0 || (output_goes_on(&job->output) && !job->given_up)) {
        if (job->running == 0 && !ended++) { /* the ranks' output is passed on, but no signal and no time-out waits for it */
            output_end(&job->output);
            job->kill_at = job->ending ? hx_clock_awake() + job->options->kill_after : NEVER;
        }
        fds[0] = (struct pollfd){.fd = job->signal_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = hx_store_fd(job->store), .events = POLLIN};
        const double until = job->end_at < job->kill_at ? job->end_at : job->kill_at;
        const int wait_ms = output_poll(&job->output) ? 0 : until < NEVER ? hx_deadline_ms(until) : -1;
        if (poll(fds, (nfds_t)(OWN_POLLS + job->output.n + OUTLETS), wait_ms) < 0 && errno != EINTR)
            break;
        handle_store(job);
        output_pass(&job->output);
        if (job->output.unread && !job->ending && job->old_pipe != SIG_IGN)
            end_job(job, SIGTERM, 128 + SIGPIPE);
        handle_signals(job);
        handle_time(job);
    }
}

static int run(struct job *job)
{
    if (raise_file_limit(job) < 0 || (job->options->bind != BIND_NONE && cores_find(job->options, &job->cores) < 0))
        return EXIT_USAGE;
    if (open_signals(job) < 0 || guard_start(job->pids, job->ranks) < 0 || open_store(job) < 0) {
        say("cannot set up the job's store: %m");
        return 1;
    }
    environment_set(job);
    if (job->options->timeout > 0)
        job->end_at = hx_clock_awake() + job->options->timeout;
    for (int i = 0; i < job->ranks && !job->ending; i++)
        if (start_rank(job, i) < 0) {
            say("cannot start rank %d: %m", i);
            end_job(job, SIGTERM, 1);
        }
    watch_job(job);
    return job->status == 0 && job->output.lost ? 1 : job->status;
}

int job_run(const struct options *options)
{
    struct job job = {.options = options, .ranks = (int)options->ranks, .signal_fd = -1, .kill_at = NEVER, .end_at = NEVER};

    job.pids = calloc((size_t)job.ranks, sizeof *job.pids);
    if (!job.pids || output_open(&job.output, options->prefix ? job.ranks : 0)) {
        say("no memory for %d ranks", job.ranks);
        return 1;
    }
    const int status = run(&job);
    guard_stop();
    if (job.store)
        hx_store_close(job.store);
    free(job.cores.number_of);
    free(job.output.streams);
    free(job.output.fds);
    free(job.pids);
    return status;
}
