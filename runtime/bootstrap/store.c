/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP store's server: epoll over non-blocking sockets, one request under way per client.
 *
 * A job fails as a whole. When a rank dies (its connection closes without BYE), aborts, or leaves while others wait at a fence, the store
 * keeps the reason. From then on this reason is the answer to every request, waiting fences included. Only values that are there can still
 * be read: a rank that has passed the last fence completes its start, as the others have done. */
#include "runtime/bootstrap/store_wire.h"
#include "runtime/hierax.h"
#include "runtime/base/keyvalue.h"
#include "runtime/base/strangers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MISSING_MAX 16 /* ranges of ranks named in a text */
#define ACCEPTS_MAX 64       /* connections accepted before the store serves the present ones again */
#define STRANGER_SECONDS 5.0 /* how long a stranger may take for its proof */

struct hx_store {
    int listen_fd, epoll_fd;
    int size, fenced, left, connected; /* ranks: in all, at the fence, gone by BYE, ever accepted */
    int joined;                        /* likewise: connected now */
    unsigned wrong_secrets;            /* connections refused because of it */
    int strangers, strangers_max;      /* connections that have yet to prove that they are of the job */
    int timer_fd;                      /* ticks while there are strangers, so that the store checks their deadlines */
    uint32_t server;
    char *secret;
    struct hx_store_client *clients;
    struct hx_store_client **by_rank; /* NULL before HELLO and after the end */
    unsigned char *came;              /* by rank: 1 from JOIN on, or if the rank has ended without JOIN */
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

/* HELLO: a stranger says which rank it is. The answer has a fresh number, which the stranger's proof must cover. */
static void serve_hello(struct hx_store *store, struct hx_store_client *client)
{
    struct hx_store_greeting *greeting = &client->greeting;
    unsigned char answer[sizeof greeting->server + HX_STORE_NONCE_BYTES];

    if (client->head.op != HX_STORE_HELLO || client->head.value_bytes != 2 * sizeof(uint32_t) + HX_STORE_NONCE_BYTES) {
        hx_store_client_refuse(client, "the store expects a greeting first");
        return;
    }
    if (client->foreign) {
        hx_store_client_refuse(client, "the store has no HX_SECRET, so it refuses ranks on other machines than its own: set HX_SECRET to the "
                                       "same text for all ranks");
        return;
    }
    greeting->version = htonl(HX_STORE_VERSION);
    memcpy(&greeting->rank, client->body, sizeof greeting->rank);
    memcpy(&greeting->size, client->body + sizeof greeting->rank, sizeof greeting->size);
    memcpy(greeting->client_nonce, client->body + 2 * sizeof(uint32_t), HX_STORE_NONCE_BYTES);
    greeting->server = htonl(store->server);
    if (hx_store_nonce(greeting->store_nonce) < 0) {
        client->dead = 1;
        return;
    }
    hx_store_keys_open(&client->keys, store->secret, greeting);
    client->greeted = 1;
    memcpy(answer, &greeting->server, sizeof greeting->server);
    memcpy(answer + sizeof greeting->server, greeting->store_nonce, HX_STORE_NONCE_BYTES);
    hx_store_client_answer(client, HX_STORE_HELLO, HX_SUCCESS, answer, sizeof answer);
}

static void serve_join(struct hx_store *store, struct hx_store_client *client)
{
    const uint32_t rank = ntohl(client->greeting.rank), size = ntohl(client->greeting.size);

    if (client->head.op != HX_STORE_JOIN || !hx_store_proof_is(&client->keys, client->body, client->head.value_bytes)) {
        store->wrong_secrets++;
        hx_store_client_refuse(client, "the store refuses rank %u: wrong HX_SECRET (another job's store?)", rank);
        return;
    }
    client->sealed = 1;
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
        answer_failure(store, client, HX_STORE_JOIN);
    } else {
        client->rank = (int)rank;
        store->strangers--;
        store->by_rank[rank] = client;
        store->came[rank] = 1;
        store->connected++;
        store->joined++;
        hx_store_client_answer(client, HX_STORE_JOIN, HX_SUCCESS, NULL, 0);
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

    if (!value && *store->failure)
        answer_failure(store, client, HX_STORE_GET);
    else
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
    char text[HX_STORE_TEXT_BYTES] = "", refused[64] = "";
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
    if (store->wrong_secrets)
        snprintf(refused, sizeof refused, "; refused for a wrong HX_SECRET: %u", store->wrong_secrets);
    fail_job(store, HX_ERR_TIMEOUT,
             "rank %d has waited %.*s s (HX_TIMEOUT) at a start-up fence for rank%s %s%s (%d of %d have "
             "arrived, %d ever connected%s)",
             client->rank, (int)client->head.value_bytes, client->body + client->head.key_bytes,
             ranges == 1 && !strchr(text, '-') ? "" : "s", text, ranges == MISSING_MAX ? ", ..." : "", store->fenced,
             store->size, store->connected, refused);
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

    if (client->rank < 0 && client->greeted)
        serve_join(store, client);
    else if (client->rank < 0)
        serve_hello(store, client);
    else if (op == HX_STORE_LATE && !client->fenced)
        return; /* crossed the fence's answer */
    else if (client->left || client->fenced ? op != HX_STORE_LATE && op != HX_STORE_ABORT : op == HX_STORE_HELLO)
        hx_store_client_refuse(client, "request %d of rank %d is out of turn", (int)op, client->rank);
    else if (op == HX_STORE_BYE)
        serve_bye(store, client);
    else if (op == HX_STORE_ABORT)
        serve_abort(store, client);
    else if (op == HX_STORE_GET)
        serve_get(store, client);
    else if (*store->failure)
        answer_failure(store, client, op);
    else if (op == HX_STORE_PUT)
        serve_put(store, client);
    else if (op == HX_STORE_FENCE)
        serve_fence(store, client);
    else if (op == HX_STORE_LATE)
        serve_late(store, client);
    else
        hx_store_client_refuse(client, "rank %d sent unknown request %d", client->rank, (int)op);
}

/* ---- strangers ----------------------------------------------------------------------------------------------------
 * Any process that reaches the port can connect. A rank proves within milliseconds that it is one, so a stranger gets STRANGER_SECONDS.
 * When there are too many strangers, or no descriptor is left, the store closes the oldest, first those that have sent nothing. A rank that
 * is closed in this way connects again. */

static void strangers_watch(const struct hx_store *store)
{
    const long ns = store->strangers > 0 ? HX_LOOK_MS * 1000000l : 0; /* 0: never */

    timerfd_settime(store->timer_fd, 0, &(struct itimerspec){.it_interval.tv_nsec = ns, .it_value.tv_nsec = ns}, NULL);
}

static void strangers_expire(struct hx_store *store)
{
    uint64_t ticks;

    if (read(store->timer_fd, &ticks, sizeof ticks) < 0)
        return;
    for (struct hx_store_client *client = store->clients; client; client = client->next)
        client->dead |= client->rank < 0 && hx_deadline_passed(client->deadline);
    strangers_watch(store);
}

/* Does the connection come from this machine? Then both ends have the same address, or a loopback address. */
static int is_of_here(int fd)
{
    union {
        struct sockaddr_storage any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } ends[2];
    socklen_t bytes[2] = {sizeof ends[0], sizeof ends[1]};

    if (getsockname(fd, (struct sockaddr *)&ends[0], &bytes[0]) < 0 || getpeername(fd, (struct sockaddr *)&ends[1], &bytes[1]) < 0)
        return 0;
    if (ends[1].any.ss_family == AF_INET)
        return ntohl(ends[1].v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET || ends[0].v4.sin_addr.s_addr == ends[1].v4.sin_addr.s_addr;
    const struct in6_addr *peer = &ends[1].v6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(peer) || (IN6_IS_ADDR_V4MAPPED(peer) && peer->s6_addr[12] == IN_LOOPBACKNET) ||
           IN6_ARE_ADDR_EQUAL(&ends[0].v6.sin6_addr, peer);
}

static void stranger_enter(struct hx_store *store, int fd)
{
    struct hx_store_client *client = hx_store_client_open(fd, store->epoll_fd);

    if (!client)
        return;
    client->foreign = !*store->secret && !is_of_here(fd);
    client->deadline = hx_deadline(STRANGER_SECONDS);
    client->next = store->clients;
    store->clients = client;
    if (store->strangers++ == 0)
        strangers_watch(store);
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
        store->strangers -= client->rank < 0;
        if (client->rank >= 0) {
            store->fenced -= client->fenced;
            store->by_rank[client->rank] = NULL;
            store->joined--;
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

/* Close one stranger, if there is any. */
static int stranger_evict(struct hx_store *store)
{
    struct hx_store_client *oldest = NULL;

    for (struct hx_store_client *client = store->clients; client; client = client->next) /* the newest first */
        if (client->rank < 0 && (!oldest || client->greeted <= oldest->greeted))
            oldest = client;
    if (!oldest)
        return 0;
    oldest->dead = 1;
    sweep_clients(store);
    return 1;
}

/* Accept a few connections at a time, so that strangers that have sent something are served before new ones take their place. */
static void accept_clients(struct hx_store *store)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        const int fd = accept4(store->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), error = errno;

        if (fd >= 0) {
            if (store->strangers >= store->strangers_max)
                stranger_evict(store);
            stranger_enter(store, fd);
        } else if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
            if (stranger_evict(store))
                continue;
            fail_job(store, HX_ERR_NOMEM, "the store cannot accept more than %d ranks: %s (see ulimit -n)",
                     store->connected, strerror(error));
            epoll_ctl(store->epoll_fd, EPOLL_CTL_DEL, store->listen_fd, NULL); /* it would be ready for ever */
            return;
        } else if (error != EINTR && error != ECONNABORTED) {
            return;
        }
    }
}

void hx_store_serve(struct hx_store *store)
{
    struct epoll_event events[64];
    const int ready = epoll_wait(store->epoll_fd, events, 64, 0);
    int knocked = 0;

    for (int i = 0; i < ready; i++) {
        struct hx_store_client *client = events[i].data.ptr;

        if (!client) {
            knocked = 1;
            continue;
        }
        if (events[i].data.ptr == store) {
            strangers_expire(store);
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
    if (knocked) /* last, because it may close clients to make room: no event above refers to them any more */
        accept_clients(store);
}

void hx_store_ended(struct hx_store *store, int rank)
{
    if (store->came[rank])
        return;
    store->came[rank] = 1;
    leave(store, rank);
}

int hx_store_open(int listen_fd, int size, const char *secret, uint32_t server, struct hx_store **store)
{
    struct epoll_event event = {.events = EPOLLIN}; /* data.ptr NULL: the listening socket; the store: its timer */
    struct hx_store *new = calloc(1, sizeof *new);

    if (!new)
        return -1;
    *new = (struct hx_store){.listen_fd = listen_fd,
                             .size = size,
                             .server = server,
                             .strangers_max = hx_strangers_most(size),
                             .aborted_rank = -1,
                             .dead_rank = -1};
    struct epoll_event tick = {.events = EPOLLIN, .data.ptr = new};
    new->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    new->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    new->secret = strdup(secret);
    new->by_rank = calloc((size_t)size, sizeof *new->by_rank);
    new->came = calloc((size_t)size, 1);
    if (new->epoll_fd < 0 || new->timer_fd < 0 || !new->secret || !new->by_rank || !new->came ||
        epoll_ctl(new->epoll_fd, EPOLL_CTL_ADD, new->timer_fd, &tick) < 0 ||
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
    return store->connected > 0 && store->joined == 0 && (store->left == store->size || *store->failure);
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
        if (client->rank >= 0 && !client->left && *store->failure) /* so that the client does not take the closed connection for a death */
            answer_failure(store, client, HX_STORE_ABORT);
        hx_store_client_close(client);
    }
    hx_keyvalue_clear(&store->values);
    if (store->epoll_fd >= 0)
        close(store->epoll_fd);
    if (store->timer_fd >= 0)
        close(store->timer_fd);
    if (store->listen_fd >= 0)
        close(store->listen_fd);
    free(store->by_rank);
    free(store->came);
    free(store->secret);
    free(store);
}
