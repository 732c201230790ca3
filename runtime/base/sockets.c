/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that other libraries have opened: see sockets.h. */
#include "runtime/base/sockets.h"
#include "runtime/base/files.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/time.h>
#include <unistd.h>

/* After so many numbers without an open descriptor the search ends. The kernel always gives out the lowest free number. */
#define GAP 1024

static int is_ip(const struct sockaddr_storage *name)
{
    return name->ss_family == AF_INET || name->ss_family == AF_INET6;
}

void hx_files_visit(hx_file_is_t *is, const void *ctx, void (*visit)(int fd))
{
    for (int first = 0, end = GAP; first < end; first += 64)
        for (uint64_t open = hx_files_look(first); open != 0; open &= open - 1) {
            const int fd = first + __builtin_ctzll(open);
            end = fd + GAP;
            if (is(ctx, fd))
                visit(fd);
        }
}

int hx_socket_names(int fd, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
    socklen_t bytes = sizeof(*local);

    if (getsockname(fd, (struct sockaddr *)local, &bytes) != 0 || !is_ip(local))
        return 0;
    bytes = sizeof(*peer);
    if (getpeername(fd, (struct sockaddr *)peer, &bytes) != 0)
        peer->ss_family = AF_UNSPEC;
    return 1;
}

void hx_file_close(int fd)
{
    close(fd);
}

void hx_file_guard(int fd)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void hx_socket_reset(int fd)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};

    connect(fd, &none, sizeof(none));
}

void hx_socket_shut(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

void hx_socket_hurry(int fd)
{
    const struct timeval none = {.tv_sec = -1};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
}

uint16_t hx_socket_port(const struct sockaddr_storage *name)
{
    if (name->ss_family == AF_INET)
        return ((const struct sockaddr_in *)name)->sin_port;
    return name->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)name)->sin6_port : 0;
}
