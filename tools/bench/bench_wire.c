/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rate of plain TCP between the nodes of this job, without the library under test: the best that a library over TCP can do.
 *
 *     latency   8 bytes to and fro between the first ranks of nodes 0 and 1
 *     ring      each node sends to the next and receives from the one before, all at once
 *     one way   node 0 sends to node 1
 *
 * Ring and one way use 1, 2, 4, ... streams from node to node, up to as many as the smallest node has ranks, of 256 KiB to 4 MiB.
 * The best round counts. If single connections are slowed, as some clouds do, a library that opens more of them may do better:
 * bench_bound.c leaves out collectives whose nodes talk to several at once.
 *
 *     node 0          node 1          node 2
 *     rank 0  ----->  rank 3  ----->  rank 4  -----> rank 0
 *     rank 1  (node 1 has one rank, so there is one connection from each node to the next)
 *     rank 2
 *
 * A rank listens at the interface that the library uses, and says where. The first rank of a node always knows that interface, and those
 * without an endpoint use its address. A rank that connects says the number that it was given.
 */
#include "tools/common/bench_backend.h"
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S 0.5 /* for a join, all pings, or a stream: meanwhile the other ranks wait in the library, which gives up after HX_TIMEOUT */
#define STREAM_LEAST ((size_t)256 << 10)
#define STREAM_MOST ((size_t)4 << 20)
#define WINDOW_BYTES ((size_t)256 << 10) /* of memory each way, used again and again: many ranks may share a machine */
#define ROUNDS_NS 50e6 /* no further rounds or pings after so long */
#define ROUNDS 8
#define PINGS 1000
#define FAILED 1e18 /* us or ns */

struct wire {
    const struct bench_job *job;
    int streams;              /* connections from a node to the next: the ranks of the smallest */
    int node, local;          /* this rank's node, in the order of their first ranks, and which of the node's ranks it is */
    int to_next, from_before; /* sockets that do not block; -1: none */
    char *memory;             /* to send and to receive, two windows; NULL: there is none, or no part for this rank */
    double us;                /* the time of an answer, at most */
};

/* The most of all ranks' values. */
static double most_of(double mine)
{
    double most;

    if (bench_allreduce(&mine, &most, 1, HX_FLOAT64, HX_MAX))
        bench_backend_abort(1);
    return most;
}

/* Wait until a socket can do more, for a millisecond at most, and let the library move. 0, or -1 when it is too long since that moment. */
static int wait_for(int s, short events, double since_s)
{
    struct pollfd p = {.fd = s, .events = events};

    if (hx_now_s() - since_s > PATIENCE_S)
        return -1;
    if (poll(&p, 1, 1) == 0)
        bench_backend_progress(); /* others may wait for what this rank's library has to send */
    return 0;
}

/* ---- connect the nodes in a ring ------------------------------------------------------------------------------------- */

struct end { /* gathered as 64-bit words; address 0: not known, port 0: none */
    uint64_t machine, node, rank, address, port, nonce;
};

/* Does the provider go over TCP, and over one interface, as in "libfabric 1.17 provider net 117.0 on eth0"? The text of a rank without an
 * endpoint names no interface: name is "" then. */
static int tcp_interface(const char *network, char *name, size_t size)
{
    static const char *const providers[] = {" provider net", " provider tcp", " provider sockets"};
    const char *on = strstr(network, " on ");
    int is_tcp = 0;

    for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
        is_tcp |= strstr(network, providers[i]) != NULL;
    on = on ? on + 4 : "";
    return is_tcp && !strchr(on, '+') && (size_t)snprintf(name, size, "%s", on) < size;
}

static uint32_t address_of(const char *name)
{
    struct ifaddrs *all = NULL;
    uint32_t address = 0;

    if (getifaddrs(&all))
        return 0;
    for (const struct ifaddrs *i = all; i && !address; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && strcmp(i->ifa_name, name) == 0)
            address = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
    freeifaddrs(all);
    return address;
}

/* Listen at the interface, or at all of them if its name is not known: then address stays 0. A failure leaves port 0. */
static int offer(const char *name, struct end *mine)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = address_of(name)};
    socklen_t length = sizeof(place);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (s < 0 || (*name && !place.sin_addr.s_addr) || bind(s, (struct sockaddr *)&place, length) || listen(s, 8) ||
        getsockname(s, (struct sockaddr *)&place, &length))
        return s;
    mine->address = place.sin_addr.s_addr;
    mine->port = place.sin_port;
    mine->nonce = hx_now_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    return s;
}

static int is_ready(int s, short events, double since_s)
{
    struct pollfd p = {.fd = s, .events = events};

    while (poll(&p, 1, 0) == 0)
        if (wait_for(s, events, since_s))
            return 0;
    return (p.revents & events) != 0;
}

/* s, made ready for messages; or -1, and it is closed. */
static int made_ready(int s, int is_good)
{
    const struct linger none = {.l_onoff = 1}; /* bytes given up must not delay the library's messages */
    const int one = 1;

    if (s >= 0 && is_good && setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
        setsockopt(s, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) == 0)
        return s;
    if (s >= 0)
        close(s);
    return -1;
}

/* Connect from the interface that is measured; from any, if it has no address. */
static int connect_to(const struct end *me, const struct end *other, const char *control, double since_s)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = (uint32_t)me->address};
    const struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = (uint32_t)other->address, .sin_port = (uint16_t)other->port};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0, one = 1;
    socklen_t length = sizeof(error);

    if (control) /* without this module the socket uses the machine's. Set first: a socket that has begun to pace packets goes on */
        setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control));
    setsockopt(s, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    return made_ready(s, s >= 0 && bind(s, (const struct sockaddr *)&from, sizeof(from)) == 0 &&
                             (connect(s, (const struct sockaddr *)&place, sizeof(place)) == 0 || errno == EINPROGRESS) &&
                             is_ready(s, POLLOUT, since_s) && getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0 &&
                             send(s, &other->nonce, sizeof(other->nonce), MSG_NOSIGNAL) == sizeof(other->nonce));
}

static int accept_from(int listener, uint64_t nonce, double since_s)
{
    int s = is_ready(listener, POLLIN, since_s) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    uint64_t said = 0;

    return made_ready(s, s >= 0 && is_ready(s, POLLIN, since_s) && recv(s, &said, sizeof(said), 0) == sizeof(said) && said == nonce);
}

/* By machine, node and rank. */
static int by_node(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Nonzero where this rank has no part in the ring, or both of its connections. */
static int ring_close(struct wire *w, struct end *ends, int listener, const char *control)
{
    const int size = w->job->size;
    const double since_s = hx_now_s();
    int next = 0, me = 0;

    qsort(ends, (size_t)size, sizeof(*ends), by_node);
    w->streams = size;
    for (int start = 0, stop, node = 0; start < size; start = stop, node++) {
        for (stop = start; stop < size && ends[stop].machine == ends[start].machine && ends[stop].node == ends[start].node; stop++)
            if (ends[stop].rank == (uint64_t)w->job->rank) {
                me = stop;
                w->node = node;
                w->local = stop - start;
            }
        for (int i = start; i < stop; i++)
            ends[i].address = ends[i].address ? ends[i].address : ends[start].address;
        if (w->node == node)
            next = stop < size ? stop : 0;
        w->streams = stop - start < w->streams ? stop - start : w->streams;
    }
    if (w->local >= w->streams)
        return 1;
    if (ends[next + w->local].address && ends[next + w->local].port) {
        w->to_next = connect_to(&ends[me], &ends[next + w->local], control, since_s);
        w->from_before = accept_from(listener, ends[me].nonce, since_s);
    }
    return w->to_next >= 0 && w->from_before >= 0;
}

/* Find this rank's place among the nodes, and connect each rank to the one at the same place of the next node, with this congestion
 * control (NULL: the machine's). Returns whether all could. */
static int join(struct wire *w, const struct bench_job *job, const char *control)
{
    struct end mine = {.machine = (uint64_t)job->machine, .node = (uint64_t)job->node, .rank = (uint64_t)job->rank};
    struct end *ends = calloc((size_t)job->size, sizeof(*ends));
    char name[64];
    int joined = most_of(!ends || !tcp_interface(job->network, name, sizeof(name))) == 0, listener = joined ? offer(name, &mine) : -1;

    *w = (struct wire){.job = job, .node = -1, .to_next = -1, .from_before = -1};
    if (joined && bench_allgather(&mine, ends, sizeof(mine) / 8, HX_UINT64))
        bench_backend_abort(1);
    if (joined)
        joined = most_of(!ring_close(w, ends, listener, control)) == 0;
    if (listener >= 0)
        close(listener);
    free(ends);
    return joined;
}

static void part(struct wire *w)
{
    if (w->to_next >= 0)
        close(w->to_next);
    if (w->from_before >= 0)
        close(w->from_before);
    w->to_next = w->from_before = -1;
}

/* ---- measure ---------------------------------------------------------------------------------------------------------- */

/* Send or receive some of what is left. 0, or -1: the other has gone. */
static int move(int s, int sending, char *memory, size_t bytes, size_t *left)
{
    size_t at = (bytes - *left) % WINDOW_BYTES, most = *left < WINDOW_BYTES - at ? *left : WINDOW_BYTES - at;
    ssize_t n = most == 0 ? 0 : sending ? send(s, memory + at, most, MSG_NOSIGNAL) : recv(s, memory + at, most, 0);

    if (n < 0 ? errno != EAGAIN && errno != EINTR : n == 0 && most > 0)
        return -1;
    *left -= n > 0 ? (size_t)n : 0;
    return 0;
}

/* Eight bytes, for which this rank sleeps or keeps looking. 0, or -1: the other has gone, or it is too long since that moment. */
static int pass(const struct wire *w, int s, int sending, char byte8[8], int sleeps, double since_s)
{
    unsigned looks = 0;

    for (size_t left = 8; left;) {
        if (move(s, sending, byte8, 8, &left))
            return -1;
        if (left && ++looks % (sleeps ? 1 : w->job->oversubscribed ? 64 : 65536) == 0 && wait_for(s, sending ? POLLOUT : POLLIN, since_s))
            return -1;
        if (left && w->job->oversubscribed)
            sched_yield();
    }
    return 0;
}

/* Send and receive so much at once, and wait until it has arrived; either socket may be -1. 0, or -1 when it takes too long: the
 * others wait. */
static int stream(const struct wire *w, int out, int in, size_t bytes)
{
    size_t to_send = out < 0 ? 0 : bytes, to_come = in < 0 ? 0 : bytes;
    char *memory = w->memory;
    const double since_s = hx_now_s();

    while (to_send || to_come) {
        size_t before = to_send + to_come;
        if (move(out, 1, memory, bytes, &to_send) || move(in, 0, memory + WINDOW_BYTES, bytes, &to_come))
            return -1;
        if (to_send + to_come == before && wait_for(to_come ? in : out, to_come ? POLLIN : POLLOUT, since_s))
            return -1;
    }
    return (in >= 0 && pass(w, in, 1, memory, 0, since_s)) || (out >= 0 && pass(w, out, 0, memory, 0, since_s)) ? -1 : 0;
}

/* ---- all ranks call these -------------------------------------------------------------------------------------------- */

/* One way, in us, the best of many; only two ranks have something to do, and one of them tells. The first says which one is the last. */
static double latency(const struct wire *w)
{
    const int first = w->node == 0, s = first ? w->to_next : w->from_before;
    const double since_s = hx_now_s();
    double best = FAILED;
    char byte8[8] = "latency";

    if (w->local != 0 || w->node > 1)
        return 0;
    for (int ping = 1; byte8[0]; ping++) {
        const double begin_s = hx_now_s(), gone_ns = 1e9 * (begin_s - since_s);
        if (first && (ping == PINGS || gone_ns > ROUNDS_NS))
            byte8[0] = 0;
        int sleeps = ping <= PINGS / 2 && gone_ns < ROUNDS_NS / 2; /* first: a rank that did not yield runs at once when woken */
        if (pass(w, s, first, byte8, sleeps, since_s) || pass(w, s, !first, byte8, sleeps, since_s))
            return FAILED;
        best = fmin(best, (hx_now_s() - begin_s) * 1e6 / 2);
    }
    return first ? best : 0;
}

/* Send `bytes` on each of `streams` streams. Returns ns of the best round, or FAILED; then the sockets may be closed. *gbps: of a
 * node, raised to the bandwidth of a round. If a message and its answer have taken less than twice the answer's us, the us is
 * lowered: on busy cores every ping may have been slow. There the us can be up to twice too high. */
static double best_round(struct wire *w, int streams, size_t bytes, int one_way, double *gbps)
{
    const int out = w->local < streams && (!one_way || w->node == 0) ? w->to_next : -1;
    const int in = w->local < streams && (!one_way || w->node == 1) ? w->from_before : -1;
    const double since_s = hx_now_s();
    double best = FAILED, gone_ns = 0;

    for (int round = 0; round < ROUNDS && gone_ns < ROUNDS_NS; round++) {
        most_of(0); /* all begin at once */
        double begin_s = hx_now_s(), ns = 0;
        if ((out >= 0 || in >= 0) && (!w->memory || stream(w, out, in, bytes))) {
            ns = FAILED;
            part(w); /* bytes left in sockets must not delay the report of this failure */
        } else if (out >= 0) { /* a rank that only receives may have begun late */
            ns = 1e9 * (hx_now_s() - begin_s);
        }
        ns = most_of(ns);
        if (ns >= FAILED)
            return FAILED;
        w->us = fmin(w->us, ns / 2e3);
        ns -= w->us * 1e3;
        best = fmin(best, ns);
        *gbps = fmax(*gbps, streams * (double)bytes / ns);
        gone_ns = most_of(1e9 * (hx_now_s() - since_s));
    }
    return best;
}

/* The best of all numbers of streams and bytes, up to those that take long. 0, or -1 when one failed. */
static int best_rate(struct wire *w, int one_way, double *gbps)
{
    for (size_t bytes = STREAM_LEAST; bytes <= STREAM_MOST; bytes *= 4)
        for (int streams = 1; streams; streams = streams == w->streams ? 0 : 2 * streams < w->streams ? 2 * streams : w->streams) {
            double ns = best_round(w, streams, bytes, one_way, gbps);
            if (ns > ROUNDS_NS)
                return ns < FAILED ? 0 : -1;
        }
    return 0;
}

/* Results better than those in job go there. If any try for a rate fails, job's rate stays. */
static void measure(struct wire *w, struct bench_job *job)
{
    double gbps = job->wire_gbps, one_way = job->wire_one_way_gbps;

    w->memory = w->local < w->streams ? malloc(2 * WINDOW_BYTES) : NULL;
    if (w->memory)
        memset(w->memory, 1, 2 * WINDOW_BYTES);
    most_of(0); /* all are there */
    if ((w->us = most_of(latency(w))) < FAILED) {
        if (best_rate(w, 0, &gbps) == 0) {
            job->wire_gbps = gbps;
            if (best_rate(w, 1, &one_way) == 0)
                job->wire_one_way_gbps = one_way;
        }
        if (job->wire_one_way_gbps > 0) /* a node that only sends or only receives has less to do */
            job->wire_one_way_gbps = fmax(job->wire_one_way_gbps, job->wire_gbps);
        job->wire_us = job->wire_us > 0 ? fmin(job->wire_us, w->us) : w->us;
    }
    free(w->memory);
}

/* Do any rank's connections use another congestion control than reno? */
static int others_than_reno(const struct wire *w)
{
    char name[16] = "";
    socklen_t length = sizeof(name) - 1;

    return most_of(w->to_next >= 0 && getsockopt(w->to_next, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 && strcmp(name, "reno") != 0) > 0;
}

/* By the machine's congestion control, then by the one that every kernel has and lets every user take: what spaces packets out by timers, as bbr
 * does, is some 2 times slower in one run than in the next. */
void bench_wire_measure(struct bench_job *job)
{
    static const char *const controls[] = {NULL, "reno"};
    int more = job->nodes > 1;

    for (int i = 0; i < 2 && more; i++) {
        struct wire w;
        more = join(&w, job, controls[i]);
        if (more) {
            more = others_than_reno(&w);
            measure(&w, job);
        }
        part(&w);
    }
}
