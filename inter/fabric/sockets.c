/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping the endpoints' descriptors out of child processes. If a child holds a listener or a connection of its rank, the kernel
 * keeps answering for the rank after the rank's death, and hides it. libfabric (1.17 at least) opens these descriptors without
 * FD_CLOEXEC. So
 *
 *   a child made by fork             closes them (hx_sockets_close_in_child, from pthread_atfork);
 *   a child that executes a program  loses them by FD_CLOEXEC (hx_sockets_guard), since vfork, posix_spawn and system run no handlers. The
 *                                    flag is set on listeners once they are open. On connections it is set when the first message from or
 *                                    to a peer has passed, and a few more times in the next second, since both sides may connect.
 *
 * They are found among all descriptors by their addresses: bound to an address of this rank, or connected to a peer's.
 *
 * A device's (EFA) queues live as long as any process has the device file open, and accept what is sent to them. rdma-core opens
 * the file with O_CLOEXEC. A child made by fork must not use it, and closes it.
 *
 * Not covered: a fork while hx_init runs in another thread; children made by a raw clone; children made by vfork, until they
 * execute; in a child that executes a program, a connection over which no message has come yet. (In the last case the peer still
 * learns of the death, because the listener is gone.) If the rank shares its node, the other ranks there report its death anyway:
 * see liveness.c.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/sockets.h"
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define VERBS_MAJOR 231 /* of /dev/infiniband/uverbs0 */
#define VERBS_MINOR 192 /* of uverbs0; uverbs1 and so on have the next ones */
#define GUARD_NS_MAX UINT64_C(1000000000)

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) /* FNV-1a */
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t hx_host_hash(const void *name, size_t bytes)
{
    const uint64_t start = UINT64_C(14695981039346656037);
    const struct sockaddr_in *v4 = name;
    const struct sockaddr_in6 *v6 = name;

    if (bytes >= sizeof(*v4) && v4->sin_family == AF_INET)
        return mix(start, &v4->sin_addr, sizeof(v4->sin_addr));
    if (bytes >= sizeof(*v6) && v6->sin6_family == AF_INET6)
        return mix(start, &v6->sin6_addr, sizeof(v6->sin6_addr));
    return 0;
}

uint64_t hx_address_hash(const void *name, size_t bytes)
{
    const uint64_t host = hx_host_hash(name, bytes);
    const uint16_t port = host != 0 ? hx_socket_port(name) : 0;

    return host != 0 ? mix(host, &port, sizeof(port)) : 0;
}

int hx_address_is_own(const struct hx_net *net, uint64_t address_hash)
{
    int found = 0;

    for (int i = 0; i < net->nrails && address_hash != 0; i++)
        found |= net->rails[i].address_hash == address_hash;
    return found;
}

static int is_of_peer(const struct hx_net *net, uint64_t address_hash)
{
    for (int i = 0; i < net->nranks && address_hash != 0; i++)
        for (int k = 0; net->edges[i] && k < net->edges[i]->npaths; k++)
            if (net->edges[i]->paths[k].address_hash == address_hash)
                return 1;
    return 0;
}

static int is_ours(const void *ctx, int fd)
{
    struct sockaddr_storage local, peer;
    const struct hx_net *net = ctx;

    return hx_socket_names(fd, &local, &peer) &&
           (hx_address_is_own(net, hx_address_hash(&local, sizeof(local))) || is_of_peer(net, hx_address_hash(&peer, sizeof(peer))));
}

static int is_device(const void *ctx, int fd)
{
    const dev_t first = hx_fabric_test.device != 0 ? hx_fabric_test.device : makedev(VERBS_MAJOR, VERBS_MINOR);
    struct stat st;

    (void)ctx;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == major(first) && minor(st.st_rdev) >= minor(first);
}

static int uses_devices(const struct hx_net *net)
{
    const char *provider = net->info->fabric_attr->prov_name;

    return strcmp(provider, "efa") == 0 || strncmp(provider, "verbs", 5) == 0 || hx_fabric_test.device != 0;
}

void hx_sockets_guard(struct hx_net *net)
{
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);

    if (net->rails[0].address_hash == 0)
        net->unguarded = 0; /* no sockets over IP */
    if (net->rails[0].address_hash == 0 || now - net->guarded_at < net->guard_ns)
        return;
    net->guarded_at = now;
    net->guard_ns *= 2;
    net->unguarded = net->guard_ns < GUARD_NS_MAX;
    hx_files_visit(is_ours, net, hx_file_guard);
}

void hx_sockets_close_in_child(const struct hx_net *net)
{
    hx_files_visit(is_ours, net, hx_file_close);
    if (uses_devices(net))
        hx_files_visit(is_device, net, hx_file_close);
}
