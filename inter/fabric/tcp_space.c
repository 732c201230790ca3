/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a TCP connection takes at once. Providers over TCP cannot cancel a send. They cannot cancel a receive either once a part
 * of it has arrived. When a call has failed, its buffers belong to the program again, so no message may use them. Therefore:
 *
 *   - A send uses the caller's memory only if the kernel certainly takes all of it at once. Else a copy in a bounce buffer is sent, which may
 *     wait in the provider.
 *   - While a send waits in the provider, further long messages wait here. A long message may wait in the provider only when this rank waits
 *     too. Otherwise half a chunk could leave while this rank makes no call, and its receiver could not cancel.
 *   - Short messages are received into bounce buffers, which may stay half full.
 *
 *     look: space = free kernel memory of the socket  -- each send: space -= its cost -->  not enough: copy, or wait
 *        ^                                                                                    |
 *        `----------------------- nothing waits in the provider any more <--------------------'
 *
 * libfabric does not report which socket belongs to a path. So all sockets that may belong to it are read (SO_MEMINFO): those
 * connected to the peer's address, and those that the peer's host has connected to this rank's address.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/sockets.h"
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENT_ROUNDS 64 /* progress calls without a pause */

struct hx_socket {
    int fd;
    uint64_t local, peer, host; /* hx_address_hash, hx_host_hash */
};

/* Kernel memory that a message takes: its bytes, its headers, and the heads of the kernel's buffers. cost: at most; usual_cost: as
 * a rule. */
static size_t cost(size_t bytes)
{
    return bytes + bytes / 8 + 4096;
}

static size_t usual_cost(size_t bytes)
{
    return bytes + bytes / 32 + 1024;
}

/* With tcp_notsent_lowat a socket takes less than its buffer holds. */
static int kernel_takes_all(void)
{
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_notsent_lowat", "re");
    unsigned long most = 0;

    if (file && fscanf(file, "%lu", &most) != 1)
        most = 0;
    if (file)
        fclose(file);
    return most >= INT32_MAX;
}

/* Only native tcp: layers above TCP pass on a long message only when the peer asks for it, so the kernel does not take it at
 * once. */
void hx_tcp_space_prepare(struct hx_net *net)
{
    net->direct = net->traits->direct;
    if (net->direct == HX_DIRECT_IF_SPACE && !kernel_takes_all())
        net->direct = HX_DIRECT_NEVER;
}

/* ---- finding sockets */

static int is_late(const struct hx_net *net, int fd)
{
    for (int i = 0; i < HX_LATE_PEERS_MAX; i++)
        if (net->late_peers[i].edge && net->late_peers[i].fd == fd)
            return 1;
    return 0;
}

/* ctx: where the net's address stands. Adds all connected sockets of the process but those of dead_peer.c. */
static int socket_add(const void *ctx, int fd)
{
    struct hx_net *net = *(struct hx_net *const *)ctx;
    struct sockaddr_storage local, peer;
    struct hx_socket *grown;

    if (is_late(net, fd) || !hx_socket_names(fd, &local, &peer) || peer.ss_family == AF_UNSPEC)
        return 0;
    grown = realloc(net->sockets, (net->nsockets + 1) * sizeof(*grown));
    if (!grown)
        return 0; /* sends of a path whose socket is not found are copied */
    grown[net->nsockets++] =
        (struct hx_socket){fd, hx_address_hash(&local, sizeof(local)), hx_address_hash(&peer, sizeof(peer)), hx_host_hash(&peer, sizeof(peer))};
    net->sockets = grown;
    return 0; /* there is no visitor to call */
}

/* ---- reading their space */

/* Returns 0, or -1: this descriptor is no longer the socket that was found. */
static int socket_ask(int fd, size_t *room)
{
    uint32_t memory[SK_MEMINFO_VARS];
    socklen_t bytes = sizeof(memory);

    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &bytes) != 0 || bytes <= SK_MEMINFO_WMEM_QUEUED * sizeof(*memory))
        return -1;
    *room = memory[SK_MEMINFO_SNDBUF] > memory[SK_MEMINFO_WMEM_QUEUED]
                ? memory[SK_MEMINFO_SNDBUF] - memory[SK_MEMINFO_WMEM_QUEUED]
                : 0;
    return 0;
}

/* Returns whether the path's socket is found. If the buffer is too small, poll the socket: the kernel then lets the buffer grow. */
static int sockets_ask(const struct hx_net *net, struct hx_path *path, size_t wanted)
{
    size_t room;
    int found = 0;

    path->space = SIZE_MAX;
    path->most_space = 0;
    for (const struct hx_socket *s = net->sockets; s < net->sockets + net->nsockets; s++) {
        if (s->peer != path->address_hash && (s->local != path->rail->address_hash || s->host != path->host_hash))
            continue;
        if (socket_ask(s->fd, &room) != 0)
            return 0;
        if (room < wanted)
            poll(&(struct pollfd){.fd = s->fd, .events = POLLOUT}, 1, 0);
        if (room < path->space)
            path->space = room;
        if (room > path->most_space)
            path->most_space = room;
        found = 1;
    }
    return found;
}

static void look(struct hx_net *net, struct hx_path *path, size_t wanted)
{
    path->found = path->found && sockets_ask(net, path, wanted);
    if (!path->found) {
        net->nsockets = 0;
        hx_files_visit(socket_add, &net, NULL);
        path->found = sockets_ask(net, path, wanted);
    }
    if (!path->found) {
        path->space = 0;
        path->most_space = SIZE_MAX;
    }
}

/* Has this rank waited since the path was first found without room? */
static int waits(const struct hx_net *net, struct hx_path *path)
{
    if (!path->lacks_space) {
        path->lacks_space = 1;
        path->lacks_since = net->rounds;
    }
    return net->rounds - path->lacks_since >= PATIENT_ROUNDS || net->rounds - path->lacks_since > net->rounds - net->armed;
}

enum hx_send_mode hx_path_send_mode(struct hx_net *net, struct hx_path *path, size_t bytes, int is_large)
{
    if (net->direct != HX_DIRECT_IF_SPACE)
        return net->direct == HX_DIRECT_ALWAYS ? HX_SEND_DIRECT : HX_SEND_COPY;
    if (cost(bytes) <= path->space)
        return HX_SEND_DIRECT;
    if (path->posted == 0) /* the path may not be connected yet */
        return HX_SEND_COPY;
    if (path->ended < path->waits)
        return is_large && path->ended < path->tracked ? HX_SEND_LATER : HX_SEND_COPY;
    look(net, path, cost(bytes));
    if (cost(bytes) <= path->space)
        return HX_SEND_DIRECT;
    return is_large && path->most_space < usual_cost(bytes) && !waits(net, path) ? HX_SEND_SOON : HX_SEND_COPY;
}

void hx_path_posted(struct hx_path *path, size_t bytes, struct hx_chunk *chunk)
{
    path->posted++;
    path->lacks_space = 0;
    if (chunk) {
        chunk->order = path->tracked = path->posted;
        path->rail->sends_in_flight++;
        path->rail->unread = 1;
    }
    if (cost(bytes) <= path->space) {
        path->space -= cost(bytes);
    } else {
        path->space = 0;
        path->waits = path->posted;
    }
}

void hx_path_ended(struct hx_path *path, const struct hx_chunk *chunk)
{
    if (path->ended < chunk->order)
        path->ended = chunk->order;
}
