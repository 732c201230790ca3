/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closing the endpoints. Before libfabric 2.3, EFA's close waits until every send in flight has ended. A peer that is alive but
 * makes no progress takes nothing. So a thread closes them. If it does not end in time, it goes on by itself, and everything that
 * it uses stays open.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CLOSE_SECONDS 2.0
#define DRAIN_SECONDS 1.0    /* an orderly close waits so long for sends in flight */
#define GONE_SECONDS 0.2     /* the same if a peer is gone: its sends never end */
#define LINGER_SECONDS 50e-3 /* then it makes progress for so long: peers may need it to read the last messages */
#define LINGER_STEP_NS 200000
#define CLOSE_STEP_NS 100000000

static void *endpoints_close(void *arg)
{
    struct hx_net *net = arg;

    for (int i = 0; i < net->nrails; i++)
        if (net->rails[i].ep)
            fi_close(&net->rails[i].ep->fid);
    return NULL;
}

static void closer_start(struct hx_net *net)
{
    sigset_t all, before;

    sigfillset(&all); /* signal handlers of the program must not run in this thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    net->closing = HX_CLOSING;
    if (pthread_create(&net->closer, NULL, endpoints_close, net) != 0) {
        endpoints_close(net);
        net->closing = HX_CLOSED;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int closer_ends(struct hx_net *net, long ns)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (until.tv_nsec + ns) / 1000000000;
    until.tv_nsec = (until.tv_nsec + ns) % 1000000000;
    return pthread_timedjoin_np(net->closer, NULL, &until) == 0;
}

int hx_endpoints_close(struct hx_net *net)
{
    const double deadline = hx_deadline(CLOSE_SECONDS);
    int first = net->closing == HX_OPEN;

    if (first)
        closer_start(net);
    while (net->closing == HX_CLOSING) {
        if (closer_ends(net, first ? CLOSE_STEP_NS : 0))
            net->closing = HX_CLOSED;
        else if (!first || hx_deadline_passed(deadline))
            break;
    }
    if (first && net->closing == HX_CLOSING)
        hx_warn("an endpoint of %s does not close, because a peer does not receive the messages that were sent to it",
                net->info->fabric_attr->prov_name);
    return net->closing == HX_CLOSED;
}

/* ---- the whole endpoint */

static int sends_left(const struct hx_net *net)
{
    size_t sends = 0;

    for (int i = 0; i < net->nrails; i++)
        sends += net->rails[i].sends_in_flight;
    return sends > 0 || net->active || hx_meetings_have_news(net);
}

int hx_any_edge_is_gone(const struct hx_net *net)
{
    for (int i = 0; i < net->nranks; i++)
        if (net->edges[i] && net->edges[i]->gone)
            return 1;
    return 0;
}

void hx_net_drain(struct hx_net *net)
{
    double limit = hx_deadline(hx_any_edge_is_gone(net) ? GONE_SECONDS : DRAIN_SECONDS), idle = hx_deadline(LINGER_SECONDS);

    while (!net->broken && !hx_deadline_passed(sends_left(net) ? limit : idle))
        if (hx_net_progress(net) > 0)
            idle = hx_deadline(LINGER_SECONDS);
        else
            nanosleep(&(struct timespec){.tv_nsec = LINGER_STEP_NS}, NULL); /* peers may share this core */
}

void hx_edge_free(struct hx_edge *edge)
{
    if (!edge)
        return;
    hx_unexpected_drop(edge, 0, UINT64_MAX, 1);
    hx_flows_drop(edge, 0, UINT64_MAX, 1);
    hx_invites_drop(edge, 0, UINT64_MAX);
    free(edge->invitations);
    free(edge);
}

int hx_net_close(struct hx_net *net, int orderly)
{
    if (orderly)
        hx_net_drain(net);
    hx_late_peers_close(net);
    if (!hx_endpoints_close(net)) {
        net->broken = HX_ERR_TRANSPORT;
        return 1;
    }
    if (net->nrails > 1 && net->wait_fd >= 0)
        close(net->wait_fd);
    hx_regions_close(net);
    hx_bounce_close(net);
    hx_chunks_close(net);
    for (int i = 0; i < net->nrails; i++)
        hx_rail_close(&net->rails[i]);
    for (int i = 0; net->edges && i < net->nranks; i++)
        hx_edge_free(net->edges[i]);
    hx_meetings_close(net);
    free(net->edges);
    free(net->own_address);
    free(net->sockets);
    free(net);
    return 0;
}
