/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of this machine: start its ranks, serve the store, pass signals on, and leave nothing behind. One thread, one poll loop over
 * signals (signalfd), the store and the ranks' output. */
#include "tools/run/coll_run.h"
#include "tools/run/coll_run_elastic.h"
#include "runtime/bootstrap/store.h"
#include "runtime/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_SECONDS 0.05
#define ELASTIC_FDS 8 /* of --elastic: the store and its sessions */
#define OWN_FDS 8 /* signals, the store's two, the guard's pipe; of a rank that starts now, its ends of two pipes; a spare one */

/* A job of this machine. */
struct local {
    struct job job;
    struct ranks ranks;
    struct hx_store *store;
    int port;
    char secret[SECRET_TEXT_BYTES];
    siginfo_t failure; /* of several at once, the likelier cause */
    int failed_rank;
    int first; /* the rank that first_dead has named, or -1 */
    struct elastic elastic;
};

static int open_store(struct local *local)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (secret_find(local->secret) < 0)
        return -1;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) < 0)
        return -1;
    local->port = ntohs(address.sin_port);
    return hx_store_open(fd, local->job.ranks, local->secret, HX_STORE_LAUNCHER, &local->store);
}

/* ---- ending */

/* End the job; the first reason gives the exit status. */
void job_end(struct job *job, int signal_number, int status)
{
    if (!job->ending)
        job->status = status;
    job->ending = 1;
    job->end_at = NEVER;
    job->signal(job, signal_number);
    if (job->kill_at == NEVER)
        job->kill_at = hx_clock_awake() + job->options->kill_after;
}

static void local_signal(struct job *job, int signal_number)
{
    ranks_signal(&((struct local *)job)->ranks, signal_number);
}

static void report_failure(struct job *job, const siginfo_t *info, int rank)
{
    const char *others = job->running > 0 ? "; ending the others" : "";

    if (info->si_code == CLD_EXITED)
        say("rank %d (pid %d) exited with status %d%s", rank, (int)info->si_pid, info->si_status, others);
    else
        say("rank %d (pid %d) was killed by signal %d (%s)%s", rank, (int)info->si_pid, info->si_status,
            strsignal(info->si_status), others);
    job_end(job, SIGTERM, info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status);
}

/* The rank whose connection to the store closed first without a goodbye, or -1. A dying process closes it before it can be waited for; a
 * rank in hx_abort, before it tells the others. */
static int first_dead(const struct local *local)
{
    int aborted, dead;

    hx_store_serve(local->store); /* it may have happened since the store was served */
    hx_store_failure(local->store, &aborted, &dead);
    return dead;
}

/* If several failures are seen at once, a signal is the likelier cause of the others, then the end of the rank first. */
static void ended(void *arg, int rank, const siginfo_t *info)
{
    struct local *local = arg;
    const int failed = info->si_code != CLD_EXITED || info->si_status != 0;

    local->job.running--;
    if (local->job.options->elastic && !local->job.ending) {
        elastic_ended(&local->elastic, rank, info);
        if (rank < local->job.ranks)
            hx_store_rank_ended(local->store, rank); /* others may still wait for it at the start */
        return;
    }
    if (failed && (local->failed_rank < 0 || (local->failure.si_code == CLD_EXITED && (info->si_code != CLD_EXITED || rank == local->first)))) {
        local->failure = *info;
        local->failed_rank = rank;
    }
    if (!failed) /* else the job ends */
        hx_store_rank_ended(local->store, rank);
}

/* Others may have learnt of a death and ended before it can be waited for: give the rank that died first a moment to be seen. */
static void await_dead(const struct local *local, int dead)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    siginfo_t info = {.si_pid = 0};

    for (int i = 0; i < 2000 && dead >= 0 && local->ranks.pids[dead] > 0 && info.si_pid == 0; i++) {
        nanosleep(&millisecond, NULL);
        waitid(P_PID, (id_t)local->ranks.pids[dead], &info, WEXITED | WNOHANG | WNOWAIT);
    }
}

static void local_reap(struct job *job)
{
    struct local *local = (struct local *)job;

    local->failed_rank = -1;
    local->first = first_dead(local);
    ranks_collect(&local->ranks, ended, local);
    if (local->failed_rank >= 0 && !job->ending && local->failure.si_code == CLD_EXITED) {
        local->first = first_dead(local);
        await_dead(local, local->first);
        ranks_collect(&local->ranks, ended, local);
    }
    if (local->failed_rank >= 0 && !job->ending)
        report_failure(job, &local->failure, local->failed_rank);
}

void job_signals(struct job *job, int signal_fd)
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof info) == sizeof info) {
        const int number = (int)info.ssi_signo;

        if (number == SIGCHLD) {
            job->reap(job);
        } else if (number == SIGUSR1 || number == SIGUSR2) {
            job->signal(job, number);
        } else if (number == SIGTSTP) { /* ranks are in groups of their own, which the terminal does not stop */
            job->signal(job, SIGSTOP);
            raise(SIGSTOP);
            job->signal(job, SIGCONT);
        } else {
            say("got signal %d (%s): passing it on to %d ranks", number, strsignal(number), job->running);
            job_end(job, number, 128 + number);
        }
    }
}

static void handle_store(struct local *local)
{
    struct job *job = &local->job;
    int rank, dead;

    hx_store_serve(local->store);
    const char *failure = hx_store_failure(local->store, &rank, &dead);
    if (rank >= 0 && !job->ending) {
        say("%s; ending all ranks", failure);
        job_end(job, SIGTERM, 1);
    }
}

void job_time(struct job *job)
{
    const double now = hx_clock_awake();

    if (now >= job->end_at) {
        say("the job has run for %g s (--timeout): ending it", job->options->timeout);
        job_end(job, SIGTERM, EXIT_TIMEOUT);
    }
    if (now >= job->kill_at) {
        if (job->running > 0)
            say("%d ranks still run %g s later: killing them", job->running, job->options->kill_after);
        job->signal(job, SIGKILL);
        job->given_up = job->running == 0;
        job->kill_at = NEVER;
    }
}

double job_until(const struct job *job)
{
    return job->end_at < job->kill_at ? job->end_at : job->kill_at;
}

/* Start the process of a place. 0, or -1 when the job ends. */
static int place_start(struct local *local, int place, int joins)
{
    struct job *job = &local->job;
    int fds[2];

    if (ranks_start(&local->ranks, place, joins, fds) < 0) {
        say("cannot start rank %d: %m", place);
        job_end(job, SIGTERM, 1);
        return -1;
    }
    job->running++;
    for (int k = 0; k < 2 && local->ranks.piped; k++)
        job->output.streams[2 * place + k].fd = fds[k];
    return 0;
}

/* --elastic: start what is due. If the ranks have ended, processes that still wait have no job to join. */
static void elastic_serve(struct local *local)
{
    struct elastic *elastic = &local->elastic;
    struct job *job = &local->job;
    const char *warning = hx_lobby_serve(elastic->lobby);
    int place;

    if (warning)
        say("%s", warning);
    while (!job->ending && (place = elastic_due(elastic, local->ranks.n)) >= 0) {
        if (local->ranks.piped && (job->output.streams[2 * place].fd >= 0 || job->output.streams[2 * place + 1].fd >= 0))
            elastic->start_at[place] = hx_clock_awake() + OUTPUT_SECONDS; /* of the one that has failed: not yet passed on */
        else
            place_start(local, place, 1);
    }
    const int members = elastic_members(elastic, job->running);
    if (job->ending || (members >= (int)job->options->min && !elastic->well) || (members > 0 && elastic->well))
        return;
    if (!elastic->well)
        say("%d ranks are left, fewer than --min %d; ending the job", members, (int)job->options->min);
    job_end(job, SIGTERM, elastic->well ? elastic->late : elastic->status ? elastic->status : 1);
}

static void watch_job(struct local *local)
{
    struct job *job = &local->job;
    struct pollfd *fds = job->output.fds;
    const int elastic = job->options->elastic;
    int ended_all = 0;

    while (job->running > 0 || (elastic && !job->ending) || (output_goes_on(&job->output) && !job->given_up)) {
        if (job->running == 0 && (!elastic || job->ending) && !ended_all++) { /* the ranks' output is passed on, but no signal and no time-out waits for it */
            output_end(&job->output);
            job->kill_at = job->ending ? hx_clock_awake() + job->options->kill_after : NEVER;
        }
        fds[0] = (struct pollfd){.fd = local->ranks.signal_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = hx_store_fd(local->store), .events = POLLIN};
        fds[2] = (struct pollfd){.fd = elastic ? hx_lobby_fd(local->elastic.lobby) : -1, .events = POLLIN};
        double until = job_until(job);
        if (elastic && !job->ending && elastic_until(&local->elastic, local->ranks.n) < until)
            until = elastic_until(&local->elastic, local->ranks.n);
        if (elastic && hx_lobby_wait_ms(local->elastic.lobby) >= 0 && hx_deadline(1e-3 * hx_lobby_wait_ms(local->elastic.lobby)) < until)
            until = hx_deadline(1e-3 * hx_lobby_wait_ms(local->elastic.lobby));
        const int wait_ms = output_poll(&job->output) ? 0 : until < NEVER ? hx_deadline_ms(until) : -1;
        if (poll(fds, (nfds_t)(OWN_POLLS + job->output.n + OUTLETS), wait_ms) < 0 && errno != EINTR)
            break;
        handle_store(local);
        output_pass(&job->output);
        if (job->output.unread && !job->ending && local->ranks.old_pipe != SIG_IGN)
            job_end(job, SIGTERM, 128 + SIGPIPE);
        job_signals(job, local->ranks.signal_fd);
        if (elastic)
            elastic_serve(local); /* last: a process may have ended */
        job_time(job);
    }
}

static int run(struct local *local)
{
    struct job *job = &local->job;
    char root[32];
    int status;

    if ((status = ranks_open(&local->ranks)) != 0)
        return status;
    if (open_store(local) < 0 || (job->options->elastic && elastic_open(&local->elastic, job->options, local->secret) < 0)) {
        say("cannot set up the job's store: %m");
        return 1;
    }
    snprintf(root, sizeof root, "127.0.0.1:%d", local->port);
    ranks_environment(&local->ranks, root, local->secret);
    if (job->options->timeout > 0)
        job->end_at = hx_clock_awake() + job->options->timeout;
    for (int i = 0; i < job->ranks && !job->ending; i++)
        if (place_start(local, i, 0) < 0)
            break;
    watch_job(local);
    return job->status == 0 && job->output.lost ? 1 : job->status;
}

int job_run(const struct options *options)
{
    const int ranks = (int)options->ranks, places = options->elastic ? (int)options->max : ranks;
    struct local local = {
        .job = {.options = options, .ranks = ranks, .kill_at = NEVER, .end_at = NEVER, .signal = local_signal, .reap = local_reap},
        /* a group of its own cannot read the terminal: input comes from a file or pipe */
        .ranks = {.options = options, .n = places, .size = ranks, .piped = options->prefix,
                  .own_files = OWN_FDS + (options->elastic ? ELASTIC_FDS + places : 0),
                  .input = isatty(STDIN_FILENO) ? -1 : STDIN_FILENO},
    };

    if (output_open(&local.job.output, options->prefix ? places : 0)) {
        say("no memory for %d ranks", ranks);
        return 1;
    }
    local.job.output.prefix = 1;
    const int status = run(&local);
    ranks_close(&local.ranks);
    if (local.store)
        hx_store_close(local.store);
    elastic_close(&local.elastic);
    free(local.job.output.streams);
    free(local.job.output.fds);
    return status;
}
