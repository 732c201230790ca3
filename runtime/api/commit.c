/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HX_ATOMIC: the commits of a communicator's calls.
 *
 *   RUNS   the call is under way, its input is kept (undo.c)
 *   RAN    it has ended here, well or not. It waits until the calls made before it have committed
 *   OPEN   the members agree (runtime/engine/agree.h): has the call completed on all members that are alive?
 *   NONE   it has committed, or it is undone: its input comes back
 *
 * The members make calls in one order, so they also commit in that order, even if a later call ends first. An agreement gives all of them the same
 * result. If that tells of a failed communicator, all later calls are undone without an agreement: no member completes them.
 *
 * A member that completes its part early waits for the others before its buffers change. When a communicator fails, the runs of its calls are
 * cancelled first. So no rank reads a buffer that is restored, except for a call that fails there too.
 */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/engine/agree.h"

/* in the first word of the agreement: */
#define COMPLETE 1 /* the call has completed here */
#define USABLE 2   /* the communicator has not failed here */

hx_status_t hx_commit_enter(struct hx_request *request)
{
    struct hx_commits *commits = &request->call.comm->commits;

    request->commit = HX_COMMIT_RUNS;
    request->next_commit = NULL;
    if (commits->first)
        commits->last->next_commit = request;
    else
        commits->first = request;
    commits->last = request;
    return hx_undo_keep(&request->undo, &request->call);
}

/* comm->engine runs blocking calls only. In the list of active engines it represents the commits. It is appended, because the list may be
 * being walked. */
static void commits_activate(struct hx_comm *comm)
{
    struct hx_engine **link = &comm->world->process.active;

    while (*link && *link != &comm->engine)
        link = &(*link)->next_active;
    if (*link)
        return;
    comm->engine.next_active = NULL;
    *link = &comm->engine;
}

void hx_commit_ran(struct hx_request *request, hx_status_t status)
{
    request->status = status;
    request->commit = HX_COMMIT_RAN;
    commits_activate(request->call.comm);
}

/* The call has completed here, but not on all ranks. worst: the status there, and that rank. */
static hx_status_t undone(const struct hx_call *call, const struct hx_agreement *agreement)
{
    const uint64_t worst = ~agreement->words[1];

    if (agreement->kinds != 1u << HX_AGREE_COMMIT)
        return hx_fail(HX_ERR_REVOKED, "%s: undone (HX_ATOMIC), because another rank is in hx_comm_agree or hx_comm_shrink", call->name);
    return hx_fail((hx_status_t)(worst >> 32), "%s: undone (HX_ATOMIC), because it has failed on rank %d: %s", call->name,
                   (int)(uint32_t)worst, hx_strerror((hx_status_t)(worst >> 32)));
}

/* Take the first call out. Its request is done. */
static void first_end(struct hx_comm *comm, hx_status_t status)
{
    struct hx_request *request = comm->commits.first;

    comm->commits.first = request->next_commit;
    if (status != HX_SUCCESS)
        hx_undo_restore(&request->undo, &request->call);
    request->commit = HX_COMMIT_NONE;
    request->status = status;
    comm->world->process.moves++; /* threads that wait for it return */
    hx_request_settle(request, status);
}

/* agreed: the status of the agreement about the first call. agreement may be NULL if it is an error. */
static void first_conclude(struct hx_comm *comm, hx_status_t agreed, const struct hx_agreement *agreement)
{
    struct hx_request *request = comm->commits.first;
    const int alike = agreed == HX_SUCCESS && agreement->kinds == 1u << HX_AGREE_COMMIT; /* no rank is in another function */
    hx_status_t status = request->status;

    if (alike && (agreement->words[0] & COMPLETE)) {
        first_end(comm, HX_SUCCESS);
        return;
    }
    if (status == HX_SUCCESS)
        status = hx_comm_fail(comm, agreed == HX_SUCCESS ? undone(&request->call, agreement) : agreed);
    if (!alike || !(agreement->words[0] & USABLE)) {
        comm->commits.over = 1;
        hx_recall(comm->members.detail);
        hx_comm_break(comm, status);
    }
    first_end(comm, status);
}

static void first_open(struct hx_comm *comm)
{
    struct hx_request *request = comm->commits.first;
    struct hx_agreement agreement = {.name = request->call.name, .kind = HX_AGREE_COMMIT};
    hx_status_t status = request->status;

    agreement.words[0] = (unsigned)(status == HX_SUCCESS ? COMPLETE : 0) | (comm->members.failed ? 0 : USABLE);
    agreement.words[1] = ~(status == HX_SUCCESS ? 0 : (uint64_t)status << 32 | (uint32_t)comm->members.rank);
    if ((status = hx_agree_begin(&comm->world->process, &comm->members, &agreement)) != HX_SUCCESS) {
        first_conclude(comm, status, NULL);
        return;
    }
    request->commit = HX_COMMIT_OPEN;
    comm->world->process.moves++; /* waits have another clock now */
}

static void first_close(struct hx_comm *comm, hx_status_t waited)
{
    struct hx_agreement agreement = {.name = comm->commits.first->call.name};
    const hx_status_t agreed = hx_agree_end(&comm->members, waited, &agreement);

    first_conclude(comm, agreed, &agreement);
}

int hx_commits_progress(struct hx_comm *comm)
{
    struct hx_commits *commits = &comm->commits;
    const struct hx_request *first;

    while ((first = commits->first) && first->commit != HX_COMMIT_RUNS) {
        if (first->commit == HX_COMMIT_OPEN) {
            if (!hx_agree_advance(&comm->members))
                return 1;
            first_close(comm, HX_SUCCESS);
        } else if (first->is_mark || commits->over) {
            first_end(comm, first->status == HX_SUCCESS && !first->is_mark ? comm->members.failed : first->status);
        } else if (hx_agree_is_open(&comm->members)) { /* another thread's */
            return 1;
        } else {
            first_open(comm);
        }
    }
    return 0;
}

void hx_commits_late(struct hx_comm *comm)
{
    first_close(comm, HX_ERR_TIMEOUT);
    hx_commits_progress(comm);
}

void hx_commits_drop(struct hx_comm *comm)
{
    if (comm->commits.first && comm->commits.first->commit == HX_COMMIT_OPEN)
        first_close(comm, HX_ERR_TIMEOUT);
    comm->commits.over = 1;
    hx_commits_progress(comm);
}
