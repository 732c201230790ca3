/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_ATOMIC, after the run of a call: commit.c has the states. */
#pragma once

#include "runtime/api/call.h"

/* The call is made now: it is the last to commit. Errors, after hx_fail: its input cannot be kept. The call is entered all the same. */
hx_status_t hx_commit_enter(struct hx_request *request);
/* It has ended here. */
void hx_commit_ran(struct hx_request *request, hx_status_t status);
/* Returns whether it has to be called again soon. */
int hx_commits_progress(struct hx_comm *comm);
/* The agreement about the first call has lasted longer than HX_TIMEOUT: its communicator fails. */
void hx_commits_late(struct hx_comm *comm);
/* The communicator has failed, and its world is about to be closed. */
void hx_commits_drop(struct hx_comm *comm);
/* request_wait.c. Wait until a call that was entered has committed or is undone. */
void hx_commit_await(struct hx_request *request);
/* Before another agreement: the calls of this communicator that have been made commit first. */
void hx_commits_await(struct hx_comm *comm);

/* Does a call on comm that is made now commit? Not one that is a part of another public function. */
static inline int hx_commits(const struct hx_call *call)
{
    return call->comm->atomic && call->key.purpose == HX_FOR_CALL && call->key.count;
}
