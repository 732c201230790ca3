/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks a call waits for: by its steps and messages, and by what the ranks of this node have entered. */
#pragma once

#include "runtime/engine/engine.h"

/* The rank of the job for which the run waits, or the first of them; -1: none in particular. */
int hx_awaited_rank(const struct hx_run *run);
/* The rank on another node for which the first unfinished transfer of this rank waits, or -1. */
int hx_awaited_remote(const struct hx_run *run);
/* The rank of the job, on another node, whose message is late; if no message is, the rank to which a message cannot leave; or -1. */
int hx_awaited_far(const struct hx_run *run);
/* Member i of this node has not entered the call. */
int hx_awaited_is_outside(const struct hx_run *run, int i);
/* The rank of the job for which the call waits; -1: not known. *is_sure: this rank cannot go on before that rank has entered the call. It
 * can, if it only waits to send to another node: the message may be accepted there before. */
int hx_awaited_by(const struct hx_run *run, int *is_sure);

#define HX_ABSENT_BYTES 720
/* Write the ranks of this node that have not entered the call, and those elsewhere for whose messages it waits. */
void hx_awaited_describe(const struct hx_run *run, char *text, size_t bytes);
/* Warn that the call waits long: once for each call, by the first waiting rank of a node. */
void hx_awaited_warn(const struct hx_run *run);
/* The wait has timed out: record the operation and who is missing. Returns HX_ERR_TIMEOUT. */
hx_status_t hx_awaited_fail(const struct hx_run *run);
