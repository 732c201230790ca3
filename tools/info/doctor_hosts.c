/* SPDX-License-Identifier: BSD-3-Clause */
/* Between hosts: is there a way through for a TCP connection, and what time is it on the other side? */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 3000
#define SERVE_SECONDS 120
#define ASKS 5 /* the quickest answer counts */

/* ---- the side that is asked */

int doctor_listen(int *port)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    int zero = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0 ||
        bind(fd, (struct sockaddr *)&any6, sizeof(any6)) < 0) {
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* a host without IPv6 */
        if (fd >= 0 && bind(fd, (struct sockaddr *)&any4, sizeof(any4)) < 0) {
            close(fd);
            return -1;
        }
    }
    if (fd < 0 || listen(fd, 1024) < 0 || getsockname(fd, (struct sockaddr *)&bound, &length) < 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                              : ((struct sockaddr_in *)&bound)->sin_port);
    return fd;
}

/* Every byte is answered with the time. */
static void answer(int fd)
{
    char ask;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 2}, sizeof(struct timeval));
    while (recv(fd, &ask, 1, 0) == 1) {
        double now = 1e-9 * (double)hx_clock_ns(CLOCK_REALTIME);
        if (send(fd, &now, sizeof(now), MSG_NOSIGNAL) != sizeof(now))
            break;
    }
    close(fd);
}

int doctor_serve(int listener)
{
    pid_t child = fork();
    int fd;

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    alarm(SERVE_SECONDS);
    while ((fd = accept(listener, NULL, NULL)) >= 0)
        answer(fd);
    _exit(0);
}

/* ---- the side that asks */

static int ready(int fd, short events, int ms)
{
    struct pollfd p = {.fd = fd, .events = events};

    return poll(&p, 1, ms) > 0;
}

/* 0, or an errno. */
static int connect_to(const char *address, int port, int *out)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list = NULL;
    char service[16];
    int error = 0, fd = -1;
    socklen_t length = sizeof(error);

    snprintf(service, sizeof(service), "%d", port);
    if (getaddrinfo(address, service, &hints, &list) != 0)
        return EADDRNOTAVAIL;
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (connect(fd, list->ai_addr, list->ai_addrlen) < 0 && errno != EINPROGRESS))
        error = errno;
    else if (!ready(fd, POLLOUT, CONNECT_MS))
        error = ETIMEDOUT;
    else
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    freeaddrinfo(list);
    *out = fd;
    return error;
}

/* The offset of the other side's clock, by its quickest answer; 0, or an errno. */
static int time_ask(int fd, double *ms, double *offset_s)
{
    *ms = 1e9;
    for (int i = 0; i < ASKS; i++) {
        double start = 1e-9 * (double)hx_clock_ns(CLOCK_REALTIME), theirs, from = hx_now_s();
        if (send(fd, "?", 1, MSG_NOSIGNAL) != 1)
            return errno;
        if (!ready(fd, POLLIN, CONNECT_MS))
            return ETIMEDOUT;
        if (recv(fd, &theirs, sizeof(theirs), 0) != sizeof(theirs))
            return ECONNRESET;
        double took = hx_now_s() - from;
        if (took * 1e3 < *ms) {
            *ms = took * 1e3;
            *offset_s = theirs - (start + took / 2);
        }
    }
    return 0;
}

static struct json_object *peer_ask(struct json_object *peer)
{
    struct json_object *o = json_object_new_object();
    double ms = 0, offset_s = 0;
    int fd = -1, error = connect_to(doctor_member(peer, "address"), (int)doctor_number(peer, "port"), &fd);

    if (!error)
        error = time_ask(fd, &ms, &offset_s);
    if (fd >= 0)
        close(fd);
    json_add_text(o, "host", doctor_member(peer, "host"));
    json_add_text(o, "address", doctor_member(peer, "address"));
    if (error) {
        json_add_text(o, "error", strerror(error));
    } else {
        json_add_real(o, "ms", "%.6g", ms);
        json_add_real(o, "offset_s", "%.6g", offset_s);
    }
    return o;
}

/* Of many hosts each asks those 1, 2, 4, ... after it: every host is asked, from several sides. */
struct json_object *doctor_reach(struct json_object *peers, int me)
{
    struct json_object *list = json_object_new_array();
    int n = (int)json_object_array_length(peers);

    for (int step = 1; step < n; step = n <= 8 ? step + 1 : 2 * step)
        json_object_array_add(list, peer_ask(json_object_array_get_idx(peers, (size_t)((me + step) % n))));
    return list;
}
