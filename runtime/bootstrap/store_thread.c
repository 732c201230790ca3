/* SPDX-License-Identifier: BSD-3-Clause */
/* If no launcher serves the TCP store, rank 0 serves it from a thread. So a plain shell or an unknown launcher need only set
 * HX_ROOT=node0:5555, HX_RANK and HX_SIZE. The thread sleeps in poll except at start and end. */
#include "runtime/bootstrap/root.h"
#include "runtime/bootstrap/store.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

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

#define LEAVE_WAIT_MS 5000 /* for ranks that have yet to say goodbye */
#define TELL_WAIT_MS 1000  /* after a failure: for ranks that have yet to make a request, so that they get the reason */

enum { SERVE_RUN, SERVE_UNTIL_ALL_LEFT, SERVE_UNTIL_ALL_TOLD };

struct hx_store_thread {
    struct hx_store *store;
    pthread_t thread;
    int wake_fd;
    atomic_int order;
};

static void *thread_main(void *argument)
{
    struct hx_store_thread *thread = argument;
    struct pollfd fds[] = {{.fd = hx_store_fd(thread->store), .events = POLLIN},
                           {.fd = thread->wake_fd, .events = POLLIN}};
    double until = 0;

    for (;;) {
        const int order = atomic_load(&thread->order);

        hx_store_serve(thread->store);
        if (order != SERVE_RUN) {
            const double wait_ms = order == SERVE_UNTIL_ALL_LEFT ? LEAVE_WAIT_MS : TELL_WAIT_MS;
            until = until > 0 ? until : hx_deadline(1e-3 * wait_ms);
            if (hx_store_finished(thread->store) || hx_deadline_passed(until))
                return NULL;
        }
        poll(fds, order == SERVE_RUN ? 2 : 1, order == SERVE_RUN ? -1 : 100);
    }
}

hx_status_t hx_store_thread_start(struct hx_root *root, int size, const char *secret, struct hx_store_thread **thread)
{
    const int listen_fd = hx_root_listen(root, !*secret);
    sigset_t all, before;

    *thread = NULL;
    root->listen_error = listen_fd < 0 ? errno : 0;
    if (listen_fd < 0)
        return HX_SUCCESS;
    struct hx_store_thread *new = calloc(1, sizeof *new);
    const int wake_fd = eventfd(0, EFD_CLOEXEC);
    if (!new || wake_fd < 0 || hx_store_open(listen_fd, size, secret, 0, &new->store) < 0) {
        const char *why = strerror(errno);

        free(new);
        close(wake_fd);
        close(listen_fd);
        return hx_fail(HX_ERR_NOMEM, "cannot serve the store at %s:%s: %s", root->host, root->port, why);
    }
    new->wake_fd = wake_fd;
    sigfillset(&all); /* signal handlers of the program must not run in this thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&new->thread, NULL, thread_main, new);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        hx_store_close(new->store);
        close(new->wake_fd);
        free(new);
        return hx_fail(HX_ERR_NOMEM, "cannot start the store's thread: %s", strerror(rc));
    }
    hx_info("serving the store at %s:%s for %d ranks", root->host, root->port, size);
    if (!*secret)
        hx_warn("HX_SECRET is not set: any process of this machine can join the job at HX_ROOT=%s:%s, and no rank on another "
                "machine. Set it to the same text on all ranks", root->host, root->port);
    *thread = new;
    return HX_SUCCESS;
}

void hx_store_thread_stop(struct hx_store_thread *thread, int orderly)
{
    const uint64_t one = 1;

    if (!thread)
        return;
    atomic_store(&thread->order, orderly ? SERVE_UNTIL_ALL_LEFT : SERVE_UNTIL_ALL_TOLD);
    if (write(thread->wake_fd, &one, sizeof one) < 0)
        hx_debug("eventfd: %s", strerror(errno)); /* cannot happen: one write per eventfd */
    pthread_join(thread->thread, NULL);
    hx_store_close(thread->store);
    close(thread->wake_fd);
    free(thread);
}
