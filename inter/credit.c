/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits: how far a sender of long messages may run ahead of its receiver. Both ends count large chunks from the
 * start; the receiver tells its count when half a grant has gone by since it last did. Counts are sums, so the
 * largest one heard is the truth, in whatever order they come.
 */
#include "fabric.h"

static int listen_post(struct hx_net *net, struct hx_edge *edge)
{
    struct hx_chunk *chunk = hx_chunk_alloc(net);
    ssize_t rc;

    if (chunk == NULL)
        return -FI_EAGAIN;
    chunk->kind = HX_CHUNK_CREDIT;
    chunk->edge = edge;
    chunk->op = NULL;
    chunk->slot = NULL;
    rc = fi_trecv(net->ep, edge->credit_slot->base, sizeof(uint64_t), edge->credit_slot->desc, edge->addr,
                  HX_CREDIT_TAG, 0, &chunk->context);
    if (rc != 0) {
        hx_chunk_release(net, chunk);
        return -FI_EAGAIN;
    }
    net->recvs_in_flight++;
    return 0;
}

int hx_credit_listen(struct hx_net *net, struct hx_edge *edge)
{
    if (edge->listening)
        return 0;
    if (edge->credit_slot == NULL) {
        edge->credit_slot = hx_slot_alloc(net, sizeof(uint64_t));
        if (edge->credit_slot == NULL)
            return -FI_EAGAIN;
    }
    edge->listening = listen_post(net, edge) == 0;
    return edge->listening ? 0 : -FI_EAGAIN;
}

void hx_credit_arrived(struct hx_net *net, struct hx_edge *edge)
{
    uint64_t sum = *(const volatile uint64_t *)edge->credit_slot->base;

    if (sum > edge->acknowledged)
        edge->acknowledged = sum;
    edge->listening = 0;
    if (hx_credit_listen(net, edge) != 0 || edge->large.head != NULL)
        hx_edge_activate(net, edge);
}

int hx_credit_tell(struct hx_net *net, struct hx_edge *edge)
{
    if (fi_tinject(net->ep, &edge->received, sizeof(edge->received), edge->addr, HX_CREDIT_TAG) != 0)
        return -FI_EAGAIN; /* whatever it was: a broken edge shows in its messages */
    edge->told = edge->received;
    net->count.credits_sent++;
    return 0;
}
