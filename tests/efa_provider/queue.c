/* SPDX-License-Identifier: BSD-3-Clause */
/* The completion queue. Reading it is all that ever makes progress. Since libfabric 2.5 it may have a descriptor to wait on. */
#include "efa.h"
#include "runtime/base/clock.h"
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- lists of operations */

void efa_list_add(struct efa_list *list, struct efa_op *op)
{
    op->next = NULL;
    if (!list->head)
        list->tail = &list->head;
    *list->tail = op;
    list->tail = &op->next;
}

struct efa_op *efa_list_take(struct efa_list *list, struct efa_op **at)
{
    struct efa_op *op = *at;

    *at = op->next;
    if (list->tail == &op->next)
        list->tail = at;
    return op;
}

/* ---- the end of an operation */

/* A number of its own at every word: the context is ours, and comes back as it was left. */
static uint64_t context_word(const struct efa_op *op, size_t i)
{
    return (uintptr_t)op ^ (i + 1) * 0x9e3779b97f4a7c15u;
}

void efa_context_mark(const struct efa_op *op)
{
    for (size_t i = 0; i < sizeof(struct fi_context2) / 8; i++)
        ((uint64_t *)op->context)[i] = context_word(op, i);
}

static void context_check(const struct efa_op *op)
{
    for (size_t i = 0; op->context && i < sizeof(struct fi_context2) / 8; i++)
        if (((uint64_t *)op->context)[i] != context_word(op, i))
            efa_breach(RULE_context, "the context at %p was written to", op->context);
}

void efa_op_free(struct efa_ep *ep, struct efa_op *op)
{
    for (size_t i = 0; i < op->count; i++)
        if (op->mr[i])
            op->mr[i]->users--;
    if (op->kind == EFA_SEND)
        ep->npackets -= efa_packets(op->sent_bytes);
    if (op->kind == EFA_RECV)
        ep->nrecvs--;
    else if (!op->copy)
        ep->nsends--;
    else
        ep->ninjects--;
    free(op->copy);
    free(op);
}

/* ---- the descriptor, as in libfabric 2.5 and 2.6. It becomes readable by the device's event, which only fi_cq_sread takes away, and by each
 * completion, which fi_trywait takes away: efa_rdm_cq_poll_events, util_wait_fd_try. */

static void wait_show(const struct efa_cq *cq)
{
    eventfd_t old;

    eventfd_read(cq->wait_event, &old);
    if (cq->has_event || cq->has_signal)
        eventfd_write(cq->wait_event, 1);
}

void efa_cq_event(struct efa_cq *cq)
{
    if (cq->wait_fd < 0)
        return;
    cq->has_event = 1;
    wait_show(cq);
}

static void wait_open(struct efa_cq *cq)
{
    struct epoll_event event = {.events = EPOLLIN};

    cq->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    cq->wait_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cq->wait_fd < 0 || cq->wait_event < 0 || epoll_ctl(cq->wait_fd, EPOLL_CTL_ADD, cq->wait_event, &event) != 0)
        abort();
}

void efa_cq_watch(struct efa_cq *cq, int socket)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (cq->wait_fd >= 0 && epoll_ctl(cq->wait_fd, EPOLL_CTL_ADD, socket, &event) != 0)
        abort();
}

/* Without a wait object: ofi_trywait reads through a null pointer; efa_trywait, since libfabric 2.4, returns an error. */
int efa_cq_trywait(struct efa_cq *cq)
{
    if (cq->wait_fd < 0 && FI_VERSION_LT(efa_version(), FI_VERSION(2, 4)))
        efa_breach(RULE_wait, "fi_trywait is called for a queue without one");
    if (cq->wait_fd < 0)
        return -FI_EINVAL;
    cq->has_signal = 0;
    wait_show(cq);
    return cq->done.head ? -FI_EAGAIN : 0;
}

static void told_add(struct efa_cq *cq, struct efa_op *told)
{
    efa_list_add(&cq->done, told);
    cq->unread++;
    if (cq->wait_fd < 0)
        return;
    cq->has_signal = 1;
    wait_show(cq);
}

static void failure_repeat(struct efa_cq *cq, const struct efa_op *failed)
{
    for (size_t packet = EFA_PACKET_BYTES; packet < failed->bytes; packet += EFA_PACKET_BYTES) {
        struct efa_op *told = malloc(sizeof(*told));
        if (!told)
            abort();
        *told = *failed;
        told_add(cq, told);
    }
}

void efa_op_end(struct efa_ep *ep, struct efa_op *op, int err, int prov_errno)
{
    struct efa_op *told;

    if (!op->context && err == 0) {
        efa_op_free(ep, op);
        return;
    }
    told = malloc(sizeof(*told));
    if (!told)
        abort();
    context_check(op);
    *told = *op;
    told->err = err;
    told->prov_errno = prov_errno;
    told->copy = NULL;
    efa_op_free(ep, op);
    told_add(ep->cq, told);
    if (err != 0 && told->kind == EFA_SEND && told->context && efa_worst(WORST_repeat, 100))
        failure_repeat(ep->cq, told);
}

/* The device's queue has an entry for each packet. While the program does not look, all that can be sent and all receives that the
 * provider has posted may end, and only what is left is for writes. efa_rdm_cq_open (libfabric 1.17 to 2.6) makes a shorter queue as
 * long as the packets need. */
void efa_written(struct efa_ep *ep, const struct efa_target *target, size_t bytes)
{
    struct efa_op *told = calloc(1, sizeof(*told));
    const size_t packets = ep->tx_size + ep->rx_size;

    if (!told)
        abort();
    if (packets + ep->cq->written >= ep->cq->size)
        efa_breach(RULE_overrun, "it holds %zu, packets may take %zu, and a write arrives after %zu unread ones", ep->cq->size, packets,
                   ep->cq->written);
    ep->cq->written++;
    *told = (struct efa_op){.kind = EFA_WRITTEN, .bytes = bytes, .target = *target};
    told_add(ep->cq, told);
}

/* ---- the device's codes: efa_errno.h of libfabric 1.22 to 2.6. 4127 is newer */

static const struct {
    int code, error;
    const char *text;
} codes[] = {
    {1, FI_ECANCELED, "Flushed during queue pair destroy"},
    {7, FI_EINVAL, "Remote memory registration is invalid, has insufficient access flags or does not match IOVA"},
    {8, FI_ECONNABORTED, "Connection was reset by remote peer"},
    {9, FI_ENOTCONN, "Bad queue pair (QP) number (QP does not exist or is in error state)"},
    {10, FI_ENORX, "Destination resource not ready (no work queue entries posted on receive queue)"},
    {12, FI_EREMOTEIO, "Unexpected status returned by responder"},
    {13, FI_ECONNABORTED, "Unresponsive remote (was previously responsive)"},
    {14, FI_ENOTCONN, "No valid address handle at remote side (required for RDMA operations)"},
    {15, FI_EHOSTUNREACH, "Unreachable remote - never received a response"},
    {18, FI_EINVAL, "Remote feature mismatch"},
    {4112, FI_EOTHER, "Failure to post internal receive buffers"},
    {4124, FI_ECONNABORTED, "Unresponsive receiver (connection previously established)"},
    {4126, FI_ECONNABORTED, "Unresponsive receiver (reachable by EFA device but handshake failed)"},
    {4127, FI_EOTHER, "Operation aborted because the peer closed its memory registration or endpoint mid-transfer"},
};
#define CODES (sizeof(codes) / sizeof(codes[0]))

int efa_code_error(int code)
{
    for (size_t i = 0; i < CODES; i++)
        if (codes[i].code == code)
            return codes[i].error;
    return FI_EOTHER;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *data, char *buf, size_t bytes)
{
    (void)fid;
    (void)data;
    (void)buf;
    (void)bytes;
    for (size_t i = 0; i < CODES; i++)
        if (codes[i].code == prov_errno)
            return codes[i].text;
    return "Unknown error";
}

/* ---- reading */

static uint64_t flags_of(const struct efa_op *op)
{
    switch (op->kind) {
    case EFA_WRITE: return FI_RMA | FI_WRITE;
    case EFA_WRITTEN: return FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
    case EFA_SEND: return (op->tagged ? FI_TAGGED : FI_MSG) | FI_SEND;
    default: return (op->tagged ? FI_TAGGED : FI_MSG) | FI_RECV | (op->target.has_data ? FI_REMOTE_CQ_DATA : 0);
    }
}

static void stray_add(struct efa_cq *cq)
{
    struct efa_op *op = calloc(1, sizeof(*op));

    if (!op)
        abort();
    op->err = efa_code_error(9);
    op->prov_errno = 9;
    told_add(cq, op);
}

static struct efa_op *done_take(struct efa_cq *cq)
{
    cq->unread--;
    cq->written -= cq->done.head->kind == EFA_WRITTEN;
    return efa_list_take(&cq->done, &cq->done.head);
}

static ssize_t done_read(struct efa_cq *cq, struct fi_cq_tagged_entry *entries, size_t count)
{
    size_t n = 0;

    for (; n < count && cq->done.head && cq->done.head->err == 0; n++) {
        struct efa_op *op = done_take(cq);
        entries[n] = (struct fi_cq_tagged_entry){.op_context = op->context, .flags = flags_of(op), .len = op->bytes,
                                                 .tag = op->tag, .data = op->kind == EFA_WRITTEN || op->kind == EFA_RECV ? op->target.data : 0};
        free(op);
    }
    return n > 0 ? (ssize_t)n : cq->done.head ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *fid, void *entries, size_t count)
{
    struct efa_cq *cq = container(fid, struct efa_cq, fid);
    ssize_t n;

    efa_enter(cq->domain);
    cq->reads++;
    for (struct efa_ep *ep = cq->eps; ep; ep = ep->next)
        efa_wire_progress(ep);
    if (efa_worst(WORST_stray, 100) && efa_dice(2000) == 0)
        stray_add(cq);
    n = done_read(cq, entries, count);
    efa_leave(cq->domain);
    return n;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
    struct efa_cq *cq = container(fid, struct efa_cq, fid);
    struct efa_op *op;

    (void)flags;
    efa_enter(cq->domain);
    if (!cq->done.head || cq->done.head->err == 0) {
        efa_leave(cq->domain);
        return -FI_EAGAIN;
    }
    op = done_take(cq);
    entry->op_context = op->context;
    entry->flags = flags_of(op);
    entry->len = op->bytes;
    entry->tag = op->tag;
    entry->err = op->err;
    entry->prov_errno = op->prov_errno;
    free(op);
    efa_leave(cq->domain);
    return 1;
}

static ssize_t cq_sread(struct fid_cq *fid, void *entries, size_t count, const void *condition, int timeout)
{
    struct efa_cq *cq = container(fid, struct efa_cq, fid);
    struct pollfd on = {.fd = cq->wait_fd, .events = POLLIN};
    const double until = timeout < 0 ? 1e300 : hx_now_s() + 1e-3 * timeout;
    ssize_t n;

    (void)condition;
    if (cq->wait_fd < 0)
        return -FI_ENOSYS;
    while ((n = cq_read(fid, entries, count)) == -FI_EAGAIN) {
        if (efa_cq_trywait(cq) == 0 && poll(&on, 1, timeout) == 1) {
            cq->has_event = 0;
            wait_show(cq);
        }
        if (hx_now_s() >= until)
            break;
    }
    return n;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
    struct efa_cq *cq = container(fid, struct efa_cq, fid.fid);

    if (FI_VERSION_LT(efa_version(), FI_VERSION(2, 5)))
        return -FI_ENOSYS;
    switch (command) {
    case FI_GETWAIT:
        if (cq->wait_fd < 0)
            return -FI_ENODATA;
        *(int *)arg = cq->wait_fd;
        return 0;
    case FI_GETWAITOBJ: *(enum fi_wait_obj *)arg = cq->wait_fd < 0 ? FI_WAIT_NONE : FI_WAIT_FD; return 0;
    default: return -FI_ENOSYS;
    }
}

static int cq_close(struct fid *fid)
{
    struct efa_cq *cq = container(fid, struct efa_cq, fid.fid);

    if (cq->users != 0)
        efa_breach(RULE_order, "a completion queue is closed that %d endpoints still use", cq->users);
    while (cq->done.head)
        free(done_take(cq));
    if (cq->wait_fd >= 0) {
        close(cq->wait_event);
        close(cq->wait_fd);
    }
    cq->domain->users--;
    free(cq);
    return 0;
}

/* Before libfabric 2.5 there is no wait object. Since then a descriptor, unless a program asks for FI_LOCAL_COMM, which starts EFA's shared
 * memory: efa_rdm_cq_configure_wait. */
static int has_wait_object(enum fi_wait_obj object)
{
    return object == FI_WAIT_NONE || (FI_VERSION_GE(efa_version(), FI_VERSION(2, 5)) && (object == FI_WAIT_UNSPEC || object == FI_WAIT_FD));
}

int efa_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out, void *context)
{
    static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = cq_close, .control = cq_control};
    static struct fi_ops_cq ops = {.size = sizeof(ops), .read = cq_read, .readerr = cq_readerr, .sread = cq_sread,
                                   .strerror = cq_strerror};
    struct efa_cq *cq;

    if (!has_wait_object(attr->wait_obj))
        return -FI_ENOSYS;
    if (attr->format != FI_CQ_FORMAT_TAGGED)
        return -FI_ENOSYS;
    if (attr->size > efa_setting("EFA_QUEUE", SIZE_MAX))
        return -FI_EINVAL;
    cq = calloc(1, sizeof(*cq));
    if (!cq)
        return -FI_ENOMEM;
    cq->fid = (struct fid_cq){.fid = {FI_CLASS_CQ, context, &fid_ops}, .ops = &ops};
    cq->domain = container(domain, struct efa_domain, fid);
    cq->domain->users++;
    cq->size = attr->size != 0 ? attr->size : EFA_TX_SIZE + EFA_RX_SIZE;
    cq->wait_fd = -1;
    if (attr->wait_obj != FI_WAIT_NONE)
        wait_open(cq);
    *out = &cq->fid;
    return 0;
}
