/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets of the endpoints, and children of this process. A listener or a connection that lives on in a child hides the death of its
 * rank: the child's kernel goes on answering for it. libfabric (1.17 at least) opens them without FD_CLOEXEC. So
 *
 *   a child made by fork                 closes them (hx_sockets_leave, from pthread_atfork);
 *   a child that executes a program      loses them, since FD_CLOEXEC is set (hx_sockets_guard): vfork, posix_spawn and system run no
 *                                        handlers. It is set on the listeners once they are open; on connections when a first message of
 *                                        or to a peer has passed, and some more times in the second after that, since both sides may connect.
 *
 * They are found among all descriptors by their addresses (runtime/sockets.h): they are bound to one of ours, or connected to a peer's.
 *
 * What is not covered: a fork while hx_init runs in another thread; children made by a raw clone, and by vfork until they execute; a
 * connection by which no message has come yet, in a child that executes a program (its peer learns of the death all the same, since
 * the listener is gone). Of a rank that shares its node the others there tell: see late.c. Devices (EFA) have no sockets.
 */
#include "fabric.h"
#include "runtime/sockets.h"
#include <netinet/in.h>
#include <time.h>

#define GUARD_NS_MAX UINT64_C(1000000000)

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) /* FNV-1a */
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t hx_spot_of(const void *name, size_t bytes)
{
    const uint64_t start = UINT64_C(14695981039346656037);
    const struct sockaddr_in *v4 = name;
    const struct sockaddr_in6 *v6 = name;

    if (bytes >= sizeof(*v4) && v4->sin_family == AF_INET)
        return mix(mix(start, &v4->sin_addr, sizeof(v4->sin_addr)), &v4->sin_port, sizeof(v4->sin_port));
    if (bytes >= sizeof(*v6) && v6->sin6_family == AF_INET6)
        return mix(mix(start, &v6->sin6_addr, sizeof(v6->sin6_addr)), &v6->sin6_port, sizeof(v6->sin6_port));
    return 0;
}

static int is_local(const struct hx_net *net, uint64_t spot)
{
    int found = 0;

    for (int i = 0; i < net->nrails && spot != 0; i++)
        found |= net->rails[i].spot == spot;
    return found;
}

static int is_of_peer(const struct hx_net *net, uint64_t spot)
{
    for (int i = 0; i < net->nranks && spot != 0; i++)
        for (int k = 0; net->edges[i] != NULL && k < net->edges[i]->npaths; k++)
            if (net->edges[i]->paths[k].spot == spot)
                return 1;
    return 0;
}

static int is_ours(const void *ctx, const struct sockaddr_storage *local, const struct sockaddr_storage *peer)
{
    const struct hx_net *net = ctx;

    return is_local(net, hx_spot_of(local, sizeof(*local))) || is_of_peer(net, hx_spot_of(peer, sizeof(*peer)));
}

void hx_sockets_guard(struct hx_net *net)
{
    struct timespec t;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    if (now - net->guarded_at < net->guard_ns)
        return;
    net->guarded_at = now;
    net->guard_ns *= 2;
    net->unguarded = net->guard_ns < GUARD_NS_MAX;
    hx_sockets_visit(is_ours, net, hx_socket_guard);
}

void hx_sockets_leave(const struct hx_net *net)
{
    hx_sockets_visit(is_ours, net, hx_socket_close);
}
