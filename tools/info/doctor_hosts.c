/* SPDX-License-Identifier: BSD-3-Clause */
/* Between hosts: is there a way through for a TCP connection? The kernel of the host that is asked takes it. */
#include "tools/info/doctor.h"
#include "runtime/bootstrap/root.h"
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_SECONDS 3

int doctor_listen(void)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6}, bound;
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    struct addrinfo ipv4 = {.ai_addr = (struct sockaddr *)&any4, .ai_addrlen = sizeof(any4)}; /* of a host without IPv6 */
    struct addrinfo both = {.ai_addr = (struct sockaddr *)&any6, .ai_addrlen = sizeof(any6), .ai_next = &ipv4};
    const struct hx_root root = {.addresses = &both};
    socklen_t length = sizeof(bound);
    const int fd = hx_root_listen(&root, 1);

    return fd >= 0 && getsockname(fd, (struct sockaddr *)&bound, &length) == 0 ? ntohs(bound.sin6_port) : 0; /* IPv4's is there too */
}

/* 0, or an errno. */
static int way_try(const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    const struct timeval limit = {.tv_sec = CONNECT_SECONDS};
    struct addrinfo *list;
    int error = 0;

    if (getaddrinfo(address, port, &hints, &list) != 0)
        return EADDRNOTAVAIL;
    const int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* of connect too */
    if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) < 0)
        error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return error;
}

/* Of many hosts each asks those 1, 2, 4, ... after it: every host is asked, from several sides. */
struct json_object *doctor_reach(struct json_object *peers, int me)
{
    struct json_object *own = json_object_array_get_idx(peers, (size_t)me), *lost = json_object_new_array();
    const int n = (int)json_object_array_length(peers);
    int asked = 0;

    for (int step = 1; step < n; step = n <= 8 ? step + 1 : 2 * step, asked++) {
        struct json_object *peer = json_object_array_get_idx(peers, (size_t)((me + step) % n));
        const char *address = info_text(peer, "address");
        const int error = way_try(address, info_text(peer, "port"));
        if (error)
            json_object_array_add(lost, info_new("host=%s address=%s error=%s", info_text(peer, "host"), address, strerror(error)));
    }
    return info_new("rank=%d host=%s asked=%d lost=%p", (int)info_number(own, "rank"), info_text(own, "host"), asked, lost);
}
