/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Callbacks and descriptors of requests (hx_request_notify, hx_request_fd).
 *
 *   request_end      puts the request's notice at the end of the world's list. The request is not done yet
 *   hx_notices_tell  calls the callbacks of the list, one after the other, without the lock. Then each request is done
 *
 * The progress thread tells, and a thread that waits for a request or tests one: the program knows of these that they may run a callback.
 * One thread tells at a time. The same thread tells what a callback has completed, after this callback. So callbacks do not nest.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

void hx_notice_due(hx_request_t *request, hx_status_t status)
{
    struct hx_world *world = request->call.comm->world;
    struct hx_notices *notices = &world->notices;
    struct hx_notice *notice = request->notice;

    request->engine = NULL; /* from now on a wait for the request is one for the callback */
    notice->status = status;
    notice->next = NULL;
    if (notices->first)
        notices->last->next = notice;
    else
        notices->first = notice;
    notices->last = notice;
    if (world->has_thread)
        pthread_cond_signal(&world->work);
}

/* Without the lock: the callback may take locks of the program, which threads hold that wait for this one. */
static void notice_tell(struct hx_world *world, struct hx_notice *notice)
{
    hx_unlock();
    notice->fn(notice->status, notice->ctx);
    hx_lock();
    if (notice->request) {
        notice->request->notice = NULL;
        hx_request_done(notice->request);
    }
    free(notice);
    hx_notify(&world->process.waiter); /* a thread may wait for the request */
}

void hx_notices_tell(struct hx_world *world)
{
    struct hx_notices *notices = &world->notices;

    if (notices->running)
        return;
    while ((notices->running = notices->first)) {
        notices->first = notices->running->next;
        notices->teller = pthread_self();
        notice_tell(world, notices->running);
    }
}

/* The callback that runs in this thread; NULL: none does. */
static const struct hx_notice *told_here(void)
{
    for (const struct hx_world *world = hx_world; world; world = world->older)
        if (world->notices.running && pthread_equal(world->notices.teller, pthread_self()))
            return world->notices.running;
    return NULL;
}

hx_status_t hx_notice_refuse(const char *name)
{
    return !told_here() ? HX_SUCCESS
                        : hx_fail(HX_ERR_STATE, "%s: called from a callback of hx_request_notify, which must not block; start a call (hx_i...) "
                                                "and test it", name);
}

int hx_notice_is_told(const hx_request_t *request)
{
    return request->notice && told_here() == request->notice;
}

void hx_notice_settle(hx_request_t *request)
{
    if (!hx_notice_is_told(request))
        return;
    hx_notice_detach(request);
    hx_request_done(request);
}

void hx_notice_detach(hx_request_t *request)
{
    if (request->notice)
        request->notice->request = NULL;
    request->notice = NULL;
}

hx_status_t hx_request_notify(hx_request_t *request, hx_notify_fn_t *fn, void *ctx)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_request_check(request, "hx_request_notify")) != HX_SUCCESS)
        return status;
    if (!fn)
        status = hx_fail(HX_ERR_ARG, "hx_request_notify: fn is NULL");
    else if (request->state == HX_REQUEST_INACTIVE)
        status = hx_fail(HX_ERR_STATE, "hx_request_notify: the request of %s has not been started", request->call.name);
    else if (request->notice)
        status = hx_fail(HX_ERR_STATE, "hx_request_notify: the request of %s has a callback already", request->call.name);
    else if (!(request->notice = malloc(sizeof(*request->notice))))
        status = hx_fail(HX_ERR_NOMEM, "hx_request_notify: no memory for a callback");
    if (status != HX_SUCCESS)
        return hx_comm_fail(request->call.comm, status);
    *request->notice = (struct hx_notice){.fn = fn, .ctx = ctx, .request = request};
    if (request->state == HX_REQUEST_DONE) {
        request->state = HX_REQUEST_ACTIVE;
        hx_notice_due(request, request->status);
        hx_notify(&request->call.comm->world->process.waiter);
        if (!request->call.comm->world->has_thread) /* else this thread may hold a lock that the callback takes */
            hx_notices_tell(request->call.comm->world);
    }
    return HX_SUCCESS;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

void hx_request_done(hx_request_t *request)
{
    const uint64_t one = 1;

    request->state = HX_REQUEST_DONE;
    if (request->fd >= 0 && write(request->fd, &one, sizeof(one)) < 0)
        return; /* EAGAIN: the counter is full, so it is readable */
}

void hx_request_fd_clear(const hx_request_t *request)
{
    uint64_t count;

    if (request->fd >= 0 && read(request->fd, &count, sizeof(count)) < 0)
        return; /* EAGAIN: the counter is 0 */
}

void hx_request_fd_close(const hx_request_t *request)
{
    if (request->fd >= 0)
        close(request->fd);
}

hx_status_t hx_request_fd(hx_request_t *request, int *fd)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_request_check(request, "hx_request_fd")) != HX_SUCCESS)
        return status;
    if (!fd)
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_ARG, "hx_request_fd: fd is NULL"));
    if (request->fd < 0 && (request->fd = eventfd(request->state == HX_REQUEST_DONE, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return hx_comm_fail(request->call.comm, hx_fail(HX_ERR_NOMEM, "hx_request_fd: cannot create an eventfd: %s", strerror(errno)));
    *fd = request->fd;
    return HX_SUCCESS;
}

hx_status_t hx_on_idle(hx_idle_fn_t *fn, void *ctx)
{
    hx_idle_set(fn, ctx);
    return HX_SUCCESS;
}
