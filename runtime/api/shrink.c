/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Going on after a failure: members agree (runtime/engine/agree.h), and make a communicator of the survivors.
 *
 *   S1   all agree who is there, on a number that may be free, and on a generation and first call above all that any of them has used
 *   S2   each takes the number and makes the communicator of these members
 *   S3   all agree whether each could do so, and who is there now
 *
 * Every survivor gets the same from S1 and S3, so all of them do the same next: they return the communicator, or try again with the next
 * number or without those that have died since S1, or return the same error.
 */
#include "runtime/api/call.h"
#include "runtime/api/commit.h"
#include "runtime/api/lock.h"
#include "runtime/api/number.h"
#include "runtime/engine/agree.h"
#include <stdlib.h>
#include <string.h>

/* The part of every agreement that is common: may this thread make such a call now? */
static hx_status_t call_check(const char *name, struct hx_comm *comm, const void *out, const char *out_name)
{
    hx_status_t status = hx_comm_check_open(comm, name);

    if (status != HX_SUCCESS)
        return status;
    if (!out)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "%s: %s is NULL", name, out_name));
    if ((status = hx_notice_refuse(name)) == HX_SUCCESS && !comm->members.failed)
        status = hx_group_refuse(comm, name);
    return status;
}

/* A rank that commits a call (atomic.c), or grows, may meet ranks that do not: its call fails, and these try again. */
static hx_status_t agree(struct hx_comm *comm, struct hx_agreement *agreement)
{
    const struct hx_agreement mine = *agreement;
    hx_status_t status;

    hx_commits_await(comm);
    do {
        *agreement = mine;
        status = hx_agree(&comm->world->process, &comm->members, agreement);
    } while (status == HX_SUCCESS && (agreement->kinds & HX_AGREE_GIVES_WAY));
    if (status == HX_SUCCESS && agreement->kinds != 1u << mine.kind)
        status = hx_fail(HX_ERR_MISMATCH, "%s: ranks call hx_comm_agree and hx_comm_shrink in different orders", mine.name);
    return status == HX_SUCCESS ? status : hx_comm_fail(comm, status);
}

hx_status_t hx_comm_agree(hx_comm_t *comm, int *flags, uint64_t *completed)
{
    struct hx_agreement agreement = {.name = "hx_comm_agree", .kind = HX_AGREE_FLAGS};
    hx_status_t status;

    HX_ENTER();
    if ((status = call_check("hx_comm_agree", comm, flags, "flags")) != HX_SUCCESS)
        return status;
    agreement.words[0] = (unsigned)*flags;
    agreement.words[1] = comm->completed;
    comm->meetings++;
    status = agree(comm, &agreement);
    comm->meetings--;
    if (status != HX_SUCCESS)
        return status;
    *flags = (int)(unsigned)agreement.words[0];
    if (completed)
        *completed = agreement.words[1];
    return HX_SUCCESS;
}

/* ---- shrink --------------------------------------------------------------------------------------------------- */

struct plan { /* the result of S1 */
    struct hx_comm_id id;
    int *ranks, n; /* of the job */
    uint64_t *members; /* as in struct hx_agreement */
};

/* S1. from: the lowest number to try. Agreements find the least, so if the greatest number counts, its complement goes in. */
static hx_status_t plan_agree(struct hx_comm *comm, uint32_t from, struct plan *plan)
{
    struct hx_world *world = comm->world;
    const struct hx_comm_numbers *numbers = world->numbers;
    uint64_t generation = 0, call = 0;
    struct hx_agreement agreement = {.name = "hx_comm_shrink", .kind = HX_AGREE_MEMBERS};
    hx_status_t status;

    for (uint32_t i = 0; i < numbers->count; i++) {
        generation = numbers->generations[i] > generation ? numbers->generations[i] : generation;
        call = numbers->calls[i] > call ? numbers->calls[i] : call;
    }
    agreement.words[1] = ~(uint64_t)hx_number_next(world, from);
    agreement.words[2] = ~(generation + 1);
    agreement.words[3] = ~(call + 1);
    if ((status = agree(comm, &agreement)) != HX_SUCCESS)
        return status;
    plan->id = (struct hx_comm_id){.number = (uint32_t)~agreement.words[1], .generation = (uint32_t)~agreement.words[2],
                                   .first_call = ~agreement.words[3]};
    plan->n = 0;
    for (int rank = 0; rank < comm->members.size; rank++)
        if (hx_agreed_has(&agreement, rank))
            plan->ranks[plan->n++] = comm->members.ranks[rank];
    memcpy(plan->members, agreement.members, ((size_t)comm->members.size + 63) / 64 * sizeof(uint64_t));
    return HX_SUCCESS;
}

enum outcome { AGAIN, NEXT_NUMBER, MADE };

#define TOOK 1 /* in the first word of S3: this rank could take the number */

/* S2 and S3 */
static hx_status_t plan_make(struct hx_comm *comm, const struct plan *plan, enum outcome *outcome, struct hx_comm **out)
{
    struct hx_world *world = comm->world;
    const int took = hx_number_take(world->numbers, plan->id.number);
    struct hx_agreement agreement = {.name = "hx_comm_shrink", .kind = HX_AGREE_MADE, .words = {took ? TOOK : 0}};
    struct hx_comm *made = NULL;
    uint64_t worst = 0;
    hx_status_t mine = took ? hx_comm_make(world, plan->ranks, plan->n, &plan->id, &made) : HX_SUCCESS, status;

    if (mine != HX_SUCCESS)
        worst = (uint64_t)mine << 32 | (uint32_t)comm->members.rank;
    agreement.words[1] = ~worst;
    status = agree(comm, &agreement);
    worst = ~agreement.words[1];
    *outcome = AGAIN;
    if (status == HX_SUCCESS && memcmp(plan->members, agreement.members, ((size_t)comm->members.size + 63) / 64 * sizeof(uint64_t)) == 0)
        *outcome = !(agreement.words[0] & TOOK) ? NEXT_NUMBER : MADE;
    if (*outcome == MADE && worst == 0) {
        hx_comm_inherit(made, comm);
        *out = made;
        return HX_SUCCESS;
    }
    if (made && status != HX_SUCCESS) /* other ranks may wait in it */
        hx_comm_break(made, status);
    if (made)
        hx_comm_release(made);
    if (*outcome != MADE || status != HX_SUCCESS)
        return status;
    if (mine == HX_SUCCESS)
        hx_fail((hx_status_t)(worst >> 32), "hx_comm_shrink: rank %d could not create the communicator", (int)(uint32_t)worst);
    return hx_comm_fail(comm, (hx_status_t)(worst >> 32));
}

hx_status_t hx_comm_shrink(hx_comm_t *comm, hx_comm_t **survivors)
{
    enum outcome outcome = AGAIN;
    struct plan plan = {.n = 0};
    hx_status_t status;
    uint32_t from = 0;

    if (survivors)
        *survivors = NULL;
    HX_ENTER();
    if ((status = call_check("hx_comm_shrink", comm, survivors, "survivors")) != HX_SUCCESS)
        return status;
    plan.ranks = malloc((size_t)comm->members.size * sizeof(int));
    plan.members = malloc(((size_t)comm->members.size + 63) / 64 * sizeof(uint64_t));
    if (!plan.ranks || !plan.members)
        status = hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_shrink: no memory for %d ranks", comm->members.size));
    comm->meetings++;
    while (status == HX_SUCCESS && outcome != MADE && (status = plan_agree(comm, from, &plan)) == HX_SUCCESS) {
        if (plan.id.number >= comm->world->numbers->count)
            status = hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "hx_comm_shrink: every communicator number is taken on some rank; free some"));
        else
            status = plan_make(comm, &plan, &outcome, survivors);
        from = outcome == NEXT_NUMBER ? plan.id.number + 1 : from;
    }
    comm->meetings--;
    if (status == HX_SUCCESS && plan.n < comm->members.size)
        comm->world->went_on = 1;
    free(plan.ranks);
    free(plan.members);
    return status;
}
