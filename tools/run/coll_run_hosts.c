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
#include "tools/run/coll_run.h"
#include "runtime/base/clock.h"
#include "runtime/base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MAX 16384
#define NAME_BYTES 256
#define INPUT_BYTES 16384
#define FDS_PER_HOST 4
#define OWN_FDS 16
#define CAUSE_SECONDS 0.3 /* a rank's failure is reported so late: another rank, on another host, may be its cause */
#define DEAD_SECONDS 2.0  /* the same, if the store has lost another rank: hx_abort takes 2 s at most */

struct host {
    char name[NAME_BYTES];
    int first, n; /* its ranks */
    pid_t agent;  /* 0: not running */
    struct channel channel;
    int errors; /* the agent's standard error; -1: closed */
    char line[1024];
    size_t line_bytes;
    int running, status; /* ranks; as the agent has ended */
    int reached, done, ended, closed; /* it reaches the store; its ranks have ended; the channel is at its end; the agent has ended too */
};

struct front {
    struct job job;
    struct ranks none; /* signals and limits of this process */
    struct host *hosts;
    int n_hosts;
    char secret[SECRET_TEXT_BYTES], token[SECRET_TEXT_BYTES];
    int started;
    int input_open, input_taken; /* standard input goes to rank 0; the last part of it has gone there */
    /* of the failure to be reported at decide_at */
    int failed_rank, code, value;
    long pid;
    double decide_at;
    int leaving;       /* the keepers' inputs are closed, so that they end */
    double abandon_at; /* kill the agents */
};

/* ---- the list of hosts */

/* "name[:count]": its length in text. */
static size_t host_parse(const char *text, struct host *host, char *error, size_t room)
{
    const size_t bytes = strcspn(text, ",");
    const char *colon = memrchr(text, ':', bytes), *bracket = memrchr(text, ']', bytes);
    const int has_count = colon && (!bracket || bracket < colon) && (bracket || memchr(text, ':', bytes) == colon);
    const size_t name = has_count ? (size_t)(colon - text) : bytes;
    char *end;

    *host = (struct host){.errors = -1, .channel = {.in = -1, .out = -1}};
    if (name == 0 || name >= NAME_BYTES || *text == '-') {
        snprintf(error, room, "\"%.*s\" is not a host: expected HOST or HOST:RANKS", (int)bytes, text);
        return 0;
    }
    snprintf(host->name, sizeof host->name, "%.*s", (int)name, text);
    if (has_count) {
        const unsigned long n = strtoul(colon + 1, &end, 10);

        if (colon[1] < '0' || colon[1] > '9' || end != text + bytes || n < 1 || n > RANKS_MAX) {
            snprintf(error, room, "%.*s: expected a number of ranks from 1 to %d after the colon", (int)bytes, text, RANKS_MAX);
            return 0;
        }
        host->n = (int)n;
    }
    return bytes;
}

/* Ranks that have no host yet go to the hosts without a count, evenly. */
static int ranks_place(struct host *hosts, int n, int ranks, char *error, size_t room)
{
    int given = 0, open = 0, first = 0;

    for (int i = 0; i < n; i++) {
        given += hosts[i].n;
        open += hosts[i].n == 0;
    }
    const int left = ranks ? ranks - given : open;
    if (given + left > RANKS_MAX) {
        snprintf(error, room, "%d ranks are too many: expected at most %d", given, RANKS_MAX);
        return -1;
    }
    if (left < open || (open == 0 && left != 0)) {
        snprintf(error, room, "these hosts have %s%d ranks, but -n is %d", open ? "at least " : "", given + open, ranks);
        return -1;
    }
    for (int i = 0, k = 0; i < n; i++) {
        if (hosts[i].n == 0) {
            hosts[i].n = left / open + (k < left % open);
            k++;
        }
        hosts[i].first = first;
        first += hosts[i].n;
    }
    return first;
}

/* The number of hosts, or -1 and error (without a prefix). *ranks: as given by -n, or 0; then the number. */
static int hosts_parse(const char *list, int *ranks, struct host **out, char *error, size_t room)
{
    const size_t most = strlen(list) / 2 + 1;
    struct host *hosts = calloc(most, sizeof *hosts);
    int n = 0;

    for (const char *at = list; hosts; n++) {
        const size_t bytes = host_parse(at, &hosts[n], error, room);

        if (bytes == 0)
            goto wrong;
        for (int i = 0; i < n; i++)
            if (!strcmp(hosts[i].name, hosts[n].name)) {
                snprintf(error, room, "host %s is given twice; write it once, with the number of its ranks: %s:2", hosts[n].name,
                         hosts[n].name);
                goto wrong;
            }
        at += bytes;
        if (*at++ == '\0')
            break;
    }
    n++;
    const int placed = hosts ? ranks_place(hosts, n, *ranks, error, room) : -1;
    if (placed > 0) {
        *ranks = placed;
        *out = hosts;
        return n;
    }
wrong:
    free(hosts);
    return -1;
}

int hosts_check(struct options *options, char *error, size_t bytes)
{
    struct host *hosts = NULL;
    int ranks = (int)options->ranks;
    char reason[512] = "no memory";

    if (hosts_parse(options->hosts, &ranks, &hosts, reason, sizeof reason) < 0) {
        snprintf(error, bytes, "--hosts %s: %s", options->hosts, reason);
        return -1;
    }
    free(hosts);
    options->ranks = (uint64_t)ranks;
    return 0;
}

/* ---- starting */

/* As in a shell: 'it'\''s'. */
static void quote(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            putc(*text, out);
    putc('\'', out);
}

/* The command for the host's shell: this very coll_run, or if the host has none there, one from its PATH. */
static char *keeper_command(void)
{
    char self[PATH_MAX] = "", *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (!out)
        return NULL;
    if (n > 0) {
        fputs("test -x ", out);
        quote(out, self);
        fputs(" && exec ", out);
        quote(out, self);
        fputs(" " KEEPER_OPTION "; ", out);
    }
    fputs("exec coll_run " KEEPER_OPTION, out);
    return fclose(out) == 0 ? text : NULL;
}

__attribute__((noreturn)) static void agent_main(const struct front *front, const struct host *host, char *command, const int ends[3])
{
    char *words = strdup(front->job.options->agent), *argv[64], *save = NULL;
    int n = 0;

    setsid(); /* the terminal's signals are for coll_run; and ssh does not ask there for a password */
    for (char *word = strtok_r(words, " ", &save); word && n < 60; word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    argv[n++] = (char *)(uintptr_t)host->name;
    argv[n++] = command;
    argv[n] = NULL;
    for (int i = 0; i < 3; i++)
        dup2(ends[i], i);
    signal(SIGPIPE, front->none.old_pipe);
    sigprocmask(SIG_SETMASK, &front->none.old_mask, NULL);
    execvp(argv[0], argv);
    fprintf(stderr, "cannot run the agent \"%s\": %m\n", argv[0]);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static int agent_start(struct front *front, struct host *host, char *command)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        return -1;
    const int ends[3] = {in[0], out[1], err[1]};
    fflush(NULL);
    if ((host->agent = fork()) == 0)
        agent_main(front, host, command, ends);
    for (int i = 0; i < 3; i++)
        close(ends[i]);
    channel_open(&host->channel, out[0], in[1]);
    host->errors = err[0];
    fcntl(host->errors, F_SETFL, O_NONBLOCK);
    return host->agent < 0 ? -1 : 0;
}

/* In an option of --env, or HX_*: but those that coll_run sets. */
static int goes_along(const char *variable)
{
    for (const char *const *own = coll_run_own_settings; *own; own++)
        if (!strncmp(variable, *own, strlen(*own)) && variable[strlen(*own)] == '=')
            return 0;
    return !strncmp(variable, "HX_", 3);
}

/* FRAME_JOB, as keeper.c has it. */
static int job_send(const struct front *front, struct host *host)
{
    const struct options *options = front->job.options;
    char folder[PATH_MAX], *text = NULL;
    size_t bytes;
    int settings = options->n_settings;
    FILE *out = open_memstream(&text, &bytes);

    if (!out || !getcwd(folder, sizeof folder))
        return -1;
    fprintf(out, "%s%c", HX_VERSION_TEXT, 0);
    fprintf(out, "%d%c%d%c%d%c%d%c%g%c%d%c", host->first, 0, host->n, 0, front->job.ranks, 0, (int)options->bind, 0, options->kill_after, 0,
            front->input_open, 0);
    fprintf(out, "%s%c%s%c%s%c%s%c", front->secret, 0, front->token, 0, options->root ? options->root : "", 0, folder, 0);
    for (char **at = environ; *at; at++)
        settings += goes_along(*at);
    fprintf(out, "%d%c", settings, 0);
    for (char **at = environ; *at; at++)
        if (goes_along(*at))
            fprintf(out, "%s%c", *at, 0);
    for (int i = 0; i < options->n_settings; i++)
        fprintf(out, "%s%c", options->settings[i], 0);
    for (char **word = options->program; *word; word++)
        fprintf(out, "%s%c", *word, 0);
    if (fclose(out) != 0)
        return -1;
    channel_send(&host->channel, FRAME_JOB, 0, text, bytes);
    free(text);
    return 0;
}

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

/* ---- frames from keepers */

static struct host *host_of(struct front *front, int rank)
{
    int i = 0;

    while (i < front->n_hosts - 1 && rank >= front->hosts[i + 1].first)
        i++;
    return &front->hosts[i];
}

static void report_failure(struct front *front)
{
    const char *others = front->job.running > 0 ? "; ending the others" : "", *host = host_of(front, front->failed_rank)->name;

    front->decide_at = NEVER;
    if (front->job.ending)
        return;
    if (front->code == CLD_EXITED)
        say("rank %d (pid %ld on %s) exited with status %d%s", front->failed_rank, front->pid, host, front->value, others);
    else
        say("rank %d (pid %ld on %s) was killed by signal %d (%s)%s", front->failed_rank, front->pid, host, front->value,
            strsignal(front->value), others);
    job_end(&front->job, SIGTERM, front->code == CLD_EXITED ? front->value : 128 + front->value);
}

static void rank_ended(struct front *front, int rank, const char *text)
{
    int code = 0, value = 0;
    long pid = 0;

    sscanf(text, "%ld %d %d", &pid, &code, &value);
    front->job.running--;
    host_of(front, rank)->running--;
    if (code == CLD_EXITED && value == 0) {
        if (rank >= front->hosts[0].n)
            channel_send(&front->hosts[0].channel, FRAME_ENDED, rank, NULL, 0);
        return;
    }
    /* a signal, or the death that the store has seen, is the likelier cause of the others */
    if (front->failed_rank >= 0 && code == CLD_EXITED && rank != front->job.dead_rank)
        return;
    if (front->failed_rank < 0)
        front->decide_at = hx_clock_awake() + (front->job.dead_rank >= 0 ? DEAD_SECONDS : CAUSE_SECONDS);
    front->failed_rank = rank;
    front->code = code;
    front->value = value;
    front->pid = pid;
    if (code != CLD_EXITED || rank == front->job.dead_rank)
        report_failure(front);
}

static void store_failed(struct front *front, const char *text)
{
    int aborted = -1, at = 0;

    sscanf(text, "%d %d %n", &aborted, &front->job.dead_rank, &at);
    if (aborted >= 0 && !front->job.ending) {
        say("%s; ending all ranks", text + at);
        job_end(&front->job, SIGTERM, 1);
    }
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

/* ---- agents */

/* Pass on, line by line, what the agent and its keeper say. */
static void errors_pass(struct host *host)
{
    char *newline;
    ssize_t n;

    while (host->errors >= 0 && (n = read(host->errors, host->line + host->line_bytes, sizeof host->line - 1 - host->line_bytes)) != 0) {
        if (n < 0)
            return;
        host->line_bytes += (size_t)n;
        host->line[host->line_bytes] = '\0';
        while ((newline = strpbrk(host->line, "\r\n")) || host->line_bytes == sizeof host->line - 1) {
            const size_t whole = newline ? (size_t)(newline - host->line) + 1 : host->line_bytes;
            const char *line = host->line;

            host->line[newline ? whole - 1 : whole] = '\0';
            line += !strncmp(line, "coll_run: ", 10) ? 10 : 0;
            if (*line)
                say("host %s: %s", host->name, line);
            memmove(host->line, host->line + whole, host->line_bytes - whole);
            host->line_bytes -= whole;
            host->line[host->line_bytes] = '\0';
        }
    }
    if (host->errors >= 0)
        close(host->errors);
    host->errors = -1;
}

/* Its agent has ended, and all that it has sent has been handled. */
static void host_close(struct front *front, struct host *host)
{
    const int status = host->status, value = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);

    errors_pass(host);
    if (host->line_bytes > 0)
        say("host %s: %s", host->name, host->line);
    if (host->errors >= 0)
        close(host->errors);
    host->errors = -1;
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

static void front_reap(struct job *job)
{
    struct front *front = (struct front *)job;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < front->n_hosts; i++)
            if (front->hosts[i].agent == pid) {
                front->hosts[i].agent = 0;
                front->hosts[i].status = status;
            }
}

static void agents_kill(struct front *front)
{
    front->abandon_at = NEVER;
    front->job.given_up = 1;
    for (int i = 0; i < front->n_hosts; i++)
        if (front->hosts[i].agent > 0) {
            say("host %s: the agent \"%s %s\" does not end: killing it", front->hosts[i].name, front->job.options->agent,
                front->hosts[i].name);
            kill(-front->hosts[i].agent, SIGKILL);
        }
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
        if (host->ended && host->agent == 0)
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
    if (!command || secret_make(front->secret) < 0 || secret_make(front->token) < 0) {
        say("cannot set up the job: %m");
        return 1;
    }
    if (job->options->timeout > 0)
        job->end_at = hx_clock_awake() + job->options->timeout;
    for (int i = 0; i < front->n_hosts; i++)
        if (agent_start(front, &front->hosts[i], command) < 0 || job_send(front, &front->hosts[i]) < 0) {
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
        .failed_rank = -1,
        .decide_at = NEVER,
        .abandon_at = NEVER,
    };
    struct output *output = &front.job.output;

    front.n_hosts = hosts_parse(options->hosts, &ranks, &front.hosts, error, sizeof error);
    front.none.own_files = OWN_FDS + FDS_PER_HOST * front.n_hosts;
    if (front.n_hosts < 0 || output_open(output, ranks) ||
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
    free(output->streams);
    free(output->fds);
    return status;
}
