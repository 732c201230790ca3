/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: read a batch, advance each message, then retry what was refused. Errors get their names here. */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BATCH 16
#define IDLE_ROUNDS 1024    /* progress calls without a completion before early messages are sought */
#define LOOK_INTERVAL 64    /* progress calls between looks at the clock, which tells whether to look for strangers */
#define EVENT_INTERVAL 4096 /* progress calls between looks at the event queue: only a broken device writes to it */

/* The operation of this request has ended. Returns its message. *bytes: how many bytes of the message it held. */
static struct hx_net_op *chunk_empty(struct hx_net *net, struct hx_chunk *chunk, size_t *bytes)
{
    struct hx_net_op *op = chunk->op;

    *bytes = chunk->bytes;
    hx_path_ended(chunk->path, chunk);
    if (chunk->edge->lacks_room) {
        chunk->edge->lacks_room = 0;
        hx_edge_activate(net, chunk->edge);
    }
    if (chunk->bounce)
        hx_bounce_release(chunk->path->rail, chunk->bounce, chunk->bytes);
    chunk->op = NULL;
    chunk->bounce = NULL;
    chunk->registration = NULL;
    return op;
}

/* The same, and give the request back. */
static struct hx_net_op *chunk_end(struct hx_net *net, struct hx_chunk *chunk, size_t *bytes)
{
    struct hx_net_op *op = chunk_empty(net, chunk, bytes);

    hx_chunk_release(net, chunk);
    return op;
}

/* The same of a send that has failed, but the request is not used again: before libfabric 2.4 EFA tells of each of its
 * packets that fails, with the same context. */
static struct hx_net_op *failed_send_end(struct hx_net *net, struct hx_chunk *chunk, size_t *bytes)
{
    struct hx_net_op *op = chunk_empty(net, chunk, bytes);

    chunk->kind = HX_CHUNK_SPENT;
    return op;
}

static void send_done(struct hx_net *net, struct hx_chunk *chunk)
{
    size_t bytes;
    struct hx_rail *rail = chunk->path->rail;
    struct hx_net_op *op;

    hx_edge_meet(net, chunk->edge);
    op = chunk_end(net, chunk, &bytes);
    rail->sends_in_flight--;
    if (op) /* else it was cancelled */
        hx_message_advance(net, op, bytes);
}

unsigned hx_op_note_chunk(struct hx_net_op *op, size_t number)
{
    unsigned more = 0;

    op->ahead |= UINT64_C(1) << (number - op->in_order);
    for (; op->ahead & 1; more++)
        op->ahead >>= 1;
    op->in_order += more;
    return more;
}

/* The flag FI_REMOTE_CQ_DATA is not checked: libfabric's sockets provider omits it for messages that arrived before their receive. */
int hx_recv_proves(struct hx_net *net, struct hx_net_op *op, size_t offset, uint32_t data)
{
    uint64_t chunk = offset / op->chunk_bytes;

    if (hx_op_status(op) != 0 || data == hx_proof_data(net, op->peer, net->rank, op->match, chunk, op->signature))
        return 1;
    hx_forged(net, "a message", op->peer);
    op->doubt = data != 0 ? data : 1;
    op->doubt_chunk = chunk;
    op->doubt_is_asked = 0;
    return 0;
}

void hx_recv_arrived(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, size_t offset, size_t bytes,
                     size_t came, const void *data)
{
    unsigned more = hx_op_note_chunk(op, offset / op->chunk_bytes);

    hx_edge_meet(net, edge);
    edge->moved = 1;
    net->count.chunks_received++;
    if (hx_op_pays_credits(op)) { /* a chunk that is missing holds the sender back, before chunk numbers come round */
        struct hx_flow *flow = hx_flow_of(edge, op->flow);
        flow->received += more;
        if (hx_credit_is_due(edge, flow) && hx_credit_tell(net, edge, flow) != 0)
            hx_edge_activate(net, edge);
    }
    if (data && hx_op_status(op) == 0)
        hx_segments_scatter(op, offset, data, came < bytes ? came : bytes);
    if (came != bytes) {
        hx_fail(HX_ERR_MISMATCH, "rank %d of the job sent %zu bytes where rank %d of the job expects %zu (match id %#llx)", edge->peer, came,
                net->rank, bytes, (unsigned long long)op->match);
        hx_message_fail(net, op, HX_ERR_MISMATCH);
    }
    hx_message_advance(net, op, bytes);
}

static void recv_done(struct hx_net *net, struct hx_chunk *chunk, size_t came)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_net_op *op = chunk->op;
    size_t bytes;

    net->recvs_in_flight--;
    edge->recvs_in_flight--;
    if (!op) { /* it was cancelled */
        chunk_end(net, chunk, &bytes);
        return;
    }
    chunk->op = NULL; /* should the message fail now, this chunk is not to be cancelled */
    hx_recv_arrived(net, edge, op, chunk->offset, chunk->bytes, came, chunk->bounce ? chunk->bounce->base : NULL);
    chunk_end(net, chunk, &bytes);
    if (op->done == 0 && !op->state && hx_recv_continue(net, edge, op) != 0)
        hx_recv_wait(net, edge, op);
}

/* A peer has written into a write target. number: that of its invitation, as it came. */
static void write_arrived(struct hx_net *net, uint64_t number)
{
    struct hx_chunk *chunk = number <= UINT32_MAX ? hx_chunk_numbered(net, hx_number_show(net, (uint32_t)number)) : NULL;
    size_t bytes;

    if (!chunk || chunk->kind != HX_CHUNK_TARGET) {
        hx_forged(net, "a remote write", -1);
    } else if (chunk->op) {
        recv_done(net, chunk, chunk->bytes);
    } else { /* cancelled */
        chunk_end(net, chunk, &bytes);
    }
}

/* Returns whether messages have moved. Words do not count: a rank that waits for messages learns nothing from them. */
static int completion_handle(struct hx_net *net, const struct fi_cq_tagged_entry *entry)
{
    struct hx_chunk *chunk = entry->op_context;
    size_t bytes;

    if (entry->flags & FI_REMOTE_WRITE) { /* FI_REMOTE_CQ_DATA some providers report to the writer too */
        write_arrived(net, entry->data);
        return 1;
    }
    switch (chunk->kind) {
    case HX_CHUNK_SEND: send_done(net, chunk); break;
    case HX_CHUNK_RECV:
        if (!chunk->op || hx_recv_proves(net, chunk->op, chunk->offset, (uint32_t)entry->data))
            recv_done(net, chunk, entry->len);
        else
            hx_recv_again(net, chunk);
        break;
    case HX_CHUNK_LISTEN: hx_invite_arrived(net, chunk, entry->len); break;
    case HX_CHUNK_INVITE:
    case HX_CHUNK_TELL:
        chunk->path->rail->sends_in_flight--;
        chunk_end(net, chunk, &bytes);
        break;
    case HX_CHUNK_CREDIT:
        hx_chunk_release(net, chunk);
        hx_credit_arrived(net, chunk->edge, entry->len);
        break;
    case HX_CHUNK_PEEK: hx_early_found(net, chunk, entry->tag, entry->len); break;
    case HX_CHUNK_EARLY: hx_early_end(net, chunk, 1, (uint32_t)entry->data); break;
    case HX_CHUNK_MESSAGE:
        chunk->edge->control_messages--;
        chunk->path->rail->sends_in_flight--;
        chunk_end(net, chunk, &bytes);
        return 0;
    case HX_CHUNK_HEAR: hx_control_message_arrived(net, chunk, entry->len); return 0;
    case HX_CHUNK_AGAIN:
    case HX_CHUNK_TARGET:
    case HX_CHUNK_SPENT:
    case HX_CHUNK_FREE: break;
    }
    return 1;
}

/* ---- errors */

/* Over TCP the error tells: what is under way on a broken connection ends as cancelled. */
static int connection_is_gone(int err)
{
    return err == FI_ECANCELED || err == FI_ECONNRESET || err == FI_ECONNABORTED || err == FI_ENOTCONN ||
           err == FI_ECONNREFUSED || err == FI_EHOSTUNREACH || err == FI_EIO;
}

#define UNREACHED 1 /* the peer cannot be reached, and never was: it may live */
#define AWAY 2      /* the peer can no longer be reached */
#define ENDED 3     /* the peer's process is gone */

/* What an EFA device's code means to a user; "" for other codes and providers. edge: NULL if not known. *gone: 0, UNREACHED, AWAY or
 * ENDED. Instead of code 13 libfabric reports 4124 if there was a handshake (since 1.22), else 4126 (since 2.1). */
static const char *error_meaning(const struct hx_net *net, const struct hx_edge *edge, int err, int prov_errno, int *gone)
{
    *gone = 0;
    if (!hx_provider_is_efa(net->info)) {
        *gone = connection_is_gone(err) ? AWAY : 0;
        return "";
    }
    switch (prov_errno) {
    case 13:
    case 15:
    case 4124:
    case 4126:
        *gone = !edge || edge->met ? AWAY : UNREACHED;
        if (edge && edge->met)
            return " (the peer is silent or unreachable, and was not before: it has died, or the network to it has failed)";
        return " (the peer is silent or unreachable: does its security group admit all traffic of this one's? Is it in another subnet or "
               "availability zone? Has it died?)";
    case 8:
    case 9:
    case 14: *gone = ENDED; return " (the peer's process has gone)";
    case 10: return " (the receiver was not ready for too long)";
    case 4112: return " (locked memory is exhausted: see ulimit -l)";
    case 4127: return " (the peer has given it up)";
    default: return "";
    }
}

/* edge: NULL if a short message was injected: then the provider does not report its peer. */
static hx_status_t failure_tell(const struct hx_net *net, struct hx_edge *edge, const struct hx_rail *rail, int sending,
                                const struct fi_cq_err_entry *error)
{
    char text[128] = "", doing[64] = "sending a short message";
    const char *what = fi_cq_strerror(rail->cq, error->prov_errno, error->err_data, text, sizeof(text));
    int gone;
    const char *meaning = error_meaning(net, edge, error->err, error->prov_errno, &gone);
    hx_status_t status = gone > UNREACHED && edge ? HX_ERR_PEER_DEAD : error->err == FI_ETRUNC ? HX_ERR_MISMATCH : HX_ERR_TRANSPORT;

    if (status == HX_ERR_MISMATCH)
        meaning = " (it sent more than is expected here)";
    if (status == HX_ERR_PEER_DEAD && hx_edge_listens(net, edge)) {
        status = HX_ERR_TRANSPORT;
        meaning = " (the connection has broken, but the peer lives: something between the two hosts, or another process, has ended it)";
    }
    if (edge)
        snprintf(doing, sizeof(doing), "%s rank %d of the job", sending ? "sending to" : "receiving from", edge->peer);
    return hx_fail(status, "%s over %s failed: %s; provider code %d, %s%s", doing, net->info->fabric_attr->prov_name,
                   fi_strerror(error->err), error->prov_errno, what ? what : "", meaning);
}

/* EFA numbers the messages to a peer, and the peer takes none that follow one which has failed, not even control messages. Only
 * that our endpoint has gone it can find out, when it next asks after us: so it is closed. What a device has written has
 * no number, but nobody tells that it is missing. */
static int leaves_a_hole(const struct hx_net *net, const struct fi_cq_err_entry *error)
{
    int gone;

    if (!hx_provider_is_efa(net->info))
        return 0;
    error_meaning(net, NULL, error->err, error->prov_errno, &gone);
    return !gone;
}

static void hole_end(struct hx_net *net, hx_status_t status)
{
    if (net->breaking)
        return;
    hx_detail_keep(net->why);
    net->breaking = status;
}

struct failing {
    const struct hx_edge *edge;
    hx_status_t status;
};

static void chunk_op_fail(struct hx_net *net, struct hx_chunk *chunk, void *arg)
{
    const struct failing *failing = arg;

    if (chunk->edge == failing->edge && chunk->op)
        hx_message_fail(net, chunk->op, failing->status);
}

/* No message passes on this edge: fail all that would otherwise wait for the peer for ever. */
static void edge_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status)
{
    hx_chunks_visit(net, chunk_op_fail, &(struct failing){edge, status});
    while (edge->recvs.head)
        hx_message_fail(net, edge->recvs.head, status);
    while (edge->eager.head)
        hx_message_fail(net, edge->eager.head, status);
    hx_writes_fail(net, edge, status);
    hx_flows_fail(net, edge, status);
}

/* A control message could not be sent. A device reports in this way that the peer is gone; over TCP liveness.c finds out. */
static void word_fail(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    size_t bytes;
    int gone;

    edge->control_messages--;
    if (*error_meaning(net, edge, error->err, error->prov_errno, &gone) != 0 && gone > UNREACHED)
        hx_edge_lose(net, edge);
    else if (gone == UNREACHED)
        edge_fail(net, edge, failure_tell(net, edge, chunk->path->rail, 1, error));
    edge->ended |= gone == ENDED;
    chunk->path->rail->sends_in_flight--;
    if (leaves_a_hole(net, error))
        hole_end(net, failure_tell(net, edge, chunk->path->rail, 1, error));
    failed_send_end(net, chunk, &bytes);
}

static void chunk_fail(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    struct hx_rail *rail = chunk->path->rail;
    enum hx_chunk_kind kind = chunk->kind;
    int sent = kind == HX_CHUNK_SEND || kind == HX_CHUNK_INVITE || kind == HX_CHUNK_TELL;
    int hole = sent && leaves_a_hole(net, error), ends_op, ends_writes, ends_flows;
    hx_status_t status = HX_SUCCESS;
    struct hx_net_op *op;
    size_t bytes;
    int gone;

    error_meaning(net, edge, error->err, error->prov_errno, &gone);
    edge->ended |= gone == ENDED;
    rail->sends_in_flight -= (size_t)sent;
    if (kind == HX_CHUNK_RECV) {
        net->recvs_in_flight--;
        edge->recvs_in_flight--;
    }
    if (kind == HX_CHUNK_CREDIT)
        edge->credit_listening = 0;
    if (kind == HX_CHUNK_LISTEN)
        edge->invite_listening = 0;
    if (kind == HX_CHUNK_TELL)
        hx_credits_tell_again(net, edge);
    op = sent ? failed_send_end(net, chunk, &bytes) : chunk_end(net, chunk, &bytes); /* first: hx_message_fail cancels what is still in
                                                                                      * flight */
    ends_op = op && hx_op_status(op) == 0; /* else we have cancelled it */
    ends_writes = (kind == HX_CHUNK_INVITE || kind == HX_CHUNK_LISTEN) && hx_writes_wait(net, edge);
    ends_flows = kind == HX_CHUNK_CREDIT && hx_flows_wait(edge); /* which would be for ever */
    if (ends_op || ends_writes || ends_flows || hole)
        status = failure_tell(net, edge, rail, sent, error);
    if (hole)
        hole_end(net, status);
    if (ends_op)
        hx_message_fail(net, op, status);
    if (op)
        hx_message_advance(net, op, bytes);
    if (ends_writes)
        hx_writes_fail(net, edge, status);
    if (ends_flows)
        hx_flows_fail(net, edge, status);
}

/* The message that arrived was longer than its receive. Returns 1 if it was forged: then the receive is posted again. If the provider does
 * not report the completion data of such a message, it counts as genuine. */
static int too_long(struct hx_net *net, struct hx_chunk *chunk, const struct fi_cq_err_entry *error)
{
    struct hx_edge *edge = chunk->edge;
    uint32_t data = (uint32_t)error->data;

    if (chunk->kind == HX_CHUNK_RECV) {
        if (!chunk->op || (data == 0 && !hx_provider_is_native_tcp(net->info)) ||
            hx_recv_proves(net, chunk->op, chunk->offset, data))
            return 0;
        hx_recv_again(net, chunk);
        return 1;
    }
    if (chunk->kind != HX_CHUNK_CREDIT && chunk->kind != HX_CHUNK_LISTEN)
        return 0;
    if (chunk->kind == HX_CHUNK_CREDIT)
        edge->credit_listening = 0;
    else
        edge->invite_listening = 0;
    hx_chunk_release(net, chunk);
    hx_forged(net, "a control message", edge->peer);
    hx_edge_activate(net, edge);
    return 1;
}

/* Returns whether the error matters: that there are no early messages does not. */
static int error_read(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_err_entry error;
    struct hx_chunk *chunk;
    char text[128] = "";
    int gone;

    memset(&error, 0, sizeof(error));
    if (fi_cq_readerr(rail->cq, &error, 0) != 1)
        return 0;
    chunk = error.op_context;
    if (!chunk) { /* of a message that was injected */
        const char *what = fi_cq_strerror(rail->cq, error.prov_errno, error.err_data, text, sizeof(text));
        const char *meaning = error_meaning(net, NULL, error.err, error.prov_errno, &gone);
        hx_warn("%s reports an error that belongs to no message: %s; provider code %d, %s%s", net->info->fabric_attr->prov_name, fi_strerror(error.err),
                error.prov_errno, what ? what : "", meaning);
        if (leaves_a_hole(net, &error))
            hole_end(net, failure_tell(net, NULL, rail, 1, &error));
        else if (*meaning != '\0' && gone == AWAY)
            hx_late_lose(net, error.prov_errno, what ? what : "");
    } else if (chunk->kind == HX_CHUNK_SPENT) {
        return 0;
    } else if (chunk->kind == HX_CHUNK_PEEK) {
        hx_early_none(net, chunk);
        return 0;
    } else if (chunk->kind == HX_CHUNK_EARLY) {
        hx_early_end(net, chunk, 0, 0);
    } else if (chunk->kind == HX_CHUNK_MESSAGE) {
        word_fail(net, chunk, &error);
        return 0;
    } else if (chunk->kind == HX_CHUNK_HEAR) {
        net->rails[chunk->offset].hears = 0;
        hx_chunk_release(net, chunk);
        if (error.err == FI_ETRUNC)
            hx_forged(net, "a control message", -1);
        return 0;
    } else if (error.err != FI_ETRUNC || !too_long(net, chunk, &error)) {
        chunk_fail(net, chunk, &error);
    }
    return 1;
}

static int rail_events_read(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_eq_err_entry error;
    uint64_t buffer[32];
    uint32_t event;
    ssize_t rc = fi_eq_read(rail->eq, &event, buffer, sizeof(buffer), 0);
    const char *meaning;
    int gone;

    if (rc != -FI_EAVAIL)
        return 0;
    memset(&error, 0, sizeof(error));
    if (fi_eq_readerr(rail->eq, &error, 0) < 0)
        return 0;
    meaning = error_meaning(net, NULL, error.err, error.prov_errno, &gone);
    if (*meaning != '\0' && gone) { /* EFA before libfabric 2.3 of a handshake; messages to the peer find out */
        hx_warn("%s on %s: %s (provider code %d)%s", rail->info->fabric_attr->prov_name, rail->info->domain_attr->name,
                fi_strerror(error.err), error.prov_errno, meaning);
        return 0;
    }
    hx_fail(HX_ERR_TRANSPORT, "%s endpoint of rank %d of the job on %s failed: %s (provider code %d)%s",
            rail->info->fabric_attr->prov_name, net->rank, rail->info->domain_attr->name, fi_strerror(error.err),
            error.prov_errno, meaning);
    hx_net_break(net, HX_ERR_TRANSPORT);
    return -(int)HX_ERR_TRANSPORT;
}

int hx_events_read(struct hx_net *net)
{
    int rc = 0;

    for (int i = 0; i < net->nrails && rc == 0; i++)
        rc = rail_events_read(net, &net->rails[i]);
    return rc;
}

/* Returns the number of completions, or -hx_status_t. */
static int rail_progress(struct hx_net *net, struct hx_rail *rail)
{
    struct fi_cq_tagged_entry entries[BATCH];
    int handled = 0;
    ssize_t n;

    do {
        rail->unread = 0;
        rail->reads++;
        errno = 0; /* see strangers.c */
        n = fi_cq_read(rail->cq, entries, BATCH);
        if (n == -FI_EAVAIL) {
            handled += error_read(net, rail);
        } else if (n < 0 && n != -FI_EAGAIN && n != -FI_EINTR) {
            hx_fail(HX_ERR_TRANSPORT, "reading completions of %s on %s: %s", rail->info->fabric_attr->prov_name,
                    rail->info->domain_attr->name, fi_strerror((int)-n));
            hx_net_break(net, HX_ERR_TRANSPORT);
            return -(int)HX_ERR_TRANSPORT;
        }
        for (ssize_t i = 0; i < n; i++)
            handled += completion_handle(net, &entries[i]);
    } while (n == BATCH || n == -FI_EAVAIL);
    return handled;
}

static int breaks(struct hx_net *net)
{
    if (net->breaking)
        hx_net_break(net, net->breaking);
    return net->broken != HX_SUCCESS;
}

int hx_progress(struct hx_net *net)
{
    int handled = 0;

    if (breaks(net))
        return -(int)net->broken;
    for (int i = 0; i < net->nrails; i++) {
        int rc = rail_progress(net, &net->rails[i]);
        if (rc < 0)
            return rc;
        handled += rc;
        if (!net->rails[i].hears)
            hx_control_message_receive(net, &net->rails[i]);
    }
    if (breaks(net)) /* now: the program may make no other call */
        return -(int)net->broken;
    if (net->active)
        hx_edges_retry(net);
    if (net->unguarded)
        hx_sockets_guard(net);
    net->completions += (uint64_t)handled;
    net->idle = handled != 0 ? 0 : net->idle + 1;
    if (net->idle >= IDLE_ROUNDS) {
        net->idle = 0;
        hx_early_seek(net);
    }
    if (++net->rounds % LOOK_INTERVAL == 0)
        hx_strangers_look(net);
    if (net->rounds % EVENT_INTERVAL == 0 && hx_events_read(net) != 0)
        return -(int)HX_ERR_TRANSPORT;
    return handled;
}
