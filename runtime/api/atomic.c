/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ATOMIC: which calls complete on all survivors or fail on all, and the calls that block. commit.c does the rest. */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include <stdlib.h>

/* A call that blocks commits in turn with those that were started, as a request that no other function sees. */
hx_status_t hx_call_atomic(struct hx_call *call, hx_status_t (*run)(struct hx_call *call))
{
    struct hx_comm *comm = call->comm;
    struct hx_request request = {.call = *call, .state = HX_REQUEST_ACTIVE, .blocks = 1, .fd = -1, .undo = comm->undo};
    hx_status_t status;

    comm->undo = (struct hx_undo){.memory = NULL}; /* another thread's call has its own */
    if ((status = hx_commit_enter(&request)) != HX_SUCCESS)
        hx_comm_break(comm, status); /* the other ranks are in the call, this one is not */
    else
        status = run(call);
    hx_commit_ran(&request, status);
    hx_commits_progress(comm);
    hx_commit_await(&request);
    free(comm->undo.memory);
    comm->undo = request.undo;
    return request.status;
}

hx_status_t hx_comm_set_atomic(hx_comm_t *comm, int on)
{
    struct hx_choices choices;
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_comm_set_atomic")) != HX_SUCCESS ||
        (status = hx_group_refuse(comm, "hx_comm_set_atomic")) != HX_SUCCESS)
        return status;
    if (on != 0 && on != 1)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_set_atomic: on is %d; choose 0 or 1", on));
    choices = comm->choices;
    choices.atomic = on;
    hx_comm_choose(comm, choices);
    return HX_SUCCESS;
}
