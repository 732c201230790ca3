/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that have failed. If a call fails on one rank, ranks that wait for that rank cannot finish the call. So it fails on them
 * too.
 *
 *   on a node   A rank whose call fails writes the reason into its row of the communicator's context. Ranks that have waited long read it
 *               there (stall.c).
 *   elsewhere   The rank sends a control message (transport.h) to each rank with which it has messages in that call. The receivers write the reason
 *               into their own rows. A rank that has waited for a second asks the rank for which it waits. The answer says which ranks
 *               have died, and which communicators of both have failed. So every rank that depends on a failed one learns it within
 *               seconds.
 *
 * A failed communicator that this rank has freed may still exist on other ranks, and they may wait in it. So this rank remembers the last
 * few hundred of them, and answers questions about them. A rank that asks about an older one waits until HX_TIMEOUT.
 *
 * A rank that has called hx_finalize enters no other call. Ranks of its node see that (liveness.h); ranks of other nodes ask it. If the rank
 * leaves before all have called hx_finalize, it tells the ranks with which it has had messages. They find its endpoint gone, and know why.
 *
 * A question also names the call of the rank that asks. The receiver compares this call with those that it has entered and left last. This
 * finds calls between nodes that differ so much that no message arrives. If messages do arrive, their proofs show the difference.
 */
#pragma once

#include "runtime/engine/engine.h"

/* Record that the engine's communicator has failed for this rank. Only the first failure is kept, but HX_ERR_REVOKED replaces any.
 * failure->rank is a rank of the communicator; for HX_ERR_REVOKED it is the one that has revoked. */
void hx_failure_note(const struct hx_engine *engine, const struct hx_failure *failure);

/* Has a rank of this node recorded that the communicator is revoked? *seen: what this function has seen last; 0 at first. */
int hx_failure_revoked(const struct hx_engine *engine, uint32_t *seen);

/* The failure that member i of this node has recorded; NULL: none. If it is a revocation, the result is good until this thread's next look. */
const struct hx_failure *hx_failure_of(const struct hx_engine *engine, int i);

/* Has a rank of this node recorded a failure of the engine's communicator, with a status other than but? The failure may be its
 * own, or another rank may have reported it. Returns the failure, and records it for this rank too; NULL: there is none. */
const struct hx_failure *hx_failure_look(const struct hx_engine *engine, hx_status_t but);

/* The question to a rank of another node for which the run waits. */
struct hx_control_message hx_failure_question(const struct hx_run *run, int late);
