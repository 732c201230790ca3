/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What plain TCP carries between the nodes of this job, without the library under test: what a library that goes over TCP can do at best.
 *
 *     latency   8 bytes to and fro between the first ranks of nodes 0 and 1
 *     ring      each node sends to the next and receives from the one before, all at once
 *     one way   node 0 sends to node 1
 *
 * Ring and one way go by one stream a node and by one for each rank, of nodes of unlike sizes by as many as the smallest has; the best of
 * all rounds counts. Where ranks cannot reach each other at the interface that the library uses, nothing is measured, after a second.
 */
#include "bench_backend.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 1000
#define STREAM_LEAST ((size_t)256 << 10) /* a stream's bytes: this, four times and sixteen times as many */
#define STREAM_MOST ((size_t)4 << 20)
#define CHUNK_BYTES ((size_t)256 << 10)
#define ROUNDS_NS 50e6 /* no further rounds after so long */
#define ROUNDS 8
#define PINGS 100
#define FAILED 1e18 /* us or ns */

struct end { /* gathered as 64-bit words; address 0: none */
    uint64_t machine, node, rank, address, port, nonce;
};

struct wire {
    const struct bench_job *job;
    int streams;    /* that a node can have */
    int node, mine; /* this rank's node, and which of the node's ranks it is */
    int listener, to_next, from_before;
};

/* ---- connections ------------------------------------------------------------------------------------------------ */

/* Of "libfabric 1.17 provider net 117.0 on eth0": the interface, where that is one and the provider goes over TCP. */
static int tcp_interface(const char *network, char *name, size_t size)
{
    static const char *const providers[] = {" provider net ", " provider tcp", " provider sockets "};
    const char *on = strstr(network, " on ");
    int is_tcp = 0;

    for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
        is_tcp |= strstr(network, providers[i]) != NULL;
    return is_tcp && on && !strchr(on, '+') && (size_t)snprintf(name, size, "%s", on + 4) < size;
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

static struct sockaddr_in place_of(uint64_t address, uint64_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = (uint32_t)address, .sin_port = (uint16_t)port};
}

/* Listen at the interface. A failure leaves address 0. */
static int offer(const char *name, struct end *mine)
{
    struct sockaddr_in place = place_of(address_of(name), 0);
    socklen_t length = sizeof(place);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (s < 0 || !place.sin_addr.s_addr || bind(s, (struct sockaddr *)&place, length) || listen(s, 8) ||
        getsockname(s, (struct sockaddr *)&place, &length))
        return s;
    mine->address = place.sin_addr.s_addr;
    mine->port = place.sin_port;
    mine->nonce = (uint64_t)bench_now_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    return s;
}

static int is_ready(int s, short events)
{
    struct pollfd p = {.fd = s, .events = events};

    return poll(&p, 1, PATIENCE_MS) > 0 && (p.revents & events);
}

/* Connected, with the other's number said; or -1. */
static int reach(const struct end *other)
{
    const struct sockaddr_in place = place_of(other->address, other->port);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, error = 0;
    socklen_t length = sizeof(error);

    if (s >= 0 && (connect(s, (const struct sockaddr *)&place, sizeof(place)) == 0 || errno == EINPROGRESS) && is_ready(s, POLLOUT) &&
        getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0 &&
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
        send(s, &other->nonce, sizeof(other->nonce), MSG_NOSIGNAL) == sizeof(other->nonce))
        return s;
    if (s >= 0)
        close(s);
    return -1;
}

/* The connection that says this rank's number, or -1. */
static int admit(int listener, uint64_t nonce)
{
    uint64_t said = 0;
    int s = is_ready(listener, POLLIN) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1, one = 1;

    if (s >= 0 && is_ready(s, POLLIN) && recv(s, &said, sizeof(said), 0) == sizeof(said) && said == nonce &&
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0)
        return s;
    if (s >= 0)
        close(s);
    return -1;
}

static int by_node(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->machine != y->machine)
        return x->machine < y->machine ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Where the node of ends[i] stops; they stand by nodes. */
static int stop_of(const struct end *ends, int size, int i)
{
    int stop = i + 1;

    while (stop < size && ends[stop].machine == ends[i].machine && ends[stop].node == ends[i].node)
        stop++;
    return stop;
}

/* Find this rank's place among the nodes, and connect to the rank at the same place of the next one. */
static void join(struct wire *w, struct end *ends)
{
    const int size = w->job->size;
    const struct end *next = NULL, *me = NULL;

    qsort(ends, (size_t)size, sizeof(*ends), by_node);
    w->streams = size;
    for (int start = 0, stop, node = 0; start < size; start = stop, node++) {
        stop = stop_of(ends, size, start);
        w->streams = stop - start < w->streams ? stop - start : w->streams;
        for (int i = start; i < stop; i++)
            if (ends[i].rank == (uint64_t)w->job->rank) {
                me = &ends[i];
                w->node = node;
                w->mine = i - start;
                next = &ends[stop < size ? stop : 0] + w->mine;
            }
    }
    if (w->mine >= w->streams || !next->address)
        return;
    w->to_next = reach(next);
    w->from_before = admit(w->listener, me->nonce);
}

/* ---- measuring: all ranks call these -------------------------------------------------------------------------------------- */

/* The most of all ranks' values; below 0 where the backend failed. */
static double most_of_all(double mine)
{
    double most;

    return bench_allreduce(&mine, &most, 1, HX_FLOAT64, HX_MAX) ? -1 : most;
}

/* Eight bytes. 0, or -1: the other has gone, or nothing moved for long. */
static int pass(int s, char *byte8, int sending, int yields)
{
    double until = 0;

    for (size_t done = 0; done < 8;) {
        ssize_t n = sending ? send(s, byte8 + done, 8 - done, MSG_NOSIGNAL) : recv(s, byte8 + done, 8 - done, 0);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return -1;
        until = until > 0 ? until : bench_now_ns() + PATIENCE_MS * 1e6;
        if (bench_now_ns() > until)
            return -1;
        if (yields)
            sched_yield();
    }
    return 0;
}

/* One way, in us; only two ranks have something to do, and one of them tells. */
static double latency(const struct wire *w)
{
    double best = FAILED, begin;
    const int first = w->node == 0, s = first ? w->to_next : w->from_before;
    char byte8[8] = "latency";

    if (w->mine != 0 || w->node > 1)
        return 0;
    for (int round = 0; round < ROUNDS; round++) { /* as many on both sides */
        begin = bench_now_ns();
        for (int i = 0; i < PINGS; i++)
            if (pass(s, byte8, first, w->job->oversubscribed) || pass(s, byte8, !first, w->job->oversubscribed))
                return FAILED;
        double us = (bench_now_ns() - begin) / (2 * PINGS) / 1e3;
        best = us < best ? us : best;
    }
    return first ? best : 0;
}

static size_t chunk(size_t left)
{
    return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

/* Send and receive so much at once, and hear that it has come; either socket may be -1. 0, or -1 when nothing moved for long. */
static int stream(const struct wire *w, int out, int in, size_t bytes, char *memory)
{
    const int yields = w->job->oversubscribed;
    size_t to_send = out < 0 ? 0 : bytes, to_come = in < 0 ? 0 : bytes;

    while (to_send || to_come) {
        struct pollfd p[2] = {{.fd = to_send ? out : -1, .events = POLLOUT}, {.fd = to_come ? in : -1, .events = POLLIN}};
        ssize_t n = to_send ? send(out, memory + bytes - to_send, chunk(to_send), MSG_NOSIGNAL) : 0;
        ssize_t m = to_come ? recv(in, memory + STREAM_MOST + bytes - to_come, chunk(to_come), 0) : 0;
        to_send -= n > 0 ? (size_t)n : 0;
        to_come -= m > 0 ? (size_t)m : 0;
        if (n <= 0 && m <= 0 && poll(p, 2, PATIENCE_MS) <= 0)
            return -1;
    }
    return (in >= 0 && pass(in, memory, 1, yields)) || (out >= 0 && pass(out, memory, 0, yields)) ? -1 : 0;
}

/* GB/s of a node by so many streams of so much, the best round; 0: it failed. */
static double rate(const struct wire *w, int streams, size_t bytes, int one_way, char *memory)
{
    const int out = w->mine < streams && (!one_way || w->node == 0) ? w->to_next : -1;
    const int in = w->mine < streams && (!one_way || w->node == 1) ? w->from_before : -1;
    double best = 0, since = bench_now_ns(), gone = 0;

    for (int round = 0; round < ROUNDS && gone < ROUNDS_NS; round++) {
        double begin, ns = 0;
        if (bench_barrier())
            return 0;
        begin = bench_now_ns();
        if ((out >= 0 || in >= 0) && (!memory || stream(w, out, in, bytes, memory)))
            ns = FAILED;
        else if (out >= 0) /* who only receives may have begun late */
            ns = bench_now_ns() - begin;
        ns = most_of_all(ns);
        if (ns <= 0 || ns >= FAILED)
            return 0;
        best = streams * (double)bytes / ns > best ? streams * (double)bytes / ns : best;
        gone = most_of_all(bench_now_ns() - since);
    }
    return best;
}

static double best_rate(const struct wire *w, int one_way, char *memory)
{
    double best = 0;

    for (size_t bytes = STREAM_LEAST; bytes <= STREAM_MOST; bytes *= 4)
        for (int streams = 1; streams <= w->streams; streams += w->streams > 1 ? w->streams - 1 : 1) {
            double gbps = rate(w, streams, bytes, one_way, memory);
            if (gbps <= 0)
                return 0;
            best = gbps > best ? gbps : best;
        }
    return best;
}

static void measure(const struct wire *w, struct bench_job *job)
{
    char *memory = w->mine < w->streams ? calloc(2, STREAM_MOST) : NULL;
    double us = bench_barrier() ? 0 : most_of_all(latency(w)), all = 0, one_way = 0;

    if (memory) /* pages of its own, not the one of zeros */
        memset(memory, 1, 2 * STREAM_MOST);
    if (us > 0 && us < FAILED && (all = best_rate(w, 0, memory)) > 0 && (one_way = best_rate(w, 1, memory)) > 0) {
        job->wire_us = us;
        job->wire_gbps = all;
        job->wire_one_way_gbps = one_way;
    }
    free(memory);
}

static void part(struct wire *w)
{
    const int sockets[] = {w->listener, w->to_next, w->from_before};

    for (int i = 0; i < 3; i++)
        if (sockets[i] >= 0)
            close(sockets[i]);
}

int bench_wire_measure(struct bench_job *job)
{
    char name[64];
    struct end mine = {.machine = (uint64_t)job->machine, .node = (uint64_t)job->node, .rank = (uint64_t)job->rank}, *ends;
    struct wire w = {.job = job, .listener = -1, .to_next = -1, .from_before = -1};
    double lacks;

    if (job->nodes < 2 || most_of_all(!tcp_interface(job->network, name, sizeof(name))) != 0)
        return 0;
    ends = calloc((size_t)job->size, sizeof(*ends));
    w.listener = offer(name, &mine);
    if (!ends || bench_allgather(&mine, ends, sizeof(mine) / 8, HX_UINT64)) {
        part(&w);
        free(ends);
        return -1;
    }
    join(&w, ends);
    free(ends);
    lacks = most_of_all(w.mine < w.streams && (w.to_next < 0 || w.from_before < 0));
    if (lacks == 0)
        measure(&w, job);
    part(&w);
    return lacks < 0 ? -1 : 0;
}
