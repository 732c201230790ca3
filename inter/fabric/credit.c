/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits: how many chunks a sender may have in flight in each flow. A flow that nobody receives yet does not block another. Both
 * ends count the chunks of long messages from the start. When a receiver has received half a grant, it sends its count. Counts are
 * sums, so the largest count of a flow is valid, in whatever order they arrive. A credit names its flow, so an edge posts one
 * receive for all flows.
 */
#include "inter/fabric/fabric.h"
#include <stdlib.h>

struct hx_flow *hx_flow_of(struct hx_edge *edge, uint64_t number)
{
    struct hx_flow **link = &edge->flows, *flow;

    while (*link && (*link)->number != number)
        link = &(*link)->next;
    flow = *link;
    if (flow)
        *link = flow->next;
    else if ((flow = calloc(1, sizeof(*flow))))
        flow->number = number;
    else
        return NULL;
    flow->next = edge->flows;
    return edge->flows = flow;
}

int hx_flows_are_pending(const struct hx_edge *edge)
{
    const struct hx_flow *flow = edge->flows;

    while (flow && !flow->large.head)
        flow = flow->next;
    return flow != NULL;
}

void hx_flows_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status)
{
    for (struct hx_flow *flow = edge->flows, *next; flow; flow = next) {
        next = flow->next; /* failing moves it to the front of the list */
        while (flow->large.head)
            hx_message_fail(net, flow->large.head, status);
    }
}

void hx_communicator_drop(struct hx_net *net, int peer, uint64_t first, uint64_t flows, uint64_t match, uint64_t matches)
{
    struct hx_edge *edge = net->edges[peer];

    for (struct hx_flow **link = edge ? &edge->flows : NULL, *flow; link && (flow = *link);) {
        if (flow->number - first >= flows || flow->large.head) {
            link = &flow->next;
            continue;
        }
        *link = flow->next;
        free(flow);
    }
    if (edge) {
        hx_unexpected_drop(edge, match, matches);
        hx_invites_drop(edge, match, matches);
    }
}

void hx_flows_close(struct hx_edge *edge)
{
    for (struct hx_flow *flow = edge->flows, *next; flow; flow = next) {
        next = flow->next;
        free(flow);
    }
}

/* ---- the sender */

int hx_credit_receive(struct hx_net *net, struct hx_edge *edge)
{
    if (edge->credit_posted)
        return 0;
    if (!edge->credit_bounce)
        edge->credit_bounce = hx_bounce_alloc(net, edge->paths[0].rail, sizeof(struct hx_credit));
    if (!edge->credit_bounce ||
        hx_control_receive(net, HX_CHUNK_RECV_CREDIT, edge, HX_CONTROL_CREDIT, edge->credit_bounce, sizeof(struct hx_credit)) != 0)
        return -FI_EAGAIN;
    edge->credit_posted = 1;
    return 0;
}

void hx_credit_arrived(struct hx_net *net, struct hx_edge *edge, size_t bytes)
{
    struct hx_credit credit = *(const volatile struct hx_credit *)edge->credit_bounce->base;
    struct hx_flow *flow = hx_proof_check(net, HX_CONTROL_CREDIT, edge, &credit, bytes, sizeof(credit)) ? edge->flows : NULL;

    while (flow && flow->number != credit.flow)
        flow = flow->next;
    if (flow && credit.sum > flow->acknowledged)
        flow->acknowledged = credit.sum;
    edge->credit_posted = 0;
    edge->has_arrivals = 1;
    if (hx_credit_receive(net, edge) != 0 || (flow && flow->large.head))
        hx_edge_activate(net, edge);
}

/* ---- the receiver */

ssize_t hx_credit_inject(const struct hx_net *net, struct hx_edge *edge, const struct hx_path *path, struct hx_credit *credit)
{
    ssize_t rc;

    hx_proof_write(net, edge, HX_CONTROL_CREDIT, credit, sizeof(*credit));
    rc = fi_tinject(path->rail->ep, credit, sizeof(*credit), path->addr, hx_control_tag(HX_CONTROL_CREDIT));
    edge->control_sent[HX_CONTROL_CREDIT] += rc == 0;
    return rc;
}

static ssize_t credit_post(struct hx_net *net, struct hx_edge *edge, struct hx_credit *credit)
{
    if (sizeof(*credit) <= net->inject_bytes) {
        ssize_t rc = hx_credit_inject(net, edge, &edge->paths[0], credit);
        if (rc == 0)
            hx_path_posted(&edge->paths[0], sizeof(*credit), NULL);
        return rc;
    }
    return hx_control_send(net, HX_CHUNK_SEND_CREDIT, edge, HX_CONTROL_CREDIT, credit, sizeof(*credit));
}

void hx_credits_resend(struct hx_net *net, struct hx_edge *edge)
{
    for (struct hx_flow *flow = edge->flows; flow; flow = flow->next)
        flow->reported = 0;
    hx_edge_activate(net, edge);
}

int hx_credit_send(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    struct hx_path *path = &edge->paths[0];
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND))
        return -FI_EAGAIN;
    rc = credit_post(net, edge, &(struct hx_credit){.flow = flow->number, .sum = flow->received});
    if (hx_is_refusal(rc)) {
        hx_path_refuse(path, HX_POST_SEND);
        return -FI_EAGAIN;
    }
    flow->reported = flow->received;
    if (rc != 0)
        return 0; /* other errors appear in the edge's messages too */
    net->count.credits_sent++;
    return 0;
}
