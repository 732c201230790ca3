/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Late peers: is one from which nothing comes still there? A receive from a process that has gone never ends, over most
 * providers, and over TCP nor does a send (libfabric 1.17). So after a second of waiting
 *
 *   it is asked what it knows (word.c), in growing intervals. On a device that also tells whether it is there: the
 *       question fails;
 *   over TCP it is connected to, where its endpoint listens. Its kernel takes the connection, however busy it is, and
 *       nothing is sent. A refusal tells that the endpoint has gone (as a rule with its process), a host that cannot be reached for a while that the
 *       host has. The connection stays until the peer is no longer late, so that its end is noticed at once.
 *
 * That a connection stands is no proof of life: a child of the peer may hold its listener (sockets.c prevents it, as far as it can), and
 * a peer that computes answers no question either. Whether it lives the ranks of its node know, so these are asked too (runtime/stall.c). A
 * rank alone on its node whose listener lives on, in a child made by a raw clone, is not missed before HX_TIMEOUT.
 */
#include "fabric.h"
#include "runtime/clock.h"
#include "runtime/error.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_NS SECOND_NS
#define FORGET_NS (60 * SECOND_NS)  /* nobody has asked for so long: it is not late any more. A program that computes asks seldom */
#define ASK_NS_MAX (2 * SECOND_NS)  /* an answer comes no later, once the peer has one */
#define SILENT_NS (10 * SECOND_NS)  /* a host that cannot be reached for so long has gone */
#define QUEUE_LENGTH 100            /* connections that a peer which does not look at them can surely hold */

static uint64_t now_ns(void)
{
    return hx_clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* ---- a connection over TCP */

static void connection_close(struct hx_late *late)
{
    if (late->fd >= 0)
        close(late->fd);
    late->fd = -1;
    late->connected = 0;
}

/* 0, EINPROGRESS, how the peer cannot be reached, or EAGAIN: something is lacking here. */
static int connection_begin(struct hx_late *late)
{
    const struct hx_path *path = &late->edge->paths[0];
    const int on = 1, idle_s = 3, step_s = 2, steps = 4; /* 11 s: longer than SILENT_NS */
    struct sockaddr_storage name;
    size_t bytes = sizeof(name);

    if (fi_av_lookup(path->rail->av, path->addr, &name, &bytes) != 0)
        return EAGAIN;
    late->fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (late->fd < 0)
        return EAGAIN;
    setsockopt(late->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(late->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(late->fd, IPPROTO_TCP, TCP_KEEPINTVL, &step_s, sizeof(step_s));
    setsockopt(late->fd, IPPROTO_TCP, TCP_KEEPCNT, &steps, sizeof(steps));
    if (connect(late->fd, (struct sockaddr *)&name, (socklen_t)bytes) == 0)
        return 0;
    return errno == ECONNREFUSED || errno == EINPROGRESS || errno == EHOSTUNREACH || errno == ENETUNREACH ? errno : EAGAIN;
}

/* What has become of it: 0: it stands; EINPROGRESS; or why it does not. */
static int connection_look(const struct hx_late *late)
{
    struct pollfd fd = {.fd = late->fd, .events = POLLIN | POLLOUT};
    socklen_t bytes = sizeof(int);
    int error = 0;

    if (poll(&fd, 1, 0) <= 0)
        return EINPROGRESS;
    if (getsockopt(late->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0)
        return error != 0 ? error : EINPROGRESS;
    return fd.revents & (POLLIN | POLLHUP) ? ECONNRESET : 0; /* it sends nothing: that is its end */
}

/* A connection that ends may have been too much for the peer: only the next one's refusal tells that it has gone. A
 * connection that is not answered may stand behind others which the peer has not looked at, but for few ranks. */
static int tcp_is_gone(const struct hx_net *net, struct hx_late *late, uint64_t now)
{
    int error = late->fd >= 0 ? connection_look(late) : connection_begin(late), stood = late->connected;

    if (error == 0) {
        late->connected = 1;
        late->answered = now;
    } else if (error != EINPROGRESS) {
        connection_close(late);
    }
    if (error == EAGAIN || error == ECONNRESET) /* nobody could ask it, or its host has answered */
        late->answered = now;
    return error == ECONNREFUSED || (stood && error == ETIMEDOUT) ||
           (now - late->answered > SILENT_NS && (error != EINPROGRESS || net->nranks <= QUEUE_LENGTH));
}

/* ---- who is late */

static void late_end(struct hx_late *late)
{
    connection_close(late);
    late->edge = NULL;
}

/* The entry of a peer; if it was not late before a new one, that of the peer which nobody has asked after for longest. NULL: too
 * many are late at once. */
static struct hx_late *late_of(struct hx_net *net, struct hx_edge *edge, uint64_t now)
{
    struct hx_late *unused = net->late;

    for (struct hx_late *late = net->late; late < net->late + HX_LATE_MAX; late++) {
        if (late->edge != NULL && now - late->seen > FORGET_NS)
            late_end(late);
        if (late->edge == edge)
            return late;
        if (unused->edge != NULL && (late->edge == NULL || late->seen < unused->seen))
            unused = late;
    }
    if (unused->edge != NULL && now - unused->seen <= PATIENCE_NS)
        return NULL;
    if (unused->edge != NULL)
        late_end(unused);
    *unused = (struct hx_late){.edge = edge, .fd = -1, .since = now, .seen = now};
    return unused;
}

void hx_edge_lose(struct hx_net *net, struct hx_edge *edge)
{
    edge->gone = 1;
    net->lost_ns = 0;
}

void hx_late_lose(struct hx_net *net, int code, const char *why)
{
    if (net->lost_ns != 0 || hx_any_edge_is_lost(net)) /* it was to that one */
        return;
    net->lost_ns = now_ns();
    snprintf(net->lost_why, sizeof(net->lost_why), "provider code %d, %s", code, why);
}

/* A peer that has gone is known before so long. So one that lives lacks a message, and a device delivers nothing to it that follows: only a
 * closed endpoint tells it so. */
static void lost_end(struct hx_net *net, uint64_t now)
{
    if (net->lost_ns == 0 || now - net->lost_ns < SILENT_NS || net->breaking)
        return;
    hx_fail(HX_ERR_TRANSPORT,
            "a short message of rank %d of the job was lost, since its peer could not be reached for a while (%s): the endpoint is closed",
            net->rank, net->lost_why);
    hx_detail_keep(net->why);
    net->breaking = HX_ERR_TRANSPORT;
}

int hx_late_ask(struct hx_net *net, int peer, const struct hx_word *word)
{
    struct hx_edge *edge = net->edges[peer];
    uint64_t now = now_ns();
    struct hx_late *late;

    if (net->broken || edge == NULL)
        return 0;
    if ((late = edge->gone ? NULL : late_of(net, edge, now)) == NULL)
        return edge->gone;
    if (now - late->seen > PATIENCE_NS) /* nobody has looked for an answer meanwhile */
        late->answered = now;
    late->seen = now;
    lost_end(net, now);
    if (now - late->since < PATIENCE_NS)
        return 0;
    if (late->interval == 0) {
        late->ask_at = late->answered = now;
        late->interval = PATIENCE_NS;
    } else if (edge->moved) { /* it is late anew */
        late->interval = PATIENCE_NS;
        late->ask_at = late->ask_at < now + PATIENCE_NS ? late->ask_at : now + PATIENCE_NS;
    }
    edge->moved = 0;
    if (hx_net_is_tcp(net) && tcp_is_gone(net, late, now)) {
        hx_edge_lose(net, edge);
        late_end(late);
    } else if (now >= late->ask_at && (late->connected || !hx_net_is_tcp(net)) && hx_word_ask(net, edge, word) == 0) {
        late->ask_at = now + late->interval;
        late->interval = 2 * late->interval < ASK_NS_MAX ? 2 * late->interval : ASK_NS_MAX;
    }
    return edge->gone;
}

void hx_late_close(struct hx_net *net)
{
    for (struct hx_late *late = net->late; late < net->late + HX_LATE_MAX; late++)
        if (late->edge != NULL)
            late_end(late);
}
