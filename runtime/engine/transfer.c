/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: SEND and RECV of a plan. Between ranks of one node they pass through a ring in shared memory (shm_ring.c). Between nodes they
 * are messages of the transport. */
#include "runtime/engine/pairs.h"
#include "runtime/engine/signature.h"
#include "runtime/base/probe.h"
#include <stdio.h>
#include <stdlib.h>

/* Point the transfer's segments at the step's range. Returns 0, or -1 when memory is exhausted. */
static int segments_set(struct hx_run *run, const struct hx_instance *instance, struct hx_transfer *t,
                        const struct hx_bound_step *step)
{
    const struct hx_operand *operand = step->op == HX_OP_SEND ? &step->src : &step->dst;
    const struct hx_step *plan_step = step->plan_step;
    unsigned char *base = hx_operand_at(run, operand);
    struct hx_segment *segments = t->first_segments;
    int n = 1;

    if (step->contiguous) {
        segments[0] = (struct hx_segment){base, step->bytes};
    } else {
        struct hx_span *spans = run->engine->spans[0];
        n = hx_layout_spans(&instance->stage->layout, operand->space, plan_step->block, plan_step->nblocks,
                            plan_step->row, instance->slice, spans, run->engine->span_capacity);
        if (n > 2) {
            if (n > t->more_capacity) {
                struct hx_segment *more = realloc(t->more_segments, (size_t)n * sizeof(*more));
                if (!more)
                    return -1;
                t->more_segments = more;
                t->more_capacity = n;
            }
            segments = t->more_segments;
        }
        for (int i = 0; i < n; i++)
            segments[i] = (struct hx_segment){base + spans[i].offset, spans[i].bytes};
    }
    t->net.segments = segments;
    t->net.nsegments = n;
    return 0;
}

void hx_transfer_start(struct hx_run *run, struct hx_instance *instance, const struct hx_bound_step *step)
{
    const struct hx_bound_stage *bs = instance->stage;
    struct hx_transfer *t = &instance->transfers[step->handle];
    struct hx_engine *engine = run->engine;
    int rank = bs->stage->members[step->peer];
    const struct hx_control *here = bs->controls[step->peer];

    t->far = 0;
    t->net.done = step->bytes == 0; /* an empty piece is skipped on both sides */
    if (step->bytes == 0)
        return;
    if (segments_set(run, instance, t, step) < 0) {
        run->status = hx_fail(HX_ERR_NOMEM, "no memory for the segments of a message");
        return;
    }
    t->net.direction = step->op == HX_OP_SEND ? HX_NET_SEND : HX_NET_RECV;
    t->net.peer = engine->members->ranks[rank];
    t->net.total_bytes = step->bytes;
    t->net.completed_bytes = 0;
    uint64_t number = engine->pairs ? hx_pair_count(engine, rank, step->op == HX_OP_SEND) : engine->call;
    uint32_t stage = here ? HX_MATCH_STAGES / 2 + (uint32_t)bs->ring
                          : hx_plan_shared(run->bound->plan, (int)(bs - run->bound->stages), step->peer);
    t->net.match = hx_match_id(engine->prefix, number, stage, instance->slice, step->tag);
    t->net.flow = hx_flow_number(engine->flow_prefix, stage, instance->slice);
    t->net.signature = hx_signature_mix(run->bound->signature_bits, number, engine->members->id.generation);
    t->stamp = engine->pairs ? run->bound->signature_bits : run->stamp;
    HX_PROBE_POST(engine->process->trace, &t->net, number << HX_SLICE_BITS | instance->slice);
    if (here) { /* which needs no match id: only the trace does */
        hx_shm_ring_start(engine, t, engine->members->shape->local_of[rank], bs->ring + (int)(instance->slice % bs->window));
        return;
    }
    t->far = 1 + rank;
    hx_registry.net->post(engine->process->net, &t->net);
}

hx_status_t hx_transfer_failure(const struct hx_run *run, const struct hx_transfer *t)
{
    const struct hx_engine *engine = run->engine;
    char there[HX_CALL_TEXT_BYTES], text[3 * HX_CALL_TEXT_BYTES];
    uint64_t bits = t->net.theirs ^ t->net.signature ^ run->bound->signature_bits; /* if both are of one call, its number cancels out */

    if (t->net.theirs) {
        if (bits == hx_signature_bits(&engine->sent))
            hx_signature_tell(&engine->sent, hx_coll_name((enum hx_coll)engine->sent.coll), there, sizeof(there));
        else
            hx_stamp_tell(engine->mine, run->epoch | bits, there, sizeof(there)); /* likely a call that this rank makes too */
        hx_mismatch_describe(engine, run->stamp, t->far - 1, there, text, sizeof(text));
        hx_fail(HX_ERR_MISMATCH, "%s: %s", run->name, text);
        hx_detail_keep(engine->members->why);
        return HX_ERR_MISMATCH;
    }
    return (hx_status_t)-t->net.done;
}

int hx_transfer_next(const struct hx_run *run, struct hx_transfers *at)
{
    for (; at->stage < run->bound->nstages; at->stage++, at->slice = 0) {
        const struct hx_bound_stage *bs = &run->bound->stages[at->stage];
        for (; at->slice < bs->window; at->slice++, at->i = 0)
            if (at->i < bs->stage->ntransfers) {
                at->t = &bs->instances[at->slice].transfers[at->i++];
                return 1;
            }
    }
    return 0;
}

int hx_op_cancel(const struct hx_process *process, struct hx_net_op *op)
{
    /* any rank of this node may have found that the peer is gone */
    return hx_registry.net->cancel(process->net, op, atomic_load_explicit(&process->shared->table[op->peer].dead, memory_order_relaxed) != 0);
}

void hx_transfer_cancel_all(struct hx_run *run)
{
    struct hx_engine *engine = run->engine;

    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at);) {
        if (HX_TRACING && at.t->net.trace && !at.t->net.done)
            HX_TRACE_MESSAGE(&at.t->net, 1);
        if (at.t->far && !at.t->net.done)
            hx_op_cancel(engine->process, &at.t->net);
    }
    /* all have been asked for: now the time runs for all of them */
    for (struct hx_transfers at = {0}; hx_transfer_next(run, &at); at.t->net.done = 1)
        while (at.t->far && !at.t->net.done && !hx_op_cancel(engine->process, &at.t->net))
            hx_registry.net->progress(engine->process->net);
    hx_shm_rings_cancel(engine);
}
