/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks of this node have died; inter/fabric/dead_peer.c finds dead ranks of other nodes. If a process of this node ends
 * without leaving the job in order, a rank that waits long or calls hx_test finds that within tenths of a second. The death of a
 * rank on another node is found when messages to it fail, or when it is asked (transport.h, ask). A rank that finds a death tells
 * its node through the segment. Every call of a communicator with the dead rank then fails; calls of other communicators go on.
 * Other nodes learn of a death as they learn of other failures: see failure.h.
 */
#pragma once

#include "runtime/ports/node.h"

#define HX_HAS_FINISHED "has finished (hx_finalize)"

/* As soon as it has the segment: from now on the end of this process is a death. */
void hx_watch_enter(struct hx_shared *shared);
/* HX_LIFE_LEAVING: this rank is in hx_finalize and will enter no other call. HX_LIFE_HERE: hx_finalize was refused. HX_LIFE_LEFT: this rank
 * leaves the job, and from now on the end of its process is not a death. */
void hx_watch_set(struct hx_shared *shared, enum hx_life life);
/* Has the rank in this row called hx_finalize? If so, this rank also sees all calls that it has entered before. */
int hx_watch_has_finished(const struct hx_shared *shared, int row);

/* Check whether processes of this node have ended: at most a hundred times a second, a few of them each time. Only one thread at a time may
 * call it. */
void hx_watch_look(struct hx_shared *shared);
/* Check whether this rank of the job has died, if it is on this node. */
void hx_watch_look_at(struct hx_shared *shared, int rank);
/* Tell the node that this rank of the job has died. has_ended: its process has certainly ended; else it is only unreachable. To
 * tell it again does no harm. */
void hx_watch_tell(struct hx_shared *shared, int rank, int has_ended);
/* The same for a rank of another node, to which the network has found no way. */
void hx_watch_tell_gone(struct hx_shared *shared, const struct hx_net *net, int rank);
/* The same of a rank that has called hx_abort: the text is kept for hx_watch_end. */
void hx_watch_tell_abort(struct hx_shared *shared, int rank, const char *text);
/* The text that a rank gave to hx_abort; NULL: it did not call hx_abort, as far as this node knows. */
const char *hx_watch_last_words(const struct hx_shared *shared, int rank);
#define HX_END_BYTES (HX_LAST_WORDS_BYTES + 32)
/* How a rank of the job that was found dead has ended: "has died", "has called hx_abort: no input", or that it has finished. */
const char *hx_watch_end(const struct hx_shared *shared, int rank, char text[HX_END_BYTES]);
/* The index in ranks of the rank that was found dead first; -1: none. Others may have ended since because of that death. */
int hx_watch_dead(const struct hx_shared *shared, const int *ranks, int n);
