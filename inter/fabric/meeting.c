/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meetings: connecting to a peer after start-up. At start-up only some ranks of each node open endpoints (HX_ENDPOINTS). They are the gates of
 * their node: all gates know each other's addresses. The other ranks open their endpoints at first need.
 *
 *   Rank a wants to reach rank b of another node. Neither has an endpoint.
 *   a            opens its endpoints, and enters its address in the directory of its node. It sends a gate of b's node its address, and says
 *                that it wants b
 *   the gate     enters a's address in the directory of b's node, and wakes b
 *   b            opens its endpoints, connects to a, and sends a its address. It says that it wants a
 *   a            connects to b, and sends its own address back. Now both know each other
 *
 * If b is open already, the gate sends b's address to a, and a sends its address to b. A rank that waits asks again at growing intervals, each
 * time another gate. So a lost message does no harm, and a gate that computes delays a meeting only until the next gate is asked.
 *
 * Messages to a peer wait here until the peer has sent something: before that it may not know this rank, and then cannot match messages by
 * their source. They also wait until this rank has sent its address: with some providers an unexpected message stops the messages after it
 * (unexpected.c).
 *
 * Only gates have endpoints, so an address reaches a node only while a gate there makes progress. If all gates of a node compute for long,
 * the first message to another rank of that node waits for them.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASK_NS_MIN UINT64_C(4000000)
#define ASK_NS_MAX UINT64_C(200000000)

static uint64_t now_ns(void)
{
    return hx_clock_ns(CLOCK_MONOTONIC_COARSE);
}

hx_status_t hx_directory_use(struct hx_net *net, const struct hx_net_directory *directory)
{
    const char *why = NULL;
    size_t bytes = 0;
    const void *rank0 = directory->find(directory->arg, 0, &bytes, &why);

    net->directory = *directory;
    return rank0 ? hx_address_adopt(net, 0, rank0, bytes) : hx_fail(HX_ERR_INTERNAL, "rank 0 has no network address");
}

/* ---- the list */

static struct hx_meeting *meeting_find(const struct hx_net *net, int peer)
{
    struct hx_meeting *m = net->meetings;

    while (m && m->peer != peer)
        m = m->next;
    return m;
}

/* The meeting with a peer that is not connected. Makes it if there is none, and opens this rank's endpoints. NULL after an error; its text is
 * this thread's last detail. */
static struct hx_meeting *meeting_of(struct hx_net *net, int peer)
{
    struct hx_meeting *m = net->broken ? NULL : meeting_find(net, peer);

    if (m || net->broken)
        return m;
    if (!net->directory.find || peer < 0 || peer >= net->nranks || peer == net->rank) {
        hx_fail(HX_ERR_INTERNAL, "rank %d of the job is not connected to rank %d", net->rank, peer);
        return NULL;
    }
    if (!net->is_open && hx_net_open_now(net) != HX_SUCCESS)
        return NULL;
    if (!(m = calloc(1, sizeof(*m)))) {
        hx_fail(HX_ERR_NOMEM, "no memory for the connection to rank %d", peer);
        return NULL;
    }
    *m = (struct hx_meeting){.peer = peer, .next = net->meetings, .interval = ASK_NS_MIN};
    net->meetings = m;
    net->unmet = 1;
    return m;
}

static void meeting_remove(struct hx_net *net, struct hx_meeting *m)
{
    struct hx_meeting **link = &net->meetings;

    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    net->unmet = !net->is_open || net->meetings;
    free(m);
}

static struct hx_net_op *op_take(struct hx_meeting *m)
{
    struct hx_net_op *op = m->ops.head;

    if (op)
        m->ops.head = op->next;
    return op;
}

static void ops_fail(struct hx_meeting *m, hx_status_t status)
{
    struct hx_net_op *op;

    while ((op = op_take(m))) {
        hx_detail_keep(op->why);
        op->done = -(int)status;
    }
}

/* The peer cannot be connected. This thread's last detail says why. */
static void meeting_fail(struct hx_net *net, struct hx_meeting *m, hx_status_t status)
{
    ops_fail(m, status);
    meeting_remove(net, m);
}

struct hx_edge *hx_meeting_edge(const struct hx_net *net, int peer)
{
    const struct hx_meeting *m = meeting_find(net, peer);

    return m ? m->edge : NULL;
}

/* Both ranks know each other: post the messages that wait. */
static void meeting_end(struct hx_net *net, struct hx_meeting *m)
{
    struct hx_net_op *op;

    hx_debug("connected to rank %d of the job", m->peer);
    net->edges[m->peer] = m->edge;
    if (m->must_tell) {
        m->edge->must_resend = 1;
        hx_edge_activate(net, m->edge);
    }
    while ((op = op_take(m)))
        hx_message_post(net, op);
    meeting_remove(net, m);
}

void hx_meeting_note(struct hx_net *net, int peer)
{
    struct hx_meeting *m = meeting_find(net, peer);

    m->heard = 1;
    if (m->told)
        meeting_end(net, m);
}

/* ---- addresses */

/* Send the address of a rank, or why it has none. wants: the rank that this rank wants to reach, or -1. Returns 1: sent; 0: enough of them
 * are in flight, all with this rank's address if the peer is not connected yet; or -FI_EAGAIN. */
static int address_send(struct hx_net *net, struct hx_edge *edge, int rank, int wants)
{
    const struct hx_net_directory *directory = &net->directory;
    struct hx_control_message message = {.kind = HX_MESSAGE_ADDRESS, .rank = rank, .context = wants};
    const char *why = NULL;
    size_t bytes = 0;
    const void *address = directory->find(directory->arg, rank, &bytes, &why);

    if (!address && !why)
        return 1;
    message.status = address ? (int32_t)HX_SUCCESS : (int32_t)bytes;
    message.address.length = address ? bytes : strlen(why) + 1;
    memcpy(message.address.bytes, address ? address : why, message.address.length);
    return hx_control_message_ask(net, edge, &message);
}

/* If the peer's address is known, connect. */
static hx_status_t address_look(struct hx_net *net, struct hx_meeting *m)
{
    const struct hx_net_directory *directory = &net->directory;
    const char *why = NULL;
    size_t bytes = 0;
    const void *address;
    hx_status_t status;

    if (m->edge)
        return HX_SUCCESS;
    address = directory->find(directory->arg, m->peer, &bytes, &why);
    if (why)
        return hx_fail((hx_status_t)bytes, "rank %d of the job has no network endpoint: %s", m->peer, why);
    if (!address)
        return HX_SUCCESS;
    status = hx_edge_make(net, m->peer, address, bytes, &m->edge);
    m->ask_at = 0;
    m->interval = ASK_NS_MIN;
    return status;
}

/* The connection to a gate of the peer's node. NULL: there is none. */
static struct hx_edge *gate_edge(struct hx_net *net, const struct hx_meeting *m)
{
    const int gate = net->directory.gate(net->directory.arg, m->peer, m->turn);
    struct hx_meeting *with;

    if (gate < 0)
        return NULL;
    if (net->edges[gate])
        return net->edges[gate];
    with = meeting_of(net, gate);
    return with && address_look(net, with) == HX_SUCCESS ? with->edge : NULL;
}

static void meeting_continue(struct hx_net *net, struct hx_meeting *m, uint64_t now)
{
    hx_status_t status = address_look(net, m);
    struct hx_edge *to;
    int sent = 1;

    if (status != HX_SUCCESS) {
        meeting_fail(net, m, status);
        return;
    }
    if (now < m->ask_at)
        return;
    to = m->edge ? m->edge : gate_edge(net, m);
    if (to && !to->gone && (sent = address_send(net, to, net->rank, m->peer)) < 0)
        return;
    m->told |= m->edge != NULL;
    if (m->told && m->heard) {
        meeting_end(net, m);
        return;
    }
    m->turn++;
    m->ask_at = now + m->interval;
    if (sent)
        m->interval = 2 * m->interval < ASK_NS_MAX ? 2 * m->interval : ASK_NS_MAX;
}

void hx_meetings_continue(struct hx_net *net)
{
    int peer;

    if (!net->is_open && net->directory.find)
        while ((peer = net->directory.wanted(net->directory.arg)) >= 0 && meeting_of(net, peer))
            ;
    if (!net->is_open)
        return;
    const uint64_t now = now_ns();
    for (struct hx_meeting *m = net->meetings, *next; m; m = next) {
        next = m->next;
        meeting_continue(net, m, now);
    }
}

/* Enter the address in the message, or why there is none. Returns 0 if the message is wrong: its sender is faulty. */
static int address_take(const struct hx_net *net, const struct hx_control_message *message)
{
    const struct hx_net_directory *directory = &net->directory;
    const unsigned char *bytes = message->address.bytes;
    const uint64_t length = message->address.length;
    const int rank = message->rank;

    if (!directory->find || rank < 0 || rank >= net->nranks || rank == net->rank || length == 0 || length > HX_ADDRESS_BYTES)
        return 0;
    if (message->status == (int32_t)HX_SUCCESS) {
        directory->enter(directory->arg, rank, bytes, length);
        return 1;
    }
    if (!hx_status_is_error(message->status) || bytes[length - 1] != '\0')
        return 0;
    directory->refuse(directory->arg, rank, (hx_status_t)message->status, (const char *)bytes);
    return 1;
}

struct hx_edge *hx_meeting_begin(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    struct hx_meeting *m;
    hx_status_t status;

    if (message->rank != peer || !address_take(net, message) || !(m = meeting_of(net, peer)))
        return NULL;
    if ((status = address_look(net, m)) == HX_SUCCESS)
        return m->edge;
    meeting_fail(net, m, status);
    return NULL;
}

void hx_meeting_heard(struct hx_net *net, struct hx_edge *edge, const struct hx_control_message *message)
{
    const struct hx_net_directory *directory = &net->directory;
    const int peer = edge->peer, wants = message->context;
    struct hx_meeting *m = net->edges[peer] ? NULL : meeting_find(net, peer);
    const char *why = NULL;
    size_t known;

    if (!address_take(net, message))
        return;
    if (m) /* the peer waits for this rank's address */
        meeting_continue(net, m, now_ns());
    if (message->rank != peer || wants < 0 || wants >= net->nranks)
        return;
    if (!directory->find(directory->arg, wants, &known, &why) && !why)
        directory->want(directory->arg, wants, peer);
    else if (net->edges[peer])
        address_send(net, edge, wants, -1);
}

/* ---- messages that wait */

void hx_meeting_post(struct hx_net *net, struct hx_net_op *op)
{
    struct hx_meeting *m = meeting_of(net, op->peer);

    if (!m) {
        hx_detail_keep(op->why);
        op->done = -(int)(net->broken ? net->broken : HX_ERR_INTERNAL);
        return;
    }
    op->next = NULL;
    if (m->ops.head)
        m->ops.tail->next = op;
    else
        m->ops.head = op;
    m->ops.tail = op;
    meeting_continue(net, m, now_ns());
}

int hx_meeting_cancel(struct hx_net *net, struct hx_net_op *op)
{
    struct hx_meeting *m = net->edges[op->peer] ? NULL : meeting_find(net, op->peer);

    if (!m)
        return 0;
    hx_op_queue_remove(&m->ops, op);
    hx_detail_keep(op->why);
    op->done = -(int)HX_ERR_TRANSPORT;
    return 1;
}

void hx_meeting_tell(struct hx_net *net, int peer)
{
    struct hx_meeting *m = meeting_of(net, peer);

    if (m)
        m->must_tell = 1;
}

int hx_meeting_deliver(struct hx_net *net, int peer)
{
    return meeting_of(net, peer) && !hx_meeting_check(net, peer) ? 0 : -1;
}

int hx_meeting_check(struct hx_net *net, int peer)
{
    const struct hx_net_directory *directory = &net->directory;
    const char *why = NULL;
    size_t bytes;

    if (!directory->find || !meeting_of(net, peer))
        return 0;
    directory->find(directory->arg, peer, &bytes, &why);
    return why != NULL;
}

int hx_meeting_has_left(const struct hx_net *net, int peer)
{
    const struct hx_net_directory *directory = &net->directory;
    const char *why = NULL;
    size_t bytes;

    if (directory->find)
        directory->find(directory->arg, peer, &bytes, &why);
    return why && (hx_status_t)bytes == HX_ERR_PEER_DEAD;
}

/* Must this rank ask again now? The queue may have been full when it asked. */
int hx_meetings_are_due(const struct hx_net *net)
{
    const uint64_t now = net->meetings ? now_ns() : 0;

    for (const struct hx_meeting *m = net->meetings; m; m = m->next)
        if (now >= m->ask_at)
            return 1;
    return 0;
}

int hx_meetings_have_news(const struct hx_net *net)
{
    for (const struct hx_meeting *m = net->meetings; m; m = m->next)
        if (m->must_tell)
            return 1;
    return 0;
}

void hx_meetings_break(struct hx_net *net, hx_status_t why)
{
    for (struct hx_meeting *m = net->meetings; m; m = m->next) {
        ops_fail(m, why);
        m->must_tell = 0;
    }
}

void hx_meetings_close(struct hx_net *net)
{
    for (struct hx_meeting *m; (m = net->meetings);) {
        net->meetings = m->next;
        hx_edge_free(m->edge);
        free(m);
    }
}
