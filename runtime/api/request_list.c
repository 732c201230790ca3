/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of requests: NULL and inactive entries are skipped, as MPI does. */
#include "runtime/api/request_wait.h"
#include "runtime/api/lock.h"
#include "runtime/engine/whereabouts.h"

static hx_status_t list_check(const char *name, int n, hx_request_t *const *requests)
{
    if (n < 0 || (n > 0 && !requests))
        return hx_fail(HX_ERR_ARG, "%s: %d requests%s", name, n, n < 0 ? "; choose 0 or more" : ", but the list is NULL");
    return HX_SUCCESS;
}

/* The same, and are all entries requests? */
static hx_status_t entries_check(const char *name, int n, hx_request_t *const *requests)
{
    hx_status_t status = list_check(name, n, requests);

    for (int i = 0; i < n && status == HX_SUCCESS; i++)
        if (requests[i])
            status = hx_request_completes_check(requests[i], name);
    return status;
}

static void entries_hold(int n, hx_request_t *const *requests, int more)
{
    for (int i = 0; i < n; i++)
        if (requests[i])
            requests[i]->held += more;
}

static int is_started(const hx_request_t *request)
{
    /* released: an earlier entry of the list was the same request */
    return request && request->state != HX_REQUEST_INACTIVE && request->state != HX_REQUEST_RELEASED;
}

static int started_count(int n, hx_request_t *const *requests)
{
    int started = 0;

    for (int i = 0; i < n; i++)
        started += is_started(requests[i]);
    return started;
}

static hx_status_t entry_finish(hx_request_t **entry)
{
    hx_request_t *request = *entry;

    if (!request->persistent)
        *entry = NULL;
    return hx_request_finish(request);
}

hx_status_t hx_waitall(int n, hx_request_t **requests)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = list_check("hx_waitall", n, requests)) != HX_SUCCESS || (status = hx_notice_refuse("hx_waitall")) != HX_SUCCESS)
        return status;
    for (int i = 0; i < n; i++) {
        hx_status_t one = requests[i] ? hx_request_released(requests[i], "hx_waitall") : HX_SUCCESS;
        int persistent = requests[i] && one == HX_SUCCESS && requests[i]->persistent;
        if (requests[i] && one == HX_SUCCESS)
            one = hx_request_wait(requests[i]);
        if (status == HX_SUCCESS)
            status = one;
        if (!persistent)
            requests[i] = NULL;
    }
    return status;
}

hx_status_t hx_testall(int n, hx_request_t **requests, int *done)
{
    hx_status_t status, one;
    struct hx_world *world = NULL;
    int events = 0;

    HX_ENTER();
    if ((status = entries_check("hx_testall", n, requests)) != HX_SUCCESS)
        return status;
    if (!done)
        return hx_fail(HX_ERR_ARG, "hx_testall: done is NULL");
    *done = 1;
    entries_hold(n, requests, 1);
    for (int i = 0; i < n; i++) {
        if (!requests[i])
            continue;
        if (requests[i]->call.comm->world != world) {
            world = requests[i]->call.comm->world;
            events = hx_progress_all(&world->process);
            hx_notices_tell(world);
        }
        *done &= !hx_request_goes_on(requests[i], 0, events);
    }
    entries_hold(n, requests, -1);
    for (int i = 0; *done && i < n; i++)
        if (is_started(requests[i]) && (one = entry_finish(&requests[i])) != HX_SUCCESS && status == HX_SUCCESS)
            status = one;
    return status;
}

struct any { /* a wait for any of these */
    hx_request_t **requests;
    int n, blocks;
    int done;    /* the first of them that is done; n: none */
    int started; /* how many another thread has not finished */
    struct hx_wait_clock wait_clock;
};

static int any_look(void *ctx)
{
    struct any *any = ctx;
    struct hx_world *world = NULL;
    int events = 0, notices_wait = 0;

    any->wait_clock.naps = 0;
    any->started = started_count(any->n, any->requests);
    any->blocks = any->started == 1; /* else the end of another call may end this wait */
    for (any->done = 0; any->done < any->n; any->done++) {
        struct hx_request_wait wait = {.request = any->requests[any->done], .blocks = any->blocks};
        if (!is_started(wait.request))
            continue;
        if (wait.request->call.comm->world != world) {
            world = wait.request->call.comm->world;
            events = hx_progress_all(&world->process);
            notices_wait |= hx_notices_wait(world);
        }
        hx_request_failures_look(&wait, events);
        if (wait.request->state == HX_REQUEST_DONE)
            return 1;
        any->wait_clock.naps |= hx_request_engine(wait.request) && hx_request_engine(wait.request)->wait_clock.naps;
    }
    return notices_wait || any->started == 0;
}

/* The time-out is for each call. */
static void any_tell(void *ctx)
{
    const struct any *any = ctx;

    for (int i = 0; i < any->n; i++)
        if (any->requests[i])
            hx_request_goes_on(any->requests[i], any->blocks, 0);
}

hx_status_t hx_waitany(int n, hx_request_t **requests, int *index)
{
    struct any any = {.requests = requests, .n = n};
    const struct hx_wait wait = {.look = any_look, .slow = any_tell, .ctx = &any, .wait_clock = &any.wait_clock};
    struct hx_world *world = NULL;
    hx_status_t status;

    HX_ENTER();
    if ((status = entries_check("hx_waitany", n, requests)) != HX_SUCCESS || (status = hx_notice_refuse("hx_waitany")) != HX_SUCCESS)
        return status;
    if (!index)
        return hx_fail(HX_ERR_ARG, "hx_waitany: index is NULL");
    *index = HX_UNDEFINED;
    if (started_count(n, requests) == 0)
        return HX_SUCCESS;
    entries_hold(n, requests, 1);
    do {
        for (int i = 0; i < n; i++)
            if (requests[i])
                hx_notices_tell((world = requests[i]->call.comm->world));
        hx_wait_until(&world->process.waiter, &wait);
    } while (any.done == n && any.started);
    entries_hold(n, requests, -1);
    hx_stand_clear(&world->process);
    if (any.done == n)
        return HX_SUCCESS;
    *index = any.done;
    return entry_finish(&requests[any.done]);
}
