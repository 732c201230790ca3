/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composition of a neighbourhood collective: an all-to-all with counts along the edges of a graph (runtime/plan/graph.h). The stages and
 * lanes are those of alltoall.c, but each has steps only for the edges that there are. So two nodes exchange one message per lane if an edge
 * of short data joins them there, and none otherwise.
 *
 *   2 nodes of 2 ranks, edges 0>2 0>3 1>3 3>0          lane 0 covers ranks 0 2, lane 1 covers 1 3
 *   intra all-to-all, in -> work    rank 0: 0>2        rank 1: 0>3 1>3        rank 2: 3>0
 *   exchange, work -> out           rank 0 to 2: 0>2   rank 1 to 3: 0>3 1>3   rank 2 to 0: 3>0
 *   exchange, in -> out             edges of long data, from rank to rank
 *
 * A plan without lanes is the last exchange alone, of all edges.
 */
#include "hier/compose/algorithm_list.h"
#include "hier/compose/composer.h"
#include "intra/algorithms/algorithms.h"
#include "runtime/plan/graph.h"
#include "runtime/plan/lane.h"

/* The lane that covers a rank: the last lane that the rank carries, or would carry. */
static int lane_of(const struct composer *c, uint32_t rank)
{
    const int n = hx_shape_node_size(c->shape, c->shape->node_of[rank]), after = c->shape->local_of[rank] + 1;

    return (int)(((int64_t)after * c->candidate->lanes + n - 1) / n) - 1;
}

/* Which local rank of my node takes what goes to this rank. */
static int carrier_of(const struct composer *c, uint32_t rank)
{
    return hx_lane_carrier(lane_of(c, rank), c->candidate->lanes, c->n);
}

/* List the edges from local rank `local` that go to those for which `carrier` takes what they get. */
static void taken_list(struct composer *c, struct hx_lists *l, int local, int carrier)
{
    const struct hx_graph *graph = c->plan->graph;
    const int rank = hx_composer_node(c)[local];

    for (uint32_t e = graph->start[rank]; e < graph->start[rank + 1]; e++)
        if (carrier_of(c, graph->to[e]) == carrier)
            hx_lists_item(l, (int)e);
}

/* A stage of my node: block (i, j) is what local rank i hands to carrier j. */
static void node_stage(struct composer *c, int level, const struct hx_algorithm *algorithm, enum hx_space in, enum hx_space out)
{
    struct hx_stage *stage = hx_composer_stage(c, level, HX_SCOPE_INTRA, hx_composer_node(c), c->n, c->local, in, out);
    struct hx_lists l;

    hx_lists_open(&l, c->n * c->n);
    for (int b = 0; b < c->n * c->n && !l.failed; b++) {
        taken_list(c, &l, b / c->n, b % c->n);
        hx_lists_block_end(&l);
    }
    hx_composer_lists_give(c, &l, stage);
    if (c->status == HX_SUCCESS) {
        stage->nrows = (uint32_t)c->n;
        stage->nblocks = (uint32_t)c->n * (uint32_t)c->n;
        stage->listed = 1;
    }
    hx_composer_run(c, stage, algorithm);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

/* An edge, and the member that it comes from or goes to. */
struct end {
    uint32_t turn, partner, edge; /* turn: when the partner's turn comes */
};

struct exchange {
    struct end *ends;
    size_t n;
    int members, me;
    struct hx_lists blocks, partners;
};

static int by_turn(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

static void end_add(struct exchange *x, int partner, uint32_t edge, int receives)
{
    const int turn = receives ? x->me - partner : partner - x->me; /* no member is everybody's first */

    x->ends[x->n++] = (struct end){(uint32_t)(turn < 0 ? turn + x->members : turn), (uint32_t)partner, edge};
}

/* The ends that were added become blocks: one for each partner, or (apart) for each edge. */
static void blocks_add(struct exchange *x, int apart)
{
    qsort(x->ends, x->n, sizeof(*x->ends), by_turn);
    for (size_t i = 0; i < x->n && !x->blocks.failed; i++) {
        hx_lists_item(&x->blocks, (int)x->ends[i].edge);
        if (i + 1 < x->n && !apart && x->ends[i + 1].turn == x->ends[i].turn)
            continue;
        hx_lists_block_end(&x->blocks);
        hx_lists_item(&x->partners, (int)x->ends[i].partner);
    }
    x->n = 0;
}

/* Receives come first, so that few messages arrive before their receive. Blocks between the same two members have rounds of their own:
 * both members have these blocks in one order. */
static void exchange_build(struct hx_builder *b)
{
    const struct hx_stage *stage = b->stage;
    int round = 0;

    for (uint32_t i = 0; i < stage->nblocks; i++) {
        const int partner = (int)stage->partners[i];
        round = i > 0 && i != stage->nreceived && stage->partners[i - 1] == stage->partners[i] ? round + 1 : 0;
        if (i < stage->nreceived)
            hx_recv_from(b, round, partner, hx_at(b->out, (int)i, 1));
        else if (partner == b->me)
            hx_copy(b, hx_at(b->out, (int)i, 1), hx_at(b->in, (int)i, 1));
        else
            hx_send_to(b, round, partner, hx_at(b->in, (int)i, 1));
    }
}

static int exchange_open(struct composer *c, struct exchange *x, int members, int me)
{
    const struct hx_graph *graph = c->plan->graph;
    size_t most = 1;

    for (int local = 0; local < c->n; local++) { /* all that may be added at once */
        const int rank = hx_composer_node(c)[local];
        most += graph->start[rank + 1] - graph->start[rank] + graph->in_start[rank + 1] - graph->in_start[rank];
    }
    *x = (struct exchange){.ends = malloc(most * sizeof(*x->ends)), .members = members, .me = me};
    hx_lists_open(&x->blocks, (int)most);
    hx_lists_open(&x->partners, 1);
    if (!x->ends)
        hx_composer_lacks(c, "edges");
    return c->status == HX_SUCCESS;
}

static void exchange_end(struct composer *c, struct exchange *x, struct hx_stage *stage, uint32_t nreceived)
{
    free(x->ends);
    free(x->partners.start);
    if (x->partners.failed)
        hx_composer_lacks(c, "edges");
    hx_composer_lists_give(c, &x->blocks, c->status == HX_SUCCESS ? stage : NULL);
    if (c->status != HX_SUCCESS) {
        free(x->partners.items);
        return;
    }
    stage->nblocks = x->blocks.n;
    stage->nreceived = nreceived;
    stage->partners = x->partners.items;
    stage->coarse = stage->scope != HX_SCOPE_INTRA;
    hx_composer_build(c, stage, "exchange", exchange_build);
}

/* The edges that I carry on a lane to other nodes, or to me; and those that arrive on it from other nodes. */
static void lane_stage(struct composer *c, int level, int lane, enum hx_space in)
{
    const struct hx_graph *graph = c->plan->graph;
    const int *node_of = c->shape->node_of;
    struct hx_stage *stage;
    struct exchange x;
    uint32_t nreceived;

    for (int node = 0; node < c->shape->nnodes; node++)
        c->members[node] = hx_shape_member(c->shape, node, hx_composer_carrier(c, lane, node));
    stage = hx_composer_stage(c, level, HX_SCOPE_INTER, c->members, c->shape->nnodes, c->node, in, HX_OUT);
    if (!exchange_open(c, &x, c->shape->nnodes, c->node)) {
        exchange_end(c, &x, stage, 0);
        return;
    }
    for (uint32_t i = graph->in_start[c->rank]; i < graph->in_start[c->rank + 1]; i++)
        if (lane_of(c, (uint32_t)c->rank) == lane && node_of[graph->from[graph->in[i]]] != c->node)
            end_add(&x, node_of[graph->from[graph->in[i]]], graph->in[i], 1);
    blocks_add(&x, 0);
    nreceived = x.blocks.n;
    for (int local = 0; local < c->n; local++) {
        const int rank = hx_composer_node(c)[local];
        for (uint32_t e = graph->start[rank]; e < graph->start[rank + 1]; e++)
            if (lane_of(c, graph->to[e]) == lane)
                end_add(&x, node_of[graph->to[e]], e, 0);
    }
    blocks_add(&x, 0);
    exchange_end(c, &x, stage, nreceived);
}

/* My edges, each by a message of its own. */
static void direct_stage(struct composer *c, int level, enum hx_share share)
{
    const struct hx_graph *graph = c->plan->graph;
    const int p = c->shape->nranks, me = c->rank;
    struct hx_stage *stage;
    struct exchange x;
    uint32_t nreceived;

    for (int rank = 0; rank < p; rank++)
        c->members[rank] = rank;
    c->share = share;
    stage = hx_composer_stage(c, level, (enum hx_scope)hx_flat_scope(c->shape), c->members, p, me, HX_IN, HX_OUT);
    if (!exchange_open(c, &x, p, me)) {
        exchange_end(c, &x, stage, 0);
        return;
    }
    for (uint32_t i = graph->in_start[me]; i < graph->in_start[me + 1]; i++)
        if (graph->from[graph->in[i]] != (uint32_t)me)
            end_add(&x, (int)graph->from[graph->in[i]], graph->in[i], 1);
    blocks_add(&x, 1);
    nreceived = x.blocks.n;
    for (uint32_t e = graph->start[me]; e < graph->start[me + 1]; e++)
        end_add(&x, (int)graph->to[e], e, 0);
    blocks_add(&x, 1);
    exchange_end(c, &x, stage, nreceived);
}

void hx_compose_neighbors(struct composer *c)
{
    struct hx_lists l;

    if (!c->candidate->lanes) {
        direct_stage(c, 0, HX_SHARE_ALL);
        return;
    }
    if (c->n > 1) {
        hx_lists_open(&l, 1);
        for (int local = 0; local < c->n; local++)
            taken_list(c, &l, local, c->local);
        hx_composer_work_take(c, &l);
        c->share = HX_SHARE_COUNTS;
        node_stage(c, 0, &hx_composer_counts, HX_COUNTS, HX_HEARD);
        c->share = HX_SHARE_SHORT;
        node_stage(c, 1, &hx_alltoall_nary, HX_IN, HX_WORK);
    }
    c->share = HX_SHARE_SHORT;
    for (int lane = 0; lane < c->candidate->lanes; lane++)
        if (hx_composer_carrier(c, lane, c->node) == c->local)
            lane_stage(c, 2, lane, c->n > 1 ? HX_WORK : HX_IN);
    direct_stage(c, 3, HX_SHARE_LONG);
}
