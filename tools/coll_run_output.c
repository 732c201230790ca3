/* SPDX-License-Identifier: BSD-3-Clause */
/* --prefix: the ranks' streams come through pipes and leave line by line, so that lines of different ranks never mix.
 */
#include "coll_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int lost;

int output_is_lost(void)
{
    return lost;
}

/* The job goes on: what its ranks do matters more than what they say. EPIPE: nobody listens any more. */
static void loss_tell(int fd)
{
    if (!lost && errno != EPIPE)
        say("%s: %m; lines of the ranks are lost", fd == STDOUT_FILENO ? "standard output" : "standard error");
    lost |= errno != EPIPE;
}

static void write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t n = write(fd, bytes, count);

        if (n < 0 && errno != EINTR) {
            loss_tell(fd);
            return;
        }
        bytes += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
}

static void pass_line(const struct stream *stream, const char *line, size_t bytes)
{
    char text[sizeof stream->line + 32];
    const int head = snprintf(text, sizeof text, "[%d] ", stream->rank);

    memcpy(text + head, line, bytes);
    text[(size_t)head + bytes] = '\n';
    write_all(stream->to_fd, text, (size_t)head + bytes + 1);
}

void stream_close(struct stream *stream)
{
    if (stream->fd < 0)
        return;
    if (stream->used_bytes > 0)
        pass_line(stream, stream->line, stream->used_bytes);
    stream->used_bytes = 0;
    close(stream->fd);
    stream->fd = -1;
}

void stream_pass(struct stream *stream)
{
    for (;;) {
        char *start = stream->line, *end, *newline;
        const ssize_t n = read(stream->fd, start + stream->used_bytes, sizeof stream->line - stream->used_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            stream_close(stream);
            return;
        }
        end = start + stream->used_bytes + n;
        while ((newline = memchr(start, '\n', (size_t)(end - start)))) {
            pass_line(stream, start, (size_t)(newline - start));
            start = newline + 1;
        }
        stream->used_bytes = (size_t)(end - start);
        memmove(stream->line, start, stream->used_bytes);
        if (stream->used_bytes == sizeof stream->line) {
            pass_line(stream, stream->line, stream->used_bytes);
            stream->used_bytes = 0;
        }
    }
}
