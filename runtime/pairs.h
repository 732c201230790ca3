/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs: where groups are created (comm_create.c) each two ranks count their messages, instead of the calls that they have in common. When a
 * group fails on a rank, its count with each of the members may be another than theirs from then on, so it takes part in no group with one of
 * these again. Who waits for it finds that out: on its node by a mark beside the ring between them, elsewhere by an answer (failed.h).
 */
#ifndef HX_PAIRS_H
#define HX_PAIRS_H
#include "engine.h"

/* A group with this rank of the job has failed, here or, as it tells, there. engine: that of groups. */
void hx_pair_lose(struct hx_engine *engine, int rank, hx_status_t status);
/* What an earlier group with this rank has failed with, here or there; HX_SUCCESS: none has. */
hx_status_t hx_pair_lost(const struct hx_engine *engine, int rank);

#endif
