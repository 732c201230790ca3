/* SPDX-License-Identifier: BSD-3-Clause */
/* The abstract Unix socket of a node, and messages with descriptors. */
#include "intra/segment/segment.h"
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_TRIES 2000 /* a millisecond each, while the host is bound but does not listen yet */

static socklen_t socket_name(struct sockaddr_un *name, const unsigned char *secret, int emulated)
{
    char hex[2 * HX_PUBLIC_BYTES + 1];
    int n;

    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "hierax-%s-%d",
                 sodium_bin2hex(hex, sizeof(hex), secret, HX_PUBLIC_BYTES), emulated);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* -1: it cannot be read. */
static long somaxconn(void)
{
    FILE *f = fopen("/proc/sys/net/core/somaxconn", "re");
    long value = -1;

    if (f && fscanf(f, "%ld", &value) != 1)
        value = -1;
    if (f)
        fclose(f);
    return value;
}

int hx_socket_meet(const unsigned char *secret, int emulated, double timeout, int *hosting)
{
    struct sockaddr_un name;
    socklen_t length = socket_name(&name, secret, emulated);
    const double deadline = hx_deadline(timeout);

    for (int tries = 0; tries < CONNECT_TRIES;) {
        int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), connected;
        if (s < 0)
            break;
        connected = connect(s, (const struct sockaddr *)&name, length);
        if (connected == 0) {
            fcntl(s, F_SETFL, 0);
            *hosting = 0;
            return s;
        }
        const int is_full = errno == EAGAIN; /* the host empties its queue as long as it can keep more connections */
        if (is_full && hx_deadline_passed(deadline)) {
            close(s);
            hx_fail(HX_ERR_NOMEM, "the socket of this node has been full for %g s (HX_TIMEOUT). Raise ulimit -n and "
                                  "net.core.somaxconn (%ld) to at least the number of ranks per node. If that does not help, look "
                                  "for other processes that connect to this socket", timeout, somaxconn());
            return -1;
        }
        if (!is_full && bind(s, (const struct sockaddr *)&name, length) == 0 && listen(s, 65535) == 0) {
            *hosting = 1;
            return s;
        }
        close(s);
        tries += !is_full;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    hx_fail(HX_ERR_NOMEM, "cannot connect to the ranks of this node at socket @%s: %s", name.sun_path + 1, strerror(errno));
    return -1;
}

int hx_socket_same_user(int s)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* ---- messages with descriptors */

union control {
    struct cmsghdr align;
    char space[CMSG_SPACE(HX_SOCKET_FDS * sizeof(int))];
};

int hx_socket_send(int s, const void *data, size_t bytes, const int *fds, int nfds)
{
    union control control = {.space = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (nfds) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
        memcpy(CMSG_DATA(header), fds, (size_t)nfds * sizeof(int));
    }
    return sendmsg(s, &message, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -1;
}

ssize_t hx_socket_receive(int s, void *data, size_t capacity, int *fds, int *nfds, double timeout)
{
    union control control;
    struct iovec part = {.iov_base = data, .iov_len = capacity};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int room = nfds ? *nfds : 0;
    ssize_t got;

    if (nfds)
        *nfds = 0;
    if (timeout >= 0 && hx_boot_wait_fd(s, POLLIN, hx_deadline(timeout)) <= 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    got = recvmsg(s, &message, MSG_CMSG_CLOEXEC | (timeout < 0 ? MSG_DONTWAIT : 0));
    if (got >= 0) /* descriptors are missing if the process may not open more files */
        errno = message.msg_flags & MSG_CTRUNC ? EMFILE : got ? EPROTO : ECONNRESET;
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int)), passed[HX_SOCKET_FDS];
        memcpy(passed, CMSG_DATA(header), (size_t)count * sizeof(int));
        for (int i = 0; i < count; i++)
            if (i < room)
                fds[(*nfds)++] = passed[i];
            else
                close(passed[i]);
    }
    return got;
}
