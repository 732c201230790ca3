/* SPDX-License-Identifier: BSD-3-Clause */
/* The format in which sums on a communicator cross between nodes. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <string.h>

hx_status_t hx_comm_set_wire(hx_comm_t *comm, const char *format)
{
    const struct hx_wire *wire;
    struct hx_choices choices;
    hx_status_t status;

    HX_ENTER();
    if ((status = hx_comm_check(comm, "hx_comm_set_wire")) != HX_SUCCESS)
        return status;
    if (!format)
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_set_wire: format is NULL"));
    wire = hx_wire_named(format);
    if (!wire && strcmp(format, HX_WIRE_OFF))
        return hx_comm_fail(comm, hx_fail(HX_ERR_ARG, "hx_comm_set_wire: unknown format \"%.64s\"; choose one of " HX_WIRE_CHOICES, format));
    choices = comm->choices;
    choices.wire = wire ? 1 + (int)(wire - hx_wires) : 0;
    hx_comm_choose(comm, choices);
    return HX_SUCCESS;
}
