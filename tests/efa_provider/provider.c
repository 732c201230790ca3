/* SPDX-License-Identifier: BSD-3-Clause */
/* What the provider offers, and the objects that only hold others: fabric, event queue, domain. */
#include "efa.h"
#include <dlfcn.h>
#include <rdma/providers/fi_prov.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MR_MODE (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define MODE (FI_CONTEXT | FI_CONTEXT2)
#define DIRECT_LACKS (FI_TAGGED | FI_DIRECTED_RECV) /* what the fabric efa-direct of libfabric 2.1 and later does not have */
#define CAPS                                                                                                           \
    (FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_RMA | FI_READ |      \
     FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

char efa_name[16] = "efa";

/* Devices: EFA_NICS, one if that is not set. */
static int nic_count(void)
{
    const char *text = getenv("EFA_NICS");

    return text && atoi(text) > 0 ? atoi(text) : 1;
}

static void nic_name(int nic, char name[32])
{
    snprintf(name, 32, "rdmap%ds6-rdm", nic);
}

static int differs(const char *wanted, const char *name)
{
    return wanted && strcasecmp(wanted, name) != 0;
}

/* What does a program ask for that this is not? */
static int is_refused(uint32_t version, const struct fi_info *hints, const char *domain_name)
{
    const struct fi_domain_attr *domain = hints->domain_attr;
    const struct fi_ep_attr *ep = hints->ep_attr;

    if (FI_VERSION_LT(version, FI_VERSION(1, 5)) || (hints->caps & ~CAPS) || (hints->mode & MODE) != MODE)
        return 1;
    if (hints->addr_format != FI_FORMAT_UNSPEC && hints->addr_format != FI_ADDR_EFA)
        return 1;
    if (ep && ((ep->type != FI_EP_UNSPEC && ep->type != FI_EP_RDM) || ep->max_msg_size > EFA_MESSAGE_BYTES))
        return 1;
    if (hints->fabric_attr &&
        (differs(hints->fabric_attr->prov_name, efa_name) || differs(hints->fabric_attr->name, efa_name)))
        return 1;
    if ((hints->tx_attr &&
         (hints->tx_attr->inject_size > efa_setting("EFA_INJECT", EFA_INJECT_BYTES) || hints->tx_attr->msg_order)) ||
        (hints->rx_attr && hints->rx_attr->msg_order))
        return 1;
    return !domain || (domain->mr_mode & MR_MODE) != MR_MODE || differs(domain->name, domain_name) ||
           (domain->threading != FI_THREAD_UNSPEC && domain->threading != FI_THREAD_DOMAIN) ||
           domain->data_progress == FI_PROGRESS_AUTO || domain->cq_data_size > 4;
}

/* FI_EFA_USE_HUGE_PAGE libfabric aborts of itself, from 1.18 on; RDMAV_HUGEPAGES_SAFE makes fi_domain fail. */
static void fork_check(void)
{
    const char *huge = getenv("FI_EFA_USE_HUGE_PAGE");
    int is_wanted = (huge && strcmp(huge, "0") != 0) || getenv("RDMAV_HUGEPAGES_SAFE");

    if (is_wanted && getenv("FI_EFA_FORK_SAFE"))
        efa_breach(RULE_fork, "FI_EFA_FORK_SAFE and huge pages are asked for");
}

static struct fi_info *device_offer(const struct fi_info *hints, int nic, const char *domain_name)
{
    struct fi_info *info = fi_allocinfo();

    if (!info)
        return NULL;
    info->caps = hints && hints->caps != 0 ? hints->caps : CAPS;
    info->mode = MODE;
    info->addr_format = FI_ADDR_EFA;
    *info->tx_attr = (struct fi_tx_attr){.caps = info->caps, .mode = MODE,
                                         .inject_size = efa_setting("EFA_INJECT", EFA_INJECT_BYTES),
                                         .size = efa_worst(WORST_depth, 100) ? 4 : efa_setting("EFA_SENDS", EFA_TX_SIZE),
                                         .iov_limit = EFA_IOV_LIMIT};
    *info->rx_attr = (struct fi_rx_attr){.caps = info->caps, .mode = MODE,
                                         .size = efa_setting("EFA_RECEIVES", EFA_RX_SIZE),
                                         .iov_limit = EFA_IOV_LIMIT};
    *info->ep_attr = (struct fi_ep_attr){.type = FI_EP_RDM, .protocol = FI_PROTO_EFA, .protocol_version = 4,
                                         .max_msg_size = EFA_MESSAGE_BYTES, .mem_tag_format = EFA_TAG_FORMAT,
                                         .tx_ctx_cnt = 1, .rx_ctx_cnt = 1};
    *info->domain_attr = (struct fi_domain_attr){
        .name = strdup(domain_name), .threading = FI_THREAD_DOMAIN, .control_progress = FI_PROGRESS_MANUAL,
        .data_progress = FI_PROGRESS_MANUAL, .resource_mgmt = FI_RM_ENABLED, .av_type = FI_AV_TABLE,
        .mr_mode = MR_MODE, .mr_key_size = 4, .cq_data_size = 4, .cq_cnt = 16, .ep_cnt = 16, .tx_ctx_cnt = 16,
        .rx_ctx_cnt = 16, .max_ep_tx_ctx = 1, .max_ep_rx_ctx = 1, .mr_iov_limit = 1, .mr_cnt = 65535};
    *info->fabric_attr = (struct fi_fabric_attr){.name = strdup(efa_name)}; /* libfabric adds ours */
    info->nic = efa_nic_make(nic);
    efa_source_set(info, nic);
    return info;
}

/* The fabric efa-direct comes before efa for who does not ask for what it lacks (efa_prov_info_list in libfabric 2.1 to 2.6). Its
 * messages are packets. */
static struct fi_info *direct_offer(const struct fi_info *hints, int nic, const char *domain_name)
{
    struct fi_info *info = hints && (hints->caps & DIRECT_LACKS) ? NULL : device_offer(hints, nic, domain_name);

    if (!info)
        return NULL;
    info->caps &= ~DIRECT_LACKS;
    info->tx_attr->caps = info->rx_attr->caps = info->caps;
    info->ep_attr->max_msg_size = EFA_PACKET_BYTES;
    info->ep_attr->mem_tag_format = 0;
    free(info->fabric_attr->name);
    info->fabric_attr->name = strdup("efa-direct");
    return info;
}

static int efa_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                       const struct fi_info *hints, struct fi_info **out)
{
    struct fi_info **end = out;
    char name[32];

    (void)node;
    (void)service;
    (void)flags;
    *out = NULL;
    for (int nic = 0; nic < nic_count(); nic++) {
        nic_name(nic, name);
        if (hints && is_refused(version, hints, name))
            continue;
        efa_worst_start();
        fork_check();
        if ((*end = direct_offer(hints, nic, name)))
            end = &(*end)->next;
        if (!(*end = device_offer(hints, nic, name)))
            return -FI_ENOMEM;
        end = &(*end)->next;
    }
    return *out ? 0 : -FI_ENODATA;
}

static void users_check(int users, const char *what)
{
    if (users != 0)
        efa_breach(RULE_order, "a %s is closed that %d still use", what, users);
}

/* ---- event queue: without one the device's own errors abort the program */

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t bytes, uint64_t flags)
{
    (void)event;
    (void)buf;
    (void)bytes;
    (void)flags;
    return container(fid, struct efa_eq, fid)->error != 0 ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
    struct efa_eq *eq = container(fid, struct efa_eq, fid);

    (void)flags;
    if (eq->error == 0)
        return -FI_EAGAIN;
    *entry = (struct fi_eq_err_entry){.err = FI_EIO, .prov_errno = eq->error};
    eq->error = 0;
    return sizeof(*entry);
}

static int eq_close(struct fid *fid)
{
    struct efa_eq *eq = container(fid, struct efa_eq, fid.fid);

    users_check(eq->users, "event queue");
    eq->fabric->users--;
    free(eq);
    return 0;
}

static int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = eq_close};
    static struct fi_ops_eq ops = {.size = sizeof(ops), .read = eq_read, .readerr = eq_readerr};
    struct efa_eq *eq;

    if (efa_refuses("events") || (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC))
        return -FI_ENOSYS;
    eq = calloc(1, sizeof(*eq));
    if (!eq)
        return -FI_ENOMEM;
    eq->fid = (struct fid_eq){.fid = {FI_CLASS_EQ, context, &fid_ops}, .ops = &ops};
    eq->fabric = container(fabric, struct efa_fabric, fid);
    eq->fabric->users++;
    *out = &eq->fid;
    return 0;
}

/* ---- domain */

static int domain_close(struct fid *fid)
{
    struct efa_domain *domain = container(fid, struct efa_domain, fid.fid);

    users_check(domain->users, "domain");
    domain->fabric->users--;
    free(domain);
    return 0;
}

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = domain_close};
    static struct fi_ops_domain ops = {
        .size = sizeof(ops), .av_open = efa_av_open, .cq_open = efa_cq_open, .endpoint = efa_endpoint_open};
    struct efa_domain *domain;

    (void)info;
    if (efa_refuses("domain"))
        return -FI_EACCES;
    domain = calloc(1, sizeof(*domain));
    if (!domain)
        return -FI_ENOMEM;
    domain->fid = (struct fid_domain){.fid = {FI_CLASS_DOMAIN, context, &fid_ops}, .ops = &ops, .mr = &efa_mr_ops};
    domain->fabric = container(fabric, struct efa_fabric, fid);
    domain->fabric->users++;
    *out = &domain->fid;
    return 0;
}

/* ---- fabric */

static int fabric_close(struct fid *fid)
{
    struct efa_fabric *fabric = container(fid, struct efa_fabric, fid.fid);

    users_check(fabric->users, "fabric");
    free(fabric);
    return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    int rc = 0;

    (void)fabric;
    for (int i = 0; i < count && rc == 0; i++)
        rc = fids[i]->fclass == FI_CLASS_CQ ? efa_cq_trywait(container(fids[i], struct efa_cq, fid.fid)) : -FI_EINVAL;
    return rc;
}

static int efa_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = fabric_close};
    static struct fi_ops_fabric ops = {
        .size = sizeof(ops), .domain = domain_open, .eq_open = eq_open, .trywait = trywait};
    struct efa_fabric *fabric;

    if (differs(attr->name, efa_name))
        return -FI_ENODATA;
    if (efa_refuses("fabric"))
        return -FI_EACCES;
    fabric = calloc(1, sizeof(*fabric));
    if (!fabric)
        return -FI_ENOMEM;
    fabric->fid = (struct fid_fabric){.fid = {FI_CLASS_FABRIC, context, &fid_ops}, .ops = &ops,
                                      .api_version = attr->api_version};
    *out = &fabric->fid;
    return 0;
}

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void) /* the entry that libfabric looks up */
{
    static struct fi_provider provider = {.version = FI_VERSION(999, 0), /* above a real one's */
                                          .name = efa_name,
                                          .getinfo = efa_getinfo,
                                          .fabric = efa_fabric};

    Dl_info file;

    if (dladdr(efa_name, &file) && strrchr(file.dli_fname, '/'))
        sscanf(strrchr(file.dli_fname, '/'), "/lib%15[a-z]-fi", efa_name);
    efa_window_set();
    provider.fi_version = fi_version(); /* an older one is passed over where a program asks for a newer one */
    return &provider;
}
