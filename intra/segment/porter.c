/* SPDX-License-Identifier: BSD-3-Clause */
/* See porter.h. Connections of other users are closed at once. Of this user's connections it keeps a few more than there are ranks. When
 * these are too many, it closes the oldest one that has sent nothing: a rank sends its hello as soon as it is connected. */
#include "intra/segment/porter.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/strangers.h"
#include "intra/segment/socket.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct hx_porter {
    int listener, most, n;
    int sockets[]; /* [most]; the oldest first */
};

static int has_spoken(int s)
{
    struct pollfd word = {.fd = s, .events = POLLIN};

    return poll(&word, 1, 0) > 0;
}

static void dismiss(struct hx_porter *porter, int i)
{
    close(porter->sockets[i]);
    memmove(porter->sockets + i, porter->sockets + i + 1, (size_t)(--porter->n - i) * sizeof(int));
}

/* Is there room for one more connection, perhaps after a silent one is closed? */
static int make_room(struct hx_porter *porter)
{
    for (int i = 0; i < porter->n && porter->n == porter->most; i++)
        if (!has_spoken(porter->sockets[i]))
            dismiss(porter, i);
    return porter->n < porter->most;
}

/* Accept one connection. 0: it could not, because all connections kept may be ranks, or no descriptor is left; others wait in the queue. */
static int answer(void *arg)
{
    struct hx_porter *porter = arg;
    const int s = make_room(porter) ? accept4(porter->listener, NULL, NULL, SOCK_CLOEXEC) : -1;

    if (s >= 0 && hx_socket_same_user(s))
        porter->sockets[porter->n++] = s;
    else if (s >= 0)
        close(s);
    return s >= 0;
}

struct hx_porter *hx_porter_start(int listener, int size)
{
    const int most = hx_strangers_most(size);
    struct hx_porter *porter = malloc(sizeof(*porter) + (size_t)most * sizeof(int));

    if (!porter)
        return NULL;
    *porter = (struct hx_porter){.listener = listener, .most = most};
    hx_boot_meanwhile(listener, answer, porter);
    return porter;
}

void hx_porter_stop(void)
{
    hx_boot_meanwhile(-1, NULL, NULL);
}

int hx_porter_next(struct hx_porter *porter, int listener)
{
    if (porter && porter->n > 0)
        return porter->sockets[--porter->n];
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

void hx_porter_release(struct hx_porter *porter)
{
    while (porter && porter->n > 0)
        close(porter->sockets[--porter->n]);
    free(porter);
}
