/* SPDX-License-Identifier: BSD-3-Clause */
/* See porter.h. Connections of other users are closed at once. Of this user's connections it keeps a few more than there are ranks. When
 * these are too many, it closes the oldest one that has sent nothing for SILENT_SECONDS: a rank sends its hello as soon as it is connected.
 * A rank that is slower connects again. Without that time its hello might come just before the close: the rank would think it delivered. */
#include "intra/segment/porter.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/clock.h"
#include "runtime/base/strangers.h"
#include "intra/segment/socket.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENT_SECONDS 0.2

struct hx_porter {
    int listener, most, n;
    struct visitor {
        int socket;
        double silent_until; /* a deadline: then it may be closed, if it has sent nothing */
    } visitors[];            /* [most]; the oldest first */
};

static int has_spoken(int s)
{
    struct pollfd word = {.fd = s, .events = POLLIN};

    return poll(&word, 1, 0) > 0;
}

static void dismiss(struct hx_porter *porter, int i)
{
    close(porter->visitors[i].socket);
    memmove(porter->visitors + i, porter->visitors + i + 1, (size_t)(--porter->n - i) * sizeof(*porter->visitors));
}

/* Is there room for one more connection, perhaps after a silent one is closed? */
static int make_room(struct hx_porter *porter)
{
    for (int i = 0; i < porter->n && porter->n == porter->most; i++)
        if (hx_deadline_passed(porter->visitors[i].silent_until) && !has_spoken(porter->visitors[i].socket))
            dismiss(porter, i);
    return porter->n < porter->most;
}

/* Accept one connection. 0: it could not, because all connections kept may be ranks, or no descriptor is left; others wait in the queue. */
static int answer(void *arg)
{
    struct hx_porter *porter = arg;
    const int s = make_room(porter) ? accept4(porter->listener, NULL, NULL, SOCK_CLOEXEC) : -1;

    if (s >= 0 && hx_socket_same_user(s))
        porter->visitors[porter->n++] = (struct visitor){s, hx_deadline(SILENT_SECONDS)};
    else if (s >= 0)
        close(s);
    return s >= 0;
}

struct hx_porter *hx_porter_start(int listener, int size)
{
    const int most = hx_strangers_most(size);
    struct hx_porter *porter = malloc(sizeof(*porter) + (size_t)most * sizeof(*porter->visitors));

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
        return porter->visitors[--porter->n].socket;
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

void hx_porter_release(struct hx_porter *porter)
{
    while (porter && porter->n > 0)
        close(porter->visitors[--porter->n].socket);
    free(porter);
}
