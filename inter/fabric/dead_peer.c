/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dead peers: a late peer, from which nothing arrives, may be dead. With most providers a receive from a dead process never ends.
 * Over TCP (libfabric 1.17) a send never ends either. So after a second of waiting
 *
 *   over a device   this rank asks the peer by control messages, in growing intervals. If the peer is gone, the send fails.
 *   over TCP        this rank also connects to the port on which the peer's endpoint listens, and sends nothing. The peer's kernel accepts
 *                   the connection, however busy the peer is. If the kernel refuses, the endpoint is gone, as a rule with its process. If
 *                   the host cannot be reached for HX_SILENT seconds, it counts as gone, but its processes may run on: hx_peer_has_ended
 *                   tells the two apart. The connection stays open until the peer is no longer late, so that this rank notices its end at once.
 *
 * An open connection does not prove that the peer lives: a child of the peer may hold the listener (sockets.c prevents this as far
 * as it can). A missing answer does not prove its death: a peer that computes does not answer. The other ranks of the peer's node
 * know whether it lives (runtime/engine/liveness.c), so this rank asks them too (runtime/engine/stall.c). One death is found only at
 * HX_TIMEOUT: that of a rank which is alone on its node and has left a child, made by a raw clone, that holds its listener.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/sockets.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_NS SECOND_NS
#define FORGET_NS (60 * SECOND_NS)  /* a peer that this rank has not checked for so long is no longer late */
#define ASK_NS_MAX (2 * SECOND_NS)  /* the longest interval between questions */
#define SILENT_AGAIN_NS (SECOND_NS / 2) /* for a doubted peer, or a peer on a silent host, whose many peers are asked one after another */
#define CERTAIN_NS SECOND_NS        /* a process that ends closes its listener at most so long after its connections */
#define CERTAIN_STEP_NS 1000000
#define STALLED_MS 100              /* a connection is stalled if nothing has arrived over it for so long */
#define QUEUE_LENGTH 100            /* connections that certainly fit into a listener's queue */

static uint64_t now_ns(void)
{
    return hx_clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* ---- a connection over TCP */

static void connection_close(struct hx_late_peer *late)
{
    if (late->fd >= 0)
        close(late->fd);
    late->fd = -1;
    late->connected = 0;
}

static int address_of(const struct hx_edge *edge, struct sockaddr_storage *name)
{
    size_t bytes = sizeof(*name);

    return fi_av_lookup(edge->paths[0].rail->av, edge->paths[0].addr, name, &bytes);
}

static int is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *four = (const void *)a, *other_four = (const void *)b;
    const struct sockaddr_in6 *six = (const void *)a, *other_six = (const void *)b;

    if (a->ss_family != b->ss_family)
        return 0;
    return a->ss_family == AF_INET6 ? memcmp(&six->sin6_addr, &other_six->sin6_addr, sizeof(six->sin6_addr)) == 0
                                    : four->sin_addr.s_addr == other_four->sin_addr.s_addr;
}

/* Returns 0, EINPROGRESS, the errno that shows that the peer is unreachable, or EAGAIN: this process lacks a resource. */
static int connection_begin(const struct hx_net *net, struct hx_late_peer *late)
{
    const int on = 1, step_s = 1;
    const unsigned most_ms = (unsigned)(net->silent_ns / 1000000); /* without an answer the kernel ends the connection then */
    struct sockaddr_storage name;

    if (address_of(late->edge, &name) != 0)
        return EAGAIN;
    late->fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (late->fd < 0)
        return EAGAIN;
    setsockopt(late->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(late->fd, IPPROTO_TCP, TCP_KEEPIDLE, &step_s, sizeof(step_s));
    setsockopt(late->fd, IPPROTO_TCP, TCP_KEEPINTVL, &step_s, sizeof(step_s));
    setsockopt(late->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof(most_ms));
    if (connect(late->fd, (struct sockaddr *)&name, name.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) == 0)
        return 0;
    return errno == ECONNREFUSED || errno == EINPROGRESS || errno == EHOSTUNREACH || errno == ENETUNREACH ? errno : EAGAIN;
}

/* The state of the connection: 0: established; EINPROGRESS; or the errno with which it has ended. */
static int connection_look(const struct hx_late_peer *late)
{
    struct pollfd fd = {.fd = late->fd, .events = POLLIN | POLLOUT};
    socklen_t bytes = sizeof(int);
    int error = 0;

    if (poll(&fd, 1, 0) <= 0)
        return EINPROGRESS;
    if (getsockopt(late->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0)
        return error != 0 ? error : EINPROGRESS;
    return fd.revents & (POLLIN | POLLHUP) ? ECONNRESET : 0; /* the peer sends nothing, so input means the end */
}

/* Is this the address of a host that was silent for so long that another peer there is gone? */
static int is_silent_host(const struct hx_net *net, const struct hx_edge *edge)
{
    struct sockaddr_storage mine, other;

    if (address_of(edge, &mine) != 0)
        return 0;
    for (int i = 0; i < net->nranks; i++)
        if (net->edges[i] && net->edges[i]->silent && address_of(net->edges[i], &other) == 0 && is_same_host(&mine, &other))
            return 1;
    return 0;
}

/* The peer may end a connection because it has too many. So this connection's end proves nothing; if the next one is refused, the
 * peer is gone. A connection without an answer may be behind others in a full queue; with few ranks the queue cannot be full. */
static int tcp_is_gone(const struct hx_net *net, struct hx_late_peer *late, uint64_t now, uint64_t silent_ns)
{
    const int begins = late->fd < 0, stood = late->connected;
    int error = begins ? connection_begin(net, late) : connection_look(late);

    if (error == 0) {
        late->connected = 1;
        late->answered = now;
        late->edge->doubted = 0;
    } else if (error != EINPROGRESS) {
        connection_close(late);
    }
    if (error == EAGAIN || error == ECONNRESET) /* this rank could not ask, or the host has answered */
        late->answered = now;
    late->edge->refuses |= error == ECONNREFUSED;
    return error == ECONNREFUSED || (stood && error == ETIMEDOUT) ||
           (now - late->answered > silent_ns && (error != EINPROGRESS || (!begins && net->nranks <= QUEUE_LENGTH)));
}

/* The provider reports a broken connection. If the peer's process has ended, its listener is gone, or goes while this waits. A peer
 * that resets the probe, as it does with silent connections, is asked again. */
int hx_edge_accepts(const struct hx_net *net, struct hx_edge *edge)
{
    struct hx_late_peer probe = {.edge = edge, .fd = -1};
    const uint64_t begun = now_ns();
    int error = EINPROGRESS, stood = 0;

    if (!net->traits->kernel_answers || edge->gone)
        return 0;
    if (edge->accepted_at != 0 && begun - edge->accepted_at < CERTAIN_NS)
        return 1;
    while (error != ECONNREFUSED && now_ns() - begun < CERTAIN_NS) {
        error = probe.fd >= 0 ? connection_look(&probe) : connection_begin(net, &probe);
        stood |= error == 0;
        if (error != 0 && error != EINPROGRESS)
            connection_close(&probe);
        nanosleep(&(struct timespec){.tv_nsec = CERTAIN_STEP_NS}, NULL);
    }
    connection_close(&probe);
    edge->refuses |= error == ECONNREFUSED;
    if (error == ECONNREFUSED || !stood)
        return 0;
    edge->accepted_at = now_ns();
    return 1;
}

/* ---- the provider's connections to a peer */

struct peer_of {
    const struct hx_net *net;
    const struct hx_edge *edge;
};

static int is_stalled(const void *ctx, int fd)
{
    const struct peer_of *of = ctx;
    struct sockaddr_storage local, peer, listens;
    struct tcp_info info;
    socklen_t bytes = sizeof(info);

    if (!hx_socket_names(fd, &local, &peer) || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_last_data_recv < STALLED_MS)
        return 0;
    for (int i = 0; i < of->edge->npaths; i++) {
        size_t length = sizeof(listens);
        if (of->edge->paths[i].address_hash == hx_address_hash(&peer, sizeof(peer)))
            return 1;
        if (hx_socket_is_own(of->net, fd) && fi_av_lookup(of->edge->paths[i].rail->av, of->edge->paths[i].addr, &listens, &length) == 0 &&
            is_same_host(&peer, &listens))
            return 1;
    }
    return 0;
}

void hx_peer_disconnect(const struct hx_net *net, const struct hx_edge *edge)
{
    const struct peer_of of = {net, edge};

    if (net->traits->kernel_answers)
        hx_files_visit(is_stalled, &of, hx_socket_shut);
}

/* ---- late peers */

static void late_end(struct hx_late_peer *late)
{
    connection_close(late);
    late->edge = NULL;
}

/* The entry of a peer. A new one gets a free entry, or the entry that was not checked for the longest time. NULL: too many peers
 * are late. */
static struct hx_late_peer *late_of(struct hx_net *net, struct hx_edge *edge, uint64_t now)
{
    struct hx_late_peer *unused = net->late_peers;

    for (struct hx_late_peer *late = net->late_peers; late < net->late_peers + HX_LATE_PEERS_MAX; late++) {
        if (late->edge && now - late->seen > FORGET_NS)
            late_end(late);
        if (late->edge == edge)
            return late;
        if (unused->edge && (!late->edge || late->seen < unused->seen))
            unused = late;
    }
    if (unused->edge && now - unused->seen <= PATIENCE_NS)
        return NULL;
    if (unused->edge)
        late_end(unused);
    *unused = (struct hx_late_peer){.edge = edge, .fd = -1, .since = now, .seen = now};
    return unused;
}

void hx_edge_mark_gone(struct hx_net *net, struct hx_edge *edge)
{
    edge->gone = 1;
    edge->has_arrivals = 0;
    net->lost_ns = 0;
}

void hx_loss_note(struct hx_net *net, int code, const char *why)
{
    if (net->lost_ns != 0 || hx_any_edge_is_gone(net)) /* if a peer is known to be gone, the message was to that peer */
        return;
    net->lost_ns = now_ns();
    snprintf(net->lost_why, sizeof(net->lost_why), "provider code %d, %s", code, why);
}

/* A short message was lost HX_SILENT seconds ago. If its peer were gone, this rank would know by now. So a peer that is alive misses a
 * message, and receives no later ones. It notices only if this endpoint is closed. */
static void lost_end(struct hx_net *net, uint64_t now)
{
    if (net->lost_ns == 0 || now - net->lost_ns < net->silent_ns || net->breaking)
        return;
    hx_fail(HX_ERR_TRANSPORT,
            "rank %d of the job lost a short message, because the peer could not be reached for a while (%s): Hierax closes this "
            "network endpoint",
            net->rank, net->lost_why);
    hx_net_break_soon(net, HX_ERR_TRANSPORT);
}

/* message: the question for the peer; NULL: do not ask it. */
static int edge_check(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    uint64_t now = now_ns();
    struct hx_late_peer *late;
    int unseen, again; /* this rank has made no check for a while; another endpoint of its host was silent for long, or another rank could not reach this one */

    if (!(late = edge->gone ? NULL : late_of(net, edge, now)))
        return edge->gone;
    unseen = now - late->seen > PATIENCE_NS;
    if (unseen) /* an answer may be unread */
        late->answered = now;
    late->seen = now;
    lost_end(net, now);
    again = edge->doubted || (net->traits->kernel_answers && is_silent_host(net, edge));
    if (!again && now - late->since < PATIENCE_NS)
        return 0;
    if (late->interval == 0) {
        late->ask_at = now;
        if (!unseen)
            late->answered = again ? now : late->since; /* nothing has arrived since; this rank has not checked itself what others claim */
        late->interval = PATIENCE_NS;
    } else if (edge->has_arrivals) { /* the peer was not late meanwhile */
        late->interval = PATIENCE_NS;
        late->ask_at = late->ask_at < now + PATIENCE_NS ? late->ask_at : now + PATIENCE_NS;
    }
    edge->has_arrivals = 0;
    if (net->traits->kernel_answers && tcp_is_gone(net, late, now, again ? SILENT_AGAIN_NS : net->silent_ns)) {
        edge->silent = !edge->refuses;
        hx_edge_mark_gone(net, edge);
        late_end(late);
    } else if (message && now >= late->ask_at && (late->connected || !net->traits->kernel_answers) && hx_control_message_ask(net, edge, message) >= 0) {
        late->ask_at = now + late->interval;
        late->interval = 2 * late->interval < ASK_NS_MAX ? 2 * late->interval : ASK_NS_MAX;
    }
    return edge->gone;
}

int hx_peer_check(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct hx_edge *edge;

    if (!net->edges[peer] && hx_meeting_check(net, peer))
        return 1;
    if (net->broken || !(edge = net->edges[peer] ? net->edges[peer] : hx_meeting_edge(net, peer)))
        return 0;
    return edge_check(net, edge, edge == net->edges[peer] ? message : NULL); /* a peer that knows no address of this rank cannot answer */
}

int hx_peer_has_ended(const struct hx_net *net, int peer)
{
    const struct hx_edge *edge = net->edges[peer] ? net->edges[peer] : hx_meeting_edge(net, peer);

    return hx_meeting_has_left(net, peer) || (edge && (edge->refuses || edge->process_ended));
}

void hx_late_peers_close(struct hx_net *net)
{
    for (struct hx_late_peer *late = net->late_peers; late < net->late_peers + HX_LATE_PEERS_MAX; late++)
        if (late->edge)
            late_end(late);
}
