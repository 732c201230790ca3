/* SPDX-License-Identifier: BSD-3-Clause */
/* --prefix: the ranks' streams come through pipes and leave line by line, so that lines of different ranks never mix. Nothing here waits:
 * what an outlet does not take at once is kept, and no pipe that leads there is read meanwhile. */
#include "tools/run/coll_run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HEAD_BYTES 16 /* "[2147483647] " and a newline */

struct outlet {
    int fd;
    size_t at, used_bytes;
    char bytes[(HEAD_BYTES + 1) * sizeof ((struct stream *)0)->line]; /* of a pipe that holds nothing but newlines */
};

static struct outlet outlets[OUTLETS] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static size_t left_for(const struct outlet *outlet)
{
    return outlet->used_bytes - outlet->at;
}

/* Most of a pipe's atomic write that is whole lines: other processes may write there too. */
static size_t lines_of(const char *bytes, size_t count)
{
    const char *newline = count > PIPE_BUF ? memrchr(bytes, '\n', PIPE_BUF) : NULL;

    return count <= PIPE_BUF ? count : newline ? (size_t)(newline + 1 - bytes) : PIPE_BUF;
}

/* Write what is kept for it and it takes now. */
static void flush(struct output *output, struct outlet *outlet)
{
    struct pollfd room = {.fd = outlet->fd, .events = POLLOUT}; /* a pipe that says so takes PIPE_BUF */

    while (left_for(outlet) > 0) {
        if (poll(&room, 1, 0) <= 0)
            return;
        const ssize_t n = write(outlet->fd, outlet->bytes + outlet->at, lines_of(outlet->bytes + outlet->at, left_for(outlet)));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (n < 0) { /* the job goes on: what its ranks do matters more than what they say */
            if (!output->lost && errno != EPIPE)
                say("%s: %m; lines of the ranks are lost", outlet->fd == STDOUT_FILENO ? "standard output" : "standard error");
            output->lost |= errno != EPIPE;
            output->unread |= errno == EPIPE;
        }
        outlet->at = n < 0 ? outlet->used_bytes : outlet->at + (size_t)n;
    }
    outlet->at = outlet->used_bytes = 0;
}

static void pass_line(const struct output *output, const struct stream *stream, const char *line, size_t bytes)
{
    struct outlet *outlet = stream->to;
    char *to = outlet->bytes + outlet->used_bytes;

    to += output->prefix ? snprintf(to, HEAD_BYTES, "[%d] ", stream->rank) : 0;
    memcpy(to, line, bytes);
    to[bytes] = '\n';
    outlet->used_bytes = (size_t)(to + bytes + 1 - outlet->bytes);
}

/* count more bytes are in stream->line: keep the whole lines of them at its outlet. */
static void stream_advance(const struct output *output, struct stream *stream, size_t count)
{
    char *start = stream->line, *end = start + stream->used_bytes + count, *newline;

    while ((newline = memchr(start, '\n', (size_t)(end - start)))) {
        pass_line(output, stream, start, (size_t)(newline - start));
        start = newline + 1;
    }
    stream->used_bytes = (size_t)(end - start);
    memmove(stream->line, start, stream->used_bytes);
    if (stream->used_bytes == sizeof stream->line) {
        pass_line(output, stream, stream->line, stream->used_bytes);
        stream->used_bytes = 0;
    }
}

static void stream_finish(const struct output *output, struct stream *stream)
{
    if (stream->used_bytes > 0)
        pass_line(output, stream, stream->line, stream->used_bytes);
    stream->used_bytes = 0;
}

/* If nothing is left at its outlet: read once and keep whole lines there; closes at the end. */
static void stream_pass(const struct output *output, struct stream *stream)
{
    const size_t room = sizeof stream->line - stream->used_bytes;
    const size_t most = stream->left_bytes >= 0 && (size_t)stream->left_bytes < room ? (size_t)stream->left_bytes : room;
    const ssize_t n = most > 0 ? read(stream->fd, stream->line + stream->used_bytes, most) : 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        stream_finish(output, stream);
        close(stream->fd);
        stream->fd = -1;
        return;
    }
    stream->left_bytes -= stream->left_bytes >= 0 ? (long)n : 0;
    stream_advance(output, stream, (size_t)n);
}

int output_open(struct output *output, int ranks)
{
    const size_t n = 2 * (size_t)ranks;

    *output = (struct output){.streams = calloc(n + 1, sizeof *output->streams),
                              .fds = calloc(OWN_POLLS + n + OUTLETS, sizeof *output->fds),
                              .n = (int)n};
    if (!output->streams || !output->fds)
        return -1;
    for (int i = 0; i < output->n; i++)
        output->streams[i] = (struct stream){.fd = -1, .rank = i / 2, .to = &outlets[i % 2], .left_bytes = -1};
    return 0;
}

/* It has been read to the end that output_end set, and others may keep the pipe open. */
static int is_over(const struct stream *stream)
{
    return stream->fd >= 0 && stream->left_bytes == 0;
}

int output_poll(struct output *output)
{
    struct pollfd *fds = output->fds + OWN_POLLS;
    int at_once = 0;

    for (int i = 0; i < output->n; i++) {
        const struct stream *stream = &output->streams[i];
        const int waits = left_for(stream->to) > 0;

        fds[i] = (struct pollfd){.fd = waits ? -1 : stream->fd, .events = POLLIN};
        at_once |= !waits && is_over(stream);
    }
    for (int i = 0; i < OUTLETS; i++)
        fds[output->n + i] = (struct pollfd){.fd = left_for(&outlets[i]) > 0 ? outlets[i].fd : -1, .events = POLLOUT};
    return at_once;
}

/* Read the streams in turn, each after its outlet has written all it has. Otherwise the first stream would block the others. */
void output_pass(struct output *output)
{
    for (int i = 0; i < OUTLETS; i++)
        flush(output, &outlets[i]);
    for (int k = 0, first = output->next; k < output->n; k++) {
        const int i = (first + k) % output->n;
        struct stream *stream = &output->streams[i];
        struct outlet *outlet = stream->to;

        if ((!output->fds[OWN_POLLS + i].revents && !is_over(stream)) || left_for(outlet) > 0)
            continue;
        stream_pass(output, stream);
        flush(output, outlet);
        output->next = i + 1;
    }
}

void output_end(struct output *output)
{
    for (int i = 0; i < output->n; i++) {
        int bytes = 0;

        if (output->streams[i].fd < 0)
            continue;
        ioctl(output->streams[i].fd, FIONREAD, &bytes);
        output->streams[i].left_bytes = bytes;
    }
}

int output_goes_on(const struct output *output)
{
    int more = left_for(&outlets[0]) + left_for(&outlets[1]) > 0;

    for (int i = 0; i < output->n; i++)
        more |= output->streams[i].fd >= 0;
    return more;
}

int output_is_free(struct output *output)
{
    int left = 0;

    for (int i = 0; i < OUTLETS; i++) {
        flush(output, &outlets[i]);
        left |= left_for(&outlets[i]) > 0;
    }
    return !left;
}

void output_take(struct output *output, int rank, int stream, const char *bytes, size_t count)
{
    struct stream *to = &output->streams[2 * rank + stream];

    if (count == 0)
        stream_finish(output, to);
    while (count > 0) {
        const size_t room = sizeof to->line - to->used_bytes, n = count < room ? count : room;

        memcpy(to->line + to->used_bytes, bytes, n);
        stream_advance(output, to, n);
        bytes += n;
        count -= n;
    }
}
