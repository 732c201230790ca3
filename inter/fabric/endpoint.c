/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hx_net_fabric: the network of runtime/ports/transport.h over libfabric. Opens it, and decides when the rank may sleep.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/base/size.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define RAIL_FILES 12 /* descriptors of a rail over sockets: native tcp opens so many before the first connection */
_Static_assert(HX_CHUNK_LEAST >= HX_EAGER_BYTES / HX_GRANT, "a short message has no credits, so it must not repeat a chunk number");

struct hx_fabric_test hx_fabric_test;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void recvs_limit(struct hx_net *net)
{
    for (struct hx_rail *rail = net->rails; net->traits->recvs > 0 && rail < net->rails + net->nrails; rail++)
        rail->info->rx_attr->size = smaller(rail->info->rx_attr->size, net->traits->recvs);
}

/* write_bytes: write messages from this length on, if the device can; 0: no writes. */
static hx_status_t rails_open(struct hx_net *net, size_t write_bytes)
{
    hx_status_t status = HX_SUCCESS;
    int native = write_bytes > 0;

    for (int i = 0; native && i < net->nrails; i++)
        native = hx_writes_negotiate(net, &net->rails[i]);
    recvs_limit(net); /* hx_writes_negotiate has replaced the offers */
    net->info = net->rails[0].info;
    for (int i = 0; status == HX_SUCCESS && i < net->nrails; i++)
        status = hx_rail_open(net, &net->rails[i]);
    for (int i = 0; status == HX_SUCCESS && native && i < net->nrails; i++)
        native = hx_writes_are_native(&net->rails[i]);
    net->write_bytes = native && net->register_local ? write_bytes : 0;
    return status;
}

void hx_recvs_reserve(struct hx_net *net, size_t n)
{
    net->reserved_recvs += n;
    net->recv_limit = smaller(net->rx_size - smaller(net->reserved_recvs, net->rx_size / 2), HX_RECV_LIMIT);
}

static void limits_set(struct hx_net *net, const struct hx_env *env)
{
    size_t receive_pieces = net->info->rx_attr->iov_limit - (size_t)hx_sink_is_needed(net);

    net->register_local = (net->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 || hx_fabric_test.register_local ||
                          hx_fabric_test.write_bytes > 0;
    net->silent_ns = (uint64_t)(1e9 * env->silent);
    net->inject_bytes = smaller(net->info->tx_attr->inject_size, HX_INJECT_LIMIT);
    net->send_limit = smaller(net->info->tx_attr->size, HX_SEND_LIMIT);
    net->match_bits = (unsigned)smaller(hx_offer_tag_bits(net->info) - HX_CHUNK_BITS, HX_MATCH_BITS_MOST);
    net->pieces_most = net->register_local ? 1 : smaller(smaller(net->info->tx_attr->iov_limit, receive_pieces), HX_PIECES);
    if (net->info->mode & FI_ASYNC_IOV) /* opx reads an array of pieces after the post, which ends the array's life */
        net->pieces_most = 1;
    if (net->pieces_most == 0)
        net->pieces_most = 1;
    net->chunk_bytes = smaller(env->chunk > 0 ? (size_t)env->chunk : net->traits->chunk_bytes, net->info->ep_attr->max_msg_size);
    if (net->chunk_bytes < HX_CHUNK_LEAST)
        net->chunk_bytes = HX_CHUNK_LEAST;
    net->rx_size = SIZE_MAX;
    for (struct hx_rail *rail = net->rails; rail < net->rails + net->nrails; rail++) {
        if (rail->info->rx_attr->size > 0) /* 0: unknown */
            net->rx_size = smaller(net->rx_size, rail->info->rx_attr->size);
        rail->bounces[HX_BOUNCE_CONTROL].bounce_bytes = 128;
        rail->bounces[HX_BOUNCE_EAGER].bounce_bytes = HX_EAGER_BYTES;
        rail->bounces[HX_BOUNCE_CHUNK].bounce_bytes = hx_chunk_bytes_most(net);
    }
    hx_tcp_space_prepare(net);
    hx_recvs_reserve(net, 1); /* for control messages */
}

/* A descriptor for all rails. */
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
    char names[128] = "", several[48] = "", chunk[HX_SIZE_BYTES], injected[HX_SIZE_BYTES];
    const int copies = net->rails[net->nrails - 1].copy + 1;

    for (int i = 0; i < net->nrails / copies; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? "+" : "",
                 net->rails[i].info->domain_attr->name);
    if (copies > 1)
        snprintf(several, sizeof(several), ", %d connections to each peer", copies);
    snprintf(net->text, sizeof(net->text),
             "libfabric %u.%u provider %s %u.%u on %s%s: chunks of %s, %d granted, inject %s, %s%s%s",
             FI_MAJOR(fi_version()), FI_MINOR(fi_version()), net->info->fabric_attr->prov_name,
             FI_MAJOR(net->info->fabric_attr->prov_version), FI_MINOR(net->info->fabric_attr->prov_version), names, several,
             hx_size_format(net->chunk_bytes, chunk), HX_GRANT, hx_size_format(net->inject_bytes, injected),
             net->wait_fd >= 0 ? "waits on a descriptor" : "no wait object",
             net->register_local ? ", registered buffers" : "", net->write_bytes > 0 ? ", remote writes" : "");
}

/* The interfaces near this rank, and equally good ones near other ranks of its node. */
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

static void rails_take(struct hx_net *net, struct hx_nic_choice *choice)
{
    for (; net->nrails < choice->nrails; net->nrails++)
        net->rails[net->nrails] = (struct hx_rail){.info = choice->rails[net->nrails], .address = (uint8_t)choice->addresses[net->nrails],
                                                   .copy = (uint8_t)choice->copies[net->nrails], .reads = 1, .wait_fd = -1};
    choice->nrails = 0; /* net owns them now */
    net->info = net->rails[0].info;
    net->traits = hx_provider_traits(net->info);
    recvs_limit(net);
    net->links = links_count(choice);
    net->link_bits = choice->nics[0].rate_bits;
}

/* Open the endpoints of the best provider that is not in refused. If libfabric cannot open it, *refusal says why, and the error is not
 * logged. */
static hx_status_t endpoints_open(struct hx_net *net, const struct hx_net_refusals *refused, struct hx_refusal *refusal)
{
    const struct hx_env *env = net->env;
    struct hx_nic_choice choice = {0};
    hx_status_t status = hx_negotiate(env, &net->whole_seat, refused, &choice);

    *refusal = (struct hx_refusal){.call = HX_OPEN_NONE};
    net->with_endpoints = net->directory.find ? net->directory.opened_here(net->directory.arg) + 1 : net->whole_seat.on_node;
    if (status == HX_SUCCESS) {
        rails_take(net, &choice);
        limits_set(net, env);
        hx_regions_reopen(net);
        net->peeks_unexpected = hx_provider_has_faults(net->traits);
        net->untagged_messages = FI_VERSION_LT(fi_version(), net->traits->indexes_strangers_before);
        status = hx_sink_prepare(net);
    }
    if (status == HX_SUCCESS && hx_offer_is_routed(net->info))
        status = hx_files_reserve(net->rank, hx_files_open() + RAIL_FILES * net->nrails);
    if (status == HX_SUCCESS)
        status = rails_open(net, hx_fabric_test.write_bytes > 0 ? hx_fabric_test.write_bytes : (size_t)env->rdma);
    for (int i = 0; i < net->nrails && refusal->call == HX_OPEN_NONE; i++)
        *refusal = net->rails[i].refusal;
    for (int i = 0; i < net->nrails && status == HX_SUCCESS; i++)
        status = hx_bounce_prepare(net, &net->rails[i]);
    hx_nic_choice_free(&choice);
    if (status != HX_SUCCESS)
        return status;
    net->wait_fd = common_fd(net);
    net->is_open = 1;
    net->unmet = net->meetings != NULL;
    text_make(net);
    hx_info("%s", net->text);
    return HX_SUCCESS;
}

/* Make a net without endpoints. */
static hx_status_t net_make(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                            const unsigned char key[HX_NET_KEY_BYTES], struct hx_net **out)
{
    struct hx_net *net = calloc(1, sizeof(*net));

    if (!net)
        return hx_fail(HX_ERR_NOMEM, "no memory for a network endpoint");
    net->rank = rank;
    net->nranks = nranks;
    net->env = env;
    net->seat = seat->index;
    net->whole_seat = *seat;
    hx_proofs_open(net, key);
    net->wait_fd = -1;
    net->unmet = 1;
    net->guard_ns = HX_GUARD_NS_MIN;
    net->silent_ns = (uint64_t)(1e9 * env->silent);
    net->edges = calloc((size_t)nranks, sizeof(struct hx_edge *));
    if (!net->edges) {
        free(net);
        return hx_fail(HX_ERR_NOMEM, "no memory for %d connections", nranks);
    }
    *out = net;
    return HX_SUCCESS;
}

static hx_status_t net_open_later(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                                  const unsigned char key[HX_NET_KEY_BYTES], const struct hx_net_refusals *refused, struct hx_net **out)
{
    hx_status_t status = net_make(env, rank, nranks, seat, key, out);

    if (status == HX_SUCCESS)
        (*out)->not_tried = refused;
    return status;
}

static hx_status_t net_try(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                           const unsigned char key[HX_NET_KEY_BYTES], const struct hx_net_refusals *refused, struct hx_refusal *refusal,
                           struct hx_net **out)
{
    struct hx_net *net;
    hx_status_t status = net_make(env, rank, nranks, seat, key, &net);

    *refusal = (struct hx_refusal){.call = HX_OPEN_NONE};
    if (status != HX_SUCCESS)
        return status;
    status = endpoints_open(net, refused, refusal);
    if (status == HX_SUCCESS)
        *out = net;
    else
        hx_net_close(net, 0);
    return status;
}

static hx_status_t named_refuse(const struct hx_env *env, hx_status_t status)
{
    char providers[256];

    hx_providers_list(providers, sizeof(providers));
    return hx_fail(status, "HX_PROVIDER=%s: %s; libfabric has: %s", env->provider, hx_last_detail(), providers);
}

/* If a provider cannot be opened, try the next one, unless HX_PROVIDER names the provider. Then all ranks leave it out: exchange.c. */
static hx_status_t net_open(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                            const unsigned char key[HX_NET_KEY_BYTES], const struct hx_net_refusals *refused, struct hx_net **out)
{
    struct hx_net_refusals all = *refused;
    struct hx_refusal first = {.call = HX_OPEN_NONE}, refusal;
    hx_status_t status;

    while ((status = net_try(env, rank, nranks, seat, key, &all, &refusal, out)) != HX_SUCCESS && refusal.call != HX_OPEN_NONE) {
        if (env->provider)
            return named_refuse(env, status);
        hx_info("%s: not used", hx_last_detail());
        hx_refusals_add(&all, rank, &refusal, 0);
        if (first.call == HX_OPEN_NONE)
            first = refusal;
    }
    if (status != HX_SUCCESS)
        return status;
    if (seat->of_node == 0 && !env->provider && !env->nic && refused->providers == 0) /* once on each node */
        hx_device_unused_warn((*out)->info->fabric_attr->prov_name, hx_provider_number((*out)->info), all.providers);
    (*out)->refused = all.providers;
    (*out)->refusal = first;
    return HX_SUCCESS;
}

/* Check that this rank's address fits those of the other ranks: it may have found another provider. Then enter it. */
static hx_status_t address_enter(struct hx_net *net)
{
    const struct hx_net_directory *directory = &net->directory;
    uint8_t own[HX_ADDRESS_BYTES];
    size_t own_bytes = sizeof(own), bytes = 0;
    const char *why = NULL;
    const void *rank0 = directory->find(directory->arg, 0, &bytes, &why);
    hx_status_t status = hx_address_get(net, own, &own_bytes);

    if (status == HX_SUCCESS)
        status = hx_address_agree(net->rank, own, own_bytes, 0, rank0, bytes);
    if (status == HX_SUCCESS)
        directory->enter(directory->arg, net->rank, own, own_bytes);
    return status;
}

hx_status_t hx_net_open_now(struct hx_net *net)
{
    struct hx_refusal refusal;
    hx_status_t status = endpoints_open(net, net->not_tried, &refusal);

    if (status != HX_SUCCESS && net->env->provider && refusal.call != HX_OPEN_NONE)
        status = named_refuse(net->env, status);
    else if (status != HX_SUCCESS)
        status = hx_fail(status, "rank %d of the job cannot open its network endpoint: %s", net->rank, hx_last_detail());
    if (status == HX_SUCCESS)
        status = address_enter(net);
    if (status == HX_SUCCESS) {
        net->directory.opened(net->directory.arg);
        return HX_SUCCESS;
    }
    net->directory.refuse(net->directory.arg, net->rank, status, hx_last_detail());
    hx_net_break(net, status);
    return status;
}

static hx_status_t net_check(const struct hx_env *env, const struct hx_net_seat *seat)
{
    struct hx_nic_choice choice;
    hx_status_t status = hx_negotiate(env, seat, &(struct hx_net_refusals){0}, &choice);

    hx_nic_choice_free(&choice);
    return status;
}

/* ---- waiting */

static int net_wait_fd(struct hx_net *net)
{
    return net->broken ? -1 : net->wait_fd;
}

/* After a refusal (while a connection is set up, say) no descriptor shows when to try again. Then sleep here for a millisecond. */
static int net_arm(struct hx_net *net)
{
    if (net->broken || net->breaking || hx_events_read(net) != 0)
        return 1;
    net->armed = net->rounds + 1;
    if (net->retry_before_sleep) {
        net->retry_before_sleep = 0;
        return 1;
    }
    for (int i = 0; i < net->nrails; i++)
        if (!hx_rail_may_sleep(&net->rails[i]))
            return 1;
    hx_unexpected_peek(net); /* it may post something; else all is read */
    for (int i = 0; i < net->nrails; i++)
        if (net->rails[i].unread && hx_net_progress(net) != 0)
            return 1;
    if (!net->active && !hx_meetings_are_due(net))
        return 0;
    poll(&(struct pollfd){.fd = net->wait_fd, .events = POLLIN}, 1, 1);
    return 1;
}

/* ---- queries */

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
    return net->edges[peer] && net->edges[peer]->has_traffic;
}

static const char *net_why(const struct hx_net *net)
{
    return net->why;
}

static void net_nic(const struct hx_net *net, struct hx_nic *nic)
{
    if (net->is_open)
        hx_nic_locate(net->info, nic);
    else
        *nic = (struct hx_nic){.distance = 3};
}

static unsigned net_match_bits(const struct hx_net *net)
{
    return net->match_bits;
}

const struct hx_net_ops hx_net_fabric = {
    .name = "fabric",
    .open = net_open,
    .open_later = net_open_later,
    .look_up = hx_directory_use,
    .check = net_check,
    .refusals = hx_address_refusals,
    .address = hx_address_get,
    .connect = hx_address_connect,
    .agree = hx_address_agree,
    .post = hx_message_post,
    .match_bits = net_match_bits,
    .forget = hx_communicator_drop,
    .progress = hx_net_progress,
    .why = net_why,
    .wait_fd = net_wait_fd,
    .arm = net_arm,
    .cancel = hx_message_cancel,
    .ask = hx_peer_check,
    .has_ended = hx_peer_has_ended,
    .tell = hx_control_message_send,
    .deliver = hx_control_message_deliver,
    .has_met = net_has_met,
    .listen = hx_control_message_listen,
    .memory_add = hx_region_add,
    .memory_remove = hx_region_remove,
    .counters = net_counters,
    .describe = net_describe,
    .nic = net_nic,
    .proof = hx_proof_data,
    .profile = hx_address_profile,
    .assume = hx_profile_assume,
    .providers = hx_provider_names,
    .close_in_child = hx_sockets_close_in_child,
    .drain = hx_net_drain,
    .close = hx_net_close,
};
