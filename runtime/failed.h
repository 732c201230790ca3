/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that have failed. A call that fails on one rank cannot end on those that wait for it, so it fails there too.
 *
 *   on a node   whose call fails writes why into its row of the communicator's channel, where those find it who have waited long (stall.c)
 *   elsewhere   it tells the ranks with which it has messages in that call, by words (transport.h), and these write it into their rows.
 *               Whoever has waited for a second asks the rank for which it waits, and is told what that one knows: who has died, and which
 *               communicators of both have failed. So nobody waits for long who waits for somebody that waits for one that has failed.
 *
 * What has failed and is freed is told on: others may have it still, and wait. (The last few hundred: who asks after an
 * earlier one waits until its time is up.)
 *
 * A rank that is in hx_finalize, or has been, enters no other call. Ranks of its node that wait for it see it (watch.h), others ask it. When it
 * leaves before all have called hx_finalize it tells those with which it has had messages; these find its endpoint gone, and then know why.
 *
 * Who asks also tells its call, which is compared with those that the other has entered and left last: between nodes, calls that differ in
 * such a way that no message comes are found so; those whose messages meet, by the signatures that these bring along.
 */
#ifndef HX_FAILED_H
#define HX_FAILED_H
#include "engine.h"

#define HX_HAS_FINISHED "has finished (hx_finalize)"

/* The first failure is the one that counts. Its rank is one of the communicator. */
void hx_failed_note(struct hx_comm *comm, const struct hx_failure *failure);

/* Has comm failed on a rank of this node, or elsewhere as one has heard, with another status than this? Then with what, else NULL; and it
 * has failed for this rank, too. */
const struct hx_failure *hx_failed_look(struct hx_comm *comm, hx_status_t but);

/* comm is released. Has it failed here, or elsewhere as is known here? Then others may still be in its contexts; who waits there and asks
 * is told on. */
int hx_failed_keep(struct hx_comm *comm);
void hx_failed_forget(struct hx_world *world); /* at the end */

/* Tell peer, a rank of the job on another node, what comm, of which it is a rank, has failed of here. */
void hx_failed_pass(const struct hx_comm *comm, int peer);

/* This rank leaves, and others may wait for it. */
void hx_failed_finish(const struct hx_world *world);

/* The communicator with peer that has this context; NULL: there is none, any more or yet. (Of which comm the context is peer knows best.) *engine: the context's; NULL: it has not been used here. */
struct hx_comm *hx_failed_comm(const struct hx_world *world, int context, int peer, struct hx_engine **engine);

/* What to ask when the run waits for this rank of another node; what to ask another rank of that node, which sees whether it lives. */
struct hx_word hx_failed_question(const struct hx_run *run, int late);
struct hx_word hx_failed_question_of(int late);

/* A word of a rank on another node. arg: the world. */
void hx_failed_heard(void *arg, int peer, const struct hx_word *word);

#endif
