/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The graph of a neighbourhood collective: an edge leads from each rank to each rank that it sends to. Its edges are numbered rank by rank, those of a rank in the
 * order of its destinations. The k-th edge between two ranks in the one's destinations is the k-th in the other's sources.
 *
 *   rank 0 sends to 1 2 2, rank 2 to 0       edges   0: 0>1   1: 0>2   2: 0>2   3: 2>0
 *
 * In a plan with a graph, plan block x is edge x: IN of a rank holds the edges from it, OUT the edges to it.
 */
#pragma once

#include "runtime/plan/plan.h"

struct hx_graph {
    int p;
    uint32_t nedges, most; /* most: edges from the rank that has most */
    uint32_t *start;       /* [p + 1] the edges from rank r are start[r] to start[r + 1] - 1 */
    uint32_t *from, *to;   /* [nedges] ranks */
    uint32_t *in_start;    /* [p + 1] the edges to rank r are in[in_start[r]] and so on, in the order of its sources */
    uint32_t *in;
    uint32_t *in_place;    /* [nedges] the place of an edge among those to its rank */
    int references;
};

/* Make the graph of p ranks. Each has so many destinations and sources; their lists stand one after the other. HX_ERR_ARG after hx_fail if one rank
 * lists another as a source, but not the other way round. name: of the public function. */
hx_status_t hx_graph_new(const char *name, int p, const int *ntargets, const int *targets, const int *nsources, const int *sources,
                         struct hx_graph **graph);
struct hx_graph *hx_graph_retain(struct hx_graph *graph); /* may be NULL, as for the next one */
void hx_graph_release(struct hx_graph *graph);

/* The place of block x among the blocks that the rank sends, or receives; -1: it does not. The plan has a block for each pair, or edge. */
static inline int64_t hx_plan_sent_place(const struct hx_plan *plan, uint64_t x)
{
    if (plan->graph)
        return plan->graph->from[x] == (uint32_t)plan->rank ? (int64_t)(x - plan->graph->start[plan->rank]) : -1;
    return x / (uint64_t)plan->p == (uint64_t)plan->rank ? (int64_t)(x % (uint64_t)plan->p) : -1;
}

static inline int64_t hx_plan_received_place(const struct hx_plan *plan, uint64_t x)
{
    if (plan->graph)
        return plan->graph->to[x] == (uint32_t)plan->rank ? (int64_t)plan->graph->in_place[x] : -1;
    return x % (uint64_t)plan->p == (uint64_t)plan->rank ? (int64_t)(x / (uint64_t)plan->p) : -1;
}

/* The plan block that is number i of OUT. */
static inline uint64_t hx_plan_out_block(const struct hx_plan *plan, uint64_t i)
{
    return plan->graph ? plan->graph->in[plan->graph->in_start[plan->rank] + i] : plan->out_block + i * plan->out_stride;
}
