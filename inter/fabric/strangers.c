/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strangers: processes that connect to an endpoint and never send the request that a rank sends first. libfabric accepts every
 * connection and waits without a limit, so strangers use up descriptors. Native tcp, to libfabric 2.6 at least, also forgets some
 * connections that have ended or have sent half a request: it mistakes an old errno for theirs, and never closes them. This is
 * rare if errno is 0 before each round. tcp;ofi_rxm of libfabric 1.17 looks at such connections again in every round.
 *
 * libfabric (1.17 at least) makes a connection non-blocking only after it has read the request, so a stranger that sends a part of
 * a request would block the rank. Connections inherit the receive time-out of their listener. A negative time-out makes a receive
 * return at once.
 *
 * This rank looks at connections from time to time. libfabric answers a request at once. So if nothing was sent to a connection,
 * and it has ended or has been silent for SILENT_MS, it is a stranger's. When there are many, CROWD_MS is enough. This rank resets
 * the connection: then libfabric reads an error and closes the descriptor. Descriptors that native tcp has forgotten are closed
 * here, in the thread that drives the provider.
 *
 * If a rank's connection is reset by mistake, the rank has sent no message yet, and libfabric connects it again. Strangers that
 * speak libfabric's own protocol are not found: their connections look like those of ranks.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/sockets.h"
#include "runtime/base/strangers.h"
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#define SILENT_MS 5000
#define CROWD_MS 200
#define LOOK_NS UINT64_C(1000000000)
#define LOOK_AGAIN_NS UINT64_C(100000000) /* while there are strangers */

enum { ESTABLISHED = 1, CLOSED = 7, LISTENS = 10 }; /* the kernel's states of TCP */

struct look {
    const struct hx_net *net;
    uint32_t silent_ms;     /* how long a stranger may be silent */
    int *strangers, *ended; /* found: all, and those whose connection has ended or was reset */
};

/* Is it a connection that our listener has accepted, and to which nothing was ever sent? */
static int is_unanswered(const struct hx_net *net, int fd, struct tcp_info *info)
{
    socklen_t bytes = sizeof(*info);

    return hx_socket_is_own(net, fd) && getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &bytes) == 0 &&
           bytes >= offsetof(struct tcp_info, tcpi_data_segs_out) + sizeof(info->tcpi_data_segs_out) && /* older kernels lack it */
           info->tcpi_state != LISTENS && info->tcpi_data_segs_out == 0;
}

static int is_listener(const void *ctx, int fd)
{
    socklen_t bytes = sizeof(int);
    int listens = 0;

    return hx_socket_is_own(ctx, fd) && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens;
}

void hx_strangers_prepare(const struct hx_net *net)
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

static int forgets(const struct hx_provider_traits *traits)
{
    return traits->forgets_since && FI_VERSION_GE(fi_version(), traits->forgets_since);
}

void hx_strangers_check(struct hx_net *net)
{
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);
    struct look look = {net, SILENT_MS, &net->strangers, &net->ended};

    if (net->rails[0].address_hash == 0 || now - net->looked_at < (net->strangers > 0 ? LOOK_AGAIN_NS : LOOK_NS))
        return;
    net->looked_at = now;
    if (forgets(net->traits) && net->ended > 0) /* the provider has read their end by now */
        hx_files_visit(is_forgotten, net, hx_file_close);
    if (net->strangers > hx_strangers_most(net->nranks))
        look.silent_ms = CROWD_MS;
    net->strangers = net->ended = 0;
    hx_files_visit(is_stranger, &look, hx_socket_reset);
}
