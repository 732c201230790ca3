/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job on the hosts of --hosts: an agent (ssh) starts a keeper on each.
 *
 *   coll_run --- agent --- keeper of host 1 (store) --- ranks        what they tell each other: coll_run.h, enum frame_kind
 *            \-- agent --- keeper of host 2 ----------- ranks
 *
 * The secret and the rest of the job go to the keepers' standard input, so that no command line shows them. When the store listens, the
 * other keepers look for an address at which they reach it. Then all start their ranks. This process decides how the job ends.
 */
#include "tools/run/coll_run_hosts.h"
#include "runtime/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INPUT_BYTES 16384
#define FDS_PER_HOST 4
#define OWN_FDS 16
#define CAUSE_SECONDS 0.3 /* a rank's failure is reported so late: another rank, on another host, may be its cause */
#define DEAD_SECONDS 2.0  /* the same, if the store has lost another rank: hx_abort takes 2 s at most */

static void send_all(struct front *front, enum frame_kind kind, int rank, const void *value, size_t bytes)
{
    for (int i = 0; i < front->n_hosts; i++)
        if (front->hosts[i].channel.out >= 0)
            channel_send(&front->hosts[i].channel, kind, rank, value, bytes);
}

static void front_signal(struct job *job, int signal_number)
{
    send_all((struct front *)job, FRAME_SIGNAL, signal_number, NULL, 0);
}

static void front_reap(struct job *job)
{
    agents_reap((struct front *)job);
}

/* ---- frames from keepers */

static struct host *host_of(struct front *front, int rank)
{
    int i = 0;

    while (i < front->n_hosts - 1 && rank >= front->hosts[i + 1].first)
        i++;
    return &front->hosts[i];
}

/* The rank that most likely made the other ranks fail: the rank that the store lost first, else a rank that a signal killed, else the first
 * rank that failed. */
static int failed_rank(const struct front *front)
{
    const int dead = front->job.dead_rank;

    if (dead >= 0 && front->ends[dead].code)
        return dead;
    for (int rank = 0; rank < front->job.ranks; rank++)
        if (front->ends[rank].code && front->ends[rank].code != CLD_EXITED)
            return rank;
    return front->first_failed;
}

static void report_failure(struct front *front)
{
    const int rank = failed_rank(front);
    const struct rank_end end = front->ends[rank];
    const char *others = front->job.running > 0 ? "; ending the others" : "", *host = host_of(front, rank)->name;

    front->decide_at = NEVER;
    if (front->job.ending)
        return;
    if (end.code == CLD_EXITED)
        say("rank %d (pid %ld on %s) exited with status %d%s", rank, end.pid, host, end.value, others);
    else
        say("rank %d (pid %ld on %s) was killed by signal %d (%s)%s", rank, end.pid, host, end.value, strsignal(end.value), others);
    job_end(&front->job, SIGTERM, end.code == CLD_EXITED ? end.value : 128 + end.value);
}

/* Report the failure, or set decide_at. The messages of the store and of the ranks' hosts come in any order. */
static void decide(struct front *front)
{
    const int dead = front->job.dead_rank;

    if (front->first_failed < 0 || front->job.ending)
        return;
    if (dead >= 0 ? front->ends[dead].code != 0 : front->ends[failed_rank(front)].code != CLD_EXITED)
        report_failure(front);
    else if (front->decide_at == NEVER)
        front->decide_at = hx_clock_awake() + (dead >= 0 ? DEAD_SECONDS : CAUSE_SECONDS);
}

static void rank_ended(struct front *front, int rank, const char *text)
{
    struct rank_end end = {0, 0, 0};

    sscanf(text, "%ld %d %d", &end.pid, &end.code, &end.value);
    front->job.running--;
    host_of(front, rank)->running--;
    if (end.code == CLD_EXITED && end.value == 0) {
        if (rank >= front->hosts[0].n)
            channel_send(&front->hosts[0].channel, FRAME_ENDED, rank, NULL, 0);
        return;
    }
    front->ends[rank] = end;
    if (front->first_failed < 0)
        front->first_failed = rank;
    decide(front);
}

static void store_failed(struct front *front, const char *text)
{
    int aborted = -1, dead = -1, at = 0;

    sscanf(text, "%d %d %n", &aborted, &dead, &at);
    if (aborted >= 0 && !front->job.ending) {
        say("%s; ending all ranks", text + at);
        job_end(&front->job, SIGTERM, 1);
    }
    if (dead < 0 || dead >= front->job.ranks)
        return;
    front->job.dead_rank = dead;
    front->decide_at = NEVER; /* decide sets another time */
    decide(front);
}

static void store_reached(struct front *front)
{
    for (int i = 0; i < front->n_hosts; i++)
        if (!front->hosts[i].reached)
            return;
    if (front->job.ending)
        return;
    front->started = 1;
    front->job.running = front->job.ranks;
    for (int i = 0; i < front->n_hosts; i++)
        front->hosts[i].running = front->hosts[i].n;
    send_all(front, FRAME_START, 0, NULL, 0);
}

static void frame_handle(struct front *front, struct host *host, const struct frame *frame, const char *value)
{
    const int rank = (int)frame->rank;
    char text[4096];

    snprintf(text, sizeof text, "%.*s", (int)(frame->bytes < sizeof text ? frame->bytes : sizeof text - 1), value);
    if (frame->kind >= FRAME_STREAM && frame->kind <= FRAME_ENDED && (rank < host->first || rank >= host->first + host->n)) {
        say("host %s: message %u of rank %d, which is on another host", host->name, frame->kind, rank);
        return;
    }
    switch (frame->kind) {
    case FRAME_LISTENS:
        for (int i = 0; i < front->n_hosts; i++)
            if (&front->hosts[i] != host)
                channel_send(&front->hosts[i].channel, FRAME_STORE, 0, text, strlen(text));
        /* fall through */
    case FRAME_REACHED:
        host->reached = 1;
        store_reached(front);
        break;
    case FRAME_STREAM:
    case FRAME_STREAM_2:
        if (!front->job.given_up && frame->bytes <= PART_BYTES) /* given up: there is no room for more */
            output_take(&front->job.output, rank, (int)(frame->kind - FRAME_STREAM), value, frame->bytes);
        break;
    case FRAME_ENDED: rank_ended(front, rank, text); break;
    case FRAME_STORE_FAILED: store_failed(front, text); break;
    case FRAME_TAKEN: front->input_taken = 1; break;
    case FRAME_DONE: host->done = 1; break;
    default: say("host %s: message %u is unknown: use the same version of Hierax on all hosts", host->name, frame->kind);
    }
}

/* The host's ranks cannot write any more: pass on their unfinished lines. Returns whether all are passed on. */
static int streams_end(struct front *front, struct host *host)
{
    for (; host->streams_ended < OUTLETS * host->n && !front->job.given_up; host->streams_ended++) {
        if (!output_is_free(&front->job.output))
            return 0;
        output_take(&front->job.output, host->first + host->streams_ended / OUTLETS, host->streams_ended % OUTLETS, NULL, 0);
    }
    return 1;
}

/* Its agent has ended, and all that it has sent has been handled. */
static void host_close(struct front *front, struct host *host)
{
    const int status = host->status, value = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);

    errors_end(host);
    host->closed = 1;
    channel_close(&host->channel);
    front->job.running -= host->running;
    host->running = 0;
    if (!host->done && !front->job.ending) {
        say("host %s: the agent \"%s %s\" %s %d%s", host->name, front->job.options->agent, host->name,
            WIFEXITED(status) ? "ended with status" : "was killed by signal", value,
            front->job.running > 0 ? "; ending the other hosts' ranks" : "");
        job_end(&front->job, SIGTERM, !WIFEXITED(status) ? 128 + value : value ? value : 1);
    }
    host->done = 1;
}

static void host_pass(struct front *front, struct host *host)
{
    struct frame frame = {0};
    const char *value = NULL;

    errors_pass(host);
    channel_flush(&host->channel);
    for (int reads = 0; !host->closed && (output_is_free(&front->job.output) || front->job.given_up); reads++) {
        while ((value = channel_next(&host->channel, &frame))) {
            frame_handle(front, host, &frame, value);
            if (!output_is_free(&front->job.output) && !front->job.given_up)
                return;
        }
        if (frame.bytes > FRAME_MAX_BYTES && !host->ended) {
            say("host %s: its answer cannot be understood: use the same version of Hierax on all hosts", host->name);
            host->ended = 1;
            job_end(&front->job, SIGTERM, 1);
        }
        if (reads > 0 && host->agent > 0) /* poll tells of more at once; signals, the time and other hosts have their turn */
            return;
        const int n = host->ended ? -1 : channel_read(&host->channel);
        host->ended |= n < 0 || (n == 0 && host->agent == 0); /* or else another process keeps its output open */
        if (host->ended && host->agent == 0 && streams_end(front, host))
            host_close(front, host);
        if (n <= 0)
            return;
    }
}

/* ---- the loop */

static void input_pass(struct front *front)
{
    char bytes[INPUT_BYTES];
    struct channel *channel = &front->hosts[0].channel;
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    front->input_taken = 0;
    front->input_open = n > 0;
    channel_send(channel, FRAME_INPUT, 0, bytes, n > 0 ? (size_t)n : 0);
}

/* All ranks have ended, or none has started and none will: the keepers end when their input does. */
static void leave(struct front *front)
{
    const double latest = hx_clock_awake() + front->job.options->kill_after + 2;

    front->leaving = 1;
    for (int i = 0; i < front->n_hosts; i++) {
        struct channel *channel = &front->hosts[i].channel;

        if (channel->out >= 0)
            close(channel->out);
        channel->out = -1;
    }
    front->abandon_at = latest < front->abandon_at ? latest : front->abandon_at;
    front->job.kill_at = NEVER;
}

static double earliest(double a, double b)
{
    return a < b ? a : b;
}

static void wait_for_work(struct front *front)
{
    struct output *output = &front->job.output;
    const double until = earliest(job_until(&front->job), earliest(front->decide_at, front->abandon_at));
    struct pollfd *fds = output->fds;

    output_poll(output);
    const int is_free = !output_goes_on(output);
    const int input = front->started && front->input_open && front->input_taken && !front->leaving;
    fds[0] = (struct pollfd){.fd = front->none.signal_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = input ? STDIN_FILENO : -1, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = -1};
    int n = OWN_POLLS + output->n + OUTLETS;
    for (int i = 0; i < front->n_hosts; i++) {
        const struct host *host = &front->hosts[i];

        fds[n++] = (struct pollfd){.fd = is_free && !host->ended ? host->channel.in : -1, .events = POLLIN};
        fds[n++] = (struct pollfd){.fd = host->channel.kept_bytes ? host->channel.out : -1, .events = POLLOUT};
        fds[n++] = (struct pollfd){.fd = host->errors, .events = POLLIN};
    }
    poll(fds, (nfds_t)n, until < NEVER ? hx_deadline_ms(until) : -1);
    if (fds[1].revents)
        input_pass(front);
}

static void watch(struct front *front)
{
    struct job *job = &front->job;

    for (;;) {
        int open = 0, running = 0;

        for (int i = 0; i < front->n_hosts; i++) {
            open |= !front->hosts[i].closed;
            running |= !front->hosts[i].done;
        }
        if (!running && front->decide_at < NEVER) /* no rank is left that may be the cause */
            report_failure(front);
        if (!open && (job->given_up || !output_goes_on(&job->output)))
            return;
        if (!front->leaving && (!running || (job->ending && !front->started)))
            leave(front);
        if (job->ending && !front->leaving && front->abandon_at == NEVER)
            front->abandon_at = hx_clock_awake() + 2 * job->options->kill_after + 2;
        wait_for_work(front);
        job_signals(job, front->none.signal_fd);
        for (int i = 0; i < front->n_hosts; i++)
            host_pass(front, &front->hosts[i]);
        if (job->output.unread && !job->ending && front->none.old_pipe != SIG_IGN)
            job_end(job, SIGTERM, 128 + SIGPIPE);
        if (hx_clock_awake() >= front->decide_at)
            report_failure(front);
        job_time(job);
        if (hx_clock_awake() >= front->abandon_at)
            agents_kill(front);
    }
}

static int run(struct front *front)
{
    struct job *job = &front->job;
    char *command = keeper_command();
    int status;

    if ((status = ranks_open(&front->none)) != 0)
        return status;
    if (!command || secret_find(front->secret) < 0 || secret_make(front->token) < 0) {
        say("cannot set up the job: %m");
        return 1;
    }
    if (job->options->timeout > 0)
        job->end_at = hx_clock_awake() + job->options->timeout;
    for (int i = 0; i < front->n_hosts; i++)
        if (agent_start(front, &front->hosts[i], command) < 0) {
            say("host %s: cannot start the agent: %m", front->hosts[i].name);
            job_end(job, SIGTERM, 1);
            front->hosts[i].closed = front->hosts[i].agent <= 0;
        }
    free(command);
    watch(front);
    return job->status == 0 && job->output.lost ? 1 : job->status;
}

int hosts_run(const struct options *options)
{
    struct options none = {.ranks = 0, .bind = BIND_NONE};
    char error[256];
    int ranks = (int)options->ranks;
    struct front front = {
        .job = {.options = options, .ranks = ranks, .kill_at = NEVER, .end_at = NEVER, .dead_rank = -1, .signal = front_signal,
                .reap = front_reap},
        .none = {.options = &none},
        .input_open = !isatty(STDIN_FILENO),
        .input_taken = 1,
        .first_failed = -1,
        .decide_at = NEVER,
        .abandon_at = NEVER,
    };
    struct output *output = &front.job.output;

    front.n_hosts = hosts_parse(options->hosts, &ranks, &front.hosts, error, sizeof error);
    front.ends = calloc((size_t)ranks, sizeof *front.ends);
    front.none.own_files = OWN_FDS + FDS_PER_HOST * front.n_hosts;
    if (front.n_hosts < 0 || !front.ends || output_open(output, ranks) ||
        !(output->fds = realloc(output->fds, sizeof *output->fds * (size_t)(OWN_POLLS + output->n + OUTLETS + 3 * front.n_hosts)))) {
        say("no memory for %d ranks", ranks);
        return 1;
    }
    output->prefix = options->prefix;
    const int status = run(&front);
    ranks_close(&front.none);
    for (int i = 0; i < front.n_hosts; i++)
        channel_close(&front.hosts[i].channel);
    free(front.hosts);
    free(front.ends);
    free(output->streams);
    free(output->fds);
    return status;
}
