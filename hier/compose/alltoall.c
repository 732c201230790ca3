/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composition of all-to-alls. Lane l takes what goes to the ranks that it covers, on all nodes: so all ranks of a node
 * share the work, and one message between two nodes carries, per lane, what all ranks of the one send there.
 *
 *   2 nodes of 2 ranks, 2 lanes         rank 0 has          rank 1 has
 *   intra all-to-all, in -> work        0>0 1>0  0>2 1>2    0>1 1>1  0>3 1>3       to the ranks that lane 0, 1 covers
 *   inter all-to-all, work -> out       0>0 1>0  2>0 3>0    0>1 1>1  2>1 3>1       of two blocks each
 *
 * With fewer lanes than ranks a carrier gets what is meant for several, and hands it out (hx_scatter_nary).
 *
 * With counts a rank knows the lengths of the blocks that it sends and receives itself. A carrier must learn the lengths of
 * other ranks' blocks, so each rank's counts pass inside the node first, on the way that the blocks then take. With as many
 * lanes as the fullest node has ranks, a carrier takes blocks from other nodes for itself only, and knows these. Short blocks
 * then pass as above; long ones go from rank to rank, all at once: both ends of a block know which it is.
 *
 *   intra all-to-all of counts  ->  intra all-to-all, in -> work  ->  inter all-to-all, work -> out  ->  direct, in -> out
 * Source: the node-aware communication of Bienz, Gropp, Olson, JPDC 130 (2019).
 */
#include "hier/compose/composer.h"
#include "inter/algorithms/algorithms.h"
#include "intra/algorithms/algorithms.h"

void hx_composer_rows(struct composer *c, struct hx_stage *stage, enum hx_row_of of)
{
    struct hx_lists l;

    if (!hx_coll_has_pairs(c->plan->coll) || c->status != HX_SUCCESS)
        return;
    hx_lists_open(&l, stage->n);
    for (int i = 0; i < (of == HX_ROW_OF_ALL ? 1 : stage->n); i++) {
        for (int rank = 0; of == HX_ROW_OF_ALL && rank < c->shape->nranks; rank++)
            hx_lists_item(&l, rank);
        for (int local = 0; of == HX_ROW_OF_NODE && local < hx_shape_node_size(c->shape, i); local++)
            hx_lists_item(&l, hx_shape_member(c->shape, i, local));
        if (of == HX_ROW_OF_MEMBER)
            hx_lists_item(&l, stage->members[i]);
        hx_lists_block_end(&l);
    }
    if (!hx_composer_lists_are_good(c, &l, stage))
        return;
    stage->nrows = l.n;
    stage->nblocks = l.n * (uint32_t)stage->n;
    stage->row_start = l.start;
    stage->rows = l.items;
}

/* The ranks of my node, or all others. */
static void list_sources(struct composer *c, struct hx_lists *l, int mine)
{
    for (int rank = 0; rank < c->shape->nranks; rank++)
        if ((c->shape->node_of[rank] == c->node) == mine)
            hx_lists_item(l, rank);
}

/* WORK of an all-to-all: the blocks from my node's ranks to the ranks that my lanes cover, on all nodes. If I hand out WORK,
 * also the blocks from other nodes' ranks to these ranks of my node. */
static void pairs_work_give(struct composer *c, int hands_out)
{
    struct hx_area *sent = &c->plan->work[0], *received = &c->plan->work[1];
    struct hx_lists l;

    hx_composer_work(c);
    if (!sent->ncolumns)
        return;
    hx_lists_open(&l, 1);
    list_sources(c, &l, 1);
    sent->nrows = hx_composer_numbers(c, &l, &sent->rows);
    if (!hands_out)
        return;
    hx_lists_open(&l, 1);
    list_sources(c, &l, 0);
    received->nrows = hx_composer_numbers(c, &l, &received->rows);
    hx_lists_open(&l, 1);
    hx_composer_handed(c, &l);
    received->ncolumns = hx_composer_numbers(c, &l, &received->columns);
}

void hx_compose_alltoall(struct composer *c)
{
    int few_lanes = c->candidate->lanes < c->n; /* then a carrier ends with the blocks of several ranks */

    if (c->n == 1) { /* all of its row goes out from where it stands */
        hx_composer_lanes(c, 1, HX_IN, HX_OUT);
        return;
    }
    pairs_work_give(c, few_lanes);
    hx_composer_intra(c, 0, c->candidate->first, HX_IN, HX_WORK);
    hx_composer_lanes(c, 1, HX_WORK, few_lanes ? HX_WORK : HX_OUT);
    if (few_lanes)
        hx_composer_holders(c, 2, "scatter", hx_scatter_nary.build, HX_WORK, HX_OUT);
}

/* The lengths of the blocks that the next stage hands to me. */
static void counts_exchange(struct hx_builder *b)
{
    hx_alltoall_nary.build(b);
    hx_learn(b);
}

const struct hx_algorithm hx_composer_counts = {.name = "counts", .build = counts_exchange};

/* Long blocks, among all ranks. */
static void direct_stage(struct composer *c, int level)
{
    int n = c->shape->nranks;
    struct hx_stage *stage;

    for (int rank = 0; rank < n; rank++)
        c->members[rank] = rank;
    c->share = HX_SHARE_LONG;
    stage = hx_composer_stage(c, level, HX_SCOPE_FLAT, c->members, n, c->rank, HX_IN, HX_OUT);
    if (!stage)
        return;
    stage->coarse = 1;
    stage->nrows = (uint32_t)n;
    stage->nblocks = (uint32_t)n * (uint32_t)n;
    hx_composer_run(c, stage, &hx_alltoall_mesh);
}

void hx_compose_alltoallv(struct composer *c)
{
    if (c->n > 1) {
        pairs_work_give(c, 0);
        c->share = HX_SHARE_COUNTS;
        hx_composer_intra(c, 0, &hx_composer_counts, HX_COUNTS, HX_HEARD);
        c->share = HX_SHARE_SHORT;
        hx_composer_intra(c, 1, &hx_alltoall_nary, HX_IN, HX_WORK);
    }
    c->share = HX_SHARE_SHORT;
    hx_composer_lanes(c, 2, c->n > 1 ? HX_WORK : HX_IN, HX_OUT);
    direct_stage(c, 3);
}
