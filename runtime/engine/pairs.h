/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs. The engine that creates groups (comm_create.c) has no common call numbers: each pair of ranks counts its messages instead. When a
 * group fails on a rank, the counts of this rank and of the other members may differ from then on. So the rank takes part in no group with
 * one of these members again. A member that waits for it finds that out: on the same node by a mark beside the ring between them, on
 * another node by the answer to its question (failure.h).
 */
#pragma once

#include "runtime/engine/engine.h"

/* A group with this rank of the job has failed here, or that rank tells that it has failed there. engine: the engine that creates
 * groups. */
void hx_pair_lose(struct hx_engine *engine, int rank, hx_status_t status);
/* The status with which an earlier group with this rank has failed, here or there; HX_SUCCESS: none has failed. */
hx_status_t hx_pair_lost(const struct hx_engine *engine, int rank);
/* The number of the next message from that rank, or to it. With a rank that is lost none is counted: the message meets no other. */
uint64_t hx_pair_count(struct hx_engine *engine, int rank, int sends);
