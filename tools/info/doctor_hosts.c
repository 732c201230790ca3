/* SPDX-License-Identifier: BSD-3-Clause */
/* Between hosts: is there a way through for a TCP connection, and what time is it on the other side? Who connects is sent the time. */
#include "tools/info/doctor.h"
#include "runtime/base/clock.h"
#include "runtime/bootstrap/root.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_SECONDS 3
#define SERVE_SECONDS 120
#define ASKS 5 /* the quickest answer counts */

static double wall_clock(void)
{
    return 1e-9 * (double)hx_clock_ns(CLOCK_REALTIME);
}

/* ---- the side that is asked */

int doctor_listen(int *port)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6}, bound;
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    struct addrinfo ipv4 = {.ai_addr = (struct sockaddr *)&any4, .ai_addrlen = sizeof(any4)}; /* of a host without IPv6 */
    struct addrinfo both = {.ai_addr = (struct sockaddr *)&any6, .ai_addrlen = sizeof(any6), .ai_next = &ipv4};
    const struct hx_root root = {.addresses = &both};
    const int fd = hx_root_listen(&root, 1);
    socklen_t length = sizeof(bound);

    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&bound, &length) == 0)
        *port = ntohs(bound.sin6_port); /* where IPv4 has it too */
    return fd;
}

int doctor_serve(int listener)
{
    const pid_t child = fork();
    int fd;

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    alarm(SERVE_SECONDS);
    fcntl(listener, F_SETFL, 0); /* to wait */
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        const double now = wall_clock();
        send(fd, &now, sizeof(now), MSG_NOSIGNAL);
        close(fd);
    }
    _exit(0);
}

/* ---- the side that asks */

/* Connect, and read the time. 0, or an errno. */
static int time_ask(const struct addrinfo *address, double *theirs)
{
    const struct timeval limit = {.tv_sec = CONNECT_SECONDS};
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = 0;

    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* of connect too */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    } else {
        const ssize_t bytes = recv(fd, theirs, sizeof(*theirs), MSG_WAITALL);
        if (bytes != sizeof(*theirs))
            error = bytes < 0 && errno == EAGAIN ? ETIMEDOUT : ECONNRESET;
    }
    close(fd);
    return error;
}

static struct json_object *peer_ask(struct json_object *peer, int me)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    const char *address = info_text(peer, "address");
    struct json_object *o = info_new("from=%d host=%s address=%s", me, info_text(peer, "host"), address);
    double offset_s = 0, within_s = 1e9;
    struct addrinfo *list = NULL;
    int error = getaddrinfo(address, info_text(peer, "port"), &hints, &list) ? EADDRNOTAVAIL : 0;

    for (int i = 0; i < ASKS && !error; i++) {
        const double start = wall_clock(), from = hx_now_s();
        double theirs;
        error = time_ask(list, &theirs);
        const double half = (hx_now_s() - from) / 2;
        if (!error && half < within_s) {
            offset_s = theirs - (start + half);
            within_s = half;
        }
    }
    if (list)
        freeaddrinfo(list);
    if (error)
        info_add(o, "error=%s", strerror(error));
    else
        info_add(o, "offset_s=%g", offset_s);
    return o;
}

/* Of many hosts each asks those 1, 2, 4, ... after it: every host is asked, from several sides. */
struct json_object *doctor_reach(struct json_object *peers, int me)
{
    struct json_object *list = json_object_new_array();
    const int n = (int)json_object_array_length(peers), rank = (int)info_number(json_object_array_get_idx(peers, (size_t)me), "rank");

    for (int step = 1; step < n; step = n <= 8 ? step + 1 : 2 * step)
        json_object_array_add(list, peer_ask(json_object_array_get_idx(peers, (size_t)((me + step) % n)), rank));
    return list;
}
