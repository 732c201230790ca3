/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Early messages. Before libfabric 1.20 native tcp stops a whole connection at a message that has no receive posted, so
 * that everything behind it, credits included, waits for that receive; plans promise no such order. When nothing has
 * happened for a while, look (FI_PEEK) at what each peer that is waited for has to offer, and take it into memory of
 * our own; a receive posted later finds it there. When nothing has completed for half a second, look at what all peers offer, since
 * a question may stand behind their messages (control_message.c). The grants of the peer's flows bound that memory. A forger keeps to no grants, so
 * there are limits too: messages beyond them stay in the connection.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include <stdlib.h>
#include <string.h>

#define EARLY_BYTES_MAX ((size_t)1 << 30) /* of one peer */
#define QUIET_NS UINT64_C(500000000)      /* then all peers are looked at once */

struct hx_early {
    struct hx_early *next;
    uint64_t tag;
    size_t bytes;
    uint32_t proof; /* its completion data */
    int arrived;
    uint8_t data[];
};

static void peek(struct hx_net *net, struct hx_edge *edge, struct hx_path *path)
{
    struct hx_chunk *chunk = hx_control_alloc(net, HX_CHUNK_PEEK, edge, path);
    struct fi_msg_tagged any = {.addr = path->addr, .ignore = ~UINT64_C(0)};

    if (!chunk)
        return;
    any.context = &chunk->context;
    if (fi_trecvmsg(path->rail->ep, &any, FI_PEEK) == 0)
        path->peeking = path->rail->unread = 1;
    else
        hx_chunk_release(net, chunk);
}

/* Has nothing completed for a while, since the last time that this was so, too? */
static int is_quiet(struct hx_net *net)
{
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);
    const int is_over = net->completions == net->quiet_completions && now - net->quiet_since >= QUIET_NS;

    if (is_over || net->completions != net->quiet_completions)
        net->quiet_since = now;
    net->quiet_completions = net->completions;
    return is_over;
}

static int is_awaited(const struct hx_edge *edge)
{
    return edge->recvs_in_flight > 0 || edge->writes.head || hx_flows_wait(edge);
}

void hx_early_seek(struct hx_net *net)
{
    const int all = net->seeks_early && is_quiet(net);

    for (int i = 0; net->seeks_early && i < net->nranks; i++) {
        struct hx_edge *edge = net->edges[i];
        if (!edge || (!is_awaited(edge) && (!all || !edge->met || edge->gone)))
            continue;
        for (int k = 0; k < edge->npaths; k++)
            if (!edge->paths[k].peeking)
                peek(net, edge, &edge->paths[k]);
    }
}

struct wanted {
    const struct hx_edge *edge;
    uint64_t tag;
    int posted;
};

static void compare(struct hx_net *net, struct hx_chunk *chunk, void *arg)
{
    struct wanted *wanted = arg;

    (void)net;
    wanted->posted |= (chunk->kind == HX_CHUNK_RECV || chunk->kind == HX_CHUNK_AGAIN) && chunk->edge == wanted->edge && chunk->tag == wanted->tag;
}

static int is_posted(struct hx_net *net, const struct hx_edge *edge, uint64_t tag)
{
    struct wanted wanted = {edge, tag, 0};

    hx_chunks_visit(net, compare, &wanted);
    return wanted.posted;
}

/* The completions of receives posted since the look come after its own: is_posted still sees them. */
void hx_early_found(struct hx_net *net, struct hx_chunk *chunk, uint64_t tag, size_t bytes)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_early *early;

    chunk->path->peeking = 0;
    if (hx_match_is_credit(tag >> HX_CHUNK_BITS) || bytes > hx_chunk_bytes_most(net) || edge->early_bytes + bytes > EARLY_BYTES_MAX ||
        is_posted(net, edge, tag) ||
        !(early = malloc(sizeof(*early) + bytes))) {
        hx_chunk_release(net, chunk);
        return;
    }
    *early = (struct hx_early){.next = edge->early, .tag = tag, .bytes = bytes};
    chunk->kind = HX_CHUNK_EARLY;
    chunk->early = early;
    if (fi_trecv(chunk->path->rail->ep, early->data, bytes, NULL, chunk->path->addr, tag, 0, &chunk->context) != 0) {
        free(early);
        hx_chunk_release(net, chunk);
        return;
    }
    edge->early = early;
    edge->early_bytes += sizeof(*early) + bytes;
    peek(net, edge, chunk->path); /* there may be more behind it */
}

void hx_early_none(struct hx_net *net, struct hx_chunk *chunk)
{
    chunk->path->peeking = 0;
    hx_chunk_release(net, chunk);
}

static void early_drop(struct hx_edge *edge, struct hx_early **link)
{
    struct hx_early *early = *link;

    *link = early->next;
    edge->early_bytes -= sizeof(*early) + early->bytes;
    free(early);
}

void hx_early_end(struct hx_net *net, struct hx_chunk *chunk, int arrived, uint32_t data)
{
    struct hx_early **link = &chunk->edge->early;

    while (*link != chunk->early)
        link = &(*link)->next;
    (*link)->proof = data;
    (*link)->arrived = arrived;
    if (!arrived) /* its connection has broken */
        early_drop(chunk->edge, link);
    hx_chunk_release(net, chunk);
}

int hx_early_take(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, uint64_t tag, size_t bytes)
{
    struct hx_early **link = &edge->early, *early;
    int proves = 0, coming = 0;

    while (!proves && (early = *link)) { /* there may be forged ones beside it */
        if (early->tag != tag || !early->arrived) {
            coming |= early->tag == tag;
            link = &early->next;
            continue;
        }
        proves = hx_recv_proves(net, op, op->posted_bytes, early->proof);
        if (proves) {
            op->posted_bytes += bytes;
            hx_recv_arrived(net, edge, op, op->posted_bytes - bytes, bytes, early->bytes, early->data);
        }
        early_drop(edge, link);
    }
    return proves ? 1 : coming ? -FI_EAGAIN : 0;
}

void hx_early_forget(struct hx_edge *edge, uint64_t match, uint64_t matches)
{
    for (struct hx_early **link = &edge->early, *early; (early = *link);) {
        if ((early->tag >> HX_CHUNK_BITS) - match >= matches || !early->arrived) {
            link = &early->next;
            continue;
        }
        early_drop(edge, link);
    }
}

void hx_early_close(struct hx_edge *edge)
{
    for (struct hx_early *early = edge->early, *next; early; early = next) {
        next = early->next;
        free(early);
    }
}
