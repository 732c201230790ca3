/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that members and newcomers have in common when a world grows. */
#pragma once

#include "runtime/bootstrap/lobby_client.h"
#include "runtime/start/startup.h"

/* One thread at a time opens a world. Returns 0 if another thread does so now. */
int hx_growth_begin(void);
void hx_growth_end(void);

/* Open the world of a session over boot, and meet once in it. from, culprit: as in struct hx_opening. *world: not yet for the program. Takes
 * boot. The caller does not hold the lock. */
hx_status_t hx_growth_open(const struct hx_session *session, struct hx_boot *boot, const struct hx_comm *from, struct hx_world **world,
                           int *culprit);
/* All have opened it: its ranks need the store no more. */
void hx_growth_keep(struct hx_world *world);
/* Some rank has failed: release it. why: what its other ranks get. NULL: nothing to do. */
void hx_growth_drop(struct hx_world *world, hx_status_t why);
