/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two ranks: the public functions. runtime/engine/p2p.h moves the messages; message_stall.c ends those that wait
 * in vain. */
#include "runtime/api/call.h"
#include "runtime/api/failed.h"
#include "runtime/api/lock.h"
#include "runtime/base/clock.h"
#include "runtime/base/user_table.h"
#include "runtime/engine/signature.h"
#include "runtime/engine/whereabouts.h"
#include <stdint.h>

#define PROBE_NS 100000000 /* from one look at a rank that is probed in vain to the next */

struct arguments {
    const char *name; /* of the public function */
    void *buf;        /* of a send it is only read */
    size_t count;
    hx_dtype_t dtype;
    int rank, tag, sending;
};

/* ---- arguments ------------------------------------------------------------------------------------------------ */

static hx_status_t place_check(const char *name, struct hx_comm *comm, int rank, int tag, int sending)
{
    if (rank < 0 || rank >= comm->members.size)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: %s %d is out of range: this communicator has ranks 0 to %d", name,
                                          sending ? "dest" : "source", rank, comm->members.size - 1));
    if (tag < 0)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: tag %d; choose 0 or more", name, tag));
    return HX_SUCCESS;
}

static hx_status_t arguments_check(const struct arguments *a, struct hx_comm *comm)
{
    hx_status_t status = hx_comm_check(comm, a->name);
    size_t bytes;

    if (status != HX_SUCCESS)
        return status;
    if ((status = place_check(a->name, comm, a->rank, a->tag, a->sending)) != HX_SUCCESS)
        return status;
    if ((status = hx_dtype_check(a->name, a->dtype)) != HX_SUCCESS)
        return hx_comm_fail(comm, status);
    if (__builtin_mul_overflow(a->count, hx_dtype_bytes(a->dtype), &bytes) || bytes > SIZE_MAX >> 16)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: count %zu of %zu-byte elements is more than an address space holds",
                                          a->name, a->count, hx_dtype_bytes(a->dtype)));
    if (a->count && (!a->buf || a->buf == HX_IN_PLACE))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: buf is %s and count is %zu", a->name, a->buf ? "HX_IN_PLACE" : "NULL",
                                          a->count));
    return HX_SUCCESS;
}

/* Member by member: the rest of the struct is long, and hx_p2p_start sets what it needs. */
static void call_set(struct hx_p2p_call *call, const struct arguments *a, struct hx_comm *comm)
{
    call->members = &comm->members;
    call->name = a->name;
    call->sending = a->sending;
    call->rank = a->rank;
    call->tag = a->tag;
    call->dtype = hx_dtype_code(a->dtype);
    call->base = a->buf;
    call->bytes = a->count * hx_dtype_bytes(a->dtype);
    call->ended = NULL;
    call->owner = NULL;
}

/* ---- blocking ------------------------------------------------------------------------------------------------- */

void hx_messages_progress(struct hx_comm *comm)
{
    const int events = hx_progress_all(&comm->world->process);

    if (events < 0 && !comm->members.failed && comm->members.local_n < comm->members.size) {
        hx_recall(hx_registry.net->why(comm->world->process.net));
        hx_comm_break(comm, (hx_status_t)-events);
    }
}

static int ended_look(void *ctx)
{
    const struct hx_p2p_call *call = ctx;

    hx_messages_progress((struct hx_comm *)(void *)call->members);
    return call->state == HX_P2P_ENDED;
}

static void ended_stall(void *ctx)
{
    hx_message_stall(ctx);
}

/* The message has ended with an error: the communicator tells why. */
static hx_status_t status_tell(const struct hx_p2p_call *call)
{
    struct hx_comm *comm = (struct hx_comm *)(void *)call->members;

    if (call->status == HX_SUCCESS || comm->members.failed)
        return call->status;
    hx_recall(call->why);
    if (call->status == HX_ERR_NOMEM)
        return hx_comm_break(comm, call->status);
    return hx_comm_fail(comm, call->status);
}

static void call_await(struct hx_comm *comm, struct hx_p2p_call *call)
{
    const struct hx_wait wait = {ended_look, ended_stall, call, *comm->members.timeout_s, &call->wait_clock};

    while (call->state != HX_P2P_ENDED)
        if (hx_wait_until(&comm->world->process.waiter, &wait) != HX_SUCCESS && call->state != HX_P2P_ENDED)
            hx_message_late(call);
}

hx_status_t hx_messages_run(struct hx_comm *comm, struct hx_p2p_call *calls, int n)
{
    struct hx_process *process = &comm->world->process;
    hx_status_t status = HX_SUCCESS;

    if (n == 0)
        return HX_SUCCESS;
    comm->messages++;
    for (int i = 0; i < n; i++)
        hx_p2p_start(process, &calls[i]);
    for (int i = 0; i < n; i++) {
        call_await(comm, &calls[i]);
        const hx_status_t ended = status_tell(&calls[i]);
        status = status == HX_SUCCESS ? ended : status;
    }
    comm->messages--;
    hx_stand_clear(process);
    return status;
}

/* ---- entry ---------------------------------------------------------------------------------------------------- */

static void request_ended(struct hx_p2p_call *call)
{
    struct hx_request *request = call->owner;

    status_tell(call);
    hx_request_end(request, &request->call.comm->engine, call->status);
}

void hx_message_start(struct hx_request *request)
{
    struct hx_world *world = request->call.comm->world;

    request->state = HX_REQUEST_ACTIVE;
    request->message->owner = request;
    request->message->ended = request_ended;
    hx_p2p_start(&world->process, request->message);
    if (request->message->status == HX_ERR_NOMEM && request->state == HX_REQUEST_ACTIVE)
        request_ended(request->message);
    hx_requests_progress(&world->process);
    if (world->has_thread && request->state == HX_REQUEST_ACTIVE)
        pthread_cond_signal(&world->work);
}

int hx_messages_active(const struct hx_comm *comm)
{
    const struct hx_p2p *p2p = comm->world->process.p2p;
    int n = 0;

    for (const struct hx_p2p_call *call = p2p ? p2p->all : NULL; call; call = call->all_next)
        n += call->members == &comm->members;
    return n;
}

static hx_status_t message_do(const struct arguments *a, struct hx_comm *comm, enum hx_mode mode, hx_request_t **request)
{
    struct hx_p2p_call message;
    struct hx_call call;
    hx_status_t status;

    HX_ENTER();
    if (request)
        *request = NULL;
    if ((status = arguments_check(a, comm)) != HX_SUCCESS)
        return status;
    if ((status = hx_group_refuse(comm, a->name)) != HX_SUCCESS)
        return status;
    call_set(&message, a, comm);
    if (mode == HX_BLOCKING)
        return (status = hx_notice_refuse(a->name)) == HX_SUCCESS ? hx_messages_run(comm, &message, 1) : hx_comm_fail(comm, status);
    if (!request)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: request is NULL", a->name));
    call = (struct hx_call){.name = a->name, .comm = comm, .key = hx_call_key_of(HX_COLL_BARRIER, a->dtype, HX_SUM, 0, a->count),
                            .message = &message};
    return hx_request_new(&call, mode == HX_PERSISTENT, request);
}

#define SEND(name) {name, (void *)(uintptr_t)buf, count, dtype, dest, tag, 1}
#define RECV(name) {name, buf, count, dtype, source, tag, 0}

hx_status_t hx_send(const void *buf, size_t count, hx_dtype_t dtype, int dest, int tag, hx_comm_t *comm)
{
    return message_do(&(struct arguments)SEND("hx_send"), comm, HX_BLOCKING, NULL);
}

hx_status_t hx_recv(void *buf, size_t count, hx_dtype_t dtype, int source, int tag, hx_comm_t *comm)
{
    return message_do(&(struct arguments)RECV("hx_recv"), comm, HX_BLOCKING, NULL);
}

hx_status_t hx_isend(const void *buf, size_t count, hx_dtype_t dtype, int dest, int tag, hx_comm_t *comm, hx_request_t **request)
{
    return message_do(&(struct arguments)SEND("hx_isend"), comm, HX_NONBLOCKING, request);
}

hx_status_t hx_irecv(void *buf, size_t count, hx_dtype_t dtype, int source, int tag, hx_comm_t *comm, hx_request_t **request)
{
    return message_do(&(struct arguments)RECV("hx_irecv"), comm, HX_NONBLOCKING, request);
}

hx_status_t hx_send_init(const void *buf, size_t count, hx_dtype_t dtype, int dest, int tag, hx_comm_t *comm, hx_request_t **request)
{
    return message_do(&(struct arguments)SEND("hx_send_init"), comm, HX_PERSISTENT, request);
}

hx_status_t hx_recv_init(void *buf, size_t count, hx_dtype_t dtype, int source, int tag, hx_comm_t *comm, hx_request_t **request)
{
    return message_do(&(struct arguments)RECV("hx_recv_init"), comm, HX_PERSISTENT, request);
}

/* A program that only probes finds here that the other rank is gone, as one that waits does. */
static hx_status_t probe_look(struct hx_comm *comm, int source, int tag)
{
    struct hx_p2p_peer *peer = hx_p2p_peer(comm->world->process.p2p, comm->members.ranks[source]);
    const uint64_t now = hx_clock_ns(CLOCK_MONOTONIC_COARSE);
    struct hx_p2p_call probe;

    if (!peer)
        return hx_comm_break(comm, HX_ERR_NOMEM);
    if (now - peer->probed_ns < PROBE_NS)
        return comm->members.failed;
    peer->probed_ns = now;
    call_set(&probe, &(struct arguments){"hx_iprobe", NULL, 0, HX_BYTE, source, tag, 0}, comm);
    probe.peer = peer;
    return hx_message_probe(&probe);
}

hx_status_t hx_iprobe(int source, int tag, hx_comm_t *comm, int *found, size_t *bytes)
{
    const struct hx_p2p_head *head;
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_iprobe")) != HX_SUCCESS ||
        (status = place_check("hx_iprobe", comm, source, tag, 0)) != HX_SUCCESS)
        return status;
    if (!found)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_iprobe: found is NULL"));
    if (!hx_p2p_of(&comm->world->process))
        return hx_comm_break(comm, HX_ERR_NOMEM);
    hx_progress_all(&comm->world->process);
    head = hx_p2p_find(&comm->world->process, &comm->members, source, tag);
    *found = head != NULL;
    if (bytes)
        *bytes = head ? head->bytes : 0;
    return head ? comm->members.failed : probe_look(comm, source, tag);
}
