/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connect the nodes of a job in a ring, by plain TCP: as many connections from each node to the next as the smallest has ranks.
 *
 *     node 0          node 1          node 2
 *     rank 0  ----->  rank 3  ----->  rank 4  -----> rank 0
 *     rank 1  (node 1 has one rank, so there is one connection from each node to the next)
 *     rank 2
 *
 * Each listens at the interface that the library uses, and says where; who connects says the number that the other gave out.
 */
#include "tools/bench/bench_wire.h"
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct end { /* gathered as 64-bit words; address 0: none */
    uint64_t machine, node, rank, address, port, nonce;
};

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

/* Listen at the interface. A failure leaves address 0. */
static int offer(const char *name, struct end *mine)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = address_of(name)};
    socklen_t length = sizeof(place);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (s < 0 || !place.sin_addr.s_addr || bind(s, (struct sockaddr *)&place, length) || listen(s, 8) ||
        getsockname(s, (struct sockaddr *)&place, &length))
        return s;
    mine->address = place.sin_addr.s_addr;
    mine->port = place.sin_port;
    mine->nonce = hx_now_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    return s;
}

double wire_most(double mine)
{
    double most;

    return bench_allreduce(&mine, &most, 1, HX_FLOAT64, HX_MAX) ? -1 : most;
}

int wire_wait(int s, short events, double since)
{
    struct pollfd p = {.fd = s, .events = events};

    if (1e9 * hx_now_s() - since > WIRE_PATIENCE_NS)
        return -1;
    if (poll(&p, 1, 1) == 0)
        bench_backend_progress(); /* others may wait for what this rank's library has to send */
    return 0;
}

static int is_ready(int s, short events, double since)
{
    struct pollfd p = {.fd = s, .events = events};

    while (poll(&p, 1, 0) == 0)
        if (wire_wait(s, events, since))
            return 0;
    return (p.revents & events) != 0;
}

/* s, made ready for messages; or -1, and it is closed. */
static int made_ready(int s, int is_good)
{
    int one = 1;

    if (s >= 0 && is_good && setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0)
        return s;
    if (s >= 0)
        close(s);
    return -1;
}

/* What cannot be had goes by the machine's. To be set at first: sockets that were to space packets out go on with it. */
static void control_set(int s, const char *control)
{
    if (control)
        setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control));
}

/* From the interface that is to be measured; where it has no address, from any. */
static int connect_to(const struct end *me, const struct end *other, const char *control, double since)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = (uint32_t)me->address};
    const struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = (uint32_t)other->address, .sin_port = (uint16_t)other->port};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0, one = 1;
    socklen_t length = sizeof(error);

    control_set(s, control);
    setsockopt(s, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    return made_ready(s, s >= 0 && bind(s, (const struct sockaddr *)&from, sizeof(from)) == 0 &&
                             (connect(s, (const struct sockaddr *)&place, sizeof(place)) == 0 || errno == EINPROGRESS) &&
                             is_ready(s, POLLOUT, since) && getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0 &&
                             send(s, &other->nonce, sizeof(other->nonce), MSG_NOSIGNAL) == sizeof(other->nonce));
}

static int accept_from(int listener, uint64_t nonce, double since)
{
    int s = is_ready(listener, POLLIN, since) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    uint64_t said = 0;

    return made_ready(s, s >= 0 && is_ready(s, POLLIN, since) && recv(s, &said, sizeof(said), 0) == sizeof(said) && said == nonce);
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

/* Nonzero where this rank has no part in the ring, or both of its connections. */
static int ring_close(struct wire *w, struct end *ends, int listener, const char *control)
{
    const int size = w->job->size;
    const double since = 1e9 * hx_now_s();
    int next = 0, me = 0;

    qsort(ends, (size_t)size, sizeof(*ends), by_node);
    w->streams = size;
    for (int start = 0, stop, node = 0; start < size; start = stop, node++) {
        stop = stop_of(ends, size, start);
        w->streams = stop - start < w->streams ? stop - start : w->streams;
        for (int i = start; i < stop; i++)
            if (ends[i].rank == (uint64_t)w->job->rank) {
                me = i;
                w->node = node;
                w->local = i - start;
                next = stop < size ? stop : 0;
            }
    }
    if (w->local >= w->streams)
        return 1;
    if (ends[next + w->local].address) {
        w->to_next = connect_to(&ends[me], &ends[next + w->local], control, since);
        w->from_before = accept_from(listener, ends[me].nonce, since);
    }
    return w->to_next >= 0 && w->from_before >= 0;
}

int wire_join(struct wire *w, const struct bench_job *job, const char *control)
{
    struct end mine = {.machine = (uint64_t)job->machine, .node = (uint64_t)job->node, .rank = (uint64_t)job->rank};
    struct end *ends = calloc((size_t)job->size, sizeof(*ends));
    char name[64];
    double lacks = ends ? wire_most(!tcp_interface(job->network, name, sizeof(name))) : -1;
    int listener = lacks == 0 ? offer(name, &mine) : -1;

    *w = (struct wire){.job = job, .to_next = -1, .from_before = -1};
    if (lacks == 0)
        lacks = bench_allgather(&mine, ends, sizeof(mine) / 8, HX_UINT64) ? -1 : wire_most(!ring_close(w, ends, listener, control));
    if (listener >= 0)
        close(listener);
    free(ends);
    return lacks < 0 ? -1 : lacks > 0;
}

/* What was given up is not to be in the way of what the library sends. */
static void drop(int *s)
{
    const struct linger now = {.l_onoff = 1};

    if (*s < 0)
        return;
    setsockopt(*s, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(*s);
    *s = -1;
}

void wire_part(struct wire *w)
{
    drop(&w->to_next);
    drop(&w->from_before);
}
