/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoints: hx_net_fabric, the network of runtime/ports/transport.h over libfabric. For each interface in use (rail) one
 * reliable-datagram endpoint, one completion queue, one event queue (without one EFA aborts the process on internal
 * errors), addresses in a table.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_SECONDS 1.0   /* at an orderly close: for sends under way */
#define GONE_SECONDS 0.2    /* where a peer has gone: what is for it never ends */
#define LINGER_SECONDS 50e-3 /* then: peers may need our progress, or are yet to read what came last */
#define LINGER_STEP_NS 200000
#define RAIL_FILES 12        /* descriptors of a rail over sockets: native tcp opens so many before the first connection */
#define CHUNK_MIN_BYTES (HX_EAGER_BYTES / HX_GRANT) /* short messages have no credits: no chunk number twice in one */

struct hx_fabric_test hx_fabric_test;

static hx_status_t failed(const struct hx_rail *rail, const char *call, int rc)
{
    return hx_fail(rc == -FI_ENOMEM ? HX_ERR_NOMEM : HX_ERR_TRANSPORT, "%s of libfabric provider %s on %s: %s%s", call,
                   rail->info->fabric_attr->prov_name, rail->info->domain_attr->name, fi_strerror(-rc),
                   rc == -FI_ENOMEM ? " (see ulimit -l)" : "");
}

/* ---- the completion queue and what to wait on */

/* Native tcp before libfabric 1.20 has two faults that matter here: this one, and that of unexpected.c.
 * fi_trywait never takes back the queue's own signal before libfabric 1.20, so that its descriptor
 * stays readable for ever. Nobody but our own calls writes completions, so the signal tells nothing: wait on the
 * provider's other descriptor, the epoll of its sockets. */
static int is_early_tcp(const struct hx_net *net)
{
    return hx_provider_is_native_tcp(net->info) && FI_VERSION_LT(fi_version(), FI_VERSION(1, 20));
}

static int sockets_fd_once(struct hx_rail *rail, int wait_ms)
{
    struct pollfd fds[8];
    struct fi_wait_pollfd wait = {.nfds = 8, .fd = fds};
    struct fi_cq_tagged_entry entry;
    struct sockaddr_storage name;
    int found = -1;

    fi_cq_sread(rail->cq, &entry, 1, NULL, wait_ms); /* descriptors are listed only after a first wait */
    if (fi_control(&rail->cq->fid, FI_GETWAIT, &wait) != 0)
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

static int sockets_fd(struct hx_rail *rail)
{
    int fd = -1;

    for (int ms = 1; fd < 0 && ms <= 1000; ms *= 10) /* on a busy machine a short time is over before the provider waits */
        fd = sockets_fd_once(rail, ms);
    return fd;
}

/* EFA has a wait object since libfabric 2.5, but nothing except fi_cq_sread takes back what has made its descriptor
 * readable (fi_trywait does not): it stays so, and who sleeps on it spins. */
static enum fi_wait_obj wait_object(const struct hx_net *net)
{
    if (hx_provider_is_efa(net->info))
        return FI_WAIT_NONE;
    return is_early_tcp(net) ? FI_WAIT_POLLFD : FI_WAIT_FD;
}

static int queue_open(const struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .size = net->send_limit + HX_RECV_LIMIT};
    int rc;

    attr.size += net->nranks < HX_RECV_LIMIT ? (size_t)net->nranks : HX_RECV_LIMIT; /* credits and invitations, one from each */
    attr.size++; /* a control message */
    if (rail->info->caps & FI_RMA) /* writes use none of the device's receives */
        attr.size += rail->info->rx_attr->size;
    attr.wait_obj = wait_object(net);
    rail->wait_fd = -1;
    rc = fi_cq_open(rail->domain, &attr, &rail->cq, NULL);
    if (rc != 0) {
        if (attr.wait_obj == FI_WAIT_NONE) /* EFA: its device may have no queue as long; what does not fit libfabric keeps */
            attr.size = 0;
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

/* ---- opening */

static hx_status_t rail_open(const struct hx_net *net, struct hx_rail *rail)
{
    struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = (size_t)net->nranks};
    int rc;

    if ((rc = fi_fabric(rail->info->fabric_attr, &rail->fabric, NULL)) != 0)
        return failed(rail, "fi_fabric", rc);
    if ((rc = fi_domain(rail->fabric, rail->info, &rail->domain, NULL)) != 0)
        return failed(rail, "fi_domain", rc);
    if ((rc = fi_eq_open(rail->fabric, &eq_attr, &rail->eq, NULL)) != 0)
        return failed(rail, "fi_eq_open", rc);
    if ((rc = queue_open(net, rail)) != 0)
        return failed(rail, "fi_cq_open", rc);
    if ((rc = fi_av_open(rail->domain, &av_attr, &rail->av, NULL)) != 0)
        return failed(rail, "fi_av_open", rc);
    if ((rc = fi_endpoint(rail->domain, rail->info, &rail->ep, NULL)) != 0)
        return failed(rail, "fi_endpoint", rc);
    if ((rc = fi_ep_bind(rail->ep, &rail->eq->fid, 0)) != 0)
        return failed(rail, "fi_ep_bind of the event queue", rc);
    if ((rc = fi_ep_bind(rail->ep, &rail->cq->fid, FI_TRANSMIT | FI_RECV)) != 0)
        return failed(rail, "fi_ep_bind of the completion queue", rc);
    if ((rc = fi_ep_bind(rail->ep, &rail->av->fid, 0)) != 0)
        return failed(rail, "fi_ep_bind of the addresses", rc);
    if ((rc = fi_enable(rail->ep)) != 0)
        return failed(rail, "fi_enable", rc);
    return hx_bounce_prepare(net, rail) == 0 ? HX_SUCCESS : HX_ERR_NOMEM;
}

/* write_bytes: see struct hx_net; what is wanted, 0: no writes. */
static hx_status_t rails_open(struct hx_net *net, size_t write_bytes)
{
    hx_status_t status = HX_SUCCESS;
    int native = write_bytes > 0;

    for (int i = 0; native && i < net->nrails; i++)
        native = hx_writes_ask(&net->rails[i]);
    net->info = net->rails[0].info;
    for (int i = 0; status == HX_SUCCESS && i < net->nrails; i++)
        status = rail_open(net, &net->rails[i]);
    for (int i = 0; status == HX_SUCCESS && native && i < net->nrails; i++)
        native = hx_writes_are_native(&net->rails[i]);
    net->write_bytes = native && net->register_local ? write_bytes : 0;
    return status;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void hx_listens_reserve(struct hx_net *net, size_t n)
{
    net->listens += n;
    net->recv_limit = net->rx_size - net->listens; /* half of them at least, so that no job is too large: not all peers send long
                                                    * messages */
    if (net->listens > net->rx_size / 2)
        net->recv_limit = net->rx_size - net->rx_size / 2;
    net->recv_limit = smaller(net->recv_limit, HX_RECV_LIMIT);
}

/* How many pieces of the caller's memory a chunk may have. The sink is one more. */
static size_t receive_pieces(const struct hx_net *net)
{
    return net->info->rx_attr->iov_limit - (size_t)hx_sink_is_needed(net);
}

static void limits_set(struct hx_net *net, const struct hx_env *env)
{
    net->register_local = (net->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 || hx_fabric_test.register_local ||
                          hx_fabric_test.write_bytes > 0;
    net->inject_bytes = smaller(net->info->tx_attr->inject_size, HX_INJECT_LIMIT);
    net->send_limit = smaller(net->info->tx_attr->size, HX_SEND_LIMIT);
    net->match_bits = (unsigned)smaller(hx_offer_tag_bits(net->info) - HX_CHUNK_BITS, HX_MATCH_BITS_MOST);
    net->pieces_most = net->register_local ? 1 : smaller(smaller(net->info->tx_attr->iov_limit, receive_pieces(net)), HX_PIECES);
    if (net->pieces_most == 0)
        net->pieces_most = 1;
    net->chunk_bytes = env->chunk > 0 ? smaller((size_t)env->chunk, net->info->ep_attr->max_msg_size)
                                      : hx_profile_chunk_bytes(net->info);
    if (net->chunk_bytes < CHUNK_MIN_BYTES)
        net->chunk_bytes = CHUNK_MIN_BYTES;
    net->rx_size = SIZE_MAX;
    for (struct hx_rail *rail = net->rails; rail < net->rails + net->nrails; rail++) {
        if (rail->info->rx_attr->size > 0) /* else it does not say */
            net->rx_size = smaller(net->rx_size, rail->info->rx_attr->size);
        rail->bounces[HX_BOUNCE_CONTROL].bounce_bytes = 128;
        rail->bounces[HX_BOUNCE_EAGER].bounce_bytes = HX_EAGER_BYTES;
        rail->bounces[HX_BOUNCE_CHUNK].bounce_bytes = hx_chunk_bytes_most(net);
    }
    hx_room_prepare(net);
    hx_listens_reserve(net, 1); /* for control messages */
}

/* A descriptor for all rails: that of the only one, or of those that have completions. */
static int common_fd(const struct hx_net *net)
{
    int fd = net->nrails > 1 ? epoll_create1(EPOLL_CLOEXEC) : net->rails[0].wait_fd;

    for (int i = 0; net->nrails > 1 && fd >= 0 && i < net->nrails; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (net->rails[i].wait_fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, net->rails[i].wait_fd, &event) == 0)
            continue;
        close(fd);
        fd = -1;
    }
    return fd;
}

static void text_make(struct hx_net *net)
{
    char names[128] = "";

    for (int i = 0; i < net->nrails; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? "+" : "",
                 net->rails[i].info->domain_attr->name);
    snprintf(net->text, sizeof(net->text),
             "libfabric %u.%u provider %s %u.%u on %s: chunks of %zu KiB, %d granted, inject %zu, %s%s%s",
             FI_MAJOR(fi_version()), FI_MINOR(fi_version()), net->info->fabric_attr->prov_name,
             FI_MAJOR(net->info->fabric_attr->prov_version), FI_MINOR(net->info->fabric_attr->prov_version), names,
             net->chunk_bytes >> 10, HX_GRANT, net->inject_bytes,
             net->wait_fd >= 0 ? "waits on a descriptor" : "no wait object",
             net->register_local ? ", registered buffers" : "", net->write_bytes > 0 ? ", remote writes" : "");
}

/* Those that this rank finds near, and those as good that others of its node find near. */
static int links_count(const struct hx_nic_choice *choice)
{
    int n = 0;

    for (int i = 0; i < choice->n; i++) {
        const struct hx_nic *nic = &choice->nics[i];
        n += (i < choice->near && nic->address == 0) ||
             (nic->up && !nic->loopback && !nic->routed && nic->rate_bits == choice->nics[0].rate_bits);
    }
    return n > 0 ? n : 1;
}

static int net_close(struct hx_net *net, int orderly);

static hx_status_t net_open(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                            const unsigned char key[HX_NET_KEY_BYTES], struct hx_net **out)
{
    struct hx_net *net = calloc(1, sizeof(*net));
    struct hx_nic_choice choice = {0};
    hx_status_t status;

    if (!net)
        return hx_fail(HX_ERR_NOMEM, "no memory for a network endpoint");
    net->rank = rank;
    net->nranks = nranks;
    net->seat = seat->index;
    hx_proofs_open(net, key);
    net->wait_fd = -1;
    net->guard_ns = HX_GUARD_NS_MIN;
    net->edges = calloc((size_t)nranks, sizeof(struct hx_edge *));
    status = net->edges ? hx_negotiate(env, seat, &choice)
                                : hx_fail(HX_ERR_NOMEM, "no memory for %d connections", nranks);
    for (; status == HX_SUCCESS && net->nrails < choice.nrails; net->nrails++)
        net->rails[net->nrails] = (struct hx_rail){.info = choice.rails[net->nrails], .address = (uint8_t)choice.addresses[net->nrails], .reads = 1, .wait_fd = -1};
    if (status == HX_SUCCESS) {
        net->info = net->rails[0].info;
        net->links = links_count(&choice);
        net->link_bits = choice.nics[0].rate_bits;
        choice.nrails = 0; /* ours now */
        limits_set(net, env);
        net->seeks_early = is_early_tcp(net);
        status = hx_sink_prepare(net) == 0 ? HX_SUCCESS : HX_ERR_NOMEM;
    }
    if (status == HX_SUCCESS && hx_offer_is_routed(net->info))
        status = hx_files_reserve(rank, hx_files_open() + RAIL_FILES * net->nrails);
    if (status == HX_SUCCESS)
        status = rails_open(net, hx_fabric_test.write_bytes > 0 ? hx_fabric_test.write_bytes : (size_t)env->rdma);
    hx_nic_choice_free(&choice);
    if (status != HX_SUCCESS) {
        net_close(net, 0);
        return status;
    }
    net->wait_fd = common_fd(net);
    text_make(net);
    hx_info("%s", net->text);
    *out = net;
    return HX_SUCCESS;
}

/* ---- waiting */

static int net_wait_fd(struct hx_net *net)
{
    return net->broken ? -1 : net->wait_fd;
}

/* While the provider refuses something (a connection being made, say) no descriptor promises to tell when it may be
 * tried again. Then look every millisecond, sleeping here. */
static int rail_may_wait(const struct hx_rail *rail)
{
    struct fid *fid = &rail->cq->fid;

    return !rail->unread && (rail->no_trywait || fi_trywait(rail->fabric, &fid, 1) == 0);
}

static int net_arm(struct hx_net *net)
{
    if (net->broken || net->breaking || hx_events_read(net) != 0)
        return 1;
    net->armed = net->rounds + 1;
    if (net->lacks_room) {
        net->lacks_room = 0;
        return 1;
    }
    for (int i = 0; i < net->nrails; i++)
        if (!rail_may_wait(&net->rails[i]))
            return 1;
    if (net->seeks_early) {
        int unread = 0;
        hx_early_seek(net);
        for (int i = 0; i < net->nrails; i++)
            unread |= net->rails[i].unread;
        if (unread && hx_progress(net) != 0)
            return 1;
    }
    if (net->active) {
        struct pollfd fd = {.fd = net->wait_fd, .events = POLLIN};
        poll(&fd, 1, 1);
        return 1;
    }
    return 0;
}

/* ---- closing */

static int sends_left(const struct hx_net *net)
{
    size_t sends = 0;

    for (int i = 0; i < net->nrails; i++)
        sends += net->rails[i].sends_in_flight;
    return sends > 0 || net->active;
}

int hx_any_edge_is_lost(const struct hx_net *net)
{
    for (int i = 0; i < net->nranks; i++)
        if (net->edges[i] && net->edges[i]->gone)
            return 1;
    return 0;
}

static void drain(struct hx_net *net)
{
    double limit = hx_deadline(hx_any_edge_is_lost(net) ? GONE_SECONDS : DRAIN_SECONDS), idle = hx_deadline(LINGER_SECONDS);

    while (!net->broken && !hx_deadline_passed(sends_left(net) ? limit : idle))
        if (hx_progress(net) > 0)
            idle = hx_deadline(LINGER_SECONDS);
        else
            nanosleep(&(struct timespec){.tv_nsec = LINGER_STEP_NS}, NULL); /* they may share our cores */
}

static void fid_close(const struct hx_rail *rail, const char *what, struct fid *fid)
{
    int rc = fid ? fi_close(fid) : 0;

    if (rc != 0)
        hx_debug("closing the %s of %s: %s", what, rail->info->fabric_attr->prov_name, fi_strerror(-rc));
}

static void rail_close(struct hx_rail *rail) /* but the endpoint */
{
    fid_close(rail, "address table", rail->av ? &rail->av->fid : NULL);
    fid_close(rail, "completion queue", rail->cq ? &rail->cq->fid : NULL);
    fid_close(rail, "event queue", rail->eq ? &rail->eq->fid : NULL);
    fid_close(rail, "domain", rail->domain ? &rail->domain->fid : NULL);
    fid_close(rail, "fabric", rail->fabric ? &rail->fabric->fid : NULL);
    fi_freeinfo(rail->info);
    free(rail->sockets);
}

static int net_close(struct hx_net *net, int orderly)
{
    if (orderly)
        drain(net);
    hx_late_close(net);
    if (!hx_endpoints_close(net)) {
        net->broken = HX_ERR_TRANSPORT;
        return 1;
    }
    if (net->nrails > 1 && net->wait_fd >= 0)
        close(net->wait_fd);
    hx_regions_close(net);
    hx_bounce_close(net);
    for (int i = 0; i < net->nrails; i++)
        rail_close(&net->rails[i]);
    for (int i = 0; net->edges && i < net->nranks; i++)
        if (net->edges[i]) {
            hx_early_close(net->edges[i]);
            hx_flows_close(net->edges[i]);
            hx_invites_forget(net->edges[i], 0, UINT64_MAX);
            free(net->edges[i]);
        }
    free(net->edges);
    free(net->told);
    free(net);
    return 0;
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

static int net_has_met(const struct hx_net *net, int peer)
{
    return net->edges[peer] && net->edges[peer]->met;
}

static const char *net_why(const struct hx_net *net)
{
    return net->why;
}

static void net_nic(const struct hx_net *net, struct hx_nic *nic)
{
    hx_nic_locate(net->info, nic);
}

static size_t net_chunk_bytes(const struct hx_net *net)
{
    return net->chunk_bytes;
}

static unsigned net_match_bits(const struct hx_net *net)
{
    return net->match_bits;
}

const struct hx_net_ops hx_net_fabric = {
    .name = "fabric",
    .open = net_open,
    .address = hx_address_get,
    .connect = hx_address_connect,
    .agree = hx_address_agree,
    .post = hx_message_post,
    .match_bits = net_match_bits,
    .forget = hx_forget,
    .progress = hx_progress,
    .why = net_why,
    .wait_fd = net_wait_fd,
    .arm = net_arm,
    .cancel = hx_message_cancel,
    .ask = hx_late_ask,
    .tell = hx_control_message_send,
    .has_met = net_has_met,
    .listen = hx_control_message_listen,
    .memory_add = hx_region_add,
    .memory_remove = hx_region_remove,
    .counters = net_counters,
    .describe = net_describe,
    .nic = net_nic,
    .chunk_bytes = net_chunk_bytes,
    .proof = hx_proof_data,
    .profile = hx_address_profile,
    .leave_child = hx_sockets_leave,
    .close = net_close,
};
