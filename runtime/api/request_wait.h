/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for requests: private to request.c, request_wait.c (one request) and request_list.c (lists of them). */
#pragma once

#include "runtime/api/call.h"

struct hx_request_wait {
    struct hx_request *request;
    int blocks;
    uint64_t moves; /* of all calls, when the wait began */
    struct hx_wait_clock clock; /* for a callback */
};

/* As hx_request_check, for a function that releases the request when it is complete. HX_ERR_STATE if another such function uses it now. */
hx_status_t hx_request_completes_check(hx_request_t *request, const char *name);
/* The request is done: return its status. A request that is not persistent is released. */
hx_status_t hx_request_finish(hx_request_t *request);
/* The engine whose first run the request waits for; NULL: the request is not active, or a message, or the members agree about it. */
struct hx_engine *hx_request_engine(struct hx_request *waiting);
/* After progress: learn of failures. events: of the network; negative: the network has failed. */
void hx_request_failures_look(struct hx_request_wait *wait, int events);
/* After progress: is the request still active, and in time? events: as above. */
int hx_request_goes_on(struct hx_request *request, int blocks, int events);
