/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote writes: if devices write into remote memory by themselves, the receiver's processor need not match long messages, nor, on
 * EFA, copy them.
 *
 *     receiver                                            sender
 *     a receive is posted      --- invite --->  kept until its message is posted
 *     its chunks have arrived  <--- write ---   each chunk, with the invitation's number as immediate data
 *                              <--- write ---
 *
 * An invitation names the memory of adjacent chunks: all chunks of a message, as far as their memory has one registration and they use one
 * path. If the memory is a bounce buffer, it has one chunk. All invitations of an edge have one tag. A write needs no credit, because its
 * memory is reserved. A message does not wait for another one: a write starts when its invitation and its message are both there,
 * in any order. A sender has as many writes of a message in flight as credits allow sends. An invitation cannot be cancelled. If its message
 * fails, the writes end in a bounce buffer, or the endpoint is closed.
 *
 * The sender reports if the ends expect different lengths. But if only one of these lengths uses writes, both ends wait.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/error.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hx_invite {
    struct hx_invite *next;
    struct hx_invitation invitation;
};

/* ---- does the device write? */

int hx_writes_negotiate(const struct hx_net *net, struct hx_rail *rail)
{
    struct fi_info *hints, *list, *found = NULL;

    if (!net->traits->writes && hx_fabric_test.write_bytes == 0)
        return 0;
    hints = fi_dupinfo(rail->info);
    if (!hints)
        return 0;
    hints->caps |= FI_RMA;
    hints->tx_attr->caps = hints->rx_attr->caps = 0; /* any */
    list = hx_offers_find(hints);
    if (list && list->domain_attr->cq_data_size >= sizeof(uint32_t))
        found = fi_dupinfo(list);
    fi_freeinfo(list);
    if (!found)
        return 0;
    fi_freeinfo(rail->info);
    rail->info = found;
    return 1;
}

/* If an EFA device has no writes, libfabric emulates them on the target's processor. An old libfabric does not report this, so it
 * counts as emulated. Before 1.20, writes of the device could be lost if a receiver was not ready. */
int hx_writes_are_native(const struct hx_rail *rail)
{
    const int emulated_write = -(0xefa << 16) + 2; /* FI_OPT_EFA_EMULATED_WRITE; older headers lack it */
    bool emulated = true;
    size_t bytes = sizeof(emulated);

    if (rail->lacks_write_room)
        return 0;
    if (hx_fabric_test.write_bytes > 0)
        return 1;
    return FI_VERSION_GE(rail->info->fabric_attr->prov_version, FI_VERSION(120, 0)) &&
           fi_getopt(&rail->ep->fid, FI_OPT_ENDPOINT, emulated_write, &emulated, &bytes) == 0 && !emulated;
}

/* ---- the receiver */

/* How many bytes may the invitation of this request name? The request has the first chunk, at buffer. */
static size_t target_bytes(const struct hx_net *net, const struct hx_edge *edge, const struct hx_chunk *chunk, const void *buffer)
{
    const struct hx_net_op *op = chunk->op;
    const size_t left = op->total_bytes - chunk->offset, first = chunk->offset / op->chunk_bytes, part = hx_path_chunks(edge, op);
    size_t chunks = net->recv_limit - net->recvs_in_flight, bytes = hx_segment_rest(op, chunk->offset);
    size_t registered;

    if (chunk->bounce)
        return chunk->bytes;
    registered = (size_t)(chunk->registration->base + chunk->registration->bytes - (const uint8_t *)buffer);
    if (bytes > registered)
        bytes = registered;
    if (edge->npaths > 1 && op->total_bytes >= edge->stripe_bytes && chunks > part - first % part)
        chunks = part - first % part;
    if (bytes >= left && chunks >= (left + op->chunk_bytes - 1) / op->chunk_bytes)
        return left;
    if (chunks > bytes / op->chunk_bytes)
        chunks = bytes / op->chunk_bytes;
    return chunks * op->chunk_bytes;
}

/* Invite the peer to write the chunks of this request to buffer. 0, or libfabric's error. */
static ssize_t invite_send(struct hx_net *net, struct hx_edge *edge, const struct hx_chunk *chunk, const void *buffer)
{
    const struct hx_registration *to = chunk->registration;
    int virtual = (chunk->path->rail->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const struct hx_net_op *op = chunk->op;
    struct hx_packet control = {
        .invitation = {.match = op->match, .total_bytes = op->total_bytes,
                       .chunk = (uint32_t)(chunk->offset / op->chunk_bytes), .chunks = chunk->left,
                       .address = virtual ? (uintptr_t)buffer : (uintptr_t)((const uint8_t *)buffer - to->base),
                       .key = fi_mr_key(to->mr), .number = hx_number_encrypt(net, chunk->number), .signature = op->signature}};

    return hx_control_send(net, edge, HX_CONTROL_INVITE, &control);
}

/* Have bounce buffers of this message as many bytes in flight as they may? */
static int bounces_enough(const struct hx_edge *edge, const struct hx_net_op *op)
{
    return op->posted_bytes - op->completed_bytes >= hx_edge_window(edge, HX_RECV_WINDOW) * op->chunk_bytes;
}

int hx_invites_continue(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op)
{
    while (op->posted_bytes < op->total_bytes && !op->failed) {
        struct hx_path *path = hx_chunk_path(edge, op, op->posted_bytes), *used = &edge->paths[0];
        struct hx_pieces pieces;
        struct hx_chunk *chunk;
        ssize_t rc;

        if (net->recvs_in_flight >= net->recv_limit || hx_path_is_refused(used, HX_POST_SEND) ||
            !(chunk = hx_chunk_make(net, edge, path, op, op->posted_bytes, hx_op_chunk_bytes_at(op, op->posted_bytes), &pieces)))
            return -FI_EAGAIN;
        if (chunk->bounce && bounces_enough(edge, op)) {
            hx_chunk_drop(net, chunk);
            return 0;
        }
        chunk->bytes = target_bytes(net, edge, chunk, pieces.at[0].iov_base);
        chunk->left = (uint32_t)((chunk->bytes + op->chunk_bytes - 1) / op->chunk_bytes);
        rc = invite_send(net, edge, chunk, pieces.at[0].iov_base);
        if (rc != 0) {
            hx_chunk_drop(net, chunk);
            return hx_chunk_refused(net, used, op, rc);
        }
        used->rail->unread = 1;
        hx_recvs_count(net, edge, chunk->left);
        op->posted_bytes += chunk->bytes;
    }
    return 0;
}

/* ---- the sender */

enum { FOLLOWED = 1 };

/* 0: written; FOLLOWED: the message has failed; -FI_EAGAIN. */
static int chunk_write(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, const struct hx_invitation *invite)
{
    size_t offset = invite->chunk * op->chunk_bytes, bytes = hx_op_chunk_bytes_at(op, offset);
    struct hx_path *path = hx_chunk_path(edge, op, offset);
    struct hx_pieces pieces;
    struct hx_chunk *chunk;
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND) || path->rail->sends_in_flight >= net->send_limit ||
        !(chunk = hx_chunk_make(net, edge, path, op, offset, bytes, &pieces)))
        return -FI_EAGAIN;
    rc = fi_writedata(path->rail->ep, pieces.at[0].iov_base, bytes, hx_descriptor(chunk->registration), invite->number, path->addr,
                      invite->address, invite->key, &chunk->context);
    if (rc != 0) {
        hx_chunk_drop(net, chunk);
        return hx_chunk_refused(net, path, op, rc) < 0 ? -FI_EAGAIN : FOLLOWED;
    }
    hx_path_posted(path, bytes, chunk);
    net->count.chunks_sent++;
    net->count.chunks_written++;
    op->posted_bytes += bytes;
    hx_op_note_chunk(op, invite->chunk);
    if (op->posted_bytes == op->total_bytes)
        hx_op_queue_remove(&edge->writes, op);
    return 0;
}

/* Write its chunks. It names those that are not written yet. FOLLOWED; 0: wait for the end of a write; -FI_EAGAIN. */
static int chunks_write(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, struct hx_invitation *invite)
{
    const size_t all = (op->total_bytes + op->chunk_bytes - 1) / op->chunk_bytes;

    for (; invite->chunks > 0; invite->chunks--, invite->chunk++, invite->address += op->chunk_bytes) {
        const size_t ahead = invite->chunk - op->in_order;
        int rc;

        if (invite->chunk < op->in_order || invite->chunk >= all || (ahead < 64 && op->ahead >> ahead & 1)) {
            hx_forgery_note(net, "a repeated invitation", edge->peer);
            return FOLLOWED;
        }
        if (ahead >= 64) /* an earlier invitation arrives later */
            return -FI_EAGAIN;
        if (op->posted_bytes - op->completed_bytes >= hx_edge_window(edge, HX_GRANT) * op->chunk_bytes) {
            edge->waits_for_send = 1;
            return 0;
        }
        if ((rc = chunk_write(net, edge, op, invite)) != 0)
            return rc;
    }
    return FOLLOWED;
}

/* FOLLOWED; 0: its message is not posted yet, or has as many writes in flight as it may; -FI_EAGAIN. */
static int invite_follow(struct hx_net *net, struct hx_edge *edge, struct hx_invitation *invite)
{
    struct hx_net_op *op = edge->writes.head;

    while (op && op->match != invite->match)
        op = op->next;
    if (!op)
        return 0;
    if (hx_message_mismatches(net, op, invite->signature))
        return FOLLOWED;
    if (invite->total_bytes != op->total_bytes) {
        hx_fail(HX_ERR_MISMATCH, "rank %d of the job sends %zu bytes where rank %d of the job expects %llu (match id %#llx)", net->rank,
                op->total_bytes, edge->peer, (unsigned long long)invite->total_bytes, (unsigned long long)op->match);
        hx_message_fail(net, op, HX_ERR_MISMATCH);
        return FOLLOWED;
    }
    return chunks_write(net, edge, op, invite);
}

static void invite_keep(struct hx_net *net, struct hx_edge *edge, const struct hx_invitation *invite)
{
    struct hx_invite **end = &edge->invites, *kept = malloc(sizeof(*kept));

    if (!kept) {
        hx_net_break_soon(net, hx_fail(HX_ERR_NOMEM, "no memory for messages to rank %d of the job", edge->peer));
        return; /* without a break the peer would wait for ever */
    }
    *kept = (struct hx_invite){NULL, *invite};
    while (*end)
        end = &(*end)->next;
    *end = kept;
}

void hx_invite_arrived(struct hx_net *net, struct hx_edge *edge, const struct hx_invitation *invitation)
{
    struct hx_invitation left = *invitation;
    int rc = invite_follow(net, edge, &left);

    if (rc != FOLLOWED)
        invite_keep(net, edge, &left);
    if (rc < 0)
        hx_edge_activate(net, edge);
}

int hx_writes_continue(struct hx_net *net, struct hx_edge *edge)
{
    struct hx_invite **link = &edge->invites, *kept;
    int again = 0;

    if (edge->writes.head || edge->invitations)
        again = hx_control_receive(net, edge->paths[0].rail, edge, HX_CONTROL_INVITE);
    while (edge->writes.head && (kept = *link)) {
        int rc = invite_follow(net, edge, &kept->invitation);
        if (rc == FOLLOWED) {
            *link = kept->next;
            free(kept);
            continue;
        }
        link = &kept->next;
        again = rc < 0 ? rc : again;
    }
    return again;
}

/* ---- failures */

int hx_writes_are_pending(struct hx_net *net, const struct hx_edge *edge)
{
    for (struct hx_chunk *chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
        if (chunk->kind == HX_CHUNK_TARGET && chunk->edge == edge && chunk->op)
            return 1;
    return edge->writes.head != NULL;
}

void hx_writes_fail(struct hx_net *net, struct hx_edge *edge, hx_status_t status)
{
    hx_queue_fail(net, &edge->writes, status);
    for (struct hx_chunk *chunk = NULL; (chunk = hx_chunk_next(net, chunk));)
        if (chunk->kind == HX_CHUNK_TARGET && chunk->edge == edge && chunk->op)
            hx_message_fail(net, chunk->op, status);
}

void hx_invites_drop(struct hx_edge *edge, uint64_t match, uint64_t matches)
{
    for (struct hx_invite **link = &edge->invites, *kept; (kept = *link);) {
        if (kept->invitation.match - match >= matches) {
            link = &kept->next;
            continue;
        }
        *link = kept->next;
        free(kept);
    }
}
