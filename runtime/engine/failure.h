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
#ifndef HX_ENGINE_FAILURE_H
#define HX_ENGINE_FAILURE_H
#include "runtime/engine/engine.h"

#define HX_HAS_FINISHED "has finished (hx_finalize)"

/* Record that comm has failed for this rank. Only the first failure is kept. failure->rank is a rank of comm. */
void hx_failed_note(struct hx_comm *comm, const struct hx_failure *failure);

/* Has a rank of this node recorded a failure of comm, its own or one that it was told of, with a status other than but? Returns the
 * failure, and records it for this rank too; NULL: there is none. */
const struct hx_failure *hx_failed_look(struct hx_comm *comm, hx_status_t but);

/* comm is about to be released. Returns nonzero if it has failed. The failure is then kept for ranks of other nodes, which may still be in
 * calls of comm and ask. */
int hx_failed_keep(struct hx_comm *comm);
void hx_failed_forget(struct hx_world *world); /* at the end */

/* Tell peer, a rank of the job on another node, which ranks have died and why comm has failed here. peer is a rank of comm. */
void hx_failed_pass(const struct hx_comm *comm, int peer);

/* This rank leaves: tell the ranks of other nodes that may wait for it. */
void hx_failed_finish(const struct hx_world *world);

/* The open communicator of this context, if peer is a rank of it; else NULL. The generation is not checked. *engine: the engine of the
 * context; NULL: this rank has not used the context. */
struct hx_comm *hx_failed_comm(const struct hx_world *world, int context, int peer, struct hx_engine **engine);

/* The question to a rank of another node for which the run waits, and the question to another rank of that node, which sees whether the
 * late rank lives. */
struct hx_control_message hx_failed_question(const struct hx_run *run, int late);
struct hx_control_message hx_failed_question_of(int late);

/* Handle a control message that peer, a rank on another node, has sent. arg: the world. */
void hx_failed_heard(void *arg, int peer, const struct hx_control_message *message);

#endif
