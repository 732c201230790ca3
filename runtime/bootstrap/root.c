/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ROOT, the address of the TCP store: resolve it, listen at it (rank 0), connect to it. */
#include "runtime/bootstrap/root.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/sockets.h"
#include "runtime/bootstrap/store_keys.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RESOLVE_SECONDS 3.0  /* how long to retry while a name server is busy: a whole job may ask it at once */
#define REFUSED_SECONDS 10.0 /* how long a store may be late */
#define CONNECT_SECONDS HX_CONNECT_SECONDS
#define ATTEMPT_SECONDS 5.0  /* for one of several addresses, before the next is tried */
#define GONE_SECONDS 5.0     /* a store that has listened, and then refuses for so long, has ended */

hx_status_t hx_root_resolve(const char *label, const char *text, struct hx_root *root)
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
        return hx_fail(HX_ERR_ENV, "%s%s is not host:port, with a port from 1 to 65535", label, text);
    *root = (struct hx_root){.label = label};
    memcpy(root->host, host, host_bytes);
    memcpy(root->port, port, strlen(port));
    const double deadline = hx_deadline(RESOLVE_SECONDS);
    const struct timespec pause = {.tv_nsec = 200000000};
    int rc;
    while ((rc = getaddrinfo(root->host, root->port, &hints, &root->addresses)) == EAI_AGAIN && !hx_deadline_passed(deadline))
        nanosleep(&pause, NULL);
    if (rc != 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "%s%s: host %s cannot be resolved: %s", label, text, root->host,
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

/* A host's own name often resolves to 127.0.1.1 there, and to another address elsewhere. So bind to all addresses of this
 * machine. */
static int bind_to_all(int port)
{
    const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = bind_to((const struct sockaddr *)&any6, sizeof any6);

    return fd >= 0 || errno == EADDRINUSE ? fd : bind_to((const struct sockaddr *)&any4, sizeof any4);
}

/* Listens on one socket only and never closes it, because that would reset processes that have connected already. */
int hx_root_listen(const struct hx_root *root, int local_only)
{
    int error = EADDRNOTAVAIL;

    for (const struct addrinfo *address = root->addresses; address; address = address->ai_next) {
        int fd = bind_to(address->ai_addr, address->ai_addrlen);

        if (fd < 0 && errno != EADDRINUSE) {
            error = errno; /* not an address of this machine, or not allowed here */
            continue;
        }
        if (fd >= 0 && !local_only && !is_numeric(root)) {
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

/* While no process listens at an address of this machine, the kernel may give the connecting socket that very port: then it is
 * connected to itself. */
static int is_connected_to_itself(int fd)
{
    struct sockaddr_storage mine = {.ss_family = AF_UNSPEC}, theirs = {.ss_family = AF_UNSPEC};

    return hx_socket_names(fd, &mine, &theirs) && memcmp(&mine, &theirs, sizeof mine) == 0;
}

/* A connected socket, or -1 and errno. */
static int connect_once(const struct addrinfo *address, double deadline)
{
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t bytes = sizeof error;

    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        error = errno;
        if (error == EINPROGRESS) {
            error = ETIMEDOUT;
            if (hx_boot_wait_fd(fd, POLLOUT, deadline) > 0)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
        }
    }
    if (error == 0 && !is_connected_to_itself(fd))
        return fd;
    close(fd);
    errno = error ? error : ECONNREFUSED;
    return -1;
}

static int is_loopback(const struct sockaddr *at)
{
    return at->sa_family == AF_INET    ? ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
           : at->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr)
                                       : 0;
}

/* error: the last errno, of any of the addresses. */
static hx_status_t connect_fail(const struct hx_root *root, int rank, double start, int error)
{
    const char *who = root->listen_error         ? "; rank 0 cannot listen there itself: "
                      : rank > 0 && !root->lobby ? ". Rank 0 (or the launcher) serves the store. It has not started, or it has ended"
                                                 : "";
    char after[32] = "", where[256] = "";

    if (!root->once) /* else the caller tries again, and knows how long */
        snprintf(after, sizeof after, " after %.0f s", hx_clock_awake() - start);
    if (is_loopback(root->addresses->ai_addr))
        snprintf(where, sizeof where, ". Only this host, or this container, can reach this address. If each container has its own network, "
                                      "share the host's network, or set %s to an address that all %s reach", hx_root_setting(root),
                 root->lobby ? "processes" : "ranks");
    return hx_fail(HX_ERR_BOOTSTRAP, "no store answers at %s%s:%s%s: %s%s%s%s", root->label, root->host, root->port, after, strerror(error),
                   who, root->listen_error ? strerror(root->listen_error) : "", where);
}

/* The store may start after this rank, so a refusal is not final. The other ranks wait until HX_TIMEOUT, because a late rank 0
 * looks like one that has ended, unless it has listened before. Rank 0 itself connects only if it cannot listen at this address:
 * then a launcher serves there, and has started to serve before it started ranks. A caller of a lobby tries again itself. */
hx_status_t hx_root_connect(struct hx_root *root, int rank, double timeout_s, int *fd)
{
    const int waits = rank != 0;
    const double timeout = timeout_s > 0 ? timeout_s : waits ? HUGE_VAL : CONNECT_SECONDS;
    const double limit = !waits && timeout > CONNECT_SECONDS ? CONNECT_SECONDS : timeout;
    const double start = hx_clock_awake(), deadline = start + limit, told = start + REFUSED_SECONDS;
    const double late = root->once ? start : waits || limit < REFUSED_SECONDS ? deadline : told;
    const double attempt = root->addresses->ai_next ? ATTEMPT_SECONDS : CONNECT_SECONDS;
    int silent = 1;
    struct timespec pause = {.tv_nsec = 10000000};

    for (;;) {
        int error = 0;

        for (const struct addrinfo *address = root->addresses; address; address = address->ai_next) {
            *fd = connect_once(address, fmin(hx_clock_awake() + attempt, deadline));
            if (*fd >= 0) {
                hx_store_socket_tune(*fd);
                root->has_listened = 1;
                return HX_SUCCESS;
            }
            error = errno;
        }
        const double now = hx_clock_awake();
        if (root->has_listened && error == ECONNREFUSED && now >= start + GONE_SECONDS)
            return hx_fail(HX_ERR_PEER_DEAD, "%s at %s%s:%s no longer answers",
                           root->lobby ? "the store" : "rank 0 has died: the store that it (or a launcher) served", root->label, root->host,
                           root->port);
        if (now >= (error == ETIMEDOUT ? deadline : late))
            return connect_fail(root, rank, start, error);
        if (silent && now >= told)
            hx_warn("waiting for rank 0, which serves the store at %s%s:%s: %s", root->label, root->host, root->port, strerror(error));
        silent = silent && now < told;
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 200000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
    }
}
