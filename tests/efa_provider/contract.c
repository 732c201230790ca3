/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract as far as it can be seen from one post and what is under way. */
#include "efa.h"

size_t efa_request_bytes(const struct efa_request *r)
{
    size_t bytes = 0;

    for (size_t i = 0; i < r->count; i++)
        bytes += r->iov[i].iov_len;
    return bytes;
}

int efa_needs_descriptor(const struct efa_request *r, size_t piece)
{
    const int is_copied = r->kind == EFA_RECV && efa_request_bytes(r) <= EFA_MEDIUM_BYTES;

    return !r->inject && r->iov[piece].iov_len > 0 && !(is_copied && !(r->desc && r->desc[piece]));
}

static void shape_check(const struct efa_ep *ep, const struct efa_request *r)
{
    size_t bytes;

    if (!ep->enabled)
        efa_breach(RULE_setup, "an endpoint is used that is not enabled");
    if (r->count > EFA_IOV_LIMIT)
        efa_breach(RULE_iov, "a message has %zu pieces", r->count);
    if (r->tagged && (r->tag | (r->kind == EFA_SEND ? 0 : r->ignore == ~UINT64_C(0) ? 0 : r->ignore)) >> EFA_TAG_BITS)
        efa_breach(RULE_tag, "tag %#llx, ignoring %#llx, has more than %d bits", (unsigned long long)r->tag,
                   (unsigned long long)r->ignore, EFA_TAG_BITS);
    if (r->kind == EFA_WRITE && !ep->rma)
        efa_breach(RULE_rma, "an endpoint writes without FI_RMA");
    if (r->target.data >> 32)
        efa_breach(RULE_data, "data %#llx has more", (unsigned long long)r->target.data);
    bytes = efa_request_bytes(r);
    if (bytes > EFA_MESSAGE_BYTES)
        efa_breach(RULE_size, "a message has %zu bytes", bytes);
    if (r->inject && bytes > ep->inject_bytes)
        efa_breach(RULE_inject, "%zu bytes are injected", bytes);
    if (!(r->kind == EFA_RECV && r->addr == FI_ADDR_UNSPEC) && r->addr >= ep->av->count)
        efa_breach(RULE_address, "address %#llx is none", (unsigned long long)r->addr);
}

/* Against one that is under way. */
static void pair_check(const struct efa_request *r, const struct efa_op *op)
{
    if (!r->inject && op->context == r->context)
        efa_breach(RULE_context, "an operation is posted with the context of another, %p", r->context);
    if (r->kind != EFA_RECV && op->kind != EFA_RECV)
        return;
    for (size_t i = 0; i < r->count && !r->inject; i++)
        for (size_t k = 0; k < op->count && !op->copy; k++) {
            const char *base = r->iov[i].iov_base, *other = op->iov[k].iov_base;
            if (base < other + op->iov[k].iov_len && other < base + r->iov[i].iov_len)
                efa_breach(RULE_overlap, "%zu bytes at %p are %s", r->iov[i].iov_len, r->iov[i].iov_base,
                           op->kind != EFA_RECV ? "received into that are being sent"
                                                : "used that are being received into");
        }
}

static void pairs_check(const struct efa_ep *ep, const struct efa_request *r)
{
    for (const struct efa_op *op = ep->sends.head; op; op = op->next)
        pair_check(r, op);
    for (const struct efa_op *op = ep->recvs.head; op; op = op->next)
        pair_check(r, op);
    for (const struct efa_op *op = ep->cq->done.head; op && !r->inject; op = op->next)
        if (op->context == r->context)
            efa_breach(RULE_context, "an operation is posted with a context whose completion is unread, %p",
                       r->context);
    if (!r->inject && !r->context)
        efa_breach(RULE_context, "an operation has none");
}

uint64_t *efa_refused_at(struct efa_ep *ep, const struct efa_request *r)
{
    return r->addr == FI_ADDR_UNSPEC ? &ep->refused : &ep->av->peers[r->addr]->refused[r->kind == EFA_RECV];
}

static void flow_check(struct efa_ep *ep, const struct efa_request *r)
{
    if (*efa_refused_at(ep, r) == ep->cq->reads + 1)
        efa_breach(RULE_again, "a %s to peer %lld is tried again", r->kind == EFA_RECV ? "receive" : "send",
                   (long long)r->addr);
    if (r->kind != EFA_RECV && !r->inject && ep->nsends >= ep->tx_size)
        efa_breach(RULE_credits, "%zu sends are under way already", ep->nsends);
    if (!r->inject && ep->nsends + ep->nrecvs + ep->cq->unread >= ep->cq->size)
        efa_breach(RULE_overrun, "it holds %zu and %zu are under way", ep->cq->size,
                   ep->nsends + ep->nrecvs + ep->cq->unread);
}

void efa_request_check(struct efa_ep *ep, const struct efa_request *r)
{
    shape_check(ep, r);
    for (size_t i = 0; i < r->count; i++)
        if (efa_needs_descriptor(r, i))
            efa_mr_check(ep->domain, &r->iov[i], r->desc ? r->desc[i] : NULL, r->kind);
    pairs_check(ep, r);
    flow_check(ep, r);
}
