/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire and the devices at its ends: datagram sockets with abstract names. Both ends move only when the program
 * reads its completion queue, so a peer that does not poll answers nothing.
 *
 *   HELLO -> <- WELCOME        the handshake
 *   DATA ... -> <- ACK         a message, in fragments; acknowledged when it has wholly arrived, received or not
 *   WRITE ...                  what goes into the peer's memory; the peer's device would acknowledge it whatever its
 *                              program does, so it has ended for the writer when it has left
 *
 * A message that arrives before its receive was posted is kept. A socket takes a few datagrams only, then the sender
 * has to wait for the receiver: that is incast.
 */
#include "efa.h"
#include "runtime/base/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FRAGMENT_BYTES ((size_t)32 << 10)
#define PEER_GONE 9 /* a device code */
#define ACKNOWLEDGE_SECONDS 1.0 /* how long a receiver's socket may be full when an endpoint closes */
#define BATCH 32 /* datagrams and fragments moved per read of the completion queue */

enum what { HELLO = 0xefa0, WELCOME, DATA, WRITE, ACK };

struct header {
    uint64_t what, id, tag, tagged, bytes, offset, number;
    struct efa_target target;
    char from[EFA_NAME_BYTES];
};

struct efa_control { /* a datagram without data, not yet sent */
    struct efa_control *next;
    struct header header;
    char to[EFA_NAME_BYTES];
};

/* 0, or errno: EAGAIN when the receiver's socket is full, ECONNREFUSED when it has gone. */
static int datagram_send(const struct efa_ep *ep, const char *to, const struct header *header, const void *data,
                         size_t bytes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct iovec iov[2] = {{(void *)header, sizeof(*header)}, {(void *)data, bytes}};
    struct msghdr msg = {.msg_name = &name, .msg_namelen = offsetof(struct sockaddr_un, sun_path) + 1 + EFA_NAME_BYTES,
                         .msg_iov = iov, .msg_iovlen = 2};

    memcpy(name.sun_path + 1, to, EFA_NAME_BYTES);
    return sendmsg(ep->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

static struct header header_of(const struct efa_ep *ep, enum what what, uint64_t id)
{
    struct header header = {.what = what, .id = id};

    memcpy(header.from, ep->name, EFA_NAME_BYTES);
    return header;
}

static void control_send(struct efa_ep *ep, const char *to, enum what what, uint64_t id)
{
    struct efa_control *control = calloc(1, sizeof(*control)), **link = &ep->controls;

    if (!control)
        abort();
    control->header = header_of(ep, what, id);
    memcpy(control->to, to, EFA_NAME_BYTES);
    while (*link)
        link = &(*link)->next;
    *link = control;
}

static void controls_push(struct efa_ep *ep)
{
    for (struct efa_control **link = &ep->controls; *link;) {
        struct efa_control *control = *link;
        if (datagram_send(ep, control->to, &control->header, NULL, 0) == EAGAIN) {
            link = &control->next;
            continue;
        }
        *link = control->next;
        free(control);
    }
}

void efa_wire_greet(struct efa_ep *ep, struct efa_peer *peer)
{
    if (!peer->greeted)
        control_send(ep, peer->name, HELLO, 0);
    peer->greeted = 1;
}

int efa_wire_open(struct efa_ep *ep)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    uint64_t unique;

    if (getrandom(&unique, sizeof(unique), 0) != sizeof(unique))
        return -errno;
    snprintf(ep->name, sizeof(ep->name), "efa-%x-%016llx", (unsigned)getpid(), (unsigned long long)unique);
    memcpy(name.sun_path + 1, ep->name, EFA_NAME_BYTES);
    ep->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (ep->socket < 0 || bind(ep->socket, (struct sockaddr *)&name,
                               offsetof(struct sockaddr_un, sun_path) + 1 + EFA_NAME_BYTES) != 0)
        return -errno;
    return 0;
}

/* ---- arriving */

static struct efa_peer *peer_named(const struct efa_ep *ep, const char *name)
{
    for (size_t i = 0; i < ep->av->count; i++)
        if (memcmp(ep->av->peers[i]->name, name, EFA_NAME_BYTES) == 0)
            return ep->av->peers[i];
    return NULL;
}

static void acknowledged(struct efa_ep *ep, uint64_t id)
{
    for (struct efa_op **at = &ep->sends.head; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            (*at)->acked = 1;
            (*at)->due = efa_worst(WORST_late, 50) ? hx_now_s() + 1e-6 * efa_dice(1000) : 0;
            return;
        }
}

/* ---- the reorder window
 *
 * EFA numbers the messages to a peer, and the receiver puts them in order. It has room for FI_EFA_RECVWIN_SIZE of them, from the first
 * missing one on. What comes beyond that ends the process before libfabric 2.0. Since then it is kept in a list, which is looked
 * through whenever the number of the first missing one is a multiple of the window: efa_rdm_peer_move_overflow_pke_to_recvwin. */

struct efa_source { /* a peer that has sent something */
    struct efa_source *next;
    char name[EFA_NAME_BYTES];
    uint32_t missing; /* the first message that has not come */
    struct ahead {
        struct ahead *next;
        uint32_t number;
    } *ahead; /* later ones that have */
};

static uint32_t window;

void efa_window_set(void)
{
    const uint32_t version = efa_version();

    window = (uint32_t)efa_setting("FI_EFA_RECVWIN_SIZE", FI_VERSION_LT(version, FI_VERSION(2, 4))   ? 16384
                                                          : FI_VERSION_LT(version, FI_VERSION(2, 5)) ? 8192
                                                                                                     : 16);
}

static struct efa_source *source_of(struct efa_ep *ep, const char *name)
{
    struct efa_source *source = ep->sources;

    while (source && memcmp(source->name, name, EFA_NAME_BYTES) != 0)
        source = source->next;
    if (source)
        return source;
    if (!(source = calloc(1, sizeof(*source))))
        abort();
    memcpy(source->name, name, EFA_NAME_BYTES);
    source->next = ep->sources;
    return ep->sources = source;
}

static int has_come(struct efa_source *source, uint32_t number)
{
    for (struct ahead **link = &source->ahead, *ahead; (ahead = *link); link = &ahead->next)
        if (ahead->number == number) {
            *link = ahead->next;
            free(ahead);
            return 1;
        }
    return 0;
}

/* The first missing one has come. */
static void window_move(struct efa_ep *ep, struct efa_source *source)
{
    do
        if (++source->missing % window == 0)
            for (struct efa_arrival *arrival = ep->arrivals; arrival; arrival = arrival->next)
                if (memcmp(arrival->from, source->name, EFA_NAME_BYTES) == 0 && arrival->number - source->missing < window)
                    arrival->beyond = 0;
    while (has_come(source, source->missing));
}

/* A message begins to arrive. */
static void window_enter(struct efa_ep *ep, struct efa_arrival *arrival)
{
    struct efa_source *source = source_of(ep, arrival->from);
    const uint32_t ahead_by = arrival->number - source->missing;
    struct ahead *ahead;

    if (ahead_by == 0) {
        window_move(ep, source);
        return;
    }
    arrival->beyond = ahead_by >= window;
    ep->beyond += (size_t)arrival->beyond;
    if (arrival->beyond && FI_VERSION_LT(efa_version(), FI_VERSION(2, 0)))
        efa_breach(RULE_window, "message %u of %.*s comes before message %u", arrival->number, EFA_NAME_BYTES, arrival->from, source->missing);
    if (!(ahead = malloc(sizeof(*ahead))))
        abort();
    *ahead = (struct ahead){source->ahead, arrival->number};
    source->ahead = ahead;
}

static struct efa_arrival *arrival_of(struct efa_ep *ep, const struct header *header)
{
    struct efa_arrival **link = &ep->arrivals, *arrival;

    while (*link && ((*link)->id != header->id || memcmp((*link)->from, header->from, EFA_NAME_BYTES) != 0))
        link = &(*link)->next;
    if (*link)
        return *link;
    if (efa_worst(WORST_reorder, 50))
        link = &ep->arrivals;
    arrival = malloc(sizeof(*arrival) + header->bytes);
    if (!arrival)
        abort();
    *arrival = (struct efa_arrival){.next = *link, .id = header->id, .tag = header->tag, .tagged = header->tagged,
                                    .is_write = header->what == WRITE, .target = header->target,
                                    .number = (uint32_t)header->number, .bytes = header->bytes};
    memcpy(arrival->from, header->from, EFA_NAME_BYTES);
    *link = arrival;
    if (!arrival->is_write)
        window_enter(ep, arrival);
    return arrival;
}

static void datagram_handle(struct efa_ep *ep, const struct header *header, const void *data, size_t bytes)
{
    struct efa_peer *peer;
    struct efa_arrival *arrival;

    switch (header->what) {
    case HELLO: control_send(ep, header->from, WELCOME, 0); break;
    case WELCOME:
        peer = peer_named(ep, header->from);
        if (peer)
            peer->welcome = 1;
        break;
    case DATA:
    case WRITE:
        if (header->what == WRITE && !peer_named(ep, header->from)) /* the writer would get code 14 */
            efa_breach(RULE_known, "%.*s writes", EFA_NAME_BYTES, header->from);
        arrival = arrival_of(ep, header);
        memcpy(arrival->data + header->offset, data, bytes);
        arrival->came += bytes;
        if (arrival->came == arrival->bytes && header->what == DATA)
            control_send(ep, header->from, ACK, header->id);
        break;
    case ACK: acknowledged(ep, header->id); break;
    }
}

static void datagrams_receive(struct efa_ep *ep)
{
    static _Thread_local struct {
        struct header header;
        uint8_t data[FRAGMENT_BYTES];
    } in;

    for (int i = 0; i < BATCH; i++) {
        ssize_t n = recv(ep->socket, &in, sizeof(in), MSG_DONTWAIT);
        if (n < (ssize_t)sizeof(in.header))
            break;
        efa_cq_event(ep->cq);
        datagram_handle(ep, &in.header, in.data, (size_t)n - sizeof(in.header));
    }
}

static int is_for(const struct efa_op *recv, const struct efa_arrival *arrival)
{
    return recv->tagged == (int)arrival->tagged && ((recv->tag ^ arrival->tag) & ~recv->ignore) == 0 &&
           (!recv->peer || memcmp(recv->peer->name, arrival->from, EFA_NAME_BYTES) == 0);
}

static void deliver(struct efa_ep *ep, struct efa_op *op, const struct efa_arrival *arrival)
{
    const uint8_t *from = arrival->data;
    size_t left = arrival->bytes < op->bytes ? arrival->bytes : op->bytes;
    int truncated = arrival->bytes > op->bytes;

    op->bytes = left;
    op->tag = arrival->tag;
    op->target = arrival->target;
    for (size_t i = 0; i < op->count && left > 0; i++) {
        size_t part = left < op->iov[i].iov_len ? left : op->iov[i].iov_len;
        memcpy(op->iov[i].iov_base, from, part);
        from += part;
        left -= part;
    }
    efa_op_end(ep, op, truncated ? FI_ETRUNC : 0, truncated ? FI_ETRUNC : 0);
}

/* Into the memory that it is for, perhaps in two parts. Returns whether all of it is there. */
static int is_placed(struct efa_ep *ep, struct efa_arrival *arrival)
{
    uint8_t *to = efa_mr_target(ep->domain, &arrival->target, arrival->bytes);

    if (arrival->placed == 0 && efa_worst(WORST_visible, 50)) {
        size_t half = arrival->bytes / 2;
        memcpy(to + half, arrival->data + half, arrival->bytes - half);
        arrival->placed = arrival->bytes - half;
        arrival->due = hx_now_s() + 1e-6 * efa_dice(1000);
    }
    if (hx_now_s() < arrival->due)
        return 0;
    memcpy(to, arrival->data, arrival->bytes - arrival->placed);
    efa_written(ep, &arrival->target, arrival->bytes);
    return 1;
}

static int is_received(struct efa_ep *ep, struct efa_arrival *arrival)
{
    struct efa_op **at = &ep->recvs.head;

    while (*at && !is_for(*at, arrival))
        at = &(*at)->next;
    if (!*at && !arrival->unexpected) {
        arrival->unexpected = 1;
        ep->unexpected++;
        ep->copied += arrival->bytes;
    }
    if (!*at)
        return 0;
    deliver(ep, efa_list_take(&ep->recvs, at), arrival);
    return 1;
}

static void arrivals_end(struct efa_ep *ep)
{
    for (struct efa_arrival **link = &ep->arrivals; *link;) {
        struct efa_arrival *arrival = *link;

        if (arrival->came < arrival->bytes || arrival->beyond || efa_worst(WORST_reorder, 30) ||
            !(arrival->is_write ? is_placed(ep, arrival) : is_received(ep, arrival))) {
            link = &arrival->next;
            continue;
        }
        *link = arrival->next;
        free(arrival);
    }
}

/* ---- leaving */

static void op_read(const struct efa_op *op, size_t offset, uint8_t *to, size_t bytes)
{
    if (op->copy) {
        memcpy(to, op->copy + offset, bytes);
        return;
    }
    for (size_t i = 0; i < op->count && bytes > 0; i++) {
        size_t here = op->iov[i].iov_len, part;
        if (offset >= here) {
            offset -= here;
            continue;
        }
        part = bytes < here - offset ? bytes : here - offset;
        efa_mr_read(op->mr[i], (const uint8_t *)op->iov[i].iov_base + offset, to, part);
        to += part;
        bytes -= part;
        offset = 0;
    }
}

/* Some fragments of one message. Returns 0, or why it stopped: EAGAIN, ECONNREFUSED ... */
static int op_push(struct efa_ep *ep, struct efa_op *op)
{
    static _Thread_local uint8_t data[FRAGMENT_BYTES];
    struct header header = header_of(ep, op->kind == EFA_WRITE ? WRITE : DATA, op->id);
    int error = 0;

    header.tag = op->tag;
    header.tagged = (uint64_t)op->tagged;
    header.target = op->target;
    header.number = op->number;
    header.bytes = op->bytes;
    for (int i = 0; i < BATCH && error == 0; i++) {
        size_t bytes = op->bytes - op->pushed < FRAGMENT_BYTES ? op->bytes - op->pushed : FRAGMENT_BYTES;
        op_read(op, header.offset = op->pushed, data, bytes);
        error = datagram_send(ep, op->peer->name, &header, data, bytes);
        if (error == 0)
            op->pushed += bytes;
        if (op->pushed == op->bytes)
            break;
    }
    return error;
}

/* Move a send on. Returns whether it has ended; *code: how. */
static int send_advance(struct efa_ep *ep, struct efa_op *op, int *code)
{
    int error;

    if ((*code = op->fails != 0 ? op->fails : op->peer->fails) != 0 || op->lost)
        return 1;
    if (op->acked)
        return hx_now_s() >= op->due;
    if (op->sent || efa_worst(WORST_reorder, 50) || hx_now_s() < op->due)
        return 0;
    error = op_push(ep, op);
    if (error != 0 && error != EAGAIN && error != ENOBUFS) {
        *code = PEER_GONE;
        return 1;
    }
    op->sent = error == 0 && op->pushed == op->bytes;
    return op->sent && (op->kind == EFA_WRITE || efa_worst(WORST_early, 50));
}

void efa_wire_progress(struct efa_ep *ep)
{
    int code;

    datagrams_receive(ep);
    controls_push(ep);
    arrivals_end(ep);
    for (struct efa_op **at = &ep->sends.head; *at;)
        if (send_advance(ep, *at, &code))
            efa_op_end(ep, efa_list_take(&ep->sends, at), code != 0 ? efa_code_error(code) : 0, code);
        else
            at = &(*at)->next;
}

/* ---- the end */

static int has_unsent(const struct efa_ep *ep)
{
    const struct efa_op *op = ep->sends.head;

    while (op && op->sent)
        op = op->next;
    return op != NULL;
}

/* A device acknowledges by itself what has arrived. Without that a sender takes its last message for lost, although the receiver has gone on and
 * left because of it. */
static void acknowledgements_end(struct efa_ep *ep)
{
    const double limit = hx_now_s() + ACKNOWLEDGE_SECONDS;

    for (controls_push(ep); ep->controls && hx_now_s() < limit; controls_push(ep))
        usleep(100);
}

static void sources_free(struct efa_ep *ep)
{
    for (struct efa_source *source; (source = ep->sources);) {
        ep->sources = source->next;
        while (source->ahead)
            has_come(source, source->ahead->number);
        free(source);
    }
}

void efa_wire_close(struct efa_ep *ep)
{
    struct efa_control *control;
    struct efa_arrival *arrival;

    while (has_unsent(ep) && efa_worst(WORST_linger, 100)) {
        efa_wire_progress(ep);
        usleep(100);
    }
    if (ep->socket >= 0) {
        acknowledgements_end(ep);
        close(ep->socket);
    }
    while ((control = ep->controls)) {
        ep->controls = control->next;
        free(control);
    }
    while ((arrival = ep->arrivals)) {
        ep->arrivals = arrival->next;
        free(arrival);
    }
    sources_free(ep);
}
