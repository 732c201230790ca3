/* SPDX-License-Identifier: BSD-3-Clause */
/* The acceptor: while the host waits for its launcher, up to the fence, it takes connections out of the kernel's short queue, so
 * that strangers cannot fill it. It is not a thread: once a process has had two threads, every call of Hierax takes a lock.  It
 * closes connections of other users at once. It keeps a few more connections of this user than there are ranks. If there are too
 * many, it closes the oldest one that has sent nothing for SILENT_SECONDS. A rank sends its hello at once; a slower rank connects
 * again. Without that time a hello might arrive just before the close, and its rank would think that it was delivered. */
#include "intra/segment/segment.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/clock.h"
#include "runtime/base/strangers.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENT_SECONDS 0.2

struct hx_acceptor {
    int listener, most, n;
    struct connection {
        int socket;
        double silent_until; /* deadline: a connection that has sent nothing by then may be closed */
    } connections[];            /* [most]; the oldest first */
};

/* Is there room for one more connection, if need be after a silent one is closed? */
static int make_room(struct hx_acceptor *acceptor)
{
    for (int i = 0; i < acceptor->n && acceptor->n == acceptor->most; i++) {
        struct connection *c = &acceptor->connections[i];
        if (!hx_deadline_passed(c->silent_until) || poll(&(struct pollfd){.fd = c->socket, .events = POLLIN}, 1, 0) > 0)
            continue;
        close(c->socket);
        memmove(c, c + 1, (size_t)(--acceptor->n - i) * sizeof(*c));
    }
    return acceptor->n < acceptor->most;
}

/* Accept one connection. 0: it could not, because all kept connections may be ranks, or no descriptor is left. */
static int connection_accept(void *arg)
{
    struct hx_acceptor *acceptor = arg;
    const int s = make_room(acceptor) ? accept4(acceptor->listener, NULL, NULL, SOCK_CLOEXEC) : -1;

    if (s >= 0 && hx_socket_same_user(s))
        acceptor->connections[acceptor->n++] = (struct connection){s, hx_deadline(SILENT_SECONDS)};
    else if (s >= 0)
        close(s);
    return s >= 0;
}

struct hx_acceptor *hx_acceptor_open(int listener, int size)
{
    const int most = hx_strangers_most(size);
    struct hx_acceptor *acceptor = malloc(sizeof(*acceptor) + (size_t)most * sizeof(*acceptor->connections));

    if (!acceptor)
        return NULL;
    *acceptor = (struct hx_acceptor){.listener = listener, .most = most};
    hx_boot_on_wait(listener, connection_accept, acceptor);
    return acceptor;
}

int hx_acceptor_next(struct hx_acceptor *acceptor, int listener)
{
    if (acceptor && acceptor->n > 0)
        return acceptor->connections[--acceptor->n].socket;
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

void hx_acceptor_close(struct hx_acceptor *acceptor)
{
    while (acceptor && acceptor->n > 0)
        close(acceptor->connections[--acceptor->n].socket);
    free(acceptor);
}
