/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper: coll_run's part on each host of --hosts, which the agent (ssh) starts. It reads its job from standard input, starts the
 * host's ranks, sends what they write and how they end to standard output, and ends them when its input ends: then coll_run or the
 * connection is gone. The first host's keeper also has the store.
 */
#include "tools/run/coll_run.h"
#include "runtime/base/clock.h"
#include "runtime/base/version.h"
#include "runtime/bootstrap/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OWN_FDS 16     /* as coll_run's own, and the channel's two, the input's two */
#define POLLS (5 + ASKERS) /* the channel's two, signals, the store, the input, connections to where the store will be */
#define KEPT_MAX 65536 /* if more waits to be sent, no rank's output is read */
#define PARTS_MAX 32   /* of a stream in one turn: a rank may write for ever, faster than they are sent */

struct keeper {
    struct options options;
    struct ranks ranks;
    struct channel channel;
    const char *secret, *token, *address; /* address: of --root */
    char root[300];
    int (*streams)[2]; /* of each rank, -1: closed */
    struct pollfd *fds;
    int listen_fd;
    struct askers askers;
    struct hx_store *store;
    int store_told; /* that the job has failed */
    int input_fd;   /* to rank 0; -1: closed */
    char *input;    /* to be written there */
    size_t input_at, input_bytes;
    int gone;       /* coll_run is */
    int done;       /* FRAME_DONE is sent */
    double kill_at;
};

/* The next of FRAME_JOB's texts; "": there is none. */
static const char *text_next(const char **at, const char *end)
{
    const char *text = *at;

    if (text >= end)
        return "";
    *at += strlen(text) + 1;
    return text;
}

/* FRAME_JOB: the version of coll_run; first rank, their number, size, bind, kill_after, has rank 0 an input, secret, token, --root,
 * folder; the number of settings, and these; the program and its arguments. Returns 0, or the exit status after a message. */
static int job_take(struct keeper *keeper, const char *value, size_t bytes)
{
    char *copy = malloc(bytes + 1);
    int pipes[2], words = 0, status;

    if (!copy || bytes == 0)
        return 1;
    memcpy(copy, value, bytes);
    copy[bytes] = '\0';
    const char *at = copy, *end = copy + bytes, *version = text_next(&at, end);

    if (strcmp(version, HX_VERSION_TEXT) != 0) {
        say("this host has Hierax %s, but coll_run started the job with %s: install the same version on all hosts", HX_VERSION_TEXT, version);
        return EXIT_CANNOT_RUN;
    }
    keeper->ranks = (struct ranks){.options = &keeper->options, .own_files = OWN_FDS, .piped = 1, .input = -1};
    keeper->ranks.first = atoi(text_next(&at, end));
    keeper->ranks.n = atoi(text_next(&at, end));
    keeper->ranks.size = atoi(text_next(&at, end));
    keeper->options = (struct options){.ranks = (uint64_t)keeper->ranks.n, .bind = (enum bind_mode)atoi(text_next(&at, end)), .prefix = 1};
    keeper->options.kill_after = atof(text_next(&at, end));
    const int has_input = atoi(text_next(&at, end));
    keeper->secret = text_next(&at, end);
    keeper->token = text_next(&at, end);
    keeper->address = text_next(&at, end);
    const char *folder = text_next(&at, end);
    for (int n = atoi(text_next(&at, end)); n > 0 && at < end; n--)
        putenv((char *)(uintptr_t)text_next(&at, end));
    if (keeper->ranks.n < 1 || at >= end) {
        say("the description of the job is incomplete: use the same version of Hierax on all hosts");
        return 1;
    }
    keeper->options.program = calloc((size_t)(end - at) + 1, sizeof *keeper->options.program);
    keeper->streams = calloc((size_t)keeper->ranks.n, sizeof *keeper->streams);
    keeper->fds = calloc(POLLS + 2 * (size_t)keeper->ranks.n, sizeof *keeper->fds);
    if (!keeper->options.program || !keeper->streams || !keeper->fds)
        return 1;
    for (int i = 0; i < keeper->ranks.n; i++)
        keeper->streams[i][0] = keeper->streams[i][1] = -1;
    while (at < end)
        keeper->options.program[words++] = (char *)(uintptr_t)text_next(&at, end);
    if (chdir(folder) < 0) {
        say("cannot enter the folder %s: %s", folder, strerror(errno));
        return EXIT_CANNOT_RUN;
    }
    if ((status = program_check(keeper->options.program[0])) != 0 || (status = ranks_open(&keeper->ranks)) != 0)
        return status;
    if (has_input && keeper->ranks.first == 0 && pipe2(pipes, O_CLOEXEC) == 0) {
        keeper->ranks.input = pipes[0];
        keeper->input_fd = pipes[1];
        fcntl(pipes[1], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

static void ended(void *arg, int rank, const siginfo_t *info)
{
    struct keeper *keeper = arg;
    char text[64];

    const int n = snprintf(text, sizeof text, "%d %d %d", (int)info->si_pid, info->si_code, info->si_status);
    channel_send(&keeper->channel, FRAME_ENDED, rank, text, (size_t)n);
    if (keeper->store && info->si_code == CLD_EXITED && info->si_status == 0)
        hx_store_rank_ended(keeper->store, rank);
}

/* SIGTERM, and SIGKILL a moment later. */
static void end(struct keeper *keeper)
{
    ranks_signal(&keeper->ranks, SIGTERM);
    if (keeper->kill_at == NEVER)
        keeper->kill_at = hx_clock_awake() + keeper->options.kill_after;
}

static int start(struct keeper *keeper)
{
    if (keeper->ranks.first == 0 &&
        hx_store_open(keeper->listen_fd, keeper->ranks.size, keeper->secret, HX_STORE_LAUNCHER, &keeper->store) < 0) {
        say("cannot set up the job's store: %m");
        return -1;
    }
    store_answer_end(&keeper->askers);
    ranks_environment(&keeper->ranks, keeper->root, keeper->secret);
    for (int i = 0; i < keeper->ranks.n; i++)
        if (ranks_start(&keeper->ranks, i, 0, keeper->streams[i]) < 0) {
            say("cannot start rank %d: %m", keeper->ranks.first + i);
            return -1;
        }
    if (keeper->ranks.input >= 0)
        close(keeper->ranks.input);
    keeper->ranks.input = -1;
    return 0;
}

/* 0, or the exit status after a message. */
static int frame_handle(struct keeper *keeper, const struct frame *frame, const char *value)
{
    char places[4096], text[4096];
    int status;

    switch (frame->kind) {
    case FRAME_JOB:
        if ((status = job_take(keeper, value, frame->bytes)) != 0)
            return status;
        if (keeper->ranks.first == 0) {
            if ((keeper->listen_fd = store_listen(keeper->address, places, sizeof places)) < 0)
                return 1;
            snprintf(keeper->root, sizeof keeper->root, "127.0.0.1:%d", atoi(places));
            channel_send(&keeper->channel, FRAME_LISTENS, 0, places, strlen(places));
        }
        return 0;
    case FRAME_STORE:
        snprintf(text, sizeof text, "%.*s", (int)frame->bytes, value);
        if (store_reach(text, keeper->token, keeper->root, sizeof keeper->root) < 0)
            return 1;
        channel_send(&keeper->channel, FRAME_REACHED, 0, NULL, 0);
        return 0;
    case FRAME_START: return start(keeper) < 0;
    case FRAME_SIGNAL: ranks_signal(&keeper->ranks, (int)frame->rank); return 0;
    case FRAME_ENDED: /* on another host, in order */
        if (keeper->store)
            hx_store_rank_ended(keeper->store, (int)frame->rank);
        return 0;
    case FRAME_INPUT:
        if (frame->bytes == 0 || keeper->input_fd < 0) {
            if (keeper->input_fd >= 0)
                close(keeper->input_fd);
            keeper->input_fd = -1;
            return 0;
        }
        free(keeper->input);
        keeper->input = malloc(frame->bytes);
        if (!keeper->input)
            return 1;
        memcpy(keeper->input, value, frame->bytes);
        keeper->input_at = 0;
        keeper->input_bytes = frame->bytes;
        return 0;
    default: say("message %u is unknown: use the same version of Hierax on all hosts", frame->kind); return 1;
    }
}

static void input_pass(struct keeper *keeper)
{
    while (keeper->input_at < keeper->input_bytes) {
        const ssize_t n = write(keeper->input_fd, keeper->input + keeper->input_at, keeper->input_bytes - keeper->input_at);

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        keeper->input_at = n < 0 ? keeper->input_bytes : keeper->input_at + (size_t)n; /* rank 0 need not read it */
        if (keeper->input_at == keeper->input_bytes)
            channel_send(&keeper->channel, FRAME_TAKEN, 0, NULL, 0);
    }
}

/* Send what a rank has written; at most `most` bytes, and then close it. -1: go on. */
static void stream_pass(struct keeper *keeper, int idx, int stream, int most)
{
    int *fd = &keeper->streams[idx][stream];
    char bytes[PART_BYTES];

    for (int parts = 0; *fd >= 0 && keeper->channel.kept_bytes < KEPT_MAX && (most >= 0 || parts < PARTS_MAX); parts++) {
        const size_t room = most >= 0 && (size_t)most < sizeof bytes ? (size_t)most : sizeof bytes;
        const ssize_t n = room > 0 ? read(*fd, bytes, room) : 0;

        if (n < 0 && (errno == EINTR || errno == EAGAIN) && most < 0)
            return;
        if (n > 0) {
            channel_send(&keeper->channel, FRAME_STREAM + (unsigned)stream, keeper->ranks.first + idx, bytes, (size_t)n);
            most -= most >= 0 ? (int)n : 0;
        } else {
            channel_send(&keeper->channel, FRAME_STREAM + (unsigned)stream, keeper->ranks.first + idx, NULL, 0);
            close(*fd);
            *fd = -1;
        }
    }
}

static void store_serve(struct keeper *keeper)
{
    char text[2048];
    int aborted, dead;

    hx_store_serve(keeper->store);
    const char *failure = hx_store_failure(keeper->store, &aborted, &dead);
    if (!failure || keeper->store_told++)
        return;
    const int n = snprintf(text, sizeof text, "%d %d %s", aborted, dead, failure);
    channel_send(&keeper->channel, FRAME_STORE_FAILED, 0, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void signals_take(struct keeper *keeper)
{
    struct signalfd_siginfo info;

    while (read(keeper->ranks.signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGCHLD)
            ranks_collect(&keeper->ranks, ended, keeper);
        else
            end(keeper);
}

/* All ranks have ended: send what they have written so far. Later output, of processes that outlive their rank, is dropped. */
static int all_sent(struct keeper *keeper)
{
    int more = 0;

    for (int i = 0; i < keeper->ranks.n; i++)
        for (int k = 0; k < 2; k++) {
            int bytes = 0;

            if (keeper->streams[i][k] >= 0)
                ioctl(keeper->streams[i][k], FIONREAD, &bytes);
            stream_pass(keeper, i, k, bytes);
            more |= keeper->streams[i][k] >= 0;
        }
    return !more;
}

static void wait_for_work(struct keeper *keeper)
{
    struct channel *channel = &keeper->channel;
    const int room = channel->kept_bytes < KEPT_MAX;
    struct pollfd *fds = keeper->fds;
    int n = POLLS;

    fds[0] = (struct pollfd){.fd = keeper->gone ? -1 : channel->in, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = channel->kept_bytes ? channel->out : -1, .events = POLLOUT};
    fds[2] = (struct pollfd){.fd = keeper->ranks.signal_fd, .events = POLLIN};
    fds[3] = (struct pollfd){.fd = keeper->store ? hx_store_fd(keeper->store) : keeper->listen_fd, .events = POLLIN};
    fds[4] = (struct pollfd){.fd = keeper->input_at < keeper->input_bytes ? keeper->input_fd : -1, .events = POLLOUT};
    for (int i = 0; i < ASKERS; i++)
        fds[POLLS - ASKERS + i] = (struct pollfd){.fd = keeper->askers.fds[i] > 0 ? keeper->askers.fds[i] : -1, .events = POLLIN};
    for (int i = 0; i < keeper->ranks.n; i++)
        for (int k = 0; k < 2; k++, n++)
            fds[n] = (struct pollfd){.fd = room ? keeper->streams[i][k] : -1, .events = POLLIN};
    poll(fds, (nfds_t)n, keeper->kill_at < NEVER ? hx_deadline_ms(keeper->kill_at) : -1);
}

/* One turn. 0, or the exit status after a message. */
static int work(struct keeper *keeper, int *started)
{
    struct frame frame;
    const char *value;
    int status;

    wait_for_work(keeper);
    if (!keeper->gone && keeper->fds[0].revents && channel_read(&keeper->channel) < 0) {
        keeper->gone = 1;
        end(keeper);
    }
    while ((value = channel_next(&keeper->channel, &frame))) {
        if ((status = frame_handle(keeper, &frame, value)) != 0)
            return status;
        *started |= frame.kind == FRAME_START;
    }
    if (keeper->store)
        store_serve(keeper);
    else if (keeper->listen_fd >= 0)
        store_answer(keeper->listen_fd, keeper->token, &keeper->askers);
    for (int i = 0; i < keeper->ranks.n; i++)
        for (int k = 0; k < 2; k++)
            stream_pass(keeper, i, k, -1);
    input_pass(keeper);
    signals_take(keeper);
    if (hx_clock_awake() >= keeper->kill_at) {
        ranks_signal(&keeper->ranks, SIGKILL);
        keeper->kill_at = NEVER;
    }
    if (*started && keeper->ranks.running == 0 && !keeper->done && all_sent(keeper)) {
        channel_send(&keeper->channel, FRAME_DONE, 0, NULL, 0);
        keeper->done = 1;
    }
    channel_flush(&keeper->channel);
    return 0;
}

int keeper_run(void)
{
    struct keeper keeper = {.listen_fd = -1, .input_fd = -1, .kill_at = NEVER, .ranks = {.signal_fd = -1}};
    static struct pollfd first[POLLS];
    int started = 0, status = 0;

    keeper.fds = first;
    channel_open(&keeper.channel, STDIN_FILENO, STDOUT_FILENO);
    channel_greet(&keeper.channel);
    channel_flush(&keeper.channel);
    while (status == 0 && (!keeper.gone || keeper.ranks.running > 0))
        status = work(&keeper, &started);
    ranks_signal(&keeper.ranks, SIGKILL);
    ranks_close(&keeper.ranks);
    if (keeper.store)
        hx_store_close(keeper.store);
    return status;
}
