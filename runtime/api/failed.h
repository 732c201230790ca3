/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between ranks of different nodes about failed communicators: see runtime/engine/failure.h. */
#pragma once

#include "runtime/api/comm.h"

/* comm is about to be released. Returns nonzero if it has failed. The failure is then kept for ranks of other nodes, which may still be in
 * calls of comm and ask. */
int hx_failed_keep(struct hx_comm *comm);
void hx_failed_forget(struct hx_world *world); /* at the end */

/* As tell of struct hx_owner. */
void hx_failed_tell(const struct hx_engine *engine, int peer);

/* This rank leaves: tell the ranks of other nodes that may wait for it. */
void hx_failed_finish(const struct hx_world *world);

/* This rank counts as dead on its node, because it has called hx_abort. Tell the other nodes: the ranks that may wait for this one, and at
 * least one rank of each node. */
void hx_failed_abort(const struct hx_world *world);

/* Handle a control message that peer, a rank on another node, has sent. arg: the world. */
void hx_failed_heard(void *arg, int peer, const struct hx_control_message *message);
