/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP store's server: epoll over non-blocking sockets, one request under way per client.
 *
 * A job fails as a whole: when a rank dies (its connection closes without BYE), aborts, or leaves while others wait
 * at a fence, the reason is kept and is the answer to every request from then on, waiting fences included. */
#include "bootstrap_store_wire.h"
#include "hierax.h"
#include "keyvalue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MISSING_MAX 16 /* ranges of ranks named in a text */

struct hx_store {
    int listen_fd, epoll_fd;
    int size, fenced, left, connected; /* ranks: in all, at the fence, gone by BYE, ever accepted */
    char *secret;
    struct hx_store_client *clients;
    struct hx_store_client **by_rank; /* NULL before HELLO and after the end */
    unsigned char *came;              /* by rank: 1 from HELLO on, or if it has ended without */
    struct hx_keyvalue values;
    char failure[HX_STORE_TEXT_BYTES]; /* "" while all is well */
    hx_status_t failure_status;
    int aborted_rank, dead_rank;
};

static void answer_failure(const struct hx_store *store, struct hx_store_client *client, enum hx_store_op op)
{
    hx_store_client_answer(client, op, store->failure_status, store->failure, strlen(store->failure));
}

/* The first failure counts; ranks at the fence learn it now, the others at their next request. */
__attribute__((format(printf, 3, 4))) static void fail_job(struct hx_store *store, hx_status_t status,
                                                           const char *format, ...)
{
    va_list args;

    if (*store->failure)
        return;
    va_start(args, format);
    vsnprintf(store->failure, sizeof store->failure, format, args);
    va_end(args);
    for (char *c = store->failure; *c; c++) /* some of it may be a client's */
        if ((unsigned char)*c < ' ')
            *c = ' ';
    store->failure_status = status;
    for (struct hx_store_client *client = store->clients; client; client = client->next)
        if (client->fenced) {
            client->fenced = 0;
            answer_failure(store, client, HX_STORE_FENCE);
        }
    store->fenced = 0;
}

/* Equal in time that depends on the lengths only. */
static int same_secret(const char *secret, const char *offered, size_t offered_bytes)
{
    const size_t bytes = strlen(secret);
    volatile unsigned char difference = bytes != offered_bytes;

    for (size_t i = 0; i < offered_bytes && i < bytes; i++)
        difference |= (unsigned char)(secret[i] ^ offered[i]);
    return difference == 0;
}

static void serve_hello(struct hx_store *store, struct hx_store_client *client)
{
    uint32_t numbers[2];

    if (client->head.op != HX_STORE_HELLO || client->head.value_bytes != sizeof numbers) {
        hx_store_client_refuse(client, HX_ERR_BOOTSTRAP, "the store expects a greeting first");
        return;
    }
    memcpy(numbers, client->body + client->head.key_bytes, sizeof numbers);
    const uint32_t rank = ntohl(numbers[0]), size = ntohl(numbers[1]);
    if (!same_secret(store->secret, client->body, client->head.key_bytes)) {
        hx_store_client_refuse(client, HX_ERR_BOOTSTRAP,
                               "the store refuses rank %u: wrong HX_SECRET (another job's store?)", rank);
        return;
    }
    /* one of the job's ranks: without it the job cannot go on */
    if (size != (uint32_t)store->size)
        fail_job(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u: it has HX_SIZE=%u, but this job has %d ranks",
                 rank, size, store->size);
    else if (rank >= size)
        fail_job(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u of %u: ranks are 0 to size - 1", rank, size);
    else if (store->by_rank[rank])
        fail_job(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u: another process has HX_RANK=%u already", rank,
                 rank);
    else if (store->came[rank])
        fail_job(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u: another process has been rank %u, and a job starts once", rank,
                 rank);
    if (*store->failure) {
        client->closing = 1;
        answer_failure(store, client, HX_STORE_HELLO);
    } else {
        client->rank = (int)rank;
        store->by_rank[rank] = client;
        store->came[rank] = 1;
        store->connected++;
        hx_store_client_answer(client, HX_STORE_HELLO, HX_SUCCESS, NULL, 0);
    }
}

static void serve_put(struct hx_store *store, struct hx_store_client *client)
{
    const struct hx_store_frame *head = &client->head;
    const char *value = client->body + head->key_bytes;

    if (hx_keyvalue_put(&store->values, client->body, head->key_bytes, value, head->value_bytes) == 0) {
        hx_store_client_answer(client, HX_STORE_PUT, HX_SUCCESS, NULL, 0);
        return;
    }
    fail_job(store, HX_ERR_NOMEM, "the store has no memory for %u bytes of rank %d", head->value_bytes, client->rank);
    answer_failure(store, client, HX_STORE_PUT);
}

static void serve_get(const struct hx_store *store, struct hx_store_client *client)
{
    size_t bytes = 0;
    const void *value = hx_keyvalue_get(&store->values, client->body, client->head.key_bytes, &bytes);

    hx_store_client_answer(client, HX_STORE_GET, value ? HX_SUCCESS : HX_STORE_ABSENT, value, bytes);
}

/* The lowest rank that has ended, of which there is one. */
static int first_left(const struct hx_store *store)
{
    int rank = 0;

    while (!store->came[rank] || (store->by_rank[rank] && !store->by_rank[rank]->left))
        rank++;
    return rank;
}

static void serve_fence(struct hx_store *store, struct hx_store_client *client)
{
    client->fenced = 1;
    store->fenced++;
    if (store->left > 0)
        fail_job(store, HX_ERR_PEER_DEAD, "rank %d waits at a fence, but rank %d has ended (%d of the %d ranks have ended already)",
                 client->rank, first_left(store), store->left, store->size);
    if (store->fenced < store->size)
        return;
    store->fenced = 0;
    for (int rank = 0; rank < store->size; rank++) {
        store->by_rank[rank]->fenced = 0;
        hx_store_client_answer(store->by_rank[rank], HX_STORE_FENCE, HX_SUCCESS, NULL, 0);
    }
}

static int is_missing(const struct hx_store *store, int rank)
{
    return !store->by_rank[rank] || !store->by_rank[rank]->fenced;
}

/* A rank has waited for too long: fail, naming the ranks that have not arrived at the fence ("3, 5-7"). */
static void serve_late(struct hx_store *store, const struct hx_store_client *client)
{
    char text[HX_STORE_TEXT_BYTES] = "";
    size_t used = 0;
    int ranges = 0;

    for (int rank = 0; rank < store->size && ranges < MISSING_MAX; rank++) {
        const int first = rank;

        while (rank < store->size && is_missing(store, rank))
            rank++;
        if (rank == first)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", ranges ? ", " : "", first);
        if (rank - first > 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "-%d", rank - 1);
        ranges++;
    }
    fail_job(store, HX_ERR_TIMEOUT,
             "rank %d has waited %.*s s (HX_TIMEOUT) at a start-up fence for rank%s %s%s (%d of %d have "
             "arrived, %d ever connected)",
             client->rank, (int)client->head.value_bytes, client->body + client->head.key_bytes,
             ranges == 1 && !strchr(text, '-') ? "" : "s", text, ranges == MISSING_MAX ? ", ..." : "", store->fenced,
             store->size, store->connected);
}

static void leave(struct hx_store *store, int rank)
{
    store->left++;
    if (store->fenced > 0)
        fail_job(store, HX_ERR_PEER_DEAD, "rank %d has ended while %d ranks wait for it at a fence", rank, store->fenced);
}

static void serve_bye(struct hx_store *store, struct hx_store_client *client)
{
    client->left = 1;
    leave(store, client->rank);
}

static void serve_abort(struct hx_store *store, const struct hx_store_client *client)
{
    if (!*store->failure)
        store->aborted_rank = client->rank;
    fail_job(store, HX_ERR_PEER_DEAD, "rank %d has aborted the job: %.*s", client->rank,
             (int)client->head.value_bytes, client->body + client->head.key_bytes);
}

static void serve_request(struct hx_store *store, struct hx_store_client *client)
{
    const enum hx_store_op op = client->head.op;

    if (client->rank < 0)
        serve_hello(store, client);
    else if (op == HX_STORE_LATE && !client->fenced)
        return; /* crossed the fence's answer */
    else if (client->left || client->fenced ? op != HX_STORE_LATE && op != HX_STORE_ABORT : op == HX_STORE_HELLO)
        hx_store_client_refuse(client, HX_ERR_INTERNAL, "request %d of rank %d is out of turn", (int)op,
                               client->rank);
    else if (op == HX_STORE_BYE)
        serve_bye(store, client);
    else if (op == HX_STORE_ABORT)
        serve_abort(store, client);
    else if (*store->failure)
        answer_failure(store, client, op);
    else if (op == HX_STORE_PUT)
        serve_put(store, client);
    else if (op == HX_STORE_GET)
        serve_get(store, client);
    else if (op == HX_STORE_FENCE)
        serve_fence(store, client);
    else if (op == HX_STORE_LATE)
        serve_late(store, client);
    else
        hx_store_client_refuse(client, HX_ERR_INTERNAL, "rank %d sent unknown request %d", client->rank, (int)op);
}

static void accept_clients(struct hx_store *store)
{
    for (;;) {
        const int fd = accept4(store->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                fail_job(store, HX_ERR_NOMEM, "the store cannot accept more than %d ranks: %s (see ulimit -n)",
                         store->connected, strerror(errno));
                epoll_ctl(store->epoll_fd, EPOLL_CTL_DEL, store->listen_fd, NULL); /* it would be ready for ever */
            }
            return;
        }
        struct hx_store_client *client = hx_store_client_open(fd, store->epoll_fd);
        if (client) {
            client->next = store->clients;
            store->clients = client;
        }
    }
}

/* Release dead clients; 1 when there was one, for failing the job on its account may have killed others. */
static int sweep_clients(struct hx_store *store)
{
    struct hx_store_client **link = &store->clients;
    int swept = 0;

    while (*link) {
        struct hx_store_client *client = *link;

        if (!client->dead) {
            link = &client->next;
            continue;
        }
        *link = client->next;
        swept = 1;
        if (client->rank >= 0) {
            store->fenced -= client->fenced;
            store->by_rank[client->rank] = NULL;
            if (!client->left && !*store->failure)
                store->dead_rank = client->rank;
            if (!client->left)
                fail_job(store, HX_ERR_PEER_DEAD,
                         "rank %d has died: its connection to the store closed without a goodbye", client->rank);
        }
        hx_store_client_close(client);
    }
    return swept;
}

void hx_store_serve(struct hx_store *store)
{
    struct epoll_event events[64];
    const int ready = epoll_wait(store->epoll_fd, events, 64, 0);

    for (int i = 0; i < ready; i++) {
        struct hx_store_client *client = events[i].data.ptr;

        if (!client) {
            accept_clients(store);
            continue;
        }
        if (events[i].events & EPOLLOUT)
            hx_store_client_flush(client);
        while (hx_store_client_read(client)) {
            serve_request(store, client);
            hx_store_client_consume(client);
        }
    }
    while (sweep_clients(store))
        ;
}

void hx_store_ended(struct hx_store *store, int rank)
{
    if (store->came[rank])
        return;
    store->came[rank] = 1;
    leave(store, rank);
}

int hx_store_open(int listen_fd, int size, const char *secret, struct hx_store **store)
{
    struct epoll_event event = {.events = EPOLLIN}; /* data.ptr NULL: the listening socket */
    struct hx_store *new = calloc(1, sizeof *new);

    if (!new)
        return -1;
    *new = (struct hx_store){.listen_fd = listen_fd, .size = size, .aborted_rank = -1, .dead_rank = -1};
    new->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    new->secret = strdup(secret);
    new->by_rank = calloc((size_t)size, sizeof *new->by_rank);
    new->came = calloc((size_t)size, 1);
    if (new->epoll_fd < 0 || !new->secret || !new->by_rank || !new->came ||
        epoll_ctl(new->epoll_fd, EPOLL_CTL_ADD, listen_fd, &event) < 0) {
        new->listen_fd = -1;
        hx_store_close(new);
        return -1;
    }
    *store = new;
    return 0;
}

int hx_store_fd(const struct hx_store *store)
{
    return store->epoll_fd;
}

int hx_store_finished(const struct hx_store *store)
{
    return store->connected > 0 && !store->clients && (store->left == store->size || *store->failure);
}

const char *hx_store_failure(const struct hx_store *store, int *aborted_rank, int *dead_rank)
{
    *aborted_rank = store->aborted_rank;
    *dead_rank = store->dead_rank;
    return *store->failure ? store->failure : NULL;
}

void hx_store_close(struct hx_store *store)
{
    while (store->clients) {
        struct hx_store_client *client = store->clients;

        store->clients = client->next;
        hx_store_client_close(client);
    }
    hx_keyvalue_clear(&store->values);
    if (store->epoll_fd >= 0)
        close(store->epoll_fd);
    if (store->listen_fd >= 0)
        close(store->listen_fd);
    free(store->by_rank);
    free(store->came);
    free(store->secret);
    free(store);
}
