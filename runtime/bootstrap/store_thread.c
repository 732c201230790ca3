/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 serves the TCP store from a thread when nobody else does, so that HX_ROOT=node0:5555 with HX_RANK and
 * HX_SIZE is all that a plain shell or an unknown launcher has to set. The thread sleeps in poll except at start and
 * end. */
#include "runtime/bootstrap/store_thread.h"
#include "runtime/bootstrap/store.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESOLVE_SECONDS 3.0 /* while a name server is busy: a whole job may ask it at once */
#define LEAVE_WAIT_MS 5000 /* for ranks that have yet to say goodbye */
#define TELL_WAIT_MS 1000  /* of a job that has failed: for ranks that have yet to ask, so that they hear why */

enum { SERVE_RUN, SERVE_UNTIL_ALL_LEFT, SERVE_UNTIL_ALL_TOLD };

struct hx_serve {
    struct hx_store *store;
    pthread_t thread;
    int wake_fd;
    atomic_int order;
};

hx_status_t hx_root_resolve(const char *text, struct hx_root *root)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    const char *colon = strrchr(text, ':'), *host = text;
    size_t host_bytes = colon ? (size_t)(colon - text) : 0;

    if (host_bytes > 2 && text[0] == '[' && colon[-1] == ']') {
        host++;
        host_bytes -= 2;
    }
    const char *port = colon ? colon + 1 : "";
    if (host_bytes == 0 || host_bytes >= sizeof root->host || strspn(port, "0123456789") != strlen(port) ||
        strlen(port) > 5 || atoi(port) < 1 || atoi(port) > 65535)
        return hx_fail(HX_ERR_ENV, "HX_ROOT=%s is not host:port, with a port from 1 to 65535", text);
    *root = (struct hx_root){.addresses = NULL};
    memcpy(root->host, host, host_bytes);
    memcpy(root->port, port, strlen(port));
    const double deadline = hx_deadline(RESOLVE_SECONDS);
    const struct timespec pause = {.tv_nsec = 200000000};
    int rc;
    while ((rc = getaddrinfo(root->host, root->port, &hints, &root->addresses)) == EAI_AGAIN && !hx_deadline_passed(deadline))
        nanosleep(&pause, NULL);
    if (rc != 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "HX_ROOT=%s: host %s cannot be resolved: %s", text, root->host,
                       gai_strerror(rc));
    return HX_SUCCESS;
}

/* A socket bound to address, or -1 and errno. */
static int bind_to(const struct sockaddr *address, socklen_t bytes)
{
    const int on = 1, off = 0;
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, bytes) == 0)
        return fd;
    const int saved_errno = errno;
    close(fd);
    errno = saved_errno;
    return -1;
}

static int is_numeric(const struct hx_root *root)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *address;

    if (getaddrinfo(root->host, root->port, &hints, &address) != 0)
        return 0;
    freeaddrinfo(address);
    return 1;
}

/* A name is often 127.0.1.1 to its own host and another address to the others: then bind to all of this machine's.
 */
static int bind_to_all(int port)
{
    const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = bind_to((const struct sockaddr *)&any6, sizeof any6);

    return fd >= 0 || errno == EADDRINUSE ? fd : bind_to((const struct sockaddr *)&any4, sizeof any4);
}

/* A socket that listens where root is, or -1 and errno where that is not this machine or the port is taken. It listens once and for good: who
 * had connected to a socket that is closed again would be reset. of_here: only for processes of this machine. */
static int listen_on_root(const struct hx_root *root, int of_here)
{
    int error = EADDRNOTAVAIL;

    for (const struct addrinfo *address = root->addresses; address; address = address->ai_next) {
        int fd = bind_to(address->ai_addr, address->ai_addrlen);

        if (fd < 0 && errno != EADDRINUSE) {
            error = errno; /* not an address of this machine, or not allowed here */
            continue;
        }
        if (fd >= 0 && !of_here && !is_numeric(root)) {
            close(fd);
            fd = bind_to_all(atoi(root->port));
            if (fd < 0) /* the port is taken at another address */
                fd = bind_to(address->ai_addr, address->ai_addrlen);
        }
        if (fd >= 0 && listen(fd, SOMAXCONN) == 0)
            return fd;
        error = errno;
        if (fd >= 0)
            close(fd);
        break;
    }
    errno = error;
    return -1;
}

static void *serve_main(void *argument)
{
    struct hx_serve *serve = argument;
    struct pollfd fds[] = {{.fd = hx_store_fd(serve->store), .events = POLLIN},
                           {.fd = serve->wake_fd, .events = POLLIN}};
    double until = 0;

    for (;;) {
        const int order = atomic_load(&serve->order);

        hx_store_serve(serve->store);
        if (order != SERVE_RUN) {
            const double wait_ms = order == SERVE_UNTIL_ALL_LEFT ? LEAVE_WAIT_MS : TELL_WAIT_MS;
            until = until > 0 ? until : hx_deadline(1e-3 * wait_ms);
            if (hx_store_finished(serve->store) || hx_deadline_passed(until))
                return NULL;
        }
        poll(fds, order == SERVE_RUN ? 2 : 1, order == SERVE_RUN ? -1 : 100);
    }
}

hx_status_t hx_serve_start(struct hx_root *root, int size, const char *secret, struct hx_serve **serve)
{
    const int listen_fd = listen_on_root(root, !*secret);
    sigset_t all, before;

    *serve = NULL;
    root->unserved = listen_fd < 0 ? errno : 0;
    if (listen_fd < 0)
        return HX_SUCCESS;
    struct hx_serve *new = calloc(1, sizeof *new);
    if (!new)
        goto close_listen;
    new->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (new->wake_fd < 0)
        goto free_new;
    if (hx_store_open(listen_fd, size, secret, 0, &new->store) < 0)
        goto close_wake;
    sigfillset(&all); /* the program's signals are not for this thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&new->thread, NULL, serve_main, new);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        hx_store_close(new->store);
        close(new->wake_fd);
        free(new);
        return hx_fail(HX_ERR_NOMEM, "cannot start the store's thread: %s", strerror(rc));
    }
    hx_info("serving the store at %s:%s for %d ranks", root->host, root->port, size);
    if (!*secret)
        hx_warn("HX_SECRET is not set: any process of this machine can join the job at HX_ROOT=%s:%s, and no rank on another "
                "machine. Set it to the same text on all ranks", root->host, root->port);
    *serve = new;
    return HX_SUCCESS;

close_wake:
    close(new->wake_fd);
free_new:
    free(new);
close_listen:
    close(listen_fd);
    return hx_fail(HX_ERR_NOMEM, "cannot serve the store at %s:%s: %s", root->host, root->port, strerror(errno));
}

void hx_serve_stop(struct hx_serve *serve, int orderly)
{
    const uint64_t one = 1;

    if (!serve)
        return;
    atomic_store(&serve->order, orderly ? SERVE_UNTIL_ALL_LEFT : SERVE_UNTIL_ALL_TOLD);
    if (write(serve->wake_fd, &one, sizeof one) < 0)
        hx_debug("eventfd: %s", strerror(errno)); /* cannot happen: one write per eventfd */
    pthread_join(serve->thread, NULL);
    hx_store_close(serve->store);
    close(serve->wake_fd);
    free(serve);
}
