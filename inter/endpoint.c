/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoint: hx_net_fabric, the network of runtime/transport.h over libfabric. One reliable-datagram endpoint, one
 * completion queue, one event queue (without one EFA aborts the process on internal errors), addresses in a table.
 */
#include "fabric.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define DRAIN_SECONDS 1.0   /* at an orderly close: for sends under way */
#define LINGER_SECONDS 50e-3 /* then: peers may need our progress, or are yet to read what came last */
#define LINGER_STEP_NS 200000

struct hx_fabric_test hx_fabric_test;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static hx_status_t failed(const struct hx_net *net, const char *call, int rc)
{
    return hx_fail(rc == -FI_ENOMEM ? HX_ERR_NOMEM : HX_ERR_TRANSPORT, "%s of libfabric provider %s on %s: %s", call,
                   net->info->fabric_attr->prov_name, net->info->domain_attr->name, fi_strerror(-rc));
}

/* ---- the completion queue and what to wait on */

/* Native tcp before libfabric 1.20 has two faults that matter here: this one, and that of early.c.
 * fi_trywait never takes back the queue's own signal before libfabric 1.20, so that its descriptor
 * stays readable for ever. Nobody but our own calls writes completions, so the signal tells nothing: wait on the
 * provider's other descriptor, the epoll of its sockets. */
static int is_early_tcp(const struct hx_net *net)
{
    return hx_provider_is_native_tcp(net->info) && FI_VERSION_LT(fi_version(), FI_VERSION(1, 20));
}

static int sockets_fd(struct hx_net *net)
{
    struct pollfd fds[8];
    struct fi_wait_pollfd wait = {.nfds = 8, .fd = fds};
    struct fi_cq_tagged_entry entry;
    struct sockaddr_storage name;
    int found = -1;

    fi_cq_sread(net->cq, &entry, 1, NULL, 1); /* descriptors are listed only after a first wait */
    if (fi_control(&net->cq->fid, FI_GETWAIT, &wait) != 0)
        return -1;
    for (size_t i = 0; i < wait.nfds; i++) {
        socklen_t bytes = sizeof(name);
        if (getsockname(fds[i].fd, (struct sockaddr *)&name, &bytes) == 0)
            continue; /* the signals are sockets */
        if (found >= 0)
            return -1;
        found = fds[i].fd;
    }
    return found;
}

static int queue_open(struct hx_net *net)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .size = net->send_limit + HX_RECV_LIMIT};
    int rc;

    attr.wait_obj = is_early_tcp(net) ? FI_WAIT_POLLFD : FI_WAIT_FD;
    net->wait_fd = -1;
    rc = fi_cq_open(net->domain, &attr, &net->cq, NULL);
    if (rc != 0) {
        attr.wait_obj = FI_WAIT_NONE;
        return fi_cq_open(net->domain, &attr, &net->cq, NULL);
    }
    if (attr.wait_obj == FI_WAIT_POLLFD) {
        net->wait_fd = sockets_fd(net);
        net->no_trywait = 1;
    } else if (fi_control(&net->cq->fid, FI_GETWAIT, &net->wait_fd) != 0) {
        net->wait_fd = -1;
    }
    return 0;
}

/* ---- opening */

static hx_status_t objects_open(struct hx_net *net)
{
    struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = (size_t)net->nranks};
    int rc;

    if ((rc = fi_fabric(net->info->fabric_attr, &net->fabric, NULL)) != 0)
        return failed(net, "fi_fabric", rc);
    if ((rc = fi_domain(net->fabric, net->info, &net->domain, NULL)) != 0)
        return failed(net, "fi_domain", rc);
    if ((rc = fi_eq_open(net->fabric, &eq_attr, &net->eq, NULL)) != 0)
        return failed(net, "fi_eq_open", rc);
    if ((rc = queue_open(net)) != 0)
        return failed(net, "fi_cq_open", rc);
    if ((rc = fi_av_open(net->domain, &av_attr, &net->av, NULL)) != 0)
        return failed(net, "fi_av_open", rc);
    if ((rc = fi_endpoint(net->domain, net->info, &net->ep, NULL)) != 0)
        return failed(net, "fi_endpoint", rc);
    if ((rc = fi_ep_bind(net->ep, &net->eq->fid, 0)) != 0)
        return failed(net, "fi_ep_bind of the event queue", rc);
    if ((rc = fi_ep_bind(net->ep, &net->cq->fid, FI_TRANSMIT | FI_RECV)) != 0)
        return failed(net, "fi_ep_bind of the completion queue", rc);
    if ((rc = fi_ep_bind(net->ep, &net->av->fid, 0)) != 0)
        return failed(net, "fi_ep_bind of the addresses", rc);
    if ((rc = fi_enable(net->ep)) != 0)
        return failed(net, "fi_enable", rc);
    return HX_SUCCESS;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void limits_set(struct hx_net *net, const struct hx_env *env)
{
    net->register_local = (net->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 || hx_fabric_test.register_local;
    net->inject_bytes = smaller(net->info->tx_attr->inject_size, HX_INJECT_LIMIT);
    net->send_limit = smaller(net->info->tx_attr->size, HX_SEND_LIMIT);
    net->chunk_bytes = env->chunk > 0 ? smaller((size_t)env->chunk, net->info->ep_attr->max_msg_size)
                                      : hx_profile_chunk_bytes(net->info);
    net->slots[HX_SLOT_CREDIT].slot_bytes = 64;
    net->slots[HX_SLOT_EAGER].slot_bytes = HX_EAGER_BYTES;
    net->slots[HX_SLOT_CHUNK].slot_bytes = net->chunk_bytes > HX_EAGER_BYTES ? net->chunk_bytes : HX_EAGER_BYTES;
}

static void net_close(struct hx_net *net, int orderly);

static hx_status_t net_open(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                            struct hx_net **out)
{
    struct hx_net *net = calloc(1, sizeof(*net));
    struct hx_nic_choice choice = {0};
    hx_status_t status;

    if (net == NULL)
        return hx_fail(HX_ERR_NOMEM, "no memory for a network endpoint");
    net->rank = rank;
    net->nranks = nranks;
    net->wait_fd = -1;
    net->reads = 1;
    net->edges = calloc((size_t)nranks, sizeof(struct hx_edge *));
    status = net->edges != NULL ? hx_negotiate(env, seat, &choice)
                                : hx_fail(HX_ERR_NOMEM, "no memory for %d connections", nranks);
    if (status == HX_SUCCESS) {
        net->info = choice.rails[0];
        choice.nrails = 0;
        limits_set(net, env);
        net->seeks_early = is_early_tcp(net);
        status = objects_open(net);
    }
    hx_nic_choice_free(&choice);
    if (status != HX_SUCCESS) {
        net_close(net, 0);
        return status;
    }
    snprintf(net->text, sizeof(net->text),
             "libfabric %u.%u provider %s %u.%u on %s: chunks of %zu KiB, %d granted, inject %zu, %s%s",
             FI_MAJOR(fi_version()), FI_MINOR(fi_version()), net->info->fabric_attr->prov_name,
             FI_MAJOR(net->info->fabric_attr->prov_version), FI_MINOR(net->info->fabric_attr->prov_version),
             net->info->domain_attr->name, net->chunk_bytes >> 10, HX_GRANT, net->inject_bytes,
             net->wait_fd >= 0 ? "waits on a descriptor" : "no wait object",
             net->register_local ? ", registered buffers" : "");
    hx_info("%s", net->text);
    *out = net;
    return HX_SUCCESS;
}

/* ---- waiting */

static int net_wait_fd(struct hx_net *net)
{
    return net->wait_fd;
}

/* While the provider refuses something (a connection being made, say) no descriptor promises to tell when it may be
 * tried again. Then look every millisecond, sleeping here. */
static int net_arm(struct hx_net *net)
{
    struct fid *fid = &net->cq->fid;

    if (net->broken || net->unread || hx_events_read(net) != 0)
        return 1;
    if (!net->no_trywait && fi_trywait(net->fabric, &fid, 1) != 0)
        return 1;
    if (net->seeks_early) {
        hx_early_seek(net);
        if (net->unread && hx_progress(net) != 0)
            return 1;
    }
    if (net->active != NULL) {
        struct pollfd fd = {.fd = net->wait_fd, .events = POLLIN};
        poll(&fd, 1, 1);
        return 1;
    }
    return 0;
}

/* ---- closing */

static int sends_left(const struct hx_net *net)
{
    return net->sends_in_flight > 0 || net->active != NULL;
}

static void drain(struct hx_net *net)
{
    double start = seconds_now(), idle = start;

    while (!net->broken && seconds_now() < (sends_left(net) ? start + DRAIN_SECONDS : idle + LINGER_SECONDS))
        if (hx_progress(net) > 0)
            idle = seconds_now();
        else
            nanosleep(&(struct timespec){.tv_nsec = LINGER_STEP_NS}, NULL); /* they may share our cores */
}

static void fid_close(const struct hx_net *net, const char *what, struct fid *fid)
{
    int rc = fid != NULL ? fi_close(fid) : 0;

    if (rc != 0)
        hx_debug("closing the %s of %s: %s", what, net->info->fabric_attr->prov_name, fi_strerror(-rc));
}

static void net_close(struct hx_net *net, int orderly)
{
    if (orderly)
        drain(net);
    fid_close(net, "endpoint", net->ep != NULL ? &net->ep->fid : NULL);
    hx_bounce_close(net);
    fid_close(net, "address table", net->av != NULL ? &net->av->fid : NULL);
    fid_close(net, "completion queue", net->cq != NULL ? &net->cq->fid : NULL);
    fid_close(net, "event queue", net->eq != NULL ? &net->eq->fid : NULL);
    fid_close(net, "domain", net->domain != NULL ? &net->domain->fid : NULL);
    fid_close(net, "fabric", net->fabric != NULL ? &net->fabric->fid : NULL);
    if (net->info != NULL)
        fi_freeinfo(net->info);
    for (int i = 0; net->edges != NULL && i < net->nranks; i++)
        if (net->edges[i] != NULL) {
            hx_early_close(net->edges[i]);
            hx_flows_close(net->edges[i]);
            free(net->edges[i]);
        }
    free(net->edges);
    free(net);
}

/* ---- asking */

static void net_counters(const struct hx_net *net, struct hx_net_counters *out)
{
    *out = net->count;
}
static const char *net_describe(const struct hx_net *net)
{
    return net->text;
}
static void net_profile(const struct hx_net *net, struct hx_net_profile *out)
{
    hx_profile_cost(net->info, out);
    out->provider = net->info->fabric_attr->prov_name;
}

static size_t net_chunk_bytes(const struct hx_net *net)
{
    return net->chunk_bytes;
}

const struct hx_net_ops hx_net_fabric = {
    .name = "fabric",
    .open = net_open,
    .address = hx_address_get,
    .connect = hx_address_connect,
    .agree = hx_address_agree,
    .post = hx_message_post,
    .progress = hx_progress,
    .wait_fd = net_wait_fd,
    .arm = net_arm,
    .cancel = hx_message_cancel,
    .counters = net_counters,
    .describe = net_describe,
    .chunk_bytes = net_chunk_bytes,
    .profile = net_profile,
    .close = net_close,
};
