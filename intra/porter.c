/* SPDX-License-Identifier: BSD-3-Clause */
/* See porter.h. Processes of other users are sent away at once. Of this user's, a few more than there are ranks are kept; when they are
 * too many the oldest that has said nothing leaves, and ranks speak as soon as they are connected. */
#include "porter.h"
#include "runtime/strangers.h"
#include "socket.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define FULL_MS 10 /* until the next look, when all that are kept have spoken */

struct hx_porter {
    pthread_t thread;
    int listener, stop_fd, most, n;
    atomic_int stopped;
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

/* Room for one more, if there is any. */
static int make_room(struct hx_porter *porter)
{
    for (int i = 0; i < porter->n && porter->n == porter->most; i++)
        if (!has_spoken(porter->sockets[i]))
            dismiss(porter, i);
    return porter->n < porter->most;
}

static void *porter_main(void *argument)
{
    struct hx_porter *porter = argument;
    struct pollfd fds[] = {{.fd = porter->stop_fd, .events = POLLIN}, {.fd = porter->listener, .events = POLLIN}};

    while (!atomic_load(&porter->stopped)) {
        int s;

        if (poll(fds, 2, -1) < 1 || !fds[1].revents)
            continue;
        s = make_room(porter) ? accept4(porter->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (s >= 0 && hx_socket_same_user(s))
            porter->sockets[porter->n++] = s;
        else if (s >= 0)
            close(s);
        else /* all that are kept may be ranks, or there is no descriptor left: others wait in the queue */
            poll(fds, 1, FULL_MS);
    }
    return NULL;
}

struct hx_porter *hx_porter_start(int listener, int size)
{
    const int most = hx_strangers_most(size);
    struct hx_porter *porter = malloc(sizeof(*porter) + (size_t)most * sizeof(int));
    sigset_t all, before;
    int rc;

    if (!porter)
        return NULL;
    *porter = (struct hx_porter){.listener = listener, .stop_fd = eventfd(0, EFD_CLOEXEC), .most = most};
    sigfillset(&all); /* the program's signals are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = porter->stop_fd < 0 ? errno : pthread_create(&porter->thread, NULL, porter_main, porter);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return porter;
    if (porter->stop_fd >= 0)
        close(porter->stop_fd);
    free(porter);
    return NULL;
}

void hx_porter_stop(struct hx_porter *porter)
{
    const uint64_t one = 1;

    if (!porter)
        return;
    atomic_store(&porter->stopped, 1);
    if (write(porter->stop_fd, &one, sizeof(one)) == sizeof(one)) /* always: it is the first */
        pthread_join(porter->thread, NULL);
    close(porter->stop_fd);
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
