/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's choices for a communicator: see struct hx_choices. */
#include "runtime/api/comm.h"

struct hx_choices hx_choices_of_job(const struct hx_env *env)
{
    return (struct hx_choices){.atomic = env->atomic, .wire = env->wire, .timeout_s = HX_TIMEOUT_OF_JOB};
}

void hx_comm_choose(struct hx_comm *comm, struct hx_choices choices)
{
    struct hx_members *members = &comm->members;
    const int own_timeout = choices.timeout_s >= 0;

    comm->choices = choices;
    comm->atomic = choices.atomic && members->size > 1; /* one rank needs no agreement */
    comm->detours = comm->atomic || comm->group;
    comm->wire = (int16_t)choices.wire;
    members->own_timeout_s = choices.timeout_s;
    members->timeout_s = own_timeout ? &members->own_timeout_s : &comm->world->process.env->timeout;
    members->timeout_by = own_timeout ? "hx_comm_set_timeout" : "HX_TIMEOUT";
}

void hx_comm_inherit(struct hx_comm *made, const struct hx_comm *parent)
{
    hx_comm_choose(made, parent->choices);
}
