/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits: how many chunks a sender may have in flight in each flow. A flow that its receiver does not receive yet blocks no other
 * flow. Both ends count the chunks of long messages from the start. When a receiver has received half a grant, it sends its count.
 * Counts are sums, so the largest count of a flow is valid, in whatever order they arrive. A credit names its flow, so an edge
 * posts one receive for all flows.
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
        hx_queue_fail(net, &flow->large, status);
    }
}

void hx_flows_drop(struct hx_edge *edge, uint64_t first, uint64_t n, int all)
{
    for (struct hx_flow **link = &edge->flows, *flow; (flow = *link);) {
        if (flow->number - first >= n || (flow->large.head && !all)) {
            link = &flow->next;
            continue;
        }
        *link = flow->next;
        free(flow);
    }
}

void hx_communicator_drop(struct hx_net *net, int peer, uint64_t flow, uint64_t flows, uint64_t match, uint64_t matches)
{
    struct hx_edge *edge = net->edges[peer];

    if (!edge)
        return;
    hx_flows_drop(edge, flow, flows, 0);
    hx_unexpected_drop(edge, match, matches, 0);
    hx_invites_drop(edge, match, matches);
}

void hx_credit_arrived(struct hx_net *net, struct hx_edge *edge, const struct hx_credit *credit)
{
    struct hx_flow *flow = edge->flows;

    while (flow && flow->number != credit->flow)
        flow = flow->next;
    if (flow && credit->sum > flow->acknowledged)
        flow->acknowledged = credit->sum;
    if (flow && flow->large.head)
        hx_edge_activate(net, edge);
}

void hx_credits_resend(struct hx_net *net, struct hx_edge *edge)
{
    for (struct hx_flow *flow = edge->flows; flow; flow = flow->next)
        flow->reported = 0;
    hx_edge_activate(net, edge);
}

int hx_credit_send(struct hx_net *net, struct hx_edge *edge, struct hx_flow *flow)
{
    struct hx_packet control = {.credit = {.flow = flow->number, .sum = flow->received}};
    ssize_t rc = hx_control_send(net, edge, HX_CONTROL_CREDIT, &control);

    if (rc == -FI_EAGAIN)
        return -FI_EAGAIN;
    flow->reported = flow->received;
    net->count.credits_sent += rc == 0; /* other errors appear in the edge's messages too */
    return 0;
}
