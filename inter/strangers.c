/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strangers: processes that connect to an endpoint and never say what a rank says first. libfabric accepts every connection and waits
 * without a limit, so strangers take up descriptors. Native tcp before libfabric 1.20 also forgets some connections that have ended or
 * have sent half a request: it takes an old errno for theirs, and never closes them. tcp;ofi_rxm looks at those again in every
 * round. With errno 0 before each round this is rare.
 *
 * Nor does libfabric (1.17 at least) make a connection non-blocking before it has read the request: a stranger that sends its head alone
 * would stop the rank. Connections inherit a receive time-out from their listener; 0, which a negative number sets, means not to wait.
 *
 * For the rest, connections are looked at now and then. libfabric answers a request at once; a connection to which nothing has been sent is a
 * stranger's when it has ended, or has been silent for SILENT_MS. When there are many, CROWD_MS is enough. It is reset: then libfabric
 * reads an error and closes its descriptor. What native tcp has forgotten is closed here, in the thread that drives the provider.
 *
 * A rank that is reset by mistake has sent no message yet: libfabric connects it again. Not found are strangers that speak libfabric's
 * own protocol: their connections look like those of ranks.
 */
#include "fabric.h"
#include "runtime/clock.h"
#include "runtime/sockets.h"
#include "runtime/strangers.h"
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#define SILENT_MS 5000
#define CROWD_MS 200
#define LOOK_NS UINT64_C(1000000000)
#define LOOK_AGAIN_NS UINT64_C(100000000) /* while there are strangers */

enum { ESTABLISHED = 1, CLOSED = 7, LISTENS = 10 }; /* the kernel's states of TCP; its header and the C library's do not go together */

struct look {
    const struct hx_net *net;
    uint32_t silent_ms;     /* how long a stranger may be silent */
    int *strangers, *ended; /* found: all, and those whose connection has ended or was reset */
};

/* Accepted by our listener, and nothing was ever sent to it. */
static int is_unanswered(const struct hx_net *net, int fd, struct tcp_info *info)
{
    struct sockaddr_storage local, peer;
    socklen_t bytes = sizeof(*info);

    return hx_socket_names(fd, &local, &peer) && hx_spot_is_own(net, hx_spot_of(&local, sizeof(local))) &&
           getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &bytes) == 0 &&
           bytes >= offsetof(struct tcp_info, tcpi_data_segs_out) + sizeof(info->tcpi_data_segs_out) && /* else an old kernel does not tell */
           info->tcpi_state != LISTENS && info->tcpi_data_segs_out == 0;
}

static int is_listener(const void *ctx, int fd)
{
    struct sockaddr_storage local, peer;
    socklen_t bytes = sizeof(int);
    int listens = 0;

    return hx_socket_names(fd, &local, &peer) && hx_spot_is_own(ctx, hx_spot_of(&local, sizeof(local))) &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens;
}

void hx_strangers_expect(const struct hx_net *net)
{
    hx_files_visit(is_listener, net, hx_socket_hurry);
}

static int is_forgotten(const void *ctx, int fd)
{
    struct tcp_info info;

    return is_unanswered(ctx, fd, &info) && info.tcpi_state == CLOSED;
}

static int is_stranger(const void *ctx, int fd)
{
    const struct look *look = ctx;
    struct tcp_info info;

    if (!is_unanswered(look->net, fd, &info))
        return 0;
    ++*look->strangers;
    *look->ended += info.tcpi_state == CLOSED;
    return info.tcpi_state != CLOSED && (info.tcpi_state != ESTABLISHED || info.tcpi_last_data_recv > look->silent_ms);
}

static void strangers_end(struct hx_net *net)
{
    const struct look look = {net, net->strangers > hx_strangers_most(net->nranks) ? CROWD_MS : SILENT_MS, &net->strangers,
                             &net->ended};

    if (net->seeks_early && net->ended > 0) /* native tcp before libfabric 1.20 has read their end by now */
        hx_files_visit(is_forgotten, net, hx_file_close);
    net->strangers = net->ended = 0;
    hx_files_visit(is_stranger, &look, hx_socket_reset);
}

void hx_strangers_look(struct hx_net *net)
{
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);

    if (net->rails[0].spot == 0 || now - net->looked_at < (net->strangers > 0 ? LOOK_AGAIN_NS : LOOK_NS))
        return;
    net->looked_at = now;
    strangers_end(net);
}
