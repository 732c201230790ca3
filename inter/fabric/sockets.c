/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping the endpoints' descriptors out of child processes. If a child holds a listener or a connection of its rank, the kernel
 * still answers for the rank after the rank's death, and so hides it. libfabric (1.17 at least) opens these descriptors without
 * FD_CLOEXEC. There are two kinds of children:
 *
 *   made by fork        The child closes the descriptors: hx_sockets_close_in_child, from pthread_atfork.
 *   executes a program  FD_CLOEXEC closes them, because vfork, posix_spawn and system run no handlers. hx_sockets_guard sets the
 *                       flag: on listeners once they are open, on connections when a first message has passed. It runs a few
 *                       more times in the next second, because both sides may connect.
 *
 * Both look at all descriptors of the process and know theirs by the address: of this rank, or of a peer.
 *
 * The queues of a device (EFA) live as long as any process has the device file open, and accept what is sent to them. rdma-core
 * opens the file with O_CLOEXEC. A child made by fork must not use the file, so it closes it.
 *
 * Four cases are not covered:
 *   a fork while hx_init runs in another thread;
 *   a child made by a raw clone;
 *   a child made by vfork, until it executes a program;
 *   a child that executes a program: its copy of a connection over which no message has passed. There the peer still learns of the
 *   death, because the listener is gone.
 * If the rank shares its node, the other ranks of the node report its death anyway: runtime/engine/liveness.c.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/sockets.h"
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define VERBS_MAJOR 231 /* of /dev/infiniband/uverbs0 */
#define VERBS_MINOR 192 /* of uverbs0; uverbs1 and so on have the next ones */
#define GUARD_NS_MAX UINT64_C(1000000000)

uint64_t hx_host_hash(const void *name, size_t bytes)
{
    const struct hx_ip ip = hx_ip_of(name, bytes);

    return ip.length > 0 ? hx_fnv(HX_FNV_START, ip.bytes, ip.length) : 0;
}

uint64_t hx_address_hash(const void *name, size_t bytes)
{
    const uint64_t host = hx_host_hash(name, bytes);
    const uint16_t port = host != 0 ? hx_socket_port(name) : 0;

    return host != 0 ? hx_fnv(host, &port, sizeof(port)) : 0;
}

static int is_own(const struct hx_net *net, uint64_t address_hash)
{
    int found = 0;

    for (int i = 0; i < net->nrails && address_hash != 0; i++)
        found |= net->rails[i].address_hash == address_hash;
    return found;
}

int hx_socket_is_own(const struct hx_net *net, int fd)
{
    struct sockaddr_storage local, peer;

    return hx_socket_names(fd, &local, &peer) && is_own(net, hx_address_hash(&local, sizeof(local)));
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
           (is_own(net, hx_address_hash(&local, sizeof(local))) || is_of_peer(net, hx_address_hash(&peer, sizeof(peer))));
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
    return net->is_open && (net->traits->has_device_file || hx_fabric_test.device != 0);
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
