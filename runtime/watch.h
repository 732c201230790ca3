/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has died. A process of this node that ends without having left the job in order is found within tenths of a second by whoever
 * waits for long, or calls hx_test; one of another node when messages to it fail, or when it is asked after (transport.h, ask). Who
 * finds one tells its node through the segment: every call of a communicator with that rank then fails, and those of others go on. Other
 * nodes learn of it as of every failure: see failed.h.
 */
#ifndef HX_WATCH_H
#define HX_WATCH_H
#include "node.h"

/* As soon as it has the segment: from now on the end of this process is a death. */
void hx_watch_enter(struct hx_shared *shared);
/* This rank is in hx_finalize: it will enter no call that others may wait for it in; or it goes on after all. */
void hx_watch_finish(struct hx_shared *shared);
void hx_watch_go_on(struct hx_shared *shared);
/* It leaves the job: from now on its end is no death. */
void hx_watch_leave(struct hx_shared *shared);
/* Has the rank in this row begun to finish? What it has entered before can be seen then. */
int hx_watch_has_finished(const struct hx_shared *shared, int row);

/* Look whether processes of this node have ended; at most twenty times a second, and at a few of them each time. By one thread at a
 * time. */
void hx_watch_look(struct hx_shared *shared);
/* Look whether this rank of the job has, if it is of this node. */
void hx_watch_look_at(struct hx_shared *shared, int rank);
/* This rank of the job has died: tell the node. */
void hx_watch_tell(struct hx_shared *shared, int rank);
/* Of these ranks of the job, the place of the one that was found first to have died, for whose sake others may have ended since; or -1. */
int hx_watch_dead(const struct hx_shared *shared, const int *ranks, int n);
#endif
