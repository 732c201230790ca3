/* SPDX-License-Identifier: BSD-3-Clause */
/* How long calls on a communicator wait for progress. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"

hx_status_t hx_comm_set_timeout(hx_comm_t *comm, double seconds)
{
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_comm_set_timeout")) != HX_SUCCESS)
        return status;
    if (!(seconds >= 0 && seconds <= 1e9))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_set_timeout: %g seconds: expected 0 to 1e9; 0: for ever", seconds));
    comm->members.own_timeout_s = seconds;
    comm->members.timeout_s = &comm->members.own_timeout_s;
    comm->members.timeout_by = "hx_comm_set_timeout";
    return HX_SUCCESS;
}
