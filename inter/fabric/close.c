/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closing the endpoints. Before libfabric 2.3 EFA waits then until all that is under way has left, and a peer that lives
 * but does not look takes nothing. So a thread closes them: what has not ended in time goes on by itself, until the peer
 * looks again or the process ends, and all that it uses stays.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include <signal.h>
#include <time.h>

#define CLOSE_SECONDS 2.0
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

    sigfillset(&all); /* the program's handlers are for its own threads */
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
        hx_warn("an endpoint of %s does not close, since a peer does not take what is under way to it",
                net->info->fabric_attr->prov_name);
    return net->closing == HX_CLOSED;
}
