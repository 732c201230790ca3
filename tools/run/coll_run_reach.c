/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of the store of a job on several hosts: the first host lists its addresses, each other host chooses one that it reaches. */
#include "tools/run/coll_run.h"
#include "runtime/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REACH_SECONDS 10.0
#define ASK_BYTES (TOKEN_BYTES / 2) /* the first half asks, the second half answers */

/* A socket that listens at every address of this machine, at a free port. */
static int listen_anywhere(int *port)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    socklen_t bytes = sizeof any6;
    const int off = 0;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (fd < 0 || bind(fd, (struct sockaddr *)&any6, sizeof any6) < 0) { /* no IPv6 here */
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&any4, sizeof any4) < 0)
            return -1;
    }
    if (listen(fd, SOMAXCONN) < 0 || getsockname(fd, (struct sockaddr *)&any6, &bytes) < 0)
        return -1;
    *port = ntohs(any6.sin6_port); /* at the same place in both kinds */
    return fd;
}

int store_listen(const char *only, char *places, size_t bytes)
{
    struct ifaddrs *all = NULL;
    char host[NI_MAXHOST];
    int port;
    const int fd = listen_anywhere(&port);

    if (fd < 0 || (!*only && getifaddrs(&all) < 0)) {
        say("cannot listen for the other hosts' ranks: %m");
        return -1;
    }
    size_t n = (size_t)snprintf(places, bytes, "%d%s%s", port, *only ? " " : "", only);
    for (int pass = 0; pass < 2; pass++) { /* IPv4 first */
        const int family = pass ? AF_INET6 : AF_INET;

        for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
            const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)at->ifa_addr;

            if (!six || six->sin6_family != family || at->ifa_flags & IFF_LOOPBACK || !(at->ifa_flags & IFF_UP) || n + 1 >= bytes ||
                (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) ||
                getnameinfo(at->ifa_addr, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof *six, host, sizeof host, NULL, 0,
                            NI_NUMERICHOST) != 0)
                continue;
            n += (size_t)snprintf(places + n, bytes - n, " %s", host);
        }
    }
    if (all)
        freeifaddrs(all);
    return fd;
}

/* bytes in all, within the deadline. */
static int exchange(int fd, short events, char *bytes, size_t count, double deadline)
{
    for (size_t at = 0; at < count;) {
        struct pollfd ready = {.fd = fd, .events = events};

        if (poll(&ready, 1, hx_deadline_ms(deadline)) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        errno = ECONNRESET;
        const ssize_t n = events == POLLIN ? recv(fd, bytes + at, count - at, MSG_DONTWAIT)
                                           : send(fd, bytes + at, count - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return -1;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static void asker_close(int *fd)
{
    if (*fd > 0)
        close(*fd);
    *fd = 0;
}

/* The question is short, so it comes in one piece. */
static void asker_answer(int *fd, const char *token)
{
    char asked[ASK_BYTES];
    const ssize_t n = recv(*fd, asked, sizeof asked, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n == sizeof asked && memcmp(asked, token, ASK_BYTES) == 0) {
        recv(*fd, asked, sizeof asked, MSG_DONTWAIT); /* unread bytes would reset the connection, and lose the answer */
        const ssize_t sent = send(*fd, token + ASK_BYTES, ASK_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent; /* a new connection has room */
    }
    asker_close(fd);
}

void store_answer(int fd, const char *token, struct askers *askers)
{
    int peer;

    while ((peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        int *place = &askers->fds[askers->next++ % ASKERS];

        asker_close(place);
        *place = peer;
        asker_answer(place, token);
    }
    if (errno == EMFILE)
        asker_close(&askers->fds[askers->next++ % ASKERS]);
    for (int i = 0; i < ASKERS; i++)
        if (askers->fds[i] > 0)
            asker_answer(&askers->fds[i], token);
}

void store_answer_end(struct askers *askers)
{
    for (int i = 0; i < ASKERS; i++)
        asker_close(&askers->fds[i]);
}

/* 0, or an errno. */
static int ask(const struct addrinfo *address, const char *token, double deadline)
{
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char question[ASK_BYTES], answer[ASK_BYTES];
    int error = 0;

    if (fd < 0)
        return errno;
    memcpy(question, token, ASK_BYTES);
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS)
        error = errno;
    else if (exchange(fd, POLLOUT, question, ASK_BYTES, deadline) < 0 || exchange(fd, POLLIN, answer, ASK_BYTES, deadline) < 0)
        error = errno;
    else if (memcmp(answer, token + ASK_BYTES, ASK_BYTES) != 0)
        error = EADDRINUSE; /* another machine has the address too */
    close(fd);
    return error;
}

int store_reach(const char *places, const char *token, char *root, size_t bytes)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char list[4096], why[4096] = "", *save = NULL;
    const double deadline = hx_deadline(REACH_SECONDS);
    size_t n = 0;
    int count = 0;

    snprintf(list, sizeof list, "%s", places);
    for (const char *c = list; *c; c++)
        count += *c == ' ';
    const char *port = strtok_r(list, " ", &save);
    for (const char *place; (place = strtok_r(NULL, " ", &save));) {
        struct addrinfo *address = NULL;
        const int wrong = getaddrinfo(place, port, &hints, &address);
        const int error = wrong ? 0 : ask(address, token, count > 1 ? hx_deadline(REACH_SECONDS / count) : deadline);

        if (address)
            freeaddrinfo(address);
        if (!wrong && !error) {
            snprintf(root, bytes, strchr(place, ':') ? "[%s]:%s" : "%s:%s", place, port);
            return 0;
        }
        n += n < sizeof why ? (size_t)snprintf(why + n, sizeof why - n, "%s%s port %s: %s", n ? ", " : "", place, port,
                                               wrong ? gai_strerror(wrong) : strerror(error))
                            : 0;
    }
    say("cannot reach the first host's store at any of its addresses: %s. Open the firewalls between the job's hosts, or set --root",
        n ? why : "it has none");
    return -1;
}
