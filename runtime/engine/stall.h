/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a long wait, and the report of a failed call to other ranks. */
#pragma once

#include "runtime/engine/engine.h"

/* ctx: a struct hx_run that has waited for long. */
void hx_stall_tell(void *ctx);
/* This rank has waited so long for rank, a rank of the job on another node: ask it this, and see whether it lives. */
void hx_late_ask(struct hx_process *process, int rank, const struct hx_control_message *question, uint64_t waited_ns);
/* The run's communicator has failed elsewhere, of this. Returns with what status. */
hx_status_t hx_stall_elsewhere(const struct hx_run *run, const struct hx_failure *failure);
/* Call it when a message of the run has failed because a rank is gone. If the node knows which rank has died, the detail names that rank.
 * The message's own text says only how the network failed, and may name a peer that has left the job because of that death. */
void hx_stall_name(const struct hx_run *run);
/* The run's communicator has failed: what the run knows of the dead its node shall know, and why it failed those with which it has
 * messages. */
void hx_stall_end(const struct hx_run *run);
