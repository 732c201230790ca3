/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote writes: where a device writes into another's memory by itself, a long message needs neither a receive posted
 * for each chunk nor, on EFA, a copy by the receiver's processor.
 *
 *     receiver                                           sender
 *     a chunk of a receive is posted  --- offer --->     kept until its message is posted
 *     that chunk has arrived          <--- write ---     the chunk, with the number in the offer as immediate data
 *
 * An offer tells where the chunk may be written. It is injected under one tag of the edge. No write needs a credit:
 * what has been offered has its place. Nor does a message wait for another one's offers, since each is served when both
 * it and its message are there, in whatever order they come. What was offered cannot be taken back but by closing the
 * endpoint.
 */
#include "fabric.h"
#include "runtime/error.h"
#include "stripe.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OFFER_TAG (HX_CREDIT_MATCH << HX_CHUNK_BITS | 1) /* 0 is a credit's */
#define LENGTH_BITS (64 - HX_MATCH_BITS)

struct offer { /* as it is sent: what every provider injects that has remote writes */
    uint64_t message; /* match id << LENGTH_BITS | length of the message modulo 2^LENGTH_BITS */
    uint64_t address, key;
    uint32_t number; /* of the receiver's request */
    uint32_t chunk;  /* of the message */
};

struct hx_offer {
    struct hx_offer *next;
    struct offer offer;
};

/* ---- does the device write? */

int hx_writes_ask(struct hx_rail *rail)
{
    struct fi_info *hints = fi_dupinfo(rail->info), *list = NULL;
    int found;

    if (hints == NULL)
        return 0;
    hints->caps |= FI_RMA;
    hints->tx_attr->caps = hints->rx_attr->caps = 0; /* all that this takes */
    found = fi_getinfo(FI_VERSION(1, 18), NULL, NULL, 0, hints, &list) == 0 ||
            fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list) == 0;
    fi_freeinfo(hints);
    if (!found)
        return 0;
    hints = list->domain_attr->cq_data_size >= sizeof(uint32_t) && list->tx_attr->inject_size >= sizeof(struct offer)
                ? fi_dupinfo(list)
                : NULL;
    fi_freeinfo(list);
    if (hints == NULL)
        return 0;
    fi_freeinfo(rail->info);
    rail->info = hints;
    return 1;
}

/* An EFA device without them, or a libfabric that does not know the question, has writes that the target's processor does. */
int hx_writes_are_native(const struct hx_rail *rail)
{
    const int emulated_write = -(0xefa << 16) + 2; /* FI_OPT_EFA_EMULATED_WRITE; older headers lack it */
    bool emulated = true;
    size_t bytes = sizeof(emulated);

    if (hx_fabric_test.write_bytes > 0)
        return 1;
    return strcmp(rail->info->fabric_attr->prov_name, "efa") == 0 &&
           fi_getopt(&rail->ep->fid, FI_OPT_ENDPOINT, emulated_write, &emulated, &bytes) == 0 && !emulated;
}

/* ---- the receiver */

static uint64_t message_of(const struct hx_net_op *op)
{
    return op->match << LENGTH_BITS | (op->total_bytes & ((UINT64_C(1) << LENGTH_BITS) - 1));
}

ssize_t hx_offer_send(struct hx_edge *edge, const struct hx_chunk *chunk, const void *buffer)
{
    const struct hx_path *path = &edge->paths[0];
    const struct hx_registration *to = chunk->registration;
    int virtual = (chunk->path->rail->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    struct offer offer = {.message = message_of(chunk->op), .key = fi_mr_key(to->mr), .number = chunk->number,
                          .chunk = (uint32_t)(chunk->offset / chunk->op->chunk_bytes)};

    offer.address = virtual ? (uintptr_t)buffer : (uintptr_t)((const uint8_t *)buffer - to->base);
    return fi_tinject(path->rail->ep, &offer, sizeof(offer), path->addr, OFFER_TAG);
}

/* ---- the sender */

static int listen_post(struct hx_net *net, struct hx_edge *edge)
{
    struct hx_path *path = &edge->paths[0];
    struct hx_chunk *chunk;

    if (edge->offer_slot == NULL)
        edge->offer_slot = hx_slot_alloc(net, path->rail, sizeof(struct offer));
    chunk = edge->offer_slot == NULL || hx_path_is_refused(path) ? NULL : hx_chunk_alloc(net);
    if (chunk == NULL)
        return -FI_EAGAIN;
    chunk->kind = HX_CHUNK_OFFER;
    chunk->edge = edge;
    chunk->path = path;
    chunk->op = NULL;
    chunk->slot = NULL;
    if (fi_trecv(path->rail->ep, edge->offer_slot->base, sizeof(struct offer),
                 hx_descriptor(edge->offer_slot->registration), path->addr, OFFER_TAG, 0, &chunk->context) != 0) {
        hx_chunk_release(net, chunk);
        hx_path_refuse(path);
        return -FI_EAGAIN;
    }
    path->rail->unread = 1;
    net->recvs_in_flight++;
    edge->offer_listening = 1;
    return 0;
}

static int chunk_write(struct hx_net *net, struct hx_edge *edge, struct hx_net_op *op, const struct offer *offer)
{
    size_t offset = (size_t)offer->chunk * op->chunk_bytes, bytes = hx_op_chunk_bytes_at(op, offset);
    struct hx_path *path = hx_chunk_path(edge, op, offset);
    struct hx_chunk *chunk;
    void *buffer;
    ssize_t rc;

    if (hx_path_is_refused(path) || path->rail->sends_in_flight >= net->send_limit ||
        (chunk = hx_chunk_make(net, edge, path, op, offset, bytes, &buffer)) == NULL)
        return -FI_EAGAIN;
    rc = fi_writedata(path->rail->ep, buffer, bytes, hx_descriptor(chunk->registration), offer->number, path->addr,
                      offer->address, offer->key, &chunk->context);
    if (rc != 0) {
        hx_chunk_drop(net, chunk);
        return hx_chunk_refused(net, path, op, rc);
    }
    path->rail->unread = 1;
    path->rail->sends_in_flight++;
    net->count.chunks_sent++;
    net->count.chunks_written++;
    op->posted_bytes += bytes;
    if (op->posted_bytes == op->total_bytes)
        hx_op_queue_remove(&edge->writes, op);
    return 0;
}

enum { SERVED = 1 };

/* SERVED; 0: its message is yet to be posted; -FI_EAGAIN. */
static int offer_serve(struct hx_net *net, struct hx_edge *edge, const struct offer *offer)
{
    struct hx_net_op *op = edge->writes.head;
    int rc;

    while (op != NULL && op->match != offer->message >> LENGTH_BITS)
        op = op->next;
    if (op == NULL)
        return 0;
    if (offer->message != message_of(op) || offer->chunk > (op->total_bytes - 1) / op->chunk_bytes) {
        hx_fail(HX_ERR_TRANSPORT, "rank %d expects a message of another length than the %zu bytes that rank %d sends (match id %#llx)",
                edge->peer, op->total_bytes, net->rank, (unsigned long long)op->match);
        hx_message_fail(net, op, HX_ERR_TRANSPORT);
        return SERVED;
    }
    rc = chunk_write(net, edge, op, offer);
    return rc != 0 ? rc : SERVED;
}

static void offer_keep(struct hx_net *net, struct hx_edge *edge, const struct offer *offer)
{
    struct hx_offer **end = &edge->offers, *kept = malloc(sizeof(*kept));

    if (kept == NULL) {
        hx_fail(HX_ERR_NOMEM, "no memory for messages to rank %d", edge->peer);
        net->breaking = 1; /* it would wait for ever */
        return;
    }
    *kept = (struct hx_offer){NULL, *offer};
    while (*end != NULL)
        end = &(*end)->next;
    *end = kept;
}

void hx_offer_arrived(struct hx_net *net, struct hx_chunk *chunk)
{
    struct hx_edge *edge = chunk->edge;
    struct offer offer;
    int rc;

    memcpy(&offer, edge->offer_slot->base, sizeof(offer));
    net->recvs_in_flight--;
    edge->offer_listening = 0;
    hx_chunk_release(net, chunk);
    rc = offer_serve(net, edge, &offer);
    if (rc != SERVED)
        offer_keep(net, edge, &offer);
    if (listen_post(net, edge) != 0 || rc < 0)
        hx_edge_activate(net, edge);
}

int hx_writes_continue(struct hx_net *net, struct hx_edge *edge)
{
    struct hx_offer **link = &edge->offers, *kept;

    if ((edge->writes.head != NULL || edge->offer_slot != NULL) && !edge->offer_listening && listen_post(net, edge) != 0)
        return -FI_EAGAIN;
    while (edge->writes.head != NULL && (kept = *link) != NULL) {
        int rc = offer_serve(net, edge, &kept->offer);
        if (rc < 0)
            return rc;
        if (rc == SERVED) {
            *link = kept->next;
            free(kept);
        } else {
            link = &kept->next;
        }
    }
    return 0;
}

void hx_offers_close(struct hx_edge *edge)
{
    for (struct hx_offer *kept = edge->offers, *next; kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
}
