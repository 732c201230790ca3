/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks that a call waits for, and the warnings and errors that name them. See awaited.h. */
#include "runtime/engine/awaited.h"
#include "runtime/base/log.h"
#include "runtime/engine/whereabouts.h"
#include <stdio.h>
#include <string.h>

#define ABSENT_TOLD 3     /* of how many missing ranks a text tells where they are */
#define PATIENCE_NS 5e9   /* ns after which one warning tells that a call waits, */
#define PATIENCE_PART 4   /* or after this part of HX_TIMEOUT, if that is less: one fourth */

static void rank_append(char *text, size_t capacity, int rank)
{
    size_t used = strlen(text);

    snprintf(text + used, capacity - used, "%s%d", used ? ", " : "", rank);
}

int hx_awaited_remote(const struct hx_run *run)
{
    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);)
        if (at.t->far && at.t->net.done == 0 && at.t->net.direction == HX_NET_RECV)
            return at.t->far - 1;
    return -1;
}

int hx_awaited_far(const struct hx_run *run)
{
    int waits_for_us = -1;

    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);) {
        if (!at.t->far || at.t->net.done)
            continue;
        if (at.t->net.direction == HX_NET_RECV)
            return at.t->net.peer;
        waits_for_us = at.t->net.peer;
    }
    return waits_for_us;
}

/* The rank of the job for which the step waits, or -1. */
static int step_awaited(const struct hx_run *run, const struct hx_instance *instance, const struct hx_step *step)
{
    if (step->op == HX_OP_JOIN && instance->cursor < step->n)
        return instance->transfers[step->handle + instance->cursor].net.peer;
    if (step->op == HX_OP_FETCH && instance->cursor)
        return run->engine->members->ranks[instance->stage->stage->members[step->peer]];
    if (step->op == HX_OP_AWAIT && instance->cursor < step->n)
        return run->engine->members->ranks[instance->stage->stage->members[step->peer + instance->cursor]];
    return -1;
}

int hx_awaited_rank(const struct hx_run *run)
{
    if (run->waits)
        return step_awaited(run, run->waits->instance, run->waits->plan_step);
    for (const struct hx_bound_stage *bs = run->bound->stages; bs < run->bound->stages + run->bound->nstages; bs++) {
        const struct hx_instance *oldest = &bs->instances[bs->finished % bs->window];
        if (bs->finished < bs->started && oldest->pc < bs->nsteps)
            return step_awaited(run, oldest,
                                bs->steps ? bs->steps[oldest->pc].plan_step : &bs->stage->steps[oldest->pc]);
    }
    return -1;
}

int hx_awaited_is_outside(const struct hx_run *run, int i)
{
    const struct hx_control *control = hx_node_control(&run->engine->node, i);

    return atomic_load_explicit(&control->entered, memory_order_relaxed) >> HX_SLICE_BITS < run->engine->call;
}

int hx_awaited_by(const struct hx_run *run, int *is_sure)
{
    const struct hx_engine *engine = run->engine;
    int far;

    *is_sure = 1;
    for (int i = 0; i < engine->node.n && run->bound->awaits_all && !engine->pairs; i++)
        if (hx_awaited_is_outside(run, i))
            return engine->members->ranks[engine->node.ranks[i]];
    if ((far = engine->process->net ? hx_awaited_far(run) : -1) < 0)
        return hx_awaited_rank(run);
    *is_sure = hx_awaited_remote(run) >= 0;
    return far;
}

/* Append to text where this rank of the communicator is. */
static void where_tell(const struct hx_run *run, int rank, char *text, size_t capacity)
{
    char where[HX_STAND_BYTES];
    size_t used = strlen(text);

    hx_stand_tell(run->engine, rank, where, sizeof(where));
    if (where[0])
        snprintf(text + used, capacity - used, "; rank %d %s", rank, where);
}

void hx_awaited_describe(const struct hx_run *run, char *text, size_t bytes)
{
    const struct hx_node *node = &run->engine->node;
    char missing[256] = "", far[128] = "";
    int told[ABSENT_TOLD], ntold = 0, far_told = -1;

    for (int i = 0; i < node->n; i++) {
        struct hx_control *control = hx_node_control(node, i);
        int remote = i == node->me ? hx_awaited_remote(run) : (int)atomic_load_explicit(&control->waits_for, memory_order_relaxed) - 1;
        if (hx_awaited_is_outside(run, i)) {
            rank_append(missing, sizeof(missing), node->ranks[i]);
            if (ntold < ABSENT_TOLD)
                told[ntold++] = node->ranks[i];
        } else if (remote >= 0) {
            rank_append(far, sizeof(far), remote);
            far_told = remote;
        }
    }
    snprintf(text, bytes, "%s%s%s%s", missing[0] ? "ranks of this node that have not arrived: " : "all ranks of this node have arrived",
             missing, far[0] ? "; no message came from rank on another node: " : "", far);
    for (int i = 0; i < ntold; i++)
        where_tell(run, told[i], text, bytes);
    if (far_told >= 0)
        where_tell(run, far_told, text, bytes);
}

void hx_awaited_warn(const struct hx_run *run)
{
    struct hx_engine *engine = run->engine;
    double limit = *engine->members->timeout_s * 1e9 / PATIENCE_PART;
    char absent[HX_ABSENT_BYTES];

    if (engine->told == engine->call || engine->pairs ||
        (double)engine->wait_clock.waited < (limit > 0 && limit < PATIENCE_NS ? limit : PATIENCE_NS))
        return;
    engine->told = engine->call;
    for (int i = 0; i < engine->node.me; i++)
        if (!hx_awaited_is_outside(run, i))
            return;
    hx_awaited_describe(run, absent, sizeof(absent));
    hx_warn("%s, call %llu, has waited for %.1f s: %s", run->name, (unsigned long long)(engine->call - engine->first_call),
            (double)engine->wait_clock.waited / 1e9, absent);
}

hx_status_t hx_awaited_fail(const struct hx_run *run)
{
    const struct hx_engine *engine = run->engine;
    const char *stage = run->waits ? run->waits->instance->stage->stage->algorithm : run->bound->plan->name;
    char absent[HX_ABSENT_BYTES];

    if (engine->pairs) /* the creation of a group: calls are not counted there, so only the rank that this one waits for can be named */
        return hx_fail(HX_ERR_TIMEOUT, "%s: waited %g s (%s) for rank %d of the job", run->name, *engine->members->timeout_s,
                       engine->members->timeout_by, hx_awaited_rank(run));
    hx_awaited_describe(run, absent, sizeof(absent));
    return hx_fail(HX_ERR_TIMEOUT, "%s, call %llu, stage %s: waited %g s (%s); %s", run->name,
                   (unsigned long long)(engine->call - engine->first_call), stage, *engine->members->timeout_s, engine->members->timeout_by,
                   absent);
}
