/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and the endpoint: each post is held against the contract, then perhaps refused, then queued. It moves
 * nothing: that is for the wire, when the completion queue is read. */
#include "efa.h"
#include "runtime/base/clock.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EFA_EMULATED_WRITE (-(0xefa << 16) + 2)    /* FI_OPT_EFA_EMULATED_WRITE; older headers lack it */
#define EFA_HOMOGENEOUS_PEERS (-(0xefa << 16) + 7) /* FI_OPT_EFA_HOMOGENEOUS_PEERS, since libfabric 2.2 */

/* ---- address vector */

/* Why the device makes no further address handle: errno of ibv_create_ah, or 0. EINVAL: the address is in another availability
 * zone. ENOMEM: the device has no more handles. */
static int handle_refused(const struct efa_av *av)
{
    return av->count >= efa_setting("EFA_PEERS", SIZE_MAX) ? EINVAL : av->count >= efa_setting("EFA_HANDLES", SIZE_MAX) ? ENOMEM : 0;
}

/* As efa_av_insert of libfabric 1.17 to 2.6: returns the number of addresses inserted, also if there is no handle for the next one.
 * Only errno has the reason. */
static int av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *out, uint64_t flags, void *context)
{
    struct efa_av *av = container(fid, struct efa_av, fid);
    struct efa_peer **peers = realloc(av->peers, (av->count + count) * sizeof(struct efa_peer *));

    (void)flags;
    (void)context;
    if (!peers)
        return -FI_ENOMEM;
    av->peers = peers;
    for (size_t i = 0; i < count; i++) {
        const int refused = handle_refused(av);
        struct efa_peer *peer = refused ? NULL : calloc(1, sizeof(*peer));
        if (!peer) {
            errno = refused ? refused : ENOMEM;
            for (size_t k = i; out && k < count; k++)
                out[k] = FI_ADDR_NOTAVAIL;
            return (int)i;
        }
        memcpy(peer->name, (const char *)names + i * EFA_NAME_BYTES, EFA_NAME_BYTES);
        if (memcmp(peer->name, "efa-", 4) != 0)
            efa_breach(RULE_address, "what is inserted is no address");
        if (out)
            out[i] = av->count;
        av->peers[av->count++] = peer;
    }
    return (int)count;
}

static int av_close(struct fid *fid)
{
    struct efa_av *av = container(fid, struct efa_av, fid.fid);

    if (av->users != 0)
        efa_breach(RULE_order, "an address vector is closed that %d endpoints still use", av->users);
    for (size_t i = 0; i < av->count; i++)
        free(av->peers[i]);
    free(av->peers);
    av->domain->users--;
    free(av);
    return 0;
}

int efa_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = av_close};
    static struct fi_ops_av ops = {.size = sizeof(ops), .insert = av_insert};
    struct efa_av *av = calloc(1, sizeof(*av));

    (void)attr;
    if (!av)
        return -FI_ENOMEM;
    av->fid = (struct fid_av){.fid = {FI_CLASS_AV, context, &fid_ops}, .ops = &ops};
    av->domain = container(domain, struct efa_domain, fid);
    av->domain->users++;
    *out = &av->fid;
    return 0;
}

/* ---- posts: refusals */

static int is_not_ready(struct efa_peer *peer)
{
    if (efa_worst(WORST_rnr, 2) && hx_now_s() > peer->not_ready_until)
        peer->not_ready_until = hx_now_s() + 1e-6 * (50 + efa_dice(2950));
    return peer->not_ready_until > 0 && hx_now_s() < peer->not_ready_until;
}

/* A medium message needs all of its packets at once (efa_rdm_ope_post_send in 2.x, rxr_pkt_post_req in 1.17), a longer one the first. */
static int lacks_packets(const struct efa_ep *ep, size_t bytes)
{
    const size_t needed = bytes <= EFA_MEDIUM_BYTES ? efa_packets(bytes) : 1;

    return ep->npackets > 0 && ep->npackets + needed > ep->tx_size;
}

static int is_refused(struct efa_ep *ep, const struct efa_request *r)
{
    if (efa_worst(WORST_eagain, 30))
        return 1;
    if (r->kind == EFA_RECV)
        return ep->nrecvs >= ep->rx_size;
    if (efa_worst(WORST_handshake, 100) && !ep->av->peers[r->addr]->welcome && !(r->kind == EFA_WRITE && ep->homogeneous)) {
        efa_wire_greet(ep, ep->av->peers[r->addr]);
        return 1;
    }
    if (r->kind == EFA_SEND && lacks_packets(ep, efa_request_bytes(r)))
        return 1;
    return ep->nsends + ep->ninjects >= ep->tx_size || is_not_ready(ep->av->peers[r->addr]);
}

/* ---- posts: starting */

static uint8_t *gathered(const struct efa_request *r, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1), *to = copy;

    if (!copy)
        abort();
    for (size_t i = 0; i < r->count; to += r->iov[i++].iov_len)
        memcpy(to, r->iov[i].iov_base, r->iov[i].iov_len);
    return copy;
}

static struct efa_op *op_start(struct efa_ep *ep, const struct efa_request *r)
{
    struct efa_op *op = calloc(1, sizeof(*op));

    if (!op)
        abort();
    *op = (struct efa_op){.kind = r->kind, .context = r->context, .count = r->count, .bytes = efa_request_bytes(r),
                          .tag = r->tag, .ignore = r->ignore, .tagged = r->tagged, .target = r->target,
                          .id = ++ep->last_id};
    op->peer = r->addr == FI_ADDR_UNSPEC ? NULL : ep->av->peers[r->addr];
    if (r->kind == EFA_SEND)
        op->number = op->peer->messages++;
    op->lost = r->kind == EFA_SEND && op->peer->hole;
    if (efa_worst(WORST_late, 50))
        op->due = hx_now_s() + 1e-6 * efa_dice(1000);
    for (size_t i = 0; i < r->count; i++) {
        op->iov[i] = r->iov[i];
        if (efa_needs_descriptor(r, i)) {
            op->mr[i] = efa_mr_check(ep->domain, &r->iov[i], r->desc ? r->desc[i] : NULL, r->kind);
            op->mr[i]->users++;
        }
        if (r->kind == EFA_RECV && efa_worst(WORST_poison, 100))
            memset(r->iov[i].iov_base, 0xe7, r->iov[i].iov_len);
    }
    if (r->inject)
        op->copy = gathered(r, op->bytes);
    else
        efa_context_mark(op);
    op->sent_bytes = op->bytes;
    ep->npackets += r->kind == EFA_SEND ? efa_packets(op->bytes) : 0;
    ep->nrecvs += r->kind == EFA_RECV;
    ep->nsends += r->kind != EFA_RECV && !r->inject;
    ep->ninjects += (size_t)r->inject;
    ep->injected += (uint64_t)r->inject;
    efa_list_add(r->kind != EFA_RECV ? &ep->sends : &ep->recvs, op);
    return op;
}

static void error_inject(struct efa_ep *ep, struct efa_op *op)
{
    int once = 0, code = op->kind != EFA_RECV ? efa_error_due(++ep->posts, &once) : 0;

    if (code < 0) {
        ep->eq->error = -code;
    } else if (code > 0 && once) {
        op->fails = code;
        op->peer->hole = op->kind == EFA_SEND;
    } else if (code > 0) {
        op->peer->fails = code;
    }
}

static ssize_t post(struct fid_ep *fid, const struct efa_request *r)
{
    struct efa_ep *ep = container(fid, struct efa_ep, fid);
    ssize_t rc = 0;

    efa_enter(ep->domain);
    efa_request_check(ep, r);
    if (is_refused(ep, r)) {
        *efa_refused_at(ep, r) = ep->cq->reads + 1;
        rc = -FI_EAGAIN;
    } else {
        error_inject(ep, op_start(ep, r));
    }
    efa_leave(ep->domain);
    return rc;
}

/* ---- posts: the calls of libfabric */

#define NO_TARGET {0, 0, 0, 0}

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
                           uint64_t ignore, void *context)
{
    struct iovec iov = {buf, len};

    return post(ep, &(struct efa_request){EFA_RECV, 1, 0, &iov, &desc, 1, addr, tag, ignore, context, NO_TARGET});
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr,
                            uint64_t tag, uint64_t ignore, void *context)
{
    return post(ep, &(struct efa_request){EFA_RECV, 1, 0, iov, desc, count, addr, tag, ignore, context, NO_TARGET});
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    struct efa_request r = {EFA_RECV, 1, 0, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->tag, msg->ignore,
                            msg->context, NO_TARGET};

    return flags & ~(uint64_t)FI_COMPLETION ? -FI_EOPNOTSUPP : post(ep, &r);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
                           void *context)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_SEND, 1, 0, &iov, &desc, 1, addr, tag, 0, context, NO_TARGET});
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr,
                            uint64_t tag, void *context)
{
    return post(ep, &(struct efa_request){EFA_SEND, 1, 0, iov, desc, count, addr, tag, 0, context, NO_TARGET});
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    struct efa_request r = {EFA_SEND, 1, 0, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->tag, 0,
                            msg->context, NO_TARGET};

    return flags & ~(uint64_t)FI_COMPLETION ? -FI_EOPNOTSUPP : post(ep, &r);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_SEND, 1, 1, &iov, NULL, 1, addr, tag, 0, NULL, NO_TARGET});
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t addr,
                               uint64_t tag, void *context)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_SEND, 1, 0, &iov, &desc, 1, addr, tag, 0, context, {0, 0, data, 1}});
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t addr, uint64_t tag)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_SEND, 1, 1, &iov, NULL, 1, addr, tag, 0, NULL, {0, 0, data, 1}});
}

static ssize_t plain_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t addr, void *context)
{
    struct iovec iov = {buf, len};

    return post(ep, &(struct efa_request){EFA_RECV, 0, 0, &iov, &desc, 1, addr, 0, 0, context, NO_TARGET});
}

static ssize_t plain_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t addr, void *context)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_SEND, 0, 0, &iov, &desc, 1, addr, 0, 0, context, NO_TARGET});
}

static ssize_t plain_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_SEND, 0, 1, &iov, NULL, 1, addr, 0, 0, NULL, NO_TARGET});
}

static ssize_t writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t addr,
                         uint64_t address, uint64_t key, void *context)
{
    struct iovec iov = {(void *)buf, len};

    return post(ep, &(struct efa_request){EFA_WRITE, 0, 0, &iov, &desc, 1, addr, 0, 0, context, {address, key, data, 1}});
}

/* Receives can be taken back until something has come for them; sends cannot. */
static ssize_t cancel(fid_t fid, void *context)
{
    struct efa_ep *ep = container(fid, struct efa_ep, fid.fid);
    ssize_t rc = -FI_ENOENT;

    efa_enter(ep->domain);
    for (struct efa_op **at = &ep->recvs.head; *at; at = &(*at)->next)
        if ((*at)->context == context) {
            efa_op_end(ep, efa_list_take(&ep->recvs, at), FI_ECANCELED, FI_ECANCELED);
            rc = 0;
            break;
        }
    efa_leave(ep->domain);
    return rc;
}

/* ---- the endpoint itself */

/* As efa_rdm_ep_setopt takes it, before fi_enable and later. Then efa_rdm_rma_post_write does not wait for the peer's handshake. */
static int setopt(fid_t fid, int level, int name, const void *value, size_t bytes)
{
    if (level != FI_OPT_ENDPOINT || name != EFA_HOMOGENEOUS_PEERS || FI_VERSION_LT(efa_version(), FI_VERSION(2, 2)))
        return -FI_ENOPROTOOPT;
    if (bytes != sizeof(bool))
        return -FI_EINVAL;
    container(fid, struct efa_ep, fid.fid)->homogeneous = *(const bool *)value;
    return 0;
}

static int getopt(fid_t fid, int level, int name, void *value, size_t *bytes)
{
    (void)fid;
    if (level != FI_OPT_ENDPOINT || name != EFA_EMULATED_WRITE)
        return -FI_ENOPROTOOPT;
    if (*bytes < sizeof(bool))
        return -FI_ETOOSMALL;
    *(bool *)value = !getenv("EFA_RDMA");
    *bytes = sizeof(bool);
    return 0;
}

static int getname(fid_t fid, void *name, size_t *bytes)
{
    struct efa_ep *ep = container(fid, struct efa_ep, fid.fid);
    size_t room = *bytes;

    if (!ep->enabled)
        efa_breach(RULE_setup, "an endpoint is asked for its name that is not enabled");
    *bytes = EFA_NAME_BYTES;
    memcpy(name, ep->name, room < EFA_NAME_BYTES ? room : EFA_NAME_BYTES);
    return room < EFA_NAME_BYTES ? -FI_ETOOSMALL : 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct efa_ep *ep = container(fid, struct efa_ep, fid.fid);

    switch (other->fclass) {
    case FI_CLASS_CQ:
        if ((flags & (FI_TRANSMIT | FI_RECV)) != (FI_TRANSMIT | FI_RECV) || ep->cq)
            return -FI_ENOSYS; /* one queue for both */
        ep->cq = container(other, struct efa_cq, fid.fid);
        ep->cq->users++;
        ep->next = ep->cq->eps;
        ep->cq->eps = ep;
        return 0;
    case FI_CLASS_AV:
        ep->av = container(other, struct efa_av, fid.fid);
        ep->av->users++;
        return 0;
    case FI_CLASS_EQ:
        if (efa_refuses("bind"))
            return -FI_ENOSYS;
        ep->eq = container(other, struct efa_eq, fid.fid);
        ep->eq->users++;
        return 0;
    default: return -FI_EINVAL;
    }
}

static int ep_control(struct fid *fid, int command, void *arg)
{
    struct efa_ep *ep = container(fid, struct efa_ep, fid.fid);
    int rc;

    (void)arg;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    if (!ep->cq || !ep->av || (!ep->eq && !efa_refuses("events") && !efa_refuses("bind")))
        efa_breach(RULE_setup, "an endpoint is enabled without %s",
                   !ep->cq ? "completion queue" : !ep->av ? "addresses" : "event queue");
    if (efa_pair_take(ep->tx_size + ep->rx_size) != 0)
        return -FI_ENOMEM;
    ep->enabled = 1;
    rc = efa_wire_open(ep);
    if (rc == 0)
        efa_cq_watch(ep->cq, ep->socket);
    return rc;
}

/* What is under way is dropped, without completions, as the device does. */
static int ep_close(struct fid *fid)
{
    struct efa_ep *ep = container(fid, struct efa_ep, fid.fid), **link;

    efa_enter(ep->domain);
    efa_mr_count();
    efa_count("beyond", ep->beyond);
    efa_count("unexpected", ep->unexpected);
    efa_count("copied", ep->copied);
    efa_count("sends", ep->posts);
    efa_count("injected", ep->injected);
    efa_wire_close(ep);
    while (ep->sends.head)
        efa_op_free(ep, efa_list_take(&ep->sends, &ep->sends.head));
    while (ep->recvs.head)
        efa_op_free(ep, efa_list_take(&ep->recvs, &ep->recvs.head));
    if (ep->cq) {
        for (link = &ep->cq->eps; *link != ep; link = &(*link)->next)
            ;
        *link = ep->next;
        ep->cq->users--;
    }
    if (ep->av)
        ep->av->users--;
    if (ep->eq)
        ep->eq->users--;
    ep->domain->users--;
    efa_leave(ep->domain);
    free(ep);
    return 0;
}

int efa_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = ep_close, .bind = ep_bind, .control = ep_control};
    static struct fi_ops_ep ops = {.size = sizeof(ops), .cancel = cancel, .getopt = getopt,
                                  .setopt = setopt};
    static struct fi_ops_cm cm = {.size = sizeof(cm), .getname = getname};
    static struct fi_ops_msg msg = {
        .size = sizeof(msg), .recv = plain_recv, .send = plain_send, .inject = plain_inject};
    static struct fi_ops_tagged tagged = {.size = sizeof(tagged), .recv = tagged_recv, .recvv = tagged_recvv,
                                          .recvmsg = tagged_recvmsg, .send = tagged_send, .sendv = tagged_sendv,
                                          .sendmsg = tagged_sendmsg, .inject = tagged_inject,
                                          .senddata = tagged_senddata, .injectdata = tagged_injectdata};
    static struct fi_ops_rma rma = {.size = sizeof(rma), .writedata = writedata};
    struct efa_ep *ep;

    if (efa_refuses("endpoint"))
        return -FI_EACCES;
    ep = calloc(1, sizeof(*ep));
    if (!ep)
        return -FI_ENOMEM;
    ep->fid = (struct fid_ep){
        .fid = {FI_CLASS_EP, context, &fid_ops}, .ops = &ops, .cm = &cm, .msg = &msg, .tagged = &tagged, .rma = &rma};
    ep->domain = container(domain, struct efa_domain, fid);
    ep->domain->users++;
    ep->tx_size = info->tx_attr->size;
    ep->rx_size = info->rx_attr->size;
    ep->inject_bytes = info->tx_attr->inject_size;
    ep->rma = (info->caps & FI_RMA) != 0;
    ep->socket = -1;
    *out = &ep->fid;
    return 0;
}
