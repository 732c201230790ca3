/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is where. A rank that waits long wants to know what the ranks that it waits for do instead.
 *
 *   on a node   whoever waits long writes ten times a second into its line of the segment (struct hx_stand) in which call, and for whom.
 *               Others read that. A rank whose line is not renewed is outside Hierax, and for how long the reader has seen nothing move
 *   elsewhere   the question that a late rank is asked (failed.h) is answered by where it stands. A rank outside Hierax cannot answer;
 *               then a rank of its node is asked, which reads the segment
 *
 * Nothing is written by calls that do not wait long.
 *
 * Two ranks that wait for each other in calls which the other has not entered, and cannot enter before its own ends, will never end:
 * their calls are unlike, and fail with HX_ERR_MISMATCH. That is certain only where the program has one thread in each, which waits in a
 * call that blocks; in all other cases the time limit ends the wait, and its text tells who is where.
 */
#ifndef HX_WHEREABOUTS_H
#define HX_WHEREABOUTS_H
#include "engine.h"

/* Of this process; 0: it cannot be known. */
int hx_threads_count(void);

struct hx_whereabouts; /* what this process has seen and heard of others */

#define HX_STAND_BYTES sizeof(((struct hx_word *)0)->stands.text) /* of a text */

/* The run waits long, for this rank of the job (-1: for nobody in particular): let others see it. is_sure: it cannot end before that one has
 * entered its call. */
void hx_stand_write(const struct hx_run *run, int awaited, int is_sure);
/* This process waits no more. */
void hx_stand_clear(struct hx_world *world);

/* Where a rank of comm is, as "outside Hierax for at least 4.2 s" (it is on this node, or has been asked after); "": nothing is known. */
void hx_stand_tell(struct hx_comm *comm, int rank, char *text, size_t capacity);

/* Do the run and the rank that it waits for wait for each other in unlike calls, for certain? Then HX_ERR_MISMATCH. */
hx_status_t hx_stand_cross(const struct hx_run *run);

/* A rank of another node is waited for, and has been asked. */
void hx_stand_late(struct hx_world *world, int rank);
/* A question of peer, and an answer. */
void hx_stand_asked(struct hx_world *world, int peer, const struct hx_word *word);
void hx_stand_heard(struct hx_world *world, int peer, const struct hx_word *word);

void hx_whereabouts_forget(struct hx_world *world); /* at the end */

#endif
