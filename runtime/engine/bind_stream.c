/* SPDX-License-Identifier: BSD-3-Clause */
/* Bind: which steps write around the caches, see stream.h. */
#include "runtime/engine/engine.h"
#include "runtime/base/stream.h"

/* Do the buffers of this node's ranks fill its caches, so that results have left them by the time that somebody reads them? HX_STREAM says
 * from how long a rank's result on. A virtual machine tells of its host's whole last-level cache: it gets no more than a part of it. */
static int fills_caches(const struct hx_engine *engine, const struct hx_bound *bound)
{
    const struct hx_shape *shape = engine->members->shape;
    const struct hx_job *job = &engine->process->job;
    enum hx_coll coll = bound->key.coll;
    double n = hx_shape_node_size(shape, shape->node_of[engine->members->rank]);
    double in = (double)hx_layout_space_bytes(bound->plan, &bound->sizes, HX_IN);
    double out = (double)hx_layout_space_bytes(bound->plan, &bound->sizes, HX_OUT);
    double part = job->cpus_per_node * HX_CACHE_PER_CORE_BYTES;

    if (engine->process->env->stream > 0)
        return out >= (double)engine->process->env->stream;
    if (coll == HX_COLL_BCAST || coll == HX_COLL_SCATTER) /* only a root has an input, which may be its output */
        in = 0;
    if (coll == HX_COLL_REDUCE || coll == HX_COLL_GATHER) /* only a root has an output */
        out /= n;
    return job->llc_bytes > 0 && n * (in + out) >= ((double)job->llc_bytes < part ? (double)job->llc_bytes : part);
}

/* Lengths that nobody knows yet; and results that are read again before the call ends: to divide them, or aside from the caller's buffer. */
static int may_stream(const struct hx_call_key *key)
{
    return !hx_coll_has_pair_counts(key->coll) && key->op != HX_AVG && key->coll != HX_COLL_REDUCE_SCATTER;
}

static int reads_out(const struct hx_step *step)
{
    return step->nblocks && ((step->src == HX_OUT && step->op != HX_OP_FETCH) || (step->op == HX_OP_REDUCE && step->own == HX_OUT));
}

void hx_bind_streams(const struct hx_engine *engine, struct hx_bound *bound)
{
    if (!may_stream(&bound->key) || !fills_caches(engine, bound))
        return;
    for (int s = bound->nstages - 1; s >= 0; s--) { /* after the last step that reads OUT, what is written there is for the caller alone */
        struct hx_bound_stage *bs = &bound->stages[s];
        for (; bs->streams_from > 0; bs->streams_from--)
            if (reads_out(&bs->stage->steps[bs->streams_from - 1]))
                return;
    }
}
