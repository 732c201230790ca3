/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of requests. A program may use a request after its release, by mistake. So the memory of a request stays that of a request, and
 * says that it is released. It serves for a new request only after KEPT others were released. The memory is kept after hx_finalize too.
 */
#include "runtime/api/call.h"
#include <stdlib.h>

enum { KEPT = 64 };

static struct hx_request *oldest, *newest; /* released ones, by next */
static int released;

hx_request_t *hx_request_alloc(void)
{
    struct hx_request *request = oldest;

    if (released <= KEPT)
        return calloc(1, sizeof(*request));
    oldest = request->next;
    released--;
    return request;
}

void hx_request_retire(hx_request_t *request)
{
    request->state = HX_REQUEST_RELEASED;
    request->next = NULL;
    if (oldest)
        newest->next = request;
    else
        oldest = request;
    newest = request;
    released++;
}

hx_status_t hx_request_released(const hx_request_t *request, const char *name)
{
    if (request->state != HX_REQUEST_RELEASED)
        return HX_SUCCESS;
    return hx_fail(HX_ERR_STATE, "%s: this request of %s has been released%s", name, request->call.name,
                   request->persistent ? " by hx_request_free" : ": its call is complete");
}
