/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of requests. By mistake, a program may use a request after its release. So the memory is not freed, and its state says that the
 * request is released. A new request takes the memory only after KEPT other requests were released. hx_finalize frees no memory either.
 */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <pthread.h>
#include <stdlib.h>

enum { KEPT = 64 };

static struct hx_request *oldest, *newest; /* released requests; a list by next */
static int released;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the list. Requests of a process may belong to different engines */

static void list_lock(void)
{
    if (!HX_SINGLE_THREADED)
        pthread_mutex_lock(&mutex);
}

static void list_unlock(void)
{
    if (!HX_SINGLE_THREADED)
        pthread_mutex_unlock(&mutex);
}

hx_request_t *hx_request_alloc(void)
{
    struct hx_request *request = NULL;

    list_lock();
    if (released > KEPT) {
        request = oldest;
        oldest = request->next;
        released--;
    }
    list_unlock();
    return request ? request : calloc(1, sizeof(*request));
}

void hx_request_retire(hx_request_t *request)
{
    request->state = HX_REQUEST_RELEASED;
    request->next = NULL;
    list_lock();
    if (oldest)
        newest->next = request;
    else
        oldest = request;
    newest = request;
    released++;
    list_unlock();
}

hx_status_t hx_request_released(const hx_request_t *request, const char *name)
{
    if (request->state != HX_REQUEST_RELEASED)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_STATE, "%s: this request of %s has been released%s", name, request->call.name,
                   request->persistent ? " by hx_request_free" : ": its call is complete");
}
