/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that run.c and run_slices.c share, and how both issue a step. */
#pragma once

#include "runtime/engine/flags.h"

/* A call of this plan, not of its rival. */
hx_status_t hx_run_plan(struct hx_engine *engine, struct hx_bound *bound, const char *name, const void *in, void *out);
/* Let rings, network and other calls make progress. Returns nonzero if anything moved. */
int hx_run_move_others(struct hx_run *run);
struct hx_wait hx_run_wait_of(struct hx_run *run, int (*look)(void *));
/* Returns 0 when the run has failed, by its time-out maybe. */
int hx_run_wait_ended(struct hx_run *run, hx_status_t status);

/* run_slices.c: begin; issue what can be issued, and return how much; are all slices finished? Or all that, to the end of the run. */
void hx_slices_begin(struct hx_run *run);
int hx_slices_advance(struct hx_run *run);
int hx_slices_finished(const struct hx_bound *bound);
void hx_slices_run(struct hx_run *run);

static inline int hx_transfers_done(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    for (; instance->cursor < step->n; instance->cursor++) {
        const struct hx_transfer *t = &instance->transfers[step->handle + instance->cursor];
        if (t->net.done == 0)
            return 0;
        if (t->net.done < 0) {
            run->status = hx_transfer_failure(run, t);
            return 0;
        }
    }
    instance->cursor = 0;
    return 1;
}

/* Issue one step. Returns 0 when it must wait, when it is an election and another's, or when run->status has become an error. Inline,
 * since a small call is little else than this. */
static inline __attribute__((always_inline)) int hx_step_issue(struct hx_run *run, struct hx_instance *instance,
                                                               const struct hx_bound_step *step)
{
    switch (step->op) {
    case HX_OP_COPY:
        hx_data_copy(run, instance, step);
        return 1;
    case HX_OP_FETCH:
        return hx_data_fetch(run, instance, step);
    case HX_OP_REDUCE:
        hx_data_reduce(run, instance, step);
        return 1;
    case HX_OP_ENCODE:
    case HX_OP_DECODE:
        hx_data_code(run, instance, step);
        return 1;
    case HX_OP_SEND:
    case HX_OP_RECV:
        hx_transfer_start(run, instance, step);
        return run->status == HX_SUCCESS;
    case HX_OP_JOIN:
        return hx_transfers_done(run, instance, step);
    case HX_OP_PUBLISH:
        hx_flag_publish(run, instance, step);
        return 1;
    case HX_OP_ELECT:
        return hx_is_elected(run, instance, step);
    case HX_OP_AWAIT:
        return hx_flags_reached(run, instance, step);
    case HX_OP_LEARN:
        run->status = hx_bound_learn(run);
        return run->status == HX_SUCCESS;
    case HX_OPCODE_COUNT:
        break;
    }
    __builtin_unreachable(); /* the builder makes no others */
}
