/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP store's server: epoll over non-blocking sockets, one request under way per client.  A job fails as a whole. If a rank
 * dies (its connection closes without BYE), aborts, or leaves while others wait at a fence, the store keeps the reason. From then
 * on this reason answers every request, waiting fences included. Existing values can still be read, so a rank that has passed the
 * last fence completes its start, as the others have done. */
#include "runtime/bootstrap/store_server.h"
#include "runtime/hierax.h"
#include "runtime/base/keyvalue.h"
#include "runtime/base/strangers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ACCEPTS_MAX 64       /* connections accepted before the store serves the present ones again */
#define EVENTS_MAX 64        /* taken at once */
#define STRANGER_SECONDS 5.0 /* time that a stranger has for its proof */

/* ---- strangers ----------------------------------------------------------------------------------------------------
 * Any process that reaches the port can connect. A rank proves within milliseconds that it belongs to the job. If there are too many strangers,
 * or no descriptor is left, the store closes the oldest, first those that have sent nothing. A rank that is closed by mistake connects again. */

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
static int is_local(int fd)
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

static void stranger_add(struct hx_store *store, int fd)
{
    struct hx_store_client *client = hx_store_client_open(fd, store->epoll_fd, store->ends_fd);

    if (!client)
        return;
    client->foreign = !*store->secret && !is_local(fd);
    client->deadline = hx_deadline(STRANGER_SECONDS);
    client->next = store->clients;
    store->clients = client;
    if (store->strangers++ == 0)
        strangers_watch(store);
}

/* Release dead clients. Returns 1 if there was one: then the failure of the job may have made others dead. */
static int dead_clients_close(struct hx_store *store)
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
            store->joined--;
            store->kind->release(store, client);
            store->kind->died(store, client);
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
    dead_clients_close(store);
    return 1;
}

/* data.ptr NULL: the listening socket; the store: its timer */
static int listener_watch(const struct hx_store *store)
{
    return epoll_ctl(store->epoll_fd, EPOLL_CTL_ADD, store->listen_fd, &(struct epoll_event){.events = EPOLLIN});
}

/* Accept a few connections at a time, so that strangers that have sent something are served before new ones take their place. */
static void accept_clients(struct hx_store *store)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        const int fd = accept4(store->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), error = errno;

        if (fd >= 0) {
            if (store->strangers >= store->strangers_max)
                stranger_evict(store);
            stranger_add(store, fd);
        } else if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
            const int has_evicted = stranger_evict(store);
            store->kind->full(store, has_evicted, strerror(error));
            if (has_evicted)
                continue;
            store->is_full = epoll_ctl(store->epoll_fd, EPOLL_CTL_DEL, store->listen_fd, NULL) == 0;
            return;
        } else if (error != EINTR && error != ECONNABORTED) {
            return;
        }
    }
}

static void client_serve(struct hx_store *store, struct hx_store_client *client)
{
    while (hx_store_client_read(client)) {
        hx_store_request(store, client);
        hx_store_client_consume(client);
    }
}

/* If several ranks have died, the first one is the cause. Requests say nothing of this order: a rank that has just sent one, or
 * has just been answered, comes first among the events. Events of ends_fd are ends alone. */
static void ends_tell(struct hx_store *store)
{
    struct epoll_event ends[EVENTS_MAX];
    const int n = epoll_wait(store->ends_fd, ends, EVENTS_MAX, 0);

    for (int i = 0; i < n; i++) {
        client_serve(store, ends[i].data.ptr); /* it may have sent BYE */
        if (((struct hx_store_client *)ends[i].data.ptr)->dead)
            store->kind->died(store, ends[i].data.ptr);
    }
}

void hx_store_serve(struct hx_store *store)
{
    struct epoll_event events[EVENTS_MAX];
    const int ready = epoll_wait(store->epoll_fd, events, EVENTS_MAX, 0);
    int has_new = 0, has_end = 0;

    if (store->is_full) /* a descriptor may be free now */
        store->is_full = listener_watch(store) < 0;
    for (int i = 0; i < ready; i++) {
        struct hx_store_client *client = events[i].data.ptr;

        if (!client) {
            has_new = 1;
            continue;
        }
        if (events[i].data.ptr == store) {
            strangers_expire(store);
            continue;
        }
        if (events[i].events & EPOLLOUT)
            hx_store_client_flush(client);
        client_serve(store, client);
        has_end |= client->dead;
    }
    if (has_end)
        ends_tell(store);
    while (dead_clients_close(store))
        ;
    if (has_new) /* last, because it may close clients, to which the events above refer */
        accept_clients(store);
}

void hx_store_rank_ended(struct hx_store *store, int rank)
{
    if (store->has_joined[rank])
        return;
    store->has_joined[rank] = 1;
    store->left++;
    hx_store_rank_gone(store, rank);
}

int hx_store_open(int listen_fd, int size, const char *secret, uint32_t server, struct hx_store **store)
{
    struct hx_store *new = calloc(1, sizeof *new);

    if (!new)
        return -1;
    *new = (struct hx_store){.kind = &hx_store_of_job,
                             .listen_fd = listen_fd,
                             .size = size,
                             .server = server,
                             .strangers_max = hx_strangers_most(size),
                             .aborted_rank = -1,
                             .dead_rank = -1};
    struct epoll_event tick = {.events = EPOLLIN, .data.ptr = new};
    new->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    new->ends_fd = epoll_create1(EPOLL_CLOEXEC);
    new->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    new->secret = strdup(secret);
    new->by_rank = calloc((size_t)size, sizeof *new->by_rank);
    new->has_joined = calloc((size_t)size, 1);
    if (new->epoll_fd < 0 || new->ends_fd < 0 || new->timer_fd < 0 || !new->secret || !new->by_rank || !new->has_joined ||
        epoll_ctl(new->epoll_fd, EPOLL_CTL_ADD, new->timer_fd, &tick) < 0 ||
        listener_watch(new) < 0) {
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
        if (client->rank >= 0 && !client->left && *store->failure) /* else the client takes the close for a death */
            hx_store_answer_failure(store, client, HX_STORE_ABORT);
        hx_store_client_close(client);
    }
    hx_keyvalue_clear(&store->values);
    hx_keyvalue_clear(&store->older);
    if (store->epoll_fd >= 0)
        close(store->epoll_fd);
    if (store->ends_fd >= 0)
        close(store->ends_fd);
    if (store->timer_fd >= 0)
        close(store->timer_fd);
    if (store->listen_fd >= 0)
        close(store->listen_fd);
    free(store->by_rank);
    free(store->has_joined);
    free(store->secret);
    free(store);
}
