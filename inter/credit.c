/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits: how far a sender of long messages may run ahead of its receiver, in each flow, so that what nobody receives
 * yet in one holds up no other. Both ends count the flow's large chunks from the start; the receiver tells its count
 * when half a grant has gone by since it last did. Counts are sums, so the largest one heard is the truth, in whatever
 * order they come.
 */
#include "fabric.h"
#include <stdlib.h>

struct hx_flow *hx_flow_of(struct hx_edge *edge, uint64_t match)
{
    uint32_t number = (uint32_t)(match >> HX_IN_FLOW_BITS);
    struct hx_flow **link = &edge->flows, *flow;

    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    flow = *link;
    if (flow != NULL)
        *link = flow->next;
    else if ((flow = calloc(1, sizeof(*flow))) != NULL)
        flow->number = number;
    else
        return NULL;
    flow->next = edge->flows;
    return edge->flows = flow;
}

void hx_flow_fail(struct hx_net *net, struct hx_flow *flow, hx_status_t status)
{
    while (flow->large.head != NULL)
        hx_message_fail(net, flow->large.head, status);
}

void hx_flows_close(struct hx_edge *edge)
{
    for (struct hx_flow *flow = edge->flows, *next; flow != NULL; flow = next) {
        next = flow->next;
        free(flow);
    }
}

static int listen_post(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    struct hx_path *path = &edge->paths[0];
    struct hx_chunk *chunk = hx_path_is_refused(path, HX_POST_RECV) ? NULL : hx_control_alloc(net, HX_CHUNK_CREDIT, edge, path);
    ssize_t rc;

    if (chunk == NULL)
        return -FI_EAGAIN;
    chunk->flow = flow;
    rc = fi_trecv(path->rail->ep, flow->credit_slot->base, sizeof(uint64_t),
                  hx_descriptor(flow->credit_slot->registration), path->addr, hx_credit_tag(flow), 0, &chunk->context);
    if (rc != 0) {
        hx_chunk_release(net, chunk);
        hx_path_refuse(path, HX_POST_RECV);
        return -FI_EAGAIN;
    }
    return 0;
}

int hx_credit_listen(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    if (flow->listening)
        return 0;
    if (flow->credit_slot == NULL) {
        flow->credit_slot = hx_slot_alloc(net, edge->paths[0].rail, sizeof(uint64_t));
        if (flow->credit_slot == NULL)
            return -FI_EAGAIN;
    }
    flow->listening = listen_post(net, edge, flow) == 0;
    return flow->listening ? 0 : -FI_EAGAIN;
}

void hx_credit_arrived(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    uint64_t sum = *(const volatile uint64_t *)flow->credit_slot->base;

    if (sum > flow->acknowledged)
        flow->acknowledged = sum;
    flow->listening = 0;
    if (hx_credit_listen(net, edge, flow) != 0 || flow->large.head != NULL)
        hx_edge_activate(net, edge);
}

int hx_credit_tell(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    struct hx_path *path = &edge->paths[0];
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND))
        return -FI_EAGAIN;
    rc = fi_tinject(path->rail->ep, &flow->received, sizeof(flow->received), path->addr, hx_credit_tag(flow));
    if (hx_is_refusal(rc)) {
        hx_path_refuse(path, HX_POST_SEND);
        return -FI_EAGAIN;
    }
    flow->told = flow->received;
    if (rc != 0)
        return 0; /* a broken edge shows in its messages */
    net->count.credits_sent++;
    return 0;
}
