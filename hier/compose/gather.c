/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers and scatters: see compose.h. Each lane takes its blocks between its carrier on the root's node and the carriers
 * on the others; the blocks of the root's own node stay there. */
#include "hier/compose/composer.h"
#include "intra/algorithms/algorithms.h"

/* WORK of a gather's or scatter's carrier: what it passes on between the root and other nodes, or between these and the
 * ranks of its own; not the root's, nor where everybody carries its own block. */
static void passed_work_give(struct composer *c, int at_root, int few_lanes)
{
    struct hx_lists l;

    if (c->rank == c->candidate->root || (!at_root && !few_lanes))
        return;
    if (at_root) {
        hx_composer_work(c);
        return;
    }
    hx_lists_open(&l, 1);
    hx_composer_handed(c, &l);
    hx_composer_work_take(c, &l);
}

/* Carriers gather into WORK, the root into OUT: at first from its own node, at last what the lanes bring to the others
 * there. */
void hx_compose_gather(struct composer *c)
{
    int lanes = c->candidate->lanes, at_root = c->node == hx_composer_root_node(c), few_lanes = lanes < c->n;
    const struct hx_algorithm *first = c->candidate->first;
    enum hx_space mine = c->rank == c->candidate->root ? HX_OUT : HX_WORK;

    passed_work_give(c, at_root, few_lanes);
    if (at_root || (few_lanes && lanes == 1))
        hx_composer_run(c, hx_composer_own(c, 0, HX_IN, mine), first ? first : &(struct hx_algorithm){.name = "gather", .build = hx_gather_nary.build});
    else if (few_lanes)
        hx_composer_holders(c, 0, "gather", hx_gather_nary.build, HX_IN, mine);
    hx_composer_lanes(c, 1, at_root || few_lanes ? mine : HX_IN, mine);
    if (at_root && lanes > 1 && c->n > 1)
        hx_composer_fixed(c, 2, "gather", hx_gather_nary.build, mine, mine);
}

/* The other way round: the root hands out from IN, first to the carriers of its node what is for other nodes. */
void hx_compose_scatter(struct composer *c)
{
    int lanes = c->candidate->lanes, at_root = c->node == hx_composer_root_node(c), few_lanes = lanes < c->n;
    const struct hx_algorithm *last = c->candidate->last;
    enum hx_space mine = c->rank == c->candidate->root ? HX_IN : at_root || few_lanes ? HX_WORK : HX_OUT;

    passed_work_give(c, at_root, few_lanes);
    if (at_root && lanes > 1 && c->n > 1)
        hx_composer_fixed(c, 0, "scatter", hx_scatter_nary.build, mine, mine);
    hx_composer_lanes(c, 1, mine, mine);
    if (at_root || (few_lanes && lanes == 1))
        hx_composer_run(c, hx_composer_own(c, 2, mine, HX_OUT), last ? last : &(struct hx_algorithm){.name = "scatter", .build = hx_scatter_nary.build});
    else if (few_lanes)
        hx_composer_holders(c, 2, "scatter", hx_scatter_nary.build, mine, HX_OUT);
}
