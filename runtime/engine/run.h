/* SPDX-License-Identifier: BSD-3-Clause */
/* What run.c and run_slices.c have from each other. */
#pragma once

#include "runtime/engine/engine.h"

/* Let rings, network and other calls move. Returns nonzero when something moved. */
int hx_run_move_others(struct hx_run *run);
struct hx_wait hx_run_wait_of(struct hx_run *run, int (*look)(void *));
/* Returns 0 when the run has failed, by its time-out maybe. */
int hx_run_wait_ended(struct hx_run *run, hx_status_t status);

/* run_slices.c: begin; issue what can be issued, and return how much; are all slices finished? Or all that, to the end of the run. */
void hx_slices_begin(struct hx_run *run);
int hx_slices_advance(struct hx_run *run);
int hx_slices_finished(const struct hx_bound *bound);
void hx_slices_run(struct hx_run *run);
