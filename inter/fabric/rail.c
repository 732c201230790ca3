/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rail: one interface in use. It has a reliable-datagram endpoint, a completion queue, an address table, and an event queue.
 *
 * EFA reports internal errors of an endpoint in the event queue, and before libfabric 2.3 also peers that do not answer. Without an
 * event queue it aborts the process instead. psm3, opx and lnx have no event queue: one of two calls returns FI_ENOSYS. They have
 * no such errors to report: all their errors are those of a message, in the completion queue. If an endpoint as a whole fails
 * there, only its messages show it, and dead_peer.c if they never end.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* EFA returns ENOMEM for two limits, and does not say which: queue pairs, and locked memory. */
static void memory_hint(const struct hx_net *net, enum hx_open_call call, char *text, size_t bytes)
{
    if (net->traits->queue_pairs > 0 && (call == HX_OPEN_ENDPOINT || call == HX_OPEN_ENABLE))
        snprintf(text, bytes, " (a device has %d queue pairs, and %d ranks of this node have network endpoints: HX_ENDPOINTS. If that is not the "
                              "cause, see ulimit -l)", net->traits->queue_pairs, net->with_endpoints);
    else
        snprintf(text, bytes, " (see ulimit -l)");
}

static hx_status_t failed(const struct hx_net *net, struct hx_rail *rail, enum hx_open_call call, const char *of, int rc)
{
    char text[512], hint[192] = "";

    if (rc == -FI_ENOMEM)
        memory_hint(net, call, hint, sizeof(hint));
    rail->refusal = (struct hx_refusal){.provider = (uint8_t)hx_provider_number(rail->info), .call = (uint8_t)call, .error = (int16_t)-rc};
    snprintf(text, sizeof(text), "%s%s of libfabric provider %s on %s: %s%s", hx_open_call_name(call), of,
             rail->info->fabric_attr->prov_name, rail->info->domain_attr->name, fi_strerror(-rc), hint);
    hx_recall(text);
    return rc == -FI_ENOMEM ? HX_ERR_NOMEM : HX_ERR_TRANSPORT;
}

static int sockets_fd_once(struct hx_rail *rail, int wait_ms)
{
    struct pollfd fds[8];
    struct fi_wait_pollfd wait = {.nfds = 8, .fd = fds};
    struct fi_cq_tagged_entry entry;
    struct sockaddr_storage name;
    int found = -1;

    fi_cq_sread(rail->cq, &entry, 1, NULL, wait_ms); /* the provider lists its descriptors only after a first wait */
    if (fi_control(&rail->cq->fid, FI_GETWAIT, &wait) != 0)
        return -1;
    for (size_t i = 0; i < wait.nfds; i++) {
        socklen_t bytes = sizeof(name);
        if (getsockname(fds[i].fd, (struct sockaddr *)&name, &bytes) == 0)
            continue; /* the queue's own signal is a socket */
        if (found >= 0)
            return -1;
        found = fds[i].fd;
    }
    return found;
}

/* Before libfabric 1.20, fi_trywait of native tcp never clears the queue's own signal, so the queue's descriptor stays readable for
 * ever. No other thread writes completions, so the signal is useless. Wait on the provider's other descriptor, the epoll of its
 * sockets. */
static int sockets_fd(struct hx_rail *rail)
{
    int fd = -1;

    for (int ms = 1; fd < 0 && ms <= 1000; ms *= 10) /* on a busy machine a short wait ends before the provider waits */
        fd = sockets_fd_once(rail, ms);
    return fd;
}

/* EFA has a wait object since libfabric 2.5. But only fi_cq_sread clears its descriptor, fi_trywait does not. It stays readable, so
 * a rank that sleeps on it spins. */
static enum fi_wait_obj wait_object(const struct hx_net *net)
{
    if (net->traits->lacks_wait_object)
        return FI_WAIT_NONE;
    return hx_provider_has_faults(net->traits) ? FI_WAIT_POLLFD : FI_WAIT_FD;
}

/* EFA's queue holds a completion for each packet, not for each operation: up to tx_attr->size packets sent and rx_attr->size
 * received. EFA itself makes the queue long enough for them, but not for writes of peers, which need no posted receive since
 * libfabric 1.22. If the queue overflows, completions are lost. All this may arrive while the program does not call Hierax. */
static size_t queue_size(const struct hx_net *net, const struct fi_info *info)
{
    const size_t packets = info->tx_attr->size + info->rx_attr->size;
    const size_t listening = (size_t)net->nranks * (info->caps & FI_RMA ? 1 + HX_INVITE_RECVS : 1); /* for credits, and for invitations */
    size_t operations = net->send_limit + HX_RECV_LIMIT + 1; /* 1: a control message */

    operations += listening < HX_RECV_LIMIT ? listening : HX_RECV_LIMIT;
    if (!(info->caps & FI_RMA))
        return operations;
    return (packets > operations ? packets : operations) + HX_RECV_LIMIT; /* at most so many writes are invited */
}

static int queue_open(const struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .size = queue_size(net, rail->info), .wait_obj = wait_object(net)};
    int rc;

    rail->wait_fd = -1;
    rc = fi_cq_open(rail->domain, &attr, &rail->cq, NULL);
    if (rc != 0) {
        if (attr.wait_obj == FI_WAIT_NONE) { /* EFA: the device's queue may be shorter. Then it has room for packets only */
            attr.size = 0;
            rail->lacks_write_room = 1;
        }
        attr.wait_obj = FI_WAIT_NONE;
        return fi_cq_open(rail->domain, &attr, &rail->cq, NULL);
    }
    if (attr.wait_obj == FI_WAIT_POLLFD) {
        rail->wait_fd = sockets_fd(rail);
        rail->no_trywait = 1;
    } else if (attr.wait_obj != FI_WAIT_FD || fi_control(&rail->cq->fid, FI_GETWAIT, &rail->wait_fd) != 0) {
        rail->wait_fd = -1;
    }
    return 0;
}

static void fid_close(const struct hx_rail *rail, const char *what, struct fid *fid)
{
    int rc = fid ? fi_close(fid) : 0;

    if (rc != 0)
        hx_debug("closing the %s of %s: %s", what, rail->info->fabric_attr->prov_name, fi_strerror(-rc));
}

static int trywait(const struct hx_rail *rail)
{
    struct fid *fid = &rail->cq->fid;

    return fi_trywait(rail->fabric, &fid, 1);
}

static int events_open(struct hx_rail *rail)
{
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
    int rc = fi_eq_open(rail->fabric, &attr, &rail->eq, NULL);

    if (rc != 0)
        rail->eq = NULL;
    return rc == -FI_ENOSYS ? 0 : rc;
}

static int events_bind(struct hx_rail *rail)
{
    int rc = rail->eq ? fi_ep_bind(rail->ep, &rail->eq->fid, 0) : 0;

    if (rc != -FI_ENOSYS)
        return rc;
    fid_close(rail, "event queue", &rail->eq->fid);
    rail->eq = NULL;
    return 0;
}

hx_status_t hx_rail_open(const struct hx_net *net, struct hx_rail *rail)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = (size_t)net->nranks};
    int rc;

    if ((rc = fi_fabric(rail->info->fabric_attr, &rail->fabric, NULL)) != 0)
        return failed(net, rail, HX_OPEN_FABRIC, "", rc);
    if ((rc = fi_domain(rail->fabric, rail->info, &rail->domain, NULL)) != 0)
        return failed(net, rail, HX_OPEN_DOMAIN, "", rc);
    if ((rc = events_open(rail)) != 0)
        return failed(net, rail, HX_OPEN_EVENTS, "", rc);
    if ((rc = queue_open(net, rail)) != 0)
        return failed(net, rail, HX_OPEN_COMPLETIONS, "", rc);
    if ((rc = fi_av_open(rail->domain, &av_attr, &rail->av, NULL)) != 0)
        return failed(net, rail, HX_OPEN_ADDRESSES, "", rc);
    if ((rc = fi_endpoint(rail->domain, rail->info, &rail->ep, NULL)) != 0)
        return failed(net, rail, HX_OPEN_ENDPOINT, "", rc);
    if ((rc = events_bind(rail)) != 0)
        return failed(net, rail, HX_OPEN_BIND, " (event queue)", rc);
    if ((rc = fi_ep_bind(rail->ep, &rail->cq->fid, FI_TRANSMIT | FI_RECV)) != 0)
        return failed(net, rail, HX_OPEN_BIND, " (completion queue)", rc);
    if ((rc = fi_ep_bind(rail->ep, &rail->av->fid, 0)) != 0)
        return failed(net, rail, HX_OPEN_BIND, " (addresses)", rc);
    if ((rc = fi_enable(rail->ep)) != 0)
        return failed(net, rail, HX_OPEN_ENABLE, "", rc);
    if (rail->wait_fd >= 0 && !rail->no_trywait && trywait(rail) == -FI_ENOSYS) /* lnx: nothing says when it is safe to sleep */
        rail->wait_fd = -1;
    return HX_SUCCESS;
}

int hx_rail_may_sleep(const struct hx_rail *rail)
{
    return !rail->unread && (rail->no_trywait || trywait(rail) == 0);
}

void hx_rail_close(struct hx_rail *rail)
{
    fid_close(rail, "address table", rail->av ? &rail->av->fid : NULL);
    fid_close(rail, "completion queue", rail->cq ? &rail->cq->fid : NULL);
    fid_close(rail, "event queue", rail->eq ? &rail->eq->fid : NULL);
    fid_close(rail, "domain", rail->domain ? &rail->domain->fid : NULL);
    fid_close(rail, "fabric", rail->fabric ? &rail->fabric->fid : NULL);
    fi_freeinfo(rail->info);
}
