/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat composition: one level over all ranks, node by node, so that a ring crosses each link once, and in the shape's ring
 * order where the algorithm passes one; a scan's, and where order counts, in the order of ranks.
 *
 * A ring can run on several channels: as many stages side by side, each with its own order of the ranks and its own part
 * of the blocks, as lanes have. Channel k enters a node at the local rank that would carry lane k, goes round the node, and
 * leaves it from the one before. So each order crosses every node boundary once, and channels cross it on different ranks,
 * hence NICs:
 *
 *   2 nodes of 3, 3 channels:    0 1 2 -> 3 4 5 -> (0)      1 2 0 -> 4 5 3 -> (1)      2 0 1 -> 5 3 4 -> (2)
 *
 * In an all-reduce each channel has an equal part of the vector. In an all-gather or reduce-scatter channel k has the blocks of
 * the ranks that lane k would cover.
 */
#include "hier/compose/algorithm_list.h"
#include "hier/compose/composer.h"
#include "runtime/plan/lane.h"

/* The first local rank of a channel's part of a node. */
static int begins(const struct composer *c, int channel, int node)
{
    return hx_lane_carrier(channel, hx_candidate_channels(c->candidate), hx_shape_node_size(c->shape, node));
}

/* The ranks, as a channel's stage has them. */
static void members_order(struct composer *c, int channel)
{
    const struct hx_shape *shape = c->shape;
    int in_order = hx_coll_is_scan(c->plan->coll) || c->candidate->ordered;

    for (int i = 0; in_order && i < shape->nranks; i++)
        c->members[i] = i;
    for (int i = 0, at = 0; !in_order && i < shape->nnodes; i++) {
        int node = c->candidate->flat->needs & HX_PASSES_RING ? hx_shape_ring_node(shape, i) : i;
        int n = hx_shape_node_size(shape, node);
        for (int k = 0; k < n; k++)
            c->members[at++] = hx_shape_member(shape, node, (begins(c, channel, node) + k) % n);
    }
}

static int place(const struct composer *c, int rank)
{
    int i = 0;

    while (c->members[i] != rank)
        i++;
    return i;
}

static int is_covered(const struct composer *c, int channel, int rank)
{
    int node = c->shape->node_of[rank], local = c->shape->local_of[rank];
    return local >= begins(c, channel, node) && local < begins(c, channel + 1, node);
}

/* Block j is member j's, if it is this channel's; or, to be cut by the algorithm, the channel's block. */
static void blocks_give(struct composer *c, int channel, struct hx_stage *stage)
{
    int has_blocks = hx_coll_has_blocks(c->plan->coll);
    struct hx_lists l;

    if (!has_blocks && hx_candidate_channels(c->candidate) == 1)
        return;
    hx_lists_open(&l, c->shape->nranks);
    for (int i = 0; i < c->shape->nranks && !l.failed; i++) {
        if (!has_blocks)
            hx_lists_item(&l, channel);
        else if (is_covered(c, channel, c->members[i]))
            hx_lists_item(&l, c->members[i]);
        hx_lists_block_end(&l);
    }
    hx_composer_lists_give(c, &l, stage);
    if (has_blocks)
        hx_composer_rows(c, stage, HX_ROW_OF_MEMBER);
}

static void channel_stage(struct composer *c, int channel)
{
    enum hx_scope scope = (enum hx_scope)hx_flat_scope(c->shape);
    struct hx_stage *stage;

    members_order(c, channel);
    stage = hx_composer_stage(c, 0, scope, c->members, c->shape->nranks, place(c, c->rank),
                              hx_coll_has_one_buffer(c->plan->coll) ? HX_OUT : HX_IN, HX_OUT);
    blocks_give(c, channel, stage);
    if (c->status == HX_SUCCESS) {
        stage->coarse = scope != HX_SCOPE_INTRA;
        stage->wire = c->candidate->wire;
        stage->root = place(c, c->candidate->root);
    }
    hx_composer_run(c, stage, c->candidate->flat);
}

void hx_compose_flat(struct composer *c)
{
    for (int channel = 0; channel < hx_candidate_channels(c->candidate); channel++)
        channel_stage(c, channel);
}
