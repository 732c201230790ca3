/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whereabouts of ranks. A rank that waits long wants to know what the ranks that it waits for do instead.
 *
 *   on a node   A rank that waits long writes ten times a second into its line of the segment (struct hx_stand) which call it is in, and
 *               which rank it waits for. The others read the line. If the line is not renewed, the rank is outside Hierax. The reader
 *               measures for how long, by the time in which it sees nothing move.
 *   elsewhere   A late rank answers the question of a rank that waits (failure.h) with where it is. A rank outside Hierax cannot answer.
 *               So a rank of its node is asked too, and reads the segment.
 *
 * A call that does not wait long writes nothing.
 *
 * Suppose that two ranks wait for each other, each in a call that the other has not entered and cannot enter before its own call ends. Then
 * neither call can end: the calls are a mismatch, and fail with HX_ERR_MISMATCH. This is certain only if each process has one thread, and
 * that thread is in a blocking call. In all other cases HX_TIMEOUT ends the wait, and the text says where each rank is.
 */
#pragma once

#include "runtime/engine/engine.h"

struct hx_whereabouts; /* this process's knowledge of other ranks */

#define HX_STAND_BYTES sizeof(((struct hx_control_message *)0)->stands.text) /* of a text */

/* Publish that the run waits long for this rank of the job (-1: for no particular rank). is_sure: the run cannot end before that rank has
 * entered the same call. */
void hx_stand_write(const struct hx_run *run, int awaited, int is_sure);
/* The same for a message between two ranks. signature: hx_signature_of_message. */
void hx_stand_write_message(struct hx_process *process, int context, int awaited, struct hx_signature signature);
/* Publish that this process no longer waits. */
void hx_stand_clear(struct hx_process *process);

/* Write where a rank of the engine's communicator is, as in "has been outside Hierax for at least 4.2 s". */
void hx_stand_tell(const struct hx_engine *engine, int rank, char *text, size_t capacity);

/* HX_ERR_MISMATCH if the run and the rank that it waits for certainly wait for each other in different calls. */
hx_status_t hx_stand_cross(const struct hx_run *run);

/* This process waits for a rank of another node, and has asked it. */
void hx_stand_late(struct hx_process *process, int rank);
/* For how long (ns) has this process found no way to the node of that rank? There is one if the rank, or a living rank of its node, has a
 * network address. A node without one may get one soon: another rank opens endpoints instead of a dead one. */
uint64_t hx_stand_lost(struct hx_process *process, int rank, int has_way);
/* hx_stand_asked handles a question of peer, hx_stand_heard an answer. members, engine: those of the context of the call in
 * which peer waits. NULL: peer and this rank have no such communicator, or this rank has not used the context. */
void hx_stand_asked(struct hx_process *process, const struct hx_members *members, const struct hx_engine *engine, int peer,
                    const struct hx_control_message *message);
void hx_stand_heard(struct hx_process *process, const struct hx_members *members, const struct hx_engine *engine, int peer,
                    const struct hx_control_message *message);

void hx_whereabouts_forget(struct hx_process *process); /* at the end */
