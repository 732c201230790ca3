/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unexpected messages: those that arrive before their receive is posted. Before libfabric 1.20, native tcp stops the whole
 * connection at such a message. Everything behind it, credits included, waits for that receive, although plans promise no such
 * order. So when nothing has completed for a while, this rank looks (FI_PEEK) for messages of each peer that it waits for, and
 * receives them into memory of its own. A receive that is posted later takes them from there. Twice a second it looks at all peers,
 * because a control message may be behind their messages. It does so even if messages of other peers complete: while ranks agree
 * after a failure, they ask each other ten times a second. Credits bound that memory. A forger
 * ignores credits, so there is a limit too: further messages stay in the connection.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include <stdlib.h>
#include <string.h>

#define UNEXPECTED_BYTES_MAX ((size_t)1 << 30) /* of one peer */
#define ALL_NS UINT64_C(500000000)             /* from one look at all peers to the next */

struct hx_unexpected {
    struct hx_unexpected *next;
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

/* Is it time to look at all peers? The first call only starts the interval. */
static int all_are_due(struct hx_net *net)
{
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);
    const int is_over = net->all_looked_at && now - net->all_looked_at >= ALL_NS;

    if (is_over || !net->all_looked_at)
        net->all_looked_at = now;
    return is_over;
}

static int is_awaited(const struct hx_edge *edge)
{
    return edge->recvs_in_flight > 0 || edge->writes.head || hx_flows_are_pending(edge);
}

/* Has this rank sent anything to the peer? Then it may wait for an answer behind the peer's first message of a call. */
static int has_written(const struct hx_edge *edge)
{
    return edge->has_traffic || edge->paths[0].posted;
}

void hx_unexpected_peek(struct hx_net *net)
{
    const int all = net->peeks_unexpected && all_are_due(net);

    for (int i = 0; net->peeks_unexpected && i < net->nranks; i++) {
        struct hx_edge *edge = net->edges[i];
        if (!edge || (!is_awaited(edge) && (!all || !has_written(edge) || edge->gone)))
            continue;
        for (int k = 0; k < edge->npaths; k++)
            if (!edge->paths[k].peeking)
                peek(net, edge, &edge->paths[k]);
    }
}

static int is_posted(const struct hx_net *net, const struct hx_edge *edge, uint64_t tag)
{
    for (struct hx_chunk *chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
        if ((chunk->kind == HX_CHUNK_RECV || chunk->kind == HX_CHUNK_REPOST) && chunk->edge == edge && chunk->tag == tag)
            return 1;
    return 0;
}

/* Receives posted after the peek complete after it, so is_posted still sees them. */
void hx_unexpected_found(struct hx_net *net, struct hx_chunk *chunk, uint64_t tag, size_t bytes)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_unexpected *kept;

    chunk->path->peeking = 0;
    if (hx_match_is_credit(tag >> HX_CHUNK_BITS) || bytes > hx_chunk_bytes_most(net) || edge->unexpected_bytes + bytes > UNEXPECTED_BYTES_MAX ||
        is_posted(net, edge, tag) ||
        !(kept = malloc(sizeof(*kept) + bytes))) {
        hx_chunk_release(net, chunk);
        return;
    }
    *kept = (struct hx_unexpected){.next = edge->unexpected, .tag = tag, .bytes = bytes};
    chunk->kind = HX_CHUNK_UNEXPECTED;
    chunk->unexpected = kept;
    if (fi_trecv(chunk->path->rail->ep, kept->data, bytes, NULL, chunk->path->addr, tag, 0, &chunk->context) != 0) {
        free(kept);
        hx_chunk_release(net, chunk);
        return;
    }
    edge->unexpected = kept;
    edge->unexpected_bytes += sizeof(*kept) + bytes;
    peek(net, edge, chunk->path); /* there may be more behind it */
}

void hx_unexpected_none(struct hx_net *net, struct hx_chunk *chunk)
{
    chunk->path->peeking = 0;
    hx_chunk_release(net, chunk);
}

static void unexpected_drop(struct hx_edge *edge, struct hx_unexpected **link)
{
    struct hx_unexpected *kept = *link;

    *link = kept->next;
    edge->unexpected_bytes -= sizeof(*kept) + kept->bytes;
    free(kept);
}

void hx_unexpected_complete(struct hx_net *net, struct hx_chunk *chunk, int arrived, uint32_t data)
{
    struct hx_unexpected **link = &chunk->edge->unexpected;

    while (*link != chunk->unexpected)
        link = &(*link)->next;
    (*link)->proof = data;
    (*link)->arrived = arrived;
    if (!arrived) /* its connection has broken */
        unexpected_drop(chunk->edge, link);
    hx_chunk_release(net, chunk);
}

int hx_unexpected_take(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, uint64_t tag, size_t bytes)
{
    struct hx_unexpected **link = &edge->unexpected, *kept;
    int proves = 0, coming = 0;

    while (!proves && (kept = *link)) { /* forged messages may have the same tag */
        if (kept->tag != tag || !kept->arrived) {
            coming |= kept->tag == tag;
            link = &kept->next;
            continue;
        }
        proves = hx_recv_check(net, op, op->posted_bytes, kept->proof);
        if (proves) {
            op->posted_bytes += bytes;
            hx_recv_arrived(net, edge, op, op->posted_bytes - bytes, bytes, kept->bytes, kept->data);
        }
        unexpected_drop(edge, link);
    }
    return proves ? 1 : coming ? -FI_EAGAIN : 0;
}

void hx_unexpected_drop(struct hx_edge *edge, uint64_t match, uint64_t matches, int all)
{
    for (struct hx_unexpected **link = &edge->unexpected, *kept; (kept = *link);)
        if ((kept->tag >> HX_CHUNK_BITS) - match >= matches || !(kept->arrived || all))
            link = &kept->next;
        else
            unexpected_drop(edge, link);
}
