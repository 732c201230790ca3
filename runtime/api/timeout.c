/* SPDX-License-Identifier: BSD-3-Clause */
/* How long calls on a communicator wait for progress. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"

hx_status_t hx_comm_set_timeout(hx_comm_t *comm, double seconds)
{
    struct hx_choices choices;
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_comm_set_timeout")) != HX_SUCCESS)
        return status;
    if (!(seconds >= 0 && seconds <= 1e9))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_set_timeout: %g seconds: expected 0 to 1e9; 0: for ever", seconds));
    choices = comm->choices;
    choices.timeout_s = seconds;
    hx_comm_choose(comm, choices);
    return HX_SUCCESS;
}
