/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between coll_run and a keeper, over the standard input and output of the agent. Nothing here waits: what is not taken at once is
 * kept. */
#include "tools/run/coll_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GREETING "\ncoll_run, a keeper of Hierax\n" /* of all versions */
#define READ_BYTES 65536

static void append(char **to, size_t *used, size_t *room, const void *bytes, size_t count)
{
    if (*used + count > *room) {
        *room = 2 * (*used + count);
        if (!(*to = realloc(*to, *room))) {
            say("no memory for %zu bytes of messages", *room);
            _exit(1);
        }
    }
    if (count)
        memcpy(*to + *used, bytes, count);
    *used += count;
}

void channel_open(struct channel *channel, int in, int out)
{
    *channel = (struct channel){.in = in, .out = out};
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
}

void channel_greet(struct channel *channel)
{
    append(&channel->kept, &channel->kept_bytes, &channel->kept_room, GREETING, strlen(GREETING));
    channel->greeted = 1;
}

void channel_flush(struct channel *channel)
{
    size_t sent = 0;

    while (channel->out >= 0 && sent < channel->kept_bytes) {
        const ssize_t n = write(channel->out, channel->kept + sent, channel->kept_bytes - sent);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        sent = n < 0 ? channel->kept_bytes : sent + (size_t)n; /* the reader has gone: its process is seen to end */
    }
    memmove(channel->kept, channel->kept + sent, channel->kept_bytes - sent);
    channel->kept_bytes -= sent;
}

void channel_send(struct channel *channel, enum frame_kind kind, int rank, const void *value, size_t bytes)
{
    const struct frame frame = {htonl(kind), htonl((uint32_t)rank), htonl((uint32_t)bytes)};

    append(&channel->kept, &channel->kept_bytes, &channel->kept_room, &frame, sizeof frame);
    append(&channel->kept, &channel->kept_bytes, &channel->kept_room, value, bytes);
    channel_flush(channel);
}

int channel_read(struct channel *channel)
{
    char bytes[READ_BYTES];
    const ssize_t n = read(channel->in, bytes, sizeof bytes);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0)
        return -1;
    memmove(channel->got, channel->got + channel->at, channel->got_bytes - channel->at);
    channel->got_bytes -= channel->at;
    channel->at = 0;
    append(&channel->got, &channel->got_bytes, &channel->got_room, bytes, (size_t)n);
    return (int)n;
}

/* Drop what a login shell has written before the greeting. Has the greeting come? */
static int greeting_find(struct channel *channel)
{
    const size_t bytes = strlen(GREETING), left = channel->got_bytes - channel->at;
    const char *found = memmem(channel->got + channel->at, left, GREETING, bytes);

    channel->greeted = found != NULL;
    if (found)
        channel->at = (size_t)(found - channel->got) + bytes;
    else if (left >= bytes) /* its beginning may be there */
        channel->at = channel->got_bytes - (bytes - 1);
    return channel->greeted;
}

const char *channel_next(struct channel *channel, struct frame *frame)
{
    const size_t left = channel->got_bytes - channel->at;

    if (!channel->greeted && (left == 0 || !greeting_find(channel)))
        return NULL;
    const size_t have = channel->got_bytes - channel->at;
    if (have < sizeof *frame)
        return NULL;
    memcpy(frame, channel->got + channel->at, sizeof *frame);
    *frame = (struct frame){ntohl(frame->kind), ntohl(frame->rank), ntohl(frame->bytes)};
    if (frame->bytes > FRAME_MAX_BYTES || have < sizeof *frame + frame->bytes)
        return NULL;
    const char *value = channel->got + channel->at + sizeof *frame;
    channel->at += sizeof *frame + frame->bytes;
    return value;
}

void channel_close(struct channel *channel)
{
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0)
        close(channel->out);
    free(channel->got);
    free(channel->kept);
    *channel = (struct channel){.in = -1, .out = -1};
}
